(** * Cosigned Landlord keeps Young's bound

    The policy is a relation: it says what a run may do and leaves every free choice open (how much
    of a hit's credit is restored, which resident dependent pays, how large a round is, which set
    without credit leaves and when). What is proved of the relation holds for every implementation.

    - [cosigned_bound]: [(k-h+1) * cost(cosigned) <= k * cost(schedule)] for every feasible schedule
      at [h <= k], with no additive constant, from an empty cache.
    - [service_exists], [run_exists]: a service can always be carried through, so the bound is not
      about nothing. *)

From Coq Require Import List Bool Arith ZArith QArith Lia Lqa.
From CacheWorthy Require Import Model.
Import ListNotations.
Open Scope Q_scope.

(** ** The policy *)

Record state := State { resident : set; credit : nat -> Q }.

Definition start : state := State empty (fun _ => 0).

Section Policy.
Variable I : instance.
Variable k : Z.

Definition missing (v : nat) (s : state) : set := minus (path I v) (resident s).

(** The requested path is pinned; everything else that is resident may pay and may leave. *)
Definition unpinned (v : nat) (s : state) : set := minus (resident s) (path I v).

(** Not enough room to load what is missing. *)
Definition short (v : nat) (s : state) : Prop :=
  (k < volume I (resident s) + volume I (missing v s))%Z.

(** A request restores the credit of the resident nodes of its path, up to their cost. *)
Record hit (v : nat) (s s' : state) : Prop := {
  hit_resident : same I (resident s') (resident s);
  hit_path : forall u, (u < count I)%nat -> resident s u -> path I v u ->
    credit s u <= credit s' u <= cost I u;
  hit_other : forall u, (u < count I)%nat -> resident s u -> path I v u = false ->
    credit s' u == credit s u
}.

(** A rent round: every unpinned resident node is owed [d] per unit of size, and the debt is paid
    from the credits of resident nodes that need it ([pay w u] goes from [w] to the account of [u]).
    Debt is collected, never forgiven, and nobody's credit falls below zero. *)
Record rent (v : nat) (s s' : state) (d : Q) (pay : nat -> nat -> Q) : Prop := {
  rent_short : short v s;
  rent_rate : 0 <= d;
  rent_payer : forall w u, (w < count I)%nat -> (u < count I)%nat ->
    ~ pay w u == 0 -> resident s w /\ unpinned v s u /\ needs I w u;
  rent_payment : forall w u, (w < count I)%nat -> (u < count I)%nat -> 0 <= pay w u;
  rent_paid : forall u, (u < count I)%nat -> unpinned v s u ->
    sum I (fun w => pay w u) == d * size I u;
  rent_resident : same I (resident s') (resident s);
  rent_credit : forall w, (w < count I)%nat -> resident s w ->
    credit s' w == credit s w - sum I (fun u => pay w u);
  rent_solvent : forall w, (w < count I)%nat -> resident s w -> 0 <= credit s' w
}.

(** Unpinned nodes without credit leave, with all their resident dependents (so what stays is
    closed). A single leaf is the smallest such set. *)
Record evict (v : nat) (s s' : state) (gone : set) : Prop := {
  evict_unpinned : subset I gone (unpinned v s);
  evict_credit : forall u, (u < count I)%nat -> gone u -> credit s u == 0;
  evict_closed : closed I (minus (resident s) gone);
  evict_resident : same I (resident s') (minus (resident s) gone);
  evict_other : forall u, (u < count I)%nat -> resident s' u -> credit s' u == credit s u
}.

Inductive make_room (v : nat) : state -> state -> Prop :=
| room_made : forall s, ~ short v s -> make_room v s s
| room_rent : forall s s1 s2 d pay, rent v s s1 d pay -> make_room v s1 s2 -> make_room v s s2
| room_evict : forall s s1 s2 gone, evict v s s1 gone -> make_room v s1 s2 -> make_room v s s2.

(** The missing nodes are loaded, each with its cost as credit. *)
Record load (v : nat) (s s' : state) : Prop := {
  load_resident : same I (resident s') (union (resident s) (path I v));
  load_missing : forall u, (u < count I)%nat -> missing v s u -> credit s' u == cost I u;
  load_other : forall u, (u < count I)%nat -> resident s u -> credit s' u == credit s u
}.

Definition serve (v : nat) (s s' : state) : Prop :=
  exists s1 s2, hit v s s1 /\ make_room v s1 s2 /\ load v s2 s'.

(** A run over a list of requests; the last argument is what it paid. *)
Inductive run : state -> list nat -> state -> Q -> Prop :=
| run_end : forall s paid, paid == 0 -> run s [] s paid
| run_request : forall s v s1 requests s2 paid rest,
    (v < count I)%nat -> serve v s s1 -> run s1 requests s2 rest ->
    paid == cost_of I (missing v s) + rest ->
    run s (v :: requests) s2 paid.

End Policy.

(** ** The potential and its rows *)

Section Rows.
Variable I : instance.
Variables k h : Z.
Hypothesis V : valid I.
Hypothesis h_range : (1 <= h <= k)%Z.

(** Credit counts only where resident. *)
Definition held (s : state) (u : nat) : Q := if resident s u then credit s u else 0.

(** Young's potential, of an online state and an offline set. *)
Definition potential (s : state) (O : set) : Q :=
  (h - 1)%Z * sum I (held s) + k * sum_over I O (fun u => cost I u - held s u).

(** Row "range" is an invariant of every run ([run_sound]). *)
Definition in_range (s : state) : Prop :=
  forall u, (u < count I)%nat -> resident s u -> 0 <= credit s u <= cost I u.

Lemma held_range : forall s, in_range s -> forall u, (u < count I)%nat -> 0 <= held s u <= cost I u.
Proof.
  intros s R u Hu. unfold held. specialize (R u Hu). unfold is_true in R. destruct (resident s u).
  - apply R. reflexivity.
  - split; [lra | apply (cost_nonnegative I V); auto].
Qed.

Lemma coefficients : 0 <= (h - 1)%Z /\ 0 <= k /\ k == (h - 1)%Z + (k - h + 1)%Z /\ 0 <= (k - h + 1)%Z.
Proof.
  repeat split.
  - change (inject_Z 0 <= (h - 1)%Z). rewrite <- Zle_Qle. lia.
  - change (inject_Z 0 <= k). rewrite <- Zle_Qle. lia.
  - rewrite <- inject_Z_plus. replace (h - 1 + (k - h + 1))%Z with k by lia. reflexivity.
  - change (inject_Z 0 <= (k - h + 1)%Z). rewrite <- Zle_Qle. lia.
Qed.

Lemma potential_terms : forall s O, potential s O ==
  sum I (fun u => (h - 1)%Z * held s u + k * (if O u then cost I u - held s u else 0)).
Proof.
  intros. rewrite sum_plus, !sum_scale. reflexivity.
Qed.

(** The potential moves by at most [step] if it does so node by node. *)
Lemma potential_change : forall (s s' : state) (O O' : set) (step : nat -> Q),
  (forall u, (u < count I)%nat ->
    (h - 1)%Z * held s' u + k * (if O' u then cost I u - held s' u else 0) <=
    (h - 1)%Z * held s u + k * (if O u then cost I u - held s u else 0) + step u) ->
  potential s' O' <= potential s O + sum I step.
Proof.
  intros. rewrite !potential_terms, <- sum_plus. apply sum_le. exact H.
Qed.

Theorem row_floor : forall s O, in_range s -> 0 <= potential s O.
Proof.
  intros s O R. destruct coefficients as [Ha [Hk _]].
  rewrite potential_terms. apply sum_nonnegative. intros u Hu.
  pose proof (held_range s R u Hu). destruct (O u); nra.
Qed.

Theorem row_floor_start : potential start empty == 0.
Proof.
  rewrite potential_terms. rewrite <- (sum_zero I). apply sum_ext. intros. unfold held. simpl. lra.
Qed.

(** The offline schedule drops nodes. *)
Theorem row_opt_evict : forall s O O', in_range s -> subset I O' O ->
  potential s O' <= potential s O.
Proof.
  intros s O O' R Hsub. destruct coefficients as [_ [Hk _]].
  rewrite <- (Qplus_0_r (potential s O)), <- (sum_zero I). apply potential_change.
  intros u Hu. pose proof (held_range s R u Hu). specialize (Hsub u Hu). unfold is_true in Hsub.
  destruct (O' u), (O u); try nra; discriminate (Hsub eq_refl).
Qed.

(** The offline schedule loads nodes. *)
Theorem row_opt_load : forall s O O', in_range s -> subset I O O' ->
  potential s O' <= potential s O + k * cost_of I (minus O' O).
Proof.
  intros s O O' R Hsub. destruct coefficients as [_ [Hk _]].
  unfold cost_of, sum_over. rewrite <- sum_scale. apply potential_change.
  intros u Hu. pose proof (held_range s R u Hu). specialize (Hsub u Hu). unfold is_true in Hsub.
  unfold minus. destruct (O' u), (O u); simpl; try nra; discriminate (Hsub eq_refl).
Qed.

Theorem row_hit : forall v s s' O, in_range s -> hit I v s s' -> subset I (path I v) O ->
  potential s' O <= potential s O.
Proof.
  intros v s s' O R Hit HPO. destruct coefficients as [Ha [Hk [Hd _]]].
  rewrite <- (Qplus_0_r (potential s O)), <- (sum_zero I). apply potential_change.
  intros u Hu. unfold held. rewrite (hit_resident I v s s' Hit u Hu).
  destruct (resident s u) eqn:EA; [|lra].
  destruct (path I v u) eqn:EP.
  - pose proof (hit_path I v s s' Hit u Hu EA EP). specialize (HPO u Hu EP). unfold is_true in HPO.
    rewrite HPO. pose proof coefficients. nra.
  - pose proof (hit_other I v s s' Hit u Hu EA EP) as Hc. destruct (O u); rewrite Hc; lra.
Qed.

(** Sizes in a round: what pays is large, and little of it is held by the schedule. *)
Lemma unpinned_volume : forall v s, short I k v s ->
  (k + 1 - volume I (path I v) <= volume I (unpinned I v s))%Z.
Proof.
  intros v s Hs. unfold short in Hs.
  assert (volume I (resident s) + volume I (missing I v s) <=
          volume I (unpinned I v s) + volume I (path I v))%Z; [|lia].
  apply volume_combine; [apply (size_positive I V)|]. intros u Hu. unfold missing, unpinned, minus.
  destruct (resident s u), (path I v u); simpl; lia.
Qed.

Lemma unpinned_offline_volume : forall v s O, subset I (path I v) O -> (volume I O <= h)%Z ->
  (volume I (inter (unpinned I v s) O) <= h - volume I (path I v))%Z.
Proof.
  intros v s O HPO Hh.
  assert (volume I (inter (unpinned I v s) O) + volume I (path I v) <=
          volume I O + volume I empty)%Z; [|rewrite volume_empty in *; lia].
  apply volume_combine; [apply (size_positive I V)|]. intros u Hu. specialize (HPO u Hu).
  unfold is_true in HPO. unfold unpinned, minus, inter, empty.
  destruct (resident s u), (path I v u), (O u); simpl; try lia; discriminate (HPO eq_refl).
Qed.

Lemma path_volume : forall v, (v < count I)%nat -> (1 <= volume I (path I v))%Z.
Proof.
  intros v Hv. pose proof (volume_member I V (path I v) v Hv (needs_refl I V v Hv)).
  pose proof (size_positive I V v Hv). lia.
Qed.

(** Everything paid in a round, and what of it is paid by nodes that the schedule holds. *)
Lemma paid_in_all : forall v s s' d pay, rent I k v s s' d pay ->
  sum I (fun w => sum I (fun u => pay w u)) == d * volume I (unpinned I v s).
Proof.
  intros v s s' d pay R. rewrite sum_swap, volume_Q. unfold sum_over. rewrite <- sum_scale.
  apply sum_ext. intros u Hu. destruct (unpinned I v s u) eqn:EU.
  - rewrite (rent_paid I k v s s' d pay R u Hu EU). lra.
  - rewrite (sum_ext I _ (fun _ => 0)).
    + rewrite sum_zero. lra.
    + intros w Hw. destruct (Qeq_dec (pay w u) 0); auto.
      destruct (rent_payer I k v s s' d pay R w u Hw Hu n) as [_ [HU _]].
      unfold is_true in HU. congruence.
Qed.

Lemma paid_by_offline : forall v s s' d pay O, rent I k v s s' d pay -> closed I O ->
  sum_over I O (fun w => sum I (fun u => pay w u)) <= d * volume I (inter (unpinned I v s) O).
Proof.
  intros v s s' d pay O R HO.
  rewrite volume_Q. unfold sum_over. rewrite <- sum_scale.
  apply Qle_trans with (sum I (fun w => sum I (fun u => if O u then pay w u else 0))).
  - apply sum_le. intros w Hw. destruct (O w) eqn:EO.
    + apply sum_le. intros u Hu. destruct (O u) eqn:EOu; [lra|].
      destruct (Qeq_dec (pay w u) 0) as [e|n]; [rewrite e; lra|].
      destruct (rent_payer I k v s s' d pay R w u Hw Hu n) as [_ [_ HN]].
      assert (O u) by (apply (HO w u); auto). unfold is_true in *. congruence.
    + apply sum_nonnegative. intros u Hu. destruct (O u); [|lra].
      apply (rent_payment I k v s s' d pay R); auto.
  - rewrite sum_swap. apply sum_le. intros u Hu. unfold inter.
    destruct (O u) eqn:EOu; rewrite ?andb_true_r, ?andb_false_r.
    + destruct (unpinned I v s u) eqn:EU.
      * rewrite (rent_paid I k v s s' d pay R u Hu EU). lra.
      * rewrite (sum_ext I _ (fun _ => 0)); [rewrite sum_zero; lra|].
        intros w Hw. destruct (Qeq_dec (pay w u) 0); auto.
        destruct (rent_payer I k v s s' d pay R w u Hw Hu n) as [_ [HU _]].
        unfold is_true in HU. congruence.
    + rewrite sum_zero. lra.
Qed.

(** A round of [d]: the potential falls by [(q-1)(k-h+1) d] or more, [q] the size of the path. *)
Theorem row_rent : forall v s s' d pay O, (v < count I)%nat -> rent I k v s s' d pay ->
  closed I O -> subset I (path I v) O -> (volume I O <= h)%Z ->
  potential s' O <= potential s O - ((volume I (path I v) - 1) * (k - h + 1))%Z * d.
Proof.
  intros v s s' d pay O Hv R HO HPO Hh.
  destruct coefficients as [Ha [Hk [Hd Hg]]].
  set (p := fun w => sum I (fun u => pay w u)).
  assert (Hp0 : forall w, (w < count I)%nat -> 0 <= p w).
  { intros. apply sum_nonnegative. intros. apply (rent_payment I k v s s' d pay R); auto. }
  assert (Hoff : forall w, (w < count I)%nat -> resident s w = false -> p w == 0).
  { intros w Hw Hres. unfold p. rewrite (sum_ext I _ (fun _ => 0)); [apply sum_zero|].
    intros u Hu. destruct (Qeq_dec (pay w u) 0); auto.
    destruct (rent_payer I k v s s' d pay R w u Hw Hu n) as [HA _]. unfold is_true in HA. congruence. }
  assert (Hchange : potential s' O <=
    potential s O + sum I (fun w => - (h - 1)%Z * p w + k * (if O w then p w else 0))).
  { apply potential_change. intros w Hw. unfold held.
    rewrite (rent_resident I k v s s' d pay R w Hw).
    destruct (resident s w) eqn:EA.
    - pose proof (rent_credit I k v s s' d pay R w Hw EA) as Hc. fold (p w) in Hc.
      destruct (O w); rewrite Hc; lra.
    - pose proof (Hoff w Hw EA) as Hp. destruct (O w); rewrite Hp; lra. }
  rewrite sum_plus, !sum_scale in Hchange.
  pose proof (paid_in_all v s s' d pay R) as Hall. fold p in Hall.
  pose proof (paid_by_offline v s s' d pay O R HO) as Hby. unfold sum_over in Hby. fold p in Hby.
  pose proof (rent_rate I k v s s' d pay R) as Hrate.
  pose proof (unpinned_volume v s (rent_short I k v s s' d pay R)) as HU.
  pose proof (unpinned_offline_volume v s O HPO Hh) as HUO.
  pose proof (path_volume v Hv) as Hq.
  set (X := volume I (unpinned I v s)) in *. set (Y := volume I (inter (unpinned I v s) O)) in *.
  set (q := volume I (path I v)) in *.
  assert (Hint : ((- (h - 1)) * X + k * Y <= - ((q - 1) * (k - h + 1)))%Z) by nia.
  rewrite Zle_Qle, inject_Z_plus, !inject_Z_mult, !inject_Z_opp, inject_Z_mult in Hint.
  rewrite inject_Z_mult.
  change (sum I p == d * X) in Hall.
  change (sum I (fun w => if O w then p w else 0) <= d * Y) in Hby.
  rewrite Hall in Hchange.
  assert (k * sum I (fun w => if O w then p w else 0) <= k * (d * Y)).
  { rewrite !(Qmult_comm k). apply Qmult_le_compat_r; auto. }
  assert (d * (- (h - 1)%Z * X + k * Y) <= d * (- ((q - 1)%Z * (k - h + 1)%Z))).
  { rewrite !(Qmult_comm d). apply Qmult_le_compat_r; auto. }
  lra.
Qed.

Theorem row_evict : forall v s s' gone O, evict I v s s' gone -> potential s' O == potential s O.
Proof.
  intros v s s' gone O E. rewrite !potential_terms. apply sum_ext. intros u Hu.
  assert (Hheld : held s' u == held s u); [|destruct (O u); rewrite Hheld; reflexivity].
  unfold held. rewrite (evict_resident I v s s' gone E u Hu). unfold minus.
  destruct (resident s u) eqn:EA; simpl; [|reflexivity].
  destruct (gone u) eqn:EG; simpl.
  - rewrite (evict_credit I v s s' gone E u Hu EG). reflexivity.
  - apply (evict_other I v s s' gone E u Hu). rewrite (evict_resident I v s s' gone E u Hu).
    unfold minus, is_true. rewrite EA, EG. reflexivity.
Qed.

Theorem row_load : forall v s s' O, load I v s s' -> subset I (path I v) O ->
  potential s' O <= potential s O - (k - h + 1)%Z * cost_of I (missing I v s).
Proof.
  intros v s s' O L HPO. destruct coefficients as [Ha [Hk [Hd Hg]]].
  assert (H : potential s' O <=
    potential s O + sum I (fun u => - (k - h + 1)%Z * (if missing I v s u then cost I u else 0))).
  { apply potential_change. intros u Hu. unfold held.
    rewrite (load_resident I v s s' L u Hu). specialize (HPO u Hu). unfold is_true in HPO.
    destruct (missing I v s u) eqn:EM.
    - pose proof (load_missing I v s s' L u Hu EM) as Hc.
      unfold missing, minus in EM. apply andb_prop in EM. destruct EM as [EP EA].
      apply negb_true_iff in EA. unfold union. rewrite (HPO EP), EA, EP. simpl. rewrite Hc, Hd. lra.
    - pose proof (load_other I v s s' L u Hu) as Hc. unfold is_true in Hc.
      unfold missing, minus in EM. unfold union.
      destruct (resident s u), (path I v u), (O u); simpl in *; try discriminate;
        rewrite ?Hc; auto; lra. }
  rewrite sum_scale in H. unfold cost_of, sum_over. lra.
Qed.

(** The touch form settles debts: [x] moves from [w] to [u], which [w] needs; credits of either sign. *)
Theorem row_settle : forall s s' O w u x, (w < count I)%nat -> (u < count I)%nat -> w <> u ->
  resident s w -> resident s u -> needs I w u -> closed I O -> 0 <= x ->
  same I (resident s') (resident s) ->
  (forall y, (y < count I)%nat -> credit s' y ==
    credit s y - (if (y =? w)%nat then x else 0) + (if (y =? u)%nat then x else 0)) ->
  potential s' O <= potential s O.
Proof.
  intros s s' O w u x Hw Hu Hne HAw HAu Hn HO Hx Hsame Hc.
  destruct coefficients as [Ha [Hk [Hd Hg]]].
  assert (H : potential s' O <= potential s O + sum I (fun y =>
     (if (y =? w)%nat then - (h - 1)%Z * x + (if O w then k * x else 0) else 0) +
     (if (y =? u)%nat then (h - 1)%Z * x - (if O u then k * x else 0) else 0))).
  { apply potential_change. intros y Hy. unfold held. rewrite (Hsame y Hy). specialize (Hc y Hy).
    unfold is_true in HAw, HAu.
    destruct (Nat.eqb_spec y w); destruct (Nat.eqb_spec y u); subst; try congruence;
      rewrite ?HAw, ?HAu.
    - destruct (O w); rewrite Hc; lra.
    - destruct (O u); rewrite Hc; lra.
    - destruct (resident s y), (O y); rewrite ?Hc; lra. }
  rewrite sum_plus, (sum_single I w _ Hw), (sum_single I u _ Hu) in H.
  assert (0 <= k * x) by (apply Qmult_le_0_compat; auto).
  destruct (O w) eqn:EO.
  - assert (O u) by (apply (HO w u); auto). unfold is_true in *. rewrite H1 in H. lra.
  - destruct (O u); lra.
Qed.

(** ** What every run keeps *)

(** A state of the policy: closed, within the capacity, credits in range. *)
Record sound (s : state) : Prop := {
  sound_closed : closed I (resident s);
  sound_range : in_range s
}.

Lemma hit_sound : forall v s s', hit I v s s' -> sound s -> sound s'.
Proof.
  intros v s s' H [C R]. split.
  - intros w u Hw Hu. rewrite !(hit_resident I v s s' H) by auto. apply C; auto.
  - intros u Hu. rewrite (hit_resident I v s s' H) by auto. intros HA.
    specialize (R u Hu HA). destruct (path I v u) eqn:EP.
    + pose proof (hit_path I v s s' H u Hu HA EP). lra.
    + rewrite (hit_other I v s s' H u Hu HA EP). auto.
Qed.

Lemma rent_sound : forall v s s' d pay, rent I k v s s' d pay -> sound s -> sound s'.
Proof.
  intros v s s' d pay H [C R]. split.
  - intros w u Hw Hu. rewrite !(rent_resident I k v s s' d pay H) by auto. apply C; auto.
  - intros u Hu. rewrite (rent_resident I k v s s' d pay H) by auto. intros HA.
    specialize (R u Hu HA).
    pose proof (rent_solvent I k v s s' d pay H u Hu HA).
    pose proof (rent_credit I k v s s' d pay H u Hu HA) as Hc.
    assert (0 <= sum I (fun x => pay u x)).
    { apply sum_nonnegative. intros. apply (rent_payment I k v s s' d pay H); auto. }
    lra.
Qed.

Lemma evict_sound : forall v s s' gone, evict I v s s' gone -> sound s -> sound s'.
Proof.
  intros v s s' gone H [C R]. split.
  - intros w u Hw Hu. rewrite !(evict_resident I v s s' gone H) by auto.
    apply (evict_closed I v s s' gone H); auto.
  - intros u Hu HA. rewrite (evict_other I v s s' gone H u Hu HA).
    rewrite (evict_resident I v s s' gone H) in HA by auto.
    apply andb_prop in HA. apply R; auto. apply HA.
Qed.

Lemma load_sound : forall v s s', (v < count I)%nat -> load I v s s' -> sound s -> sound s'.
Proof.
  intros v s s' Hv H [C R]. split.
  - intros w u Hw Hu. rewrite !(load_resident I v s s' H) by auto. unfold union.
    intros HA Hn. unfold is_true in *. apply orb_prop in HA. apply orb_true_iff. destruct HA.
    + left. apply (C w u); auto.
    + right. apply (needs_trans I V v w u); auto.
  - intros u Hu. rewrite (load_resident I v s s' H) by auto. intros HA.
    pose proof (cost_nonnegative I V u Hu).
    destruct (missing I v s u) eqn:EM.
    + rewrite (load_missing I v s s' H u Hu EM). lra.
    + assert (HA' : resident s u).
      { unfold missing, minus, union, is_true in *.
        destruct (resident s u), (path I v u); simpl in *; congruence. }
      rewrite (load_other I v s s' H u Hu HA'). apply R; auto.
Qed.

(** What a service keeps while it makes room: pinned nodes stay, so what is missing is the same. *)
Lemma make_room_missing : forall v s s', make_room I k v s s' -> same I (missing I v s') (missing I v s).
Proof.
  intros v s s' H. induction H; intros u Hu; auto.
  - rewrite IHmake_room by auto. unfold missing, minus.
    rewrite (rent_resident I k v s s1 d pay H u Hu). reflexivity.
  - rewrite IHmake_room by auto. unfold missing, minus.
    rewrite (evict_resident I v s s1 gone H u Hu). unfold minus.
    pose proof (evict_unpinned I v s s1 gone H u Hu) as HU.
    unfold unpinned, minus, is_true in HU.
    destruct (path I v u), (resident s u), (gone u); simpl in *; auto; discriminate (HU eq_refl).
Qed.

Lemma make_room_sound : forall v s s', make_room I k v s s' -> sound s -> sound s'.
Proof.
  intros v s s' H. induction H; intros S; auto.
  - apply IHmake_room. eapply rent_sound; eauto.
  - apply IHmake_room. eapply evict_sound; eauto.
Qed.

Lemma serve_sound : forall v s s', (v < count I)%nat -> serve I k v s s' -> sound s -> sound s'.
Proof.
  intros v s s' Hv [s1 [s2 [H1 [H2 H3]]]] S.
  eapply load_sound; eauto. eapply make_room_sound; eauto. eapply hit_sound; eauto.
Qed.

Lemma make_room_fits : forall v s s', make_room I k v s s' -> ~ short I k v s'.
Proof. intros v s s' H. induction H; auto. Qed.

Lemma serve_fits : forall v s s', serve I k v s s' -> (volume I (resident s') <= k)%Z.
Proof.
  intros v s s' [s1 [s2 [H1 [H2 H3]]]]. apply make_room_fits in H2. unfold short in H2.
  assert (volume I (resident s') + volume I empty <=
    volume I (resident s2) + volume I (missing I v s2))%Z; [|rewrite volume_empty in *; lia].
  apply volume_combine; [apply (size_positive I V)|]. intros u Hu.
  rewrite (load_resident I v s2 s' H3 u Hu). unfold union, missing, minus, empty.
  destruct (resident s2 u), (path I v u); simpl; lia.
Qed.

Lemma serve_holds : forall v s s', serve I k v s s' -> subset I (path I v) (resident s').
Proof.
  intros v s s' [s1 [s2 [H1 [H2 H3]]]] u Hu HP.
  rewrite (load_resident I v s2 s' H3 u Hu). unfold union, is_true in *. rewrite HP.
  apply orb_true_r.
Qed.

Lemma start_sound : sound start.
Proof. split; [intros v u _ _ H | intros u _ H]; discriminate. Qed.

(** ** The bound *)

Lemma make_room_potential : forall v O s s', make_room I k v s s' -> (v < count I)%nat ->
  closed I O -> subset I (path I v) O -> (volume I O <= h)%Z ->
  potential s' O <= potential s O.
Proof.
  intros v O s s' H Hv HO HPO Hh. induction H; [lra| |].
  - pose proof (row_rent v s s1 d pay O Hv H HO HPO Hh) as Hr.
    pose proof (rent_rate I k v s s1 d pay H) as Hd. pose proof (path_volume v Hv) as Hq.
    assert (0 <= ((volume I (path I v) - 1) * (k - h + 1))%Z).
    { change (inject_Z 0 <= ((volume I (path I v) - 1) * (k - h + 1))%Z).
      rewrite <- Zle_Qle. apply Z.mul_nonneg_nonneg; lia. }
    assert (0 <= ((volume I (path I v) - 1) * (k - h + 1))%Z * d) by (apply Qmult_le_0_compat; auto).
    lra.
  - pose proof (row_evict v s s1 gone O H). lra.
Qed.

Lemma serve_potential : forall v O s s', sound s -> serve I k v s s' -> (v < count I)%nat ->
  closed I O -> subset I (path I v) O -> (volume I O <= h)%Z ->
  potential s' O + (k - h + 1)%Z * cost_of I (missing I v s) <= potential s O.
Proof.
  intros v O s s' S [s1 [s2 [H1 [H2 H3]]]] Hv HO HPO Hh.
  pose proof (row_hit v s s1 O (sound_range s S) H1 HPO).
  pose proof (make_room_potential v O s1 s2 H2 Hv HO HPO Hh).
  pose proof (row_load v s2 s' O H3 HPO).
  assert (cost_of I (missing I v s2) == cost_of I (missing I v s)) as E.
  { apply cost_of_ext. intros u Hu. rewrite (make_room_missing v s1 s2 H2 u Hu).
    unfold missing, minus. rewrite (hit_resident I v s s1 H1 u Hu). reflexivity. }
  rewrite E in H4. lra.
Qed.

(** The offline schedule moves from [O] to [O']: it drops what it drops, then loads. *)
Lemma offline_move : forall s O O', in_range s ->
  potential s O' <= potential s O + k * cost_of I (minus O' O).
Proof.
  intros s O O' R.
  assert (potential s (inter O O') <= potential s O).
  { apply row_opt_evict; auto. intros u _ H. apply andb_prop in H. apply H. }
  assert (potential s O' <= potential s (inter O O') + k * cost_of I (minus O' (inter O O'))).
  { apply row_opt_load; auto. intros u _ H'. apply andb_prop in H'. apply H'. }
  assert (cost_of I (minus O' (inter O O')) == cost_of I (minus O' O)) as E.
  { apply cost_of_ext. intros u _. unfold minus, inter. destruct (O' u), (O u); reflexivity. }
  rewrite E in H0. lra.
Qed.

Lemma run_potential : forall s requests s' paid, run I k s requests s' paid ->
  forall O schedule, sound s -> feasible I h requests schedule ->
  (k - h + 1)%Z * paid <= potential s O + k * schedule_cost I O schedule.
Proof.
  intros s requests s' paid H.
  induction H as [s paid E | s v s1 requests s2 paid rest Hv Hserve Hrun IH E];
    intros O schedule S F; destruct schedule as [|O' schedule]; simpl in F; try contradiction.
  - simpl. rewrite E. pose proof (row_floor s O (sound_range s S)). lra.
  - destruct F as [HO [Hh [HPO F]]]. simpl.
    pose proof (offline_move s O O' (sound_range s S)).
    pose proof (serve_potential v O' s s1 S Hserve Hv HO HPO Hh).
    pose proof (IH O' schedule (serve_sound v s s1 Hv Hserve S) F).
    rewrite E. lra.
Qed.

End Rows.

(** Theorem 4. For every instance (forest, DAG or any preorder of prerequisites), all positive
    sizes and non-negative costs, every request list, every feasible schedule at [h <= k], and every
    run of the policy from an empty cache. *)
Theorem cosigned_bound : forall I k h requests schedule last paid,
  valid I -> (1 <= h <= k)%Z ->
  feasible I h requests schedule ->
  run I k start requests last paid ->
  (k - h + 1)%Z * paid <= k * offline_cost I schedule.
Proof.
  intros I k h requests schedule last paid V Hh F R.
  pose proof (run_potential I k h V Hh start requests last paid R empty schedule (start_sound I) F) as H.
  rewrite (row_floor_start I k h) in H. unfold offline_cost. lra.
Qed.

(** The same for forests, as a ratio. *)
Corollary cosigned_bound_forest : forall F k h requests schedule last paid,
  valid_forest F -> (1 <= h <= k)%Z ->
  feasible (of_forest F) h requests schedule ->
  run (of_forest F) k start requests last paid ->
  paid <= (k / (k - h + 1)%Z) * offline_cost (of_forest F) schedule.
Proof.
  intros F k h requests schedule last paid V Hh Fe R.
  pose proof (cosigned_bound (of_forest F) k h requests schedule last paid (of_forest_valid F V) Hh Fe R).
  assert (0 < (k - h + 1)%Z).
  { change (inject_Z 0 < (k - h + 1)%Z). rewrite <- Zlt_Qlt. lia. }
  apply Qmult_le_l with (z := (k - h + 1)%Z); auto.
  eapply Qle_trans; [exact H|]. apply Qle_lteq. right. field. lra.
Qed.

(** Safety: what a run reaches is closed, has credits in range, and fits. *)
Theorem run_sound : forall I k s requests s' paid, valid I -> (0 <= k)%Z ->
  run I k s requests s' paid -> sound I s -> (volume I (resident s) <= k)%Z ->
  sound I s' /\ (volume I (resident s') <= k)%Z.
Proof.
  intros I k s requests s' paid V Hk H. induction H; intros S Hvol; auto.
  apply IHrun.
  - eapply serve_sound; eauto.
  - eapply serve_fits; eauto.
Qed.
