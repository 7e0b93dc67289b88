(** * Computing: Landlord as a function, and schedules checked by evaluation

    What [Witness.v] needs to compute with: a function that plays Landlord (lazy, ties to the lowest
    number) and is proved to be a run of the relation, so that the relation is inhabited; and a
    boolean test of feasible schedules given as lists. *)

From Coq Require Import List Bool Arith ZArith QArith Qminmax Lia Lqa.
From CacheWorthy Require Import Model Cosigned Progress Landlord.
Import ListNotations.
Open Scope Q_scope.

Local Arguments Qred : simpl never.

(** ** Schedules as lists *)

Definition of_list (l : list nat) : set := fun u => existsb (Nat.eqb u) l.

Definition all_nodes (I : instance) (p : nat -> bool) : bool := forallb p (nodes I).

Lemma all_nodes_iff : forall I p, all_nodes I p = true <-> forall u, (u < count I)%nat -> p u = true.
Proof.
  intros. unfold all_nodes. rewrite forallb_forall. split; intros H u Hu; apply H; apply in_nodes; auto.
Qed.

Definition is_closed (I : instance) (A : set) : bool :=
  all_nodes I (fun v => negb (A v) || all_nodes I (fun u => negb (needs I v u) || A u)).

Lemma is_closed_sound : forall I A, is_closed I A = true -> closed I A.
Proof.
  intros I A H v u Hv Hu HA Hn. unfold is_true in *. unfold is_closed in H.
  rewrite all_nodes_iff in H. specialize (H v Hv). rewrite HA in H. simpl in H.
  rewrite all_nodes_iff in H. specialize (H u Hu). rewrite Hn in H. exact H.
Qed.

Definition is_subset (I : instance) (A B : set) : bool := all_nodes I (fun u => negb (A u) || B u).

Lemma is_subset_sound : forall I A B, is_subset I A B = true -> subset I A B.
Proof.
  intros I A B H u Hu HA. unfold is_true in *. unfold is_subset in H. rewrite all_nodes_iff in H.
  specialize (H u Hu). rewrite HA in H. exact H.
Qed.

Fixpoint is_feasible (I : instance) (h : Z) (requests : list nat) (schedule : list set) : bool :=
  match requests, schedule with
  | [], [] => true
  | v :: requests', state :: schedule' =>
      is_closed I state && (volume I state <=? h)%Z && is_subset I (path I v) state &&
      is_feasible I h requests' schedule'
  | _, _ => false
  end.

Lemma is_feasible_sound : forall I h requests schedule,
  is_feasible I h requests schedule = true -> feasible I h requests schedule.
Proof.
  induction requests; destruct schedule; simpl; intros H; try discriminate; auto.
  apply andb_prop in H. destruct H as [H H4]. apply andb_prop in H. destruct H as [H H3].
  apply andb_prop in H. destruct H as [H1 H2].
  split; [apply is_closed_sound; auto|]. split; [apply Z.leb_le; auto|].
  split; [apply is_subset_sound; auto | auto].
Qed.

(** ** Landlord as a function *)

Section Play.
Variable I : instance.
Variable k : Z.
Variable cv : convention.

Definition is_evictable (v : nat) (s : keyed) (u : nat) : bool :=
  is_leaf I (cached s) u && negb (path I v u).

Definition victim (v : nat) (s : keyed) : option nat := least (key s) (is_evictable v s) (nodes I).

Definition drop (s : keyed) (x : nat) : keyed :=
  Keyed (table false (count I) (minus (cached s) (only x))) (key s)
    (if Qle_bool (level s) (key s x) then key s x else level s).

Definition is_lacking (v : nat) (s : keyed) : bool :=
  (k <? volume I (cached s) + volume I (absent I v s))%Z.

Fixpoint drops (fuel v : nat) (s : keyed) : keyed :=
  if is_lacking v s then
    match fuel, victim v s with S fuel', Some x => drops fuel' v (drop s x) | _, _ => s end
  else s.

Definition fetched (v : nat) (s s1 : keyed) : keyed :=
  Keyed (table false (count I) (union (cached s1) (path I v)))
    (table 0 (count I) (fun u =>
      if path I v u then
        Qred ((if cached s u then touch_level cv (level s) (level s1) else level s1) + density I u)
      else key s1 u))
    (level s1).

Definition play_one (v : nat) (s : keyed) : keyed := fetched v s (drops (count I) v s).

Fixpoint play (s : keyed) (requests : list nat) : keyed * Q :=
  match requests with
  | [] => (s, 0)
  | v :: requests' =>
      let (last, paid) := play (play_one v s) requests' in
      (last, Qred (cost_of I (absent I v s) + paid))
  end.

Hypothesis V : valid I.
Hypothesis Acy : acyclic I.

Lemma is_evictable_iff : forall v s u, (u < count I)%nat ->
  (is_evictable v s u = true <-> evictable I v s u).
Proof.
  intros v s u Hu. unfold is_evictable, evictable. rewrite andb_true_iff, negb_true_iff, is_leaf_iff.
  tauto.
Qed.

Lemma drop_is_least : forall v s x, is_lacking v s = true -> victim v s = Some x ->
  drop_least I k v s (drop s x) x.
Proof.
  intros v s x Hl Hx. apply least_some in Hx. destruct Hx as [Hin [He Hmin]]. apply in_nodes in Hin.
  split; simpl.
  - apply is_evictable_iff; auto.
  - intros u Hu. apply Hmin; [apply in_nodes; apply Hu|]. apply is_evictable_iff; [apply Hu | auto].
  - apply Z.ltb_lt. exact Hl.
  - intros u Hu. apply table_at. auto.
  - intros u Hu. reflexivity.
  - destruct (Qle_bool (level s) (key s x)) eqn:E.
    + apply Qle_bool_iff in E. rewrite Q.max_r; auto. reflexivity.
    + assert (key s x <= level s).
      { destruct (Qlt_le_dec (level s) (key s x)); auto. apply Qlt_le_weak, Qle_bool_iff in q. congruence. }
      rewrite Q.max_l; auto. reflexivity.
Qed.

Lemma victim_exists : forall v s, (v < count I)%nat -> (volume I (path I v) <= k)%Z ->
  is_lacking v s = true -> exists x, victim v s = Some x.
Proof.
  intros v s Hv Hfit Hl. apply Z.ltb_lt in Hl.
  destruct (unpinned_exists I k V v (plain I s) Hfit Hl) as [u [Hu HU]].
  unfold unpinned, minus, is_true in HU. simpl in HU. apply andb_prop in HU. destruct HU as [HA HP].
  apply negb_true_iff in HP.
  destruct (leaf_above I V Acy (cached s) u Hu HA) as [w [Hw [Hleaf Hn]]].
  destruct (victim v s) eqn:E; [eauto|]. exfalso. unfold victim in E.
  pose proof (least_none _ _ _ E w (proj2 (in_nodes I w) Hw)) as Hf.
  assert (is_evictable v s w = true); [|congruence].
  apply is_evictable_iff; auto. split; auto. split; auto.
  destruct (path I v w) eqn:EP; auto. rewrite <- HP. symmetry. apply (needs_trans I V v w u); auto.
Qed.

Lemma drops_clear : forall v, (v < count I)%nat -> (volume I (path I v) <= k)%Z ->
  forall fuel s, (number I (cached s) <= fuel)%nat -> clear I k v s (drops fuel v s).
Proof.
  intros v Hv Hfit. induction fuel; intros s Hn; simpl; destruct (is_lacking v s) eqn:El.
  - exfalso. destruct (victim_exists v s Hv Hfit El) as [x Hx].
    apply least_some in Hx. destruct Hx as [Hin [He _]]. apply in_nodes in Hin.
    apply is_evictable_iff in He; auto. destruct He as [_ [[HA _] _]].
    pose proof (number_lt I empty (cached s) x (fun u _ H => match diff_false_true H with end) Hin HA eq_refl).
    lia.
  - apply clear_done. intros H. apply Z.ltb_lt in H. unfold is_lacking in El. congruence.
  - destruct (victim_exists v s Hv Hfit El) as [x Hx]. rewrite Hx.
    pose proof (drop_is_least v s x El Hx) as D. eapply clear_least; [exact D|]. apply IHfuel.
    destruct (least_evictable I k v s _ x D) as [Hin [[HA _] _]].
    assert (number I (cached (drop s x)) < number I (cached s))%nat; [|lia].
    apply number_lt with (x := x); auto.
    + intros u Hu H. simpl in H. rewrite table_at in H by auto. apply andb_prop in H. apply H.
    + simpl. rewrite table_at by auto. unfold minus, only. rewrite Nat.eqb_refl. apply andb_false_r.
  - apply clear_done. intros H. apply Z.ltb_lt in H. unfold is_lacking in El. congruence.
Qed.

Lemma fetched_fetch : forall v s s1, fetch I cv v s s1 (fetched v s s1).
Proof.
  intros v s s1. split; simpl; unfold is_true.
  - intros u Hu. apply table_at. auto.
  - intros u Hu HP HA. rewrite table_at by auto. rewrite HP, HA. apply Qred_correct.
  - intros u Hu HP HA. rewrite table_at by auto. rewrite HP, HA. apply Qred_correct.
  - intros u Hu HP. rewrite table_at by auto. rewrite HP. reflexivity.
  - reflexivity.
Qed.

Lemma number_bound : forall A, (number I A <= count I)%nat.
Proof.
  intros A. unfold number. rewrite <- (seq_length (count I) 0). unfold nodes.
  induction (seq 0 (count I)); simpl; [lia|]. destruct (A a); simpl; lia.
Qed.

Theorem play_runs : forall requests s, fits I k requests ->
  landlord_run I k cv s requests (fst (play s requests)) (snd (play s requests)).
Proof.
  induction requests as [|v requests IH]; intros s Hf; simpl.
  - apply landlord_end. reflexivity.
  - destruct (Hf v (or_introl eq_refl)) as [Hv Hfit].
    destruct (play (play_one v s) requests) as [last paid] eqn:E. simpl.
    apply landlord_request with (s1 := play_one v s) (rest := paid); auto.
    + exists (drops (count I) v s). split; [|apply fetched_fetch].
      apply drops_clear; auto. apply number_bound.
    + specialize (IH (play_one v s)). rewrite E in IH. apply IH. intros w Hw. apply Hf. right. auto.
    + apply Qred_correct.
Qed.

(** Landlord never gets stuck either. *)
Theorem landlord_run_exists : forall requests, fits I k requests ->
  exists last paid, landlord_run I k cv blank requests last paid.
Proof.
  intros requests Hf. exists (fst (play blank requests)), (snd (play blank requests)).
  apply play_runs; auto.
Qed.

End Play.

(** A boolean test of [fits]. *)
Definition is_fits (I : instance) (k : Z) (requests : list nat) : bool :=
  forallb (fun v => (v <? count I)%nat && (volume I (path I v) <=? k)%Z) requests.

Lemma is_fits_sound : forall I k requests, is_fits I k requests = true -> fits I k requests.
Proof.
  intros I k requests H v Hv. unfold is_fits in H. rewrite forallb_forall in H. specialize (H v Hv).
  apply andb_prop in H. destruct H as [H1 H2]. split; [apply Nat.ltb_lt | apply Z.leb_le]; auto.
Qed.

(** Forests from tables: parents, sizes and costs as lists. *)
Definition forest_of (up : list (option nat)) (s : list Z) (c : list Q) : forest :=
  Forest (length up) (fun v => nth v up None) (fun v => nth v s 1%Z) (fun v => nth v c 0).

Definition is_valid_forest (F : forest) : bool :=
  forallb (fun v =>
    match parent F v with Some p => (p <? trees F)%nat | None => true end &&
    rooted (parent F) (trees F) v && (0 <? forest_size F v)%Z && Qle_bool 0 (forest_cost F v))
    (seq 0 (trees F)).

Lemma is_valid_forest_sound : forall F, is_valid_forest F = true -> valid_forest F.
Proof.
  intros F H. unfold is_valid_forest in H. rewrite forallb_forall in H.
  assert (H' : forall v, (v < trees F)%nat ->
    match parent F v with Some p => (p <? trees F)%nat | None => true end = true /\
    rooted (parent F) (trees F) v = true /\ (0 < forest_size F v)%Z /\ 0 <= forest_cost F v).
  { intros v Hv. assert (Hin : In v (seq 0 (trees F))) by (apply in_seq; lia).
    specialize (H v Hin). apply andb_prop in H. destruct H as [H H4]. apply andb_prop in H.
    destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
    repeat split; auto; [apply Z.ltb_lt | apply Qle_bool_iff]; auto. }
  split; intros v; intros.
  - destruct (H' v H0) as [Hp _]. rewrite H1 in Hp. apply Nat.ltb_lt. auto.
  - apply H'. auto.
  - apply H'. auto.
  - apply H'. auto.
Qed.
