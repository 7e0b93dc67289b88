(** * The touch form: signed credits, debts collected when they matter

    Everyone is charged its own rent, so credits may fall below zero; the debts on a path are
    collected from resident dependents before the path is touched, and whatever leaves is settled
    first. The relation leaves open who pays and when, beyond that. [touch_bound] is Theorem 4 for
    it; its offline schedules are made lazy first ([trim]), which costs nothing. *)

From Coq Require Import List Bool Arith ZArith QArith Lia Lqa.
From CacheWorthy Require Import Model Cosigned.
Import ListNotations.
Open Scope Q_scope.

(** ** The policy *)

Section Policy.
Variable I : instance.
Variable k : Z.

(** No set of residents that holds its own resident dependents is in debt as a whole. On a forest
    such a set is made of subtrees, so this says that no resident subtree is. *)
Definition covered (s : state) : Prop :=
  forall T : set, subset I T (resident s) ->
  (forall w u, (w < count I)%nat -> (u < count I)%nat ->
     resident s w -> T u -> needs I w u -> T w) ->
  0 <= sum_over I T (credit s).

(** The level rises by [d]: every unpinned resident is charged its own rent. *)
Record charged (v : nat) (s s' : state) (d : Q) : Prop := {
  charged_short : short I k v s;
  charged_rate : 0 <= d;
  charged_resident : same I (resident s') (resident s);
  charged_credit : forall u, (u < count I)%nat -> resident s u ->
    credit s' u == credit s u - (if path I v u then 0 else d * size I u);
  charged_covered : covered s'
}.

(** [w] pays [x] of the debt of [u], which it needs. *)
Record settled (s s' : state) (w u : nat) (x : Q) : Prop := {
  settled_payer : (w < count I)%nat /\ resident s w;
  settled_debtor : (u < count I)%nat /\ resident s u;
  settled_other : w <> u;
  settled_needs : needs I w u;
  settled_amount : 0 <= x;
  settled_debt : credit s u + x <= 0;
  settled_resident : same I (resident s') (resident s);
  settled_credit : forall y, (y < count I)%nat -> credit s' y ==
    credit s y - (if (y =? w)%nat then x else 0) + (if (y =? u)%nat then x else 0)
}.

Inductive settling : state -> state -> Prop :=
| settling_done : forall s, settling s s
| settling_step : forall s s1 s2 w u x, settled s s1 w u x -> settling s1 s2 -> settling s s2.

Inductive room (v : nat) : state -> state -> Prop :=
| room_is : forall s, ~ short I k v s -> room v s s
| room_charge : forall s s1 s2 d, charged v s s1 d -> room v s1 s2 -> room v s s2
| room_settle : forall s s1 s2 w u x, settled s s1 w u x -> room v s1 s2 -> room v s s2
| room_leave : forall s s1 s2 gone, evict I v s s1 gone -> room v s1 s2 -> room v s s2.

(** Settle until nobody on the path is in debt, touch the path, make room, load. *)
Definition touch_serve (v : nat) (s s' : state) : Prop :=
  exists s0 s1 s2, settling s s0 /\
    (forall u, (u < count I)%nat -> path I v u -> resident s0 u -> 0 <= credit s0 u) /\
    hit I v s0 s1 /\ room v s1 s2 /\ load I v s2 s'.

Inductive touch_run : state -> list nat -> state -> Q -> Prop :=
| touch_end : forall s paid, paid == 0 -> touch_run s [] s paid
| touch_request : forall s v s1 requests s2 paid rest,
    (v < count I)%nat -> touch_serve v s s1 -> touch_run s1 requests s2 rest ->
    paid == cost_of I (missing I v s) + rest ->
    touch_run s (v :: requests) s2 paid.

End Policy.

(** ** Lazy schedules *)

Section Lazy.
Variable I : instance.
Variable h : Z.
Hypothesis V : valid I.

(** Keep what the given schedule keeps, load only what is requested. *)
Fixpoint trim (before : set) (requests : list nat) (schedule : list set) : list set :=
  match requests, schedule with
  | v :: requests', state :: schedule' =>
      let now := union (inter before state) (path I v) in now :: trim now requests' schedule'
  | _, _ => []
  end.

Fixpoint lazy (before : set) (requests : list nat) (schedule : list set) : Prop :=
  match requests, schedule with
  | v :: requests', state :: schedule' =>
      subset I (minus state before) (path I v) /\ lazy state requests' schedule'
  | _, _ => True
  end.

Lemma trim_lazy : forall requests schedule before, lazy before requests (trim before requests schedule).
Proof.
  induction requests as [|v requests IH]; destruct schedule as [|O schedule]; simpl; intros; auto.
  split; [|apply IH]. intros u _. unfold minus, union, inter, is_true.
  destruct (before u), (O u), (path I v u); simpl; auto.
Qed.

(** [given]: where the given schedule is, [before]: where its trimmed copy is. *)
Lemma trim_feasible : forall requests schedule given before,
  (forall v, In v requests -> (v < count I)%nat) ->
  feasible I h requests schedule -> closed I before -> subset I before given ->
  feasible I h requests (trim before requests schedule) /\
  schedule_cost I before (trim before requests schedule) <=
    schedule_cost I given schedule + cost_of I (minus given before).
Proof.
  induction requests as [|v requests IH]; destruct schedule as [|O schedule]; simpl;
    intros given before Hn F C S; try contradiction.
  - split; auto. pose proof (cost_of_nonnegative I V (minus given before)). lra.
  - destruct F as [HO [Hh [HP F]]].
    set (now := union (inter before O) (path I v)).
    assert (Hsub : subset I now O).
    { intros u Hu H. unfold now, union, inter, is_true in *. specialize (HP u Hu). unfold is_true in HP.
      destruct (before u), (O u), (path I v u); simpl in *; auto. }
    assert (Hcl : closed I now).
    { intros w u Hw Hu H Hneed. unfold now, union, inter, is_true in *. apply orb_prop in H.
      apply orb_true_iff. destruct H as [H|H].
      - left. apply andb_prop in H. destruct H as [H1 H2]. apply andb_true_iff.
        split; [apply (C w u) | apply (HO w u)]; auto.
      - right. apply (needs_trans I V v w u); auto. }
    destruct (IH schedule O now (fun w Hw => Hn w (or_intror Hw)) F Hcl Hsub) as [F' E].
    split.
    + split; auto. split; [pose proof (volume_monotone I V now O Hsub); lia|].
      split; auto. intros u Hu H. unfold now, union, is_true in *. rewrite H. apply orb_true_r.
    + assert (Hstep : cost_of I (minus now before) + cost_of I (minus O now) <=
        cost_of I (minus O given) + cost_of I (minus given before)).
      { unfold cost_of, sum_over. rewrite <- !sum_plus. apply sum_le. intros u Hu.
        pose proof (cost_nonnegative I V u Hu). specialize (HP u Hu). specialize (S u Hu).
        unfold now, minus, union, inter, is_true in *.
        destruct (before u), (O u), (path I v u), (given u); simpl in *; try lra;
          try discriminate (S eq_refl); discriminate (HP eq_refl). }
      lra.
Qed.

End Lazy.

(** ** The rows *)

Section Rows.
Variable I : instance.
Variables k h : Z.
Hypothesis V : valid I.
Hypothesis h_range : (1 <= h <= k)%Z.

(** What every state of a run satisfies. *)
Record fair (s : state) : Prop := {
  fair_cost : forall u, (u < count I)%nat -> resident s u -> credit s u <= cost I u;
  fair_total : 0 <= sum I (held s)
}.

Lemma fair_held : forall s, fair s -> forall u, (u < count I)%nat -> held s u <= cost I u.
Proof.
  intros s F u Hu. unfold held. pose proof (fair_cost s F u Hu) as H. unfold is_true in H.
  destruct (resident s u); [apply H; reflexivity | apply (cost_nonnegative I V); auto].
Qed.

Lemma fair_floor : forall s O, fair s -> 0 <= potential I k h s O.
Proof.
  intros s O F. destruct (coefficients k h h_range) as [Ha [Hk _]]. unfold potential.
  assert (0 <= sum_over I O (fun u => cost I u - held s u)).
  { apply sum_nonnegative. intros u Hu. pose proof (fair_held s F u Hu). destruct (O u); lra. }
  pose proof (fair_total s F).
  assert (0 <= (h - 1)%Z * sum I (held s)) by (apply Qmult_le_0_compat; auto).
  assert (0 <= k * sum_over I O (fun u => cost I u - held s u)) by (apply Qmult_le_0_compat; auto).
  lra.
Qed.

Lemma touch_row_opt : forall v s O O', fair s ->
  (forall u, (u < count I)%nat -> path I v u -> resident s u -> 0 <= credit s u) ->
  subset I (minus O' O) (path I v) ->
  potential I k h s O' <= potential I k h s O + k * cost_of I (minus O' O).
Proof.
  intros v s O O' F Hpath Hlazy. destruct (coefficients k h h_range) as [Ha [Hk _]].
  unfold cost_of, sum_over. rewrite <- sum_scale. apply potential_change. intros u Hu.
  pose proof (fair_held s F u Hu). specialize (Hlazy u Hu). specialize (Hpath u Hu).
  assert (minus O' O u = true -> 0 <= held s u).
  { intros Hm. specialize (Hlazy Hm). unfold held, is_true in *.
    destruct (resident s u); [apply Hpath; auto | lra]. }
  unfold minus in *. destruct (O' u), (O u); simpl in *; try nra;
    specialize (H0 eq_refl); nra.
Qed.

Lemma touch_row_hit : forall v s s' O, hit I v s s' -> subset I (path I v) O ->
  potential I k h s' O <= potential I k h s O.
Proof.
  intros v s s' O Hit HPO. destruct (coefficients k h h_range) as [Ha [Hk [Hd Hg]]].
  rewrite <- (Qplus_0_r (potential I k h s O)), <- (sum_zero I). apply potential_change.
  intros u Hu. unfold held. rewrite (hit_resident I v s s' Hit u Hu).
  destruct (resident s u) eqn:EA; [|lra].
  destruct (path I v u) eqn:EP.
  - pose proof (hit_path I v s s' Hit u Hu EA EP). specialize (HPO u Hu EP). unfold is_true in HPO.
    rewrite HPO. nra.
  - pose proof (hit_other I v s s' Hit u Hu EA EP) as Hc. destruct (O u); rewrite Hc; lra.
Qed.

Lemma touch_row_rent : forall v s s' d O, (v < count I)%nat -> charged I k v s s' d ->
  subset I (path I v) O -> (volume I O <= h)%Z ->
  potential I k h s' O <= potential I k h s O - ((volume I (path I v) - 1) * (k - h + 1))%Z * d.
Proof.
  intros v s s' d O Hv R HPO Hh.
  destruct (coefficients k h h_range) as [Ha [Hk [Hd Hg]]].
  assert (Hchange : potential I k h s' O <= potential I k h s O +
    sum I (fun u => - (h - 1)%Z * (d * (if unpinned I v s u then size I u : Q else 0)) +
      k * (d * (if inter (unpinned I v s) O u then size I u : Q else 0)))).
  { apply potential_change. intros u Hu. unfold held, unpinned, minus, inter.
    rewrite (charged_resident I k v s s' d R u Hu).
    pose proof (charged_credit I k v s s' d R u Hu) as Hc. unfold is_true in Hc.
    destruct (resident s u); simpl; [specialize (Hc eq_refl)|destruct (O u); lra].
    destruct (path I v u), (O u); simpl; rewrite Hc; lra. }
  rewrite sum_plus, !sum_scale in Hchange.
  pose proof (charged_rate I k v s s' d R) as Hrate.
  pose proof (unpinned_volume I k V v s (charged_short I k v s s' d R)) as HU.
  pose proof (unpinned_offline_volume I h V v s O HPO Hh) as HUO.
  pose proof (path_volume I V v Hv) as Hq.
  assert (EX : sum I (fun u => if unpinned I v s u then size I u : Q else 0) ==
    volume I (unpinned I v s)) by (symmetry; apply volume_Q).
  assert (EY : sum I (fun u => if inter (unpinned I v s) O u then size I u : Q else 0) ==
    volume I (inter (unpinned I v s) O)) by (symmetry; apply volume_Q).
  rewrite EX, EY in Hchange.
  set (X := volume I (unpinned I v s)) in *. set (Y := volume I (inter (unpinned I v s) O)) in *.
  set (q := volume I (path I v)) in *.
  assert (Hint : ((- (h - 1)) * X + k * Y <= - ((q - 1) * (k - h + 1)))%Z) by nia.
  rewrite Zle_Qle, inject_Z_plus, !inject_Z_mult, !inject_Z_opp, inject_Z_mult in Hint.
  rewrite inject_Z_mult.
  assert (d * (- (h - 1)%Z * X + k * Y) <= d * (- ((q - 1)%Z * (k - h + 1)%Z))).
  { rewrite !(Qmult_comm d). apply Qmult_le_compat_r; auto. }
  lra.
Qed.

Lemma settled_row : forall s s' w u x O, settled I s s' w u x -> closed I O ->
  potential I k h s' O <= potential I k h s O.
Proof.
  intros s s' w u x O [[Hw HAw] [Hu HAu] Hne Hn Hx Hdebt Hsame Hc] HO.
  apply (row_settle I k h h_range s s' O w u x); auto.
Qed.

(** *** Fairness is kept *)

Lemma hit_fair : forall v s s', hit I v s s' -> fair s -> fair s'.
Proof.
  intros v s s' H F. split.
  - intros u Hu HA. rewrite (hit_resident I v s s' H u Hu) in HA.
    pose proof (fair_cost s F u Hu HA). destruct (path I v u) eqn:EP.
    + apply (hit_path I v s s' H u Hu HA EP).
    + rewrite (hit_other I v s s' H u Hu HA EP). auto.
  - apply Qle_trans with (sum I (held s)); [apply F|]. apply sum_le. intros u Hu. unfold held.
    rewrite (hit_resident I v s s' H u Hu). destruct (resident s u) eqn:EA; [|lra].
    destruct (path I v u) eqn:EP.
    + apply (hit_path I v s s' H u Hu EA EP).
    + rewrite (hit_other I v s s' H u Hu EA EP). lra.
Qed.

Lemma charged_fair : forall v s s' d, charged I k v s s' d -> fair s -> fair s'.
Proof.
  intros v s s' d H F. split.
  - intros u Hu HA. rewrite (charged_resident I k v s s' d H u Hu) in HA.
    pose proof (fair_cost s F u Hu HA). rewrite (charged_credit I k v s s' d H u Hu HA).
    pose proof (charged_rate I k v s s' d H). pose proof (size_positive I V u Hu) as Hs.
    assert (0 <= size I u) by (change (inject_Z 0 <= size I u); rewrite <- Zle_Qle; lia).
    assert (0 <= d * size I u) by (apply Qmult_le_0_compat; auto).
    destruct (path I v u); lra.
  - apply (charged_covered I k v s s' d H (resident s')).
    + intros u _ HA. exact HA.
    + intros w u _ _ HA _ _. exact HA.
Qed.

Lemma settled_fair : forall s s' w u x, settled I s s' w u x -> fair s -> fair s'.
Proof.
  intros s s' w u x [[Hw HAw] [Hu HAu] Hne Hn Hx Hdebt Hsame Hc] F. split.
  - intros y Hy HA. rewrite (Hsame y Hy) in HA. pose proof (fair_cost s F y Hy HA).
    pose proof (cost_nonnegative I V y Hy). rewrite (Hc y Hy).
    destruct (Nat.eqb_spec y w), (Nat.eqb_spec y u); subst; try congruence; lra.
  - apply Qle_trans with (sum I (held s)); [apply F|].
    assert (E : sum I (held s') == sum I (held s) +
      (sum I (fun y => if (y =? w)%nat then - x else 0) + sum I (fun y => if (y =? u)%nat then x else 0))).
    { rewrite <- !sum_plus. apply sum_ext. intros y Hy. unfold held. rewrite (Hsame y Hy).
      unfold is_true in HAw, HAu.
      destruct (Nat.eqb_spec y w), (Nat.eqb_spec y u); subst; try congruence;
        rewrite ?HAw, ?HAu; try (destruct (resident s y)); try lra;
        rewrite (Hc _ Hy); rewrite ?Nat.eqb_refl;
        repeat match goal with |- context [(?a =? ?b)%nat] => destruct (Nat.eqb_spec a b) end;
        try congruence; lra. }
    rewrite !sum_single in E by auto. lra.
Qed.

Lemma evict_fair : forall v s s' gone, evict I v s s' gone -> fair s -> fair s'.
Proof.
  intros v s s' gone E F. split.
  - intros u Hu HA. rewrite (evict_other I v s s' gone E u Hu HA).
    rewrite (evict_resident I v s s' gone E u Hu) in HA. apply andb_prop in HA.
    apply (fair_cost s F u Hu). apply HA.
  - apply Qle_trans with (sum I (held s)); [apply F|]. apply sum_le. intros u Hu. unfold held.
    pose proof (evict_resident I v s s' gone E u Hu) as Er.
    pose proof (evict_other I v s s' gone E u Hu) as Eo. pose proof (evict_credit I v s s' gone E u Hu) as Ec.
    unfold minus, is_true in *. rewrite Er in *.
    destruct (resident s u), (gone u); simpl in *; try lra;
      first [rewrite Ec by auto | rewrite Eo by auto]; lra.
Qed.

Lemma load_fair : forall v s s', load I v s s' -> fair s -> fair s'.
Proof.
  intros v s s' L F.
  assert (Hcase : forall u, (u < count I)%nat -> held s u <= held s' u /\
    (resident s' u = true -> credit s' u <= cost I u)).
  { intros u Hu. unfold held. pose proof (load_resident I v s s' L u Hu) as Er. unfold union in Er.
    pose proof (load_other I v s s' L u Hu) as Eo. pose proof (load_missing I v s s' L u Hu) as Em.
    pose proof (fair_cost s F u Hu) as Hc. pose proof (cost_nonnegative I V u Hu).
    unfold missing, minus, is_true in *. rewrite Er.
    destruct (resident s u), (path I v u); simpl in *; split; intros; try discriminate;
      rewrite ?Eo, ?Em by auto; try lra; auto. }
  split.
  - intros u Hu HA. apply Hcase; auto.
  - apply Qle_trans with (sum I (held s)); [apply F|]. apply sum_le. intros u Hu. apply Hcase. auto.
Qed.

(** *** A service *)

Lemma settling_row : forall s s', settling I s s' -> fair s ->
  fair s' /\ same I (resident s') (resident s) /\
  forall O, closed I O -> potential I k h s' O <= potential I k h s O.
Proof.
  intros s s' H. induction H as [s | s s1 s2 w u x D C IH]; intros F.
  - split; auto. split; [intros u _; reflexivity | intros; lra].
  - destruct (IH (settled_fair s s1 w u x D F)) as [F2 [S2 P2]]. split; auto. split.
    + intros y Hy. rewrite (S2 y Hy). apply (settled_resident I s s1 w u x D); auto.
    + intros O HO. pose proof (P2 O HO). pose proof (settled_row s s1 w u x O D HO). lra.
Qed.

Lemma room_row : forall v s s', room I k v s s' -> fair s -> (v < count I)%nat ->
  fair s' /\ same I (missing I v s') (missing I v s) /\
  forall O, closed I O -> subset I (path I v) O -> (volume I O <= h)%Z ->
    potential I k h s' O <= potential I k h s O.
Proof.
  intros v s s' H. induction H as [s Hs | s s1 s2 d D C IH | s s1 s2 w u x D C IH | s s1 s2 gone D C IH];
    intros F Hv.
  - split; auto. split; [intros u _; reflexivity | intros; lra].
  - destruct (IH (charged_fair v s s1 d D F) Hv) as [F2 [S2 P2]]. split; auto. split.
    + intros y Hy. rewrite (S2 y Hy). unfold missing, minus.
      rewrite (charged_resident I k v s s1 d D y Hy). reflexivity.
    + intros O HO HPO Hh. pose proof (P2 O HO HPO Hh).
      pose proof (touch_row_rent v s s1 d O Hv D HPO Hh) as Hr.
      pose proof (charged_rate I k v s s1 d D). pose proof (path_volume I V v Hv) as Hq.
      assert (0 <= ((volume I (path I v) - 1) * (k - h + 1))%Z).
      { change (inject_Z 0 <= ((volume I (path I v) - 1) * (k - h + 1))%Z).
        rewrite <- Zle_Qle. apply Z.mul_nonneg_nonneg; lia. }
      assert (0 <= ((volume I (path I v) - 1) * (k - h + 1))%Z * d) by (apply Qmult_le_0_compat; auto).
      lra.
  - destruct (IH (settled_fair s s1 w u x D F) Hv) as [F2 [S2 P2]]. split; auto. split.
    + intros y Hy. rewrite (S2 y Hy). unfold missing, minus.
      rewrite (settled_resident I s s1 w u x D y Hy). reflexivity.
    + intros O HO HPO Hh. pose proof (P2 O HO HPO Hh). pose proof (settled_row s s1 w u x O D HO). lra.
  - destruct (IH (evict_fair v s s1 gone D F) Hv) as [F2 [S2 P2]]. split; auto. split.
    + intros y Hy. rewrite (S2 y Hy). unfold missing, minus.
      rewrite (evict_resident I v s s1 gone D y Hy). unfold minus.
      pose proof (evict_unpinned I v s s1 gone D y Hy) as HU. unfold unpinned, minus, is_true in HU.
      destruct (path I v y), (resident s y), (gone y); simpl in *; auto; discriminate (HU eq_refl).
    + intros O HO HPO Hh. pose proof (P2 O HO HPO Hh). pose proof (row_evict I k h v s s1 gone O D). lra.
Qed.

Lemma touch_potential : forall s requests s' paid, touch_run I k s requests s' paid ->
  forall O schedule, fair s -> closed I O -> feasible I h requests schedule -> lazy I O requests schedule ->
  (k - h + 1)%Z * paid <= potential I k h s O + k * schedule_cost I O schedule.
Proof.
  intros s requests s' paid H.
  induction H as [s paid E | s v s1 requests s2 paid rest Hv [sa [sb [sc [H1 [H2 [H3 [H4 H5]]]]]]] Hrun IH E];
    intros O schedule F HO Fe La; destruct schedule as [|O' schedule]; simpl in Fe; try contradiction.
  - simpl. rewrite E. pose proof (fair_floor s O F). lra.
  - destruct Fe as [HO' [Hh [HPO Fe]]]. simpl in La. destruct La as [Hl La]. simpl.
    destruct (settling_row s sa H1 F) as [Fa [Sa Pa]].
    pose proof (Pa O HO).
    pose proof (touch_row_opt v sa O O' Fa H2 Hl).
    pose proof (touch_row_hit v sa sb O' H3 HPO).
    pose proof (hit_fair v sa sb H3 Fa) as Fb.
    destruct (room_row v sb sc H4 Fb Hv) as [Fc [Sc Pc]]. pose proof (Pc O' HO' HPO Hh).
    pose proof (row_load I k h h_range v sc s1 O' H5 HPO) as Hload.
    assert (Em : cost_of I (missing I v sc) == cost_of I (missing I v s)).
    { apply cost_of_ext. intros u Hu. rewrite (Sc u Hu). unfold missing, minus.
      rewrite (hit_resident I v sa sb H3 u Hu), (Sa u Hu). reflexivity. }
    rewrite Em in Hload.
    pose proof (IH O' schedule (load_fair v sc s1 H5 Fc) HO' Fe La).
    rewrite E. lra.
Qed.

End Rows.

Lemma touch_nodes : forall I k s requests s' paid, touch_run I k s requests s' paid ->
  forall v, In v requests -> (v < count I)%nat.
Proof. intros I k s requests s' paid H. induction H; intros w Hw; destruct Hw; subst; auto. Qed.

(** Theorem 4 for the touch form, for every feasible schedule. *)
Theorem touch_bound : forall I k h requests schedule last paid,
  valid I -> (1 <= h <= k)%Z ->
  feasible I h requests schedule ->
  touch_run I k start requests last paid ->
  (k - h + 1)%Z * paid <= k * offline_cost I schedule.
Proof.
  intros I k h requests schedule last paid V Hh Fe R.
  assert (C0 : closed I empty) by (intros v u _ _ H; discriminate H).
  destruct (trim_feasible I h V requests schedule empty empty (touch_nodes I k _ _ _ _ R) Fe C0)
    as [F' Hcost]; [intros u _ H; exact H|].
  assert (F0 : fair I start).
  { split; [intros u _ H; discriminate H|].
    rewrite (sum_ext I _ (fun _ => 0)) by (intros; reflexivity). rewrite sum_zero. lra. }
  pose proof (touch_potential I k h V Hh _ _ _ _ R empty (trim I empty requests schedule) F0 C0 F'
    (trim_lazy I requests schedule empty)) as Hb.
  rewrite (row_floor_start I k h) in Hb.
  assert (Ez : cost_of I (minus empty empty) == 0).
  { rewrite (cost_of_ext I _ empty) by (intros u _; reflexivity).
    unfold cost_of, sum_over, empty. apply sum_zero. }
  destruct (coefficients k h Hh) as [_ [Hk _]]. unfold offline_cost.
  assert (k * schedule_cost I empty (trim I empty requests schedule) <=
          k * schedule_cost I empty schedule); [|lra].
  rewrite !(Qmult_comm k). apply Qmult_le_compat_r; lra.
Qed.
