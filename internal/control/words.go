package control

import (
	"time"

	"custos/internal/fleet"
)

// Since is the machine's form of the time that passed between two instants.
func Since(at, from fleet.Instant) string {
	if from.IsZero() {
		return ""
	}
	return max(at.Since(from), 0).Round(time.Second).String()
}

// Moment is the machine's form of an instant; nil for none.
func Moment(i fleet.Instant) *time.Time {
	if i.IsZero() {
		return nil
	}
	t := i.Wall.UTC()
	return &t
}

// SubjectText names a subject; "" for none.
func SubjectText(s fleet.Subject) string {
	if s == (fleet.Subject{}) {
		return ""
	}
	return s.String()
}
