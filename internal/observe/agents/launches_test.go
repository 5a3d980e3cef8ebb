package agents

import (
	"context"
	"errors"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// launches has the shims of a world tell what they have started.
func launches(b *ledger, err error, all ...Launch) func(*Options) {
	return func(o *Options) {
		b.options(o)
		o.Launches = func() ([]Launch, error) { return all, err }
	}
}

// A start that the ledger never heard the end of is told by its shim: whatever was
// wanted of the agent meanwhile, it runs.
func TestAStartInDoubtIsSeenByItsShim(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		args []string
		reg  func(*fleet.Registration)
	}{
		"never noted":              {"generic", []string{"sleep", "600"}, func(r *fleet.Registration) { r.Instance = "" }},
		"never noted, and stopped": {"generic", []string{"sleep", "600"}, func(r *fleet.Registration) { r.Instance, r.Desired = "", fleet.DesiredStopped }},
		"noted without a process":  {"generic", []string{"sleep", "600"}, func(r *fleet.Registration) { r.Instance = "i-new" }},
		"an agent CLI":             {"claude", []string{"claude"}, func(r *fleet.Registration) { r.Instance = "" }},
		"another one had ended": {"generic", []string{"sleep", "600"}, func(r *fleet.Registration) {
			r.Instance, r.Process, r.Exit = "i-old", id(9), exited(0)
			r.Exit.Instance = "i-old"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(), newLedger()
			w.proc(10, 1, c.args...)
			b.marks[10] = "s7:i-new"
			reg := b.reg("s7", 0)
			reg.Kind = c.kind
			c.reg(reg)
			before := *reg
			found := see(t, w.probe(t, launches(b, nil, Launch{Name: "s7", Instance: "i-new", Process: id(10), At: w.now})))
			a := found["s7"]
			if a.Process != id(10) || a.Instance != "i-new" || !a.Registered || a.Owner != fleet.OwnerCustos || over(a.State) || a.State == fleet.StateStopped || a.Exit != nil {
				t.Errorf("it is %s (%s), process %d, instance %q, registered %t, exit %v", a.State, a.Reason, a.Process.PID, a.Instance, a.Registered, a.Exit)
			}
			if len(found) != 1 {
				t.Errorf("it is told as %d agents", len(found))
			}
			if b.regs[0].Instance != before.Instance || b.regs[0].Process != before.Process {
				t.Error("what the ledger handed over was changed")
			}
		})
	}
}

// Neither another's start, nor one that is over, nor one that is older than what
// runs makes an agent run.
func TestOtherStartsAreNotTheAgents(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "sleep", "600")
	w.proc(12, 1, "claude")
	b.reg("down", 0).Instance = ""
	b.reg("up", 12)
	found := see(t, w.probe(t, launches(b, nil,
		Launch{Name: "other", Instance: "i-other", Process: id(10), At: w.now},
		Launch{Name: "down", Instance: "i-down", Process: id(11), At: w.now}, // nobody has this pid
		Launch{Name: "up", Instance: "i-before", Process: id(10), At: w.now})))
	if a := found["down"]; a.Process.PID != 0 || a.State != fleet.StateStarting {
		t.Errorf("down is %s, process %d", a.State, a.Process.PID)
	}
	if a := found["up"]; a.Process != id(12) {
		t.Errorf("up is process %d", a.Process.PID)
	}
}

// When the shims' records cannot be read, whoever is not seen may run all the same.
func TestUnreadableStartsLeaveItOpenWhetherItRuns(t *testing.T) {
	w, b := newWorld(), newLedger()
	r := b.reg("never", 0)
	r.Instance, r.Desired = "", fleet.DesiredStopped
	b.reg("down", 20)
	b.exits["i-down"] = exited(0)
	found := see(t, w.probe(t, launches(b, errors.New("permission denied"))))
	for _, name := range []string{"never", "down"} {
		if a := found[name]; a.State != fleet.StateUnknown || !strings.Contains(a.Reason, "permission denied") {
			t.Errorf("%s is %s (%s)", name, a.State, a.Reason)
		}
	}
}

// What runs under a shim of ours is told, though the ledger has lost all it knew of it:
// seen, by the name that its shim has of it, and nobody's to act on. Whose it is is not
// known. What is told already is not told twice.
func TestWhatALostPastStartedIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		reg    string // name of a registration; "" for none
		launch int    // the process of the launch
		args   []string
		want   int
	}{
		"any command":                 {"", 10, []string{"sleep", "600"}, 1},
		"one that an agent CLI is in": {"", 10, []string{"claude"}, 1},
		"a start that is under way":   {"s7", 10, []string{"sleep", "600"}, 1},
		"it has ended":                {"", 77, []string{"sleep", "600"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(), newLedger()
			w.proc(9, 1, shimName, "--dir", "/run/agents/i-new")
			w.proc(10, 9, c.args...)
			if c.reg != "" {
				b.reg(c.reg, 0).Instance = ""
			}
			found := see(t, w.probe(t, launches(b, nil, Launch{Name: "s7", Instance: "i-new", Process: id(c.launch), At: w.now})))
			if len(found) != c.want {
				t.Fatalf("it is told as %d agents, want %d: %+v", len(found), c.want, found)
			}
			a, named := found["s7"]
			if c.reg == "" && c.want > 0 && (!named || a.Process != id(10) || a.Registered || a.Owner != fleet.OwnerUnknown || a.Instance != "i-new" || over(a.State)) {
				t.Errorf("it is %+v", a)
			}
		})
	}
}

// A shim that has claimed its instance and not written down what it started names its
// agent all the same; it is no process of the agent's.
func TestAClaimNamesItsAgent(t *testing.T) {
	for name, c := range map[string]struct {
		reg   string
		args  []string
		owner fleet.Owner // "": nothing is seen
	}{
		"an agent CLI":            {"", []string{"claude"}, fleet.OwnerUnknown},
		"a start under way":       {"s7", []string{"claude"}, fleet.OwnerCustos},
		"a recovery under way":    {"s7 again", []string{"claude"}, fleet.OwnerCustos},
		"a command: not known as": {"", []string{"sleep", "600"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(), newLedger()
			w.proc(9, 1, shimName, "--dir", "/run/agents/i-new")
			w.proc(10, 9, c.args...)
			switch c.reg {
			case "s7":
				b.reg("s7", 0).Instance = ""
			case "s7 again":
				b.reg("s7", 20)
				b.exits["i-s7"] = killed(9)
			}
			found := see(t, w.probe(t, launches(b, nil, Launch{Name: "s7", Instance: "i-new", Shim: id(9), At: w.now})))
			a, is := found["s7"]
			if is != (c.owner != "") || is && (a.Process != id(10) || a.Owner != c.owner || a.Instance != "i-new" || over(a.State)) || len(found) > 1 {
				t.Errorf("seen are %+v", found)
			}
		})
	}
}

// While the past is lost nobody can tell of any agent whose it is: a person may have
// handed it over. What the configuration adopts it still adopts.
func TestWhoseAnAgentIsCannotBeToldWithoutThePast(t *testing.T) {
	for lost, want := range map[string]fleet.Owner{"the database is damaged": fleet.OwnerUnknown, "": fleet.OwnerForeign} {
		w := newWorld()
		w.proc(10, 1, "claude")
		found := see(t, w.probe(t, func(o *Options) { o.Lost = func(context.Context) (string, error) { return lost, nil } }))
		for _, a := range found {
			if a.Owner != want {
				t.Errorf("lost %q: %s is %s, want %s", lost, a.Name, a.Owner, want)
			}
		}
		if len(found) != 1 {
			t.Errorf("lost %q: seen are %d agents", lost, len(found))
		}
	}
}
