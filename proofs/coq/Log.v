(** * A checker of logged runs

    [accept] reads what an implementation did, request by request: rent rounds with who paid whom,
    the sets that left, and the state it says it was in afterwards. It accepts only a run of the
    cosigned relation that reaches the very states logged ([accept_is_run]), so the bound holds of
    the costs it returns ([accepted_bound]). *)

From Coq Require Import List Bool Arith ZArith QArith Lia Lqa.
From CacheWorthy Require Import Model Cosigned Progress Landlord Execute.
Import ListNotations.
Open Scope Q_scope.

Local Arguments Qred : simpl never.

(** [Pay d ps]: a round of [d]; [(w, u, x)] in [ps] means that [w] pays [x] for [u]. *)
Inductive step :=
| Pay (d : Q) (payments : list (nat * nat * Q))
| Leave (gone : list nat).

(** A request, what was done to make room, and the state after the service: the residents with
    their credits. *)
Record entry := Entry { asked : nat; steps : list step; after : list (nat * Q) }.

Definition amount (payments : list (nat * nat * Q)) (w u : nat) : Q :=
  fold_right (fun p acc => match p with (w', u', x) =>
    if (w' =? w)%nat && (u' =? u)%nat then Qred (x + acc) else acc end) 0 payments.

Section Check.
Variable I : instance.
Variable k : Z.

Definition check_pay (v : nat) (s : state) (d : Q) (pay : nat -> nat -> Q) (s' : state) : bool :=
  is_short I k v s && Qle_bool 0 d &&
  all_nodes I (fun w => all_nodes I (fun u =>
    Qle_bool 0 (pay w u) &&
    (Qeq_bool (pay w u) 0 || (resident s w && unpinned I v s u && needs I w u)))) &&
  all_nodes I (fun u => negb (unpinned I v s u) ||
    Qeq_bool (sum I (fun w => pay w u)) (d * size I u)) &&
  all_nodes I (fun w => negb (resident s w) || Qle_bool 0 (credit s' w)).

Definition check_leave (v : nat) (s : state) (gone : set) : bool :=
  is_subset I gone (unpinned I v s) &&
  all_nodes I (fun u => negb (gone u) || Qeq_bool (credit s u) 0) &&
  is_closed I (minus (resident s) gone).

Definition take (v : nat) (s : state) (a : step) : option state :=
  match a with
  | Pay d payments =>
      let rows := map (fun w => map (amount payments w) (nodes I)) (nodes I) in
      let pay := fun w u => nth u (nth w rows []) 0 in
      let s' := State (resident s)
        (table 0 (count I) (fun w => Qred (credit s w - sum I (fun u => pay w u)))) in
      if check_pay v s d pay s' then Some s' else None
  | Leave l =>
      let gone := table false (count I) (of_list l) in
      if check_leave v s gone
      then Some (State (table false (count I) (minus (resident s) gone)) (credit s))
      else None
  end.

Fixpoint take_all (v : nat) (s : state) (l : list step) : option state :=
  match l with
  | [] => if is_short I k v s then None else Some s
  | a :: rest => match take v s a with Some s' => take_all v s' rest | None => None end
  end.

(** The logged state: exactly these residents, exactly these credits. *)
Definition agrees (s : state) (l : list (nat * Q)) : bool :=
  all_nodes I (fun u =>
    match find (fun p => (fst p =? u)%nat) l with
    | Some (_, c) => resident s u && Qeq_bool (credit s u) c
    | None => negb (resident s u)
    end).

Definition check_entry (s : state) (e : entry) : option state :=
  if (asked e <? count I)%nat then
    match take_all (asked e) (refresh I (asked e) s) (steps e) with
    | Some s1 =>
        let s' := loaded I (asked e) s1 in
        if agrees s' (after e) then Some s' else None
    | None => None
    end
  else None.

Fixpoint accept (s : state) (log : list entry) : option Q :=
  match log with
  | [] => Some 0
  | e :: rest =>
      match check_entry s e with
      | Some s' =>
          match accept s' rest with
          | Some paid => Some (Qred (cost_of I (missing I (asked e) s) + paid))
          | None => None
          end
      | None => None
      end
  end.

Hypothesis V : valid I.

Lemma check_pay_rent : forall v s d pay c,
  (forall w, (w < count I)%nat -> c w == credit s w - sum I (fun u => pay w u)) ->
  check_pay v s d pay (State (resident s) c) = true -> rent I k v s (State (resident s) c) d pay.
Proof.
  intros v s d pay c Hc H. unfold check_pay in H.
  apply andb_prop in H. destruct H as [H H5]. apply andb_prop in H. destruct H as [H H4].
  apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
  assert (H3' : forall w u, (w < count I)%nat -> (u < count I)%nat ->
    0 <= pay w u /\ (pay w u == 0 \/ (resident s w && unpinned I v s u && needs I w u)%bool = true)).
  { intros w u Hw Hu. rewrite all_nodes_iff in H3. specialize (H3 w Hw). cbv beta in H3.
    rewrite all_nodes_iff in H3. specialize (H3 u Hu). cbv beta in H3.
    apply andb_prop in H3. destruct H3 as [Ha Hb]. apply Qle_bool_iff in Ha. split; auto.
    apply orb_prop in Hb. destruct Hb as [Hb|Hb]; [left; apply Qeq_bool_iff; auto | right; auto]. }
  rewrite all_nodes_iff in H4, H5. split; cbn [resident credit].
  - apply Z.ltb_lt. exact H1.
  - apply Qle_bool_iff. exact H2.
  - intros w u Hw Hu Hne. destruct (H3' w u Hw Hu) as [_ [Hz|Hb]]; [contradiction|].
    apply andb_prop in Hb. destruct Hb as [Hb Hn]. apply andb_prop in Hb. destruct Hb as [HA HU].
    auto.
  - intros w u Hw Hu. apply H3'; auto.
  - intros u Hu HU. specialize (H4 u Hu). unfold is_true in HU. rewrite HU in H4.
    apply Qeq_bool_iff. exact H4.
  - intros u Hu. reflexivity.
  - intros w Hw _. apply Hc. auto.
  - intros w Hw HA. specialize (H5 w Hw). unfold is_true in HA. rewrite HA in H5.
    apply Qle_bool_iff. exact H5.
Qed.

Lemma take_step : forall v s a s', take v s a = Some s' ->
  (exists gone, evict I v s s' gone) \/ (exists d pay, rent I k v s s' d pay).
Proof.
  intros v s [d payments|l] s' H; unfold take in H; cbv zeta in H.
  - right. exists d.
    set (pay := fun w u => nth u (nth w (map (fun w => map (amount payments w) (nodes I)) (nodes I)) []) 0) in *.
    destruct (check_pay v s d pay _) eqn:E in H; [|discriminate]. injection H as <-.
    exists pay. apply check_pay_rent; auto.
    intros w Hw. rewrite table_at by auto. apply Qred_correct.
  - left. set (gone := table false (count I) (of_list l)) in *.
    destruct (check_leave v s gone) eqn:E; [|discriminate]. injection H as <-.
    exists gone. unfold check_leave in E. apply andb_prop in E. destruct E as [E E3].
    apply andb_prop in E. destruct E as [E1 E2]. rewrite all_nodes_iff in E2.
    split; cbn [resident credit].
    + apply is_subset_sound. exact E1.
    + intros u Hu HG. specialize (E2 u Hu). unfold is_true in HG. rewrite HG in E2.
      apply Qeq_bool_iff. exact E2.
    + apply is_closed_sound. exact E3.
    + intros u Hu. apply table_at. auto.
    + intros u Hu _. reflexivity.
Qed.

Lemma take_all_make_room : forall v l s s', take_all v s l = Some s' -> make_room I k v s s'.
Proof.
  induction l as [|a l IH]; simpl; intros s s' H.
  - destruct (is_short I k v s) eqn:E; [discriminate|]. injection H as <-.
    apply room_made. intros Hs. apply Z.ltb_lt in Hs. unfold is_short in E. congruence.
  - destruct (take v s a) as [s1|] eqn:E; [|discriminate].
    destruct (take_step v s a s1 E) as [[gone He]|[d [pay Hr]]].
    + eapply room_evict; eauto.
    + eapply room_rent; eauto.
Qed.

Lemma check_entry_serve : forall s e s', sound I s -> check_entry s e = Some s' ->
  (asked e < count I)%nat /\ serve I k (asked e) s s'.
Proof.
  intros s e s' S H. unfold check_entry in H.
  destruct (asked e <? count I)%nat eqn:Ev; [|discriminate]. apply Nat.ltb_lt in Ev.
  destruct (take_all (asked e) (refresh I (asked e) s) (steps e)) as [s1|] eqn:E; [|discriminate].
  cbv zeta in H. destruct (agrees (loaded I (asked e) s1) (after e)); [|discriminate].
  injection H as <-. split; auto.
  exists (refresh I (asked e) s), s1. split; [apply refresh_hit; auto|].
  split; [apply take_all_make_room with (l := steps e); auto | apply loaded_load].
Qed.

(** An accepted log is a run. *)
Theorem accept_is_run : forall log s paid, sound I s -> accept s log = Some paid ->
  exists last, run I k s (map asked log) last paid.
Proof.
  induction log as [|e log IH]; simpl; intros s paid S H.
  - injection H as <-. exists s. apply run_end. reflexivity.
  - destruct (check_entry s e) as [s1|] eqn:E; [|discriminate].
    destruct (accept s1 log) as [rest|] eqn:Er; [|discriminate]. injection H as <-.
    destruct (check_entry_serve s e s1 S E) as [Hv Hs].
    destruct (IH s1 rest (serve_sound I k V (asked e) s s1 Hv Hs S) Er) as [last R].
    exists last. eapply run_request; eauto. apply Qred_correct.
Qed.

End Check.

(** ** Logged cases, as they are exported *)

Record logged := Logged {
  logged_parents : list (option nat);
  logged_sizes : list Z;
  logged_costs : list Q;
  logged_k : Z;
  logged_entries : list entry;
  logged_paid : Q
}.

Definition logged_forest (c : logged) : forest :=
  forest_of (logged_parents c) (logged_sizes c) (logged_costs c).

(** The forest is one, the log is a run, and the cost is the one the implementation reported. *)
Definition accepted (c : logged) : bool :=
  is_valid_forest (logged_forest c) &&
  match accept (of_forest (logged_forest c)) (logged_k c) start (logged_entries c) with
  | Some paid => Qeq_bool paid (logged_paid c)
  | None => false
  end.

(** What an accepted log is worth: the bound, for the cost that the implementation reported. *)
Theorem accepted_bound : forall c h schedule, accepted c = true -> (1 <= h <= logged_k c)%Z ->
  feasible (of_forest (logged_forest c)) h (map asked (logged_entries c)) schedule ->
  (logged_k c - h + 1)%Z * logged_paid c <=
  logged_k c * offline_cost (of_forest (logged_forest c)) schedule.
Proof.
  intros c h schedule H Hh F. unfold accepted in H. apply andb_prop in H. destruct H as [HV H].
  apply is_valid_forest_sound in HV.
  destruct (accept _ _ start (logged_entries c)) as [paid|] eqn:E in H; [|discriminate].
  apply Qeq_bool_iff in H.
  destruct (accept_is_run _ _ (of_forest_valid _ HV) _ _ _ (start_sound _) E) as [last R].
  rewrite <- H. eapply cosigned_bound; eauto. apply of_forest_valid. auto.
Qed.
