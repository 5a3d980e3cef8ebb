// Package simulate plays stories (docs/simulate.md): each moment is judged as a pass is,
// and remembered for the next. It looks at nothing of this machine, and does nothing.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/agent"
	"custos/internal/api"
	"custos/internal/assess"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/scenario"
	"custos/internal/store"
	"custos/internal/view"
)

// World is what stories are judged by.
type World struct {
	Rules  assess.Rules
	Kinds  *agent.Kinds // that signals are read by
	Policy fleet.Policy
	Holds  func(fleet.Past, *fleet.Snapshot) // as of loop.Options
	Known  scenario.Known
}

// player plays one story. What a moment has become is remembered in a ledger, as the
// loop does it; each action is taken to be done well before the next moment.
type player struct {
	World
	out *api.Simulation
	st  *store.Store
}

// Play plays a story, with its ledger in a new file, and adds to out what came of it. Its
// error is a config.Mistake where the story cannot be read.
func (w World) Play(ctx context.Context, file string, story scenario.Story, out *api.Simulation) error {
	if err := story.Names(w.Known); err != nil {
		return &config.Mistake{Err: err}
	}
	began := scenario.Start().Add(-24 * time.Hour)
	st, err := store.Open(ctx, store.Options{Path: file, StartedAt: began})
	if err != nil {
		return fmt.Errorf("cannot simulate: %w", err)
	}
	defer st.Close()
	t := player{w, out, st}
	shown := api.SimulatedStory{Name: story.Name, Moments: []api.SimulatedMoment{}}
	for _, step := range story.Steps {
		p, err := t.moment(ctx, step)
		if err != nil {
			return err
		}
		shown.Moments = append(shown.Moments, view.Simulated(p, step.Line, step.At))
		if err := t.check(story.Name, step, p); err != nil {
			return err
		}
	}
	out.Stories = append(out.Stories, shown)
	return nil
}

func (t *player) moment(ctx context.Context, step scenario.Step) (fleet.Pass, error) {
	seen, err := step.Snapshot(t.Kinds)
	if err != nil {
		return fleet.Pass{}, &config.Mistake{Err: err}
	}
	if err := t.enroll(ctx, seen); err != nil {
		return fleet.Pass{}, fmt.Errorf("cannot simulate: %w", err)
	}
	if err := t.asked(ctx, step.Asks, seen); err != nil {
		return fleet.Pass{}, err
	}
	past, err := t.st.Past(ctx, seen.At)
	if err != nil {
		return fleet.Pass{}, fmt.Errorf("cannot simulate: %w", err)
	}
	if step.Patrol {
		seen.Patrol = past.Patrol + 1
	}
	if step.Back > 0 {
		past.Newest = seen.At.Add(step.Back)
		past.Newest.Boot = "earlier" // within one boot no clock goes back
	}
	seen.Agents.Value = ledger.Nudged(past, seen)
	if !past.Records.IsZero() { // its own: what records mean follows from them
		t.Holds(past, &seen)
		seen.Coordination = ledger.Facts(past, seen)
	}
	p := loop.Judge(t.Rules, fleet.Recording{Snapshot: seen, Past: past, Policy: t.Policy})
	return p, t.remember(ctx, p)
}

// enroll registers the agents that are seen to be registered.
func (t *player) enroll(ctx context.Context, seen fleet.Snapshot) error {
	for _, a := range seen.Agents.Value {
		if !a.Registered {
			continue
		}
		began := seen.At.Add(-time.Duration(a.Age.Or(0)))
		_, err := t.st.Register(ctx, fleet.Registration{Name: a.Name, Kind: a.Kind, Owner: a.Owner, Where: a.Where, Argv: []string{a.Kind}, Task: a.Task, Parent: a.Parent,
			Project: a.Project, Account: a.Account, Restart: a.Restart, Standing: a.Standing, Desired: a.Desired, CreatedAt: began, StartedAt: began}, seen.At)
		if err != nil && !errors.Is(err, store.ErrExists) {
			return err
		}
	}
	return nil
}

// remember commits what a moment has become, and that its actions were done.
func (t *player) remember(ctx context.Context, p fleet.Pass) error {
	turn := p.Plan.Turn()
	turn.Patrol, turn.Assessment = p.Number, p.Assessment
	if err := t.st.Commit(ctx, turn); err != nil {
		return fmt.Errorf("cannot simulate: %w", err)
	}
	for _, a := range p.Plan.Actions {
		err := t.st.Start(ctx, a.ID, p.Plan.At)
		if err == nil {
			err = t.st.Finish(ctx, fleet.Result{ActionID: a.ID, Do: a.Do, Subject: a.Subject, For: a.For, Status: fleet.ResultDone, Began: p.Plan.At, Ended: p.Plan.At})
		}
		if err != nil {
			return fmt.Errorf("cannot simulate: %w", err)
		}
	}
	return nil
}

func (t *player) check(story string, step scenario.Step, p fleet.Pass) error {
	missed, err := step.Check(p, t.Known)
	if err != nil {
		return &config.Mistake{Err: err}
	}
	for _, m := range missed {
		t.out.Missed = append(t.out.Missed, api.SimulatedMissed{Story: story, Line: m.Line.Number, Want: m.Line.Word + " " + m.Line.Rest, Says: m.Says})
	}
	t.out.Wants += len(step.Wants)
	return nil
}
