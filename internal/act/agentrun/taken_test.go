package agentrun_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/spawn"
	"custos/internal/act/stopagent"
	"custos/internal/fleet"
	"custos/internal/sys/shim"
)

// results is a ledger that keeps what became of actions.
type results map[string]fleet.Result

func (results) Commit(context.Context, fleet.Turn) error           { return nil }
func (results) Start(context.Context, string, fleet.Instant) error { return nil }
func (r results) Finish(_ context.Context, is fleet.Result) error {
	r[is.ActionID] = is
	return nil
}

// takenUp is what becomes of an action that Custos had begun when it was killed.
func (g *ground) takenUp(action act.Action, a fleet.Action) fleet.Result {
	g.t.Helper()
	a.ID, a.Do = "cut off", action.Ability().Do
	done := results{}
	actor := act.New(act.Options{Actions: []act.Action{action}, Ledger: done, Now: g.world.Now, Workers: 1})
	actor.Recover(g.t.Context(), []fleet.ActionRecord{{Action: a, Stage: fleet.StageStarted}})
	if err := actor.Wait(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	actor.Close()
	return done[a.ID]
}

// begunStop is a stop that was cut off once it had written down who asks for it.
func (g *ground) begunStop(name, by string) (act.Action, fleet.Action) {
	g.t.Helper()
	x, err := stopagent.New(stopagent.Options{World: g.world, TermWait: "1s", Watch: "300ms"})
	if err != nil {
		g.t.Fatal(err)
	}
	a := g.seen(name, fleet.StateStuck)
	if err := shim.SayAsked(shim.Dir(g.world.Shims, a.Instance), fleet.ByCustos, false); err != nil {
		g.t.Fatal(err)
	}
	return x, fleet.Action{Target: fleet.Target{Agent: a}, By: by}
}

// The stop of a rule that Custos did not live to finish is refused when the agent has
// gone on meanwhile, as one that was never cut off: nothing explains a later crash.
func TestAStopThatIsTakenUpAndRefused(t *testing.T) {
	g := newGround(t)
	g.register(fleet.Registration{Name: "busy", Argv: []string{"--fake", "busy"}})
	g.must(g.spawn(spawn.Options{}, "busy"))
	g.await("it to be busy", func() bool { return g.screen("busy") != "" })
	r := g.takenUp(g.begunStop("busy", ""))
	if r.Status != fleet.ResultRefused || !strings.HasPrefix(r.Why, "it works") {
		t.Errorf("it is %s: %q", r.Status, r.Why)
	}
	g.kill("busy")
	if by := g.askedBy("busy"); by != "" {
		t.Errorf("its crash was asked for by %q", by)
	}
}

// One that had ended the agent, and not yet all that the agent had started, goes on:
// who asked for that end still stands beside it.
func TestAStopThatIsTakenUpHalfDone(t *testing.T) {
	g := newGround(t)
	g.ready("half", "--fake", "setsid 300s")
	g.await("its child", func() bool { return len(g.noted("child")) == 1 })
	x, a := g.begunStop("half", "")
	g.kill("half")
	r := g.takenUp(x, a)
	if r.Status != fleet.ResultDone {
		t.Errorf("it is %s: %q", r.Status, r.Why)
	}
	if pid, err := strconv.Atoi(g.noted("child")[0]); err != nil || alive(pid) {
		t.Errorf("child %d lives, %v", pid, err)
	}
	if by := g.askedBy("half"); by != fleet.ByCustos {
		t.Errorf("its end was asked for by %q", by)
	}
}
