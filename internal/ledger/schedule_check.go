package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger/cron"
)

// The events that a schedule may be due on, beside trigger:NAME.
const (
	OnAlert   = "alert:" // and the name of a rule
	OnRun     = "run:"   // and FORMULA:STATE
	OnStartup = "startup"
	OnPatrol  = "patrol"
	OnLog     = "log:" // and the kind of an event in the log, or its beginning: convoy.*
)

// CutLast is strings.Cut at the last separator.
func CutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// checkOn refuses an event that there is not, and a run that is due whenever it
// has run.
func checkOn(s fleet.Schedule) error {
	rule, isAlert := strings.CutPrefix(s.On, OnAlert)
	run, isRun := strings.CutPrefix(s.On, OnRun)
	kind, isLog := strings.CutPrefix(s.On, OnLog)
	trigger, isTrigger := strings.CutPrefix(s.On, OnTrigger)
	formula, state, _ := CutLast(run, ":")
	over := []fleet.RunState{fleet.RunDone, fleet.RunFailed, fleet.RunSkipped, fleet.RunCancelled}
	uses := func(step fleet.RunStep) bool { return step.Do == fleet.StepUses }
	switch {
	case s.On == OnStartup, isAlert && rule != "":
		return nil
	case s.On == OnPatrol && slices.ContainsFunc(s.Run.Steps, uses):
		return fmt.Errorf("%w: it is due on each patrol, and asks for one", ErrIllegal)
	case s.On == OnPatrol:
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
func LogKind(s fleet.Schedule) (string, bool) { return strings.CutPrefix(s.On, OnLog) }

// IsKind says whether a kind of event is what a schedule names.
func IsKind(kind, named string) bool {
	before, all := strings.CutSuffix(named, "*")
	return kind == named || all && strings.HasPrefix(kind, before)
}

// IsLater says whether a moment lies after another one. What belongs to this boot
// is after whatever belongs to another, whatever the wall clocks say.
func IsLater(e, ref, now fleet.Instant) bool {
	if e.Boot != ref.Boot && now.Boot != "" && (e.Boot == now.Boot || ref.Boot == now.Boot) {
		return e.Boot == now.Boot
	}
	return ref.Before(e)
}

// CheckSchedule says whether a schedule makes sense by itself: exactly one way to
// be due, which can come, and does not bring itself about for ever.
func CheckSchedule(s fleet.Schedule) error {
	fail := func(err error) error { return fmt.Errorf("cannot use schedule %q: %w", fleet.Line(s.Name, 80), err) }
	ways := 0
	for _, set := range []bool{s.Every != 0, s.Cron != "", s.On != "", s.When != "", len(s.Check) > 0, s.Rest != 0 && !s.Conditional()} {
		if set {
			ways++
		}
	}
	switch {
	case s.Name == "" || len(s.Name) > 100:
		return fail(fmt.Errorf("%w: its name must have 1 to 100 bytes", ErrIllegal))
	case ways != 1:
		return fail(fmt.Errorf("%w: it must have exactly one of every, cron, on and when", ErrIllegal))
	case s.Rest != 0 && time.Duration(s.Rest) < time.Second:
		return fail(fmt.Errorf("%w: rest %s is less than a second", ErrIllegal, s.Rest))
	case s.Every != 0 && time.Duration(s.Every) < time.Second:
		return fail(fmt.Errorf("%w: every %s is less than a second", ErrIllegal, s.Every))
	case s.Jitter < 0:
		return fail(fmt.Errorf("%w: its jitter is negative", ErrIllegal))
	case s.Hosts != "" && s.Hosts != fleet.HostsEach && s.Hosts != fleet.HostsOne:
		return fail(fmt.Errorf("%w: hosts is %q, want each or one", ErrIllegal, fleet.Line(string(s.Hosts), 80)))
	case s.Hosts == fleet.HostsOne && s.Cron == "":
		return fail(fmt.Errorf(`%w: hosts = "one" needs cron: no other time is the same on each host`, ErrIllegal))
	case s.Cron != "":
		if err := cron.Check(s.Cron, s.Zone); err != nil {
			return fail(fmt.Errorf("%w: %w", ErrIllegal, err))
		}
	case s.On != "":
		if err := checkOn(s); err != nil {
			return fail(err)
		}
	}
	return nil
}
