package fleet

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestTrackerOfARef: the form of a name says where work is kept, for any text.
func TestTrackerOfARef(t *testing.T) {
	forms := map[Tracker]*regexp.Regexp{
		TrackerOwn:   regexp.MustCompile(`^w[1-9][0-9]*$`),
		TrackerBeads: regexp.MustCompile(`^bd:[A-Za-z0-9][A-Za-z0-9._-]*$`),
		TrackerIssue: regexp.MustCompile(`^[^\s#!]+#[1-9][0-9]*$`),
		TrackerPull:  regexp.MustCompile(`^[^\s#!]+![1-9][0-9]*$`),
	}
	seen := map[Tracker]bool{}
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.StringMatching(`(w|bd:|bd|shop|W)?[a-zA-Z0-9@\[`+"`"+`{/:^é ._-]{0,3}[#!\n]?[0-9]{0,3}[ #!\nx]?`).Draw(t, "ref")
		want := TrackerUnknown
		for tracker, form := range forms {
			if form.MatchString(r) {
				want = tracker
			}
		}
		seen[want] = true
		if got := Ref(r).Tracker(); got != want {
			t.Fatalf("%q: %q, want %q", r, got, want)
		}
	})
	for _, r := range []string{"w1", "w12", "bd:a-1", "bd:shop.2", "shop#12", "shop!7", "bd:x#1", "w#3"} {
		for tracker, form := range forms {
			if got := Ref(r).Tracker() == tracker; got != form.MatchString(r) {
				t.Errorf("%q is of %q", r, Ref(r).Tracker())
			}
		}
	}
	if len(seen) < 2 && !testing.Short() { // of some twenty draws all may be of one kind
		t.Errorf("only %v was drawn", seen)
	}
}
