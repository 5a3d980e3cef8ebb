// Package acttest holds the suite that every action passes: what an action
// promises in package act, asked of a real world that the case builds.
package acttest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
)

// Case is one action, and the worlds it is tried in. Every func is given the
// test it runs in (each promise is a subtest of its own, with a fresh world).
type Case struct {
	Action act.Action
	// Setup builds a world where the action is needed, in t.TempDir or with
	// processes of its own, and returns what a plan would ask for there. The
	// suite reads the value through JSON first, as after a crash.
	Setup func(t *testing.T) fleet.Action
	// Fingerprint describes all of the world that the action could touch; Tree
	// and Alive help. Two equal texts mean that nothing was changed.
	Fingerprint func(t *testing.T, a fleet.Action) string
	// Changed changes the thing so that the precondition fails at the instant of
	// acting (another inode, another pid, work begun in it). Several ways may be
	// given, by name. None: the action refuses nothing (a message).
	Changed map[string]func(t *testing.T, a fleet.Action)
	// Gone brings about what the action is for (the file is gone, the process has
	// ended), so that it is unneeded. Nil: the action is never unneeded.
	Gone func(t *testing.T, a fleet.Action)
	// Repeats says that a second run does it again (a message). Otherwise the
	// second run must be unneeded.
	Repeats bool
}

// Test asks everything of the case, each promise as a subtest.
func Test(t *testing.T, c Case) {
	t.Helper()
	if c.Action == nil || c.Setup == nil || c.Fingerprint == nil {
		t.Fatal("cannot test an action without Action, Setup and Fingerprint")
	}
	t.Run("ability", c.ability)
	t.Run("commands are pure", c.commands)
	t.Run("prepare changes nothing", c.prepare)
	t.Run("does and verifies, and is unneeded afterwards", c.does)
	t.Run("cancelled", c.cancelled)
	if c.Gone != nil {
		t.Run("unneeded", c.unneeded)
	}
	for name, change := range c.Changed {
		t.Run("refuses: "+name, func(t *testing.T) { c.refuses(t, change) })
	}
}

func (c Case) ability(t *testing.T) {
	a := c.setup(t)
	able := c.Action.Ability()
	if able.Do == "" || able.Do != a.Do {
		t.Errorf("Ability().Do = %q, the case asks for %q", able.Do, a.Do)
	}
	if able.Deadline <= 0 {
		t.Errorf("Ability().Deadline = %v, want more than nothing", able.Deadline)
	}
	if able.Cannot != "" {
		t.Errorf("Ability().Cannot = %q in a world where it is to be done", able.Cannot)
	}
	if len(able.Touches) == 0 && !able.Harmless {
		t.Error("Ability().Touches is empty: no part would be looked at again")
	}
}

func (c Case) commands(t *testing.T) {
	a := c.setup(t)
	before := c.Fingerprint(t, a)
	first := c.Action.Commands(a)
	if c.Fingerprint(t, a) != before {
		t.Error("Commands changed the world")
	}
	if len(first) == 0 {
		t.Fatal("Commands is empty: nothing could be shown beforehand")
	}
	for i, cmd := range first {
		if len(cmd.Argv) == 0 {
			t.Errorf("command %d has no arguments", i)
		}
	}
	if c.Gone != nil {
		c.Gone(t, a)
	}
	if again := c.Action.Commands(a); !reflect.DeepEqual(first, again) {
		t.Errorf("Commands is not pure: %v, then %v", first, again)
	}
}

func (c Case) prepare(t *testing.T) {
	a := c.setup(t)
	before := c.Fingerprint(t, a)
	run, err := c.Action.Prepare(c.context(t), a)
	if err != nil {
		t.Fatalf("Prepare where it is needed: %v", err)
	}
	after := c.Fingerprint(t, a)
	run.Close()
	if after != before {
		t.Errorf("Prepare changed the world:\n--- before\n%s\n--- after\n%s", before, after)
	}
	if closed := c.Fingerprint(t, a); closed != before {
		t.Errorf("Close without Do changed the world:\n--- before\n%s\n--- after\n%s", before, closed)
	}
}

func (c Case) does(t *testing.T) {
	a := c.setup(t)
	before := c.Fingerprint(t, a)
	effect := Do(t, c.Action, a)
	if effect == "" {
		t.Error("Verify reported no effect")
	}
	if !c.Action.Ability().Harmless && c.Fingerprint(t, a) == before {
		t.Error("Do changed nothing, or the fingerprint does not show it")
	}
	if !c.Repeats {
		c.wantNothing(t, a, act.ErrUnneeded)
	}
}

func (c Case) unneeded(t *testing.T) {
	a := c.setup(t)
	c.Gone(t, a)
	c.wantNothing(t, a, act.ErrUnneeded)
}

func (c Case) refuses(t *testing.T, change func(*testing.T, fleet.Action)) {
	a := c.setup(t)
	change(t, a)
	c.wantNothing(t, a, act.ErrRefused)
}

func (c Case) wantNothing(t *testing.T, a fleet.Action, want error) {
	t.Helper()
	before := c.Fingerprint(t, a)
	run, err := c.Action.Prepare(c.context(t), a)
	if err == nil {
		run.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("Prepare = %v, want %v", err, want)
	}
	if errors.Is(err, act.ErrUnneeded) && errors.Is(err, act.ErrRefused) {
		t.Errorf("Prepare = %v: both unneeded and refused", err)
	}
	if after := c.Fingerprint(t, a); after != before {
		t.Errorf("a failed Prepare changed the world:\n--- before\n%s\n--- after\n%s", before, after)
	}
}

// cancelled: an ended context ends the action with an error, before it has
// changed anything.
func (c Case) cancelled(t *testing.T) {
	a := c.setup(t)
	before := c.Fingerprint(t, a)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	run, err := c.Action.Prepare(ctx, a)
	if err == nil {
		err = run.Do(ctx)
		run.Close()
	}
	if err == nil {
		t.Error("neither Prepare nor Do failed in a cancelled context")
	}
	if after := c.Fingerprint(t, a); after != before {
		t.Errorf("a cancelled action changed the world:\n--- before\n%s\n--- after\n%s", before, after)
	}
}

// setup builds the world, and gives the action the way it would come back from
// the journal.
func (c Case) setup(t *testing.T) fleet.Action {
	t.Helper()
	made := c.Setup(t)
	b, err := json.Marshal(made)
	if err != nil {
		t.Fatalf("cannot write the action down: %v", err)
	}
	var a fleet.Action
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatalf("cannot read the action back: %v", err)
	}
	return a
}

func (c Case) context(t *testing.T) context.Context {
	deadline := max(time.Duration(c.Action.Ability().Deadline), time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// Do prepares, does, verifies and closes one action, fails the test at the
// first error, and returns the effect.
func Do(t *testing.T, action act.Action, a fleet.Action) (effect string) {
	t.Helper()
	deadline := max(time.Duration(action.Ability().Deadline), time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	run, err := action.Prepare(ctx, a)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	defer run.Close()
	if err := run.Do(ctx); err != nil {
		t.Fatalf("Do: %v", err)
	}
	effect, err = run.Verify(ctx)
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return effect
}
