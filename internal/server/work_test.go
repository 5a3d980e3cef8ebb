package server

import (
	"errors"
	"os"
	"slices"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

func TestWorkByAPerson(t *testing.T) {
	w := newWorld()
	c, ctx := client(w), t.Context()
	first, err := c.AddWork(ctx, api.WorkRequest{Title: "a\x1b[31mb", Body: "text", Project: "shop", Labels: []string{"x"}})
	if err != nil || first.Ref != "w1" || first.Title != "ab" || first.State != "open" || !first.Ready {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := c.AddWork(ctx, api.WorkRequest{Title: "b", Needs: []string{"w1", "shop#12"}})
	if err != nil || second.Ready || !slices.Equal(second.BlockedBy, []string{"w1", "shop#12"}) || !slices.Equal(second.Unseen, []string{"shop#12"}) {
		t.Fatalf("%+v, %v", second, err)
	}
	if first, err = c.WorkItem(ctx, "w1"); err != nil || !slices.Equal(first.Blocks, []string{"w2"}) {
		t.Errorf("%+v, %v", first, err)
	}
	// Nothing is done by halves.
	_, err = c.AddWork(ctx, api.WorkRequest{Title: "c", Needs: []string{"w1", "w99"}})
	wantError(t, err, api.BadInput, "there is no work w99")
	if n := len(w.records.all.Work); n != 2 {
		t.Errorf("%d pieces of work", n)
	}
	// A key of somebody's is never one of Custos' own.
	if _, err := c.AddWork(ctx, api.WorkRequest{Title: "c", Key: "backup/x"}); err != nil || w.records.all.Work[2].Key == "backup/x" {
		t.Errorf("%v, %+v", err, w.records.all.Work[2])
	}
	_, err = c.WorkItem(ctx, "w22")
	wantError(t, err, api.NotFound, `did you mean "w2"`)
	_, err = c.ChangeWork(ctx, "w1", api.WorkChange{Do: "dance"})
	wantError(t, err, api.BadInput, `nothing is called "dance"`)
	_, err = c.ChangeWork(ctx, "jira-12", api.WorkChange{Do: "close"})
	wantError(t, err, api.NotFound, `cannot find work "jira-12" in the ledger`)
	_, err = c.Work(ctx, api.WorkQuery{Which: "most"})
	wantError(t, err, api.BadInput, `"most" is none of`)
}

// One list of what every tracker has.
func TestWorkOfEveryTracker(t *testing.T) {
	w := newWorld()
	s := &w.pass.Snapshot
	s.Forge.Status, s.Beads.Status, s.Agents.Status = fleet.StatusOK, fleet.StatusOK, fleet.StatusOK
	none := fleet.Known([]string{})
	s.Forge.Value.Issues = []fleet.Issue{
		{Name: "shop#1", Project: "shop", Number: 1, Title: "one", Open: fleet.Known(true), Ready: fleet.Known(true), BlockedBy: none},
		{Name: "shop#2", Project: "shop", Number: 2, Title: "two", Open: fleet.Known(true), Ready: fleet.Known(false), BlockedBy: fleet.Known([]string{"shop#1"})},
		{Name: "shop#3", Project: "shop", Number: 3, Title: "three", Open: fleet.Known(false), BlockedBy: none},
		{Name: "blog#1", Project: "blog", Number: 1, Title: "four", Open: fleet.Unknown[bool]("the forge is down"), BlockedBy: fleet.Unknown[[]string]("the forge is down")},
	}
	s.Beads.Value = []fleet.Bead{{ID: "hq-1", Title: "five", State: fleet.WorkTaken, Assignee: "ann"}}
	c, ctx := client(w), t.Context()
	if _, err := c.AddWork(ctx, api.WorkRequest{Title: "own"}); err != nil {
		t.Fatal(err)
	}
	list := func(q api.WorkQuery) (out []string) {
		got, err := c.Work(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range got.Work {
			out = append(out, x.Ref+" "+x.State)
		}
		return out
	}
	for _, x := range []struct {
		q    api.WorkQuery
		want []string
	}{
		{api.WorkQuery{}, []string{"w1 open", "shop#1 open", "shop#2 open", "blog#1 unknown", "bd:hq-1 in progress"}},
		{api.WorkQuery{Which: "ready"}, []string{"w1 open", "shop#1 open"}},
		{api.WorkQuery{Which: "blocked"}, []string{"shop#2 open"}},
		{api.WorkQuery{Tracker: "issue", Project: "blog"}, []string{"blog#1 unknown"}},
		{api.WorkQuery{Agent: "ann"}, []string{"bd:hq-1 in progress"}},
	} {
		if got := list(x.q); !slices.Equal(got, x.want) {
			t.Errorf("%+v: %q, want %q", x.q, got, x.want)
		}
	}
	if got, err := c.WorkItem(ctx, "shop#3"); err != nil || got.State != "closed" { // though no list has it
		t.Errorf("%+v, %v", got, err)
	}
}

// An agent takes and closes for itself only, and in its own name.
// Work that a person takes is the person's: nobody's who could be gone. Who is named
// to have it is known.
func TestWorkThatAPersonHas(t *testing.T) {
	w := newWorld()
	w.pass.Snapshot.Agents.Status = fleet.StatusOK
	w.registrations = []fleet.Registration{{Name: "builder"}}
	c, ctx := client(w), t.Context()
	person := Caller{UID: os.Getuid()}.Name()
	for _, r := range []api.WorkRequest{{Title: "a"}, {Title: "b", Agent: person}, {Title: "c", Agent: "builder"}} {
		if _, err := c.AddWork(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := c.ChangeWork(ctx, "w1", api.WorkChange{Do: "take"}); err != nil || got.Agent != person || got.Gone {
		t.Errorf("%+v, %v", got, err)
	}
	for ref, gone := range map[string]bool{"w1": false, "w2": false, "w3": true} {
		if got, err := c.WorkItem(ctx, ref); err != nil || got.Gone != gone {
			t.Errorf("%s: %+v, %v", ref, got, err)
		}
	}
	_, err := c.ChangeWork(ctx, "w1", api.WorkChange{Do: "take", Agent: "bilder"})
	wantError(t, err, api.BadInput, `nobody is called "bilder", did you mean "builder"?`)
	_, err = c.AddWork(ctx, api.WorkRequest{Title: "d", Agent: "bilder"})
	wantError(t, err, api.BadInput, `nobody is called "bilder", did you mean "builder"?`)
	if got, err := c.ChangeWork(ctx, "w1", api.WorkChange{Do: "take", Agent: "builder"}); err != nil || got.Agent != "builder" || !got.Gone {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWorkByAnAgent(t *testing.T) {
	w := newWorld()
	c, ctx := client(w), t.Context()
	for _, title := range []string{"a", "b"} {
		if _, err := c.AddWork(ctx, api.WorkRequest{Title: title}); err != nil {
			t.Fatal(err)
		}
	}
	w.agent = "builder"
	if got, err := c.ChangeWork(ctx, "w1", api.WorkChange{Do: "take"}); err != nil || got.Agent != "builder" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := c.ChangeWork(ctx, "w2", api.WorkChange{Do: "take", Agent: "other"})
	wantError(t, err, api.BadInput, "for itself only")
	_, err = c.AddWork(ctx, api.WorkRequest{Title: "c", Agent: "other"})
	wantError(t, err, api.BadInput, "for itself only")
	w.agent = "other"
	_, err = c.ChangeWork(ctx, "w1", api.WorkChange{Do: "close"})
	wantError(t, err, api.BadInput, "agent builder has w1")
	w.agent, w.agentErr = "", errors.New("its parent is gone") // nobody knows which one it is
	for _, do := range []string{"take", "close"} {
		_, err = c.ChangeWork(ctx, "w2", api.WorkChange{Do: do})
		wantError(t, err, api.BadInput, "cannot "+do+" work")
	}
	w.agent, w.agentErr = "builder", nil
	if got, err := c.ChangeWork(ctx, "w1", api.WorkChange{Do: "close", Outcome: "wontfix"}); err != nil || got.Outcome != "wontfix" {
		t.Errorf("%+v, %v", got, err)
	}
	if got := w.records.all.Work[0]; got.ClosedBy != "agent/builder" {
		t.Errorf("closed by %q", got.ClosedBy)
	}
	made, err := c.AddConvoy(ctx, api.ConvoyRequest{Title: "x", Members: []string{"w1", "w2"}})
	if err != nil || made.By != "agent/builder" {
		t.Fatalf("%+v, %v", made, err)
	}
	w.agent = "other"
	_, err = c.ChangeConvoy(ctx, made.ID, api.ConvoyChange{Do: "close"})
	wantError(t, err, api.BadInput, "agent/builder made c1")
}

func TestConvoys(t *testing.T) {
	w := newWorld()
	w.pass.Snapshot.Forge.Status = fleet.StatusUnknown
	c, ctx := client(w), t.Context()
	if _, err := c.AddWork(ctx, api.WorkRequest{Title: "a"}); err != nil {
		t.Fatal(err)
	}
	v, err := c.AddConvoy(ctx, api.ConvoyRequest{Title: "x", Members: []string{"w1", "shop#2"}, DueIn: "48h"})
	if err != nil || v.ID != "c1" || v.Unseen != 1 || v.Ready != nil || len(v.Members) != 2 || v.Members[1].State != "unknown" || v.Due.IsZero() {
		t.Fatalf("%+v, %v", v, err)
	}
	_, err = c.AddConvoy(ctx, api.ConvoyRequest{Title: "x", Members: []string{"c1"}})
	wantError(t, err, api.BadInput, "c1 is a convoy")
	_, err = c.AddConvoy(ctx, api.ConvoyRequest{Title: "x", DueIn: "-2h"})
	wantError(t, err, api.BadInput, "cannot make a convoy: due")
	_, err = c.ChangeConvoy(ctx, "c1", api.ConvoyChange{Do: "add", Members: []string{"c1"}})
	wantError(t, err, api.BadInput, "c1 would contain itself")
	_, err = c.ChangeConvoy(ctx, "c1", api.ConvoyChange{Do: "dance"})
	wantError(t, err, api.BadInput, "dance")
	_, err = c.ChangeConvoy(ctx, "c2", api.ConvoyChange{Do: "close"})
	wantError(t, err, api.NotFound, `did you mean "c1"`)
	if v, err = c.ChangeConvoy(ctx, "c1", api.ConvoyChange{Do: "close", Why: "no more"}); err != nil || v.State != "closed" || v.Why == "" {
		t.Errorf("%+v, %v", v, err)
	}
	open, err := c.Convoys(ctx, false)
	all, err2 := c.Convoys(ctx, true)
	if err != nil || err2 != nil || len(open.Convoys) != 0 || len(all.Convoys) != 1 {
		t.Errorf("%+v, %+v, %v, %v", open, all, err, err2)
	}
}
