package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// longestReply is how much a prompt holds of a reply, in bytes.
const longestReply = 8 << 10

// replyToRun writes a person's reply to what the agent of a run asked where it is
// looked for, and lets the run go on with it.
func (c *Control) replyToRun(ctx context.Context, run fleet.Run, r api.RunChange, by string) (fleet.Run, error) {
	fail := func(why string) (fleet.Run, error) {
		return run, api.AsBadInput(fmt.Errorf("cannot reply to run %s: %s", run.ID, why))
	}
	switch {
	case c.Reply == nil:
		return run, errors.New("cannot reply to a run: replies are not kept here")
	case r.Do != "resume" || r.Step != "" || r.As != "":
		return fail("a reply is to the run's agent: it goes with resume, and with no step")
	case strings.TrimSpace(r.Reply) == "":
		return fail("it is empty")
	case len(r.Reply) > longestReply:
		return fail(fmt.Sprintf("it has %d bytes; an agent is sent %d at most: name a file that holds the rest", len(r.Reply), longestReply))
	}
	if _, err := ledger.ReplyRun(run, by, c.Now()); err != nil {
		return run, Illegal(err)
	}
	if err := c.Reply(ctx, run, r.Reply); err != nil {
		return run, Illegal(err)
	}
	changed, err := c.Runs.Change(ctx, run.ID, func(_ []fleet.Run, run fleet.Run) (fleet.Run, error) {
		if run.Session != nil && run.Session.Answer == fleet.AnswerDue {
			return run, nil // a pass was quicker, and has found it
		}
		return ledger.ReplyRun(run, by, c.Now())
	})
	if err != nil {
		return run, Illegal(err)
	}
	return changed, nil
}

// replied shows a run that was replied to, and has it carried on.
func (c *Control) replied(run fleet.Run, err error) (api.Run, error) {
	if err != nil {
		return api.Run{}, err
	}
	if c.Attend != nil {
		c.Attend()
	}
	return c.RunView(run), nil
}
