(** * Services end: an executable policy inside the relation

    [Cosigned.v] bounds every run of a relation; this file shows that there are runs to bound.
    [round] makes one step while room is short: if an unpinned node has no resident dependent with
    credit, it leaves with its dependents; otherwise every unpinned node picks a cosigner with credit
    and a rent round runs until the first of the payers has nothing left. Each step lowers the number
    of residents or of residents with credit, so at most [2 n] steps make room. *)

From Coq Require Import List Bool Arith ZArith QArith Lia Lqa.
From CacheWorthy Require Import Model Cosigned.
Import ListNotations.
Open Scope Q_scope.

Local Arguments Qred : simpl never.

(** ** Tables: functions on nodes computed once, so that evaluation does not repeat itself *)

Definition table {T : Type} (default : T) (n : nat) (f : nat -> T) : nat -> T :=
  let l := map f (seq 0 n) in fun u => nth u l default.

Lemma table_at : forall T (default : T) n f u, (u < n)%nat -> table default n f u = f u.
Proof.
  intros T default n f u Hu. unfold table.
  rewrite (nth_indep _ default (f u)) by (rewrite map_length, seq_length; auto).
  rewrite map_nth. rewrite seq_nth by auto. reflexivity.
Qed.

(** The first element of [l] in [p] where [f] is least. *)
Fixpoint least (f : nat -> Q) (p : set) (l : list nat) : option nat :=
  match l with
  | [] => None
  | u :: rest =>
      match least f p rest with
      | None => if p u then Some u else None
      | Some x => if p u && Qle_bool (f u) (f x) then Some u else Some x
      end
  end.

Lemma least_none : forall f p l, least f p l = None -> forall u, In u l -> p u = false.
Proof.
  induction l; simpl; intros E u Hu; [contradiction|].
  destruct (least f p l) eqn:El.
  - destruct (p a && Qle_bool (f a) (f n)); discriminate.
  - destruct (p a) eqn:Ep; [discriminate|]. destruct Hu as [->|Hu]; auto.
Qed.

Lemma least_some : forall f p l x, least f p l = Some x ->
  In x l /\ p x = true /\ forall u, In u l -> p u = true -> f x <= f u.
Proof.
  induction l; simpl; intros x E; [discriminate|].
  destruct (least f p l) as [y|] eqn:El.
  - destruct (IHl y eq_refl) as [Hy [Hpy Hmin]].
    destruct (p a && Qle_bool (f a) (f y)) eqn:Ea; injection E as <-.
    + apply andb_prop in Ea. destruct Ea as [Hpa Hle]. apply Qle_bool_iff in Hle.
      split; auto. split; auto. intros u [->|Hu] Hpu; [lra|].
      specialize (Hmin u Hu Hpu). lra.
    + split; auto. split; auto. intros u [->|Hu] Hpu; auto.
      rewrite Hpu in Ea. simpl in Ea.
      destruct (Qlt_le_dec (f u) (f y)); auto. exfalso.
      assert (Qle_bool (f u) (f y) = true) by (apply Qle_bool_iff; lra). congruence.
  - destruct (p a) eqn:Ep; [|discriminate]. injection E as <-.
    split; auto. split; auto. intros u [->|Hu] Hpu; [lra|].
    rewrite (least_none f p l El u Hu) in Hpu. discriminate.
Qed.

Definition positive (q : Q) : bool := negb (Qle_bool q 0).

Lemma positive_true : forall q, positive q = true -> 0 < q.
Proof.
  unfold positive. intros q H. apply negb_true_iff in H.
  destruct (Qlt_le_dec 0 q); auto. apply Qle_bool_iff in q0. congruence.
Qed.

Lemma positive_false : forall q, positive q = false -> q <= 0.
Proof. unfold positive. intros q H. apply negb_false_iff in H. apply Qle_bool_iff. auto. Qed.

Section Execute.
Variable I : instance.
Variable k : Z.

(** ** The policy as a function *)

Definition cosigner (s : state) (u : nat) : option nat :=
  find (fun w => resident s w && needs I w u && positive (credit s w)) (nodes I).

Definition pays_for (s : state) (w u : nat) : bool :=
  match cosigner s u with Some x => (x =? w)%nat | None => false end.

(** An unpinned node that nobody can pay for. *)
Definition broke (v : nat) (s : state) : option nat :=
  find (fun u => unpinned I v s u && match cosigner s u with None => true | Some _ => false end)
    (nodes I).

Definition dependents (s : state) (u : nat) : set := fun w => resident s w && needs I w u.

(** What [w] pays per unit of rent: the sizes of those it cosigns for, itself included. *)
Definition rate (v : nat) (s : state) (w : nat) : Z :=
  volume I (fun u => unpinned I v s u && pays_for s w u).

Definition run_out (v : nat) (s : state) (w : nat) : Q := credit s w / rate v s w.

Definition round (v : nat) (s : state) : state :=
  match broke v s with
  | Some u => State (table false (count I) (minus (resident s) (dependents s u))) (credit s)
  | None =>
      match least (run_out v s) (fun w => (0 <? rate v s w)%Z) (nodes I) with
      | Some x =>
          let d := Qred (run_out v s x) in
          State (resident s)
            (table 0 (count I) (fun w => Qred (credit s w - d * rate v s w)))
      | None => s
      end
  end.

Definition is_short (v : nat) (s : state) : bool :=
  (k <? volume I (resident s) + volume I (missing I v s))%Z.

Fixpoint rounds (fuel v : nat) (s : state) : state :=
  if is_short v s then
    match fuel with O => s | S fuel' => rounds fuel' v (round v s) end
  else s.

Definition refresh (v : nat) (s : state) : state :=
  State (resident s) (table 0 (count I)
    (fun u => if path I v u then cost I u else credit s u)).

Definition loaded (v : nat) (s : state) : state :=
  State (table false (count I) (union (resident s) (path I v)))
    (table 0 (count I) (fun u => if missing I v s u then cost I u else credit s u)).

Definition service (v : nat) (s : state) : state :=
  loaded v (rounds (2 * count I) v (refresh v s)).

Fixpoint execute (s : state) (requests : list nat) : state * Q :=
  match requests with
  | [] => (s, 0)
  | v :: requests' =>
      let (last, paid) := execute (service v s) requests' in
      (last, Qred (cost_of I (missing I v s) + paid))
  end.

(** ** It is an instance of the relation *)

Hypothesis V : valid I.

Definition measure (s : state) : nat :=
  number I (resident s) + number I (fun u => resident s u && positive (credit s u)).

Lemma cosigner_some : forall s u w, cosigner s u = Some w ->
  (w < count I)%nat /\ resident s w /\ needs I w u /\ 0 < credit s w.
Proof.
  intros s u w H. apply find_some in H. destruct H as [Hin H]. apply in_nodes in Hin.
  apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
  repeat split; auto. apply positive_true. auto.
Qed.

Lemma pays_for_true : forall s w u, pays_for s w u = true -> cosigner s u = Some w.
Proof.
  intros s w u H. unfold pays_for in H. destruct (cosigner s u); [|discriminate].
  apply Nat.eqb_eq in H. subst. reflexivity.
Qed.

Lemma short_true : forall v s, is_short v s = true <-> short I k v s.
Proof. intros. unfold is_short, short. apply Z.ltb_lt. Qed.

(** Room is short, the path alone would fit: something is unpinned. *)
Lemma unpinned_exists : forall v s, (volume I (path I v) <= k)%Z -> short I k v s ->
  exists u, (u < count I)%nat /\ unpinned I v s u.
Proof.
  intros v s Hfit Hs.
  assert (Hr : (1 <= 1 <= k)%Z \/ (k < 1)%Z) by lia.
  destruct (find (unpinned I v s) (nodes I)) eqn:E.
  - apply find_some in E. destruct E as [Hin E]. apply in_nodes in Hin. exists n. split; auto.
  - exfalso. pose proof (unpinned_volume I k V v s Hs) as HU.
    rewrite (volume_ext I (unpinned I v s) empty), volume_empty in HU; [lia|].
    intros u Hu. apply (find_none _ _ E). apply in_nodes. auto.
Qed.

(** One step while room is short is an eviction or a rent round, and the measure falls. *)
Lemma round_step : forall v s, (v < count I)%nat -> sound I s ->
  (volume I (path I v) <= k)%Z -> short I k v s ->
  (measure (round v s) < measure s)%nat /\
  ((exists gone, evict I v s (round v s) gone) \/ (exists d pay, rent I k v s (round v s) d pay)).
Proof.
  intros v s Hv [Hclosed Hrange] Hfit Hshort. unfold round.
  destruct (broke v s) as [u|] eqn:EB.
  - (* eviction of the dependents of u *)
    apply find_some in EB. destruct EB as [Hu EB]. apply in_nodes in Hu.
    apply andb_prop in EB. destruct EB as [HU Hnone].
    destruct (cosigner s u) eqn:EC; [discriminate|]. clear Hnone.
    pose proof HU as HU'. unfold unpinned, minus in HU'. apply andb_prop in HU'.
    destruct HU' as [HAu HPu]. apply negb_true_iff in HPu.
    assert (Hdep : forall w, (w < count I)%nat -> dependents s u w = true ->
      resident s w = true /\ needs I w u = true /\ credit s w == 0 /\ path I v w = false).
    { intros w Hw Hd. unfold dependents in Hd. apply andb_prop in Hd. destruct Hd as [HA Hn].
      repeat split; auto.
      - assert (Hz : (resident s w && needs I w u && positive (credit s w))%bool = false).
        { apply (find_none _ _ EC). apply in_nodes. auto. }
        rewrite HA, Hn in Hz. simpl in Hz. apply positive_false in Hz.
        pose proof (Hrange w Hw HA). lra.
      - destruct (path I v w) eqn:EP; auto. exfalso.
        assert (needs I v u) by (apply (needs_trans I V v w u); auto).
        unfold path, is_true in *. congruence. }
    split.
    + unfold measure. cbn [resident credit].
      assert (H1 : (number I (table false (count I) (minus (resident s) (dependents s u))) <
              number I (resident s))%nat).
      { apply number_lt with (x := u); auto.
        - intros w Hw H. rewrite table_at in H by auto. apply andb_prop in H. apply H.
        - rewrite table_at by auto. unfold minus, dependents. rewrite HAu.
          rewrite (needs_refl I V u Hu). reflexivity. }
      assert (H2 : (number I (fun w => table false (count I) (minus (resident s) (dependents s u)) w
                 && positive (credit s w)) <=
              number I (fun w => resident s w && positive (credit s w)))%nat).
      { apply number_le. intros w Hw H. apply andb_prop in H. destruct H as [H3 H4].
        rewrite table_at in H3 by auto. apply andb_prop in H3. destruct H3 as [H3 _].
        unfold is_true. rewrite H3, H4. reflexivity. }
      lia.
    + left. exists (dependents s u). split; simpl.
      * intros w Hw Hd. destruct (Hdep w Hw Hd) as [H1 [H2 [H3 H4]]].
        unfold unpinned, minus, is_true. rewrite H1, H4. reflexivity.
      * intros w Hw Hd. apply Hdep; auto.
      * intros w x Hw Hx HAw Hn. unfold minus, dependents, is_true in *.
        apply andb_prop in HAw. destruct HAw as [HA HD]. rewrite HA in HD. simpl in HD.
        assert (HAx : resident s x = true) by (apply (Hclosed w x); auto).
        rewrite HAx. simpl. apply negb_true_iff. apply negb_true_iff in HD.
        destruct (needs I x u) eqn:Exu; auto.
        rewrite <- HD. symmetry. apply (needs_trans I V w x u); auto.
      * intros w Hw. apply table_at. auto.
      * intros w Hw. reflexivity.
  - (* a rent round *)
    assert (Hcos : forall u, (u < count I)%nat -> unpinned I v s u ->
      exists w, cosigner s u = Some w).
    { intros u Hu HU. destruct (cosigner s u) eqn:EC; [eauto|]. exfalso.
      pose proof (find_none _ _ EB u) as Hn. cbv beta in Hn. rewrite EC in Hn.
      unfold is_true in HU. rewrite HU in Hn. discriminate Hn. apply in_nodes. auto. }
    assert (Hrate : forall u w, (u < count I)%nat -> (w < count I)%nat -> unpinned I v s u ->
      cosigner s u = Some w -> (0 < rate v s w)%Z).
    { intros u w Hu Hw HU HC. unfold rate.
      pose proof (volume_member I V (fun u => unpinned I v s u && pays_for s w u) u Hu) as Hm.
      pose proof (size_positive I V u Hu).
      assert (size I u <= volume I (fun u => unpinned I v s u && pays_for s w u))%Z; [|lia].
      apply Hm. unfold pays_for, is_true in *. rewrite HU, HC, Nat.eqb_refl. reflexivity. }
    destruct (least (run_out v s) (fun w => (0 <? rate v s w)%Z) (nodes I)) as [x|] eqn:EL.
    2:{ exfalso. destruct (unpinned_exists v s Hfit Hshort) as [u [Hu HU]].
        destruct (Hcos u Hu HU) as [w HC]. destruct (cosigner_some s u w HC) as [Hw _].
        pose proof (least_none _ _ _ EL w) as Hn. cbv beta in Hn.
        pose proof (Hrate u w Hu Hw HU HC). apply Z.ltb_lt in H. rewrite Hn in H; [discriminate|].
        apply in_nodes. auto. }
    apply least_some in EL. destruct EL as [Hx [Hxr Hmin]]. apply in_nodes in Hx.
    apply Z.ltb_lt in Hxr.
    set (d := Qred (run_out v s x)).
    assert (Hd : d == run_out v s x) by apply Qred_correct.
    assert (Hsolv : forall w, (w < count I)%nat -> (0 < rate v s w)%Z ->
      resident s w = true /\ 0 < credit s w).
    { intros w Hw Hr.
      destruct (find (fun u => unpinned I v s u && pays_for s w u) (nodes I)) eqn:EF.
      - apply find_some in EF. destruct EF as [_ EF]. apply andb_prop in EF.
        destruct EF as [_ EF]. apply pays_for_true in EF. apply cosigner_some in EF.
        split; apply EF.
      - exfalso. unfold rate in Hr.
        rewrite (volume_ext I _ empty), volume_empty in Hr; [lia|].
        intros u Hu. apply (find_none _ _ EF). apply in_nodes. auto. }
    assert (Hrate0 : forall w, (0 <= rate v s w)%Z) by (intros; apply volume_nonnegative; auto).
    assert (HrateQ : forall w, 0 <= rate v s w).
    { intros. change (inject_Z 0 <= rate v s w). rewrite <- Zle_Qle. auto. }
    assert (Hposq : forall w, (0 < rate v s w)%Z -> 0 < rate v s w).
    { intros. change (inject_Z 0 < rate v s w). rewrite <- Zlt_Qlt. auto. }
    assert (Hd0 : 0 <= d).
    { rewrite Hd. unfold run_out. destruct (Hsolv x Hx Hxr) as [_ Hc].
      apply Qle_shift_div_l; [auto | lra]. }
    assert (Hkeep : forall w, (w < count I)%nat -> resident s w ->
      0 <= credit s w - d * rate v s w).
    { intros w Hw HA. destruct (Z_lt_le_dec 0 (rate v s w)) as [Hr|Hr].
      - assert (Hdw : d <= run_out v s w).
        { rewrite Hd. apply Hmin; [apply in_nodes; auto | apply Z.ltb_lt; auto]. }
        pose proof (Hposq w Hr) as Hrq.
        assert (d * rate v s w <= run_out v s w * rate v s w)
          by (apply Qmult_le_compat_r; [auto | lra]).
        assert (run_out v s w * rate v s w == credit s w) by (unfold run_out; field; lra).
        lra.
      - assert (rate v s w = 0%Z) by (specialize (Hrate0 w); lia). rewrite H.
        destruct (Hrange w Hw HA). change (inject_Z 0) with 0. lra. }
    split.
    + unfold measure. cbn [resident credit].
      assert ((number I (fun u => resident s u && positive
          (table 0%Q (count I) (fun w => Qred (credit s w - d * rate v s w)%Q) u)) <
        number I (fun u => resident s u && positive (credit s u)))%nat); [|lia].
      apply number_lt with (x := x); auto.
      * intros u Hu H. apply andb_prop in H. destruct H as [HA Hp]. rewrite table_at in Hp by auto.
        apply positive_true in Hp. rewrite Qred_correct in Hp.
        unfold is_true. rewrite HA. simpl.
        destruct (positive (credit s u)) eqn:EP; auto. apply positive_false in EP.
        assert (0 <= d * rate v s u) by (apply Qmult_le_0_compat; auto). lra.
      * destruct (Hsolv x Hx Hxr) as [HA Hc]. unfold is_true. rewrite HA. simpl.
        destruct (positive (credit s x)) eqn:EP; auto. apply positive_false in EP. lra.
      * rewrite table_at by auto. destruct (Hsolv x Hx Hxr) as [HA Hc]. rewrite HA, andb_true_l.
        unfold positive. apply negb_false_iff. apply Qle_bool_iff. cbv beta. rewrite Qred_correct.
        assert (d * rate v s x == credit s x).
        { rewrite Hd. unfold run_out. pose proof (Hposq x Hxr). field. lra. }
        lra.
    + right. exists d.
      exists (fun w u => if unpinned I v s u && pays_for s w u then d * size I u else 0).
      split; cbn [resident credit]; auto.
      * intros w u Hw Hu Hne.
        destruct (unpinned I v s u) eqn:EU; destruct (pays_for s w u) eqn:EP; simpl in Hne;
          try (exfalso; apply Hne; reflexivity).
        apply pays_for_true, cosigner_some in EP. destruct EP as [_ [H1 [H2 _]]].
        repeat split; auto.
      * intros w u Hw Hu. destruct (unpinned I v s u && pays_for s w u); [|lra].
        apply Qmult_le_0_compat; auto. pose proof (size_positive I V u Hu).
        change (inject_Z 0 <= size I u). rewrite <- Zle_Qle. lia.
      * intros u Hu HU. destruct (Hcos u Hu HU) as [x' HC].
        destruct (cosigner_some s u x' HC) as [Hx' _].
        rewrite (sum_ext I _ (fun w => if (w =? x')%nat then d * size I u else 0)).
        { apply sum_single. auto. }
        intros w Hw. unfold pays_for. rewrite HC. unfold is_true in HU. rewrite HU. simpl.
        rewrite Nat.eqb_sym. reflexivity.
      * intros u Hu. reflexivity.
      * intros w Hw _. rewrite table_at by auto. rewrite Qred_correct.
        assert (E : d * rate v s w ==
          sum I (fun u => if unpinned I v s u && pays_for s w u then d * size I u else 0)).
        { unfold rate. rewrite volume_Q. unfold sum_over. rewrite <- sum_scale. apply sum_ext.
          intros u Hu. destruct (unpinned I v s u && pays_for s w u); lra. }
        rewrite E. reflexivity.
      * intros w Hw HA. rewrite table_at by auto. rewrite Qred_correct. auto.
Qed.

Lemma measure_bound : forall s, (measure s <= 2 * count I)%nat.
Proof.
  intros s. unfold measure, number.
  assert (forall f : nat -> bool, (length (filter f (nodes I)) <= count I)%nat).
  { intros f. rewrite <- (seq_length (count I) 0). unfold nodes.
    induction (seq 0 (count I)); simpl; [lia|]. destruct (f a); simpl; lia. }
  pose proof (H (resident s)). pose proof (H (fun u => resident s u && positive (credit s u))). lia.
Qed.

Lemma rounds_make_room : forall v, (v < count I)%nat -> (volume I (path I v) <= k)%Z ->
  forall fuel s, sound I s -> (measure s <= fuel)%nat -> make_room I k v s (rounds fuel v s).
Proof.
  intros v Hv Hfit. induction fuel; intros s S Hm; simpl; destruct (is_short v s) eqn:ES.
  - exfalso. apply short_true in ES. destruct (round_step v s Hv S Hfit ES). lia.
  - apply room_made. intros Hs. apply short_true in Hs. congruence.
  - apply short_true in ES.
    destruct (round_step v s Hv S Hfit ES) as [Hlt [[gone He]|[d [pay Hr]]]].
    + eapply room_evict; [exact He|]. apply IHfuel; [|lia]. eapply evict_sound; eauto.
    + eapply room_rent; [exact Hr|]. apply IHfuel; [|lia]. eapply rent_sound; eauto.
  - apply room_made. intros Hs. apply short_true in Hs. congruence.
Qed.

Lemma refresh_hit : forall v s, sound I s -> hit I v s (refresh v s).
Proof.
  intros v s [_ R]. split; simpl.
  - intros u Hu. reflexivity.
  - intros u Hu HA HP. rewrite table_at by auto. unfold is_true in HP. rewrite HP.
    pose proof (R u Hu HA). lra.
  - intros u Hu _ HP. rewrite table_at by auto. rewrite HP. reflexivity.
Qed.

Lemma loaded_load : forall v s, load I v s (loaded v s).
Proof.
  intros v s. split; simpl.
  - intros u Hu. apply table_at. auto.
  - intros u Hu HM. rewrite table_at by auto. unfold is_true in HM. rewrite HM. reflexivity.
  - intros u Hu HA. rewrite table_at by auto. unfold missing, minus, is_true in *. rewrite HA.
    rewrite andb_false_r. reflexivity.
Qed.

Lemma service_serves : forall v s, (v < count I)%nat -> sound I s ->
  (volume I (path I v) <= k)%Z -> serve I k v s (service v s).
Proof.
  intros v s Hv S Hfit. exists (refresh v s), (rounds (2 * count I) v (refresh v s)).
  pose proof (refresh_hit v s S) as Hh.
  split; auto. split; [|apply loaded_load].
  apply rounds_make_room; auto; [|apply measure_bound].
  eapply hit_sound; eauto.
Qed.

Definition fits (requests : list nat) : Prop :=
  forall v, In v requests -> (v < count I)%nat /\ (volume I (path I v) <= k)%Z.

(** What the function computes is a run of the relation. *)
Theorem execute_runs : forall requests s, sound I s -> fits requests ->
  run I k s requests (fst (execute s requests)) (snd (execute s requests)).
Proof.
  induction requests as [|v requests IH]; intros s S Hf.
  - simpl. apply run_end. reflexivity.
  - destruct (Hf v (or_introl eq_refl)) as [Hv Hfit].
    pose proof (service_serves v s Hv S Hfit) as Hs. simpl.
    destruct (execute (service v s) requests) as [last paid] eqn:E. simpl.
    apply run_request with (s1 := service v s) (rest := paid); auto.
    + specialize (IH (service v s)). rewrite E in IH. apply IH.
      * eapply serve_sound; eauto.
      * intros w Hw. apply Hf. right. auto.
    + apply Qred_correct.
Qed.

(** A service can be carried through from every sound state, whatever was done before, and even
    from the middle of a service: the relation never gets stuck. *)
Theorem service_exists : forall v s, (v < count I)%nat -> sound I s ->
  (volume I (path I v) <= k)%Z -> exists s', serve I k v s s'.
Proof. intros. exists (service v s). apply service_serves; auto. Qed.

Theorem never_stuck : forall v s, (v < count I)%nat -> sound I s ->
  (volume I (path I v) <= k)%Z -> exists s', make_room I k v s s'.
Proof.
  intros. exists (rounds (2 * count I) v s). apply rounds_make_room; auto. apply measure_bound.
Qed.

Theorem run_exists : forall requests, fits requests ->
  exists last paid, run I k start requests last paid.
Proof.
  intros requests Hf. exists (fst (execute start requests)), (snd (execute start requests)).
  apply execute_runs; auto. apply start_sound.
Qed.

End Execute.
