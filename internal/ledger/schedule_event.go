package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// The events that a schedule may be due on, beside trigger:NAME.
const (
	onAlert   = "alert:" // and the name of a rule
	onRun     = "run:"   // and FORMULA:STATE
	onStartup = "startup"
	onPatrol  = "patrol"
	onLog     = "log:" // and the kind of an event in the log, or its beginning: convoy.*
)

// on is due at the newest event that came after the last one a run stands for.
// Nothing is kept of events but what is on record anyway.
func (d *dues) on(s *fleet.Schedule, last fleet.Run) (slot fleet.Instant, due bool) {
	if strings.HasPrefix(s.On, onLog) {
		return d.at, s.Event > last.Event
	}
	since := last.Slot
	if last.ID == "" {
		since = d.past.StartedAt
	}
	for _, event := range d.events(s) {
		first := last.ID == "" && event == since // the start itself is one
		if (first || d.isAfter(event, since)) && (!due || d.isAfter(event, slot)) {
			slot, due = event, true
		}
	}
	if !due {
		return fleet.Instant{}, false
	}
	if _, due = d.jittered(s, slot, 0, slotID(s.Name, slot)); !due {
		return fleet.Instant{}, false
	}
	return slot, true
}

func (d *dues) events(s *fleet.Schedule) (list []fleet.Instant) {
	rule, isAlert := strings.CutPrefix(s.On, onAlert)
	run, isRun := strings.CutPrefix(s.On, onRun)
	trigger, isTrigger := strings.CutPrefix(s.On, onTrigger)
	switch {
	case s.On == onStartup:
		list = append(list, d.past.StartedAt)
	case s.On == onPatrol && d.patrol > 0:
		list = append(list, d.at)
	case s.On == onPatrol:
		list = append(list, d.past.PatrolAt)
	case isAlert:
		for _, a := range d.alerts {
			if a.Rule == rule {
				list = append(list, a.FiredAt)
			}
		}
	case isTrigger:
		for _, t := range d.past.Records.Triggers {
			if t.Name == trigger {
				list = append(list, t.At)
			}
		}
	case isRun:
		formula, state, _ := cutLast(run, ":")
		for _, r := range d.past.Runs {
			if r.IsOver() && r.Formula == formula && string(r.State) == state && (s.Run.Project == "" || s.Run.Project == r.Project) {
				list = append(list, r.EndedAt)
			}
		}
	}
	return slices.DeleteFunc(list, fleet.Instant.IsZero)
}

func (d *dues) isAfter(e, ref fleet.Instant) bool { return isLater(e, ref, d.at) }

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// checkOn refuses an event that there is not, and a run that is due whenever it
// has run.
func checkOn(s fleet.Schedule) error {
	rule, isAlert := strings.CutPrefix(s.On, onAlert)
	run, isRun := strings.CutPrefix(s.On, onRun)
	kind, isLog := strings.CutPrefix(s.On, onLog)
	trigger, isTrigger := strings.CutPrefix(s.On, onTrigger)
	formula, state, _ := cutLast(run, ":")
	over := []fleet.RunState{fleet.RunDone, fleet.RunFailed, fleet.RunSkipped, fleet.RunCancelled}
	uses := func(step fleet.RunStep) bool { return step.Do == fleet.StepUses }
	switch {
	case s.On == onStartup, isAlert && rule != "":
		return nil
	case s.On == onPatrol && slices.ContainsFunc(s.Run.Steps, uses):
		return fmt.Errorf("%w: it is due on each patrol, and asks for one", ErrIllegal)
	case s.On == onPatrol:
		return nil
	case isRun && formula == s.Run.Formula:
		return fmt.Errorf("%w: it is due when it has run", ErrIllegal)
	case isRun && formula != "" && slices.Contains(over, fleet.RunState(state)):
		return nil
	case isLog:
		return checkKind(kind)
	case isTrigger:
		if err := checkTriggerName(trigger); err != nil {
			return fmt.Errorf("%w: %w", ErrIllegal, err)
		}
		return nil
	case isRun:
		return fmt.Errorf("%w: on %q is not run:FORMULA:STATE with a state of done, failed, skipped or cancelled", ErrIllegal, fleet.Line(s.On, 80))
	}
	return fmt.Errorf("%w: there is no event %q: it is alert:RULE, run:FORMULA:STATE, startup, patrol, trigger:NAME or log:KIND", ErrIllegal, fleet.Line(s.On, 80))
}

var goodKind = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)*(\.\*)?$`)

// checkKind refuses what is no kind of event, and what would be due for ever.
func checkKind(kind string) error {
	if !goodKind.MatchString(kind) {
		return fmt.Errorf("%w: %q is no kind of event: want one like agent.ended, or agent.*", ErrIllegal, fleet.Line(kind, 80))
	}
	for _, own := range []string{"run.", "action.", "order."} { // every run brings them about itself
		if strings.HasPrefix(kind, own) {
			return fmt.Errorf("%w: a run brings events %q about itself; run:FORMULA:STATE is due when another one ended", ErrIllegal, fleet.Line(kind, 80))
		}
	}
	return nil
}

// LogKind is the kind of event in the log that a schedule is due on; false for one
// that is due otherwise.
func LogKind(s fleet.Schedule) (string, bool) { return strings.CutPrefix(s.On, onLog) }

// IsKind says whether a kind of event is what a schedule names.
func IsKind(kind, named string) bool {
	before, all := strings.CutSuffix(named, "*")
	return kind == named || all && strings.HasPrefix(kind, before)
}
