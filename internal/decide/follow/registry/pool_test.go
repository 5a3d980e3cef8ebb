package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// yard is a pool, its workers, and the work that waits for it.
type yard struct {
	now     time.Duration
	pool    fleet.Pool
	regs    []fleet.Registration
	agents  map[string]fleet.Agent
	orders  []fleet.Order // open ones
	tried   []fleet.Order // that are over
	known   map[string]bool
	issues  []fleet.Issue
	blind   bool // nobody looks at the agents
	deaf    bool // or at the forge
	amnesia bool
	dormant bool // nobody works in the project
	beads   fleet.Sight
	started int
	hub     fleet.Part[fleet.Hub] // the zero one: it shares nothing
	frozen  string
	mode    fleet.Mode
}

func newYard(least, most int) *yard {
	return &yard{pool: fleet.Pool{Name: "dev", Role: "dev", Project: "shop", Kind: "claude", Where: fleet.WhereTmux, Repo: "/r", Prompt: "Take up an issue.",
		Min: least, Max: most, Idle: fleet.Duration(30 * time.Minute)}, agents: map[string]fleet.Agent{}, known: map[string]bool{},
		beads: fleet.Sight{Status: fleet.StatusAbsent}}
}

func (y *yard) at() fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC).Add(y.now), Up: fleet.Duration(y.now), Boot: "b"}
}

func (y *yard) seen() fleet.Snapshot {
	ok := fleet.Sight{Status: fleet.StatusOK, At: y.at()}
	s := fleet.Snapshot{At: y.at(), Agents: fleet.Part[[]fleet.Agent]{Sight: ok},
		Forge: fleet.Part[fleet.Forge]{Sight: ok, Value: fleet.Forge{Projects: []fleet.Project{{Name: "shop", Ready: fleet.Known(len(y.issues)), Active: fleet.Known(!y.dormant)}}, Issues: y.issues}}}
	for _, r := range y.regs {
		if a, there := y.agents[r.Name]; there {
			s.Agents.Value = append(s.Agents.Value, a)
		}
	}
	s.Beads.Sight, s.Hub = y.beads, y.hub
	if y.blind {
		s.Agents.Sight = fleet.Sight{Status: fleet.StatusStale, At: y.at()}
	}
	if y.deaf {
		s.Forge.Sight = fleet.Sight{Status: fleet.StatusUnknown, Why: "no answer"}
	}
	return s
}

func (y *yard) look() fleet.Follows {
	s := y.seen()
	past := fleet.Past{Registrations: y.regs, Orders: y.orders, Tried: y.tried, Amnesia: y.amnesia}
	return Pools(fleet.Pass{Past: past, Snapshot: s, Policy: fleet.Policy{Pools: []fleet.Pool{y.pool}, Frozen: y.frozen, Mode: y.mode}})
}

// TestOneHostOfSeveral: of hosts that have a pool of one name with hosts = "one" the one that holds its lease starts
// workers, and no other; which is not known starts none, and what shares nothing is the one. The lease is wanted
// always, for it is not to go to and fro, but by a host that is frozen.
func TestOneHostOfSeveral(t *testing.T) {
	ok := fleet.Sight{Status: fleet.StatusOK}
	hub := func(l fleet.Lease) fleet.Part[fleet.Hub] {
		l.Key = "pool/dev"
		return fleet.Part[fleet.Hub]{Sight: ok, Value: fleet.Hub{Host: "box1", Leases: []fleet.Lease{l}}}
	}
	plenty := fleet.Duration(fleet.LeaseTime)
	for name, c := range map[string]struct {
		hub    fleet.Part[fleet.Hub]
		hosts  fleet.Hosts
		frozen string
		starts int
		wants  bool
		says   string
	}{
		"holds it":         {hub(fleet.Lease{Mine: true, Left: plenty}), fleet.HostsOne, "", 2, true, ""},
		"little is left":   {hub(fleet.Lease{Mine: true, Left: 1}), fleet.HostsOne, "", 0, true, "which is being asked"},
		"another holds it": {hub(fleet.Lease{Holder: "box2"}), fleet.HostsOne, "", 0, true, ""},
		"nobody does":      {hub(fleet.Lease{}), fleet.HostsOne, "", 0, true, "which is being asked"},
		"no answer":        {hub(fleet.Lease{Why: "no quorum"}), fleet.HostsOne, "", 0, true, "could not be asked: no quorum"},
		"not known":        {fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusUnknown, Why: "it is cut off"}, Value: fleet.Hub{Host: "box1"}}, fleet.HostsOne, "", 0, true, "it is not known which: it is cut off"},
		"frozen":           {hub(fleet.Lease{Mine: true, Left: plenty}), fleet.HostsOne, "by ann", 0, false, "this one is frozen: by ann"},
		"each":             {hub(fleet.Lease{Holder: "box2"}), fleet.HostsEach, "", 2, false, ""},
		"shares nothing":   {fleet.Part[fleet.Hub]{}, fleet.HostsOne, "", 2, false, ""},
	} {
		y := newYard(2, 4)
		y.pool.Hosts, y.hub, y.frozen = c.hosts, c.hub, c.frozen
		out := y.look()
		said := ""
		for _, h := range out.Held {
			if h.Guard == fleet.GuardLease {
				said += h.Held
			}
		}
		if len(out.Given) != c.starts || slices.Contains(out.Leases, "pool/dev") != c.wants || !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%s: starts %d, wants %q, says %q", name, len(out.Given), out.Leases, said)
		}
	}
}

// TestAHostThatCannotStartThem leaves the lease to others: one that does nothing by itself, and for a while one that has
// not started in time what it had ordered. What it orders is of the epoch of its lease, and expires.
func TestAHostThatCannotStartThem(t *testing.T) {
	y := newYard(2, 4)
	y.pool.Hosts = fleet.HostsOne
	y.hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1", Leases: []fleet.Lease{{Key: "pool/dev", Mine: true, Epoch: 7, Left: fleet.Duration(fleet.LeaseTime)}}}}
	out := y.look()
	if len(out.Given) != 2 || *out.Given[0].Fence != (fleet.Fence{Key: "pool/dev", Epoch: 7}) || out.Given[0].Expires != y.at().Add(10*time.Minute) {
		t.Fatalf("it orders %+v", out.Given)
	}
	leaves := func(what, says string) {
		t.Helper()
		out := y.look()
		if len(out.Given) > 0 || len(out.Leases) > 0 || len(out.Held) != 1 || !strings.Contains(out.Held[0].Held, says) {
			t.Errorf("%s: it orders %d, wants %q, and says %+v", what, len(out.Given), out.Leases, out.Held)
		}
	}
	y.mode = fleet.ModeObserve
	leaves("in mode observe", "this one is in mode observe")
	y.mode = fleet.ModeAuto
	late := out.Given[0]
	late.State, late.Why = fleet.OrderExpired, "it was not carried out by 10:00; at last: 1 GiB is free"
	y.tried = []fleet.Order{late}
	leaves("without memory", "this one could not: it was not carried out by 10:00; at last: 1 GiB is free")
	y.tried[0].Fence = &fleet.Fence{Key: "pool/other"}
	y.tried[0].ID = "pool-other-1"
	if out := y.look(); len(out.Given) != 2 {
		t.Errorf("what another pool could not do keeps it from ordering: %+v", out.Held)
	}
}

// TestALeaseThatCameBack: what was refused as another host held the lease is ordered again at once, by another name, by
// who holds it again; what came to nothing under this very lease waits.
func TestALeaseThatCameBack(t *testing.T) {
	y := newYard(1, 2)
	y.pool.Hosts = fleet.HostsOne
	y.hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1", Leases: []fleet.Lease{{Key: "pool/dev", Mine: true, Epoch: 7, Left: fleet.Duration(fleet.LeaseTime)}}}}
	out := y.look()
	if len(out.Given) != 1 {
		t.Fatalf("it orders %+v", out.Given)
	}
	refused := out.Given[0]
	refused.State, refused.Guard, refused.Why = fleet.OrderRefused, fleet.GuardLease, "host box2 holds its lease by now"
	y.tried = []fleet.Order{refused}
	if out := y.look(); len(out.Given) != 0 || len(out.Held) != 1 || out.Held[0].Guard != fleet.GuardCooldown {
		t.Errorf("under the same lease it orders %+v, and holds back %+v", out.Given, out.Held)
	}
	y.hub.Value.Leases[0].Epoch = 9
	failed := refused
	failed.Guard, failed.Why = "", "there is no claude"
	y.tried = []fleet.Order{failed}
	if out := y.look(); len(out.Given) != 0 {
		t.Errorf("what failed here is tried again at once: %+v", out.Given)
	}
	y.tried = []fleet.Order{refused}
	if out := y.look(); len(out.Given) != 1 || out.Given[0].Agent == refused.Agent || out.Given[0].Fence.Epoch != 9 {
		t.Errorf("under a later lease it orders %+v, and holds back %+v", out.Given, out.Held)
	}
}

// TestWorkersOfOtherHosts: who starts the workers for all hosts counts those of the others, whether they are heard or
// not, until their host is given up; where that is not known it starts none.
func TestWorkersOfOtherHosts(t *testing.T) {
	ok := fleet.Sight{Status: fleet.StatusOK}
	lease := fleet.Lease{Key: "pool/dev", Mine: true, Left: fleet.Duration(fleet.LeaseTime)}
	has := func(silent time.Duration, present, free int) fleet.Elsewhere {
		return fleet.Elsewhere{Host: "box2", Silent: fleet.Known(fleet.Duration(silent)), Workers: []fleet.PoolWorkers{{Pool: "other", Present: 9}, {Pool: "dev", Present: present, Free: free}}}
	}
	never := fleet.Elsewhere{Host: "box2", Silent: fleet.Known(fleet.Duration(time.Hour)), Why: "it was never heard"}
	for name, c := range map[string]struct {
		elsewhere []fleet.Elsewhere
		issues    int
		lost      time.Duration
		mine      bool
		starts    int
		says      string
	}{
		"nobody else":                    {nil, 0, 0, true, 2, ""},
		"it has none":                    {[]fleet.Elsewhere{{Host: "box2", Silent: fleet.Known(fleet.Duration(0))}}, 0, 0, true, 2, ""},
		"one of two":                     {[]fleet.Elsewhere{has(0, 1, 0)}, 0, 0, true, 1, ""},
		"all":                            {[]fleet.Elsewhere{has(0, 2, 0)}, 0, 0, true, 0, ""},
		"all, and three issues wait":     {[]fleet.Elsewhere{has(0, 2, 0)}, 3, 0, true, 2, ""},
		"one of them is free":            {[]fleet.Elsewhere{has(0, 2, 1)}, 2, 0, true, 1, ""},
		"silent":                         {[]fleet.Elsewhere{has(time.Minute, 2, 2)}, 0, 0, true, 0, "2 more may run where nothing is heard: box2"},
		"silent, with one":               {[]fleet.Elsewhere{has(time.Minute, 1, 0)}, 0, 0, true, 1, "1 more may run where nothing is heard: box2"},
		"silent, and an issue waits":     {[]fleet.Elsewhere{has(time.Minute, 2, 2)}, 1, 0, true, 1, "2 more may run"},
		"silent, not for long enough":    {[]fleet.Elsewhere{has(time.Minute, 2, 0)}, 0, 10 * time.Minute, true, 0, "2 more may run"},
		"silent, given up":               {[]fleet.Elsewhere{has(10*time.Minute, 2, 0)}, 0, 10 * time.Minute, true, 2, ""},
		"not heard yet":                  {[]fleet.Elsewhere{{Host: "box2", Silent: fleet.Unknown[fleet.Duration]("not yet"), Workers: []fleet.PoolWorkers{{Pool: "dev", Present: 1, Free: 1}}}}, 3, 0, true, 0, "whether host box2, which has 1 worker of it, is there: not yet"},
		"not heard yet, it has none":     {[]fleet.Elsewhere{{Host: "box2", Silent: fleet.Unknown[fleet.Duration]("not yet"), Workers: []fleet.PoolWorkers{{Pool: "dev"}}}}, 0, 0, true, 2, ""},
		"never heard":                    {[]fleet.Elsewhere{never}, 0, 0, true, 0, "it is not known how many of its workers host box2 has: it was never heard"},
		"never heard, given up":          {[]fleet.Elsewhere{never}, 0, time.Hour, true, 2, ""},
		"not told":                       {[]fleet.Elsewhere{{Silent: fleet.Unknown[fleet.Duration]("cut"), Why: "cut"}}, 0, time.Second, true, 0, "other hosts have: cut"},
		"it does not know":               {[]fleet.Elsewhere{{Host: "box2", Silent: fleet.Known(fleet.Duration(0)), Workers: []fleet.PoolWorkers{{Pool: "dev", Why: "lost"}}}}, 0, 0, true, 0, "host box2 has: lost"},
		"more than the most":             {[]fleet.Elsewhere{has(0, 6, 0)}, 3, 0, true, 0, ""},
		"another one starts the workers": {[]fleet.Elsewhere{has(0, 2, 0)}, 9, 0, false, 0, ""},
	} {
		y := newYard(2, 4)
		y.pool.Hosts, y.pool.LostAfter, y.hub = fleet.HostsOne, fleet.Duration(c.lost), fleet.Part[fleet.Hub]{Sight: ok, Value: fleet.Hub{Host: "box1", Leases: []fleet.Lease{lease}, Elsewhere: c.elsewhere}}
		y.hub.Value.Told = []fleet.PoolWorkers{{Pool: "dev", Present: 4}}
		if !c.mine {
			y.hub.Value.Leases[0] = fleet.Lease{Key: "pool/dev", Holder: "box3"}
		}
		y.wait(c.issues)
		out := y.look()
		said := ""
		for _, h := range out.Held {
			if h.Guard == fleet.GuardLease {
				said += h.Held
			}
		}
		if len(out.Given) != c.starts || !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%s: starts %d, want %d, says %q", name, len(out.Given), c.starts, said)
		}
		if !c.mine && len(out.Held) > 0 {
			t.Errorf("%s: what that one counts is held back here, too: %+v", name, out.Held)
		}
		for _, o := range out.Given {
			if !strings.HasPrefix(o.Agent, "dev-box1-") {
				t.Errorf("%s: it is called %q, as one of another host may be", name, o.Agent)
			}
		}
	}
}

// TestWhatIsToldOfWorkers: a host that may have workers of a pool that one host starts tells how many, also where it does
// not start any, and says so where it does not know.
func TestWhatIsToldOfWorkers(t *testing.T) {
	y := newYard(2, 4)
	y.pool.Hosts, y.hub = fleet.HostsOne, fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1", Leases: []fleet.Lease{{Key: "pool/dev", Mine: true, Left: fleet.Duration(fleet.LeaseTime)}}}}
	told := func(what string, want fleet.PoolWorkers) {
		t.Helper()
		want.Pool = "dev"
		if out := y.look(); len(out.Workers) != 1 || !reflect.DeepEqual(out.Workers[0], want) {
			t.Errorf("%s: it tells %+v, want %+v", what, out.Workers, want)
		}
	}
	y.hub.Value.Elsewhere = []fleet.Elsewhere{{Host: "box2", Silent: fleet.Known(fleet.Duration(0))}}
	told("about to start", fleet.PoolWorkers{Present: 2})
	if out := y.look(); len(out.Given) > 0 {
		t.Errorf("it starts %d before the others know of them", len(out.Given))
	}
	y.hub.Value.Told = []fleet.PoolWorkers{{Pool: "dev", Present: 1}}
	if out := y.look(); len(out.Given) != 1 {
		t.Errorf("it starts %d where the others know of one", len(out.Given))
	}
	y.hub.Value.Told[0].Present = 2
	y.pass()
	told("ordered", fleet.PoolWorkers{Present: 2, Free: 2})
	y.carryOut()
	told("started", fleet.PoolWorkers{Present: 2, Free: 2})
	y.pool.Disabled = true
	y.hub.Sight.Status = fleet.StatusUnknown
	told("switched off, and cut off", fleet.PoolWorkers{Present: 2, Free: 2})
	y.blind = true
	told("not seen", fleet.PoolWorkers{Present: 2})
	y.amnesia = true
	told("lost", fleet.PoolWorkers{Why: "what it knew is lost until a person confirms it"})
	y.amnesia, y.blind, y.pool.Hosts = false, false, fleet.HostsEach
	told("each host starts its own", fleet.PoolWorkers{Present: 2})
	y.pool.Name = "other"
	told("its section is gone", fleet.PoolWorkers{Present: 2})
	y.ends(y.regs[0].Name, "")
	told("its section is gone, and one has ended", fleet.PoolWorkers{Present: 1})
	y.hub = fleet.Part[fleet.Hub]{}
	if out := y.look(); len(out.Workers) != 0 {
		t.Errorf("a host that shares nothing tells %+v", out.Workers)
	}
}

// pass commits: an order of an ID that was ever known is none.
func (y *yard) pass() fleet.Follows {
	out := y.look()
	for _, o := range out.Given {
		if !y.known[o.ID] {
			y.known[o.ID] = true
			y.orders = append(y.orders, o)
		}
	}
	for _, r := range out.Registrations {
		y.put(r)
	}
	for _, o := range y.orders { // what Settle does
		if i := y.find(o.Agent); o.Do == fleet.OrderStop && i >= 0 {
			if r, err := ledger.SetDesired(y.regs[i], fleet.DesiredStopped, o.By, y.at()); err == nil {
				y.regs[i] = r
			}
		}
	}
	return out
}

func (y *yard) find(name string) int {
	return slices.IndexFunc(y.regs, func(r fleet.Registration) bool { return r.Name == name })
}

func (y *yard) put(r fleet.Registration) {
	if i := y.find(r.Name); i >= 0 {
		y.regs[i] = r
	} else {
		y.regs = append(y.regs, r)
	}
}

// carryOut carries the open orders out; those to stop only where it is lawful.
func (y *yard) carryOut() {
	for _, o := range y.orders {
		switch o.Do {
		case fleet.OrderSpawn:
			y.started++
			r := *o.Spawn
			r.Instance, r.StartedAt, r.PromptState, r.Process = fmt.Sprintf("i%d", y.started), y.at(), fleet.DeliveryAcknowledged, fleet.ProcessID{PID: 100 + y.started}
			y.put(r)
			y.agents[r.Name] = fleet.Agent{Name: r.Name, Instance: r.Instance, Process: r.Process, State: fleet.StateWorking, Dwell: fleet.Known(fleet.Duration(0))}
		case fleet.OrderStop:
			y.ends(o.Agent, fleet.ByCustos)
		}
	}
	y.orders = nil
}

func (y *yard) ends(name, asked string) {
	i := y.find(name)
	y.regs[i].Exit = &fleet.Exit{Instance: y.regs[i].Instance, Asked: asked, Status: fleet.Known(0), At: y.at()}
	a := y.agents[name]
	a.Process, a.State, a.Exit = fleet.ProcessID{}, fleet.StateFinished, y.regs[i].Exit
	y.agents[name] = a
}

func (y *yard) set(name string, state fleet.AgentState, dwell time.Duration) {
	a := y.agents[name]
	a.State, a.Dwell = state, fleet.Known(fleet.Duration(dwell))
	y.agents[name] = a
}

func (y *yard) alive() (n int) {
	for _, a := range y.agents {
		if a.Process.PID != 0 {
			n++
		}
	}
	return n
}

func (y *yard) wait(n int) {
	y.issues = nil
	for i := range n {
		y.issues = append(y.issues, fleet.Issue{Name: fleet.IssueName("shop", i+1), Project: "shop", Ready: fleet.Known(true), Open: fleet.Known(true)})
	}
}

func TestPoolKeepsItsLeast(t *testing.T) {
	y := newYard(2, 3)
	out := y.pass()
	if len(out.Given) != 2 {
		t.Fatalf("%+v", out.Given)
	}
	o := out.Given[0]
	if o.ID != "pool-dev-261122-0800-1" || o.Agent != "dev-261122-0800-1" || o.Do != fleet.OrderSpawn || o.By != fleet.ByCustos || o.Spawn.Pool != "dev" || o.Spawn.Repo != "/r" ||
		o.Spawn.Branch != "agent/dev-261122-0800-1" || o.Spawn.Prompt != "Take up an issue." || o.Spawn.PromptState != fleet.DeliveryPending || o.Spawn.Role != "dev" {
		t.Errorf("%+v, %+v", o, o.Spawn)
	}
	if len(y.pass().Given) != 0 {
		t.Errorf("those on their way are not counted")
	}
	y.carryOut()
	y.now = 5 * time.Hour
	for name := range y.agents {
		y.set(name, fleet.StateIdle, 4*time.Hour)
	}
	if out := y.pass(); len(out.Given) != 0 {
		t.Errorf("below the least: %+v", out.Given)
	}
	// One ends by itself: another one takes its place, and it is for the record only.
	y.ends("dev-261122-0800-1", "")
	if out := y.pass(); len(out.Given) != 1 || out.Given[0].Agent != "dev-261122-1300-1" || len(out.Registrations) != 1 || out.Registrations[0].Desired != fleet.DesiredRetired {
		t.Errorf("%+v", out)
	}
}

func TestPoolGrowsWithTheWork(t *testing.T) {
	y := newYard(0, 3)
	if out := y.pass(); len(out.Given) != 0 {
		t.Fatalf("nothing waits: %+v", out.Given)
	}
	y.wait(1)
	if out := y.pass(); len(out.Given) != 1 {
		t.Fatalf("%+v", out.Given)
	}
	if out := y.pass(); len(out.Given) != 0 {
		t.Errorf("a second one is started while the first is on its way: %+v", out.Given)
	}
	y.carryOut()
	// The new one looks around: the issue is still nobody's, and waits for it.
	if y.now = 2 * time.Minute; len(y.pass().Given) != 0 {
		t.Errorf("a second one is started for the same issue")
	}
	y.issues[0].Agent = "dev-261122-0800-1"
	y.issues[0].Ready = fleet.Known(false)
	if len(y.pass().Given) != 0 {
		t.Errorf("nothing waits")
	}
	y.wait(9)
	y.issues[0].Agent = "dev-261122-0800-1"
	if out := y.pass(); len(out.Given) != 2 {
		t.Errorf("above the most: %+v", out.Given)
	}
	// One that has had no issue for long is idle, and takes one: none is started for it.
	y = newYard(0, 3)
	y.wait(1)
	y.pass()
	y.carryOut()
	y.now = time.Hour
	y.set("dev-261122-0800-1", fleet.StateIdle, time.Minute)
	if len(y.pass().Given) != 0 {
		t.Errorf("an idle worker is there")
	}
	y.set("dev-261122-0800-1", fleet.StateWorking, time.Minute)
	if len(y.pass().Given) != 1 {
		t.Errorf("it works on something else")
	}
}

func TestPoolShrinks(t *testing.T) {
	y := newYard(1, 3)
	y.wait(3)
	y.pass()
	y.carryOut()
	y.wait(0)
	y.now = time.Hour
	for _, n := range []int{1, 2, 3} {
		y.set(fmt.Sprintf("dev-261122-0800-%d", n), fleet.StateIdle, 31*time.Minute)
	}
	out := y.pass()
	if len(out.Given) != 1 || out.Given[0].ID != "pool-dev-261122-0800-3-stop-261122-0900" || out.Given[0].Do != fleet.OrderStop {
		t.Fatalf("%+v", out.Given)
	}
	if len(y.pass().Given) != 0 {
		t.Errorf("two are ended at once")
	}
	y.carryOut()
	if out := y.pass(); len(out.Given) != 1 || out.Given[0].Agent != "dev-261122-0800-2" || len(out.Registrations) != 1 {
		t.Fatalf("%+v", out)
	}
	y.carryOut()
	if out := y.pass(); len(out.Given) != 0 {
		t.Errorf("the last one is ended: %+v", out.Given)
	}
	// The order to end one was not carried out in time: it is wanted again.
	y = newYard(0, 1)
	y.wait(1)
	y.pass()
	y.carryOut()
	y.wait(0)
	y.now = time.Hour
	y.set("dev-261122-0800-1", fleet.StateIdle, time.Hour)
	y.pass()
	y.orders = nil // expired
	y.set("dev-261122-0800-1", fleet.StateWorking, 0)
	if out := y.pass(); len(out.Registrations) != 1 || out.Registrations[0].Desired != fleet.DesiredRunning || len(out.Given) != 0 {
		t.Errorf("%+v", out)
	}
}

func TestPoolLeavesAlone(t *testing.T) {
	for name, change := range map[string]func(*yard){
		"idle for less":            func(y *yard) { y.set("dev-261122-0800-1", fleet.StateIdle, 29*time.Minute) },
		"at work":                  func(y *yard) { y.set("dev-261122-0800-1", fleet.StateWorking, 2*time.Hour) },
		"waiting for a person":     func(y *yard) { y.set("dev-261122-0800-1", fleet.StateWaiting, 2*time.Hour) },
		"in an unknown state":      func(y *yard) { y.set("dev-261122-0800-1", fleet.StateUnknown, 2*time.Hour) },
		"with an issue of its own": func(y *yard) { y.issues = []fleet.Issue{{Project: "shop", Agent: "dev-261122-0800-1"}} },
		"looked at by a person": func(y *yard) {
			a := y.agents["dev-261122-0800-1"]
			a.Attached = 1
			y.agents["dev-261122-0800-1"] = a
		},
		"while something waits":   func(y *yard) { y.wait(1) },
		"while agents are unseen": func(y *yard) { y.blind = true },
		"while the forge is":      func(y *yard) { y.deaf = true },
		"paused":                  func(y *yard) { y.regs[0].Desired = fleet.DesiredPaused },
		"stopped by a person": func(y *yard) {
			y.regs[0].Desired, y.regs[0].DesiredBy = fleet.DesiredStopped, "ann"
			y.ends("dev-261122-0800-1", "ann")
			y.wait(1)
			y.pool.Min = 1
		},
		"handing over":    func(y *yard) { y.regs[0].Handoff = &fleet.Handoff{Instance: "i1", Stage: fleet.HandoffAsked} },
		"crashed":         func(y *yard) { y.ends("dev-261122-0800-1", ""); y.regs[0].Exit.Status = fleet.Known(1); y.pool.Min = 1 },
		"a disabled pool": func(y *yard) { y.pool.Disabled = true },
	} {
		y := newYard(0, 1)
		y.wait(1)
		y.pass()
		y.carryOut()
		y.wait(0)
		y.now = 3 * time.Hour
		y.set("dev-261122-0800-1", fleet.StateIdle, 2*time.Hour)
		if out := y.look(); len(out.Given) != 1 {
			t.Fatalf("the case does not begin where one is ended: %+v", out)
		}
		change(y)
		if out := y.look(); len(out.Given) != 0 || len(out.Registrations) != 0 {
			t.Errorf("%s: %+v", name, out)
		}
	}
	y := newYard(0, 3)
	y.wait(2)
	y.deaf = true
	if len(y.look().Given) != 0 {
		t.Errorf("workers are started for work that nobody sees")
	}
	y.deaf, y.blind = false, true
	if len(y.look().Given) != 0 {
		t.Errorf("workers are started while those that there are cannot be seen")
	}
}

// Whatever comes in whatever order: never more than the most; nobody is ended below
// the least, in a turn, with work of its own, or on a look that is not good; and the
// same pass twice is the same orders.
func TestPoolsKeepTheirBounds(t *testing.T) {
	ended := 0
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "min")
		y := newYard(least, least+rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "more"))
		y.wait(y.pool.Max) // it begins with all the workers that there may be
		y.pass()
		y.carryOut()
		y.wait(0)
		for i := range rapid.IntRange(40, 150).Draw(t, "steps") {
			y.now += time.Duration(rapid.IntRange(1, 50).Draw(t, "minutes")) * time.Minute
			var names []string
			for name := range y.agents {
				names = append(names, name)
			}
			slices.Sort(names)
			switch do := rapid.SampledFrom([]string{"pass", "pass", "pass", "pass", "crash", "work", "states", "states", "states", "carry", "carry", "carry", "expire", "end", "blind", "deaf", "see", "see", "take"}).Draw(t, fmt.Sprint("do", i)); {
			case do == "pass":
				y.check(t, y.pass(), least)
			case do == "crash":
				if a, b := y.look(), y.look(); fmt.Sprint(a) != fmt.Sprint(b) && len(a.Given)+len(b.Given) > 0 && a.Given[0].ID != b.Given[0].ID {
					t.Fatalf("%v, then %v", a, b)
				}
			case do == "work":
				y.wait(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5}).Draw(t, "waiting"))
			case do == "states":
				for _, name := range names {
					if y.agents[name].Process.PID != 0 {
						y.set(name, rapid.SampledFrom([]fleet.AgentState{fleet.StateIdle, fleet.StateIdle, fleet.StateIdle, fleet.StateIdle, fleet.StateWorking, fleet.StateWaiting, fleet.StateUnknown}).Draw(t, "state"),
							rapid.SampledFrom([]time.Duration{0, 29 * time.Minute, 31 * time.Minute, 2 * time.Hour}).Draw(t, "dwell"))
					}
				}
			case do == "carry":
				ended += len(slices.DeleteFunc(slices.Clone(y.orders), func(o fleet.Order) bool { return o.Do != fleet.OrderStop }))
				y.carryOut()
			case do == "expire":
				y.orders = nil
			case do == "end" && len(names) > 0:
				if name := rapid.SampledFrom(names).Draw(t, "who"); y.agents[name].Process.PID != 0 {
					y.ends(name, "")
				}
			case do == "blind":
				y.blind = true
			case do == "deaf":
				y.deaf = true
			case do == "see":
				y.deaf, y.blind = false, false
			case do == "take" && len(names) > 0 && len(y.issues) > 0:
				y.issues[0].Agent, y.issues[0].Ready = rapid.SampledFrom(names).Draw(t, "who"), fleet.Known(false)
			}
			if y.alive() > y.pool.Max {
				t.Fatalf("%d workers live, and %d are the most", y.alive(), y.pool.Max)
			}
		}
	})
	if ended < 10 {
		t.Errorf("only %d workers were ever ended", ended)
	}
}

// check looks at what one pass ordered.
func (y *yard) check(t *rapid.T, out fleet.Follows, least int) {
	if y.blind && (len(out.Given) > 0 || len(out.Registrations) > 0) {
		t.Fatalf("ordered without a good look: %+v", out)
	}
	wanted := 0
	for _, r := range y.regs {
		if r.Desired == fleet.DesiredRunning && y.agents[r.Name].Process.PID != 0 {
			wanted++
		}
	}
	for _, o := range out.Given {
		if o.Do != fleet.OrderStop {
			continue
		}
		a := y.agents[o.Agent]
		if !a.TurnOver() || y.deaf || wanted < least || slices.ContainsFunc(y.issues, func(i fleet.Issue) bool { return i.Agent == o.Agent }) || !strings.Contains(o.Text, "idle") {
			t.Fatalf("%s is ended (%s, forge unseen %v, %d of at least %d are left)", o.Agent, a.State, y.deaf, wanted, least)
		}
	}
}

// A worker that has a bead, or work of the ledger, is not spare.
func TestWhoHasWorkIsBusy(t *testing.T) {
	var s fleet.Snapshot
	s.Forge.Status, s.Coordination.Status, s.Beads.Status = fleet.StatusOK, fleet.StatusOK, fleet.StatusOK
	s.Coordination.Value.Work = []fleet.WorkFacts{{Tracker: fleet.TrackerBeads, Agent: "rig/polecats/nux", State: fleet.Known(fleet.WorkTaken)},
		{Tracker: fleet.TrackerOwn, Agent: "slit", State: fleet.Known(fleet.WorkTaken)}}
	y := workers{snap: s}
	if !y.isBusy("nux") || !y.isBusy("slit") || y.isBusy("furiosa") {
		t.Error("who has work is not told")
	}
}

// While the beads were not looked at, nobody is called idle for want of work: it is not
// known who has one, and whether one waits.
func TestNoWorkerIsEndedWhileBeadsAreNotSeen(t *testing.T) {
	for name, ends := range map[string]bool{"a spare one": false, "one that ended": true} {
		t.Run(name, func(t *testing.T) {
			y := newYard(0, 3)
			y.wait(1)
			y.pass()
			y.carryOut()
			y.wait(0)
			y.now += time.Hour
			y.set(y.regs[0].Name, fleet.StateIdle, time.Hour)
			if ends {
				y.ends(y.regs[0].Name, "")
			}
			y.beads = fleet.Sight{Status: fleet.StatusPending, Why: "not looked yet"}
			if out := y.look(); len(out.Given)+len(out.Registrations) != 0 {
				t.Errorf("not looked yet: %+v", out)
			}
			y.beads = fleet.Sight{Status: fleet.StatusOK, At: y.at()}
			if out := y.look(); len(out.Given)+len(out.Registrations) != 1 {
				t.Errorf("seen: %+v", out)
			}
		})
	}
}
