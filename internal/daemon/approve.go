package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/server"
)

var _ server.Approver = cycle{}

// Approve has done what one alert leads to. Without a daemon it looks first, and
// waits for what it began: this process ends with the command.
func (c cycle) Approve(ctx context.Context, of fleet.AlertKey, by, digest string) ([]fleet.Action, error) {
	if err := c.s.begin(ctx); err != nil {
		return nil, err
	}
	if !c.s.daemon {
		c.s.board.First(ctx)
	}
	var begun []fleet.Action
	err := c.s.loop.Approve(ctx, of, by, func(actions []fleet.Action) ([]fleet.Message, error) {
		begun = actions
		return nil, sawCode(actions, digest)
	})
	switch {
	case errors.Is(err, loop.ErrNothingOffered):
		return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot approve: %v", err), Hint: "custos why " + of.Subject.String()}
	case err != nil:
		begun = nil
	case !c.s.daemon:
		err = c.s.actor.Wait(ctx)
	}
	return begun, err
}

// leastDigest is how much of a digest names it.
const leastDigest = 12

// sawCode says whether a person who gives a digest has seen the code that would be
// trusted: a number names an alert, whatever lies there by now.
func sawCode(actions []fleet.Action, digest string) error {
	for _, a := range actions {
		c := a.Target.Code
		if c == nil || len(digest) >= leastDigest && strings.HasPrefix(c.Digest, digest) {
			continue
		}
		why := "say by --digest which files you were shown"
		if digest != "" {
			why = "it is not what has the digest " + fleet.Line(digest, 80)
		}
		return &api.Error{Kind: api.BadInput, Message: "cannot approve of trusting " + c.Dir + ": " + why, Hint: "custos trust " + c.Dir}
	}
	return nil
}
