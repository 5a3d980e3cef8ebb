package follow

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

func TestAddConvoy(t *testing.T) {
	w := newVillage(t)
	w.add("a")
	many := make([]fleet.Ref, 0, 500+1)
	for i := range 500 + 1 {
		many = append(many, fleet.Ref(fleet.IssueName("shop", i+1)))
	}
	for name, x := range map[string]struct {
		v    fleet.Convoy
		refs []fleet.Ref
		want string
	}{
		"across trackers":      {fleet.Convoy{Title: "x"}, []fleet.Ref{"w1", "shop#2", "shop!3", "bd:hq-1", "w1"}, ""},
		"empty":                {fleet.Convoy{Title: "x"}, nil, ""},
		"no title":             {fleet.Convoy{Title: " \x1b[31m "}, nil, "no title"},
		"itself":               {fleet.Convoy{Head: fleet.Head{ID: "c7"}, Title: "x"}, []fleet.Ref{"c7"}, "c7 would contain itself"},
		"another convoy":       {fleet.Convoy{Title: "x"}, []fleet.Ref{"c8"}, "c8 is a convoy"},
		"no such work":         {fleet.Convoy{Title: "x"}, []fleet.Ref{"w99"}, "there is no work w99"},
		"no form":              {fleet.Convoy{Title: "x"}, []fleet.Ref{"jira-17"}, "names no work"},
		"too many":             {fleet.Convoy{Title: "x"}, many, "500 are the most"},
		"due already":          {fleet.Convoy{Title: "x", Due: at(-time.Hour)}, nil, "which is over"},
		"an address of 2 rows": {fleet.Convoy{Title: "x", Notify: []string{"a\nb"}}, nil, "no address"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := ledger.AddConvoy(w.past.Records, x.v, x.refs, "ann", w.at())
			if (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) || !strings.HasPrefix(err.Error(), "cannot make a convoy: not allowed: ")) {
				t.Errorf("error %v, want %q", err, x.want)
			}
			if name == "across trackers" && len(v.Members) != 4 {
				t.Errorf("got %+v", v)
			}
		})
	}
}

func (w *village) convoyNow(id string) fleet.Convoy { return *ledger.Convoy(w.past.Records, id) }

func TestConvoy(t *testing.T) {
	w := newVillage(t)
	a, b := w.add("a"), w.add("b")
	w.issue(3, true)
	id := w.convoy(fleet.Convoy{Title: "release", Notify: []string{"ann", "builder"}}, a, b, "shop#3")
	shared := w.convoyNow(id).Members // as the store's mirror has them
	wantMails(t, w.pass())
	if shared[0].State != "" {
		t.Error("a pass changed what it was given")
	}
	w.close(a, "")
	w.close(b, "wontfix")
	wantMails(t, w.pass())
	w.issue(3, false)
	got := w.pass()
	wantMails(t, got, "Convoy done: c1 (release)")
	if m := got[0]; !slices.Equal(m.To, []string{"ann", "builder"}) || !strings.Contains(m.Body, "3m0s after it was made: 1 closed, 1 completed, 1 wontfix") ||
		!strings.Contains(m.Body, "- w2 (b): wontfix\n") {
		t.Errorf("got %+v", m)
	}
	wantMails(t, w.again())
	w.reopen(a)
	wantMails(t, w.pass(), "Convoy open again: c1 (release)")
	wantMails(t, w.pass())
	w.close(a, "")
	wantMails(t, w.pass(), "Convoy done: c1 (release)")
	if v := w.convoyNow(id); v.Times != 2 || v.State != fleet.ConvoyDone {
		t.Errorf("got %+v", v)
	}
	w.now += month
	wantMails(t, w.pass())
	if v := w.convoyNow(id); v.State != fleet.ConvoyClosed { // so that it is not followed for ever
		t.Errorf("got %+v", v)
	}
}

func TestAnEmptyConvoyIsNeverDone(t *testing.T) {
	w := newVillage(t)
	id := w.convoy(fleet.Convoy{Title: "x"})
	w.pass()
	w.now += 100 * time.Hour
	wantMails(t, w.pass())
	a := w.add("a")
	w.close(a, "")
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		v, err := ledger.JoinConvoy(all, *ledger.Convoy(all, id), []fleet.Ref{a})
		return fleet.Records{Convoys: []fleet.Convoy{v}}, err
	})
	wantMails(t, w.pass(), "Convoy done: c1 (x)")
	// The last one is taken out again: it was done, and is not opened for that.
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		v, err := ledger.LeaveConvoy(*ledger.Convoy(all, id), []fleet.Ref{a})
		return fleet.Records{Convoys: []fleet.Convoy{v}}, err
	})
	wantMails(t, w.pass())
	if _, err := ledger.LeaveConvoy(w.convoyNow(id), []fleet.Ref{a}); err == nil {
		t.Error("it does not have it")
	}
}

// A tracker that does not answer closes nothing, and opens nothing.
func TestConvoyOfTheUnseen(t *testing.T) {
	w := newVillage(t)
	w.issue(1, false)
	w.issue(2, true)
	id := w.convoy(fleet.Convoy{Title: "x"}, "shop#1", "shop#2", "bd:gone")
	w.pass()
	w.issue(2, false)
	wantMails(t, w.pass()) // one was never seen
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		v, err := ledger.LeaveConvoy(*ledger.Convoy(all, id), []fleet.Ref{"bd:gone"})
		return fleet.Records{Convoys: []fleet.Convoy{v}}, err
	})
	w.blind(&w.snap.Forge.Sight, true)
	wantMails(t, w.pass()) // last seen closed, and may have been opened since
	if f := w.snap.Coordination.Value.Convoys[0]; f.Unseen != 2 || f.Ready.IsKnown() || f.Taken.IsKnown() {
		t.Errorf("facts %+v", f)
	}
	w.blind(&w.snap.Forge.Sight, false)
	w.snap.Forge.Value.Issues = w.snap.Forge.Value.Issues[1:] // closed for long, and no more in the list
	wantMails(t, w.pass(), "Convoy done: c1 (x)")
	w.blind(&w.snap.Forge.Sight, true)
	wantMails(t, w.pass())
	if v := w.convoyNow(id); v.State != fleet.ConvoyDone {
		t.Errorf("got %+v", v)
	}
}

func TestCloseConvoy(t *testing.T) {
	w := newVillage(t)
	id := w.convoy(fleet.Convoy{Title: "x"}, w.add("a"))
	if _, err := ledger.CloseConvoy(w.convoyNow(id), "", "agent/x", w.at()); err == nil {
		t.Error("an agent closed what a person made")
	}
	v, err := ledger.CloseConvoy(w.convoyNow(id), "no more", "ann", w.at())
	want(t, err, nil)
	if again, err := ledger.CloseConvoy(v, "other", "bob", w.at()); err != nil || again.Why != v.Why {
		t.Errorf("got %+v, %v", again, err)
	}
	if _, err := ledger.JoinConvoy(w.past.Records, v, nil); err == nil {
		t.Error("it is closed")
	}
	w.edit(func(fleet.Records) (fleet.Records, error) { return fleet.Records{Convoys: []fleet.Convoy{v}}, nil })
	w.close("w1", "")
	wantMails(t, w.pass())
	open, err := ledger.ReopenConvoy(w.convoyNow(id), "after all", w.at())
	want(t, err, nil)
	w.edit(func(fleet.Records) (fleet.Records, error) { return fleet.Records{Convoys: []fleet.Convoy{open}}, nil })
	wantMails(t, w.pass(), "Convoy done: c1 (x)")
	if _, err := ledger.ReopenConvoy(w.convoyNow(id), "", w.at()); err == nil {
		t.Error("nobody closed it")
	}
}

func TestConvoyFacts(t *testing.T) {
	w := newVillage(t)
	w.snap.Agents.Value = []fleet.Agent{{Name: "lives", Process: fleet.ProcessID{PID: 1}}, {Name: "dead"}}
	a, b, c, d := w.add("a"), w.add("b"), w.add("c"), w.add("d")
	w.add("e")
	w.needs(d, a)
	for r, agent := range map[fleet.Ref]string{b: "lives", c: "dead"} {
		w.change(r, func(v fleet.WorkItem) (fleet.WorkItem, error) { return ledger.TakeWork(v, agent, "ann", w.at()) })
	}
	w.convoy(fleet.Convoy{Title: "x", Due: at(time.Hour)}, a, b, c, d)
	w.pass()
	now := func() fleet.ConvoyFacts { return w.snap.Coordination.Value.Convoys[0] }
	if f := now(); f.Members != 4 || f.Ready.Or(-1) != 2 || f.Taken.Or(-1) != 1 || f.Closed != 0 || f.Overdue != 0 {
		t.Errorf("got %+v", f)
	}
	w.now += 2 * time.Hour
	w.blind(&w.snap.Agents.Sight, true)
	w.pass()
	if f := now(); f.Taken.IsKnown() || f.Ready.Or(-1) != 1 || time.Duration(f.Overdue).Round(time.Hour) != time.Hour || time.Duration(f.Still) != 2*time.Hour+time.Minute {
		t.Errorf("got %+v", f)
	}
}

func TestConvoysPolicyIsTold(t *testing.T) {
	w := newVillage(t)
	w.policy.Coordination.Convoys = []string{"role/mayor"}
	a := w.add("a")
	w.convoy(fleet.Convoy{Title: "x"}, a)
	w.close(a, "")
	if got := w.pass(); len(got) != 1 || !slices.Equal(got[0].To, []string{"role/mayor"}) {
		t.Errorf("got %+v", got)
	}
}
