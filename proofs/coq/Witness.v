(** * Witnesses, computed by the kernel

    - [landlord_exceeds_young], [landlord_exceeds_young_in_five]: Landlord's cost on the smallest
      instances against a feasible schedule; [landlord_not_young_competitive]: on one forest no
      additive constant saves the bound.
    - [cosigned_is_inhabited]: the cosigned relation has a run with evictions.
    - [..._is_false]: the theorems with a wrong constant are refuted. *)

From Coq Require Import List Bool Arith ZArith QArith Qminmax Lia Lqa.
From CacheWorthy Require Import Model Cosigned Progress Landlord Execute.
Import ListNotations.
Open Scope Q_scope.

(** ** The smallest witness: four nodes, six requests, [k = 3], [h = 2] *)

Definition four : forest :=
  forest_of [None; Some 0%nat; None; None] [1; 1; 1; 1]%Z [0; 5; 2; 0].

Definition six_requests : list nat := [1; 2; 3; 2; 3; 2]%nat.

Definition six_states : list set :=
  map of_list [[0; 1]; [2]; [2; 3]; [2; 3]; [2; 3]; [2; 3]]%nat.

Lemma four_valid : valid_forest four.
Proof. apply is_valid_forest_sound. vm_compute. reflexivity. Qed.

Lemma six_feasible : feasible (of_forest four) 2 six_requests six_states.
Proof. apply is_feasible_sound. vm_compute. reflexivity. Qed.

Lemma six_offline : offline_cost (of_forest four) six_states == 7.
Proof. vm_compute. reflexivity. Qed.

Lemma landlord_run_ext : forall I k cv s requests s' p q,
  landlord_run I k cv s requests s' p -> p == q -> landlord_run I k cv s requests s' q.
Proof.
  intros I k cv s requests s' p q R E. inversion R; subst.
  - apply landlord_end. lra.
  - eapply landlord_request; eauto. lra.
Qed.

Lemma run_ext : forall I k s requests s' p q,
  run I k s requests s' p -> p == q -> run I k s requests s' q.
Proof.
  intros I k s requests s' p q R E. inversion R; subst.
  - apply run_end. lra.
  - eapply run_request; eauto. lra.
Qed.

Lemma six_landlord : forall cv, exists last,
  landlord_run (of_forest four) 3 cv blank six_requests last 11.
Proof.
  intros cv. exists (fst (play (of_forest four) 3 cv blank six_requests)).
  apply landlord_run_ext with (p := snd (play (of_forest four) 3 cv blank six_requests)).
  - apply play_runs.
    + apply of_forest_valid, four_valid.
    + apply of_forest_acyclic, four_valid.
    + apply is_fits_sound. vm_compute. reflexivity.
  - destruct cv; vm_compute; reflexivity.
Qed.

(** Landlord pays 11, a feasible schedule 7, and Young's bound would be [3/2 * 7]. *)
Theorem landlord_exceeds_young : forall cv, exists requests schedule last paid,
  feasible (of_forest four) 2 requests schedule /\
  landlord_run (of_forest four) 3 cv blank requests last paid /\
  paid == 11 /\ offline_cost (of_forest four) schedule == 7 /\
  (3 / (3 - 2 + 1)%Z) * offline_cost (of_forest four) schedule < paid.
Proof.
  intros cv. destruct (six_landlord cv) as [last R].
  exists six_requests, six_states, last, 11.
  split; [exact six_feasible|]. split; [exact R|]. split; [reflexivity|].
  split; [exact six_offline|]. rewrite six_offline. vm_compute. reflexivity.
Qed.

(** Five requests suffice with six nodes: [k = 5], [h = 2], 14 against 11 at a bound of 5/4. *)
Definition six_nodes : forest :=
  forest_of [None; None; None; None; Some 0%nat; Some 1%nat] [1; 1; 1; 1; 1; 1]%Z [0; 0; 0; 3; 4; 4].

Definition five_requests : list nat := [4; 5; 3; 2; 3]%nat.

Definition five_states : list set := map of_list [[0; 4]; [1; 5]; [3]; [2; 3]; [2; 3]]%nat.

Theorem landlord_exceeds_young_in_five : forall cv, exists last paid,
  valid_forest six_nodes /\
  feasible (of_forest six_nodes) 2 five_requests five_states /\
  landlord_run (of_forest six_nodes) 5 cv blank five_requests last paid /\
  paid == 14 /\ offline_cost (of_forest six_nodes) five_states == 11 /\
  (5 / (5 - 2 + 1)%Z) * offline_cost (of_forest six_nodes) five_states < paid.
Proof.
  intros cv.
  assert (V : valid_forest six_nodes) by (apply is_valid_forest_sound; vm_compute; reflexivity).
  exists (fst (play (of_forest six_nodes) 5 cv blank five_requests)),
    (snd (play (of_forest six_nodes) 5 cv blank five_requests)).
  split; [exact V|]. split; [apply is_feasible_sound; vm_compute; reflexivity|].
  split; [|destruct cv; vm_compute; auto].
  apply play_runs; [apply of_forest_valid, V | apply of_forest_acyclic, V |].
  apply is_fits_sound. vm_compute. reflexivity.
Qed.

(** ** No additive constant saves the bound

    Landlord does not see where its level starts: from a state whose keys and level are shifted by
    the same amount it runs the same way. So a request cycle that returns to its state up to a shift
    can be repeated. *)

Section Shift.
Variable I : instance.
Variable k : Z.

Record shifted (t : Q) (s r : keyed) : Prop := {
  shifted_cached : same I (cached r) (cached s);
  shifted_key : forall u, (u < count I)%nat -> cached s u -> key r u == key s u + t;
  shifted_level : level r == level s + t
}.

Lemma shifted_lacking : forall t v s r, shifted t s r -> (lacking I k v r <-> lacking I k v s).
Proof.
  intros t v s r [S _ _]. unfold lacking.
  rewrite (volume_ext I (cached r) (cached s)) by auto.
  rewrite (volume_ext I (absent I v r) (absent I v s)); [tauto|].
  intros u Hu. unfold absent, minus. rewrite (S u Hu). reflexivity.
Qed.

Lemma shifted_evictable : forall t v s r u, shifted t s r -> (evictable I v r u <-> evictable I v s u).
Proof.
  intros t v s r u [S _ _]. unfold evictable, leaf, is_true.
  split; intros [Hu [[HA Hl] HP]]; (split; [auto|]; split; [|auto]; split).
  - rewrite <- (S u Hu). auto.
  - intros w Hw HAw. apply Hl; auto. rewrite (S w Hw). auto.
  - rewrite (S u Hu). auto.
  - intros w Hw HAw. apply Hl; auto. rewrite <- (S w Hw). auto.
Qed.

Lemma shifted_max : forall a b t, Qmax (a + t) (b + t) == Qmax a b + t.
Proof.
  intros a b t. destruct (Q.max_spec a b) as [[H1 E1]|[H1 E1]],
    (Q.max_spec (a + t) (b + t)) as [[H2 E2]|[H2 E2]]; rewrite E1, E2; lra.
Qed.

Lemma clear_shifted : forall t v s s1, clear I k v s s1 -> forall r, shifted t s r ->
  exists r1, clear I k v r r1 /\ shifted t s1 r1 /\
    (forall u, (u < count I)%nat -> path I v u -> cached s1 u = cached s u).
Proof.
  intros t v s s1 C. induction C as [s Hs | s s1 s2 x D C IH | s s1 s2 x D C IH]; intros r S.
  - exists r. split; [|split; auto]. apply clear_done. rewrite (shifted_lacking t v s r S). auto.
  - destruct (least_evictable I k v s s1 x D) as [Hx [[HAx Hleaf] HxP]].
    set (r1 := Keyed (cached s1) (key r) (level s1 + t)).
    assert (Hin : forall u, (u < count I)%nat -> cached s1 u -> cached s u).
    { intros u Hu HA. rewrite (least_cached I k v s s1 x D u Hu) in HA. apply andb_prop in HA. apply HA. }
    assert (S1 : shifted t s1 r1).
    { split; simpl.
      - intros u Hu. reflexivity.
      - intros u Hu HA. rewrite (shifted_key t s r S u Hu (Hin u Hu HA)).
        rewrite (least_keys I k v s s1 x D u Hu). reflexivity.
      - reflexivity. }
    assert (D' : drop_least I k v r r1 x).
    { split; simpl.
      - apply (shifted_evictable t v s r x S). apply (least_evictable I k v s s1 x D).
      - intros u Hu. apply (shifted_evictable t v s r u S) in Hu.
        pose proof (least_key I k v s s1 x D u Hu) as Hk. destruct Hu as [Hu [[HAu _] _]].
        rewrite (shifted_key t s r S x Hx HAx), (shifted_key t s r S u Hu HAu). lra.
      - apply (shifted_lacking t v s r S). apply (least_lacking I k v s s1 x D).
      - intros u Hu. rewrite (least_cached I k v s s1 x D u Hu). unfold minus.
        rewrite (shifted_cached t s r S u Hu). reflexivity.
      - intros u Hu. reflexivity.
      - rewrite (shifted_level t s r S), (shifted_key t s r S x Hx HAx), shifted_max.
        rewrite (least_level I k v s s1 x D). reflexivity. }
    destruct (IH r1 S1) as [r2 [C2 [S2 P2]]]. exists r2. split; [|split]; auto.
    + eapply clear_least; eauto.
    + intros u Hu HP. rewrite (P2 u Hu HP), (least_cached I k v s s1 x D u Hu). unfold minus, only.
      destruct (Nat.eqb_spec u x) as [->|]; [|apply andb_true_r]. unfold is_true in HP. congruence.
  - destruct (spent_evictable I v s s1 x D) as [Hx [[HAx Hleaf] HxP]].
    set (r1 := Keyed (cached s1) (key r) (level s1 + t)).
    assert (Hin : forall u, (u < count I)%nat -> cached s1 u -> cached s u).
    { intros u Hu HA. rewrite (spent_cached I v s s1 x D u Hu) in HA. apply andb_prop in HA. apply HA. }
    assert (S1 : shifted t s1 r1).
    { split; simpl.
      - intros u Hu. reflexivity.
      - intros u Hu HA. rewrite (shifted_key t s r S u Hu (Hin u Hu HA)).
        rewrite (spent_keys I v s s1 x D u Hu). reflexivity.
      - reflexivity. }
    assert (D' : drop_spent I v r r1 x).
    { split; simpl.
      - apply (shifted_evictable t v s r x S). apply (spent_evictable I v s s1 x D).
      - rewrite (shifted_key t s r S x Hx HAx), (shifted_level t s r S).
        pose proof (spent_key I v s s1 x D). lra.
      - intros u Hu. rewrite (spent_cached I v s s1 x D u Hu). unfold minus.
        rewrite (shifted_cached t s r S u Hu). reflexivity.
      - intros u Hu. reflexivity.
      - rewrite (shifted_level t s r S), (spent_level I v s s1 x D). reflexivity. }
    destruct (IH r1 S1) as [r2 [C2 [S2 P2]]]. exists r2. split; [|split]; auto.
    + eapply clear_spent; eauto.
    + intros u Hu HP. rewrite (P2 u Hu HP), (spent_cached I v s s1 x D u Hu). unfold minus, only.
      destruct (Nat.eqb_spec u x) as [->|]; [|apply andb_true_r]. unfold is_true in HP. congruence.
Qed.

Lemma serve_shifted : forall cv t v s s' r, landlord_serve I k cv v s s' -> shifted t s r ->
  exists r', landlord_serve I k cv v r r' /\ shifted t s' r'.
Proof.
  intros cv t v s s' r [s1 [C F]] S.
  destruct (clear_shifted t v s s1 C r S) as [r1 [C1 [S1 P1]]].
  set (f := fun u => if path I v u then
      (if cached s u then touch_level cv (level r) (level r1) else level r1) + density I u
      else key r1 u).
  exists (Keyed (cached s') f (level r1)). split.
  - exists r1. split; auto. split; simpl; unfold f, is_true.
    + intros u Hu. rewrite (fetch_cached I cv v s s1 s' F u Hu). unfold union.
      rewrite (shifted_cached t s1 r1 S1 u Hu). reflexivity.
    + intros u Hu HP HA. rewrite HP. rewrite (shifted_cached t s r S u Hu) in HA. rewrite HA. reflexivity.
    + intros u Hu HP HA. rewrite HP. rewrite (shifted_cached t s r S u Hu) in HA. rewrite HA. reflexivity.
    + intros u Hu HP. rewrite HP. reflexivity.
    + reflexivity.
  - pose proof (shifted_level t s r S) as E0. pose proof (shifted_level t s1 r1 S1) as E1.
    pose proof (fetch_level I cv v s s1 s' F) as E2. split; simpl; unfold f.
    + intros u Hu. reflexivity.
    + intros u Hu HA. destruct (path I v u) eqn:EP.
      * destruct (cached s u) eqn:EA.
        -- rewrite (fetch_hit I cv v s s1 s' F u Hu EP EA). destruct cv; simpl; lra.
        -- rewrite (fetch_load I cv v s s1 s' F u Hu EP EA). lra.
      * rewrite (fetch_other I cv v s s1 s' F u Hu EP). apply (shifted_key t s1 r1 S1); auto.
        rewrite (fetch_cached I cv v s s1 s' F u Hu) in HA. unfold union, is_true in *.
        rewrite EP, orb_false_r in HA. exact HA.
    + rewrite E2. exact E1.
Qed.

Lemma run_shifted : forall cv t s requests s' paid, landlord_run I k cv s requests s' paid ->
  forall r, shifted t s r -> exists r', landlord_run I k cv r requests r' paid /\ shifted t s' r'.
Proof.
  intros cv t s requests s' paid R.
  induction R as [s paid E | s v s1 requests s2 paid rest Hv Hs R IH E]; intros r S.
  - exists r. split; auto. apply landlord_end. auto.
  - destruct (serve_shifted cv t v s s1 r Hs S) as [r1 [Hr S1]].
    destruct (IH r1 S1) as [r2 [R2 S2]]. exists r2. split; auto.
    eapply landlord_request; eauto. rewrite E.
    rewrite (cost_of_ext I (absent I v r) (absent I v s)); [reflexivity|].
    intros u Hu. unfold absent, minus. rewrite (shifted_cached t s r S u Hu). reflexivity.
Qed.

Lemma shifted_trans : forall t1 t2 s r q, shifted t1 s r -> shifted t2 r q -> shifted (t1 + t2) s q.
Proof.
  intros t1 t2 s r q [A1 K1 L1] [A2 K2 L2]. split.
  - intros u Hu. rewrite (A2 u Hu). auto.
  - intros u Hu HA. rewrite (K2 u Hu), (K1 u Hu HA); [lra|]. unfold is_true. rewrite (A1 u Hu). exact HA.
  - rewrite L2, L1. lra.
Qed.

Lemma run_append : forall cv s xs m p, landlord_run I k cv s xs m p ->
  forall ys s' q, landlord_run I k cv m ys s' q -> landlord_run I k cv s (xs ++ ys) s' (p + q).
Proof.
  intros cv s xs m p R.
  induction R as [s paid E | s v s1 requests s2 paid rest Hv Hs R IH E]; intros ys s' q R'; simpl.
  - apply landlord_run_ext with (p := q); auto. lra.
  - eapply landlord_request; [exact Hv | exact Hs | apply IH; exact R' |]. rewrite E. lra.
Qed.

Fixpoint repeat_list {T : Type} (n : nat) (l : list T) : list T :=
  match n with O => [] | S n' => l ++ repeat_list n' l end.

(** A cycle that returns to its state up to a shift costs the same every time. *)
Lemma cycle_repeats : forall cv s cycle s1 t paid,
  landlord_run I k cv s cycle s1 paid -> shifted t s s1 ->
  forall n, exists last, landlord_run I k cv s (repeat_list n cycle) last (Z.of_nat n * paid).
Proof.
  intros cv s cycle s1 t paid R S.
  assert (H : forall n r t', shifted t' s r -> exists last,
    landlord_run I k cv r (repeat_list n cycle) last (Z.of_nat n * paid)).
  { induction n; intros r t' Sr.
    - exists r. apply landlord_end. change (inject_Z (Z.of_nat 0)) with 0. lra.
    - destruct (run_shifted cv t' s cycle s1 paid R r Sr) as [r1 [R1 S1]].
      destruct (IHn r1 (t + t')) as [last Rl].
      { eapply shifted_trans; eauto. }
      exists last. simpl repeat_list. eapply landlord_run_ext; [eapply run_append; eauto|].
      rewrite Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus. change (inject_Z 1) with 1. lra. }
  intros n. apply (H n s 0). split; [intros u Hu; reflexivity | intros; lra | lra].
Qed.

End Shift.

(** *** The cycle: four nodes, costs 0, 9, 2, 2 *)

Definition cycling : forest :=
  forest_of [None; Some 0%nat; None; None] [1; 1; 1; 1]%Z [0; 9; 2; 2].

(** Landlord's state returns, up to a shift, after two rounds of the seven requests. *)
Definition cycle : list nat := [1; 2; 3; 2; 3; 2; 3; 1; 2; 3; 2; 3; 2; 3]%nat.

Definition cycle_states : list set := map of_list
  [[0; 1]; [2]; [2; 3]; [2; 3]; [2; 3]; [2; 3]; [2; 3];
   [0; 1]; [2]; [2; 3]; [2; 3]; [2; 3]; [2; 3]; [2; 3]]%nat.

Lemma cycling_valid : valid_forest cycling.
Proof. apply is_valid_forest_sound. vm_compute. reflexivity. Qed.

Definition after_one (cv : convention) : keyed := fst (play (of_forest cycling) 3 cv blank cycle).

Lemma play_cycle : forall cv s, landlord_run (of_forest cycling) 3 cv s cycle
  (fst (play (of_forest cycling) 3 cv s cycle)) (snd (play (of_forest cycling) 3 cv s cycle)).
Proof.
  intros cv s. apply play_runs;
    [apply of_forest_valid, cycling_valid | apply of_forest_acyclic, cycling_valid |].
  apply is_fits_sound. vm_compute. reflexivity.
Qed.

Definition is_shifted (I : instance) (t : Q) (s r : keyed) : bool :=
  all_nodes I (fun u => Bool.eqb (cached r u) (cached s u) &&
    (negb (cached s u) || Qeq_bool (key r u) (key s u + t))) &&
  Qeq_bool (level r) (level s + t).

Lemma is_shifted_sound : forall I t s r, is_shifted I t s r = true -> shifted I t s r.
Proof.
  intros I t s r H. unfold is_shifted in H. apply andb_prop in H. destruct H as [H HL].
  rewrite all_nodes_iff in H. split.
  - intros u Hu. specialize (H u Hu). apply andb_prop in H. apply eqb_prop. apply H.
  - intros u Hu HA. specialize (H u Hu). apply andb_prop in H. destruct H as [_ H].
    unfold is_true in HA. rewrite HA in H. apply Qeq_bool_iff. exact H.
  - apply Qeq_bool_iff. exact HL.
Qed.

Definition shift_of (cv : convention) : Q :=
  level (fst (play (of_forest cycling) 3 cv (after_one cv) cycle)) - level (after_one cv).

Lemma landlord_cycles : forall cv n, exists last,
  landlord_run (of_forest cycling) 3 cv blank (repeat_list (S n) cycle) last (40 * Z.of_nat (S n)).
Proof.
  intros cv n.
  assert (R2 : landlord_run (of_forest cycling) 3 cv (after_one cv) cycle
    (fst (play (of_forest cycling) 3 cv (after_one cv) cycle)) 40).
  { eapply landlord_run_ext; [apply play_cycle|]. destruct cv; vm_compute; reflexivity. }
  assert (Sh : shifted (of_forest cycling) (shift_of cv) (after_one cv)
    (fst (play (of_forest cycling) 3 cv (after_one cv) cycle))).
  { apply is_shifted_sound. destruct cv; vm_compute; reflexivity. }
  destruct (cycle_repeats (of_forest cycling) 3 cv (after_one cv) cycle _ _ 40 R2 Sh n) as [last Rn].
  exists last. change (repeat_list (S n) cycle) with (cycle ++ repeat_list n cycle).
  eapply landlord_run_ext.
  - eapply run_append; [apply (play_cycle cv blank) | exact Rn].
  - assert (E : snd (play (of_forest cycling) 3 cv blank cycle) == 40)
      by (destruct cv; vm_compute; reflexivity).
    rewrite E. rewrite Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus. change (inject_Z 1) with 1. lra.
Qed.

Lemma feasible_append : forall I h xs S, feasible I h xs S ->
  forall ys T, feasible I h ys T -> feasible I h (xs ++ ys) (S ++ T).
Proof.
  induction xs; destruct S; simpl; intros H ys T H'; try contradiction; auto.
  destruct H as [H1 [H2 [H3 H4]]]. repeat split; auto.
Qed.

Lemma schedule_cost_append : forall I S before T,
  schedule_cost I before (S ++ T) == schedule_cost I before S + schedule_cost I (List.last S before) T.
Proof.
  induction S as [|O S IH]; simpl; intros before T; [lra|]. rewrite IH.
  destruct S; [simpl; lra|].
  assert (E : forall (d1 d2 : set) l a, List.last (a :: l) d1 = List.last (a :: l) d2).
  { intros d1 d2 l. induction l; intros; auto. simpl in *. destruct l; auto. }
  rewrite (E O before S s). lra.
Qed.

Lemma cycle_offline : forall n, feasible (of_forest cycling) 2 (repeat_list n cycle)
    (repeat_list n cycle_states) /\
  offline_cost (of_forest cycling) (repeat_list n cycle_states) == 26 * Z.of_nat n.
Proof.
  assert (F : feasible (of_forest cycling) 2 cycle cycle_states)
    by (apply is_feasible_sound; vm_compute; reflexivity).
  assert (H : forall n before, before = empty \/ before = of_list [2; 3]%nat ->
    feasible (of_forest cycling) 2 (repeat_list n cycle) (repeat_list n cycle_states) /\
    schedule_cost (of_forest cycling) before (repeat_list n cycle_states) == 26 * Z.of_nat n).
  { induction n; intros before Hb.
    - split; [exact Logic.I|]. change (inject_Z (Z.of_nat 0)) with 0. simpl. lra.
    - destruct (IHn (of_list [2; 3]%nat) (or_intror eq_refl)) as [F' E'].
      split; [apply (feasible_append _ _ cycle cycle_states); auto|].
      change (repeat_list (S n) cycle_states) with (cycle_states ++ repeat_list n cycle_states).
      rewrite schedule_cost_append.
      change (List.last cycle_states before) with (of_list [2; 3]%nat). rewrite E'.
      assert (E : schedule_cost (of_forest cycling) before cycle_states == 26)
        by (destruct Hb; subst; vm_compute; reflexivity).
      rewrite E, Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus. change (inject_Z 1) with 1. lra. }
  intros n. apply (H n empty). auto.
Qed.

(** The conjecture in full: on this forest, at [k = 3] and [h = 2], no constant [b] makes Landlord
    [k/(k-h+1)]-competitive up to [b]. *)
Theorem landlord_not_young_competitive : forall cv b,
  ~ (forall requests schedule last paid,
       feasible (of_forest cycling) 2 requests schedule ->
       landlord_run (of_forest cycling) 3 cv blank requests last paid ->
       paid <= (3 / (3 - 2 + 1)%Z) * offline_cost (of_forest cycling) schedule + b).
Proof.
  intros cv b H.
  set (n := Z.to_nat (Z.abs (Qnum b))).
  destruct (landlord_cycles cv n) as [last R].
  destruct (cycle_offline (S n)) as [F E].
  specialize (H _ _ _ _ F R). rewrite E in H.
  assert (Hb : b <= Z.of_nat n).
  { unfold n. rewrite Z2Nat.id by lia. unfold Qle, inject_Z. simpl. nia. }
  rewrite Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus in H. change (inject_Z 1) with 1 in H.
  change (inject_Z (3 - 2 + 1)) with 2 in H.
  assert (3 / 2 == 3 # 2) as E3 by reflexivity. rewrite E3 in H. lra.
Qed.

(** ** Non-vacuity and wrong constants *)

(** Cosigned on the smallest witness: 9, where loading every node once would cost 7. What was paid
    twice was evicted in between. *)
Theorem cosigned_is_inhabited : exists last,
  run (of_forest four) 3 start six_requests last 9 /\ cost_of (of_forest four) (fun _ => true) == 7.
Proof.
  exists (fst (execute (of_forest four) 3 start six_requests)). split; [|vm_compute; reflexivity].
  apply run_ext with (p := snd (execute (of_forest four) 3 start six_requests));
    [|vm_compute; reflexivity].
  apply execute_runs.
  - apply of_forest_valid, four_valid.
  - apply start_sound.
  - apply is_fits_sound. vm_compute. reflexivity.
Qed.

(** [cosigned_bound] with [k - 1] in place of [k] on the right. *)
Theorem bound_with_k_minus_1_is_false :
  ~ (forall I k h requests schedule last paid,
       valid I -> (1 <= h <= k)%Z -> feasible I h requests schedule ->
       run I k start requests last paid ->
       (k - h + 1)%Z * paid <= (k - 1)%Z * offline_cost I schedule).
Proof.
  intros H. destruct cosigned_is_inhabited as [last [R _]].
  specialize (H (of_forest four) 3%Z 2%Z six_requests six_states last 9
    (of_forest_valid _ four_valid) ltac:(lia) six_feasible R).
  rewrite six_offline in H. vm_compute in H. apply H. reflexivity.
Qed.

(** [cosigned_bound] with [k - h + 2] in place of [k - h + 1] on the left. *)
Theorem bound_with_k_minus_h_plus_2_is_false :
  ~ (forall I k h requests schedule last paid,
       valid I -> (1 <= h <= k)%Z -> feasible I h requests schedule ->
       run I k start requests last paid ->
       (k - h + 2)%Z * paid <= k * offline_cost I schedule).
Proof.
  intros H. destruct cosigned_is_inhabited as [last [R _]].
  specialize (H (of_forest four) 3%Z 2%Z six_requests six_states last 9
    (of_forest_valid _ four_valid) ltac:(lia) six_feasible R).
  rewrite six_offline in H. vm_compute in H. apply H. reflexivity.
Qed.

(** [landlord_bound] with [m + 1] in place of [m]. *)
Theorem landlord_bound_with_m_plus_1_is_false : forall cv,
  ~ (forall I k h H m requests schedule last paid,
       valid I -> acyclic I -> (1 <= h <= k)%Z ->
       (forall v, In v requests -> (volume I (path I v) <= H)%Z) ->
       (1 <= m)%Z -> is_ceiling m (k - h + 1) H ->
       feasible I h requests schedule -> landlord_run I k cv blank requests last paid ->
       paid <= (1 + (h - 1)%Z / (m + 1)%Z) * offline_cost I schedule).
Proof.
  intros cv H. destruct (six_landlord cv) as [last R].
  specialize (H (of_forest four) 3%Z 2%Z 2%Z 1%Z six_requests six_states last 11
    (of_forest_valid _ four_valid) (of_forest_acyclic _ four_valid) ltac:(lia)).
  assert (HH : forall v, In v six_requests -> (volume (of_forest four) (path (of_forest four) v) <= 2)%Z).
  { intros v Hv. simpl in Hv. repeat (destruct Hv as [<-|Hv]; [vm_compute; discriminate|]). contradiction. }
  specialize (H HH ltac:(lia) ltac:(unfold is_ceiling; lia) six_feasible R).
  rewrite six_offline in H. vm_compute in H. apply H. reflexivity.
Qed.

(** [landlord_safe] without its hypothesis on densities. *)
Theorem landlord_safe_without_densities_is_false :
  ~ (forall I k h requests schedule last paid,
       valid I -> acyclic I -> (1 <= h <= k)%Z ->
       feasible I h requests schedule -> landlord_run I k After blank requests last paid ->
       (k - h + 1)%Z * paid <= k * offline_cost I schedule).
Proof.
  intros H. destruct (six_landlord After) as [last R].
  specialize (H (of_forest four) 3%Z 2%Z six_requests six_states last 11
    (of_forest_valid _ four_valid) (of_forest_acyclic _ four_valid) ltac:(lia) six_feasible R).
  rewrite six_offline in H. vm_compute in H. apply H. reflexivity.
Qed.
