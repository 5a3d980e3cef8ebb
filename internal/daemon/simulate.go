package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"custos/internal/api"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/scenario"
	"custos/internal/store"
	"custos/internal/view"
)

// Simulate tells the stories of a file (docs/simulate.md): what is thought and planned
// at each of their moments, by the rules and the policy of cfg, or of the custos.toml in
// the file. It looks at nothing of this machine and does nothing; what it remembers from
// moment to moment it keeps in a folder that it removes.
func Simulate(ctx context.Context, cfg config.Config, o Options, name string, text []byte) (out api.Simulation, err error) {
	told, err := scenario.Read(name, text, "")
	if err != nil {
		return out, &config.Mistake{Err: err}
	}
	if told.Config != nil {
		if cfg, err = configOf(told, cfg); err != nil {
			return out, err
		}
	}
	dir, err := os.MkdirTemp("", "custos-simulate-")
	if err != nil {
		return out, fmt.Errorf("cannot simulate: %w", err)
	}
	defer os.RemoveAll(dir)
	cfg.StateDir, cfg.RuntimeDir, cfg.JournalDir = dir, filepath.Join(dir, "run"), filepath.Join(dir, "journal")
	s, err := build(cfg, o, as{what: "simulate", every: cfg.PatrolEvery, tell: o.Stderr})
	if err != nil {
		return out, err
	}
	out = api.Simulation{File: name, Stories: []api.SimulatedStory{}, Missed: []api.SimulatedMissed{}}
	for i, story := range told.Stories {
		t := teller{s: s, file: filepath.Join(dir, fmt.Sprint(i), "custos.db"), out: &out}
		if err := t.tell(ctx, story); err != nil {
			return out, err
		}
	}
	return out, nil
}

// configOf reads the custos.toml of a file of stories. Where things lie is as in cfg.
func configOf(f scenario.File, cfg config.Config) (config.Config, error) {
	read := func(string) ([]byte, error) { return f.Config, nil }
	getenv := func(name string) string {
		if name == "HOME" {
			return cfg.Home
		}
		return ""
	}
	return config.Load(config.Options{File: f.Name, Getenv: getenv, ReadFile: read, Sections: Sections()})
}

// teller tells one story. What a moment has become is remembered in a ledger, as the
// loop does it; each action is taken to be done well before the next moment.
type teller struct {
	s    *system
	file string
	out  *api.Simulation
	st   *store.Store
}

func (t *teller) tell(ctx context.Context, story scenario.Story) (err error) {
	began := scenario.Start().Add(-24 * time.Hour)
	if t.st, err = store.Open(ctx, store.Options{Path: t.file, StartedAt: began}); err != nil {
		return fmt.Errorf("cannot simulate: %w", err)
	}
	defer t.st.Close()
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
	t.out.Stories = append(t.out.Stories, shown)
	return nil
}

func (t *teller) moment(ctx context.Context, step scenario.Step) (fleet.Pass, error) {
	seen, err := step.Snapshot(t.s.world.Kinds)
	if err != nil {
		return fleet.Pass{}, &config.Mistake{Err: err}
	}
	past, err := t.past(ctx, seen)
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
	p := loop.Judge(t.s.rules, fleet.Recording{Snapshot: seen, Past: past, Policy: t.policy()})
	return p, t.remember(ctx, p)
}

// policy is the daemon's; what this machine cannot do does not count.
func (t *teller) policy() fleet.Policy {
	p := t.s.policy(fleet.PatrolOrder{})
	able := make(map[string]fleet.Ability, len(p.Abilities))
	for do, a := range p.Abilities {
		a.Cannot, a.Needs = "", ""
		able[do] = a
	}
	p.Abilities = able
	return p
}

// past is what is remembered before a moment. An agent that is seen to be registered is.
func (t *teller) past(ctx context.Context, seen fleet.Snapshot) (fleet.Past, error) {
	for _, a := range seen.Agents.Value {
		if !a.Registered {
			continue
		}
		began := seen.At.Add(-time.Duration(a.Age.Or(0)))
		_, err := t.st.Register(ctx, fleet.Registration{Name: a.Name, Kind: a.Kind, Owner: a.Owner, Where: a.Where, Argv: []string{a.Kind}, Task: a.Task, Parent: a.Parent,
			Project: a.Project, Account: a.Account, Restart: a.Restart, Standing: a.Standing, Desired: a.Desired, CreatedAt: began, StartedAt: began}, seen.At)
		if err != nil && !errors.Is(err, store.ErrExists) {
			return fleet.Past{}, err
		}
	}
	return t.st.Past(ctx, seen.At)
}

// remember commits what a moment has become, and that its actions were done.
func (t *teller) remember(ctx context.Context, p fleet.Pass) error {
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

func (t *teller) check(story string, step scenario.Step, p fleet.Pass) error {
	missed, err := step.Check(p, scenario.Known{Rules: t.s.rules.Names(), Actions: catalog.ActionNames()})
	if err != nil {
		return &config.Mistake{Err: err}
	}
	for _, m := range missed {
		t.out.Missed = append(t.out.Missed, api.SimulatedMissed{Story: story, Line: m.Line.Number, Want: m.Line.Word + " " + m.Line.Rest, Says: m.Says})
	}
	t.out.Wants += len(step.Wants)
	return nil
}
