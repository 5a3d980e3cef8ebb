package report

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// Window is a time in which certain alerts are not sent, because a person
// is at work there. What still fires when it is over is told then.
type Window struct {
	Name     string
	Rules    []string // globs of rule names; none: any
	Projects []string // globs of a word of the subject's name; none: any
	Kinds    []string // kinds of subject; none: any
	// Began returns when it began last, at that moment or before; false for never.
	Began func(at time.Time) (time.Time, bool)
	For   time.Duration
}

// open says whether the window is open at a moment.
func (w Window) open(at time.Time) bool {
	began, ok := w.Began(at)
	return ok && at.Sub(began) < w.For
}

func (w Window) covers(k fleet.AlertKey) bool {
	return anyOf(w.Rules, k.Rule) && anyOf(w.Kinds, string(k.Subject.Kind)) && anyOf(w.Projects, words(k.Subject.Name)...)
}

// openWindows are those that are open now.
func (s Scene) openWindows() (out []Window) {
	for _, w := range s.Windows {
		if w.open(s.At.Wall) {
			out = append(out, w)
		}
	}
	return out
}

func covered(windows []Window, k fleet.AlertKey) bool {
	return slices.ContainsFunc(windows, func(w Window) bool { return w.covers(k) })
}

// maintained says whether a person was at work, then, on what an alert is about.
func (s Scene) maintained(k fleet.AlertKey, then time.Time) bool {
	return slices.ContainsFunc(s.Windows, func(w Window) bool { return w.covers(k) && w.open(then) })
}
