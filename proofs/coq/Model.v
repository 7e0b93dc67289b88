(** * The model: dependency-constrained caching

    A finite set of nodes, each with a size, a cost, and prerequisites. A node can be resident only
    together with everything it needs. A request to [v] needs all that [v] needs (on a forest: the
    path from the root to [v]). This file defines the instances, forests as a special case, the
    feasible offline schedules and their cost, and the sums and volumes that the proofs use. *)

From Coq Require Import List Bool Arith ZArith QArith Lia Lqa.
Import ListNotations.
Open Scope Q_scope.

Coercion is_true : bool >-> Sortclass.
Coercion inject_Z : Z >-> Q.

(** ** Instances *)

(** Nodes are the numbers below [count]. [needs v u] says that [u] must be resident for [v] to be.
    Sizes are integers, in the unit of the capacity; [cost v] is the price of loading [v]. *)
Record instance := Instance {
  count : nat;
  needs : nat -> nat -> bool;
  size : nat -> Z;
  cost : nat -> Q
}.

(** What every theorem assumes of an instance: [needs] is a preorder (a forest's ancestor relation,
    or the reachability of a DAG), sizes are positive and costs are not negative. *)
Record valid (I : instance) : Prop := {
  needs_refl : forall v, (v < count I)%nat -> needs I v v;
  needs_trans : forall v w u, (v < count I)%nat -> (w < count I)%nat -> (u < count I)%nat ->
    needs I v w -> needs I w u -> needs I v u;
  size_positive : forall v, (v < count I)%nat -> (0 < size I v)%Z;
  cost_nonnegative : forall v, (v < count I)%nat -> 0 <= cost I v
}.

(** No two different nodes need each other. Only statements that speak of leaves assume it. *)
Definition acyclic (I : instance) : Prop :=
  forall v u, (v < count I)%nat -> (u < count I)%nat -> needs I v u -> needs I u v -> v = u.

(** ** Sets of nodes *)

Definition set := nat -> bool.
Definition empty : set := fun _ => false.
Definition union (A B : set) : set := fun u => A u || B u.
Definition minus (A B : set) : set := fun u => A u && negb (B u).
Definition inter (A B : set) : set := fun u => A u && B u.

Definition nodes (I : instance) : list nat := seq 0 (count I).

Definition subset (I : instance) (A B : set) : Prop :=
  forall u, (u < count I)%nat -> A u -> B u.

Definition same (I : instance) (A B : set) : Prop :=
  forall u, (u < count I)%nat -> A u = B u.

(** Everything that a request to [v] needs: on a forest the path from the root to [v]. *)
Definition path (I : instance) (v : nat) : set := needs I v.

(** A cache state must hold whatever its members need (ancestor-closed). *)
Definition closed (I : instance) (A : set) : Prop :=
  forall v u, (v < count I)%nat -> (u < count I)%nat -> A v -> needs I v u -> A u.

(** Resident, and no other resident needs it: what may leave alone. *)
Definition leaf (I : instance) (A : set) (u : nat) : Prop :=
  A u /\ forall w, (w < count I)%nat -> A w -> needs I w u -> w = u.

(** ** Sums over the nodes *)

Fixpoint sum_list (f : nat -> Q) (l : list nat) : Q :=
  match l with [] => 0 | u :: rest => f u + sum_list f rest end.

Definition sum (I : instance) (f : nat -> Q) : Q := sum_list f (nodes I).

Definition sum_over (I : instance) (A : set) (f : nat -> Q) : Q :=
  sum I (fun u => if A u then f u else 0).

(** Cost of loading every node of [A]. *)
Definition cost_of (I : instance) (A : set) : Q := sum_over I A (cost I).

Fixpoint volume_list (I : instance) (A : set) (l : list nat) : Z :=
  match l with
  | [] => 0
  | u :: rest => (if A u then size I u else 0) + volume_list I A rest
  end%Z.

(** Total size of the nodes of [A]. *)
Definition volume (I : instance) (A : set) : Z := volume_list I A (nodes I).

(** ** Offline schedules *)

(** A feasible schedule at capacity [h] is a list of states, one a request: each is closed, fits in
    [h], and holds what its request needs. Nothing else is asked of it; it may load ahead of time,
    keep or drop what it likes. *)
Fixpoint feasible (I : instance) (h : Z) (requests : list nat) (schedule : list set) : Prop :=
  match requests, schedule with
  | [], [] => True
  | v :: requests', state :: schedule' =>
      closed I state /\ (volume I state <= h)%Z /\ subset I (path I v) state /\
      feasible I h requests' schedule'
  | _, _ => False
  end.

(** It pays for every node that enters, starting from the state [before]. *)
Fixpoint schedule_cost (I : instance) (before : set) (schedule : list set) : Q :=
  match schedule with
  | [] => 0
  | state :: schedule' => cost_of I (minus state before) + schedule_cost I state schedule'
  end.

Definition offline_cost (I : instance) (schedule : list set) : Q :=
  schedule_cost I empty schedule.

(** ** Forests *)

(** A forest by parents: [parent v = None] for a root. *)
Record forest := Forest {
  trees : nat;
  parent : nat -> option nat;
  forest_size : nat -> Z;
  forest_cost : nat -> Q
}.

(** [u] is [v] or an ancestor of [v], at most [fuel] steps up. *)
Fixpoint climbs (up : nat -> option nat) (fuel v u : nat) : bool :=
  (v =? u)%nat ||
  match fuel, up v with
  | S fuel', Some p => climbs up fuel' p u
  | _, _ => false
  end.

(** The walk up from [v] ends at a root within [fuel] steps. *)
Fixpoint rooted (up : nat -> option nat) (fuel v : nat) : bool :=
  match up v, fuel with
  | None, _ => true
  | Some p, S fuel' => rooted up fuel' p
  | Some _, O => false
  end.

(** Parents are nodes, the walk up from every node ends (no cycle), sizes and costs as above. *)
Record valid_forest (F : forest) : Prop := {
  parent_node : forall v p, (v < trees F)%nat -> parent F v = Some p -> (p < trees F)%nat;
  parent_ends : forall v, (v < trees F)%nat -> rooted (parent F) (trees F) v;
  forest_size_positive : forall v, (v < trees F)%nat -> (0 < forest_size F v)%Z;
  forest_cost_nonnegative : forall v, (v < trees F)%nat -> 0 <= forest_cost F v
}.

(** The instance of a forest: a node needs itself and its ancestors. *)
Definition of_forest (F : forest) : instance := {|
  count := trees F;
  needs := climbs (parent F) (trees F);
  size := forest_size F;
  cost := forest_cost F
|}.

(** Independent files: every node needs only itself. *)
Definition flat (n : nat) (s : nat -> Z) (c : nat -> Q) : instance := Instance n Nat.eqb s c.

(** * Proofs about the model *)

(** Case analysis on every boolean in sight. *)
Ltac bools :=
  unfold is_true in *;
  repeat match goal with
  | H : context [if ?b then _ else _] |- _ => destruct b eqn:?
  | |- context [if ?b then _ else _] => destruct b eqn:?
  end.

Lemma in_nodes : forall I u, In u (nodes I) <-> (u < count I)%nat.
Proof. intros. unfold nodes. rewrite in_seq. lia. Qed.

(** ** Sums *)

Lemma sum_list_le : forall l f g, (forall u, In u l -> f u <= g u) -> sum_list f l <= sum_list g l.
Proof.
  induction l; simpl; intros f g Hfg; [lra|].
  assert (f a <= g a) by (apply Hfg; auto).
  assert (sum_list f l <= sum_list g l) by (apply IHl; intros; apply Hfg; auto).
  lra.
Qed.

Lemma sum_list_ext : forall l f g, (forall u, In u l -> f u == g u) -> sum_list f l == sum_list g l.
Proof.
  induction l; simpl; intros f g Hfg; [lra|].
  assert (f a == g a) by (apply Hfg; auto).
  assert (sum_list f l == sum_list g l) by (apply IHl; intros; apply Hfg; auto).
  lra.
Qed.

Lemma sum_list_plus : forall l f g,
  sum_list (fun u => f u + g u) l == sum_list f l + sum_list g l.
Proof. induction l; simpl; intros; [lra|]. rewrite IHl. lra. Qed.

Lemma sum_list_scale : forall l a f, sum_list (fun u => a * f u) l == a * sum_list f l.
Proof. induction l; simpl; intros; [lra|]. rewrite IHl. lra. Qed.

Lemma sum_list_zero : forall l, sum_list (fun _ => 0) l == 0.
Proof. induction l; simpl; lra. Qed.

Lemma sum_list_swap : forall l m (f : nat -> nat -> Q),
  sum_list (fun w => sum_list (f w) m) l == sum_list (fun u => sum_list (fun w => f w u) l) m.
Proof.
  induction l; simpl; intros.
  - symmetry. apply sum_list_zero.
  - rewrite IHl. symmetry. apply sum_list_plus.
Qed.

Lemma sum_list_single : forall l x q, NoDup l -> In x l ->
  sum_list (fun w => if (w =? x)%nat then q else 0) l == q.
Proof.
  induction l; simpl; intros x q Hnd Hin; [contradiction|].
  inversion Hnd; subst.
  destruct (Nat.eqb_spec a x).
  - subst. rewrite (sum_list_ext l _ (fun _ => 0)).
    + rewrite sum_list_zero. lra.
    + intros u Hu. destruct (Nat.eqb_spec u x); [congruence|lra].
  - destruct Hin; [congruence|]. rewrite IHl; auto. lra.
Qed.

Section Sums.
Variable I : instance.

Lemma sum_le : forall f g, (forall u, (u < count I)%nat -> f u <= g u) -> sum I f <= sum I g.
Proof. intros. apply sum_list_le. intros. apply H. apply in_nodes. auto. Qed.

Lemma sum_ext : forall f g, (forall u, (u < count I)%nat -> f u == g u) -> sum I f == sum I g.
Proof. intros. apply sum_list_ext. intros. apply H. apply in_nodes. auto. Qed.

Lemma sum_plus : forall f g, sum I (fun u => f u + g u) == sum I f + sum I g.
Proof. intros. apply sum_list_plus. Qed.

Lemma sum_scale : forall a f, sum I (fun u => a * f u) == a * sum I f.
Proof. intros. apply sum_list_scale. Qed.

Lemma sum_zero : sum I (fun _ => 0) == 0.
Proof. apply sum_list_zero. Qed.

Lemma sum_swap : forall f : nat -> nat -> Q,
  sum I (fun w => sum I (f w)) == sum I (fun u => sum I (fun w => f w u)).
Proof. intros. apply sum_list_swap. Qed.

Lemma sum_single : forall x q, (x < count I)%nat ->
  sum I (fun w => if (w =? x)%nat then q else 0) == q.
Proof. intros. apply sum_list_single; [apply seq_NoDup | apply in_nodes; auto]. Qed.

Lemma sum_nonnegative : forall f, (forall u, (u < count I)%nat -> 0 <= f u) -> 0 <= sum I f.
Proof. intros. rewrite <- sum_zero. apply sum_le. auto. Qed.

Lemma sum_at_least_one : forall f x, (x < count I)%nat ->
  (forall u, (u < count I)%nat -> 0 <= f u) -> f x <= sum I f.
Proof.
  intros. rewrite <- (sum_single x (f x)) by auto. apply sum_le. intros.
  destruct (Nat.eqb_spec u x); subst; [lra | auto].
Qed.

Lemma cost_of_nonnegative : valid I -> forall A, 0 <= cost_of I A.
Proof.
  intros V A. apply sum_nonnegative. intros. destruct (A u); [apply (cost_nonnegative I V); auto | lra].
Qed.

Lemma cost_of_ext : forall A B, same I A B -> cost_of I A == cost_of I B.
Proof. intros A B H. apply sum_ext. intros. rewrite H by auto. lra. Qed.

(** A schedule gains nothing from states between two requests: leaving one out never costs more. *)
Theorem detour : valid I -> forall A B C : set,
  cost_of I (minus C A) <= cost_of I (minus B A) + cost_of I (minus C B).
Proof.
  intros V A B C. unfold cost_of, sum_over. rewrite <- sum_plus. apply sum_le. intros u Hu.
  pose proof (cost_nonnegative I V u Hu). unfold minus. destruct (A u), (B u), (C u); simpl; lra.
Qed.

(** ** Volumes *)

Lemma volume_Q : forall A, (volume I A : Q) == sum_over I A (size I).
Proof.
  intros A. unfold volume, sum_over, sum. induction (nodes I); simpl; [reflexivity|].
  rewrite inject_Z_plus, IHl. destruct (A a); reflexivity.
Qed.

(** A linear relation between volumes follows from the same relation at every node. *)
Lemma volume_combine : forall A B C D : set,
  (forall u, (u < count I)%nat -> 0 < size I u)%Z ->
  (forall u, (u < count I)%nat ->
    (if A u then 1 else 0) + (if B u then 1 else 0) <=
    (if C u then 1 else 0) + (if D u then 1 else 0))%Z ->
  (volume I A + volume I B <= volume I C + volume I D)%Z.
Proof.
  intros A B C D Hs Hp. unfold volume.
  assert (Hin : forall u, In u (nodes I) -> (u < count I)%nat) by (intros; apply in_nodes; auto).
  induction (nodes I); simpl; [lia|].
  assert (a < count I)%nat by (apply Hin; simpl; auto).
  specialize (Hs a H) as Hsa. specialize (Hp a H).
  assert (forall u, In u l -> (u < count I)%nat) by (intros; apply Hin; simpl; auto).
  specialize (IHl H0).
  destruct (A a), (B a), (C a), (D a); lia.
Qed.

Lemma volume_empty : volume I empty = 0%Z.
Proof. unfold volume, empty. induction (nodes I); simpl; auto. Qed.

Lemma volume_ext : forall A B, same I A B -> volume I A = volume I B.
Proof.
  intros A B H. unfold volume.
  assert (Hin : forall u, In u (nodes I) -> (u < count I)%nat) by (intros; apply in_nodes; auto).
  induction (nodes I); simpl; auto. rewrite H by (apply Hin; simpl; auto).
  rewrite IHl; auto. intros. apply Hin. simpl. auto.
Qed.

Lemma volume_monotone : valid I -> forall A B, subset I A B -> (volume I A <= volume I B)%Z.
Proof.
  intros V A B H.
  assert (volume I A + volume I empty <= volume I B + volume I empty)%Z.
  { apply volume_combine; [apply (size_positive I V)|]. intros u Hu. specialize (H u Hu).
    unfold empty. destruct (A u), (B u); try lia. assert (false) by (apply H; reflexivity). discriminate. }
  lia.
Qed.

Lemma volume_nonnegative : valid I -> forall A, (0 <= volume I A)%Z.
Proof.
  intros V A. rewrite <- volume_empty. apply volume_monotone; auto. intros u _ H. discriminate.
Qed.

Lemma volume_member : valid I -> forall (A : set) u, (u < count I)%nat -> A u -> (size I u <= volume I A)%Z.
Proof.
  intros V A u Hu HA. rewrite Zle_Qle, volume_Q. unfold sum_over.
  pose proof (sum_at_least_one (fun u => if A u then size I u : Q else 0) u Hu) as H.
  unfold is_true in HA. cbv beta in H. rewrite HA in H. apply H. intros x Hx.
  destruct (A x); [|lra]. pose proof (size_positive I V x Hx) as Hp.
  change (inject_Z 0 <= inject_Z (size I x)). rewrite <- Zle_Qle. lia.
Qed.

(** ** Counting, for termination *)

Definition number (A : set) : nat := length (filter A (nodes I)).

End Sums.

Lemma filter_length_le : forall (f g : nat -> bool) l, (forall u, In u l -> f u -> g u) ->
  (length (filter f l) <= length (filter g l))%nat.
Proof.
  induction l; simpl; intros H; [lia|].
  assert (IH : (length (filter f l) <= length (filter g l))%nat) by (apply IHl; intros; apply H; auto).
  specialize (H a (or_introl eq_refl)). unfold is_true in H.
  destruct (f a), (g a); simpl; try lia; discriminate (H eq_refl).
Qed.

Lemma filter_length_lt : forall (f g : nat -> bool) l x, (forall u, In u l -> f u -> g u) ->
  In x l -> g x -> f x = false -> (length (filter f l) < length (filter g l))%nat.
Proof.
  induction l; simpl; intros x H Hx Hg Hf; [contradiction|].
  assert (Hl : forall u, In u l -> f u -> g u) by (intros; apply H; auto).
  destruct Hx as [->|Hx].
  - rewrite Hf. unfold is_true in Hg. rewrite Hg. simpl.
    pose proof (filter_length_le f g l Hl). lia.
  - specialize (IHl x Hl Hx Hg Hf). specialize (H a (or_introl eq_refl)). unfold is_true in H.
    destruct (f a), (g a); simpl; try lia; discriminate (H eq_refl).
Qed.

Lemma number_le : forall I A B, subset I A B -> (number I A <= number I B)%nat.
Proof. intros. apply filter_length_le. intros. apply H; auto. apply in_nodes. auto. Qed.

Lemma number_lt : forall I A B x, subset I A B -> (x < count I)%nat -> B x -> A x = false ->
  (number I A < number I B)%nat.
Proof.
  intros. apply (filter_length_lt A B (nodes I) x); auto.
  - intros. apply H; auto. apply in_nodes. auto.
  - apply in_nodes. auto.
Qed.

(** Every resident node has a resident leaf that needs it (itself, if it is one). *)
Lemma leaf_above : forall I, valid I -> acyclic I -> forall (A : set) y, (y < count I)%nat -> A y ->
  exists w, (w < count I)%nat /\ leaf I A w /\ needs I w y.
Proof.
  intros I V Acy A.
  assert (Hind : forall bound y, (y < count I)%nat -> A y ->
    (number I (fun w => A w && needs I w y) <= bound)%nat ->
    exists w, (w < count I)%nat /\ leaf I A w /\ needs I w y).
  { induction bound; intros y Hy HA Hb.
    - exfalso.
      pose proof (number_lt I empty (fun w => A w && needs I w y) y) as Hlt.
      assert (number I empty < number I (fun w => A w && needs I w y))%nat; [|lia].
      apply Hlt; auto.
      + intros u _ H. discriminate.
      + unfold is_true in *. rewrite HA. rewrite (needs_refl I V y Hy). reflexivity.
    - destruct (existsb (fun w => A w && needs I w y && negb (w =? y)%nat) (nodes I)) eqn:E.
      + apply existsb_exists in E. destruct E as [w [Hw E]]. apply in_nodes in Hw.
        apply andb_prop in E. destruct E as [E Hne]. apply andb_prop in E. destruct E as [HAw Hwy].
        apply negb_true_iff, Nat.eqb_neq in Hne.
        destruct (IHbound w Hw HAw) as [x [Hx [Hleaf Hxw]]].
        { assert (number I (fun x => A x && needs I x w) < number I (fun x => A x && needs I x y))%nat;
            [|lia].
          apply number_lt with (x := y); auto.
          - intros u Hu H. apply andb_prop in H. destruct H as [H1 H2].
            unfold is_true. rewrite H1. simpl. apply (needs_trans I V u w y); auto.
          - unfold is_true in *. rewrite HA. rewrite (needs_refl I V y Hy). reflexivity.
          - destruct (needs I y w) eqn:Eyw; [|apply andb_false_r].
            exfalso. apply Hne. apply Acy; auto. }
        exists x. repeat split; auto. destruct Hleaf; auto. destruct Hleaf; auto.
        apply (needs_trans I V x w y); auto.
      + exists y. split; auto. split; [|apply (needs_refl I V); auto].
        split; auto. intros w Hw HAw Hwy.
        destruct (Nat.eq_dec w y); auto. exfalso.
        assert (existsb (fun w => A w && needs I w y && negb (w =? y)%nat) (nodes I) = true).
        { apply existsb_exists. exists w. split; [apply in_nodes; auto|].
          unfold is_true in *. rewrite HAw, Hwy. simpl. apply negb_true_iff, Nat.eqb_neq. auto. }
        congruence. }
  intros y Hy HA. apply (Hind (number I (fun w => A w && needs I w y)) y Hy HA). lia.
Qed.

(** Whatever leaves as a batch can leave one leaf at a time: the batch holds a leaf. *)
Lemma batch_has_leaf : forall I, valid I -> acyclic I -> forall A E : set,
  subset I E A -> closed I (minus A E) -> forall y, (y < count I)%nat -> E y ->
  exists w, (w < count I)%nat /\ E w /\ leaf I A w.
Proof.
  intros I V Acy A E HEA Hcl y Hy HEy.
  destruct (leaf_above I V Acy A y Hy (HEA y Hy HEy)) as [w [Hw [Hleaf Hwy]]].
  exists w. repeat split; auto; try apply Hleaf.
  destruct (E w) eqn:HEw; [reflexivity|].
  assert (Hm : minus A E y).
  { apply (Hcl w y); auto. unfold minus, is_true. rewrite HEw. destruct Hleaf as [HA _].
    unfold is_true in HA. rewrite HA. reflexivity. }
  unfold minus, is_true in *. rewrite HEy in Hm. rewrite andb_false_r in Hm. discriminate.
Qed.

(** ** A forest is an instance *)

Inductive reaches (up : nat -> option nat) : nat -> nat -> Prop :=
| reaches_here : forall v, reaches up v v
| reaches_up : forall v p u, up v = Some p -> reaches up p u -> reaches up v u.

Lemma reaches_trans : forall up v w u, reaches up v w -> reaches up w u -> reaches up v u.
Proof. intros up v w u H. induction H; intros; auto. econstructor; eauto. Qed.

Lemma climbs_sound : forall up fuel v u, climbs up fuel v u -> reaches up v u.
Proof.
  unfold is_true. induction fuel; simpl; intros v u H; apply orb_prop in H; destruct H as [H|H];
    try (apply Nat.eqb_eq in H; subst; constructor); try discriminate.
  destruct (up v) eqn:E; [|discriminate]. econstructor; eauto.
Qed.

Lemma climbs_complete : forall up v u, reaches up v u ->
  forall fuel, rooted up fuel v -> climbs up fuel v u.
Proof.
  unfold is_true. intros up v u H. induction H; intros fuel Hr.
  - destruct fuel; simpl; rewrite Nat.eqb_refl; reflexivity.
  - destruct fuel; simpl in Hr; rewrite H in Hr; [discriminate|].
    simpl. rewrite H. rewrite IHreaches by auto. apply orb_true_r.
Qed.

Lemma of_forest_needs : forall F, valid_forest F -> forall v u, (v < trees F)%nat ->
  (needs (of_forest F) v u <-> reaches (parent F) v u).
Proof.
  intros F V v u Hv. simpl. split; intros.
  - eapply climbs_sound; eauto.
  - apply climbs_complete; auto. apply (parent_ends F V). auto.
Qed.

Theorem of_forest_valid : forall F, valid_forest F -> valid (of_forest F).
Proof.
  intros F V. split; simpl.
  - intros. apply climbs_complete; [constructor|]. apply (parent_ends F V); auto.
  - intros v w u Hv Hw Hu H1 H2. apply climbs_complete; [|apply (parent_ends F V); auto].
    eapply reaches_trans; eapply climbs_sound; eauto.
  - apply (forest_size_positive F V).
  - apply (forest_cost_nonnegative F V).
Qed.

(** Steps to the root, to see that an ancestor's ancestor is not the node itself. *)
Lemma rooted_up : forall up v u, reaches up v u -> forall fuel, rooted up fuel v ->
  v = u \/ exists fuel', (fuel' < fuel)%nat /\ rooted up fuel' u.
Proof.
  unfold is_true. intros up v u H. induction H; intros fuel Hr; auto.
  right. destruct fuel; simpl in Hr; rewrite H in Hr; [discriminate|].
  destruct (IHreaches fuel Hr) as [->|[f [Hf1 Hf2]]]; [exists fuel | exists f]; split; auto.
Qed.

Theorem of_forest_acyclic : forall F, valid_forest F -> acyclic (of_forest F).
Proof.
  intros F V v u Hv Hu H1 H2. simpl in *.
  apply climbs_sound in H1. apply climbs_sound in H2.
  assert (Hloop : forall fuel, rooted (parent F) fuel v -> v = u).
  { induction fuel as [fuel IH] using (well_founded_induction lt_wf). intros Hr.
    destruct (rooted_up _ _ _ H1 fuel Hr) as [|[f [Hf Hrf]]]; auto.
    destruct (rooted_up _ _ _ H2 f Hrf) as [|[g [Hg Hrg]]]; auto.
    apply (IH g); auto. lia. }
  apply (Hloop (trees F)). apply (parent_ends F V). auto.
Qed.

(** Closed, for a forest, means: whoever is resident has its parent resident. *)
Theorem closed_by_parent : forall F, valid_forest F -> forall A : set,
  closed (of_forest F) A <->
  (forall v p, (v < trees F)%nat -> A v -> parent F v = Some p -> A p).
Proof.
  intros F V A. split.
  - intros H v p Hv HA Hp. apply (H v p); auto.
    + simpl. eapply (parent_node F V); eauto.
    + apply of_forest_needs; auto. econstructor; [eauto | constructor].
  - intros H v u Hv Hu HA Hn. apply of_forest_needs in Hn; auto. simpl in Hv, Hu.
    clear Hu. induction Hn; auto. apply IHHn; eauto. eapply (parent_node F V); eauto.
Qed.

(** ** A flat instance is an instance *)

Theorem flat_valid : forall n s c, (forall v, (v < n)%nat -> (0 < s v)%Z) ->
  (forall v, (v < n)%nat -> 0 <= c v) -> valid (flat n s c).
Proof.
  intros. split; simpl; auto; unfold is_true; intros.
  - apply Nat.eqb_refl.
  - apply Nat.eqb_eq in H4. apply Nat.eqb_eq in H5. subst. apply Nat.eqb_refl.
Qed.

Theorem flat_acyclic : forall n s c, acyclic (flat n s c).
Proof. intros n s c v u _ _ H _. apply Nat.eqb_eq. exact H. Qed.
