// Package answer is the action "answer": it takes one choice of the dialog that
// an agent stands at, if it still is the very same dialog. The key is pressed
// once and never again: two dialogs that ask the same look the same.
package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/fleet"
)

// Do is the name of the action.
const Do = "answer"

// Options is the section [answer] of custos.toml.
type Options struct {
	// Gone is how long the dialog may take to leave the screen. Default "5s".
	Gone string `toml:"gone" is:"duration 1ms..1h"`

	World agentrun.World `toml:"-"`
}

// Action implements act.Action.
type Action struct {
	agentrun.World
	gone time.Duration
}

// New checks the options.
func New(o Options) (*Action, error) {
	x := &Action{}
	var errs [2]error
	x.World, errs[0] = o.World.Check()
	x.gone, errs[1] = agentrun.Duration("gone", o.Gone, 5*time.Second)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("cannot set up answer: %w", err)
	}
	return x, nil
}

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Touches: []fleet.PartName{fleet.PartAgents, fleet.PartSessions},
		Deadline: fleet.Duration(x.gone + 10*time.Second),
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Agent
	if t == nil {
		return nil
	}
	argv := []string{"tmux", "send-keys"}
	if t.Pane != nil {
		argv = []string{"tmux", "-S", t.Pane.ID.Socket, "send-keys", "-t", t.Pane.ID.Pane}
	}
	keys := []string{"<" + fleet.Line(a.Text, 40) + ">"}
	if t.Dialog != nil {
		if c, err := agent.Pick(*t.Dialog, a.Text); err == nil {
			keys = c.Keys
		}
	}
	return []fleet.Command{{Argv: append(argv, keys...), Note: "if it still stands at dialog " + fleet.Line(a.Dialog, 40)}}
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	return agentrun.Prepare(ctx, x.World, a.Target.Agent, func(live *agentrun.Live) *run { return &run{Live: live, x: x, action: a} }, (*run).ready)
}

type run struct {
	*agentrun.Live
	x      *Action
	action fleet.Action
	keys   []string
	begun  error          // why it is not known whether all keys were pressed
	became *fleet.Arrival // of the choice; nil as long as no key was pressed
}

func (r *run) ready(ctx context.Context) error {
	if err := r.Place(ctx); err != nil {
		return err
	}
	return r.same(ctx)
}

// redraws is how long a CLI may take to have drawn its dialog once more: meanwhile its screen
// shows a part of it, or none.
const redraws = time.Second

// same refuses another dialog than the one that is answered, or none, a choice it
// does not have, and a choice that is not for the one who asks.
func (r *run) same(ctx context.Context) error {
	if r.Headless() {
		return agentrun.Refused("it has no terminal, and shows no dialog")
	}
	var v agentrun.View
	var no error
	err := agentrun.Wait(ctx, redraws, func(context.Context) bool { // a look that has begun is not cut off
		v, no = r.shows(ctx)
		return no == nil
	})
	if err != nil {
		return cmp.Or(no, err)
	}
	choice, err := agent.Pick(*v.Dialog, r.action.Text)
	if err != nil {
		return agentrun.Refused("%w", err)
	}
	harmless := !v.Dialog.Person && choice.Name == v.Dialog.Default && r.Agent.Owner == fleet.OwnerCustos
	if !fleet.IsPerson(r.action.By) && !harmless {
		return agentrun.Refused("only a person may answer that")
	}
	r.keys = choice.Keys
	return agentrun.Pressable(r.keys)
}

// shows looks once, and fails where the dialog that is answered is not there.
func (r *run) shows(ctx context.Context) (agentrun.View, error) {
	v, err := r.Look(ctx)
	switch {
	case err != nil:
		return v, err
	case v.Pane.Dead || v.Dialog == nil:
		return v, agentrun.Refused("its dialog is gone")
	case r.action.Dialog == "" || v.Dialog.Hash != r.action.Dialog:
		return v, agentrun.Refused("its dialog is another one now: %s", v.Dialog.Says)
	}
	return v, nil
}

// Do implements act.Run. An error means that no key was pressed.
func (r *run) Do(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot answer: %w", err)
	}
	if err := r.same(ctx); err != nil {
		return err
	}
	if len(r.keys) == 0 {
		return agentrun.Refused("it is not known which key that is")
	}
	if r.begun, err = r.press(ctx); err == nil {
		r.became = &fleet.Arrival{Outcome: fleet.OutcomeUnknown, Why: "it was not looked for"}
	}
	return err
}

// Arrived is what became of the choice: a dialog that is gone has taken it.
func (r *run) Arrived() *fleet.Arrival { return r.became }

// untold keeps why it is not known whether the choice was taken.
func (r *run) untold(why error) error {
	r.became = &fleet.Arrival{Outcome: fleet.OutcomeUnknown, Why: fleet.Line(why.Error(), 300)}
	return why
}

// goneAfter is how many looks in a row do not find a dialog that is gone: one may fall into
// the moment in which its CLI draws it once more. They are 50 ms apart.
const goneAfter = 4

// Verify implements act.Run: the dialog is gone.
func (r *run) Verify(ctx context.Context) (string, error) {
	if r.begun != nil {
		return "", r.untold(fmt.Errorf("cannot tell whether it was answered: %w", r.begun))
	}
	looks := 0 // in a row that did not find it
	err := agentrun.Wait(ctx, r.x.gone, func(ctx context.Context) bool {
		if _, err := r.shows(ctx); errors.Is(err, act.ErrRefused) {
			looks++
		} else {
			looks = 0
		}
		return looks >= goneAfter
	})
	if err != nil {
		return "", r.untold(fmt.Errorf("a dialog that asks the same is still there: %w", err))
	}
	r.became = &fleet.Arrival{Outcome: fleet.OutcomeDelivered, Proof: fleet.ProofScreen}
	return fmt.Sprintf("answered %q by %s: the dialog is gone", fleet.Line(r.action.Text, 40), strings.Join(r.keys, " ")), nil
}
