// Package shout sends messages to people through any of the one-way services that shoutrrr
// knows: ntfy, Slack, Discord, Pushover, e-mail and some twenty more.
package shout

import (
	"context"
	"errors"
	"fmt"

	"github.com/nicholas-fedor/shoutrrr"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"custos/internal/fleet"
	"custos/internal/report"
)

// Notifier sends each message to one service. Its URL holds the key of it, so that
// no error of the library, which repeats it, is passed on as it is.
type Notifier struct {
	Called string
	URL    func(context.Context) (string, error)
}

var _ report.Notifier = Notifier{}

// Name is what routes call it.
func (n Notifier) Name() string { return n.Called }

// maxText is in bytes: what the tightest of the common services take.
const maxText = 3500

// Notify sends the message. The library cannot be interrupted: a service that
// hangs is left behind by what waits for it.
func (n Notifier) Notify(ctx context.Context, m fleet.Message) error {
	where, err := n.URL(ctx)
	if err != nil {
		return err
	}
	to, err := shoutrrr.CreateSender(where)
	if err != nil {
		return errors.New("cannot use its URL: shoutrrr does not understand it")
	}
	failed := 0
	for _, err := range to.Send(report.Clip(m.Subject+"\n"+m.Body, maxText), &types.Params{"title": m.Subject}) {
		if err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("cannot send by %s: the service refused it, or could not be reached", n.Called)
	}
	return nil
}
