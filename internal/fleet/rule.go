package fleet

import "fmt"

// Priority is how bad a finding is. The zero Priority is none.
type Priority string

// The priorities, worst first.
const (
	P0 Priority = "P0" // the host or the fleet is dying
	P1 Priority = "P1" // it will be soon
	P2 Priority = "P2" // something stopped or stalled
	P3 Priority = "P3" // degraded
	P4 Priority = "P4" // housekeeping
)

// ParsePriority reads "P0" to "P4".
func ParsePriority(s string) (Priority, error) {
	switch p := Priority(s); p {
	case P0, P1, P2, P3, P4:
		return p, nil
	}
	return "", fmt.Errorf("cannot read priority %q: want P0, P1, P2, P3 or P4", s)
}

// AtLeast says whether p is as bad as other or worse.
func (p Priority) AtLeast(other Priority) bool { return p != "" && p <= other }

// Mode is how far Custos may go.
type Mode string

// The modes, least power first.
const (
	ModeObserve Mode = "observe" // look and say
	ModeAsk     Mode = "ask"     // act when a person approves
	ModeAuto    Mode = "auto"    // act
)

// ParseMode reads a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeObserve, ModeAsk, ModeAuto:
		return m, nil
	}
	return "", fmt.Errorf("cannot read mode %q: want observe, ask or auto", s)
}

// Least returns the mode with less power of the two.
func (m Mode) Least(other Mode) Mode {
	if m == ModeObserve || other == ModeObserve {
		return ModeObserve
	}
	if m == ModeAsk || other == ModeAsk {
		return ModeAsk
	}
	return ModeAuto
}

// Remedy is what decide needs to know of a rule: how, and how often, its
// actions may be tried.
type Remedy struct {
	Mode     Mode     `json:"mode"`
	Cooldown Duration `json:"cooldown,omitempty"` // between two tries on one subject
	Attempts Attempts `json:"attempts,omitzero"`
	Spacing  Spacing  `json:"spacing,omitempty"` // of the attempts; left out: growing
}

// Spacing is how far the tries at one subject lie apart.
type Spacing string

// The spacings.
const (
	SpacingGrowing Spacing = "growing" // the cooldown, and twice as far after each further try: what fails wants time
	SpacingEven    Spacing = "even"    // the cooldown, each time: what reminds keeps its hour
)

// ParseSpacing reads a spacing.
func ParseSpacing(s string) (Spacing, error) {
	switch sp := Spacing(s); sp {
	case SpacingGrowing, SpacingEven:
		return sp, nil
	}
	return "", fmt.Errorf("cannot read spacing %q: want growing or even", s)
}

// Attempts caps tries on one subject in a sliding window.
type Attempts struct {
	Max int      `json:"max"`
	In  Duration `json:"in"`
}
