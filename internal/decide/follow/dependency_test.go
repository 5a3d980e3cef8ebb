package follow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

func TestAddDependency(t *testing.T) {
	w := newVillage(t)
	a, b := w.add("a"), w.add("b")
	c := w.add("c", b)
	w.needs(b, a)
	for name, x := range map[string]struct {
		of, needs fleet.Ref
		want      string
	}{
		"plain":                 {c, a, ""},
		"again":                 {b, a, ""},
		"an issue":              {a, "shop#12", ""},
		"a tracker nobody has":  {a, "jira-17", ""},
		"itself":                {a, a, "cannot wait for itself"},
		"a cycle":               {a, c, "w1 -> w3 -> w2 -> w1"},
		"no such work":          {"w99", a, "there is no work w99"},
		"of no such work":       {a, "w99", "there is no work w99"},
		"of nothing":            {a, "", "names no work"},
		"of what has no form":   {"jira-17", a, "names no work"},
		"of what breaks a line": {a, "x\ny", "names no work"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ledger.AddDependency(w.past.Records, x.of, x.needs, "ann", w.at())
			if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
				t.Errorf("error %v, want %q", err, x.want)
			}
		})
	}
}

func TestDropDependency(t *testing.T) {
	w := newVillage(t)
	w.issue(1, true)
	w.issue(2, true, "shop#1")
	w.pass()
	if _, err := ledger.DropDependency(w.past.Records, "shop#2", "shop#1", "agent/x", w.at()); err == nil {
		t.Error("an agent took back what a tracker tells")
	}
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		d, err := ledger.DropDependency(all, "shop#2", "shop#1", "ann", w.at())
		return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
	})
	w.pass()
	if d := w.past.Records.Dependencies[0]; d.State != fleet.DependencyWaits { // its tracker tells of it still
		t.Errorf("got %+v", d)
	}
	if _, err := ledger.DropDependency(w.past.Records, "shop#2", "shop#9", "ann", w.at()); err == nil {
		t.Error("there is none")
	}
}

func TestUnblocked(t *testing.T) {
	w := newVillage(t)
	a, b := w.add("a"), w.add("b")
	w.add("c", a, b)
	wantMails(t, w.pass())
	w.close(a, "")
	wantMails(t, w.pass()) // b is open still
	w.close(b, "wontfix")
	got := w.pass()
	wantMails(t, got, "Unblocked: w3 (c)")
	if m := got[0]; !slices.Equal(m.To, []string{fleet.Overseer}) || m.Type != fleet.MailDependency || m.About != "w3" ||
		!strings.Contains(m.Body, "w1 (a), completed") || !strings.Contains(m.Body, "w2 (b), wontfix") {
		t.Errorf("got %+v", m)
	}
	wantMails(t, w.again())
	w.reopen(a)
	wantMails(t, w.pass())
	if w.past.Records.Dependencies[0].State != fleet.DependencyWaits {
		t.Error("it does not wait again")
	}
	w.close(a, "")
	wantMails(t, w.pass(), "Unblocked: w3 (c)")
	if d := w.past.Records.Dependencies[0]; d.Times != 2 || d.Told != 2 {
		t.Errorf("got %+v", d)
	}
}

// Two that are closed in one pass, or while Custos was down, are one mail.
func TestUnblockedAtOnce(t *testing.T) {
	w := newVillage(t)
	a, b := w.add("a"), w.add("b")
	w.add("c", a, b)
	w.pass()
	w.close(a, "")
	w.close(b, "")
	wantMails(t, w.pass(), "Unblocked: w3 (c)")
	wantMails(t, w.pass())
}

// Closed before anybody said that it is waited for: no news.
func TestClosedAlready(t *testing.T) {
	w := newVillage(t)
	a := w.add("a")
	w.close(a, "")
	w.now += time.Hour
	w.add("b", a)
	wantMails(t, w.pass())
	w.reopen(a)
	w.pass()
	w.close(a, "")
	wantMails(t, w.pass(), "Unblocked: w2 (b)")
}

// Seen to be open, then closed at a moment that another clock tells: news.
func TestClosedByAnotherClock(t *testing.T) {
	w := newVillage(t)
	w.bead(fleet.Bead{ID: "a", State: fleet.WorkOpen})
	w.add("b", "bd:a")
	w.pass()
	w.bead(fleet.Bead{ID: "a", State: fleet.WorkClosed, Closed: fleet.Known(at(-100 * time.Hour))})
	wantMails(t, w.pass(), "Unblocked: w1 (b)")
}

// Closed between two passes, just after it was said: news.
func TestClosedSince(t *testing.T) {
	w := newVillage(t)
	a := w.add("a")
	w.add("b", a)
	w.close(a, "")
	wantMails(t, w.pass(), "Unblocked: w2 (b)")
}

func TestUnseenIsNeverResolved(t *testing.T) {
	w := newVillage(t)
	w.issue(1, true)
	w.add("c", "shop#1")
	w.add("d", "jira-17")
	w.pass()
	w.blind(&w.snap.Forge.Sight, true)
	w.issue(1, false)
	wantMails(t, w.pass())
	f := w.snap.Coordination.Value.Work
	if !slices.Equal(f[0].Unseen, []fleet.Ref{"shop#1"}) || !slices.Equal(f[1].Unseen, []fleet.Ref{"jira-17"}) || f[0].Ready.Or(true) {
		t.Errorf("facts %+v", f)
	}
	w.snap.Forge.Value.Issues = nil // it answers, and shows it no more
	w.blind(&w.snap.Forge.Sight, false)
	wantMails(t, w.pass())
	w.issue(1, false)
	wantMails(t, w.pass(), "Unblocked: w1 (c)")
}

// What trackers tell, across them: an issue of another project, and a bead.
func TestTrackersTell(t *testing.T) {
	w := newVillage(t)
	w.register(fleet.Registration{Name: "builder", Desired: fleet.DesiredRunning})
	w.issue(1, true)
	i := w.issue(2, true, "shop#1")
	i.Agent = "builder"
	w.bead(fleet.Bead{ID: "hq-1", Title: "first", State: fleet.WorkOpen})
	w.bead(fleet.Bead{ID: "hq-2", Title: "second", State: fleet.WorkOpen, Blocked: true, Needs: []string{"hq-1"}})
	wantMails(t, w.pass())
	if n := len(w.past.Records.Dependencies); n != 2 {
		t.Fatalf("%d dependencies: %+v", n, w.past.Records.Dependencies)
	}
	w.issue(1, false)
	w.issue(2, true).Agent = "builder"
	w.bead(fleet.Bead{ID: "hq-1", Title: "first", State: fleet.WorkClosed, Outcome: "done"})
	got := w.pass()
	wantMails(t, got, "Unblocked: shop#2 (issue 2)", "Unblocked: bd:hq-2 (second)")
	if !slices.Equal(got[0].To, []string{"builder"}) || !strings.Contains(got[1].Body, "still says that it waits") {
		t.Errorf("got %+v", got)
	}
	held := w.snap.Coordination.Value.Work
	if x := slices.IndexFunc(held, func(f fleet.WorkFacts) bool { return f.Held != "" }); x < 0 || held[x].Ref != "bd:hq-2" {
		t.Errorf("what is held still: %+v", held)
	}
	wantMails(t, w.pass())
}

func TestTrackerTakesBack(t *testing.T) {
	w := newVillage(t)
	w.issue(1, true)
	w.issue(2, true, "shop#1")
	w.pass()
	w.issue(2, true) // its text was edited
	wantMails(t, w.pass())
	if d := w.past.Records.Dependencies[0]; d.State != fleet.DependencyDropped {
		t.Errorf("got %+v", d)
	}
	w.issue(1, false)
	wantMails(t, w.pass())
	w.issue(1, true)
	w.issue(2, true, "shop#1")
	w.pass()
	if d := w.past.Records.Dependencies; len(d) != 1 || d[0].State != fleet.DependencyWaits {
		t.Errorf("got %+v", d)
	}
	// What cannot be told of it takes nothing back.
	i := w.issue(2, true)
	i.BlockedBy = fleet.Unknown[[]string]("half a page")
	w.pass()
	if d := w.past.Records.Dependencies; d[0].State != fleet.DependencyWaits {
		t.Errorf("got %+v", d)
	}
}

// An issue with a second blocker that nobody sees is not free.
func TestUnseenBlockerHoldsTheNews(t *testing.T) {
	w := newVillage(t)
	w.issue(1, true)
	w.issue(2, true, "shop#1", "acme/other#3")
	w.pass()
	if n := len(w.past.Records.Dependencies); n != 1 {
		t.Fatalf("%d dependencies", n) // what was never seen to be open is not written down
	}
	w.issue(1, false)
	w.issue(2, true, "acme/other#3")
	wantMails(t, w.pass())
	w.issue(2, true)
	wantMails(t, w.pass(), "Unblocked: shop#2 (issue 2)")
	wantMails(t, w.pass())
}

func TestNobodyIsToldOfWhatIsClosed(t *testing.T) {
	w := newVillage(t)
	a := w.add("a")
	b := w.add("b", a)
	w.pass()
	w.close(b, "")
	w.close(a, "")
	wantMails(t, w.pass())
	w.reopen(b)
	wantMails(t, w.pass())
}

func TestCycles(t *testing.T) {
	w := newVillage(t)
	w.bead(fleet.Bead{ID: "a", State: fleet.WorkOpen, Needs: []string{"b"}})
	w.bead(fleet.Bead{ID: "b", State: fleet.WorkOpen, Needs: []string{"c", "d"}})
	w.bead(fleet.Bead{ID: "c", State: fleet.WorkOpen, Needs: []string{"a"}})
	w.bead(fleet.Bead{ID: "d", State: fleet.WorkOpen, Needs: []string{"a"}})
	w.issue(1, true, "shop#2").Cycle = []string{"shop#1", "shop#2", "shop#1"}
	w.issue(2, true, "shop#1")
	w.needs("shop#7", "bd:a") // leads there, and is in none
	w.pass()
	var got []string
	for _, f := range w.snap.Coordination.Value.Work {
		if len(f.Cycle) > 0 {
			got = append(got, strings.Trim(fmt.Sprint(f.Cycle), "[]"))
		}
	}
	if !slices.Equal(got, []string{"bd:a bd:b bd:c bd:a"}) {
		t.Errorf("cycles %q", got)
	}
}

func TestSpentDependenciesGo(t *testing.T) {
	w := newVillage(t)
	a := w.add("a")
	w.add("b", a)
	w.close(a, "")
	w.pass()
	w.now += month
	w.pass()
	if d := w.past.Records.Dependencies[0]; d.State != fleet.DependencyDropped {
		t.Errorf("got %+v", d)
	}
}
