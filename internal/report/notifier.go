// Package report is the fifth stage of the cycle: it drafts what people should
// be told, delivers it, and writes the journal. Each folder beneath it is one
// notifier. A dead receiver slows no other.
package report

import (
	"cmp"
	"context"

	"custos/internal/fleet"
)

// Sounds says whether a message makes a sound where a place can be silent: what is
// as bad as from at least (P2 where that is ""), and what waits for a person's word.
func Sounds(m fleet.Message, from fleet.Priority) bool {
	return !m.AllClear && (m.Asks || m.Priority.AtLeast(cmp.Or(from, fleet.P2)))
}

// Notifier sends people one message. The error says whether to try again by
// wrapping ErrPermanent when trying again cannot help.
type Notifier interface {
	Name() string
	Notify(ctx context.Context, m fleet.Message) error
}
