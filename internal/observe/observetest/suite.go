package observetest

import (
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
)

// maxDeadline is the longest deadline a probe may ask for: beyond it a first
// look is no first look any more.
const maxDeadline = 2 * time.Minute

// Test asks everything that a probe promises. Each call of fresh returns a new
// probe on a world that stands still meanwhile (fixtures, not the live machine).
func Test(t *testing.T, fresh func() observe.Probe) {
	t.Helper()
	t.Run("its spec is sane", func(t *testing.T) { spec(t, fresh().Spec()) })
	t.Run("it sees its part and no other", func(t *testing.T) { ownPart(t, fresh()) })
	t.Run("it ends when it is told to", func(t *testing.T) { cancelled(t, fresh()) })
	t.Run("it sees the same twice", func(t *testing.T) { same(t, fresh()) })
	t.Run("its facts survive JSON", func(t *testing.T) { survives(t, fresh()) })
	t.Run("looks and snapshots do not meet", func(t *testing.T) { apart(t, fresh()) })
}

var name = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

func spec(t *testing.T, s observe.Spec) {
	if !name.MatchString(s.Name) {
		t.Errorf("name %q: want small letters, digits, - and _", s.Name)
	}
	if !slices.Contains(fleet.PartNames(), s.Part) {
		t.Errorf("part %q is none of %v", s.Part, fleet.PartNames())
	}
	if s.Every <= 0 {
		t.Errorf("every %s: want more than nothing", s.Every)
	}
	if s.Deadline <= 0 || s.Deadline > maxDeadline {
		t.Errorf("deadline %s: want at most %s", s.Deadline, maxDeadline)
	}
}

// see looks within the probe's deadline and returns the snapshot it fills.
func see(t *testing.T, p observe.Probe) (fleet.Snapshot, observe.Put) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), p.Spec().Deadline)
	defer cancel()
	put, err := p.Look(ctx)
	if put == nil {
		t.Fatalf("nothing was seen: %v", err)
	}
	var s fleet.Snapshot
	put(&s)
	return s, put
}

func ownPart(t *testing.T, p observe.Probe) {
	s, _ := see(t, p)
	for _, part := range fleet.PartNames() {
		if *s.Sight(part) != (fleet.Sight{}) {
			t.Errorf("the sight of %s was set; it is the board's to judge", part)
		}
	}
	blank(&s, p.Spec().Part)
	if !reflect.DeepEqual(s, fleet.Snapshot{}) {
		t.Errorf("more than %s was set: %s", p.Spec().Part, text(t, s))
	}
}

// blank empties the value of one part, so that what is left is what is too much.
func blank(s *fleet.Snapshot, part fleet.PartName) {
	for v, i := reflect.ValueOf(s).Elem(), 0; i < v.NumField(); i++ {
		if v.Type().Field(i).Tag.Get("json") == string(part) {
			v.Field(i).SetZero()
		}
	}
}

func cancelled(t *testing.T, p observe.Probe) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.Look(ctx)
	}()
	select {
	case <-ended:
	case <-time.After(min(p.Spec().Deadline, 10*time.Second)):
		t.Fatal("a cancelled look went on")
	}
}

// same compares the second look with the third: some figures (a rate, a
// difference) are not known at the first.
func same(t *testing.T, p observe.Probe) {
	see(t, p)
	one, _ := see(t, p)
	two, _ := see(t, p)
	if a, b := timeless(text(t, one)), timeless(text(t, two)); a != b {
		t.Errorf("nothing changed, but the second look saw\n%s\nand the third\n%s", a, b)
	}
}

var durations = regexp.MustCompile(`"-?(\d+(\.\d+)?(h|m|s|ms|µs|ns))+"`)

// timeless takes out of JSON every text that is a duration.
func timeless(s string) string { return durations.ReplaceAllString(s, `"…"`) }

func survives(t *testing.T, p observe.Probe) {
	s, _ := see(t, p)
	before := text(t, s)
	var back fleet.Snapshot
	if err := json.Unmarshal([]byte(before), &back); err != nil {
		t.Fatalf("cannot read back what was seen: %v", err)
	}
	if after := text(t, back); after != before {
		t.Errorf("JSON\n%s\ncame back as\n%s", before, after)
	}
	if strings.ContainsRune(before, '\x1b') || strings.Contains(before, `\u001b`) {
		t.Errorf("a terminal escape was let through: %s", before)
	}
}

// apart has the race detector watch a look while the facts of the one before
// are copied and read.
func apart(t *testing.T, p observe.Probe) {
	first, put := see(t, p)
	want := text(t, first)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var s fleet.Snapshot
			put(&s)
			if got := text(t, s); got != want {
				t.Errorf("the same facts gave\n%s\nand then\n%s", want, got)
			}
		})
	}
	wg.Go(func() { _, _ = p.Look(t.Context()) })
	wg.Wait()
	if got := text(t, first); got != want {
		t.Errorf("a later look changed\n%s\nto\n%s", want, got)
	}
}

func text(t *testing.T, s fleet.Snapshot) string {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Errorf("cannot write what was seen as JSON: %v", err)
	}
	return string(b)
}
