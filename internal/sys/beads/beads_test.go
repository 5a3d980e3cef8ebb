package beads

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/beadstest"
)

func run(ctx context.Context, dir string, argv []string) ([]byte, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = dir
	return c.Output()
}

func newFake(t *testing.T, files map[string]string) (*Reader, beadstest.Fake) {
	t.Helper()
	fake, err := beadstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for what, file := range files {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := fake.Say(what, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(Options{Command: fake.Command(), Dir: t.TempDir(), Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return r, fake
}

var day = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// Both forms of a list give the same beads.
func TestList(t *testing.T) {
	want := []Bead{
		{ID: "hq-a1", Title: "Add a retry", Status: "open", Priority: 1, Labels: []string{"uploads"}, Updated: time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC), Needs: []string{"hq-b2"}},
		{ID: "hq-b2", Title: "Describe the protocol", Status: "in_progress", Priority: 2, Assignee: "gastown/polecats/nux", Updated: time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC)},
		{ID: "hq-c3", Title: "Choose a name", Status: "closed", Priority: 3, Reason: "Completed",
			Updated: time.Date(2026, 6, 30, 10, 0, 0, 0, time.UTC), Closed: time.Date(2026, 6, 30, 10, 0, 0, 0, time.UTC)},
	}
	for _, list := range []string{"list.json", "list-counts.json"} {
		r, fake := newFake(t, map[string]string{"list": list, "show": "show.json", "closed": "closed.json"})
		got, err := r.List(t.Context(), day)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", list, got, err)
		}
		calls := []string{"list --json --limit 0", "list --json --limit 0 --status closed --closed-after 2026-06-01"}
		if list == "list-counts.json" {
			calls = append(calls, "show --json hq-a1")
		}
		if got := fake.Calls(); !slices.Equal(got, calls) {
			t.Errorf("%s: asked %q", list, got)
		}
	}
}

// TestWrapped: from 1.x on the same may come in an object.
func TestWrapped(t *testing.T) {
	for _, field := range []string{"items", "data"} {
		r, fake := newFake(t, map[string]string{"list": "list-counts.json", "show": "show.json", "closed": "closed.json"})
		if err := fake.Wrap(field); err != nil {
			t.Fatal(err)
		}
		got, err := r.List(t.Context(), day)
		if err != nil || len(got) != 3 || !slices.Equal(got[0].Needs, []string{"hq-b2"}) {
			t.Errorf("%s: %+v, %v", field, got, err)
		}
	}
	r, fake := newFake(t, nil)
	if err := errors.Join(fake.Wrap("data"), fake.Say("list", "null")); err != nil {
		t.Fatal(err)
	}
	if got, err := r.List(t.Context(), day); err != nil || len(got) != 0 {
		t.Errorf("none: %+v, %v", got, err)
	}
}

// What is not whole is no answer.
func TestListFails(t *testing.T) {
	for name, c := range map[string]struct{ list, show, fault, want string }{
		"it fails":              {"", "", "exit 1", "cannot run bd list"},
		"it prints words":       {"No issues found", "", "", "cannot read what bd list printed"},
		"half an answer":        {`[{"id":"a","status":"op`, "", "", "cannot read what bd list printed"},
		"an error as JSON":      {`{"error":"no database"}`, "", "", "has no id"},
		"a bead without status": {`[{"id":"a"}]`, "", "", "no status"},
		"show leaves one out":   {`[{"id":"a","status":"open","dependency_count":1}]`, `[]`, "", `did not show what "a" waits for`},
		"an ID like an option":  {`[{"id":"--db=/x","status":"open","dependency_count":1}]`, `[]`, "", "did not show"},
	} {
		r, fake := newFake(t, nil)
		for what, text := range map[string]string{"list": c.list, "show": c.show} {
			if text != "" {
				if err := fake.Say(what, text); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := fake.Break(c.fault); err != nil {
			t.Fatal(err)
		}
		if got, err := r.List(t.Context(), day); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if slices.ContainsFunc(fake.Calls(), func(c string) bool { return strings.Contains(c, "--db") }) {
			t.Errorf("%s: an ID was given as an option: %q", name, fake.Calls())
		}
	}
}

func TestListOfNothing(t *testing.T) {
	r, fake := newFake(t, nil)
	if err := fake.Say("list", "null"); err != nil { // as an empty Go list is printed
		t.Fatal(err)
	}
	if got, err := r.List(t.Context(), day); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	r.o.Run = func(context.Context, string, []string) ([]byte, error) { return nil, errors.New("too much") }
	if _, err := r.List(t.Context(), day); err == nil {
		t.Error("no error")
	}
	if _, err := New(Options{}); err == nil {
		t.Error("it is not whole")
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"list.json", "show.json", "closed.json"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parse(text)
		for _, b := range list {
			if err == nil && b.bead().ID == "" {
				t.Fatalf("a bead without a name of %q", text)
			}
		}
	})
}
