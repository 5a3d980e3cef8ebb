// Package report is the fifth stage of the cycle: it drafts what people should
// be told, delivers it, and writes the journal. Each folder beneath it is one
// notifier. A dead receiver slows nobody.
package report

import (
	"context"

	"custos/internal/fleet"
)

// Notifier tells people one message. The error says whether to try again by
// wrapping ErrPermanent when trying again cannot help.
type Notifier interface {
	Name() string
	Notify(ctx context.Context, m fleet.Message) error
}
