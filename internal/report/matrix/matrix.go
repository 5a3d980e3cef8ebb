// Package matrix sends messages to people in a Matrix room. There is no end-to-end encryption:
// the homeserver, and every member of the room, reads what is said.
package matrix

import (
	"context"
	"errors"
	"fmt"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/matrix"
)

// Sender says something in a room, once for each txn.
type Sender interface {
	Send(ctx context.Context, room, txn string, t matrix.Text) (string, error)
	// MaySpeak asks whether something could be said, and wraps matrix.ErrBarred when not.
	MaySpeak(ctx context.Context, room string) error
}

// Notifier says each message in one room. The ID of the message is the transaction:
// what is tried again after a lost answer does not come twice.
type Notifier struct {
	Called string         // what routes call it
	Room   string         // ID of the room: !…:server
	Sound  fleet.Priority // "": P2
	To     Sender
}

var (
	_ report.Notifier = Notifier{}
	_ report.Prover   = Notifier{}
)

// Name is what routes call it.
func (n Notifier) Name() string { return n.Called }

// maxText is in bytes. An event may have 64 KiB, the body twice in it and escaped.
const maxText = 24 << 10

// Notify says the message: as m.text, for which clients make a sound, or by the way as
// m.notice, for which they make none. From P1 on it mentions everybody in the room.
func (n Notifier) Notify(ctx context.Context, m fleet.Message) error {
	t := matrix.Text{Type: "m.notice", Body: report.Clip(m.Subject+"\n"+m.Body, maxText)}
	if report.Sounds(m, n.Sound) {
		t.Type, t.Everybody = "m.text", m.Priority.AtLeast(fleet.P1)
	}
	_, err := n.To.Send(ctx, n.Room, m.ID, t)
	return final(err)
}

// Prove implements report.Prover.
func (n Notifier) Prove(ctx context.Context) error {
	err := n.To.MaySpeak(ctx, n.Room)
	if errors.Is(err, matrix.ErrBarred) {
		return fmt.Errorf("%w: %w", err, report.ErrBarred)
	}
	return err
}
