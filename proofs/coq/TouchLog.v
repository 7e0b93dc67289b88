(** * A checker of logged runs of the touch form

    As [Log.v], for [Touch.v]: settlements, rises of the level, nodes that left, and the state after
    every request. [touch_accept_is_run]: what is accepted is a run of the relation. *)

From Coq Require Import List Bool Arith ZArith QArith Lia Lqa.
From CacheWorthy Require Import Model Cosigned Progress Landlord Execute Witness Log Touch.
Import ListNotations.
Open Scope Q_scope.

Local Arguments Qred : simpl never.

Inductive touch_step :=
| Settle (w u : nat) (x : Q)
| Rise (d : Q)
| Gone (l : list nat).

(** What was settled before the path was touched, and what was done to make room. *)
Record touch_entry := TouchEntry {
  touched : nat;
  before : list (nat * nat * Q);
  making : list touch_step;
  then_held : list (nat * Q)
}.

Fixpoint subsets (l : list nat) : list (list nat) :=
  match l with [] => [[]] | x :: r => let s := subsets r in s ++ map (cons x) s end.

Lemma subsets_filter : forall (f : nat -> bool) l, In (filter f l) (subsets l).
Proof.
  induction l; simpl; auto. apply in_or_app. destruct (f a); [right; apply in_map; auto | left; auto].
Qed.

Section Check.
Variable I : instance.
Variable k : Z.

Definition holds_dependents (s : state) (T : set) : bool :=
  all_nodes I (fun w => negb (resident s w) || T w ||
    all_nodes I (fun u => negb (T u && needs I w u))).

Definition is_covered (s : state) : bool :=
  forallb (fun l => let T := table false (count I) (of_list l) in
    negb (is_subset I T (resident s) && holds_dependents s T) ||
    Qle_bool 0 (sum_over I T (credit s))) (subsets (nodes I)).

Lemma is_covered_sound : forall s, is_covered s = true -> covered I s.
Proof.
  intros s H T HT Hdep. unfold is_covered in H. rewrite forallb_forall in H.
  specialize (H _ (subsets_filter T (nodes I))). cbv zeta in H.
  set (T' := table false (count I) (of_list (filter T (nodes I)))) in *.
  assert (S : same I T' T).
  { intros u Hu. unfold T'. rewrite table_at by auto. unfold of_list.
    destruct (T u) eqn:E.
    - apply existsb_exists. exists u. split; [apply filter_In; split; [apply in_nodes|]; auto |
        apply Nat.eqb_refl].
    - destruct (existsb (Nat.eqb u) (filter T (nodes I))) eqn:Ex; auto.
      apply existsb_exists in Ex. destruct Ex as [x [Hx Ex]]. apply Nat.eqb_eq in Ex. subst.
      apply filter_In in Hx. destruct Hx. congruence. }
  assert (Esum : sum_over I T' (credit s) == sum_over I T (credit s)).
  { apply sum_ext. intros u Hu. rewrite (S u Hu). reflexivity. }
  rewrite <- Esum. apply orb_prop in H. destruct H as [H|H]; [|apply Qle_bool_iff; auto].
  exfalso. apply negb_true_iff in H. apply andb_false_iff in H. destruct H as [H|H].
  - assert (is_subset I T' (resident s) = true); [|congruence].
    unfold is_subset. apply all_nodes_iff. intros u Hu. rewrite (S u Hu).
    specialize (HT u Hu). unfold is_true in HT. destruct (T u); auto.
  - assert (holds_dependents s T' = true); [|congruence].
    unfold holds_dependents. apply all_nodes_iff. intros w Hw. rewrite (S w Hw).
    destruct (resident s w) eqn:EA; auto. destruct (T w) eqn:ET; auto. simpl.
    apply all_nodes_iff. intros u Hu. rewrite (S u Hu).
    destruct (T u) eqn:ETu; auto. destruct (needs I w u) eqn:En; auto.
    specialize (Hdep w u Hw Hu EA ETu En). unfold is_true in Hdep. congruence.
Qed.

Definition settle (s : state) (w u : nat) (x : Q) : option state :=
  if (w <? count I)%nat && (u <? count I)%nat && resident s w && resident s u && negb (w =? u)%nat &&
     needs I w u && Qle_bool 0 x && Qle_bool (credit s u + x) 0
  then Some (State (resident s) (table 0 (count I) (fun y =>
    Qred (credit s y - (if (y =? w)%nat then x else 0) + (if (y =? u)%nat then x else 0)))))
  else None.

Lemma settle_settled : forall s w u x s', settle s w u x = Some s' -> settled I s s' w u x.
Proof.
  intros s w u x s' H. unfold settle in H.
  destruct (_ && _) eqn:E in H; [|discriminate]. injection H as <-.
  repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H; destruct H end.
  split; cbn [resident credit].
  - split; [apply Nat.ltb_lt; auto | auto].
  - split; [apply Nat.ltb_lt; auto | auto].
  - apply Nat.eqb_neq, negb_true_iff. auto.
  - auto.
  - apply Qle_bool_iff. auto.
  - apply Qle_bool_iff. auto.
  - intros y Hy. reflexivity.
  - intros y Hy. rewrite table_at by auto. apply Qred_correct.
Qed.

Definition rise (v : nat) (s : state) (d : Q) : option state :=
  let s' := State (resident s) (table 0 (count I) (fun u =>
    Qred (credit s u - (if path I v u then 0 else d * size I u)))) in
  if is_short I k v s && Qle_bool 0 d && is_covered s' then Some s' else None.

Lemma rise_charged : forall v s d s', rise v s d = Some s' -> charged I k v s s' d.
Proof.
  intros v s d s' H. unfold rise in H. cbv zeta in H.
  destruct (_ && _) eqn:E in H; [|discriminate]. injection H as <-.
  apply andb_prop in E. destruct E as [E E3]. apply andb_prop in E. destruct E as [E1 E2].
  split; cbn [resident credit].
  - apply Z.ltb_lt. exact E1.
  - apply Qle_bool_iff. exact E2.
  - intros u Hu. reflexivity.
  - intros u Hu _. rewrite table_at by auto. apply Qred_correct.
  - apply is_covered_sound. exact E3.
Qed.

Fixpoint settle_all (s : state) (l : list (nat * nat * Q)) : option state :=
  match l with
  | [] => Some s
  | (w, u, x) :: r => match settle s w u x with Some s' => settle_all s' r | None => None end
  end.

Lemma settle_all_settling : forall l s s', settle_all s l = Some s' -> settling I s s'.
Proof.
  induction l as [|[[w u] x] l IH]; simpl; intros s s' H.
  - injection H as <-. constructor.
  - destruct (settle s w u x) as [s1|] eqn:E; [|discriminate].
    eapply settling_step; [apply settle_settled; eauto | auto].
Qed.

Definition touch_take (v : nat) (s : state) (a : touch_step) : option state :=
  match a with
  | Settle w u x => settle s w u x
  | Rise d => rise v s d
  | Gone l => take I k v s (Leave l)
  end.

Fixpoint make (v : nat) (s : state) (l : list touch_step) : option state :=
  match l with
  | [] => if is_short I k v s then None else Some s
  | a :: r => match touch_take v s a with Some s' => make v s' r | None => None end
  end.

Lemma make_room_is : forall v l s s', make v s l = Some s' -> room I k v s s'.
Proof.
  induction l as [|a l IH]; simpl; intros s s' H.
  - destruct (is_short I k v s) eqn:E; [discriminate|]. injection H as <-.
    apply room_is. intros Hs. apply Z.ltb_lt in Hs. unfold is_short in E. congruence.
  - destruct (touch_take v s a) as [s1|] eqn:E; [|discriminate].
    destruct a as [w u x|d|gone]; simpl in E.
    + eapply room_settle; [apply settle_settled; eauto | auto].
    + eapply room_charge; [apply rise_charged; eauto | auto].
    + unfold take in E. cbv zeta in E.
      destruct (check_leave I v s (table false (count I) (of_list gone))) eqn:Ec; [|discriminate].
      injection E as <-. unfold check_leave in Ec.
      apply andb_prop in Ec. destruct Ec as [Ec E3]. apply andb_prop in Ec. destruct Ec as [E1 E2].
      rewrite all_nodes_iff in E2.
      eapply room_leave with (gone := table false (count I) (of_list gone)); [|apply IH; exact H].
      split; cbn [resident credit].
      * apply is_subset_sound. exact E1.
      * intros u Hu HG. specialize (E2 u Hu). unfold is_true in HG. rewrite HG in E2.
        apply Qeq_bool_iff. exact E2.
      * apply is_closed_sound. exact E3.
      * intros u Hu. apply table_at. auto.
      * intros u Hu _. reflexivity.
Qed.

Definition path_clear (v : nat) (s : state) : bool :=
  all_nodes I (fun u => negb (path I v u && resident s u) || Qle_bool 0 (credit s u)).

Definition touch_check (s : state) (e : touch_entry) : option state :=
  if (touched e <? count I)%nat then
    match settle_all s (before e) with
    | Some s0 =>
        if path_clear (touched e) s0 &&
           all_nodes I (fun u => negb (resident s0 u) || Qle_bool (credit s0 u) (cost I u)) then
          match make (touched e) (refresh I (touched e) s0) (making e) with
          | Some s1 =>
              let s' := loaded I (touched e) s1 in
              if agrees I s' (then_held e) then Some s' else None
          | None => None
          end
        else None
    | None => None
    end
  else None.

Fixpoint touch_accept (s : state) (log : list touch_entry) : option Q :=
  match log with
  | [] => Some 0
  | e :: rest =>
      match touch_check s e with
      | Some s' =>
          match touch_accept s' rest with
          | Some paid => Some (Qred (cost_of I (missing I (touched e) s) + paid))
          | None => None
          end
      | None => None
      end
  end.

Lemma touch_check_serve : forall s e s', touch_check s e = Some s' ->
  (touched e < count I)%nat /\ touch_serve I k (touched e) s s'.
Proof.
  intros s e s' H. unfold touch_check in H.
  destruct (touched e <? count I)%nat eqn:Ev; [|discriminate]. apply Nat.ltb_lt in Ev.
  destruct (settle_all s (before e)) as [s0|] eqn:E0; [|discriminate].
  destruct (_ && _) eqn:E in H; [|discriminate]. apply andb_prop in E. destruct E as [Ep Ec].
  unfold path_clear in Ep. rewrite all_nodes_iff in Ep, Ec.
  destruct (make (touched e) (refresh I (touched e) s0) (making e)) as [s1|] eqn:E1; [|discriminate].
  cbv zeta in H. destruct (agrees I (loaded I (touched e) s1) (then_held e)); [|discriminate].
  injection H as <-. split; auto.
  exists s0, (refresh I (touched e) s0), s1.
  split; [eapply settle_all_settling; eauto|]. split; [|split; [|split]].
  - intros u Hu HP HA. specialize (Ep u Hu). unfold is_true in *. rewrite HP, HA in Ep.
    apply Qle_bool_iff. exact Ep.
  - split; cbn [refresh resident credit].
    + intros u Hu. reflexivity.
    + intros u Hu HA HP. rewrite table_at by auto. specialize (Ec u Hu). unfold is_true in *.
      rewrite HA in Ec. rewrite HP. apply Qle_bool_iff in Ec. lra.
    + intros u Hu _ HP. rewrite table_at by auto. rewrite HP. reflexivity.
  - eapply make_room_is; eauto.
  - apply loaded_load.
Qed.

(** An accepted log is a run of the touch form. *)
Theorem touch_accept_is_run : forall log s paid, touch_accept s log = Some paid ->
  exists last, touch_run I k s (map touched log) last paid.
Proof.
  induction log as [|e log IH]; simpl; intros s paid H.
  - injection H as <-. exists s. apply touch_end. reflexivity.
  - destruct (touch_check s e) as [s1|] eqn:E; [|discriminate].
    destruct (touch_accept s1 log) as [rest|] eqn:Er; [|discriminate]. injection H as <-.
    destruct (touch_check_serve s e s1 E) as [Hv Hs].
    destruct (IH s1 rest Er) as [last R].
    exists last. eapply touch_request; eauto. apply Qred_correct.
Qed.

End Check.

Record touch_logged := TouchLogged {
  touch_parents : list (option nat);
  touch_sizes : list Z;
  touch_costs : list Q;
  touch_k : Z;
  touch_entries : list touch_entry;
  touch_paid : Q
}.

Definition touch_forest (c : touch_logged) : forest :=
  forest_of (touch_parents c) (touch_sizes c) (touch_costs c).

Definition touch_accepted (c : touch_logged) : bool :=
  is_valid_forest (touch_forest c) &&
  match touch_accept (of_forest (touch_forest c)) (touch_k c) start (touch_entries c) with
  | Some paid => Qeq_bool paid (touch_paid c)
  | None => false
  end.

(** The bound, for the cost that an accepted log reports. *)
Theorem touch_accepted_bound : forall c h schedule, touch_accepted c = true ->
  (1 <= h <= touch_k c)%Z ->
  feasible (of_forest (touch_forest c)) h (map touched (touch_entries c)) schedule ->
  (touch_k c - h + 1)%Z * touch_paid c <=
  touch_k c * offline_cost (of_forest (touch_forest c)) schedule.
Proof.
  intros c h schedule H Hh F. unfold touch_accepted in H. apply andb_prop in H. destruct H as [HV H].
  apply is_valid_forest_sound in HV.
  destruct (touch_accept _ _ start (touch_entries c)) as [paid|] eqn:E in H; [|discriminate].
  apply Qeq_bool_iff in H. destruct (touch_accept_is_run _ _ _ _ _ E) as [last R].
  rewrite <- H. eapply touch_bound; eauto. apply of_forest_valid. auto.
Qed.

(** Inhabited: the touch form on the smallest witness ([four] of [Witness.v]). It pays 9; the debt of
    node 0 is settled by node 1 before both leave. *)
Definition smallest_log : list touch_entry :=
  [TouchEntry 1 [] [] [(0%nat, 0); (1%nat, 5)];
   TouchEntry 2 [] [] [(0%nat, 0); (1%nat, 5); (2%nat, 2)];
   TouchEntry 3 [] [Rise 2; Gone [2%nat]] [(0%nat, - (2)); (1%nat, 3); (3%nat, 0)];
   TouchEntry 2 [] [Gone [3%nat]] [(0%nat, - (2)); (1%nat, 3); (2%nat, 2)];
   TouchEntry 3 [] [Rise (1 # 2); Settle 1 0 (5 # 2); Gone [1%nat]; Gone [0%nat]]
     [(2%nat, 3 # 2); (3%nat, 0)];
   TouchEntry 2 [] [] [(2%nat, 2); (3%nat, 0)]].

Theorem touch_is_inhabited : exists last paid,
  touch_run (of_forest four) 3 start six_requests last paid /\ paid == 9.
Proof.
  destruct (touch_accept (of_forest four) 3 start smallest_log) as [paid|] eqn:E.
  - destruct (touch_accept_is_run _ _ _ _ _ E) as [last R]. exists last, paid. split; [exact R|].
    vm_compute in E. injection E as <-. reflexivity.
  - vm_compute in E. discriminate E.
Qed.
