// Package observe is the first stage of the cycle: it keeps a board of what
// every probe last saw, and a pass copies the board into one immutable
// snapshot. Each folder beneath it is one probe. Probes only look; nothing in
// this stage changes the world.
package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
)

// ErrAbsent is returned (or wrapped) by a probe whose thing does not exist on
// this machine. The part is then absent: empty, and not a blindness.
var ErrAbsent = errors.New("absent")

// Cut is returned (or joined to another error) beside a Put by a probe that may not look
// at all there is: it says how much of what. The part is ok: what was seen counts as
// seen, and what was not is unknown (fleet.Sight.Cut).
type Cut string

// Error is what was cut.
func (c Cut) Error() string { return string(c) }

// WithCut joins what was cut, if anything was, to an error of the look, if there is one.
func WithCut(cut string, err error) error {
	switch {
	case cut == "":
		return err
	case err == nil:
		return Cut(cut)
	}
	return errors.Join(err, Cut(cut))
}

// Put writes what a probe saw into a snapshot that is being built. It sets the
// Value of its part, or adds to it (Beside) where several probes share a part; it
// never sets a Sight, which is the board's to judge.
type Put func(*fleet.Snapshot)

// Beside returns what other probes of a part saw, and then what this one did. What one
// probe alone saw is not copied: every snapshot shares it, so that nobody may change it.
func Beside[T any](others, seen []T) []T {
	if len(others) == 0 {
		return slices.Clip(seen)
	}
	return append(others, seen...)
}

// Spec says what a probe fills and how it is to be run.
type Spec struct {
	Name     string         // "host", "tmux", …
	Part     fleet.PartName // the part it fills
	Every    time.Duration  // between two looks
	Deadline time.Duration  // of one look; past it the part is stale, then unknown
	Rest     time.Duration  // least time from the beginning of a look to one that an event asks for; events that come within it are one look
	// Ease, when it is not 0, has it rest only so many times as long as its last look took,
	// and Rest at most: a look that costs little is taken soon, and a flood of events
	// never costs more than one part in Ease of a core.
	Ease int
}

// Probe looks at one part of the world. Look may return a Put together with an
// error: what was seen is used, and the part is marked stale with the error, unless
// that is a Cut.
// It must end soon after ctx does; one that does not is left behind, and its
// part becomes unknown.
type Probe interface {
	Spec() Spec
	Look(ctx context.Context) (Put, error)
}

// Expecting is a Probe that can tell when something of what it saw will not be so any
// more, though nothing tells of it: what is young grows old.
type Expecting interface {
	Probe
	// Again says in what time from the end of the newest Look it is to look again, where
	// that is before its clock says so; 0 for not.
	Again() time.Duration
}

// Calming is a Probe that can tell that what it saw needs no look as soon as Spec.Every: where
// some looks in a row saw so, and nothing else than the one before, it looks half as often.
type Calming interface {
	Probe
	// Calm says so of the newest Look.
	Calm() bool
}

// Interval reads an option of a probe that is a duration of more than nothing; empty is other.
func Interval(key, text string, other time.Duration) (time.Duration, error) {
	if text == "" {
		return other, nil
	}
	d, err := fleet.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	if d <= 0 {
		return 0, fmt.Errorf("%s: %q is not more than nothing", key, text)
	}
	return d, nil
}
