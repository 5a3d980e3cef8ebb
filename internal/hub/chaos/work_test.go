//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
)

// The two actions of a host. Text of a fleet.Action says what exactly.
const (
	doWrite = "write" // Text: how often
	doSay   = "say"   // Text: the message
)

// deed is an action on the resource.
type deed struct {
	do     string
	client client
	host   string
	run    string
}

// Ability is as of an action on a forge: what is said is read back before it is said again, and
// a plain write is done once or is in doubt.
func (d deed) Ability() fleet.Ability {
	return fleet.Ability{Do: d.do, Idempotent: d.do == doSay, Shared: fleet.SharedForge, Touches: []fleet.PartName{fleet.PartForge}, Deadline: fleet.Duration(40 * time.Second)}
}

func (d deed) Commands(a fleet.Action) []fleet.Command {
	return []fleet.Command{{Argv: []string{d.do, a.Text}}}
}

// Prepare reads back whether a message was said.
func (d deed) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Fence == nil {
		return nil, errors.New("it is done by no lease")
	}
	if d.do == doSay {
		said, err := d.isSaid(ctx, a.Text)
		if err != nil {
			return nil, err
		}
		if said {
			return nil, fmt.Errorf("it is said: %w", act.ErrUnneeded)
		}
	}
	return doing{d, a}, nil
}

func (d deed) isSaid(ctx context.Context, message string) (bool, error) {
	text, err := d.client.ask(ctx, "/said?message="+url.QueryEscape(message))
	return text == "true", err
}

// doing is a deed that was prepared.
type doing struct {
	deed
	action fleet.Action
}

// Do writes, some times with a pause between: as long as it takes to write several things to a forge
// that is slow.
func (d doing) Do(ctx context.Context) error {
	w := write{Key: d.action.Fence.Key, Host: d.host, Run: d.run, Epoch: d.action.Fence.Epoch, Action: d.action.ID}
	if d.do == doSay {
		w.Message = d.action.Text
		return inDoubt(d.client.write(ctx, w))
	}
	n, err := strconv.Atoi(d.action.Text)
	for i := range n {
		if i > 0 {
			rest(ctx, time.Duration(i)*700*time.Millisecond)
		}
		if err := inDoubt(d.client.write(ctx, w)); err != nil {
			return err
		}
	}
	return err
}

// inDoubt: an answer that did not come says nothing of the write.
func inDoubt(err error) error {
	if err == nil || errors.Is(err, act.ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: %w", act.ErrInDoubt, err)
}

// Verify reads back what was said.
func (d doing) Verify(ctx context.Context) (string, error) {
	if d.do != doSay {
		return "it is written", nil
	}
	said, err := d.isSaid(ctx, d.action.Text)
	if err == nil && !said {
		err = errors.New("it is not said")
	}
	return "it is said", err
}

func (d doing) Close() {}

// rest waits, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
