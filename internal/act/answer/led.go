package answer

import (
	"context"
	"errors"

	"custos/internal/act/agentrun"
	"custos/internal/agent"
)

// press presses the keys of the choice. In a list through which a mark is moved, Enter
// takes what the mark stands on; and a CLI may swallow the keys that come too soon. So it is
// pressed only when the mark is seen to stand on what was chosen.
func (r *run) press(ctx context.Context) (lost, err error) {
	return inSteps(r.keys, func(keys []string) (lost, err error) { return r.PressEach(ctx, keys, 0) },
		func() bool { return agentrun.Wait(ctx, r.x.gone, r.stands) == nil })
}

func inSteps(keys []string, press func([]string) (lost, err error), stands func() bool) (lost, err error) {
	last := len(keys) - 1
	if last < 1 || keys[last] != "Enter" || keys[0] != "Up" && keys[0] != "Down" {
		return press(keys)
	}
	if lost, err = press(keys[:last]); lost != nil || err != nil {
		return lost, err
	}
	if !stands() {
		return errors.New("the mark of its list did not come to stand on what was chosen, so Enter was not pressed"), nil
	}
	lost, err = press(keys[last:])
	return errors.Join(lost, err), nil // of keys that were pressed before
}

// stands says whether the mark stands on the choice, in the very same dialog.
func (r *run) stands(ctx context.Context) bool {
	v, err := r.Look(ctx)
	if err != nil || v.Dialog == nil || v.Dialog.Hash != r.action.Dialog {
		return false
	}
	choice, err := agent.Pick(*v.Dialog, r.action.Text)
	return err == nil && choice.Selected
}
