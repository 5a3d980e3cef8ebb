package registry

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// settled returns the desired states after a settlement, "a=stopped b=running".
func settled(t *testing.T, past fleet.Past, snap fleet.Snapshot, plan fleet.Plan) (string, []fleet.Registration, []fleet.Order) {
	t.Helper()
	snap.At = at(0)
	regs, orders := Settle(past, snap, plan)
	var words []string
	for _, r := range regs {
		words = append(words, r.Name+"="+string(r.Desired))
	}
	return strings.Join(words, " "), regs, orders
}

func running(names ...string) (list []fleet.Registration) {
	for _, n := range names {
		r := reg(n)
		r.Desired, r.Revision, r.Instance, r.Process = fleet.DesiredRunning, 4, "i-"+n, fleet.ProcessID{PID: 7}
		list = append(list, r)
	}
	return list
}

func ordered(do fleet.OrderDo, agent, by string, state fleet.OrderState) fleet.Order {
	return fleet.Order{ID: "o-" + agent, Do: do, Agent: agent, By: by, At: at(-time.Second), State: state}
}

// A person's stop that no order could be written down of is found beside the shim's
// record, and holds like any other.
func TestAStopWithoutAnOrderHolds(t *testing.T) {
	for name, c := range map[string]struct {
		by     string
		change func(*fleet.Registration)
		want   string
	}{
		"by a person":  {"ann", func(*fleet.Registration) {}, "a=stopped"},
		"by Custos":    {fleet.ByCustos, func(*fleet.Registration) {}, "a=running"},
		"wanted again": {"ann", func(r *fleet.Registration) { r.DesiredBy, r.DesiredAt = "bob", at(time.Second) }, "a=running"},
	} {
		t.Run(name, func(t *testing.T) {
			regs := running("a")
			c.change(&regs[0])
			snap := fleet.Snapshot{}
			snap.Agents.Status = fleet.StatusOK
			exit := fleet.Exit{Instance: "i-a", Process: regs[0].Process, Signal: fleet.Known(15), Asked: c.by, At: at(0), Source: "shim"}
			snap.Agents.Value = []fleet.Agent{{Name: "a", Registered: true, Instance: "i-a", State: fleet.StateStopped, Exit: &exit}}
			got, after, _ := settled(t, fleet.Past{Registrations: regs}, snap, fleet.Plan{})
			if got != c.want || after[0].Desired == fleet.DesiredStopped && after[0].DesiredBy != c.by {
				t.Errorf("got %q by %q, want %q", got, after[0].DesiredBy, c.want)
			}
		})
	}
}

func TestSettleOrders(t *testing.T) {
	for name, c := range map[string]struct {
		open, after fleet.Order
		want        string
	}{
		"a stop that waits":         {ordered(fleet.OrderStop, "a", "ann", "open"), ordered(fleet.OrderStop, "a", "ann", "queued"), "a=stopped"},
		"a stop that still waits":   {ordered(fleet.OrderStop, "a", "ann", "queued"), fleet.Order{}, "a=stopped"},
		"a stop that is done":       {ordered(fleet.OrderStop, "a", "ann", "open"), ordered(fleet.OrderStop, "a", "ann", "done"), "a=stopped"},
		"a stop by Custos":          {ordered(fleet.OrderStop, "a", fleet.ByCustos, "open"), ordered(fleet.OrderStop, "a", fleet.ByCustos, "open"), "a=stopped"},
		"a stop by another agent":   {ordered(fleet.OrderStop, "a", "agent/b", "open"), fleet.Order{ID: "o-a", Do: fleet.OrderStop, Agent: "a", By: "agent/b", State: "refused", Guard: fleet.GuardApproval}, ""},
		"a pause":                   {ordered(fleet.OrderPause, "a", "ann", "open"), ordered(fleet.OrderPause, "a", "ann", "done"), "a=paused"},
		"a pause that was refused":  {ordered(fleet.OrderPause, "a", "ann", "open"), ordered(fleet.OrderPause, "a", "ann", "refused"), ""},
		"a resume of what runs":     {ordered(fleet.OrderResume, "a", "ann", "open"), ordered(fleet.OrderResume, "a", "ann", "done"), "a=running"}, // now by a person
		"an adoption":               {ordered(fleet.OrderAdopt, "x", "ann", "open"), ordered(fleet.OrderAdopt, "x", "ann", "done"), "x=running"},
		"an adoption of what ended": {ordered(fleet.OrderAdopt, "y", "ann", "open"), ordered(fleet.OrderAdopt, "y", "ann", "done"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			snap := fleet.Snapshot{}
			snap.Agents.Status = fleet.StatusOK
			snap.Agents.Value = []fleet.Agent{{Name: "x", Kind: "codex", Process: fleet.ProcessID{PID: 9}}, {Name: "y", Kind: "codex"}}
			past := fleet.Past{Registrations: running("a", "b"), Orders: []fleet.Order{c.open}}
			plan := fleet.Plan{}
			if c.after.ID != "" {
				plan.Orders = []fleet.Order{c.after}
			}
			got, regs, orders := settled(t, past, snap, plan)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, r := range regs {
				if r.Name == "a" && r.Revision != 4 {
					t.Errorf("revision %d", r.Revision)
				}
			}
			if name == "an adoption of what ended" && (orders[0].State != fleet.OrderRefused || orders[0].Why == "") {
				t.Errorf("the order is %+v", orders[0])
			}
			past.Registrations = merge(past.Registrations, regs)
			if again, _, _ := settled(t, past, snap, fleet.Plan{}); again != "" && c.open.Do == fleet.OrderStop {
				t.Errorf("the next pass changes %q again", again)
			}
		})
	}
}

// TestSettleLiftsALimit: a person's resume of an account lifts the limit of it for
// every agent, paused or not; one of an agent lifts only a limit of its own.
func TestSettleLiftsALimit(t *testing.T) {
	for name, c := range map[string]struct {
		order fleet.Order
		want  string // whose limit is lifted
	}{
		"of an account":             {fleet.Order{Do: fleet.OrderResume, Account: "acme", By: "ann"}, "a b"},
		"of an account, by custos":  {fleet.Order{Do: fleet.OrderResume, Account: "acme", By: fleet.ByCustos}, ""},
		"of an account, by one":     {fleet.Order{Do: fleet.OrderResume, Account: "acme", By: "agent/b"}, ""},
		"a pause of an account":     {fleet.Order{Do: fleet.OrderPause, Account: "acme", By: "ann"}, ""},
		"of one with an account":    {fleet.Order{Do: fleet.OrderResume, Agent: "a", By: "ann"}, ""},
		"of one without an account": {fleet.Order{Do: fleet.OrderResume, Agent: "c", By: "ann"}, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			past := fleet.Past{Registrations: running("a", "b", "c")}
			past.Registrations[0].Account, past.Registrations[1].Account = "acme", "acme"
			open := c.order
			open.ID, open.At, open.State = "o", at(-time.Second), fleet.OrderOpen
			past.Orders = []fleet.Order{open}
			open.State = fleet.OrderDone
			_, regs, _ := settled(t, past, fleet.Snapshot{}, fleet.Plan{Orders: []fleet.Order{open}})
			var lifted []string
			for _, r := range regs {
				if !r.LimitLifted.IsZero() {
					lifted = append(lifted, r.Name)
				}
			}
			if got := strings.Join(lifted, " "); got != c.want {
				t.Errorf("lifted for %q, want %q", got, c.want)
			}
		})
	}
}

func merge(all, changed []fleet.Registration) []fleet.Registration {
	for _, c := range changed {
		if r := ledger.Registration(all, c.Name); r != nil {
			*r = c
		} else {
			all = append(all, c)
		}
	}
	return all
}

func TestSettleStarts(t *testing.T) {
	stopped := running("a")
	stopped[0].Desired, stopped[0].DesiredBy, stopped[0].Failed = fleet.DesiredStopped, "bob", "spent"
	recover := func(by string) fleet.Plan {
		return fleet.Plan{Actions: []fleet.Action{{Do: "recover", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "a"}, By: by}}}
	}
	_, regs, _ := settled(t, fleet.Past{Registrations: stopped}, fleet.Snapshot{}, recover("ann"))
	if len(regs) != 1 || regs[0].Desired != fleet.DesiredRunning || regs[0].DesiredBy != "ann" || regs[0].Failed != "" {
		t.Errorf("a person starts what a person stopped: %+v", regs)
	}
	_, regs, _ = settled(t, fleet.Past{Registrations: stopped}, fleet.Snapshot{}, recover(""))
	if len(regs) != 1 || regs[0].Desired != fleet.DesiredStopped {
		t.Errorf("Custos starts what a person stopped: %+v", regs)
	}
	fresh := reg("new")
	spawn := fleet.Plan{Actions: []fleet.Action{{Do: "spawn", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "new"}, By: "ann", Target: fleet.Target{Registration: &fresh}}}}
	got, regs, _ := settled(t, fleet.Past{}, fleet.Snapshot{}, spawn)
	if got != "new=running" || regs[0].Revision != 0 || regs[0].DesiredBy != "ann" {
		t.Errorf("spawn: %+v", regs)
	}
}

func TestSettleFailedAndSeen(t *testing.T) {
	past := fleet.Past{Registrations: running("a", "b", "c")}
	past.Registrations[2].PromptState, past.Registrations[2].Prompt = fleet.DeliverySent, "go"
	snap := fleet.Snapshot{}
	snap.Agents.Status = fleet.StatusOK
	snap.Agents.Value = []fleet.Agent{
		{Name: "a", Exit: &fleet.Exit{Instance: "i-a", Status: fleet.Known(3), At: at(-1)}},
		{Name: "b", Exit: &fleet.Exit{Instance: "an older one", Status: fleet.Known(3), At: at(-1)}},
		{Name: "c", Process: fleet.ProcessID{PID: 7}, SessionID: "s1", PromptState: fleet.DeliveryAcknowledged, Instance: "i-c"},
	}
	_, regs, _ := settled(t, past, snap, fleet.Plan{Failed: []fleet.Failing{{Agent: "a", Why: "3 of 3"}}})
	if len(regs) != 2 || regs[0].Exit == nil || regs[0].Failed != "3 of 3" {
		t.Fatalf("got %+v", regs)
	}
	if c := regs[1]; c.SessionID != "s1" || c.PromptState != fleet.DeliveryAcknowledged || c.Prompt != "" {
		t.Errorf("got %+v", c)
	}
	snap.Agents.Status = fleet.StatusStale
	if got, _, _ := settled(t, past, snap, fleet.Plan{}); got != "" {
		t.Errorf("stale facts changed %s", got)
	}
}
