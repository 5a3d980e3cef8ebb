package agentrun_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"custos/internal/act/agentrun"
	"custos/internal/act/spawn"
	"custos/internal/fleet"
	"custos/internal/session/sessiontest"
	"custos/internal/sys/shim"
)

// isOne: of an agent without a terminal one process was started, and the ledger knows
// it and when.
func (g *ground) isOne(name, where string, before int) {
	g.t.Helper()
	all, err := shim.List(g.world.Shims)
	if err != nil || len(all) != before+1 {
		g.t.Errorf("cut off %s: %d were started, want 1, %v", where, len(all)-before, err)
	}
	r := g.ledger[name]
	for _, s := range all {
		if s.Started.Key == r.Instance && s.Started.Agent.PID == r.Process.PID && r.StartedAt.Up <= fleet.Duration(s.Started.At.Up) {
			return
		}
	}
	g.t.Errorf("cut off %s: the ledger knows process %d of %s, since %v: %+v", where, r.Process.PID, r.Instance, r.StartedAt, all)
}

// A start in which Custos is killed, at whatever step, is taken up as the one that it
// was: an agent without a terminal gets its first prompt, once.
func TestAHeadlessStartIsTakenUpAtEachStep(t *testing.T) {
	where := "?"
	for n := 1; where != ""; n++ {
		g := newGround(t)
		x, err := spawn.New(spawn.Options{Launcher: g.launcher})
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("cut-%d", n)
		r := g.register(fleet.Registration{Name: name, Where: fleet.WhereHeadless, Prompt: "mend the tests", PromptState: fleet.DeliveryPending})
		a := fleet.Action{ID: "start " + name, Target: fleet.Target{Registration: &r}}
		if where = g.until(x, a, n); where != "" {
			g.must(g.perform(x, a))
		}
		if where == "" {
			break
		}
		g.isOne(name, where, 0)
		g.await("its prompt, cut off "+where, func() bool { return len(g.noted("prompt")) > 0 })
		if told := g.noted("prompt"); len(told) != 1 || told[0] != "mend the tests" {
			t.Errorf("cut off %s (%d): it was told %q", where, n, told)
		}
	}
}

// A recovery, likewise.
func TestAHeadlessRecoveryIsTakenUpAtEachStep(t *testing.T) {
	for name, prompt := range map[string]fleet.Delivery{"goes on": "", "never took its prompt": fleet.DeliveryUndelivered} {
		t.Run(name, func(t *testing.T) {
			where := "?"
			for n := 1; where != ""; n++ {
				g := newGround(t)
				agent := fmt.Sprintf("cut-%d", n)
				g.register(fleet.Registration{Name: agent, Where: fleet.WhereHeadless, Prompt: "fake work 1h", PromptState: fleet.DeliveryPending})
				g.must(g.spawn(spawn.Options{}, agent))
				g.await("its prompt", func() bool { return len(g.noted("prompt")) == 1 })
				g.kill(agent)
				if prompt != "" {
					r := g.ledger[agent]
					r.PromptState = prompt
					g.ledger[agent] = r
				}
				a := g.crashed(agent)
				if where = g.until(g.recovery(), a, n); where == "" {
					break
				}
				if effect, err := g.perform(g.recovery(), a); err != nil {
					t.Errorf("cut off %s (%d): %q, %v", where, n, effect, err)
					continue
				}
				g.isOne(agent, where, 1)
				g.await("its prompt, cut off "+where, func() bool { return len(g.noted("prompt")) > 1 })
				if told := g.noted("prompt")[1:]; len(told) != 1 || !strings.Contains(told[0], "fake work 1h") || g.ledger[agent].PromptState != fleet.DeliverySent {
					t.Errorf("cut off %s (%d): it was told %q, which the ledger knows as %s", where, n, told, g.ledger[agent].PromptState)
				}
			}
		})
	}
}

// What could not be given is not known as sent: the next recovery gives it.
func TestAPromptThatCouldNotBeGiven(t *testing.T) {
	g := newGround(t)
	g.register(fleet.Registration{Name: "early", Where: fleet.WhereHeadless, Prompt: "fake work 1h", PromptState: fleet.DeliveryPending})
	g.must(g.spawn(spawn.Options{}, "early"))
	g.kill("early")
	r := g.ledger["early"]
	r.PromptState = fleet.DeliveryUndelivered
	g.ledger["early"] = r
	a := g.crashed("early")
	if where := g.until(g.recovery(), a, 2); where != "after a launch" {
		t.Fatalf("it was cut off %q", where)
	}
	dir := shim.Dir(g.world.Shims, agentrun.Instance(a.ID))
	s, _, err := shim.Read(dir)
	if err == nil {
		err = syscall.Kill(s.Agent.PID, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.AwaitExit(t, dir)
	if effect, err := g.perform(g.recovery(), a); err == nil {
		t.Errorf("recover: %q", effect)
	}
	if is := g.ledger["early"].PromptState; is != fleet.DeliveryUndelivered {
		t.Errorf("its prompt is known as %s", is)
	}
	a = g.crashed("early")
	a.ID = "once more"
	g.must(g.perform(g.recovery(), a))
	g.await("its prompt", func() bool { return has(g.noted("prompt"), "fake work 1h") })
}
