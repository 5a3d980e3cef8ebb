package loop_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
)

// mqDeed is an action that is being done. Between two of its steps Custos may stop.
type mqDeed struct {
	c       *mqCustos
	id      string
	at      time.Duration // of its next step
	step    int           // 0: to be prepared, 1: to be done, 2: its result is to be written down
	planned bool          // an earlier Custos wrote it down, and did not begin
	started bool          // an earlier Custos has begun it
	stands  *mqCommit
	out     *fleet.MergeOutcome
	result  fleet.Result
}

// go on by one step; it says whether it is over.
func (d *mqDeed) goOn() (over bool) {
	rec := d.c.book.action(d.id)
	switch d.step {
	case 0:
		d.begin(rec)
	case 1:
		d.do(rec)
	default:
		d.result.Ended = d.c.w.at()
		rec.Stage, rec.Result = fleet.StageEnded, &d.result
		return true
	}
	return false
}

// end has the result; it is yet to be written down.
func (d *mqDeed) end(status fleet.ResultStatus, err error) {
	if d.step = 2; err != nil {
		d.result.Why = err.Error()
	}
	d.result.Status, d.result.Merge = status, d.out
	d.c.w.tell("%s: %s %s: %s: %s %+v", d.c.name, d.result.Do, d.result.Subject.Name, status, d.result.Why, d.out)
}

// begin is what package act does before an action changes anything.
func (d *mqDeed) begin(rec *fleet.ActionRecord) {
	d.result = fleet.Result{ActionID: rec.ID, Do: rec.Do, Subject: rec.Subject, For: rec.For, Began: d.c.w.at()}
	frozen := d.c.policy.Frozen
	switch {
	case d.planned:
		d.result.Unbegun = true
		d.end(fleet.ResultRefused, errors.New("custos stopped before it began"))
		return
	case frozen != "" && !d.started:
		d.result.Unbegun = true
		d.end(fleet.ResultRefused, errors.New("frozen: "+frozen))
		return
	}
	switch err := d.prepare(rec); {
	case d.started && errors.Is(err, act.ErrUnneeded):
		d.end(fleet.ResultDone, nil)
	case d.started && (err != nil || frozen != ""):
		d.end(fleet.ResultInDoubt, fmt.Errorf("custos stopped while it was being done, and it cannot be told what became of it: %w", errors.Join(err, errors.New(frozen))))
	case errors.Is(err, act.ErrUnneeded):
		d.end(fleet.ResultUnneeded, err)
	case errors.Is(err, act.ErrRefused):
		d.end(fleet.ResultRefused, err)
	case err != nil:
		d.end(fleet.ResultFailed, fmt.Errorf("nothing was done: %w", err))
	default:
		d.step, rec.Stage = 1, fleet.StageStarted
		if !d.started {
			rec.StartedAt = d.c.w.at()
		}
	}
}

func (d *mqDeed) prepare(rec *fleet.ActionRecord) error {
	t := rec.Target.Merge
	switch rec.Do {
	case "build-merge":
		d.out = &fleet.MergeOutcome{Base: t.Group.Base, Commit: t.Group.Commit, Tree: t.Group.Tree}
	case "land-merge":
		return d.prepareLand(t)
	case "run-step":
		if s := rec.Target.Step; d.c.procs[mqKey(s.Run.ID, s.Step, s.Attempt)] != nil {
			return fmt.Errorf("%w: it was begun", act.ErrUnneeded)
		}
	case "clear-merge":
		if !t.Group.Decided() {
			return fmt.Errorf("%w: %s is %s", act.ErrRefused, t.Group.ID, t.Group.State)
		}
		if len(d.c.madeFor(t.Group.ID)) == 0 && !d.c.refs[t.Group.ID] {
			return fmt.Errorf("%w: nothing of it is left", act.ErrUnneeded)
		}
	}
	return nil
}

// do is what an action does, and what it reads back.
func (d *mqDeed) do(rec *fleet.ActionRecord) {
	var err error
	switch t := rec.Target.Merge; rec.Do {
	case "build-merge":
		err = d.build(t)
	case "land-merge":
		err = d.land(t)
	case "clear-merge":
		for _, top := range d.c.madeFor(t.Group.ID) {
			delete(d.c.made, top)
		}
		delete(d.c.refs, t.Group.ID)
	case "run-step":
		d.c.beginStep(rec.Target.Step)
	case "end-step":
		d.c.endStep(rec.Target.Step)
	}
	switch {
	case err == nil && d.c.w.luck(d.c.w.blur):
		if rec.Do == "land-merge" {
			d.out = nil // what it learned it would have read back
		}
		d.end(fleet.ResultUnverified, errors.New("cannot verify"))
	case err == nil:
		d.end(fleet.ResultDone, nil)
	case errors.Is(err, act.ErrInDoubt):
		d.end(fleet.ResultInDoubt, err)
	default:
		d.end(fleet.ResultFailed, err)
	}
}

// build is mergegroup.Builder.
func (d *mqDeed) build(t *fleet.MergeTarget) error {
	r := d.c.w.remote
	if t.Group.Commit == "" {
		if r.down {
			return errors.New("the remote does not answer")
		}
		d.out.Base = r.tip.id
		if t.Unless == r.tip.id {
			return errors.New("main has not moved since its own gates failed")
		}
		d.merge(t, r.tip)
	}
	if len(t.Items) > 0 && len(d.out.Left) == len(t.Items) {
		return nil
	}
	d.c.refs[t.Group.ID] = true
	d.out.Worktree = fmt.Sprintf("%s/%s-%d", t.Queue.Dir, t.Group.ID, t.Group.Runs+1)
	d.c.made[d.out.Worktree] = r.commits[d.out.Commit]
	return nil
}

func (d *mqDeed) merge(t *fleet.MergeTarget, on *mqCommit) {
	at := on
	var placed []string
	for n := range t.Items {
		i := &t.Items[n]
		if left := d.left(t, i, on, at, placed); left != nil {
			d.out.Left = append(d.out.Left, *left)
			continue
		}
		at = d.c.w.remote.merge(at, i.Commit, d.c.name, i.ID, t.Group.At.Wall)
		placed = append(placed, i.ID)
	}
	d.out.Commit, d.out.Tree = at.id, at.treeID()
}

// left says why an item is not merged onto what there is so far.
func (d *mqDeed) left(t *fleet.MergeTarget, i *fleet.MergeItem, base, at *mqCommit, placed []string) *fleet.MergeLeft {
	r := d.c.w.remote
	left := r.moved(i)
	switch {
	case left != nil:
	case at.has(i.Commit) && len(placed) > 0:
		left = &fleet.MergeLeft{ID: i.ID, State: fleet.MergeWaiting, Why: "it is in what is merged before it"}
	case at.has(i.Commit):
		left = &fleet.MergeLeft{ID: i.ID, State: fleet.MergeMerged, Why: "it is in main already", Commit: base.id}
	case r.changes[i.Commit].empty:
		left = &fleet.MergeLeft{ID: i.ID, State: fleet.MergeFailed, Why: "it changes nothing"}
	case r.conflicts(base, i.Commit):
		left = &fleet.MergeLeft{ID: i.ID, State: fleet.MergeConflict, Files: []string{"f"}, Why: "it conflicts with main in 1 file"}
	case r.conflicts(at, i.Commit):
		left = &fleet.MergeLeft{ID: i.ID, State: fleet.MergeWaiting, Files: []string{"f"}, Why: "it conflicts with what is merged before it (" + strings.Join(placed, ", ") + ")"}
	}
	return left
}

// prepareLand is mergegroup.Lander's Prepare.
func (d *mqDeed) prepareLand(t *fleet.MergeTarget) error {
	r := d.c.w.remote
	to := r.commits[t.Group.Commit]
	switch {
	case t.Group.State != fleet.GroupGreen || to == nil || t.Group.Base == "":
		return fmt.Errorf("%w: it has not passed the gates", act.ErrRefused)
	case to.treeID() != t.Group.Tree:
		return fmt.Errorf("%w: its tree is not what passed the gates", act.ErrRefused)
	case r.down:
		return errors.New("the remote does not answer")
	case to.isIn(r.tip):
		return fmt.Errorf("%w: the target has it", act.ErrUnneeded)
	}
	d.stands = r.tip
	return nil
}

// land is mergegroup.Lander's Do.
func (d *mqDeed) land(t *fleet.MergeTarget) error {
	r := d.c.w.remote
	if d.stands.id != t.Group.Base {
		d.out = &fleet.MergeOutcome{Base: d.stands.id}
		return errors.New("main moved meanwhile: it is built anew")
	}
	if err := d.unmoved(t); err != nil {
		return err
	}
	to := r.commits[t.Group.Commit]
	switch {
	case r.declines != "":
		d.out = &fleet.MergeOutcome{Base: d.stands.id, Declined: r.declines}
		return errors.New(r.declines)
	case r.down:
		return fmt.Errorf("%w: the remote does not answer", act.ErrInDoubt)
	case r.tip.id != t.Group.Base: // it is read back what became of the push
		d.out = &fleet.MergeOutcome{Base: r.tip.id}
		return errors.New("the push was rejected")
	}
	d.c.land(to, t)
	d.out = &fleet.MergeOutcome{Base: t.Group.Base, Commit: t.Group.Commit}
	return nil
}

func (d *mqDeed) unmoved(t *fleet.MergeTarget) error {
	out := &fleet.MergeOutcome{}
	for _, m := range t.Group.Items {
		n := slices.IndexFunc(t.Items, func(i fleet.MergeItem) bool { return i.ID == m.ID })
		if n < 0 || t.Items[n].Commit != m.Commit {
			return errors.New(m.ID + " is not what was tested")
		}
		if left := d.c.w.remote.moved(&t.Items[n]); left != nil {
			out.Left = append(out.Left, *left)
		}
	}
	if len(out.Left) > 0 {
		d.out = out
		return errors.New(out.Left[0].Why)
	}
	return nil
}
