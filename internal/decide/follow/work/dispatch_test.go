package work

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/ledger"
)

func teamPolicy() fleet.Policy {
	role := func(name string, max int) fleet.Role {
		return fleet.Role{Name: name, Kind: "claude", Repo: "/src/shop", Prompt: "do {{work}}", Max: max}
	}
	builder := role("builder", 2)
	builder.Ends = fleet.RoleEndsMerged
	return fleet.Policy{Mode: fleet.ModeAuto, Roles: []fleet.Role{role("scout", 1), builder, role("reviewer", 0)}, Teams: []fleet.Team{{Name: "feature", Roles: []string{"scout", "builder"}}}}
}

// yard is a ledger of work with agents that do what a test says: time passes, passes are made, and what follows from each is
// written down.
type yard struct {
	fail   func(format string, args ...any)
	policy fleet.Policy
	past   fleet.Past
	now    time.Duration
	alive  map[string]bool
	idle   map[string]bool
	ids    int
}

func newYard(fail func(string, ...any)) *yard {
	return &yard{fail: fail, policy: teamPolicy(), alive: map[string]bool{}, idle: map[string]bool{}}
}

func (y *yard) put(w fleet.WorkItem) {
	if i := slices.IndexFunc(y.past.Records.Work, func(o fleet.WorkItem) bool {
		return o.ID == w.ID && w.ID != "" || w.ID == "" && o.Key == w.Key && w.Key != ""
	}); i >= 0 {
		if w.ID != "" {
			w.Revision++
			y.past.Records.Work[i] = w
		}
		return
	}
	y.ids++
	w.ID, w.Revision = fmt.Sprintf("w%d", y.ids), 1
	y.past.Records.Work = append(y.past.Records.Work, w)
}

func (y *yard) add(title, role, team string, files ...string) string {
	w, err := ledger.AddWork(fleet.WorkItem{Title: title, Project: "shop", Role: role, Team: team, Files: files}, "ann", at(y.now))
	if err != nil {
		y.fail("%v", err)
	}
	y.put(w)
	return fmt.Sprintf("w%d", y.ids)
}

func (y *yard) work(id string) *fleet.WorkItem { return ledger.Work(y.past.Records, fleet.Ref(id)) }

func (y *yard) snap() fleet.Snapshot {
	s := fleet.Snapshot{At: at(y.now), Agents: fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusOK, At: at(y.now)}}}
	for _, r := range y.past.Registrations {
		a := fleet.Agent{Name: r.Name, Instance: r.Instance, State: fleet.StateWorking}
		switch {
		case !y.alive[r.Name]:
			a.State = fleet.StateStopped
		case y.idle[r.Name]:
			a.State, a.Process.PID = fleet.StateIdle, 7
		default:
			a.Process.PID = 7
		}
		s.Agents.Value = append(s.Agents.Value, a)
	}
	return s
}

// pass makes one, and carries out what it orders at once, but what fails says.
func (y *yard) pass(fails func(fleet.Order) bool) fleet.Follows {
	out := Follow(fleet.Pass{Past: y.past, Snapshot: y.snap(), Policy: y.policy})
	for _, w := range out.Records.Work {
		y.put(w)
	}
	for _, r := range out.Registrations {
		y.registration(r.Name).Desired = r.Desired
	}
	y.past.Tried = nil
	for _, o := range out.Given {
		y.carry(o, fails)
	}
	return out
}

func (y *yard) registration(name string) *fleet.Registration {
	return ledger.Registration(y.past.Registrations, name)
}

func (y *yard) carry(o fleet.Order, fails func(fleet.Order) bool) {
	status := fleet.ResultDone
	switch {
	case fails != nil && fails(o):
		status = fleet.ResultFailed
	case o.Do == fleet.OrderSpawn:
		if y.registration(o.Agent) != nil {
			y.fail("%s is started twice", o.Agent)
		}
		r := *o.Spawn
		r.Instance, r.CreatedAt, r.PromptState = o.Agent+"-1", at(y.now), fleet.DeliveryAcknowledged
		y.past.Registrations = append(y.past.Registrations, r)
		y.alive[o.Agent] = true
	case o.Do == fleet.OrderStop:
		y.ends(o.Agent, 0)
		y.registration(o.Agent).Desired, y.registration(o.Agent).DesiredBy = fleet.DesiredStopped, o.By
	}
	y.past.Actions = append(y.past.Actions, fleet.ActionRecord{Action: fleet.Action{ID: o.ID, Order: o.ID}, Stage: fleet.StageEnded, PlannedAt: at(y.now), Result: &fleet.Result{Status: status, Why: "it went so"}})
}

func (y *yard) ends(name string, status int) {
	r := y.registration(name)
	y.alive[name], y.idle[name] = false, false
	r.Exit = &fleet.Exit{Instance: r.Instance, Status: fleet.Known(status), At: at(y.now)}
}

func (y *yard) until(d time.Duration) {
	for end := y.now + d; y.now < end; y.now += 30 * time.Second {
		y.pass(nil)
	}
}

// A team's work goes from role to role by what is on record alone; who was started for a part ends with it.
func TestATeamGoesOnByItself(t *testing.T) {
	y := newYard(t.Fatalf)
	id := y.add("retry", "builder", "feature")
	y.until(2 * time.Minute)
	part := y.work("w2")
	if part == nil || part.Part != fleet.Ref(id) || part.Agent != "scout-w2" || y.work(id).State != fleet.WorkOpen {
		t.Fatalf("%+v", y.past.Records.Work)
	}
	closed, _ := ledger.CloseWork(*part, "", "", "agent/scout-w2", at(y.now))
	closed.Result = "it is in up.go"
	y.put(closed)
	y.idle["scout-w2"] = true
	y.until(2 * time.Minute)
	if w := y.work(id); w.Agent != "builder-w1" || w.Ends != fleet.RoleEndsMerged || w.Tries != 1 {
		t.Fatalf("%+v", w)
	}
	if r := y.registration("builder-w1"); !strings.Contains(r.Prompt, "it is in up.go") || r.Branch != "agent/builder-w1" || !r.Dispatched {
		t.Errorf("%+v", r)
	}
	if r := y.registration("scout-w2"); y.alive["scout-w2"] || r.Desired != fleet.DesiredRetired {
		t.Errorf("%+v", r)
	}
}

// What a role before the last has split is handed out piece by piece, those that change the same files one after another, and
// closed with the last of them.
func TestPartsAreHandedOut(t *testing.T) {
	y := newYard(t.Fatalf)
	y.policy.Teams[0].Roles = []string{"builder"}
	id := y.add("retry", "builder", "feature")
	for n, file := range []string{"src/up.go", "src", "docs/*.md"} {
		w := fleet.WorkItem{Title: fmt.Sprint("part ", n), Part: fleet.Ref(id), Files: []string{file}}
		w, err := ledger.AddPart(y.past.Records, w, "ann")
		if err == nil {
			w, err = ledger.AddWork(w, "agent/lead", at(y.now))
		}
		if err != nil {
			t.Fatal(err)
		}
		y.put(w)
	}
	y.until(2 * time.Minute)
	if y.work("w2").State != fleet.WorkTaken || y.work("w3").State != fleet.WorkOpen || y.work("w4").State != fleet.WorkTaken || y.work(id).State != fleet.WorkOpen {
		t.Fatalf("%+v", y.past.Records.Work)
	}
	for _, n := range []string{"w2", "w4", "w3"} {
		done, _ := ledger.CloseWork(*y.work(n), "", "merged", fleet.ByCustos, at(y.now))
		y.put(done)
		y.idle["builder-"+n] = true
		y.until(2 * time.Minute)
	}
	if w := y.work(id); w.State != fleet.WorkClosed || w.Why != "all of its 3 parts are done" {
		t.Errorf("%+v", w)
	}
}

// A part that ends otherwise than done stops its team, and that is told once.
func TestATeamStops(t *testing.T) {
	y := newYard(t.Fatalf)
	y.add("retry", "builder", "feature")
	y.until(2 * time.Minute)
	closed, _ := ledger.CloseWork(*y.work("w2"), "wontfix", "no", "ann", at(y.now))
	y.put(closed)
	out := y.pass(nil)
	if len(out.Records.Mails) != 1 || y.work("w1").State != fleet.WorkOpen {
		t.Fatalf("%+v", out.Records)
	}
	y.past.Records.Mails = out.Records.Mails
	if again := y.pass(nil); len(again.Records.Mails) != 0 {
		t.Errorf("%+v", again.Records.Mails)
	}
}

// Work whose agents end in vain is handed out again, each time later, from where the last one stood, and then no more.
func TestWorkThatComesBack(t *testing.T) {
	y := newYard(t.Fatalf)
	id := y.add("retry", "builder", "")
	y.policy.Roles[1].Takes = fleet.RoleTakesReady
	var names []string
	for range 5 {
		y.until(10 * time.Minute)
		w := y.work(id)
		if w.State != fleet.WorkTaken {
			break
		}
		names = append(names, w.Agent)
		r := y.registration(w.Agent)
		if n := len(names); n > 1 && (r.From != "agent/"+names[n-2] || !strings.Contains(r.Prompt, names[n-2])) {
			t.Errorf("%s begins at %q: %s", r.Name, r.From, r.Prompt)
		}
		y.ends(w.Agent, 0)
	}
	if want := []string{"builder-w1", "builder-w1-2", "builder-w1-3"}; !slices.Equal(names, want) || !y.work(id).Spent {
		t.Errorf("%v, %+v", names, y.work(id))
	}
	again, err := ledger.SlingWork(*y.work(id), []fleet.Order{{ID: "o", Agent: "ann-1"}}, "ann", at(y.now))
	if err != nil || again.Tries != 0 || again.Spent {
		t.Errorf("%+v, %v", again, err)
	}
}

// What is in a merge queue is not given back though its agent is gone; what came back from there is.
func TestHandedInStays(t *testing.T) {
	y := newYard(t.Fatalf)
	y.policy.Roles[1].Takes = fleet.RoleTakesReady
	id := y.add("retry", "builder", "")
	y.until(time.Minute)
	y.past.Records.Merges = []fleet.MergeItem{{Head: fleet.Head{ID: "mq1"}, Work: []fleet.Ref{fleet.Ref(id)}, State: fleet.MergeWaiting}}
	y.ends("builder-w1", 0)
	y.until(10 * time.Minute)
	if w := y.work(id); w.Agent != "builder-w1" {
		t.Fatalf("%+v", w)
	}
	y.past.Records.Merges[0].State = fleet.MergeFailed
	y.until(10 * time.Minute)
	if w := y.work(id); w.Agent != "builder-w1-2" {
		t.Errorf("%+v", w)
	}
}

// Nothing is handed out by itself where nothing says so, while it is frozen, in a paused project, or while agents are not
// seen.
func TestNothingIsHandedOut(t *testing.T) {
	for name, change := range map[string]func(*yard){
		"no role says so": func(y *yard) { y.policy.Roles[1].Takes = "" },
		"only what came back": func(y *yard) {
			y.policy.Roles[1].Takes = fleet.RoleTakesReturned
		},
		"frozen": func(y *yard) { y.policy.Frozen = "ann" },
		"a role of no place": func(y *yard) {
			y.policy.Roles[1].Repo = ""
		},
		"a role of another project": func(y *yard) { y.policy.Roles[1].Project = "other" },
		"what was known is lost":    func(y *yard) { y.past.Amnesia = true },
	} {
		y := newYard(t.Fatalf)
		y.policy.Roles[1].Takes = fleet.RoleTakesReady
		y.add("retry", "builder", "")
		change(y)
		if out := y.pass(nil); len(out.Given)+len(out.Records.Work) != 0 {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// Whatever becomes of agents and of what is ordered: work that is taken has one agent, no two agents that live are at one
// piece of work, no role has more than it may, and none is handed out for ever.
func TestHandingOutHistories(t *testing.T) {
	fleettest.Checks(t, fleettest.Histories(t)/10)
	rapid.Check(t, func(rt *rapid.T) {
		y := newYard(rt.Fatalf)
		y.policy.Roles[1].Takes = rapid.SampledFrom([]string{"", fleet.RoleTakesReady, fleet.RoleTakesReturned}).Draw(rt, "takes")
		chance := func(n int) bool { return rapid.IntRange(0, n-1).Draw(rt, "chance") == 0 }
		for n := range rapid.IntRange(1, 6).Draw(rt, "works") {
			team := ""
			if chance(2) {
				team = "feature"
			}
			y.add(fmt.Sprint("work ", n), "builder", team, rapid.SampledFrom([]string{"a", "b", "a/c"}).Draw(rt, "file"))
		}
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			y.now += time.Duration(rapid.IntRange(1, 900).Draw(rt, "seconds")) * time.Second
			for i := range y.past.Registrations {
				y.happens(&y.past.Registrations[i], rapid.IntRange(0, 9).Draw(rt, "happens"))
			}
			y.pass(func(fleet.Order) bool { return chance(5) })
			y.check()
		}
	})
}

// happens is what an agent does between two passes.
func (y *yard) happens(r *fleet.Registration, what int) {
	w := y.work(r.Task)
	if !y.alive[r.Name] || w == nil {
		return
	}
	mine := w.State == fleet.WorkTaken && w.Agent == r.Name
	switch {
	case what == 0:
		y.ends(r.Name, 1)
		r.Failed = "its attempts are spent"
	case what == 1:
		y.ends(r.Name, 0)
	case what == 2 && mine:
		done, _ := ledger.CloseWork(*w, "", "", "ann", at(y.now))
		y.put(done)
	case what == 3 && mine:
		back, _ := ledger.ReleaseWork(*w, "no", "agent/"+r.Name, at(y.now))
		y.put(back)
	case what < 7:
		y.idle[r.Name] = !y.idle[r.Name]
	}
}

func (y *yard) check() {
	at, roles := map[string]string{}, map[string]int{}
	for _, r := range y.past.Registrations {
		if !y.alive[r.Name] {
			continue
		}
		if other := at[r.Task]; other != "" {
			y.fail("%s and %s are both at %s", other, r.Name, r.Task)
		}
		at[r.Task] = r.Name
		if roles[r.Role]++; r.Role == "builder" && roles[r.Role] > 2 {
			y.fail("%d builders", roles[r.Role])
		}
	}
	for _, w := range y.past.Records.Work {
		switch {
		case w.State == fleet.WorkTaken && w.Agent == "":
			y.fail("%s is taken by nobody", w.ID)
		case w.Tries > mostTries:
			y.fail("%s was handed out %d times", w.ID, w.Tries)
		}
	}
}

// A team that custos.toml has no more closes nothing, and nothing of it is handed out: what its work consists of is not known.
func TestATeamThatIsGone(t *testing.T) {
	y := newYard(t.Fatalf)
	id := y.add("retry", "builder", "feature")
	y.until(2 * time.Minute)
	done, _ := ledger.CloseWork(*y.work("w2"), "", "", "ann", at(y.now))
	y.put(done)
	y.policy.Teams = nil
	y.until(10 * time.Minute)
	if w := y.work(id); w.State != fleet.WorkOpen || w.Tries != 0 {
		t.Errorf("%+v", w)
	}
}

// A start that was refused, or never had its turn, has left nothing: nobody is said to have worked on it, people are not told,
// and one that only waited in vain counts for nothing.
func TestAStartThatCameToNothingLeftNothing(t *testing.T) {
	for state, tries := range map[fleet.OrderState]int{fleet.OrderExpired: 0, fleet.OrderRefused: 1} {
		y := newYard(t.Fatalf)
		y.policy.Roles[1].Takes = fleet.RoleTakesReady
		id := y.add("retry", "builder", "")
		first := Follow(fleet.Pass{Past: y.past, Snapshot: y.snap(), Policy: y.policy})
		y.put(first.Records.Work[0])
		y.work(id).Begun = true
		order := fleet.Order{ID: y.work(id).Begin[0].ID, State: state, Why: "no room"}
		out := Follow(fleet.Pass{Past: y.past, Snapshot: y.snap(), Policy: y.policy, Plan: fleet.Plan{Orders: []fleet.Order{order}}})
		if len(out.Records.Work) != 1 || len(out.Records.Mails) != 0 {
			t.Fatalf("%s: %+v", state, out.Records)
		}
		if w := out.Records.Work[0]; w.State != fleet.WorkOpen || w.Left+w.LeftBy+w.Branch != "" || w.Tries != tries {
			t.Errorf("%s: %+v", state, w)
		}
	}
}

// Whoever gave work back, or had it closed, and still works is neither ended nor followed by another; idle, it is ended first.
func TestWhoWorksIsLeftAlone(t *testing.T) {
	y := newYard(t.Fatalf)
	y.policy.Roles[1].Takes = fleet.RoleTakesReady
	id := y.add("retry", "builder", "")
	y.until(time.Minute)
	back, err := ledger.ReleaseWork(*y.work(id), "no", "agent/builder-w1", at(y.now))
	if err != nil {
		t.Fatal(err)
	}
	y.put(back)
	y.until(20 * time.Minute)
	if w := y.work(id); !y.alive["builder-w1"] || w.State != fleet.WorkOpen {
		t.Fatalf("%+v", w)
	}
	y.idle["builder-w1"] = true
	y.until(20 * time.Minute)
	if w := y.work(id); y.alive["builder-w1"] || w.Agent != "builder-w1-2" {
		t.Errorf("%+v", w)
	}
}

// Work by which an item of a merge queue is to be brought in is handed out by itself, to an agent that begins at that item's branch,
// and ends by its merge alone; not while the queue is held.
func TestWhatIsToBeBroughtInIsHandedOut(t *testing.T) {
	y := newYard(t.Fatalf)
	id := y.add("Bring in retry", "builder", "")
	w := *y.work(id)
	w.Resolves, w.Left = &fleet.Resolved{Queue: "shop", Item: "mq1", Commit: "c1"}, "retry"
	y.put(w)
	y.past.Records.MergeHolds = []fleet.MergeHold{{Head: fleet.Head{Key: "shop"}, Queue: "shop", Held: true, By: "ann"}}
	y.until(10 * time.Minute)
	if w := y.work(id); w.State != fleet.WorkOpen {
		t.Fatalf("while the queue is held: %+v", w)
	}
	y.past.Records.MergeHolds = nil
	y.until(time.Minute)
	if w, r := y.work(id), y.registration("builder-"+id); w.State != fleet.WorkTaken || w.Ends != fleet.RoleEndsMerged || r == nil || r.From != "retry" {
		t.Errorf("%+v, %+v", w, r)
	}
}
