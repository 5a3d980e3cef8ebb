package agentrun_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/act/nudge"
	"custos/internal/act/recover"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/shim"
)

// cutter ends whoever passes the so-manyeth point, as a SIGKILL ends Custos: what was
// done is done, and nothing more is.
type cutter struct {
	left   int
	passed []string
}

func (c *cutter) point(name string) {
	c.passed = append(c.passed, name)
	if c.left--; c.left == 0 {
		runtime.Goexit()
	}
}

// cutProvider has a point before and behind each change that it makes.
type cutProvider struct {
	session.Provider
	*cutter
}

func (p cutProvider) Launch(ctx context.Context, l session.Launch) (session.Launched, error) {
	p.point("before a launch")
	got, err := p.Provider.Launch(ctx, l)
	p.point("after a launch")
	return got, err
}

func (p cutProvider) Type(ctx context.Context, id fleet.PaneID, in session.Input) error {
	err := p.Provider.Type(ctx, id, in)
	p.point("after it was given " + cmp.Or(string(in.Key), "a text"))
	return err
}

func (p cutProvider) Close(ctx context.Context, id fleet.PaneID) error {
	err := p.Provider.Close(ctx, id)
	p.point("after a terminal was closed")
	return err
}

// until carries an action out until the n-th point; it returns where that was, ""
// when it went through. The ledger learns as it does in the daemon.
func (g *ground) until(x act.Action, a fleet.Action, n int) string {
	g.t.Helper()
	c := &cutter{left: n}
	real := maps.Clone(g.world.Providers)
	for where, p := range real {
		g.world.Providers[where] = cutProvider{p, c}
	}
	defer maps.Copy(g.world.Providers, real)
	through, gone := false, make(chan struct{})
	go func() {
		defer close(gone)
		run, err := x.Prepare(g.t.Context(), a)
		if err != nil {
			g.t.Errorf("%s: %v", a.ID, err)
			return
		}
		if f, ok := run.(act.Foreteller); ok {
			f.Foretell(func(r fleet.Registration) {
				c.point("before it is learned")
				g.ledger[r.Name] = g.ledger[r.Name].Learn(r)
				c.point("after it is learned")
			})
		}
		if err := run.Do(g.t.Context()); err != nil {
			g.t.Errorf("%s: %v", a.ID, err)
		}
		c.point("before it is verified")
		through = true
	}()
	<-gone
	if through {
		return ""
	}
	return c.passed[len(c.passed)-1]
}

func (g *ground) recovery() *recover.Action {
	g.t.Helper()
	x, err := recover.New(recover.Options{Launcher: g.launcher, Home: g.home, Settle: "1s", Boot: "60s"})
	if err != nil {
		g.t.Fatal(err)
	}
	return x
}

// crashed is the action that recovers an agent that was killed.
func (g *ground) crashed(name string) fleet.Action {
	r, seen := g.ledger[name], g.seen(name, fleet.StateCrashed)
	seen.Process = fleet.ProcessID{}
	return fleet.Action{ID: "recover " + name, Do: recover.Do, Target: fleet.Target{Agent: seen, Registration: &r}}
}

// A recovery in which Custos is killed, at whatever step, is taken up as the one that
// it was: the agent runs once, in one terminal, and goes on as it would have without.
func TestARecoveryIsTakenUpAtEachStep(t *testing.T) {
	for name, c := range map[string]struct {
		die   func(g *ground, name string)
		says  string
		tells string // that the agent is told, once
	}{
		"goes on": {func(g *ground, name string) {
			g.ready(name)
			g.must(g.nudge(name, "fake work 1h", nudge.Options{}))
			g.kill(name)
		}, "its conversation goes on", "go on with what you were doing"},
		"never took its prompt": {func(g *ground, name string) {
			g.prompted(name, "mend the tests", "boot 1h")
			g.kill(name)
			r := g.ledger[name]
			r.Argv[len(r.Argv)-1] = "lost 1500ms" // it is watched for 1s
			g.ledger[name] = r
		}, "begins afresh", "mend the tests"},
		"takes the place of one that handed over": {func(g *ground, name string) {
			g.ready(name)
			g.kill(name)
			r := g.ledger[name]
			r.Handoff = &fleet.Handoff{Instance: r.Instance, Stage: fleet.HandoffStarting, Text: "what I know"}
			g.ledger[name] = r
		}, "hook told of prompt", "what I know"},
	} {
		t.Run(name, func(t *testing.T) {
			where := "?"
			for n := 1; where != ""; n++ {
				g := newGround(t)
				agent := fmt.Sprintf("cut-%d", n)
				c.die(g, agent)
				before := len(g.noted("prompt"))
				a := g.crashed(agent)
				if where = g.until(g.recovery(), a, n); where == "" {
					break
				}
				effect, err := g.perform(g.recovery(), a)
				if err != nil || !strings.Contains(effect, c.says) {
					t.Errorf("cut off %s (%d): %q, %v", where, n, effect, err)
					continue
				}
				g.runsOnce(agent, where)
				if told := strings.Join(g.noted("prompt")[before:], "\n"); strings.Count(told, c.tells) != 1 {
					t.Errorf("cut off %s (%d): it was told %q", where, n, told)
				}
			}
		})
	}
}

// runsOnce: of an agent one process runs, in one terminal, and the ledger knows it
// and when it was started.
func (g *ground) runsOnce(name, where string) {
	g.t.Helper()
	r := g.ledger[name]
	all, err := shim.List(g.world.Shims)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, s := range all {
		if s.Started.Name != name || s.Exit != nil {
			continue
		}
		if s.Started.Key != r.Instance || s.Started.Agent.PID != r.Process.PID {
			g.t.Errorf("cut off %s: process %d of %s runs, and the ledger knows %d of %s", where, s.Started.Agent.PID, s.Started.Key, r.Process.PID, r.Instance)
		}
		if at := fleet.Duration(s.Started.At.Up); at < r.StartedAt.Up {
			g.t.Errorf("cut off %s: it was started at %v, and the ledger has %v", where, at, r.StartedAt.Up)
		}
	}
	if list := g.sessionsOf(name); len(list) != 1 || !alive(r.Process.PID) {
		g.t.Errorf("cut off %s: process %d lives: %v, terminals %v", where, r.Process.PID, alive(r.Process.PID), list)
	}
}

// TestAStartTakenUpHearsAllThatItTold: what an agent told before its shim had written down
// that it runs is told after it was started, for whoever takes the start up as well.
func TestAStartTakenUpHearsAllThatItTold(t *testing.T) {
	g := newGround(t)
	g.ready("one")
	r := g.ledger["one"]
	b, err := g.launcher.Plan(r, r.Instance, fleet.RawPath(r.Dir), agentrun.How{})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := shim.ReadClaim(b.Launch.Shim)
	if err != nil {
		t.Fatal(err)
	}
	got, since, err := g.launcher.Start(t.Context(), &b)
	if err != nil || got.Agent != r.Process || since != agentrun.At(claim.At) {
		t.Errorf("%+v since %v (%v), want since it was claimed, at %v", got, since, err, claim.At)
	}
}
