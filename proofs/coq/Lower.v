(** * Landlord's upper bound is exact

    For all [2 <= h <= k] and [1 <= H <= h], with [m = ceil((k-h+1)/H)]: no ratio below
    [1 + (h-1)/m] holds for Landlord on forests whose requested paths have size at most [H],
    whatever the additive constant ([landlord_ratio_is_exact]). Young's ratio is such a one for all
    [k > h >= 2] and [H >= 2] ([landlord_never_young]).

    The instance: [m] trees whose sizes, at most [H], sum to [k-h+1], each a root of cost 0 with a
    dear child of size 1 and cost [M] (the child alone for a tree of size 1), and [h] units of size
    and cost 1. Ask for the dear nodes, then [(h-1) M] times for a unit that is not held. The trees
    leave room for [h-1] units. The keys of the units held sum to the number of unit loads so far,
    so while there were fewer than [(h-1) M] one of them has a key below [M], that of the dear nodes,
    and a unit leaves. The schedule serves the dear nodes one by one and then holds all the units. *)

From Coq Require Import List Bool Arith ZArith QArith Qminmax Qround Lia Lqa.
From CacheWorthy Require Import Model Cosigned Progress Landlord Execute Witness.
Import ListNotations.
Open Scope Q_scope.

(** ** Sums over disjoint unions *)

Lemma sum_over_union : forall I (A B : set) f,
  (forall u, (u < count I)%nat -> A u -> B u = false) ->
  sum_over I (union A B) f == sum_over I A f + sum_over I B f.
Proof.
  intros I A B f Hd. unfold sum_over. rewrite <- sum_plus. apply sum_ext. intros u Hu.
  specialize (Hd u Hu). unfold union, is_true in *. destruct (A u), (B u); simpl; try lra;
    discriminate (Hd eq_refl).
Qed.

Lemma sum_over_only : forall I x f, (x < count I)%nat -> sum_over I (only x) f == f x.
Proof.
  intros I x f Hx. unfold sum_over, only. rewrite <- (sum_single I x (f x) Hx).
  apply sum_ext. intros u Hu. destruct (Nat.eqb_spec u x) as [->|]; reflexivity.
Qed.

Lemma sum_over_same : forall I (A B : set) f g, same I A B ->
  (forall u, (u < count I)%nat -> A u -> f u == g u) -> sum_over I A f == sum_over I B g.
Proof.
  intros I A B f g S E. apply sum_ext. intros u Hu. rewrite <- (S u Hu).
  specialize (E u Hu). unfold is_true in E. destruct (A u); [apply E; auto | reflexivity].
Qed.

Lemma volume_union : forall I (A B : set),
  (forall u, (u < count I)%nat -> A u -> B u = false) ->
  volume I (union A B) = (volume I A + volume I B)%Z.
Proof.
  intros I A B Hd. apply inject_Z_injective. rewrite inject_Z_plus, !volume_Q.
  apply sum_over_union. auto.
Qed.

Lemma volume_only : forall I x, (x < count I)%nat -> volume I (only x) = size I x.
Proof.
  intros I x Hx. apply inject_Z_injective. rewrite volume_Q. apply sum_over_only. auto.
Qed.

(** ** The instance *)

Section Construction.
Variables m h : nat.
Variable d : nat -> Z.
Variable M : Z.
Variable k : Z.
Hypothesis h_two : (2 <= h)%nat.
Hypothesis d_positive : forall i, (i < m)%nat -> (1 <= d i)%Z.
Hypothesis M_positive : (1 <= M)%Z.

Definition rooted_tree (i : nat) : bool := (2 <=? d i)%Z.

(** Dear nodes [0 .. m-1], their roots [m .. 2m-1], units [2m .. 2m+h-1]. The root of a tree of
    size 1 is a node that nobody asks for. *)
Definition stage : forest := {|
  trees := (2 * m + h)%nat;
  parent := fun v => if (v <? m)%nat && rooted_tree v then Some (m + v)%nat else None;
  forest_size := fun v =>
    if (v <? m)%nat then 1%Z else if (v <? 2 * m)%nat then Z.max 1 (d (v - m) - 1) else 1%Z;
  forest_cost := fun v =>
    if (v <? m)%nat then M else if (v <? 2 * m)%nat then 0 else 1
|}.

Let I := of_forest stage.

Lemma stage_valid : valid_forest stage.
Proof.
  split; simpl; unfold is_true.
  - intros v p Hv. destruct (Nat.ltb_spec v m); simpl; [|discriminate].
    destruct (rooted_tree v); [|discriminate]. intros E. injection E as <-. lia.
  - intros v Hv. replace (m + (m + 0) + h)%nat with (S (m + m + (h - 1)))%nat by lia. simpl.
    destruct (Nat.ltb_spec v m); simpl; auto. destruct (rooted_tree v); auto.
    destruct (m + m + (h - 1))%nat; simpl; destruct (Nat.ltb_spec (m + v) m); simpl; auto; lia.
  - intros v Hv. destruct (v <? m)%nat; [lia|]. destruct (v <? m + (m + 0))%nat; lia.
  - intros v Hv. destruct (v <? m)%nat; [change (inject_Z 0 <= M); rewrite <- Zle_Qle; lia|].
    destruct (v <? m + (m + 0))%nat; lra.
Qed.

Let V := of_forest_valid stage stage_valid.
Let Acy := of_forest_acyclic stage stage_valid.

Lemma stage_count : count I = (2 * m + h)%nat.
Proof. reflexivity. Qed.

Lemma stage_needs : forall v u, (v < 2 * m + h)%nat ->
  needs I v u = ((v =? u)%nat || ((v <? m)%nat && rooted_tree v && (m + v =? u)%nat)).
Proof.
  intros v u Hv. unfold I. simpl.
  replace (m + (m + 0) + h)%nat with (S (m + m + (h - 1)))%nat by lia. simpl.
  destruct (v =? u)%nat; simpl; auto.
  destruct (Nat.ltb_spec v m); simpl; auto. destruct (rooted_tree v); simpl; auto.
  destruct (m + m + (h - 1))%nat; simpl; destruct (m + v =? u)%nat; simpl; auto;
    destruct (Nat.ltb_spec (m + v) m); simpl; auto; lia.
Qed.

Definition units : set := fun u => (2 * m <=? u)%nat.

(** The trees of the first [i] dear nodes. *)
Definition copy (i : nat) : set := fun u =>
  (u <? i)%nat || ((m <=? u)%nat && (u <? m + i)%nat && rooted_tree (u - m)).

Lemma unit_path : forall u x, (u < 2 * m + h)%nat -> units u = true -> path I u x = (u =? x)%nat.
Proof.
  intros u x Hu HU. unfold path. rewrite stage_needs by auto. unfold units in HU.
  apply Nat.leb_le in HU. destruct (Nat.ltb_spec u m); [lia|]. simpl. apply orb_false_r.
Qed.

Lemma unit_needed : forall w u, (w < 2 * m + h)%nat -> units u = true -> needs I w u = true -> w = u.
Proof.
  intros w u Hw HU Hn. rewrite stage_needs in Hn by auto. unfold units in HU. apply Nat.leb_le in HU.
  apply orb_prop in Hn. destruct Hn as [Hn|Hn]; [apply Nat.eqb_eq; auto|].
  apply andb_prop in Hn. destruct Hn as [Hn E]. apply andb_prop in Hn. destruct Hn as [Hn _].
  apply Nat.ltb_lt in Hn. apply Nat.eqb_eq in E. lia.
Qed.

Lemma unit_size : forall u, units u = true -> size I u = 1%Z /\ cost I u == 1.
Proof.
  intros u HU. unfold units in HU. apply Nat.leb_le in HU. simpl.
  destruct (Nat.ltb_spec u m); [lia|]. destruct (Nat.ltb_spec u (m + (m + 0))); [lia|].
  split; reflexivity.
Qed.

Lemma unit_density : forall u, units u = true -> density I u == 1.
Proof. intros u HU. destruct (unit_size u HU) as [E1 E2]. unfold density. rewrite E1, E2. reflexivity. Qed.

Lemma dear_density : forall i, (i < m)%nat -> density I i == M.
Proof.
  intros i Hi. unfold density. simpl. destruct (Nat.ltb_spec i m); [|lia]. field.
Qed.

Lemma copy_path : forall i u, (i < m)%nat -> (u < 2 * m + h)%nat ->
  copy (S i) u = (copy i u || path I i u) /\ (copy i u = true -> path I i u = false).
Proof.
  intros i u Hi Hu. unfold path. rewrite stage_needs by lia. unfold copy.
  replace (i <? m)%nat with true by (symmetry; apply Nat.ltb_lt; auto).
  destruct (Nat.eqb_spec i u) as [->|H1].
  - replace (u <? S u)%nat with true by (symmetry; apply Nat.ltb_lt; lia).
    replace (u <? u)%nat with false by (symmetry; apply Nat.ltb_irrefl).
    replace (m <=? u)%nat with false by (symmetry; apply Nat.leb_gt; lia). simpl. auto.
  - destruct (Nat.eqb_spec (m + i) u) as [<-|H2].
    + replace (m + i - m)%nat with i by lia.
      replace (m + i <? S i)%nat with false by (symmetry; apply Nat.ltb_ge; lia).
      replace (m + i <? i)%nat with false by (symmetry; apply Nat.ltb_ge; lia).
      replace (m <=? m + i)%nat with true by (symmetry; apply Nat.leb_le; lia).
      replace (m + i <? m + S i)%nat with true by (symmetry; apply Nat.ltb_lt; lia).
      replace (m + i <? m + i)%nat with false by (symmetry; apply Nat.ltb_irrefl).
      simpl. destruct (rooted_tree i); split; auto; discriminate.
    + rewrite andb_false_r. simpl. rewrite orb_false_r. split; auto.
      replace (u <? S i)%nat with (u <? i)%nat
        by (destruct (Nat.ltb_spec u i), (Nat.ltb_spec u (S i)); auto; lia).
      replace (u <? m + S i)%nat with (u <? m + i)%nat
        by (destruct (Nat.ltb_spec u (m + i)), (Nat.ltb_spec u (m + S i)); auto; lia).
      reflexivity.
Qed.

Lemma dear_volume : forall i, (i < m)%nat -> volume I (path I i) = d i.
Proof.
  intros i Hi. pose proof (d_positive i Hi) as Hd. destruct (rooted_tree i) eqn:E.
  - rewrite (volume_ext I _ (union (only i) (only (m + i)))).
    + rewrite volume_union, !volume_only by (rewrite ?stage_count; try lia;
        intros u _ H; unfold only, is_true in *; apply Nat.eqb_eq in H; apply Nat.eqb_neq; lia).
      simpl. unfold rooted_tree in E. apply Z.leb_le in E.
      destruct (Nat.ltb_spec i m); [|lia]. destruct (Nat.ltb_spec (m + i) m); [lia|].
      destruct (Nat.ltb_spec (m + i) (m + (m + 0))); [|lia].
      replace (m + i - m)%nat with i by lia. lia.
    + intros u Hu. unfold path. rewrite stage_needs by lia. rewrite E.
      replace (i <? m)%nat with true by (symmetry; apply Nat.ltb_lt; auto). simpl.
      unfold union, only. rewrite (Nat.eqb_sym i u), (Nat.eqb_sym (m + i) u). reflexivity.
  - rewrite (volume_ext I _ (only i)).
    + rewrite volume_only by (rewrite stage_count; lia). simpl.
      unfold rooted_tree in E. apply Z.leb_gt in E. destruct (Nat.ltb_spec i m); lia.
    + intros u Hu. unfold path. rewrite stage_needs by lia. rewrite E.
      rewrite andb_false_r. simpl. rewrite orb_false_r. unfold only. apply Nat.eqb_sym.
Qed.

Lemma dear_cost : forall i, (i < m)%nat -> cost_of I (path I i) == M.
Proof.
  intros i Hi. unfold cost_of, sum_over.
  rewrite <- (sum_single I i M) by (rewrite stage_count; lia). apply sum_ext. intros u Hu.
  rewrite stage_count in Hu. unfold path. rewrite stage_needs by lia.
  destruct (Nat.eqb_spec u i) as [->|Hne].
  - rewrite Nat.eqb_refl. simpl. destruct (Nat.ltb_spec i m); [reflexivity | lia].
  - replace (i =? u)%nat with false by (symmetry; apply Nat.eqb_neq; auto). simpl.
    destruct (Nat.ltb_spec i m); [simpl|lia]. destruct (rooted_tree i); simpl; [|reflexivity].
    destruct (Nat.eqb_spec (m + i) u) as [<-|]; [|reflexivity].
    destruct (Nat.ltb_spec (m + i) m); [lia|].
    destruct (Nat.ltb_spec (m + i) (m + (m + 0))); [reflexivity | lia].
Qed.

Fixpoint total (i : nat) : Z := match i with O => 0 | S i' => total i' + d i' end%Z.

Lemma copy_volume : forall i, (i <= m)%nat -> volume I (copy i) = total i.
Proof.
  induction i; intros Hi.
  - simpl. rewrite <- (volume_empty I). apply volume_ext. intros u Hu. rewrite stage_count in Hu.
    unfold copy, empty. destruct (Nat.ltb_spec u 0); [lia|]. simpl. rewrite Nat.add_0_r.
    destruct (Nat.leb_spec m u), (Nat.ltb_spec u m); simpl; auto; lia.
  - simpl. rewrite <- IHi, <- (dear_volume i) by lia.
    rewrite (volume_ext I _ (union (copy i) (path I i))).
    + apply volume_union. intros u Hu HC. apply copy_path; auto.
    + intros u Hu. apply copy_path; auto.
Qed.

Lemma units_total : volume I units = Z.of_nat h /\ cost_of I units == Z.of_nat h.
Proof.
  assert (H : forall j, (j <= h)%nat ->
    volume I (fun u => (2 * m <=? u)%nat && (u <? 2 * m + j)%nat) = Z.of_nat j /\
    cost_of I (fun u => (2 * m <=? u)%nat && (u <? 2 * m + j)%nat) == Z.of_nat j).
  { induction j; intros Hj.
    - assert (S0 : same I (fun u => (2 * m <=? u)%nat && (u <? 2 * m + 0)%nat) empty).
      { intros u _. unfold empty. destruct (Nat.leb_spec (2 * m) u), (Nat.ltb_spec u (2 * m + 0));
          simpl; auto; lia. }
      split; [rewrite (volume_ext I _ _ S0); apply volume_empty|].
      rewrite (cost_of_ext I _ _ S0). unfold cost_of, sum_over, empty. apply sum_zero.
    - destruct (IHj ltac:(lia)) as [Ev Ec].
      set (A := fun u => (2 * m <=? u)%nat && (u <? 2 * m + j)%nat) in *.
      assert (S1 : same I (fun u => (2 * m <=? u)%nat && (u <? 2 * m + S j)%nat)
        (union A (only (2 * m + j)))).
      { intros u _. unfold union, A, only. destruct (Nat.leb_spec (2 * m) u),
          (Nat.ltb_spec u (2 * m + S j)), (Nat.ltb_spec u (2 * m + j)),
          (Nat.eqb_spec u (2 * m + j)); simpl; auto; lia. }
      assert (Hdis : forall u, (u < count I)%nat -> A u -> only (2 * m + j) u = false).
      { intros u _ HA. apply andb_prop in HA. destruct HA as [_ HA]. apply Nat.ltb_lt in HA.
        apply Nat.eqb_neq. lia. }
      destruct (unit_size (2 * m + j)) as [E1 E2]; [apply Nat.leb_le; lia|].
      assert (Hin : (2 * m + j < count I)%nat) by (rewrite stage_count; lia).
      rewrite Nat2Z.inj_succ, <- Z.add_1_l. split.
      + rewrite (volume_ext I _ _ S1), volume_union, Ev, volume_only, E1 by auto. lia.
      + rewrite (cost_of_ext I _ _ S1). unfold cost_of in *. rewrite sum_over_union, Ec by auto.
        rewrite sum_over_only, E2, inject_Z_plus by auto. change (inject_Z 1) with 1. lra. }
  assert (S2 : same I units (fun u => (2 * m <=? u)%nat && (u <? 2 * m + h)%nat)).
  { intros u Hu. rewrite stage_count in Hu. unfold units.
    destruct (Nat.ltb_spec u (2 * m + h)); [|lia]. rewrite andb_true_r. reflexivity. }
  destruct (H h ltac:(lia)) as [Ev Ec]. split.
  - rewrite (volume_ext I _ _ S2). auto.
  - rewrite (cost_of_ext I _ _ S2). auto.
Qed.

(** ** Loading the trees *)

Hypothesis capacity : (k = total m + Z.of_nat h - 1)%Z.

Lemma total_monotone : forall i, (i <= m)%nat -> (total i <= total m)%Z.
Proof.
  intros i Hi. rewrite <- !copy_volume by lia. apply volume_monotone; auto.
  intros u Hu HC. unfold copy, is_true in *. apply orb_prop in HC. apply orb_true_iff.
  destruct HC as [HC|HC].
  - left. apply Nat.ltb_lt. apply Nat.ltb_lt in HC. lia.
  - right. apply andb_prop in HC. destruct HC as [HC H3]. apply andb_prop in HC.
    destruct HC as [H1 H2]. rewrite H1, H3. apply Nat.ltb_lt in H2.
    replace (u <? m + m)%nat with true; auto. symmetry. apply Nat.ltb_lt. lia.
Qed.

(** Serving without eviction, when nothing of the path is held and it fits. *)
Definition brought (v : nat) (s : keyed) : keyed :=
  Keyed (union (cached s) (path I v))
    (fun u => if path I v u then level s + density I u else key s u) (level s).

Lemma bring : forall cv v s,
  (forall u, (u < count I)%nat -> path I v u -> cached s u = false) ->
  (volume I (cached s) + volume I (path I v) <= k)%Z ->
  landlord_serve I k cv v s (brought v s) /\ same I (absent I v s) (path I v).
Proof.
  intros cv v s Hnew Hroom.
  assert (Hab : same I (absent I v s) (path I v)).
  { intros u Hu. unfold absent, minus. specialize (Hnew u Hu). unfold is_true in Hnew.
    destruct (path I v u); auto. rewrite Hnew; auto. }
  split; [|exact Hab]. exists s. split.
  - apply clear_done. unfold lacking. rewrite (volume_ext I _ _ Hab). lia.
  - split; unfold brought; cbn [cached key level]; unfold is_true.
    + intros u Hu. reflexivity.
    + intros u Hu HP HA. rewrite (Hnew u Hu HP) in HA. discriminate.
    + intros u Hu HP _. rewrite HP. reflexivity.
    + intros u Hu HP. rewrite HP. reflexivity.
    + reflexivity.
Qed.

Lemma load_trees : forall cv i, (i <= m)%nat -> exists s,
  landlord_run I k cv blank (seq 0 i) s (Z.of_nat i * M)%Z /\
  same I (cached s) (copy i) /\ level s == 0 /\ (forall c, (c < i)%nat -> key s c == M).
Proof.
  intros cv. induction i; intros Hi.
  - exists blank. split; [apply landlord_end; reflexivity|]. split; [|split; [reflexivity | lia]].
    intros u Hu. rewrite stage_count in Hu. simpl. unfold copy, empty.
    destruct (Nat.ltb_spec u 0); [lia|]. simpl. rewrite Nat.add_0_r.
    destruct (Nat.leb_spec m u), (Nat.ltb_spec u m); simpl; auto; lia.
  - destruct (IHi ltac:(lia)) as [s [R [S [L K]]]].
    assert (Hnew : forall u, (u < count I)%nat -> path I i u -> cached s u = false).
    { intros u Hu HP. rewrite (S u Hu). destruct (copy i u) eqn:E; auto.
      apply copy_path in E; [|lia|rewrite stage_count in Hu; auto]. unfold is_true in HP. congruence. }
    destruct (bring cv i s Hnew) as [Hs Hab].
    { rewrite (volume_ext I _ _ S), copy_volume, dear_volume by lia.
      pose proof (total_monotone (Datatypes.S i) Hi) as Ht. simpl in Ht. lia. }
    exists (brought i s). split; [|split; [|split]].
    + rewrite seq_S. change (0 + i)%nat with i.
      assert (Ec : cost_of I (absent I i s) == M)
        by (rewrite (cost_of_ext I _ _ Hab); apply dear_cost; lia).
      eapply landlord_run_ext.
      * eapply run_append; [exact R|]. eapply landlord_request; [rewrite stage_count; lia | exact Hs |
          apply landlord_end; reflexivity | reflexivity].
      * rewrite Ec. replace (Z.of_nat (Datatypes.S i) * M)%Z with (Z.of_nat i * M + M)%Z by lia.
        rewrite inject_Z_plus. lra.
    + intros u Hu. simpl. unfold union. rewrite (S u Hu). symmetry.
      apply copy_path; [lia | rewrite stage_count in Hu; auto].
    + exact L.
    + intros c Hc. unfold brought. cbn [key]. destruct (path I i c) eqn:EP.
      * assert (c = i).
        { unfold path in EP. rewrite stage_needs in EP by lia. apply orb_prop in EP.
          destruct EP as [EP|EP]; [apply Nat.eqb_eq in EP; auto|].
          apply andb_prop in EP. destruct EP as [_ EP]. apply Nat.eqb_eq in EP. lia. }
        subst. rewrite L, dear_density by lia. lra.
      * apply K. assert (c <> i); [|lia]. intros ->. unfold path in EP.
        rewrite stage_needs in EP by lia. rewrite Nat.eqb_refl in EP. discriminate.
Qed.

(** ** Asking for units *)

(** [t] unit loads after the trees, with the units [W] held. *)
Record phase (t : Q) (W : set) (s : keyed) : Prop := {
  phase_cached : same I (cached s) (union (copy m) W);
  phase_units : subset I W units;
  phase_level : forall w, (w < count I)%nat -> W w -> level s <= key s w;
  phase_dear : forall c, (c < m)%nat -> key s c == M;
  phase_sum : sum_over I W (key s) == t;
  phase_filling : (volume I W < Z.of_nat h - 1)%Z -> level s == 0;
  phase_room : (volume I W <= Z.of_nat h - 1)%Z
}.

Lemma copy_not_unit : forall u, copy m u = true -> units u = false.
Proof.
  intros u H. unfold copy, units in *. apply Nat.leb_gt. apply orb_prop in H. destruct H as [H|H].
  - apply Nat.ltb_lt in H. lia.
  - apply andb_prop in H. destruct H as [H _]. apply andb_prop in H. destruct H as [_ H].
    apply Nat.ltb_lt in H. lia.
Qed.

Lemma phase_volume : forall t W s, phase t W s ->
  volume I (cached s) = (total m + volume I W)%Z.
Proof.
  intros t W s P. rewrite (volume_ext I _ _ (phase_cached t W s P)), volume_union, copy_volume; auto.
  intros u Hu HC. destruct (W u) eqn:E; auto. apply (phase_units t W s P) in E; auto.
  unfold is_true in *. rewrite (copy_not_unit u HC) in E. discriminate.
Qed.

(** There is a unit that is not held. *)
Lemma spare_unit : forall t W s, phase t W s ->
  exists u, (u < 2 * m + h)%nat /\ units u = true /\ W u = false.
Proof.
  intros t W s P. destruct (find (fun u => units u && negb (W u)) (nodes I)) eqn:E.
  - apply find_some in E. destruct E as [Hin E]. apply in_nodes in Hin. rewrite stage_count in Hin.
    apply andb_prop in E. destruct E as [E1 E2]. apply negb_true_iff in E2. exists n. auto.
  - exfalso. assert (S : same I units W).
    { intros u Hu. pose proof (find_none _ _ E u (proj2 (in_nodes I u) Hu)) as Hn. cbv beta in Hn.
      pose proof (phase_units t W s P u Hu) as Hs. unfold is_true in Hs.
      destruct (units u), (W u); simpl in *; auto; try discriminate; discriminate (Hs eq_refl). }
    pose proof (phase_room t W s P). destruct units_total as [Ev _].
    rewrite (volume_ext I _ _ S) in Ev. lia.
Qed.

Lemma ask_unit : forall cv t W s, phase t W s -> t < ((Z.of_nat h - 1) * M)%Z ->
  exists u W' s', (u < 2 * m + h)%nat /\ units u = true /\ landlord_serve I k cv u s s' /\
    cost_of I (absent I u s) == 1 /\ phase (t + 1) W' s'.
Proof.
  intros cv t W s P Ht. destruct (spare_unit t W s P) as [u [Hu [HU HW]]].
  pose proof P as [PC PU PL PD PS PF PR].
  assert (Hpath : same I (path I u) (only u)).
  { intros x _. rewrite unit_path by auto. unfold only. apply Nat.eqb_sym. }
  assert (Hvol : volume I (path I u) = 1%Z).
  { rewrite (volume_ext I _ _ Hpath), volume_only by (rewrite stage_count; auto).
    apply (unit_size u HU). }
  assert (Hnot : cached s u = false).
  { rewrite (PC u) by (rewrite stage_count; auto). unfold union. rewrite HW, orb_false_r.
    destruct (copy m u) eqn:E; auto. rewrite (copy_not_unit u E) in HU. discriminate. }
  assert (Honly : forall x, path I u x = true -> x = u).
  { intros x HP. rewrite unit_path in HP by auto. apply Nat.eqb_eq in HP. auto. }
  assert (Hcost : cost_of I (absent I u s) == 1).
  { rewrite (cost_of_ext I _ (only u)).
    - unfold cost_of. rewrite sum_over_only by (rewrite stage_count; auto). apply (unit_size u HU).
    - intros x Hx. unfold absent, minus. rewrite (Hpath x Hx). unfold only.
      destruct (Nat.eqb_spec x u) as [->|]; auto. rewrite Hnot. reflexivity. }
  assert (Hself : path I u u = true) by (rewrite unit_path by auto; apply Nat.eqb_refl).
  assert (Hcopy : forall c, (c < m)%nat -> path I u c = false).
  { intros c Hc. rewrite unit_path by auto. apply Nat.eqb_neq. unfold units in HU.
    apply Nat.leb_le in HU. lia. }
  destruct (Z_lt_le_dec (volume I W) (Z.of_nat h - 1)) as [Hless|Hfull].
  - (* room for one more *)
    destruct (bring cv u s) as [Hs Hab].
    { intros x Hx HP. rewrite (Honly x HP). exact Hnot. }
    { rewrite (phase_volume t W s P), Hvol. lia. }
    exists u, (union W (only u)), (brought u s). split; auto. split; auto. split; auto. split; auto.
    assert (Hdis : forall x, (x < count I)%nat -> W x -> only u x = false).
    { intros x Hx HWx. unfold only. destruct (Nat.eqb_spec x u) as [->|]; auto.
      unfold is_true in HWx. congruence. }
    split; unfold brought; cbn [cached key level].
    + intros x Hx. unfold union. rewrite (PC x Hx), (Hpath x Hx). unfold union.
      symmetry. apply orb_assoc.
    + intros x Hx HWx. apply orb_prop in HWx. destruct HWx as [HWx|HWx]; [apply PU; auto|].
      apply Nat.eqb_eq in HWx. subst. exact HU.
    + intros w Hw HWw. destruct (path I u w) eqn:EP.
      * rewrite (Honly w EP), unit_density by auto. lra.
      * apply orb_prop in HWw. destruct HWw as [HWw|HWw]; [apply PL; auto|].
        apply Nat.eqb_eq in HWw. subst. congruence.
    + intros c Hc. rewrite (Hcopy c Hc). apply PD; auto.
    + rewrite sum_over_union by auto. rewrite sum_over_only by (rewrite stage_count; auto).
      rewrite Hself, unit_density by auto. rewrite (PF Hless).
      rewrite (sum_over_same I W W _ (key s)); [rewrite PS; lra | intros x Hx; reflexivity |].
      intros x Hx HWx. destruct (path I u x) eqn:EP; [|reflexivity].
      rewrite (Honly x EP) in HWx. unfold is_true in HWx. congruence.
    + intros _. apply PF. exact Hless.
    + rewrite volume_union, volume_only by (auto; rewrite stage_count; auto).
      destruct (unit_size u HU) as [-> _]. lia.
  - (* a unit leaves *)
    assert (EW : volume I W = (Z.of_nat h - 1)%Z) by lia.
    destruct (least (key s) W (nodes I)) as [x|] eqn:EL.
    2:{ exfalso. rewrite (volume_ext I W empty), volume_empty in EW; [lia|].
        intros y Hy. apply (least_none _ _ _ EL). apply in_nodes. auto. }
    apply least_some in EL. destruct EL as [Hx [HWx Hmin]]. apply in_nodes in Hx.
    assert (HxU : units x = true) by (apply PU; auto).
    assert (Hmean : key s x * (Z.of_nat h - 1)%Z <= t).
    { rewrite <- EW, volume_Q, <- PS. unfold sum_over. rewrite <- sum_scale. apply sum_le.
      intros y Hy. destruct (W y) eqn:E; [|lra].
      assert (HyU : units y = true) by (apply PU; auto).
      destruct (unit_size y HyU) as [-> _]. change (inject_Z 1) with 1.
      specialize (Hmin y (proj2 (in_nodes I y) Hy) E). lra. }
    assert (Hlow : key s x < M).
    { destruct (Qlt_le_dec (key s x) M); auto. exfalso.
      rewrite inject_Z_mult in Ht.
      assert (0 < (Z.of_nat h - 1)%Z) by (change (inject_Z 0 < (Z.of_nat h - 1)%Z); rewrite <- Zlt_Qlt; lia).
      assert (M * (Z.of_nat h - 1)%Z <= key s x * (Z.of_nat h - 1)%Z) by (apply Qmult_le_compat_r; lra).
      lra. }
    assert (HAx : cached s x = true).
    { rewrite (PC x Hx). unfold union. rewrite HWx. apply orb_true_r. }
    assert (Hxu : x <> u) by (intros ->; congruence).
    assert (Hxcopy : copy m x = false).
    { destruct (copy m x) eqn:E; auto. rewrite (copy_not_unit x E) in HxU. discriminate. }
    set (s1 := Keyed (minus (cached s) (only x)) (key s) (key s x)).
    assert (HD : drop_least I k u s s1 x).
    { split; unfold s1; cbn [cached key level].
      - split; auto. split; [split; [exact HAx|]|].
        + intros w Hw _ Hn. apply unit_needed; auto.
        + rewrite unit_path by auto. apply Nat.eqb_neq. auto.
      - intros y [Hy [[HAy Hleaf] HyP]]. unfold is_true in HAy. rewrite (PC y Hy) in HAy.
        apply orb_prop in HAy. destruct HAy as [HC|HWy]; [|apply Hmin; auto; apply in_nodes; auto].
        assert (y < m)%nat as Hym.
        { unfold copy in HC. apply orb_prop in HC. destruct HC as [HC|HC]; [apply Nat.ltb_lt; auto|].
          apply andb_prop in HC. destruct HC as [HC Hr]. apply andb_prop in HC.
          destruct HC as [H1 H2]. apply Nat.leb_le in H1. apply Nat.ltb_lt in H2.
          assert (Hc : (y - m < m)%nat) by lia.
          exfalso. assert (E : (y - m)%nat = y); [|lia]. apply Hleaf.
          - rewrite stage_count. lia.
          - unfold is_true. rewrite (PC (y - m)%nat) by (rewrite stage_count; lia).
            unfold union, copy. replace (y - m <? m)%nat with true; auto.
            symmetry. apply Nat.ltb_lt. auto.
          - unfold is_true. rewrite stage_needs by lia. rewrite Hr.
            replace (y - m <? m)%nat with true by (symmetry; apply Nat.ltb_lt; auto).
            replace (m + (y - m) =? y)%nat with true by (symmetry; apply Nat.eqb_eq; lia).
            apply orb_true_r. }
        rewrite (PD y Hym). lra.
      - unfold lacking. rewrite (phase_volume t W s P), EW.
        assert (volume I (absent I u s) = 1%Z) as ->; [|lia].
        rewrite <- Hvol. apply volume_ext. intros y Hy. unfold absent, minus.
        destruct (path I u y) eqn:EP; auto. rewrite (Honly y EP), Hnot. reflexivity.
      - intros y Hy. reflexivity.
      - intros y Hy. reflexivity.
      - rewrite Q.max_r; [reflexivity|]. apply PL; auto. }
    assert (Hvx : volume I (minus (cached s) (only x)) = (k - 1)%Z).
    { assert (E : volume I (union (minus (cached s) (only x)) (only x)) = k).
      { rewrite (volume_ext I _ (cached s)).
        - rewrite (phase_volume t W s P), EW. lia.
        - intros y Hy. unfold union, minus, only. destruct (Nat.eqb_spec y x) as [E1|E1];
            [rewrite E1, HAx; reflexivity | destruct (cached s y); reflexivity]. }
      rewrite volume_union, volume_only in E; auto.
      - destruct (unit_size x HxU) as [E1 _]. rewrite E1 in E. lia.
      - intros y Hy Hm. apply andb_prop in Hm. destruct Hm as [_ Hm]. apply negb_true_iff. auto. }
    destruct (bring cv u s1) as [Hs1 Hab].
    { intros y Hy HP. rewrite (Honly y HP). unfold s1, minus. cbn [cached]. rewrite Hnot. reflexivity. }
    { unfold s1. cbn [cached]. rewrite Hvx, Hvol. lia. }
    exists u, (union (minus W (only x)) (only u)), (brought u s1).
    split; auto. split; auto. split; [|split; auto].
    + destruct Hs1 as [s2 [C F]].
      (* nothing more has to leave: the service of s1 begins where that of s goes on *)
      exists s1. split.
      * eapply clear_least; [exact HD|]. apply clear_done. unfold lacking.
        rewrite (volume_ext I _ _ Hab), Hvol. unfold s1. cbn [cached]. lia.
      * split; unfold brought, s1; cbn [cached key level]; unfold is_true.
        -- intros y Hy. reflexivity.
        -- intros y Hy HP HA. rewrite (Honly y HP) in HA. congruence.
        -- intros y Hy HP _. rewrite HP. reflexivity.
        -- intros y Hy HP. rewrite HP. reflexivity.
        -- reflexivity.
    + assert (Hdis : forall y, (y < count I)%nat -> minus W (only x) y -> only u y = false).
      { intros y Hy Hm. apply andb_prop in Hm. destruct Hm as [Hm _]. unfold only.
        destruct (Nat.eqb_spec y u) as [->|]; auto. congruence. }
      split; unfold brought, s1; cbn [cached key level].
      * intros y Hy. unfold union, minus, only. rewrite (PC y Hy), (Hpath y Hy). unfold union, only.
        destruct (Nat.eqb_spec y x) as [->|]; simpl; [|rewrite !andb_true_r; symmetry; apply orb_assoc].
        rewrite !andb_false_r, Hxcopy. reflexivity.
      * intros y Hy Hm. apply orb_prop in Hm. destruct Hm as [Hm|Hm].
        -- apply andb_prop in Hm. apply PU; auto. apply Hm.
        -- apply Nat.eqb_eq in Hm. subst. exact HU.
      * intros w Hw Hm. destruct (path I u w) eqn:EP.
        -- rewrite (Honly w EP), unit_density by auto. lra.
        -- apply orb_prop in Hm. destruct Hm as [Hm|Hm].
           ++ apply andb_prop in Hm. apply Hmin; [apply in_nodes; auto | apply Hm].
           ++ apply Nat.eqb_eq in Hm. subst. congruence.
      * intros c Hc. rewrite (Hcopy c Hc). apply PD; auto.
      * rewrite sum_over_union by auto. rewrite sum_over_only by (rewrite stage_count; auto).
        rewrite Hself, unit_density by auto.
        assert (Esum : sum_over I W (key s) == sum_over I (minus W (only x)) (key s) + key s x).
        { rewrite <- (sum_over_only I x (key s) Hx), <- sum_over_union.
          - apply sum_over_same; [|reflexivity]. intros y Hy. unfold union, minus, only.
            destruct (Nat.eqb_spec y x) as [E1|E1];
              [rewrite E1, HWx; reflexivity | destruct (W y); reflexivity].
          - intros y Hy Hm. apply andb_prop in Hm. destruct Hm as [_ Hm]. apply negb_true_iff. auto. }
        rewrite (sum_over_same I (minus W (only x)) (minus W (only x)) _ (key s));
          [rewrite PS in Esum; lra | intros y Hy; reflexivity |].
        intros y Hy Hm. destruct (path I u y) eqn:EP; [|reflexivity].
        rewrite (Honly y EP) in Hm. unfold minus, is_true in Hm. rewrite HW in Hm. discriminate.
      * intros Hlt. exfalso.
        assert (E : volume I (minus W (only x)) = (Z.of_nat h - 2)%Z).
        { assert (E : volume I (union (minus W (only x)) (only x)) = (Z.of_nat h - 1)%Z).
          { rewrite <- EW. apply volume_ext. intros y Hy. unfold union, minus, only.
            destruct (Nat.eqb_spec y x) as [E1|E1];
              [rewrite E1, HWx; reflexivity | destruct (W y); reflexivity]. }
          rewrite volume_union, volume_only in E; auto.
          - destruct (unit_size x HxU) as [E1 _]. rewrite E1 in E. lia.
          - intros y Hy Hm. apply andb_prop in Hm. destruct Hm as [_ Hm]. apply negb_true_iff. auto. }
        rewrite volume_union, volume_only, E in Hlt by (auto; rewrite stage_count; auto).
        destruct (unit_size u HU) as [E1 _]. rewrite E1 in Hlt. lia.
      * assert (E : (volume I (minus W (only x)) + 1 <= Z.of_nat h - 1)%Z).
        { assert (E : volume I (union (minus W (only x)) (only x)) = (Z.of_nat h - 1)%Z).
          { rewrite <- EW. apply volume_ext. intros y Hy. unfold union, minus, only.
            destruct (Nat.eqb_spec y x) as [E1|E1];
              [rewrite E1, HWx; reflexivity | destruct (W y); reflexivity]. }
          rewrite volume_union, volume_only in E; auto.
          - destruct (unit_size x HxU) as [E1 _]. rewrite E1 in E. lia.
          - intros y Hy Hm. apply andb_prop in Hm. destruct Hm as [_ Hm]. apply negb_true_iff. auto. }
        rewrite volume_union, volume_only by (auto; rewrite stage_count; auto).
        destruct (unit_size u HU) as [-> _]. lia.
Qed.

Lemma ask_units : forall cv n t W s, phase t W s -> t + Z.of_nat n <= ((Z.of_nat h - 1) * M)%Z ->
  exists requests last, landlord_run I k cv s requests last (Z.of_nat n) /\
    length requests = n /\ forall u, In u requests -> (u < 2 * m + h)%nat /\ units u = true.
Proof.
  intros cv. induction n; intros t W s P Ht.
  - exists [], s. split; [apply landlord_end; reflexivity|]. split; auto. intros u Hu. contradiction.
  - rewrite Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus in Ht. change (inject_Z 1) with 1 in Ht.
    assert (0 <= Z.of_nat n) by (change (inject_Z 0 <= Z.of_nat n); rewrite <- Zle_Qle; lia).
    destruct (ask_unit cv t W s P) as [u [W' [s' [Hu [HU [Hs [Hc P']]]]]]]; [lra|].
    destruct (IHn (t + 1) W' s' P') as [requests [last [R [Hl Hin]]]]; [lra|].
    exists (u :: requests), last. split; [|split].
    + eapply landlord_request; [rewrite stage_count; exact Hu | exact Hs | exact R |].
      rewrite Hc, Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus. reflexivity.
    + simpl. auto.
    + intros y [<-|Hy]; auto.
Qed.

(** ** The schedule *)

Lemma closed_path : forall v, (v < count I)%nat -> closed I (path I v).
Proof. intros v Hv w u Hw Hu. apply (needs_trans I V v w u); auto. Qed.

Lemma closed_units : closed I units.
Proof.
  intros v u Hv Hu HU Hn. rewrite stage_count in Hv. unfold is_true in *.
  pose proof (unit_path v u Hv HU) as E. unfold path in E. rewrite Hn in E. symmetry in E.
  apply Nat.eqb_eq in E. subst. exact HU.
Qed.

Lemma serve_units : forall requests before,
  (forall u, In u requests -> (u < 2 * m + h)%nat /\ units u = true) ->
  feasible I (Z.of_nat h) requests (map (fun _ => units) requests) /\
  schedule_cost I before (map (fun _ => units) requests) <= cost_of I (minus units before).
Proof.
  intros requests. induction requests as [|u requests IH]; intros before Hin;
    cbn [map feasible schedule_cost].
  - split; [exact Logic.I|]. apply cost_of_nonnegative. exact V.
  - destruct (IH units (fun y Hy => Hin y (or_intror Hy))) as [F C].
    destruct (Hin u (or_introl eq_refl)) as [Hu HU].
    split.
    + split; [exact closed_units|]. split; [destruct units_total; lia|]. split; auto.
      intros x Hx HP. unfold is_true in HP. rewrite unit_path in HP by auto.
      apply Nat.eqb_eq in HP. subst. exact HU.
    + assert (E : cost_of I (minus units units) == 0).
      { rewrite (cost_of_ext I _ empty).
        - unfold cost_of, sum_over, empty. apply sum_zero.
        - intros x _. unfold minus, empty. destruct (units x); reflexivity. }
      rewrite E in C. lra.
Qed.

Lemma cost_of_minus : forall A B, cost_of I (minus A B) <= cost_of I A.
Proof.
  intros A B. apply sum_le. intros u Hu. pose proof (cost_nonnegative I V u Hu). unfold minus.
  destruct (A u), (B u); cbn [negb andb]; lra.
Qed.

Hypothesis d_small : forall i, (i < m)%nat -> (d i <= Z.of_nat h)%Z.

Lemma serve_all : forall requests,
  (forall u, In u requests -> (u < 2 * m + h)%nat /\ units u = true) ->
  forall n i before, (i + n <= m)%nat ->
  feasible I (Z.of_nat h) (seq i n ++ requests)
    (map (path I) (seq i n) ++ map (fun _ => units) requests) /\
  schedule_cost I before (map (path I) (seq i n) ++ map (fun _ => units) requests) <=
    (Z.of_nat n * M + Z.of_nat h)%Z.
Proof.
  intros requests Hin. induction n; intros i before Hi;
    cbn [seq map app feasible schedule_cost].
  - destruct (serve_units requests before Hin) as [F C]. split; auto.
    pose proof (cost_of_minus units before). destruct units_total as [_ Ec].
    change (Z.of_nat 0 * M + Z.of_nat h)%Z with (Z.of_nat h). lra.
  - destruct (IHn (S i) (path I i) ltac:(lia)) as [F C]. split.
    + split; [apply closed_path; rewrite stage_count; lia|].
      split; [rewrite dear_volume by lia; apply d_small; lia|]. split; auto.
      intros u _ HP. exact HP.
    + pose proof (cost_of_minus (path I i) before). rewrite dear_cost in H by lia.
      replace (Z.of_nat (S n) * M + Z.of_nat h)%Z with (M + (Z.of_nat n * M + Z.of_nat h))%Z by lia.
      rewrite inject_Z_plus. lra.
Qed.

Lemma construction : forall cv, exists requests schedule last,
  feasible I (Z.of_nat h) requests schedule /\
  (forall v, In v requests -> (v < m)%nat \/ (v < 2 * m + h)%nat /\ units v = true) /\
  landlord_run I k cv blank requests last ((Z.of_nat m + Z.of_nat h - 1) * M)%Z /\
  offline_cost I schedule <= (Z.of_nat m * M + Z.of_nat h)%Z.
Proof.
  intros cv. destruct (load_trees cv m (le_n m)) as [s [R [S [L K]]]].
  assert (P : phase 0 empty s).
  { split.
    - intros u Hu. rewrite (S u Hu). unfold union, empty. rewrite orb_false_r. reflexivity.
    - intros u _ H. discriminate H.
    - intros w _ H. discriminate H.
    - intros c Hc. apply K. auto.
    - unfold sum_over, empty. apply sum_zero.
    - intros _. exact L.
    - rewrite volume_empty. lia. }
  set (n := Z.to_nat ((Z.of_nat h - 1) * M)).
  assert (En : Z.of_nat n = ((Z.of_nat h - 1) * M)%Z) by (unfold n; rewrite Z2Nat.id; nia).
  destruct (ask_units cv n 0 empty s P) as [requests [last [R' [_ Hin]]]]; [rewrite En; lra|].
  destruct (serve_all requests Hin m 0%nat empty ltac:(lia)) as [F C].
  exists (seq 0 m ++ requests), (map (path I) (seq 0 m) ++ map (fun _ => units) requests), last.
  split; [exact F|]. split; [|split; [|exact C]].
  - intros v Hv. apply in_app_or in Hv. destruct Hv as [Hv|Hv]; [left; apply in_seq in Hv; lia | right; auto].
  - eapply landlord_run_ext; [eapply run_append; eauto|]. rewrite En, <- inject_Z_plus.
    replace (Z.of_nat m * M + (Z.of_nat h - 1) * M)%Z with ((Z.of_nat m + Z.of_nat h - 1) * M)%Z by ring.
    reflexivity.
Qed.

End Construction.

(** ** The theorem *)

(** Sizes of the trees: [H] each, the last one what is left of [x]. *)
Definition tree_size (m : nat) (x H : Z) (i : nat) : Z :=
  if (S i =? m)%nat then (x - (Z.of_nat m - 1) * H)%Z else H.

Lemma tree_total : forall m x H, (1 <= m)%nat -> total (tree_size m x H) m = x.
Proof.
  intros m x H Hm.
  assert (E : forall i, (i < m)%nat -> total (tree_size m x H) i = (Z.of_nat i * H)%Z).
  { induction i; intros Hi; [reflexivity|]. simpl total. rewrite IHi by lia. unfold tree_size.
    replace (S i =? m)%nat with false by (symmetry; apply Nat.eqb_neq; lia). lia. }
  destruct m as [|m]; [lia|]. simpl total. rewrite E by lia. unfold tree_size.
  rewrite Nat.eqb_refl. lia.
Qed.

(** Theorem 1, lower bound, for all [k], [h], [H]: no smaller ratio holds, whatever the constant. *)
Theorem landlord_ratio_is_exact : forall cv k h H m r b,
  (2 <= h <= k)%Z -> (1 <= H <= h)%Z -> (1 <= m)%Z -> is_ceiling m (k - h + 1) H ->
  0 <= r -> r < 1 + (h - 1)%Z / m ->
  exists F requests schedule last paid,
    valid_forest F /\
    (forall v, In v requests -> (volume (of_forest F) (path (of_forest F) v) <= H)%Z) /\
    feasible (of_forest F) h requests schedule /\
    landlord_run (of_forest F) k cv blank requests last paid /\
    r * offline_cost (of_forest F) schedule + b < paid.
Proof.
  intros cv k h H m r b Hh HH Hm [Hc1 Hc2] Hr0 Hr.
  set (mN := Z.to_nat m). set (hN := Z.to_nat h).
  assert (Em : Z.of_nat mN = m) by (apply Z2Nat.id; lia).
  assert (Eh : Z.of_nat hN = h) by (apply Z2Nat.id; lia).
  assert (Hmq : 0 < m) by (change (inject_Z 0 < m); rewrite <- Zlt_Qlt; lia).
  set (g := m + (h - 1)%Z - r * m).
  assert (Hg : 0 < g).
  { unfold g. assert (r * m < (1 + (h - 1)%Z / m) * m) by (apply Qmult_lt_r; auto).
    assert ((1 + (h - 1)%Z / m) * m == m + (h - 1)%Z) by (field; lra). lra. }
  set (M := Z.max 1 (Qceiling ((r * h + b) / g) + 1)).
  assert (HM1 : (1 <= M)%Z) by (unfold M; lia).
  assert (HM : r * h + b < M * g).
  { pose proof (Qle_ceiling ((r * h + b) / g)) as Hq.
    assert (Hlt : (r * h + b) / g < M).
    { apply Qle_lt_trans with (Qceiling ((r * h + b) / g)); auto.
      rewrite <- Zlt_Qlt. unfold M. lia. }
    assert (E : (r * h + b) / g * g == r * h + b) by (field; lra).
    rewrite <- E. apply Qmult_lt_r; auto. }
  set (d := tree_size mN (k - h + 1) H).
  assert (Hd : forall i, (i < mN)%nat -> (1 <= d i <= H)%Z).
  { intros i Hi. unfold d, tree_size. rewrite Em. destruct (S i =? mN)%nat; nia. }
  destruct (construction mN hN d M k ltac:(lia) (fun i Hi => proj1 (Hd i Hi)) HM1) with (cv := cv)
    as [requests [schedule [last [F [Hin [R C]]]]]].
  { unfold d. rewrite tree_total by lia. lia. }
  { intros i Hi. specialize (Hd i Hi). lia. }
  exists (stage mN hN d M), requests, schedule, last, ((Z.of_nat mN + Z.of_nat hN - 1) * M)%Z.
  split; [apply stage_valid; auto; try lia; intros; apply Hd; auto|].
  split; [|split; [rewrite Eh in F; exact F | split; [exact R|]]].
  - intros v Hv. destruct (Hin v Hv) as [Hv'|[Hv' HU]].
    + rewrite dear_volume; auto; try lia; intros; apply Hd; auto.
    + rewrite (volume_ext _ _ (only v)).
      * rewrite volume_only by (simpl; lia). destruct (unit_size mN hN d M ltac:(lia) v HU) as [E _].
        rewrite E. lia.
      * intros u Hu. rewrite unit_path; auto; try lia. apply Nat.eqb_sym.
  - rewrite Em, Eh in *.
    assert (r * offline_cost (of_forest (stage mN hN d M)) schedule <= r * (m * M + h)%Z).
    { rewrite !(Qmult_comm r). apply Qmult_le_compat_r; auto. }
    assert (E1 : (m * M + h)%Z == m * M + h) by (rewrite inject_Z_plus, inject_Z_mult; reflexivity).
    assert (E2 : ((m + h - 1) * M)%Z == (m + (h - 1)%Z) * M).
    { rewrite inject_Z_mult, <- inject_Z_plus. replace (m + (h - 1))%Z with (m + h - 1)%Z by lia.
      reflexivity. }
    rewrite E1 in H0. rewrite E2. unfold g in HM. lra.
Qed.

(** The conjecture fails for every [k > h >= 2], with requested paths of size at most 2. *)
Theorem landlord_never_young : forall cv k h b, (2 <= h < k)%Z ->
  exists F requests schedule last paid,
    valid_forest F /\
    (forall v, In v requests -> (volume (of_forest F) (path (of_forest F) v) <= 2)%Z) /\
    feasible (of_forest F) h requests schedule /\
    landlord_run (of_forest F) k cv blank requests last paid /\
    (k / (k - h + 1)%Z) * offline_cost (of_forest F) schedule + b < paid.
Proof.
  intros cv k h b Hh.
  set (m := ((k - h + 2) / 2)%Z).
  assert (Hm : (1 <= m < k - h + 1 /\ (m - 1) * 2 < k - h + 1 <= m * 2)%Z).
  { unfold m. pose proof (Z.div_mod (k - h + 2) 2 ltac:(lia)).
    pose proof (Z.mod_pos_bound (k - h + 2) 2 ltac:(lia)). lia. }
  assert (Hx : 0 < (k - h + 1)%Z) by (change (inject_Z 0 < (k - h + 1)%Z); rewrite <- Zlt_Qlt; lia).
  assert (Hmq : 0 < m) by (change (inject_Z 0 < m); rewrite <- Zlt_Qlt; lia).
  assert (Hk : 0 <= k) by (change (inject_Z 0 <= k); rewrite <- Zle_Qle; lia).
  apply (landlord_ratio_is_exact cv k h 2 m); try lia.
  - unfold is_ceiling. lia.
  - apply Qle_shift_div_l; auto; lra.
  - apply Qlt_shift_div_r; auto.
    assert (E : (1 + (h - 1)%Z / m) * (k - h + 1)%Z == ((m + h - 1) * (k - h + 1))%Z / m).
    { replace (m + h - 1)%Z with (m + (h - 1))%Z by lia. rewrite inject_Z_mult, (inject_Z_plus m (h - 1)).
      field. lra. }
    rewrite E. apply Qlt_shift_div_l; auto.
    rewrite <- inject_Z_mult, <- Zlt_Qlt. nia.
Qed.
