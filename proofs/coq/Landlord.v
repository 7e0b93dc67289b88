(** * Landlord on forests: its exact upper bound, and where Young's bound survives

    Landlord in key form with leaf-only eviction: a resident node keeps a key, the level at its last
    touch plus cost per size; the least key among the unpinned leaves leaves, and the level rises to
    it. The credit of Young's formulation is [size * (key - level)].

    - [landlord_bound] (Theorem 1, upper bound): with requested paths of size at most [H] and
      [m = ceil((k-h+1)/H)], [cost(Landlord) <= (1 + (h-1)/m) * cost(schedule)].
    - [landlord_safe] (Theorem 2): where cost per size never rises from a node to its dependents,
      Landlord keeps Young's bound [k/(k-h+1)]; [landlord_flat] is the case of independent files.

    The run of Landlord that exceeds Young's bound is in [Witness.v]. *)

From Coq Require Import List Bool Arith ZArith QArith Qminmax Lia Lqa.
From CacheWorthy Require Import Model Cosigned.
Import ListNotations.
Open Scope Q_scope.

(** ** The policy *)

Record keyed := Keyed { cached : set; key : nat -> Q; level : Q }.

Definition blank : keyed := Keyed empty (fun _ => 0) 0.

(** A hit is keyed with the level before the service's evictions, or with the level after them. *)
Inductive convention := Before | After.

Definition touch_level (cv : convention) (before after : Q) : Q :=
  match cv with Before => before | After => after end.

Section Policy.
Variable I : instance.
Variable k : Z.

(** Cost per unit of size. *)
Definition density (u : nat) : Q := cost I u / size I u.

Definition evictable (v : nat) (s : keyed) (u : nat) : Prop :=
  (u < count I)%nat /\ leaf I (cached s) u /\ path I v u = false.

Definition absent (v : nat) (s : keyed) : set := minus (path I v) (cached s).

Definition lacking (v : nat) (s : keyed) : Prop :=
  (k < volume I (cached s) + volume I (absent v s))%Z.

Definition only (x : nat) : set := fun u => (u =? x)%nat.

(** While room is short, an evictable node of least key leaves, whichever it is, and the level
    rises to its key (it never falls). *)
Record drop_least (v : nat) (s s' : keyed) (x : nat) : Prop := {
  least_evictable : evictable v s x;
  least_key : forall u, evictable v s u -> key s x <= key s u;
  least_lacking : lacking v s;
  least_cached : same I (cached s') (minus (cached s) (only x));
  least_keys : forall u, (u < count I)%nat -> key s' u == key s u;
  least_level : level s' == Qmax (level s) (key s x)
}.

(** The eager form also drops evictable nodes whose credit is gone, at any time. *)
Record drop_spent (v : nat) (s s' : keyed) (x : nat) : Prop := {
  spent_evictable : evictable v s x;
  spent_key : key s x <= level s;
  spent_cached : same I (cached s') (minus (cached s) (only x));
  spent_keys : forall u, (u < count I)%nat -> key s' u == key s u;
  spent_level : level s' == level s
}.

Inductive clear (v : nat) : keyed -> keyed -> Prop :=
| clear_done : forall s, ~ lacking v s -> clear v s s
| clear_least : forall s s1 s2 x, drop_least v s s1 x -> clear v s1 s2 -> clear v s s2
| clear_spent : forall s s1 s2 x, drop_spent v s s1 x -> clear v s1 s2 -> clear v s s2.

(** [s] is the state before the service, [s1] the state with room made. *)
Record fetch (cv : convention) (v : nat) (s s1 s' : keyed) : Prop := {
  fetch_cached : same I (cached s') (union (cached s1) (path I v));
  fetch_hit : forall u, (u < count I)%nat -> path I v u -> cached s u ->
    key s' u == touch_level cv (level s) (level s1) + density u;
  fetch_load : forall u, (u < count I)%nat -> path I v u -> cached s u = false ->
    key s' u == level s1 + density u;
  fetch_other : forall u, (u < count I)%nat -> path I v u = false -> key s' u == key s1 u;
  fetch_level : level s' == level s1
}.

Definition landlord_serve (cv : convention) (v : nat) (s s' : keyed) : Prop :=
  exists s1, clear v s s1 /\ fetch cv v s s1 s'.

Inductive landlord_run (cv : convention) : keyed -> list nat -> keyed -> Q -> Prop :=
| landlord_end : forall s paid, paid == 0 -> landlord_run cv s [] s paid
| landlord_request : forall s v s1 requests s2 paid rest,
    (v < count I)%nat -> landlord_serve cv v s s1 -> landlord_run cv s1 requests s2 rest ->
    paid == cost_of I (absent v s) + rest ->
    landlord_run cv s (v :: requests) s2 paid.

End Policy.

(** * Proofs *)

(** ** Credit, clamped at zero *)

Definition clamp (q : Q) : Q := if Qle_bool q 0 then 0 else q.

Lemma clamp_cases : forall q, (q <= 0 /\ clamp q = 0) \/ (0 < q /\ clamp q = q).
Proof.
  intros q. unfold clamp. destruct (Qle_bool q 0) eqn:E.
  - left. apply Qle_bool_iff in E. auto.
  - right. split; auto. destruct (Qlt_le_dec 0 q); auto. apply Qle_bool_iff in q0. congruence.
Qed.

Lemma clamp_range : forall q c, 0 <= c -> q <= c -> 0 <= clamp q <= c.
Proof. intros q c Hc Hq. destruct (clamp_cases q) as [[H E]|[H E]]; rewrite E; lra. Qed.

Lemma clamp_monotone : forall p q, p <= q -> clamp p <= clamp q.
Proof.
  intros p q H. destruct (clamp_cases p) as [[H1 E1]|[H1 E1]], (clamp_cases q) as [[H2 E2]|[H2 E2]];
    rewrite E1, E2; lra.
Qed.

Lemma clamp_ext : forall p q, p == q -> clamp p == clamp q.
Proof.
  intros p q H. assert (p <= q) by lra. assert (q <= p) by lra.
  pose proof (clamp_monotone p q H0). pose proof (clamp_monotone q p H1). lra.
Qed.

(** Charging [a]: never more than [a] is lost, and all of it where there was enough. *)
Lemma clamp_loss : forall q a, 0 <= a -> 0 <= clamp q - clamp (q - a) <= a.
Proof.
  intros q a Ha. destruct (clamp_cases q) as [[H1 E1]|[H1 E1]],
    (clamp_cases (q - a)) as [[H2 E2]|[H2 E2]]; rewrite E1, E2; lra.
Qed.

Lemma clamp_loss_all : forall q a, 0 <= a <= q -> clamp q - clamp (q - a) == a.
Proof.
  intros q a Ha. destruct (clamp_cases q) as [[H1 E1]|[H1 E1]],
    (clamp_cases (q - a)) as [[H2 E2]|[H2 E2]]; rewrite E1, E2; lra.
Qed.

Section Upper.
Variable I : instance.
Variables k h H m : Z.
Hypothesis V : valid I.
Hypothesis Acy : acyclic I.
Hypothesis h_range : (1 <= h <= k)%Z.
Hypothesis m_positive : (1 <= m)%Z.
Hypothesis m_small : ((m - 1) * H < k - h + 1)%Z.

Definition credit_of (s : keyed) (u : nat) : Q := size I u * (key s u - level s).
Definition clamped (s : keyed) (u : nat) : Q := if cached s u then clamp (credit_of s u) else 0.

(** The potential of Theorem 1, times [m]. *)
Definition charge (s : keyed) (O : set) : Q :=
  (h - 1)%Z * sum I (clamped s) + (m + h - 1)%Z * sum_over I O (fun u => cost I u - clamped s u).

Lemma sizeQ : forall u, (u < count I)%nat -> 1 <= size I u.
Proof.
  intros u Hu. change (inject_Z 1 <= size I u). rewrite <- Zle_Qle.
  pose proof (size_positive I V u Hu). lia.
Qed.

Lemma density_size : forall u, (u < count I)%nat -> size I u * density I u == cost I u.
Proof. intros u Hu. pose proof (sizeQ u Hu). unfold density. field. lra. Qed.

Lemma weights : 0 <= (h - 1)%Z /\ 0 <= m /\ (m + h - 1)%Z == m + (h - 1)%Z.
Proof.
  repeat split.
  - change (inject_Z 0 <= (h - 1)%Z). rewrite <- Zle_Qle. lia.
  - change (inject_Z 0 <= m). rewrite <- Zle_Qle. lia.
  - rewrite <- inject_Z_plus. replace (m + (h - 1))%Z with (m + h - 1)%Z by lia. reflexivity.
Qed.

(** What every state of a run satisfies. *)
Record regular (s : keyed) : Prop := {
  regular_closed : closed I (cached s);
  regular_key : forall u, (u < count I)%nat -> cached s u -> key s u <= level s + density I u;
  regular_path : forall u, (u < count I)%nat -> cached s u -> (volume I (path I u) <= H)%Z;
  regular_volume : (volume I (cached s) <= k)%Z
}.

Lemma credit_le_cost : forall s u, regular s -> (u < count I)%nat -> cached s u ->
  credit_of s u <= cost I u.
Proof.
  intros s u R Hu HA. pose proof (regular_key s R u Hu HA). unfold credit_of.
  rewrite <- (density_size u Hu). pose proof (sizeQ u Hu).
  rewrite !(Qmult_comm (size I u)). apply Qmult_le_compat_r; lra.
Qed.

Lemma clamped_range : forall s u, regular s -> (u < count I)%nat -> 0 <= clamped s u <= cost I u.
Proof.
  intros s u R Hu. unfold clamped. pose proof (cost_nonnegative I V u Hu).
  destruct (cached s u) eqn:E; [|lra]. apply clamp_range; auto. apply credit_le_cost; auto.
Qed.

Lemma charge_terms : forall s (O : set), charge s O ==
  sum I (fun u => (h - 1)%Z * clamped s u + (m + h - 1)%Z * (if O u then cost I u - clamped s u else 0)).
Proof. intros. rewrite sum_plus, !sum_scale. reflexivity. Qed.

Lemma charge_change : forall (s s' : keyed) (O O' : set) (step : nat -> Q),
  (forall u, (u < count I)%nat ->
    (h - 1)%Z * clamped s' u + (m + h - 1)%Z * (if O' u then cost I u - clamped s' u else 0) <=
    (h - 1)%Z * clamped s u + (m + h - 1)%Z * (if O u then cost I u - clamped s u else 0) + step u) ->
  charge s' O' <= charge s O + sum I step.
Proof. intros. rewrite !charge_terms, <- sum_plus. apply sum_le. auto. Qed.

Theorem landlord_row_floor : forall s O, regular s -> 0 <= charge s O.
Proof.
  intros s O R. destruct weights as [Ha [Hm Hb]].
  rewrite charge_terms. apply sum_nonnegative. intros u Hu.
  pose proof (clamped_range s u R Hu). rewrite Hb. destruct (O u); nra.
Qed.

Theorem landlord_row_opt : forall s O O', regular s ->
  charge s O' <= charge s O + (m + h - 1)%Z * cost_of I (minus O' O).
Proof.
  intros s O O' R. destruct weights as [Ha [Hm Hb]].
  unfold cost_of, sum_over. rewrite <- sum_scale. apply charge_change.
  intros u Hu. pose proof (clamped_range s u R Hu). unfold minus. rewrite Hb.
  destruct (O' u), (O u); simpl; nra.
Qed.

(** *** The leaves that pay *)

Definition is_leaf (A : set) (u : nat) : bool :=
  A u && forallb (fun w => negb (A w && needs I w u) || (w =? u)%nat) (nodes I).

Lemma is_leaf_iff : forall A u, is_leaf A u = true <-> leaf I A u.
Proof.
  intros A u. unfold is_leaf, leaf, is_true. rewrite andb_true_iff, forallb_forall.
  split; intros [HA Hl]; split; auto.
  - intros w Hw HAw Hn. specialize (Hl w (proj2 (in_nodes I w) Hw)). rewrite HAw, Hn in Hl.
    simpl in Hl. apply Nat.eqb_eq. auto.
  - intros w Hw. apply in_nodes in Hw. destruct (A w) eqn:E1; destruct (needs I w u) eqn:E2; auto.
    simpl. apply Nat.eqb_eq. auto.
Qed.

Lemma number_sum : forall A : set, sum I (fun u => if A u then 1 else 0) == Z.of_nat (number I A).
Proof.
  intros A. unfold sum, number. induction (nodes I); simpl; [reflexivity|].
  rewrite IHl. destruct (A a); cbn [length]; [|lra].
  rewrite Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus. reflexivity.
Qed.

(** The paths of the leaves outside [O] cover whatever is outside [O], so there are [m] of them. *)
Lemma leaves_cover : forall s (O : set), regular s -> closed I O ->
  (volume I (minus (cached s) O) <=
   Z.of_nat (number I (minus (is_leaf (cached s)) O)) * H)%Z.
Proof.
  intros s O R HO. rewrite Zle_Qle, inject_Z_mult, volume_Q, <- number_sum. unfold sum_over.
  set (L := minus (is_leaf (cached s)) O).
  apply Qle_trans with (sum I (fun y => sum I (fun w =>
    if L w then (if needs I w y then size I y : Q else 0) else 0))).
  - apply sum_le. intros y Hy. unfold minus at 1.
    assert (Hpos : forall w, (w < count I)%nat ->
      0 <= (if L w then (if needs I w y then size I y : Q else 0) else 0)).
    { intros w _. pose proof (sizeQ y Hy). destruct (L w), (needs I w y); lra. }
    destruct (cached s y) eqn:EA; destruct (O y) eqn:EO; simpl;
      try (apply sum_nonnegative; auto; fail).
    destruct (leaf_above I V Acy (cached s) y Hy EA) as [w [Hw [Hl Hn]]].
    pose proof (sum_at_least_one I (fun w =>
      if L w then (if needs I w y then size I y : Q else 0) else 0) w Hw Hpos) as Hone.
    cbv beta in Hone. unfold is_true in Hn. rewrite Hn in Hone.
    assert (HL : L w = true).
    { unfold L, minus. apply is_leaf_iff in Hl. rewrite Hl. simpl. apply negb_true_iff.
      destruct (O w) eqn:EOw; auto. rewrite <- EO. symmetry. apply (HO w y); auto. }
    rewrite HL in Hone. exact Hone.
  - rewrite sum_swap, Qmult_comm, <- sum_scale. apply sum_le. intros w Hw.
    destruct (L w) eqn:EL.
    + assert (HA : cached s w = true).
      { unfold L, minus, is_leaf in EL. destruct (cached s w); auto. }
      pose proof (regular_path s R w Hw HA) as Hp. rewrite Zle_Qle, volume_Q in Hp.
      unfold sum_over, path in Hp. lra.
    + rewrite sum_zero. lra.
Qed.

Lemma lacking_outside : forall v s O, lacking I k v s -> subset I (path I v) O ->
  (volume I O <= h)%Z -> (k - h + 1 <= volume I (minus (cached s) O))%Z.
Proof.
  intros v s O Hl HPO Hh. unfold lacking in Hl.
  assert (volume I (cached s) + volume I (absent I v s) <=
          volume I (minus (cached s) O) + volume I O)%Z; [|lia].
  apply volume_combine; [apply (size_positive I V)|]. intros u Hu. specialize (HPO u Hu).
  unfold is_true in HPO. unfold absent, minus.
  destruct (cached s u), (path I v u), (O u); simpl; try lia; discriminate (HPO eq_refl).
Qed.

Lemma lacking_inside : forall v s O, regular s -> lacking I k v s -> subset I (path I v) O ->
  (volume I O <= h)%Z -> (volume I (inter (cached s) O) <= h - 1)%Z.
Proof.
  intros v s O R Hl HPO Hh. unfold lacking in Hl. pose proof (regular_volume s R).
  assert (volume I (inter (cached s) O) + volume I (absent I v s) <=
          volume I O + volume I empty)%Z; [|rewrite volume_empty in *; lia].
  apply volume_combine; [apply (size_positive I V)|]. intros u Hu. specialize (HPO u Hu).
  unfold is_true in HPO. unfold absent, minus, inter, empty.
  destruct (cached s u), (path I v u), (O u); simpl; try lia; discriminate (HPO eq_refl).
Qed.

(** Rows "rent" and "evict": the level rises to the least key, and its node leaves. *)
Theorem landlord_row_rent : forall v s s' x O, regular s -> drop_least I k v s s' x ->
  closed I O -> subset I (path I v) O -> (volume I O <= h)%Z ->
  charge s' O <= charge s O.
Proof.
  intros v s s' x O R D HO HPO Hh. destruct weights as [Ha [Hm Hb]].
  destruct (least_evictable I k v s s' x D) as [Hx [Hleaf HxP]].
  set (d := level s' - level s).
  assert (Hd : 0 <= d /\ (key s x <= level s -> d == 0) /\ (level s <= key s x -> d == key s x - level s)).
  { unfold d. pose proof (least_level I k v s s' x D) as E. rewrite E.
    destruct (Q.max_spec (level s) (key s x)) as [[H1 H2]|[H1 H2]]; rewrite H2; repeat split; intros; lra. }
  destruct Hd as [Hd0 [HdL HdK]].
  set (loss := fun u => clamped s u - clamped s' u).
  assert (Hcr : forall u, (u < count I)%nat -> credit_of s' u == credit_of s u - size I u * d).
  { intros u Hu. unfold credit_of. rewrite (least_keys I k v s s' x D u Hu). unfold d. ring. }
  assert (Hsd : forall u, (u < count I)%nat -> d <= size I u * d).
  { intros u Hu. pose proof (sizeQ u Hu). nra. }
  assert (Hev : forall u, evictable I v s u -> loss u == size I u * d).
  { intros u Hev. pose proof (least_key I k v s s' x D u Hev) as Hk.
    destruct Hev as [Hu [[HAu _] HuP]]. unfold loss, clamped, is_true in *.
    rewrite (least_cached I k v s s' x D u Hu). unfold minus, only. rewrite HAu. simpl.
    pose proof (Hsd u Hu). pose proof (sizeQ u Hu).
    assert (Hlt : key s x <= level s \/ level s < key s x) by (destruct (Qlt_le_dec (level s) (key s x)); auto).
    assert (Hall : clamp (credit_of s u) - clamp (credit_of s u - size I u * d) == size I u * d).
    { destruct Hlt as [Hlt|Hlt].
      - pose proof (HdL Hlt) as E. assert (size I u * d == 0) as E2 by (rewrite E; ring).
        pose proof (clamp_ext (credit_of s u - size I u * d) (credit_of s u)). rewrite H2; lra.
      - apply clamp_loss_all. split; [lra|]. unfold credit_of.
        rewrite !(Qmult_comm (size I u)). apply Qmult_le_compat_r; [|lra].
        rewrite HdK by lra. lra. }
    destruct (Nat.eqb_spec u x) as [->|Hne]; simpl.
    - (* the victim: all its credit is gone *)
      assert (clamp (credit_of s x - size I x * d) == 0); [|lra].
      rewrite (clamp_ext _ (size I x * (key s x - level s - d))) by (unfold credit_of; ring).
      destruct (clamp_cases (size I x * (key s x - level s - d))) as [[H3 E]|[H3 E]]; rewrite E; [lra|].
      exfalso. assert (key s x - level s - d <= 0) by (destruct Hlt; [rewrite HdL | rewrite HdK]; lra).
      nra.
    - rewrite (clamp_ext _ _ (Hcr u Hu)). exact Hall. }
  assert (Hloss : forall u, (u < count I)%nat -> 0 <= loss u /\ loss u <= (if cached s u then size I u * d else 0)).
  { intros u Hu. destruct (Nat.eq_dec u x) as [->|Hne].
    - rewrite Hev by (apply (least_evictable I k v s s' x D)). destruct Hleaf as [HAx _].
      unfold is_true in HAx. rewrite HAx. pose proof (Hsd x Hx). lra.
    - unfold loss, clamped. rewrite (least_cached I k v s s' x D u Hu). unfold minus, only.
      apply Nat.eqb_neq in Hne. rewrite Hne. rewrite andb_true_r.
      destruct (cached s u); [|lra]. rewrite (clamp_ext _ _ (Hcr u Hu)).
      pose proof (Hsd u Hu). pose proof (clamp_loss (credit_of s u) (size I u * d)). lra. }
  assert (Hchange : charge s' O <= charge s O +
    sum I (fun u => m * (if O u then loss u else 0) + - (h - 1)%Z * (if O u then 0 else loss u))).
  { apply charge_change. intros u Hu. unfold loss. rewrite Hb. destruct (O u); lra. }
  rewrite sum_plus, !sum_scale in Hchange.
  (* what the schedule holds loses at most (h-1) d *)
  assert (Hin : sum I (fun u => if O u then loss u else 0) <= d * (h - 1)%Z).
  { pose proof (lacking_inside v s O R (least_lacking I k v s s' x D) HPO Hh) as Hi.
    rewrite Zle_Qle, volume_Q in Hi. unfold sum_over in Hi.
    apply Qle_trans with (d * sum I (fun u => if inter (cached s) O u then size I u : Q else 0)).
    - rewrite <- sum_scale. apply sum_le. intros u Hu. destruct (Hloss u Hu). unfold inter.
      destruct (O u), (cached s u); simpl; lra.
    - rewrite !(Qmult_comm d). apply Qmult_le_compat_r; auto. }
  (* the leaves outside the schedule lose at least m d *)
  assert (Hout : d * m <= sum I (fun u => if O u then 0 else loss u)).
  { pose proof (leaves_cover s O R HO) as Hc.
    pose proof (lacking_outside v s O (least_lacking I k v s s' x D) HPO Hh) as Hv.
    set (nL := Z.of_nat (number I (minus (is_leaf (cached s)) O))) in *.
    assert (HmL : (m <= nL)%Z).
    { assert (H0 : (0 <= nL)%Z) by (unfold nL; lia).
      assert (H1 : (0 < nL * H)%Z) by lia.
      assert (H2 : (0 < H)%Z) by nia.
      destruct (Z_lt_le_dec nL m) as [H3|H3]; [|lia].
      assert ((nL * H <= (m - 1) * H)%Z) by (apply Z.mul_le_mono_nonneg_r; lia). lia. }
    apply Qle_trans with (d * nL).
    - rewrite !(Qmult_comm d). apply Qmult_le_compat_r; auto. rewrite <- Zle_Qle. auto.
    - unfold nL. rewrite <- number_sum, <- sum_scale. apply sum_le. intros u Hu.
      destruct (Hloss u Hu) as [Hl0 _]. unfold minus. destruct (O u) eqn:EO.
      + rewrite andb_false_r. lra.
      + rewrite andb_true_r. destruct (is_leaf (cached s) u) eqn:El; [|lra].
        rewrite Hev; [pose proof (Hsd u Hu); lra|].
        split; [auto|]. split; [apply is_leaf_iff; auto|].
        destruct (path I v u) eqn:EP; auto. rewrite <- EO. symmetry. apply HPO; auto. }
  assert (m * sum I (fun u => if O u then loss u else 0) <= m * (d * (h - 1)%Z)).
  { rewrite !(Qmult_comm m). apply Qmult_le_compat_r; auto. }
  assert ((h - 1)%Z * (d * m) <= (h - 1)%Z * sum I (fun u => if O u then 0 else loss u)).
  { rewrite !(Qmult_comm (h - 1)%Z). apply Qmult_le_compat_r; auto. }
  lra.
Qed.

Theorem landlord_row_evict : forall v s s' x O, drop_spent I v s s' x -> charge s' O == charge s O.
Proof.
  intros v s s' x O D. rewrite !charge_terms. apply sum_ext. intros u Hu.
  assert (E : clamped s' u == clamped s u); [|destruct (O u); rewrite E; reflexivity].
  unfold clamped. rewrite (spent_cached I v s s' x D u Hu). unfold minus, only.
  destruct (cached s u) eqn:EA; simpl; [|reflexivity].
  destruct (Nat.eqb_spec u x) as [->|]; simpl.
  - pose proof (spent_key I v s s' x D). pose proof (sizeQ x Hu).
    destruct (clamp_cases (credit_of s x)) as [[H2 E]|[H2 E]]; rewrite E; [reflexivity|].
    exfalso. unfold credit_of in H2. nra.
  - apply clamp_ext. unfold credit_of.
    rewrite (spent_keys I v s s' x D u Hu), (spent_level I v s s' x D). reflexivity.
Qed.

(** *** What a service keeps *)

Lemma drop_least_regular : forall v s s' x, drop_least I k v s s' x -> regular s -> regular s'.
Proof.
  intros v s s' x D R. destruct (least_evictable I k v s s' x D) as [Hx [Hleaf HxP]]. split.
  - intros w u Hw Hu HA Hn. rewrite (least_cached I k v s s' x D) in * by auto.
    unfold minus, only, is_true in *. apply andb_prop in HA. destruct HA as [HA Hne].
    rewrite (regular_closed s R w u Hw Hu HA Hn). simpl. apply negb_true_iff, Nat.eqb_neq.
    apply negb_true_iff, Nat.eqb_neq in Hne. intros ->. apply Hne. apply Hleaf; auto.
  - intros u Hu HA. rewrite (least_cached I k v s s' x D) in HA by auto.
    apply andb_prop in HA. destruct HA as [HA _].
    pose proof (regular_key s R u Hu HA). rewrite (least_keys I k v s s' x D u Hu).
    pose proof (least_level I k v s s' x D). pose proof (Q.le_max_l (level s) (key s x)). lra.
  - intros u Hu HA. rewrite (least_cached I k v s s' x D) in HA by auto.
    apply andb_prop in HA. apply (regular_path s R); auto. apply HA.
  - pose proof (regular_volume s R).
    assert (volume I (cached s') <= volume I (cached s))%Z; [|lia].
    apply volume_monotone; auto. intros u Hu HA. rewrite (least_cached I k v s s' x D) in HA by auto.
    apply andb_prop in HA. apply HA.
Qed.

Lemma drop_spent_regular : forall v s s' x, drop_spent I v s s' x -> regular s -> regular s'.
Proof.
  intros v s s' x D R. destruct (spent_evictable I v s s' x D) as [Hx [Hleaf HxP]]. split.
  - intros w u Hw Hu HA Hn. rewrite (spent_cached I v s s' x D) in * by auto.
    unfold minus, only, is_true in *. apply andb_prop in HA. destruct HA as [HA Hne].
    rewrite (regular_closed s R w u Hw Hu HA Hn). simpl. apply negb_true_iff, Nat.eqb_neq.
    apply negb_true_iff, Nat.eqb_neq in Hne. intros ->. apply Hne. apply Hleaf; auto.
  - intros u Hu HA. rewrite (spent_cached I v s s' x D) in HA by auto.
    apply andb_prop in HA. destruct HA as [HA _].
    pose proof (regular_key s R u Hu HA). rewrite (spent_keys I v s s' x D u Hu).
    pose proof (spent_level I v s s' x D). lra.
  - intros u Hu HA. rewrite (spent_cached I v s s' x D) in HA by auto.
    apply andb_prop in HA. apply (regular_path s R); auto. apply HA.
  - pose proof (regular_volume s R).
    assert (volume I (cached s') <= volume I (cached s))%Z; [|lia].
    apply volume_monotone; auto. intros u Hu HA. rewrite (spent_cached I v s s' x D) in HA by auto.
    apply andb_prop in HA. apply HA.
Qed.

(** Between the start and the end of making room. *)
Record cleared (v : nat) (s s1 : keyed) : Prop := {
  cleared_regular : regular s1;
  cleared_lacking : ~ lacking I k v s1;
  cleared_level : level s <= level s1;
  cleared_pinned : forall u, (u < count I)%nat -> path I v u -> cached s1 u = cached s u;
  cleared_subset : subset I (cached s1) (cached s);
  cleared_keys : forall u, (u < count I)%nat -> key s1 u == key s u
}.

Lemma clear_cleared : forall v s s1, clear I k v s s1 -> regular s -> cleared v s s1.
Proof.
  intros v s s1 C. induction C as [s Hs | s s1 s2 x D C IH | s s1 s2 x D C IH]; intros R.
  - split; auto; try lra; try (intros; reflexivity). intros u _ HA. auto.
  - specialize (IH (drop_least_regular v s s1 x D R)). destruct IH as [I1 I2 I3 I4 I5 I6].
    destruct (least_evictable I k v s s1 x D) as [Hx [Hleaf HxP]].
    split; auto.
    + pose proof (least_level I k v s s1 x D). pose proof (Q.le_max_l (level s) (key s x)). lra.
    + intros u Hu HP. rewrite I4 by auto. rewrite (least_cached I k v s s1 x D) by auto.
      unfold minus, only. destruct (Nat.eqb_spec u x) as [->|]; [|apply andb_true_r].
      unfold is_true in HP. congruence.
    + intros u Hu HA. apply I5 in HA; auto. rewrite (least_cached I k v s s1 x D) in HA by auto.
      apply andb_prop in HA. apply HA.
    + intros u Hu. rewrite I6 by auto. apply (least_keys I k v s s1 x D); auto.
  - specialize (IH (drop_spent_regular v s s1 x D R)). destruct IH as [I1 I2 I3 I4 I5 I6].
    destruct (spent_evictable I v s s1 x D) as [Hx [Hleaf HxP]].
    split; auto.
    + pose proof (spent_level I v s s1 x D). lra.
    + intros u Hu HP. rewrite I4 by auto. rewrite (spent_cached I v s s1 x D) by auto.
      unfold minus, only. destruct (Nat.eqb_spec u x) as [->|]; [|apply andb_true_r].
      unfold is_true in HP. congruence.
    + intros u Hu HA. apply I5 in HA; auto. rewrite (spent_cached I v s s1 x D) in HA by auto.
      apply andb_prop in HA. apply HA.
    + intros u Hu. rewrite I6 by auto. apply (spent_keys I v s s1 x D); auto.
Qed.

Lemma fetch_regular : forall cv v s s1 s', (v < count I)%nat -> (volume I (path I v) <= H)%Z ->
  cleared v s s1 -> fetch I cv v s s1 s' -> regular s'.
Proof.
  intros cv v s s1 s' Hv HH [R1 Hl Hlev Hpin Hsub Hkeys] F. split.
  - intros w u Hw Hu HA Hn. rewrite (fetch_cached I cv v s s1 s' F) in * by auto.
    unfold union, is_true in *. apply orb_prop in HA. apply orb_true_iff. destruct HA as [HA|HP].
    + left. apply (regular_closed s1 R1 w u); auto.
    + right. apply (needs_trans I V v w u); auto.
  - intros u Hu HA. rewrite (fetch_cached I cv v s s1 s' F) in HA by auto.
    pose proof (fetch_level I cv v s s1 s' F).
    destruct (path I v u) eqn:EP.
    + destruct (cached s u) eqn:EA.
      * pose proof (fetch_hit I cv v s s1 s' F u Hu EP EA).
        destruct cv; simpl in H1; lra.
      * pose proof (fetch_load I cv v s s1 s' F u Hu EP EA). lra.
    + pose proof (fetch_other I cv v s s1 s' F u Hu EP).
      unfold union, is_true in HA. rewrite EP, orb_false_r in HA.
      pose proof (regular_key s1 R1 u Hu HA). lra.
  - intros u Hu HA. rewrite (fetch_cached I cv v s s1 s' F) in HA by auto.
    unfold union, is_true in HA. apply orb_prop in HA. destruct HA as [HA|HP].
    + apply (regular_path s1 R1); auto.
    + assert (volume I (path I u) <= volume I (path I v))%Z; [|lia].
      apply volume_monotone; auto. intros y Hy Hn. apply (needs_trans I V v u y); auto.
  - unfold lacking in Hl.
    assert (volume I (cached s') + volume I empty <=
            volume I (cached s1) + volume I (absent I v s1))%Z; [|rewrite volume_empty in *; lia].
    apply volume_combine; [apply (size_positive I V)|]. intros u Hu.
    rewrite (fetch_cached I cv v s s1 s' F u Hu). unfold union, absent, minus, empty.
    destruct (cached s1 u), (path I v u); simpl; lia.
Qed.

(** Rows "hit" and "load". *)
Theorem landlord_row_load : forall cv v s s1 s' O, regular s -> cleared v s s1 ->
  fetch I cv v s s1 s' -> subset I (path I v) O ->
  charge s' O <= charge s1 O - m * cost_of I (absent I v s).
Proof.
  intros cv v s s1 s' O R [R1 Hl Hlev Hpin Hsub Hkeys] F HPO. destruct weights as [Ha [Hm Hb]].
  assert (Hc : charge s' O <= charge s1 O +
    sum I (fun u => - m * (if absent I v s u then cost I u else 0))).
  { apply charge_change. intros u Hu. rewrite Hb.
    assert (Hcase : path I v u = true /\ cached s u = true /\ clamped s1 u <= clamped s' u \/
                    path I v u = true /\ cached s u = false /\
                      clamped s1 u == 0 /\ clamped s' u == cost I u \/
                    path I v u = false /\ clamped s' u == clamped s1 u).
    { pose proof (fetch_level I cv v s s1 s' F) as Elev.
      unfold clamped. rewrite (fetch_cached I cv v s s1 s' F u Hu). unfold union.
      destruct (path I v u) eqn:EP; [|right; right].
      - rewrite (Hpin u Hu EP), orb_true_r. destruct (cached s u) eqn:EA; [left | right; left].
        + repeat split; auto. apply clamp_monotone. unfold credit_of.
          rewrite !(Qmult_comm (size I u)). pose proof (sizeQ u Hu).
          apply Qmult_le_compat_r; [|lra].
          pose proof (fetch_hit I cv v s s1 s' F u Hu EP EA) as Ek.
          pose proof (regular_key s R u Hu EA). pose proof (Hkeys u Hu).
          destruct cv; simpl in Ek; lra.
        + split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|]. pose proof (cost_nonnegative I V u Hu).
          pose proof (fetch_load I cv v s s1 s' F u Hu EP EA) as Ek.
          assert (Ec : credit_of s' u == cost I u).
          { unfold credit_of. rewrite <- (density_size u Hu), Ek, Elev. ring. }
          rewrite (clamp_ext _ _ Ec).
          destruct (clamp_cases (cost I u)) as [[H2 E]|[H2 E]]; rewrite E; lra.
      - split; auto. rewrite orb_false_r. destruct (cached s1 u); [|reflexivity].
        apply clamp_ext. unfold credit_of. rewrite (fetch_other I cv v s s1 s' F u Hu EP), Elev.
        reflexivity. }
    specialize (HPO u Hu). unfold is_true in HPO. unfold absent, minus.
    destruct Hcase as [[EP [EA Hle]]|[[EP [EA [E1 E2]]]|[EP E]]]; rewrite EP in *.
    - rewrite (HPO eq_refl), EA. simpl.
      assert (0 <= m * (clamped s' u - clamped s1 u)) by (apply Qmult_le_0_compat; lra). lra.
    - rewrite (HPO eq_refl), EA. simpl. rewrite E1, E2. lra.
    - simpl. destruct (O u); rewrite E; lra. }
  rewrite sum_scale in Hc. unfold cost_of, sum_over. lra.
Qed.

Lemma clear_charge : forall v O s s1, clear I k v s s1 -> regular s ->
  closed I O -> subset I (path I v) O -> (volume I O <= h)%Z -> charge s1 O <= charge s O.
Proof.
  intros v O s s1 C. induction C as [s Hs | s s1 s2 x D C IH | s s1 s2 x D C IH];
    intros R HO HPO Hh.
  - lra.
  - pose proof (landlord_row_rent v s s1 x O R D HO HPO Hh).
    pose proof (IH (drop_least_regular v s s1 x D R) HO HPO Hh). lra.
  - pose proof (landlord_row_evict v s s1 x O D).
    pose proof (IH (drop_spent_regular v s s1 x D R) HO HPO Hh). lra.
Qed.

Lemma landlord_potential : forall cv s requests s' paid, landlord_run I k cv s requests s' paid ->
  forall O schedule, regular s -> feasible I h requests schedule ->
  (forall v, In v requests -> (volume I (path I v) <= H)%Z) ->
  m * paid <= charge s O + (m + h - 1)%Z * schedule_cost I O schedule.
Proof.
  intros cv s requests s' paid Hrun.
  induction Hrun as [s paid E | s v s1 requests s2 paid rest Hv [sm [C F]] Hrun IH E];
    intros O schedule R Fe HH; destruct schedule as [|O' schedule]; simpl in Fe; try contradiction.
  - simpl. rewrite E. pose proof (landlord_row_floor s O R). lra.
  - destruct Fe as [HO [Hh [HPO Fe]]]. simpl.
    pose proof (clear_cleared v s sm C R) as Hc.
    pose proof (landlord_row_opt s O O' R).
    pose proof (clear_charge v O' s sm C R HO HPO Hh).
    pose proof (landlord_row_load cv v s sm s1 O' R Hc F HPO).
    assert (R' : regular s1).
    { eapply fetch_regular; eauto. apply HH. left. reflexivity. }
    pose proof (IH O' schedule R' Fe (fun w Hw => HH w (or_intror Hw))).
    rewrite E. lra.
Qed.

Lemma blank_regular : regular blank.
Proof.
  split; simpl.
  - intros v u _ _ A. discriminate A.
  - intros u _ A. discriminate A.
  - intros u _ A. discriminate A.
  - rewrite volume_empty. lia.
Qed.

Lemma blank_charge : charge blank empty == 0.
Proof. rewrite charge_terms, <- (sum_zero I). apply sum_ext. intros. unfold clamped. simpl. lra. Qed.

End Upper.

(** [m] is the least number with [m * H >= x]: the ceiling of [x / H]. *)
Definition is_ceiling (m x H : Z) : Prop := ((m - 1) * H < x <= m * H)%Z.

(** Theorem 1, upper bound: both hit conventions, lazy or eager, any order among equal keys. *)
Theorem landlord_bound : forall cv I k h H m requests schedule last paid,
  valid I -> acyclic I -> (1 <= h <= k)%Z ->
  (forall v, In v requests -> (volume I (path I v) <= H)%Z) ->
  (1 <= m)%Z -> is_ceiling m (k - h + 1) H ->
  feasible I h requests schedule ->
  landlord_run I k cv blank requests last paid ->
  paid <= (1 + (h - 1)%Z / m) * offline_cost I schedule.
Proof.
  intros cv I k h H m requests schedule last paid V Acy Hh HH Hm [Hsmall _] Fe R.
  pose proof (landlord_potential I k h H m V Acy Hh Hm Hsmall cv blank requests last paid R empty
    schedule (blank_regular I k h H Hh) Fe HH) as Hb.
  rewrite (blank_charge I h m) in Hb.
  assert (Hm0 : 0 < m) by (change (inject_Z 0 < m); rewrite <- Zlt_Qlt; lia).
  apply Qmult_le_l with (z := inject_Z m); auto.
  eapply Qle_trans; [exact Hb|]. apply Qle_lteq. right. unfold offline_cost.
  destruct (weights k h m Hh Hm) as [_ [_ Ew]]. rewrite Ew. field. lra.
Qed.

(** ** Theorem 2: the safe sub-case

    Where cost per size never rises from a node to its dependents, keys never do either, every
    unpinned node can pay its own rent, and Landlord's run is a run of the cosigned relation. *)

Section Safe.
Variable I : instance.
Variables k : Z.
Hypothesis V : valid I.
Hypothesis Acy : acyclic I.
Hypothesis density_falls : forall w u, (w < count I)%nat -> (u < count I)%nat ->
  needs I w u -> density I w <= density I u.

(** The same state with credits; during a service the pinned nodes hold their cost. *)
Definition plain (s : keyed) : state := State (cached s) (credit_of I s).
Definition pinned (v : nat) (s : keyed) : state :=
  State (cached s) (fun u => if path I v u then cost I u else credit_of I s u).

Record ordered (s : keyed) : Prop := {
  ordered_closed : closed I (cached s);
  ordered_key : forall w u, (w < count I)%nat -> (u < count I)%nat -> cached s w -> cached s u ->
    needs I w u -> key s w <= key s u;
  ordered_high : forall u, (u < count I)%nat -> cached s u -> key s u <= level s + density I u
}.

Definition solvent (v : nat) (s : keyed) : Prop :=
  forall u, (u < count I)%nat -> cached s u -> path I v u = false -> level s <= key s u.

Lemma ordered_drop : forall s s' x v, ordered s -> evictable I v s x ->
  same I (cached s') (minus (cached s) (only x)) ->
  (forall u, (u < count I)%nat -> key s' u == key s u) -> level s <= level s' -> ordered s'.
Proof.
  intros s s' x v [C O B] [Hx [Hleaf HxP]] Hsame Hkeys Hlev.
  assert (Hin : forall u, (u < count I)%nat -> cached s' u -> cached s u).
  { intros u Hu HA. rewrite (Hsame u Hu) in HA. apply andb_prop in HA. apply HA. }
  split.
  - intros w u Hw Hu HA Hn. pose proof (Hin w Hw HA) as HAw. rewrite (Hsame w Hw) in HA.
    rewrite (Hsame u Hu). unfold minus, only, is_true in *. apply andb_prop in HA. destruct HA as [_ Hne].
    rewrite (C w u Hw Hu HAw Hn). simpl. apply negb_true_iff, Nat.eqb_neq.
    apply negb_true_iff, Nat.eqb_neq in Hne. intros ->. apply Hne. apply Hleaf; auto.
  - intros w u Hw Hu HAw HAu Hn. rewrite (Hkeys w Hw), (Hkeys u Hu). apply O; auto.
  - intros u Hu HA. rewrite (Hkeys u Hu). pose proof (B u Hu (Hin u Hu HA)). lra.
Qed.

(** The least key among the evictable leaves is the least among all unpinned nodes. *)
Lemma least_of_all : forall v s x, (v < count I)%nat -> ordered s ->
  (forall u, evictable I v s u -> key s x <= key s u) ->
  forall u, (u < count I)%nat -> cached s u -> path I v u = false -> key s x <= key s u.
Proof.
  intros v s x Hv O Hmin u Hu HA HP.
  destruct (leaf_above I V Acy (cached s) u Hu HA) as [w [Hw [Hleaf Hn]]].
  apply Qle_trans with (key s w); [|apply (ordered_key s O w u); auto; apply Hleaf].
  apply Hmin. split; auto. split; auto.
  destruct (path I v w) eqn:E; auto. rewrite <- HP. symmetry.
  apply (needs_trans I V v w u); auto.
Qed.

(** Raising the level by [d] is a rent round in which everyone pays for itself. *)
Lemma level_is_rent : forall v s after, (v < count I)%nat -> ordered s -> lacking I k v s ->
  level s <= after ->
  (forall u, (u < count I)%nat -> cached s u -> path I v u = false -> after <= key s u) ->
  exists d pay, rent I k v (pinned v s) (pinned v (Keyed (cached s) (key s) after)) d pay.
Proof.
  intros v s after Hv O Hlack Hlev Hrich. exists (after - level s).
  exists (fun w u => if (w =? u)%nat then
    (if minus (cached s) (path I v) u then (after - level s) * size I u else 0) else 0).
  assert (Hs : forall u, (u < count I)%nat -> 0 <= (after - level s) * size I u).
  { intros u Hu. apply Qmult_le_0_compat; [lra|]. pose proof (sizeQ I V u Hu). lra. }
  split; simpl.
  - exact Hlack.
  - lra.
  - intros w u Hw Hu Hne. destruct (Nat.eqb_spec w u) as [->|]; [|exfalso; apply Hne; reflexivity].
    destruct (minus (cached s) (path I v) u) eqn:EU; [|exfalso; apply Hne; reflexivity].
    split; [|split; [exact EU | apply (needs_refl I V); auto]].
    apply andb_prop in EU. apply EU.
  - intros w u Hw Hu. pose proof (Hs u Hu).
    destruct (w =? u)%nat, (minus (cached s) (path I v) u); lra.
  - intros u Hu HU. unfold unpinned, is_true in HU. simpl in HU. rewrite HU.
    apply sum_single. auto.
  - intros u Hu. reflexivity.
  - intros w Hw HA.
    rewrite (sum_ext I _ (fun u => if (u =? w)%nat then
      (if minus (cached s) (path I v) w then (after - level s) * size I w else 0) else 0)).
    { rewrite sum_single by auto. unfold minus, is_true in *. rewrite HA.
      destruct (path I v w); simpl; [lra|]. unfold credit_of. simpl. ring. }
    intros u Hu. rewrite Nat.eqb_sym. destruct (Nat.eqb_spec u w) as [->|]; reflexivity.
  - intros w Hw HA. destruct (path I v w) eqn:EP; [apply (cost_nonnegative I V); auto|].
    unfold credit_of. simpl. pose proof (sizeQ I V w Hw).
    apply Qmult_le_0_compat; [lra|]. pose proof (Hrich w Hw HA EP). lra.
Qed.

Lemma drop_is_evict : forall v s s' x after, evictable I v s x ->
  same I (cached s') (minus (cached s) (only x)) ->
  (forall u, (u < count I)%nat -> key s' u == key s u) -> level s' == after ->
  key s x == after -> closed I (cached s') ->
  evict I v (pinned v (Keyed (cached s) (key s) after)) (pinned v s') (only x).
Proof.
  intros v s s' x after [Hx [[HAx Hleaf] HxP]] Hsame Hkeys Hlev Ex C.
  assert (Honly : forall u, only x u -> u = x).
  { intros u H. apply Nat.eqb_eq. exact H. }
  split; simpl.
  - intros u Hu H. apply Honly in H. subst. unfold unpinned, minus, is_true in *. simpl.
    rewrite HAx, HxP. reflexivity.
  - intros u Hu H. apply Honly in H. subst. rewrite HxP. unfold credit_of. simpl. rewrite Ex. ring.
  - intros w u Hw Hu. rewrite <- !Hsame by auto. apply C; auto.
  - exact Hsame.
  - intros u Hu HA. destruct (path I v u); [reflexivity|]. unfold credit_of. simpl.
    rewrite Hlev, (Hkeys u Hu). reflexivity.
Qed.

Lemma rent_of_zero : forall v s after, ordered s -> level s == after ->
  forall u, (u < count I)%nat -> credit (pinned v (Keyed (cached s) (key s) after)) u ==
    credit (pinned v s) u.
Proof.
  intros v s after O E u Hu. simpl. destruct (path I v u); [reflexivity|]. unfold credit_of. simpl.
  rewrite E. reflexivity.
Qed.

Lemma clear_simulates : forall v s s1, (v < count I)%nat -> clear I k v s s1 ->
  ordered s -> solvent v s ->
  make_room I k v (pinned v s) (pinned v s1) /\ ordered s1 /\ solvent v s1 /\
  level s <= level s1 /\ ~ lacking I k v s1 /\
  (forall u, (u < count I)%nat -> key s1 u == key s u) /\ subset I (cached s1) (cached s) /\
  (forall u, (u < count I)%nat -> path I v u -> cached s1 u = cached s u).
Proof.
  intros v s s1 Hv C. induction C as [s Hs | s s1 s2 x D C IH | s s1 s2 x D C IH]; intros O S.
  - split; [apply room_made; exact Hs|]. repeat split; auto; try apply O; try lra.
    intros u _ HA. exact HA.
  - pose proof (least_evictable I k v s s1 x D) as Hev.
    destruct Hev as [Hx [[HAx Hleaf] HxP]].
    assert (Hxlev : level s <= key s x) by (apply S; auto).
    assert (Elev : level s1 == key s x).
    { rewrite (least_level I k v s s1 x D). rewrite Q.max_r; [reflexivity | exact Hxlev]. }
    assert (Hall : forall u, (u < count I)%nat -> cached s u -> path I v u = false ->
      key s x <= key s u) by (apply least_of_all; auto; apply (least_key I k v s s1 x D)).
    pose proof (least_keys I k v s s1 x D) as Hkeys.
    pose proof (least_cached I k v s s1 x D) as Hsame.
    assert (Hin : forall u, (u < count I)%nat -> cached s1 u -> cached s u).
    { intros u Hu HA. rewrite (Hsame u Hu) in HA. apply andb_prop in HA. apply HA. }
    assert (O1 : ordered s1).
    { eapply ordered_drop; eauto. split; [|split]; eauto. split; eauto. lra. }
    assert (S1 : solvent v s1).
    { intros u Hu HA HP. rewrite (Hkeys u Hu), Elev. auto. }
    destruct (IH O1 S1) as [HM [O2 [S2 [L2 [N2 [K2 [B2 P2]]]]]]].
    split.
    + destruct (level_is_rent v s (key s x) Hv O (least_lacking I k v s s1 x D) Hxlev Hall)
        as [d [pay HR]].
      eapply room_rent; [exact HR|]. eapply room_evict; [|exact HM].
      apply drop_is_evict with (x := x); auto; [|reflexivity|apply O1].
      split; auto. split; auto. split; auto.
    + repeat split; auto; try apply O2; try lra.
      * intros u Hu. rewrite (K2 u Hu). auto.
      * intros u Hu HA. auto.
      * intros u Hu HP. rewrite (P2 u Hu HP), (Hsame u Hu). unfold minus, only.
        destruct (Nat.eqb_spec u x) as [->|]; [|apply andb_true_r]. unfold is_true in HP. congruence.
  - pose proof (spent_evictable I v s s1 x D) as Hev.
    destruct Hev as [Hx [[HAx Hleaf] HxP]].
    assert (Hxlev : level s <= key s x) by (apply S; auto).
    pose proof (spent_key I v s s1 x D) as Hspent.
    pose proof (spent_level I v s s1 x D) as Elev.
    pose proof (spent_keys I v s s1 x D) as Hkeys.
    pose proof (spent_cached I v s s1 x D) as Hsame.
    assert (Hin : forall u, (u < count I)%nat -> cached s1 u -> cached s u).
    { intros u Hu HA. rewrite (Hsame u Hu) in HA. apply andb_prop in HA. apply HA. }
    assert (O1 : ordered s1).
    { eapply ordered_drop; eauto. split; [|split]; eauto. split; eauto. lra. }
    assert (S1 : solvent v s1).
    { intros u Hu HA HP. rewrite (Hkeys u Hu), Elev. apply S; auto. }
    destruct (IH O1 S1) as [HM [O2 [S2 [L2 [N2 [K2 [B2 P2]]]]]]].
    split.
    + eapply room_evict; [|exact HM].
      assert (Hev : evict I v (pinned v (Keyed (cached s) (key s) (level s))) (pinned v s1) (only x)).
      { apply drop_is_evict; auto; [|lra|apply O1]. split; auto. split; auto. split; auto. }
      exact Hev.
    + repeat split; auto; try apply O2; try lra.
      * intros u Hu. rewrite (K2 u Hu). auto.
      * intros u Hu HA. auto.
      * intros u Hu HP. rewrite (P2 u Hu HP), (Hsame u Hu). unfold minus, only.
        destruct (Nat.eqb_spec u x) as [->|]; [|apply andb_true_r]. unfold is_true in HP. congruence.
Qed.

Definition solvent_all (s : keyed) : Prop :=
  forall u, (u < count I)%nat -> cached s u -> level s <= key s u.

Lemma densityQ : forall u, (u < count I)%nat -> 0 <= density I u.
Proof.
  intros u Hu. pose proof (sizeQ I V u Hu). pose proof (cost_nonnegative I V u Hu).
  unfold density. apply Qle_shift_div_l; lra.
Qed.

Lemma serve_simulates : forall v s s', (v < count I)%nat -> landlord_serve I k After v s s' ->
  ordered s -> solvent_all s ->
  serve I k v (plain s) (plain s') /\ ordered s' /\ solvent_all s'.
Proof.
  intros v s s' Hv [s1 [C F]] O S.
  destruct (clear_simulates v s s1 Hv C O (fun u Hu HA _ => S u Hu HA))
    as [HM [O1 [S1 [L1 [N1 [K1 [B1 P1]]]]]]].
  pose proof (fetch_level I After v s s1 s' F) as Elev.
  assert (Hpath : forall u, (u < count I)%nat -> path I v u -> key s' u == level s1 + density I u).
  { intros u Hu HP. destruct (cached s u) eqn:EA.
    - apply (fetch_hit I After v s s1 s' F u Hu HP EA).
    - apply (fetch_load I After v s s1 s' F u Hu HP EA). }
  assert (Hkept : forall u, (u < count I)%nat -> cached s' u -> path I v u = false -> cached s1 u).
  { intros u Hu HA HP. rewrite (fetch_cached I After v s s1 s' F u Hu) in HA.
    unfold union, is_true in *. rewrite HP, orb_false_r in HA. exact HA. }
  split; [|split].
  - exists (pinned v s), (pinned v s1). split; [|split]; auto.
    + split; simpl.
      * intros u Hu. reflexivity.
      * intros u Hu HA HP. unfold is_true in HP. rewrite HP. split; [|lra].
        unfold credit_of. rewrite <- (density_size I V u Hu).
        rewrite !(Qmult_comm (size I u)). pose proof (sizeQ I V u Hu).
        apply Qmult_le_compat_r; [|lra]. pose proof (ordered_high s O u Hu HA). lra.
      * intros u Hu HA HP. rewrite HP. reflexivity.
    + split; simpl.
      * apply (fetch_cached I After v s s1 s' F).
      * intros u Hu Hm. apply andb_prop in Hm. destruct Hm as [HP _].
        unfold credit_of. rewrite (Hpath u Hu HP), Elev, <- (density_size I V u Hu). ring.
      * intros u Hu HA. unfold credit_of. destruct (path I v u) eqn:EP.
        -- rewrite (Hpath u Hu EP), Elev, <- (density_size I V u Hu). ring.
        -- rewrite (fetch_other I After v s s1 s' F u Hu EP), Elev. reflexivity.
  - split.
    + intros w u Hw Hu HA Hn. rewrite (fetch_cached I After v s s1 s' F) in * by auto.
      unfold union, is_true in *. apply orb_prop in HA. apply orb_true_iff. destruct HA as [HA|HP].
      * left. apply (ordered_closed s1 O1 w u); auto.
      * right. apply (needs_trans I V v w u); auto.
    + intros w u Hw Hu HAw HAu Hn. pose proof (density_falls w u Hw Hu Hn).
      destruct (path I v u) eqn:EPu.
      * rewrite (Hpath u Hu EPu). destruct (path I v w) eqn:EPw.
        -- rewrite (Hpath w Hw EPw). lra.
        -- rewrite (fetch_other I After v s s1 s' F w Hw EPw).
           pose proof (ordered_high s1 O1 w Hw (Hkept w Hw HAw EPw)). lra.
      * assert (EPw : path I v w = false).
        { destruct (path I v w) eqn:E; auto. rewrite <- EPu. symmetry.
          apply (needs_trans I V v w u); auto. }
        rewrite (fetch_other I After v s s1 s' F w Hw EPw),
          (fetch_other I After v s s1 s' F u Hu EPu).
        apply (ordered_key s1 O1 w u); auto.
    + intros u Hu HA. rewrite Elev. destruct (path I v u) eqn:EP.
      * rewrite (Hpath u Hu EP). lra.
      * rewrite (fetch_other I After v s s1 s' F u Hu EP).
        apply (ordered_high s1 O1 u Hu (Hkept u Hu HA EP)).
  - intros u Hu HA. rewrite Elev. destruct (path I v u) eqn:EP.
    + rewrite (Hpath u Hu EP). pose proof (densityQ u Hu). lra.
    + rewrite (fetch_other I After v s s1 s' F u Hu EP). apply S1; auto.
Qed.

(** Landlord's run is a run of the cosigned relation. *)
Theorem landlord_is_cosigned : forall s requests s' paid,
  landlord_run I k After s requests s' paid -> ordered s -> solvent_all s ->
  run I k (plain s) requests (plain s') paid.
Proof.
  intros s requests s' paid R.
  induction R as [s paid E | s v s1 requests s2 paid rest Hv Hs R IH E]; intros O S.
  - apply run_end. auto.
  - destruct (serve_simulates v s s1 Hv Hs O S) as [H1 [O1 S1]].
    eapply run_request; eauto.
Qed.

Lemma blank_ordered : ordered blank /\ solvent_all blank.
Proof.
  split; [split|]; simpl.
  - intros v u _ _ A. discriminate A.
  - intros w u _ _ A. discriminate A.
  - intros u _ A. discriminate A.
  - intros u _ A. discriminate A.
Qed.

End Safe.

(** Theorem 2: Young's bound for Landlord where cost per size never rises downwards. *)
Theorem landlord_safe : forall I k h requests schedule last paid,
  valid I -> acyclic I -> (1 <= h <= k)%Z ->
  (forall w u, (w < count I)%nat -> (u < count I)%nat -> needs I w u ->
     density I w <= density I u) ->
  feasible I h requests schedule ->
  landlord_run I k After blank requests last paid ->
  (k - h + 1)%Z * paid <= k * offline_cost I schedule.
Proof.
  intros I k h requests schedule last paid V Acy Hh Hd Fe R.
  destruct (blank_ordered I) as [O S].
  pose proof (landlord_is_cosigned I k V Acy Hd blank requests last paid R O S) as R'.
  pose proof (run_potential I k h V Hh _ requests _ paid R' empty schedule) as Hb.
  assert (E : potential I k h (plain I blank) empty == 0).
  { rewrite potential_terms, <- (sum_zero I). apply sum_ext. intros. unfold held. simpl. lra. }
  rewrite E in Hb. unfold offline_cost.
  assert (Hb' : (k - h + 1)%Z * paid <= 0 + k * schedule_cost I empty schedule); [|lra].
  apply Hb; auto. split; simpl.
  - intros v u _ _ A. discriminate A.
  - intros u _ A. discriminate A.
Qed.

(** Young's theorem itself: independent files. *)
Corollary landlord_flat : forall n s c k h requests schedule last paid,
  (forall v, (v < n)%nat -> (0 < s v)%Z) -> (forall v, (v < n)%nat -> 0 <= c v) ->
  (1 <= h <= k)%Z ->
  feasible (flat n s c) h requests schedule ->
  landlord_run (flat n s c) k After blank requests last paid ->
  (k - h + 1)%Z * paid <= k * offline_cost (flat n s c) schedule.
Proof.
  intros n s c k h requests schedule last paid Hs Hc Hh. apply landlord_safe; auto.
  - apply flat_valid; auto.
  - apply flat_acyclic.
  - intros w u _ _ Hn. apply Nat.eqb_eq in Hn. subst. lra.
Qed.
