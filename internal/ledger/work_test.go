package ledger

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestWorkVerbs(t *testing.T) {
	me, other := fleet.ByAgent("me"), fleet.ByAgent("other")
	open := fleet.WorkItem{Head: fleet.Head{ID: "w1", Revision: 1}, Title: "x", State: fleet.WorkOpen}
	mine := open
	mine.State, mine.Agent = fleet.WorkTaken, "me"
	closed := open
	closed.State, closed.Outcome = fleet.WorkClosed, Completed
	take := func(agent, by string) func(fleet.WorkItem) (fleet.WorkItem, error) {
		return func(w fleet.WorkItem) (fleet.WorkItem, error) { return TakeWork(w, agent, by, at(0)) }
	}
	release := func(by string) func(fleet.WorkItem) (fleet.WorkItem, error) {
		return func(w fleet.WorkItem) (fleet.WorkItem, error) { return ReleaseWork(w, "why", by, at(0)) }
	}
	finish := func(by string) func(fleet.WorkItem) (fleet.WorkItem, error) {
		return func(w fleet.WorkItem) (fleet.WorkItem, error) { return CloseWork(w, "", "why", by, at(0)) }
	}
	reopen := func(w fleet.WorkItem) (fleet.WorkItem, error) { return ReopenWork(w, "why", at(0)) }
	for name, c := range map[string]struct {
		w    fleet.WorkItem
		do   func(fleet.WorkItem) (fleet.WorkItem, error)
		want string // state and agent; or what the error says
	}{
		"take":                        {open, take("me", me), "in progress me"},
		"take again":                  {mine, take("me", me), "in progress me"},
		"take for another agent":      {open, take("other", me), "for itself only"},
		"take from another agent":     {mine, take("other", other), "agent me has w1"},
		"a person gives it to one":    {open, take("me", "ann"), "in progress me"},
		"a person gives it to other":  {mine, take("other", "ann"), "in progress other"},
		"a person names nobody":       {open, take("", "ann"), "nobody is named"},
		"take what is closed":         {closed, take("me", me), "is closed"},
		"release":                     {mine, release(me), "open "},
		"a person releases":           {mine, release("ann"), "open "},
		"release of another's":        {mine, release(other), "agent me has w1"},
		"release what nobody has":     {open, release(me), "nobody has w1"},
		"close":                       {mine, finish(me), "closed me"},
		"close what nobody has":       {open, finish(me), "closed "},
		"close another's":             {mine, finish(other), "agent me has w1"},
		"a nameless agent closes one": {mine, finish(fleet.ByAgent("")), "agent me has w1"},
		"a person closes":             {mine, finish("ann"), "closed me"},
		"close what is closed":        {closed, finish(other), "closed "},
		"reopen":                      {closed, reopen, "open "},
		"reopen what is open":         {open, reopen, "is open"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.do(c.w)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "cannot ") || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				return
			}
			if is := string(got.State) + " " + got.Agent; is != c.want {
				t.Errorf("got %q, want %q", is, c.want)
			}
		})
	}
}

func TestAddWork(t *testing.T) {
	for name, c := range map[string]struct {
		w    fleet.WorkItem
		want string
	}{
		"plain":           {fleet.WorkItem{Title: " x "}, ""},
		"only blanks":     {fleet.WorkItem{Title: " \n "}, "no title"},
		"a long text":     {fleet.WorkItem{Title: "x", Body: strings.Repeat("x", longestBody+1)}, "longer than 65536 bytes"},
		"many labels":     {fleet.WorkItem{Title: "x", Labels: make([]string, mostLabels+1)}, "21 labels"},
		"a broken label":  {fleet.WorkItem{Title: "x", Labels: []string{"a\nb"}}, "no label"},
		"no such grade":   {fleet.WorkItem{Title: "x", Priority: "P9"}, "P9"},
		"taken at once":   {fleet.WorkItem{Title: "x", Agent: "me"}, ""},
		"a closing state": {fleet.WorkItem{Title: "x", State: fleet.WorkClosed}, ""}, // is not taken over
	} {
		t.Run(name, func(t *testing.T) {
			w, err := AddWork(c.w, "ann", at(0))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err == nil && (w.Title != "x" || w.Priority != fleet.P3 || (w.State == fleet.WorkTaken) != (w.Agent != "") || w.Over()) {
				t.Errorf("got %+v", w)
			}
		})
	}
}

func TestGiveBack(t *testing.T) {
	gone, lives := []fleet.Agent{}, []fleet.Agent{{Name: "me", State: fleet.StateWorking, Process: fleet.ProcessID{PID: 7}}}
	unknown := []fleet.Agent{{Name: "me", State: fleet.StateUnknown}}
	for name, c := range map[string]struct {
		desired fleet.Desired
		failed  string
		mode    fleet.Mode
		agents  []fleet.Agent
		blind   bool
		frozen  string
		want    bool
	}{
		"retired":                          {fleet.DesiredRetired, "", fleet.ModeObserve, gone, false, "", true},
		"given up":                         {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, gone, false, "", true},
		"given up, and people are asked":   {fleet.DesiredRunning, "3 in 1h", fleet.ModeAsk, gone, false, "", false},
		"given up, and Custos only looks":  {fleet.DesiredRunning, "3 in 1h", fleet.ModeObserve, gone, false, "", false},
		"given up, frozen":                 {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, gone, false, "ann: wait", false},
		"given up, and a person began it":  {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, lives, false, "", false},
		"given up, in an unknown state":    {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, unknown, false, "", false},
		"given up, and agents are unseen":  {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, gone, true, "", false},
		"dead, and to be started again":    {fleet.DesiredRunning, "", fleet.ModeAuto, gone, false, "", false},
		"stopped by a person, for a while": {fleet.DesiredStopped, "", fleet.ModeAuto, gone, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newVillage(t)
			w.policy = fleet.Policy{Mode: c.mode, Frozen: c.frozen}
			w.snap.Agents.Value = c.agents
			w.blind(&w.snap.Agents.Sight, c.blind)
			w.register(fleet.Registration{Name: "me", Desired: c.desired, Failed: c.failed, Branch: "fix"})
			r := w.add("a")
			w.change(r, func(v fleet.WorkItem) (fleet.WorkItem, error) { return TakeWork(v, "me", "ann", w.at()) })
			got := w.pass()
			if is := Work(w.past.Records, r).State == fleet.WorkOpen; is != c.want || (len(got) == 1) != c.want {
				t.Fatalf("given back %v, want %v; mails %q", is, c.want, subjects(got))
			}
			if c.want && (!strings.Contains(got[0].Body, "it left branch fix") || Work(w.past.Records, r).Agent != "") {
				t.Errorf("got %+v", got[0])
			}
			wantMails(t, w.pass())
		})
	}
}

func TestLeftBehind(t *testing.T) {
	ended := &fleet.Exit{Status: fleet.Known(1), At: at(-time.Hour)}
	kept := &fleet.Checkpoint{At: at(-time.Minute), Ref: "refs/custos/backup/fix/1", Files: []string{"a", "b"}}
	base := fleet.Registration{Name: "me", Desired: fleet.DesiredRunning, Restart: fleet.RestartNever, Exit: ended, Checkpoint: kept, Repo: "/r", Project: "shop", Task: "mend it"}
	for name, c := range map[string]struct {
		change func(*fleet.Registration)
		want   bool
	}{
		"crashed, never restarted": {func(*fleet.Registration) {}, true},
		"given up":                 {func(r *fleet.Registration) { r.Restart, r.Failed = fleet.RestartAlways, "3 in 1h" }, true},
		"retired":                  {func(r *fleet.Registration) { r.Desired = fleet.DesiredRetired }, true},
		"to be started again":      {func(r *fleet.Registration) { r.Restart = fleet.RestartOnFailure }, false},
		"stopped by a person":      {func(r *fleet.Registration) { r.Desired = fleet.DesiredStopped }, false},
		"nothing was left":         {func(r *fleet.Registration) { r.Checkpoint = &fleet.Checkpoint{At: kept.At} }, false},
		"kept while it lived":      {func(r *fleet.Registration) { r.Exit = &fleet.Exit{At: at(0)} }, false},
		"of a run":                 {func(r *fleet.Registration) { r.Run = "r1" }, false},
		"it has not ended":         {func(r *fleet.Registration) { r.Exit = nil }, false},
		"a backup of long ago": {func(r *fleet.Registration) {
			r.Checkpoint = &fleet.Checkpoint{At: at(-2 * month), Ref: "x"}
			r.Exit = &fleet.Exit{At: at(-3 * month)}
		}, false},
		"finished well, on-failure": {func(r *fleet.Registration) {
			r.Restart, r.Exit = fleet.RestartOnFailure, &fleet.Exit{Status: fleet.Known(0), At: at(-time.Hour)}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newVillage(t)
			r := base
			c.change(&r)
			w.register(r)
			for range 3 {
				w.pass()
			}
			if got := w.past.Records.Work; (len(got) == 1) != c.want || len(got) > 1 {
				t.Fatalf("work %+v, want %v", got, c.want)
			} else if c.want && (!strings.Contains(got[0].Body, "git -C /r worktree add DIR refs/custos/backup/fix/1") || !slices.Equal(got[0].Labels, []string{"left-behind"})) {
				t.Errorf("got %+v", got[0])
			}
		})
	}
}

func TestAlive(t *testing.T) {
	w := newVillage(t)
	pid := fleet.ProcessID{PID: 1}
	w.snap.Agents.Value = []fleet.Agent{{Name: "lives", Process: pid}, {Name: "dead"}, {Name: "crispy"}, {Name: "gt-nux"}, {Name: "a-slit", Process: pid}, {Name: "b-slit"},
		{Name: "sh-toast", Origin: &fleet.Origin{Name: "shop/polecats/toast"}}, {Name: "ap-toast", Process: pid, Origin: &fleet.Origin{Name: "app/polecats/toast"}}}
	w.past.Registrations = []fleet.Registration{{Name: "sh-capable", Owner: fleet.OwnerAdopted, Origin: "shop/polecats/capable"}}
	for name, c := range map[string]struct {
		r     fleet.Ref
		agent string
		want  string
	}{
		"nobody":                {"w1", "", "true"},
		"lives":                 {"w1", "lives", "true"},
		"dead":                  {"w1", "dead", "false"},
		"never seen":            {"w1", "ghost", "false"},
		"of a bead, dead":       {"bd:x", "dead", "false"},
		"of a bead, a person":   {"bd:x", "ann", "unknown"},
		"of an issue, by forge": {"shop#1", "ghost", "false"},
		"with its role":         {"bd:x", "polecat-crispy", "false"},
		"with its rig":          {"bd:x", "gastown/polecats/nux", "false"},
		"of a role alone":       {"bd:x", "polecat-lives", "true"},
		"of two":                {"bd:x", "rig/polecats/slit", "unknown"},
		"an issue names it so":  {"shop#1", "polecat-lives", "false"},
		"of one rig, dead":      {"bd:x", "shop/polecats/toast", "false"},
		"of one rig, lives":     {"bd:x", "app/polecats/toast/", "true"},
		"of one rig, in short":  {"bd:x", "shop/toast", "false"},
		"of one rig, its crew":  {"bd:x", "shop/crew/toast", "unknown"},
		"of either rig":         {"bd:x", "polecat-toast", "unknown"},
		"on record alone":       {"bd:x", "shop/polecats/capable", "false"},
		"of a rig nobody knows": {"bd:x", "far/polecats/capable", "unknown"},
	} {
		f := newFacts(w.past, w.snap)
		if got := leafWord(f.alive(c.r, Seen{Agent: c.agent})); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A bead that somebody has is a fact, whatever waits for it.
func TestBeadInProgressIsAFact(t *testing.T) {
	w := newVillage(t)
	w.snap.Beads.Status = fleet.StatusOK
	w.snap.Beads.Value = []fleet.Bead{{ID: "gt-1", State: fleet.WorkTaken, Assignee: "polecat-crispy"}, {ID: "gt-2", State: fleet.WorkOpen}, {ID: "gt-3", State: fleet.WorkClosed}}
	w.snap.Agents.Status, w.snap.Agents.Value = fleet.StatusOK, []fleet.Agent{{Name: "crispy"}}
	work := Facts(w.past, w.snap).Value.Work
	if len(work) != 1 || work[0].Ref != "bd:gt-1" || work[0].Alive != fleet.Known(false) || work[0].State.Or("") != fleet.WorkTaken {
		t.Errorf("work %+v", work)
	}
}

// A bead in progress that nobody is assigned to is had by whoever has it as its task:
// so other systems keep it. Who was retired has nothing any more.
func TestWhoHasABeadByItsTask(t *testing.T) {
	bead := func(assignee string) fleet.Bead {
		return fleet.Bead{ID: "shop-2", Title: "parser", State: fleet.WorkTaken, Assignee: assignee}
	}
	on := func(name string, desired fleet.Desired) fleet.Registration {
		return fleet.Registration{Name: name, Owner: fleet.OwnerAdopted, Origin: name, Task: "bd:shop-2", Desired: desired}
	}
	for name, c := range map[string]struct {
		bead  fleet.Bead
		regs  []fleet.Registration
		lives string
		agent string
		alive string
	}{
		"nobody":              {bead: bead(""), alive: "true"},
		"one that is gone":    {bead: bead(""), regs: []fleet.Registration{on("b", fleet.DesiredRunning)}, agent: "b", alive: "false"},
		"one that lives":      {bead: bead(""), regs: []fleet.Registration{on("b", fleet.DesiredRunning)}, lives: "b", agent: "b", alive: "true"},
		"one of two lives":    {bead: bead(""), regs: []fleet.Registration{on("a", fleet.DesiredRunning), on("b", fleet.DesiredRunning)}, lives: "b", agent: "b", alive: "true"},
		"one that is retired": {bead: bead(""), regs: []fleet.Registration{on("b", fleet.DesiredRetired)}, alive: "true"},
		"another is assigned": {bead: bead("ann"), regs: []fleet.Registration{on("b", fleet.DesiredRunning)}, agent: "ann", alive: "unknown"},
	} {
		w := newVillage(t)
		w.past.Registrations = c.regs
		w.snap.Beads.Status, w.snap.Beads.Value = fleet.StatusOK, []fleet.Bead{c.bead}
		w.snap.Agents.Status, w.snap.Agents.Value = fleet.StatusOK, nil
		if c.lives != "" {
			w.snap.Agents.Value = []fleet.Agent{{Name: c.lives, Process: fleet.ProcessID{PID: 1}}}
		}
		work := Facts(w.past, w.snap).Value.Work
		if len(work) != 1 || work[0].Agent != c.agent || leafWord(work[0].Alive) != c.alive {
			t.Errorf("%s: %+v", name, work)
		}
	}
}

func leafWord(l fleet.Leaf[bool]) string {
	switch yes, known := l.Get(); {
	case !known:
		return "unknown"
	case yes:
		return "true"
	}
	return "false"
}
