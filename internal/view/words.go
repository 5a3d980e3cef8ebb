package view

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// Dollars turns millionths of a dollar into dollars.
func Dollars(micro int64) float64 { return float64(micro) / 1e6 }

// FindRegistration finds the one of a name; nil for none.
func FindRegistration(all []fleet.Registration, name string) *fleet.Registration {
	i := slices.IndexFunc(all, func(r fleet.Registration) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

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
