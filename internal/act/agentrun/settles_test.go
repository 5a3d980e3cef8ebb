package agentrun_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"custos/internal/act/spawn"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/shim"
)

// deadly is a provider whose agents are ended by dies as soon as they have begun.
type deadly struct {
	session.Provider
	dies func(s shim.Started)
}

func (p *deadly) Launch(ctx context.Context, l session.Launch) (session.Launched, error) {
	got, err := p.Provider.Launch(ctx, l)
	if s, _, unread := shim.Read(l.Shim); err == nil && unread == nil {
		p.dies(s)
	}
	return got, err
}

// TestRecoveredMeansThatItLives: whoever dies in the time that it must live was not
// recovered, whatever it told before, whatever its exit status was, and whether
// anybody saw how it ended. One that answers what it was given and ends has done that.
func TestRecoveredMeansThatItLives(t *testing.T) {
	killed := func(t *testing.T, g *ground) func(shim.Started) {
		return func(s shim.Started) {
			for _, pid := range []int{s.Shim.PID, s.Agent.PID} {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
		}
	}
	told := func(t *testing.T, g *ground) func(shim.Started) {
		begun := len(g.noted("prompt")) // before it is started: it may take its turn at once
		return func(s shim.Started) {
			g.await("its turn", func() bool { return len(g.noted("prompt")) > begun || len(g.noted("stop")) > begun })
			killed(t, g)(s)
		}
	}
	well := func(*testing.T, *ground) func(shim.Started) { return func(shim.Started) {} }
	for name, c := range map[string]struct {
		kind  string
		where fleet.Where
		argv  []string // of the second instance
		dies  func(*testing.T, *ground) func(shim.Started)
		want  string // "" when it is recovered
	}{
		"a command, and its shim":           {agent.Generic, fleet.WhereTmux, []string{"sleep", "1000"}, killed, "cannot be told how it ended"},
		"a command that shows nothing":      {agent.Generic, fleet.WhereHeadless, []string{"sleep", "1000"}, killed, "cannot be told how it ended"},
		"a command that ends well":          {agent.Generic, fleet.WhereTmux, []string{"true"}, well, "status 0"},
		"an agent that ends well":           {"claude", fleet.WhereTmux, []string{"--fake", "exit 0"}, well, "status 0"},
		"an agent that told of its turn":    {"claude", fleet.WhereTmux, nil, told, "cannot be told how it ended"},
		"an agent that has answered, alone": {"claude", fleet.WhereHeadless, nil, well, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			r := fleet.Registration{Name: "brief", Where: c.where}
			switch {
			case c.kind == agent.Generic:
				r.Kind, r.Argv = agent.Generic, []string{"sleep", "1000"}
			case c.where == fleet.WhereHeadless:
				r.Prompt = "fake work 1h"
			}
			g.register(r)
			g.must(g.spawn(spawn.Options{}, "brief"))
			g.kill("brief")
			r = g.ledger["brief"]
			if c.kind == agent.Generic {
				r.Argv = c.argv
			} else {
				r.Argv, r.Prompt, r.SessionID = append(r.Argv[:1:1], c.argv...), "", ""
			}
			g.ledger["brief"] = r
			g.world.Providers[c.where] = &deadly{g.world.Providers[c.where], c.dies(t, g)}
			effect, err := g.recover("brief")
			switch {
			case c.want == "" && (err != nil || !strings.Contains(effect, "it has ended well")):
				t.Errorf("recover: %q, %v", effect, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), "has ended again") || !strings.Contains(err.Error(), c.want)):
				t.Errorf("recover: %q, %v, want that it has ended again: %s", effect, err, c.want)
			}
			if x := g.ledger["brief"].Exit; c.want == "status 0" && (x == nil || !x.Failed()) {
				t.Errorf("its end is on record as %+v: nothing starts it again", x)
			}
		})
	}
}
