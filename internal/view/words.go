package view

import (
	"strconv"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Dollars turns millionths of a dollar into dollars.
func Dollars(micro int64) float64 { return float64(micro) / 1e6 }

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

// known writes a leaf for people, or says that and why it is not known.
func known[T any](l fleet.Leaf[T], write func(T) string) string {
	if v, ok := l.Get(); ok {
		return write(v)
	}
	return "unknown (" + l.Why() + ")"
}

func LeafSpan(l fleet.Leaf[fleet.Duration]) string {
	return known(l, func(d fleet.Duration) string { return api.SpanOf(time.Duration(d)) })
}

func leafSize(l fleet.Leaf[int64]) string { return known(l, api.Size) }

func leafText(l fleet.Leaf[string]) string { return known(l, func(s string) string { return s }) }

func leafInt(l fleet.Leaf[int]) string { return known(l, strconv.Itoa) }

func leafBool(l fleet.Leaf[bool]) string { return known(l, yesNo) }

func leafFloat(l fleet.Leaf[float64]) string {
	return known(l, func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) })
}

func leafPercent(l fleet.Leaf[float64]) string {
	return known(l, func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) + " %" })
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// pointer returns nil for an unknown leaf.
func pointer[T any](l fleet.Leaf[T]) *T {
	if v, ok := l.Get(); ok {
		return &v
	}
	return nil
}

// lasting is the machine's form of a duration: whole seconds, "" when unknown.
func lasting(l fleet.Leaf[fleet.Duration]) string {
	if d, ok := l.Get(); ok {
		return time.Duration(d).Round(time.Second).String()
	}
	return ""
}

func commandViews(list []fleet.Command) []api.Command {
	out := make([]api.Command, 0, len(list))
	for _, c := range list {
		out = append(out, api.Command{Argv: c.Argv, Note: c.Note})
	}
	return out
}
