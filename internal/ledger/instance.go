package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
)

// Started returns r with a new instance: what ended, and what failed, was of the
// one before. To say the same again changes nothing. It is a fact and not a
// wish, so it is written down even of an agent that was stopped meanwhile.
func Started(r fleet.Registration, instance string, process fleet.ProcessID, at fleet.Instant) (fleet.Registration, error) {
	fail := func(err error) (fleet.Registration, error) {
		return r, fmt.Errorf("cannot note the start of %s: %w", shown(r.Name), err)
	}
	switch {
	case instance == "" || process.PID <= 0:
		return fail(fmt.Errorf("%w: it has no instance or no process", ErrIllegal))
	case r.Instance == instance && r.Process == process:
		return r, nil
	case r.Instance == instance && r.Process.PID != 0:
		return fail(fmt.Errorf("instance %s is %w: it is process %d", instance, ErrTaken, r.Process.PID))
	case !r.StartedAt.IsZero() && at.Before(r.StartedAt):
		return fail(fmt.Errorf("%w: instance %s began after it", errOutdated, r.Instance))
	}
	r.Instance, r.Process, r.StartedAt = instance, process, at
	r.Exit, r.Failed, r.Unresumed, r.Server = nil, "", nil, ""
	return r, nil
}

// Ended returns r with how its newest instance ended. What was not known of the
// end is filled in by later news; what is known stays.
func Ended(r fleet.Registration, e fleet.Exit) (fleet.Registration, error) {
	if !EndsIt(r, e) {
		return r, fmt.Errorf("cannot note the end of %s: %w: it is of instance %q, process %d", shown(r.Name), errOutdated, e.Instance, e.Process.PID)
	}
	was := r.Exit
	if was != nil {
		e = merged(*was, e)
	}
	r.Exit = &e
	return counted(r, was), nil
}

// What is kept of an agent's deaths.
const (
	deathsKept   = time.Hour
	deathsAtMost = 20
)

// counted returns r with its end counted as a death, or not: later news may tell
// that somebody asked for it.
func counted(r fleet.Registration, was *fleet.Exit) fleet.Registration {
	old := r.Deaths
	if was != nil && isDeath(*was) {
		old = slices.DeleteFunc(slices.Clone(old), func(at fleet.Instant) bool { return at == was.At })
	}
	if !isDeath(*r.Exit) {
		r.Deaths = old
		return r
	}
	young := slices.DeleteFunc(slices.Clone(old), func(at fleet.Instant) bool { return r.Exit.At.Since(at) > deathsKept })
	r.Deaths = append(young[max(0, len(young)-deathsAtMost+1):], r.Exit.At)
	return r
}

func isDeath(e fleet.Exit) bool { return e.Failed() && !e.Rebooted() && !e.At.IsZero() }

// EndsIt says whether an exit is of the newest instance.
func EndsIt(r fleet.Registration, e fleet.Exit) bool {
	if e.Instance != "" && r.Instance != "" {
		return e.Instance == r.Instance
	}
	return e.Process.PID != 0 && e.Process == r.Process
}

func merged(old, e fleet.Exit) fleet.Exit {
	out := old
	if !old.Status.IsKnown() && !old.Signal.IsKnown() && (e.Status.IsKnown() || e.Signal.IsKnown()) {
		out.Status, out.Signal, out.Source = e.Status, e.Signal, e.Source
	}
	if e.Rebooted() {
		out.Source = e.Source
	}
	out.OOM, out.Early = old.OOM || e.OOM, old.Early || e.Early
	out.Asked, out.Quit, out.Server = cmp.Or(old.Asked, e.Asked), cmp.Or(old.Quit, e.Quit), cmp.Or(old.Server, e.Server)
	out.Instance = cmp.Or(old.Instance, e.Instance)
	return out
}

// MarkFailed returns r as one that is not started again by itself, and why. The
// first reason stays.
func MarkFailed(r fleet.Registration, why string) (fleet.Registration, error) {
	if why == "" {
		return r, fmt.Errorf("cannot give up on %s: %w: no reason is given", shown(r.Name), ErrIllegal)
	}
	if r.Failed == "" {
		r.Failed = why
	}
	return r, nil
}

// ClearFailed returns r as one that may be started again.
func ClearFailed(r fleet.Registration) fleet.Registration {
	r.Failed = ""
	return r
}

// Prompted returns r with its first prompt that much further on its way. A
// prompt is sent once: only one that is known not to have arrived is sent again.
// An acknowledgement is believed whenever it comes, and ends it.
func Prompted(r fleet.Registration, to fleet.Delivery) (fleet.Registration, error) {
	from := r.PromptState
	lawful := from == to
	switch to {
	case fleet.DeliveryPending:
		lawful = lawful || (from == "" || from == fleet.DeliveryUndelivered) && r.Prompt != ""
	case fleet.DeliverySent:
		lawful = lawful || from == fleet.DeliveryPending
	case fleet.DeliveryAcknowledged:
		lawful = lawful || from != ""
	case fleet.DeliveryUndelivered:
		lawful = lawful || from == fleet.DeliveryPending || from == fleet.DeliverySent
	default:
		lawful = false
	}
	if !lawful {
		return r, fmt.Errorf("cannot note the prompt of %s as %s: %w: it is %q", shown(r.Name), to, ErrIllegal, from)
	}
	r.PromptState = to
	if to == fleet.DeliveryAcknowledged {
		r.Prompt = ""
	}
	return r, nil
}

// Sessioned returns r with the CLI's own session of its newest instance, by
// which it is resumed.
func Sessioned(r fleet.Registration, process fleet.ProcessID, session string) (fleet.Registration, error) {
	if process.PID == 0 || process != r.Process {
		return r, fmt.Errorf("cannot note the session of %s: %w: it is of process %d", shown(r.Name), errOutdated, process.PID)
	}
	if session != "" {
		r.SessionID = session
	}
	return r, nil
}
