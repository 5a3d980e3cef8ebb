package beads

import (
	"slices"
	"strings"
	"testing"

	"custos/internal/sys/beadstest"
)

func newWriter(t *testing.T) (*Writer, beadstest.Fake) {
	t.Helper()
	fake, err := beadstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(Options{Command: fake.Command(), Dir: t.TempDir(), Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return w, fake
}

// There and back: each is one command, argument by argument.
func TestCloseAndReopen(t *testing.T) {
	w, fake := newWriter(t)
	for what, status := range map[string]string{"show": "open", "after-close": "closed", "after-reopen": "open"} {
		if err := fake.Say(what, `[{"id":"hq-a1","status":"`+status+`"}]`); err != nil {
			t.Fatal(err)
		}
	}
	status := func() string {
		b, err := w.Bead(t.Context(), "hq-a1")
		if err != nil {
			t.Fatal(err)
		}
		return b.Status
	}
	got := []string{status()}
	if err := w.Close(t.Context(), "hq-a1", "-f; merged"); err != nil {
		t.Fatal(err)
	}
	got = append(got, status())
	if err := w.Reopen(t.Context(), "hq-a1", ""); err != nil {
		t.Fatal(err)
	}
	if got = append(got, status()); !slices.Equal(got, []string{"open", "closed", "open"}) {
		t.Errorf("%q", got)
	}
	show := "show --json hq-a1"
	if want := []string{show, "close hq-a1 --reason=-f; merged", show, "reopen hq-a1", show}; !slices.Equal(fake.Calls(), want) {
		t.Errorf("asked %q, want %q", fake.Calls(), want)
	}
}

// TestNoSuchBead: bd shows nothing at all of what there is not.
func TestNoSuchBead(t *testing.T) {
	w, _ := newWriter(t)
	if b, err := w.Bead(t.Context(), "hq-gone"); err == nil || !strings.Contains(err.Error(), "shows no such one") {
		t.Errorf("%+v, %v", b, err)
	}
}

// Another bead than the one asked for, an ID like an option, and a bd that fails.
func TestWriterFails(t *testing.T) {
	w, fake := newWriter(t)
	if err := fake.Say("show", `[{"id":"hq-a11","status":"open"}]`); err != nil {
		t.Fatal(err)
	}
	if b, err := w.Bead(t.Context(), "hq-a1"); err == nil {
		t.Errorf("another bead: %+v", b)
	}
	before := len(fake.Calls())
	_, err := w.Bead(t.Context(), "--db=/x")
	for _, err := range []error{err, w.Close(t.Context(), "--db=/x", ""), w.Reopen(t.Context(), "", "")} {
		if err == nil {
			t.Error("an ID that is none was taken")
		}
	}
	if n := len(fake.Calls()); n != before {
		t.Errorf("bd was asked %q", fake.Calls())
	}
	if err := fake.Break("exit 1"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(t.Context(), "hq-a1", ""); err == nil {
		t.Error("bd failed")
	}
	if _, err := NewWriter(Options{}); err == nil {
		t.Error("it is not whole")
	}
}
