package watch

import (
	"cmp"
	"slices"
	"strings"

	"custos/internal/agent"
	"custos/internal/session"
)

// looks remembers what panes looked like.
type looks struct {
	kinds []agent.Kind // those that read titles
	panes map[string]looked
	read  map[string]string // what a title means: a spinner shows the same few again and again
}

// readMost is how many titles are remembered: 200 panes with a spinner of ten
// pictures take 2000.
const readMost = 8192

// restsAfter is for how many whole seconds a window has not been written to that is at rest: a
// spinner, which writes many times a second, never is.
const restsAfter = 1

// beginning is how many glimpses of a window that is written to are news: what is typed first
// says what is drawn then.
const beginning = 2

type looked struct {
	glimpse session.Glimpse
	meaning string
	writes  int // in so many glimpses its window was written to, and had not come to rest since
}

// newLooks begins to remember. A title without a mark is no mark here, also for
// kinds to which that means something: for waking it is enough that marks go.
func newLooks(kinds *agent.Kinds) *looks {
	reading := slices.DeleteFunc(kinds.All(), func(k agent.Kind) bool { return k.Disabled || len(k.Title) == 0 })
	for i := range reading {
		reading[i].SilentTitle = ""
	}
	return &looks{kinds: reading, read: map[string]string{}}
}

// news compares every pane with what it looked like before, and says in words
// what means something else now, or has been drawn; "" for nothing. A pane that came or
// went is told of by others: only what it shows counts here. The clock is seconds since
// 1970, as tmux's are.
func (l *looks) news(all []session.Glimpse, clock int64) (why string) {
	panes := make(map[string]looked, len(all))
	for _, g := range all {
		was := l.panes[g.Pane]
		now := looked{glimpse: g, meaning: was.meaning}
		if g != was.glimpse {
			now.meaning = l.meaning(g)
		}
		if now.meaning != was.meaning {
			why = cmp.Or(why, "pane "+g.Pane+" now shows "+cmp.Or(now.meaning, "nothing"))
		}
		if !g.Dead && (was.writes > 0 || was.glimpse.Wrote != 0 && g.Wrote > was.glimpse.Wrote) {
			now.writes = was.writes + 1
		}
		switch {
		case now.writes > 0 && clock-g.Wrote > restsAfter:
			why, now.writes = cmp.Or(why, "pane "+g.Pane+" was written to, and is at rest"), 0
		case now.writes > 0 && now.writes <= beginning:
			why = cmp.Or(why, "pane "+g.Pane+" is written to")
		}
		panes[g.Pane] = now
	}
	l.panes = panes
	return why
}

// meaning is what a pane means to kinds of agent: dead, or what its title does.
func (l *looks) meaning(g session.Glimpse) string {
	if g.Dead {
		return "dead"
	}
	m, ok := l.read[g.Title]
	if ok {
		return m
	}
	if len(l.read) >= readMost {
		clear(l.read)
	}
	m = meaning(l.kinds, g.Title)
	l.read[g.Title] = m
	return m
}

// meaning is what each kind that has a mark for a title reads there; "" when none
// does. Which kind runs in a pane is not asked: no two read the same mark
// differently in a way that matters for waking.
func meaning(kinds []agent.Kind, title string) string {
	var all []string
	for _, k := range kinds {
		for _, s := range agent.ReadScreen(k, "", title) {
			all = append(all, k.Name+" "+string(s.Hint))
		}
	}
	return strings.Join(all, ", ")
}
