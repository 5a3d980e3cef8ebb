package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// The morning page of a fleet: testdata/report/morning.txtar holds the pass, the
// event log, the failures, what was committed, and the page.
func TestReport(t *testing.T) {
	const file = "testdata/report/morning.txtar"
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	part := func(name string, into any) (i int) {
		for i, f := range ar.Files {
			if f.Name == name {
				if into != nil {
					if err := json.Unmarshal(f.Data, into); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
				return i
			}
		}
		t.Fatalf("no %s", name)
		return 0
	}
	w := newWorld()
	if w.pass, err = passOf(ar.Files[part("pass.json", nil)].Data); err != nil {
		t.Fatal(err)
	}
	w.pass.Snapshot.Forge.Status = fleet.StatusOK
	commits := map[string][]string{}
	part("events.json", &w.events)
	part("failures.json", &w.failed)
	part("commits.json", &commits)
	o := w.options()
	o.InProcess = true
	o.Control.Made = func(_ context.Context, top string, since time.Time) ([]string, bool, error) {
		if want := instant(-12 * time.Hour).Wall; !since.Equal(want) {
			t.Errorf("asked since %s, want %s", since, want)
		}
		if list, ok := commits[top]; ok {
			return list, len(list) > 3, nil
		}
		return nil, false, errors.New("cannot tell: its folder is gone")
	}
	r, err := api.NewClient(api.InProcess(New(o))).Report(t.Context(), "12h")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	i := part("report.json", nil)
	if *update {
		ar.Files[i].Data = got
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(string(ar.Files[i].Data), string(got)); d != "" {
		t.Error(d)
	}
}

// What was not seen is not told as nothing, and a slip says so.
func TestReportOfTheBlind(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "builder", Kind: "claude", Worktree: "/w"}}
	w.pass.Past.Registrations = w.registrations
	w.pass.Snapshot.Agents.Status, w.pass.Snapshot.Agents.Why = fleet.StatusUnknown, "no /proc"
	w.pass.Snapshot.Repos.Status = fleet.StatusUnknown
	w.pass.Snapshot.Forge.Status, w.pass.Snapshot.Forge.Why = fleet.StatusUnknown, "401"
	r, err := client(w).Report(t.Context(), "1h")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Agents) != 1 || r.Agents[0].State != "unknown" || r.Agents[0].Commits != nil || r.Agents[0].Blind == "" || !strings.Contains(r.Agents[0].NoForge, "401") {
		t.Errorf("of a builder that is not seen it is told %+v", r.Agents)
	}
	if len(r.NotSeen) != 3 {
		t.Errorf("not seen: %+v", r.NotSeen)
	}
	for _, bad := range []string{"soon", "-1h", "2026-13-01", "999999999d", "1h\x1b[31m"} {
		_, err := client(w).Report(t.Context(), bad)
		wantError(t, err, api.BadInput, "cannot look back to")
	}
	w.lookErr = errors.New("no world")
	_, err = client(w).Report(t.Context(), "")
	wantError(t, err, api.CannotLook, "no world")
}

// A log that is cut says so.
func TestReportOfALongLog(t *testing.T) {
	p := newWorld().pass
	many := make([]fleet.Event, view.EventsAReport)
	for i := range many {
		many[i] = fleet.Event{ID: int64(i), At: instant(-time.Minute), Kind: "patrol"}
	}
	if r := view.Report(p, instant(-time.Hour), many); !r.Cut || r.Patrols != view.EventsAReport {
		t.Errorf("cut: %v, %d patrols", r.Cut, r.Patrols)
	}
	many[0].At = instant(-2 * time.Hour)
	if r := view.Report(p, instant(-time.Hour), many); r.Cut || r.Patrols != view.EventsAReport-1 {
		t.Errorf("cut: %v, %d patrols", r.Cut, r.Patrols)
	}
}
