package ledger

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// News is a mail of Custos' own as it is first written down. The people have it at once:
// they read it whenever they look, and not only when a pass has found who else gets it.
func News(key string, to []string, m fleet.Mail, at fleet.Instant) fleet.Mail {
	m.Key, m.To, m.From, m.At = key, to, fleet.ByCustos, at
	if m.Priority == "" {
		m.Priority = fleet.P3
	}
	m.Subject = fleet.Line(m.Subject, LongestSubject)
	if slices.Contains(to, fleet.Overseer) {
		m.Copies = withReader(nil, reader{name: fleet.Overseer}, at)
	}
	return m
}

// LongestSubject is the most runes of the subject of a mail.
const LongestSubject = 200

// Unfit is an error about a record that makes no sense.
func Unfit(what, format string, args ...any) error {
	return fmt.Errorf("cannot %s: %w: %s", what, ErrIllegal, fmt.Sprintf(format, args...))
}
