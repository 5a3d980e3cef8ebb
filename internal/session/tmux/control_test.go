package tmux

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/session"
)

// hearAll takes a text line by line and returns what is told.
func hearAll(text string) (all []session.Notice) {
	c := &control{post: "$9"}
	for line := range strings.Lines(text) {
		c.hear(strings.TrimSuffix(line, "\n"), func(n session.Notice) { all = append(all, n) })
	}
	return all
}

// What is in an answer is no notification, whatever it looks like, and ends at
// its own end only.
func TestAnswersAreNotNotifications(t *testing.T) {
	got := hearAll(strings.Join([]string{
		"%begin 1 2 0", "%0 of the command it began with", "%end 1 2 0",
		"%sessions-changed", "%layout-change @1 b25d", "%output %1 hello",
		"%begin 1 3 1", "$1\t%1\t0\t1795478213\ttitle\twith tab", "%sessions-changed", "%end 1 2 1", "$9\t%9\t1\t5\tthe post", "$2\t%2\t1\t\t", "junk", "%end 1 3 1",
		"%client-detached /dev/pts/3", "%begin 1 4 1", "%error 1 4 1", "junk", "%exit",
	}, "\n"))
	want := []session.Notice{{What: "a session came or went"},
		{Panes: []session.Glimpse{{Pane: "%1", Title: "title\twith tab", Wrote: 1795478213}, {Pane: "%2", Dead: true}}}, {What: "a person came or left"}}
	if !slices.EqualFunc(got, want, func(a, b session.Notice) bool { return a.What == b.What && slices.Equal(a.Panes, b.Panes) }) {
		t.Errorf("it told %+v, want %+v", got, want)
	}
}

// Glimpses take a two-thousandth of the time, but for very few and very many panes. That an answer
// came late, because the machine is busy, does not make a few panes many.
func TestPause(t *testing.T) {
	for _, c := range []struct {
		took  time.Duration
		panes int
		want  time.Duration
	}{
		{0, 200, time.Second}, {300 * time.Microsecond, 200, time.Second}, {4 * time.Millisecond, 200, 8 * time.Second}, {time.Minute, 1000, 10 * time.Second},
		{8 * time.Millisecond, 5, time.Second}, {8 * time.Millisecond, 60, 2400 * time.Millisecond}, {time.Minute, 0, time.Second},
	} {
		if got := pause(c.took, c.panes); got != c.want {
			t.Errorf("%d panes after %s: %s, want %s", c.panes, c.took, got, c.want)
		}
	}
}

// FuzzControl: whatever a server says, panes have ids, and nothing is kept that
// was not said.
func FuzzControl(f *testing.F) {
	f.Add("%begin 1 3 1\n$1\t%1\t0\tt\n%end 1 3 1\n%sessions-changed\n")
	f.Add("%begin 1 3\n%end 1 3\n%begin\n%end\n")
	f.Add("%begin  \n%error  \n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range hearAll(text) {
			if (n.What == "") == (n.Panes == nil) {
				t.Errorf("notice %+v is neither or both", n)
			}
			for _, g := range n.Panes {
				if !isPane(g.Pane) || !strings.Contains(text, g.Title) {
					t.Errorf("glimpse %+v was not said", g)
				}
			}
		}
	})
}
