package catalog

import (
	"errors"
	"fmt"
	"slices"

	"custos/internal/act"
	"custos/internal/act/abortrebase"
	"custos/internal/act/checkoutprimary"
	"custos/internal/act/clearbuild"
	"custos/internal/act/closelandmark"
	"custos/internal/act/installhooks"
	"custos/internal/act/movevaultitem"
	"custos/internal/act/notifyterminal"
	"custos/internal/act/removelock"
	"custos/internal/act/removephase"
	"custos/internal/act/removeworktree"
	"custos/internal/act/rotatelog"
	"custos/internal/act/stop"
	"custos/internal/act/trustcode"
	"custos/internal/config"
	"custos/internal/session/tmux"
	"custos/internal/sys/proc"
)

// actionMaker is one action: the name rules call it by, the section of
// custos.toml it reads ("" for none), and how it is made.
type actionMaker struct {
	do      string
	section string
	make    func(*World) (act.Action, error)
}

// actionMakers lists the built-in actions. Adding one is its folder and one line here.
func actionMakers() []actionMaker {
	return slices.Concat([]actionMaker{
		{stop.Do, "stop_tree", func(w *World) (act.Action, error) {
			return made(w, "stop_tree", stop.Options{Hosted: tmux.Hosted}, stop.New)
		}},
		{rotatelog.Do, "rotate_log", func(w *World) (act.Action, error) {
			return made(w, "rotate_log", rotatelog.Options{}, rotatelog.New)
		}},
		{removelock.Do, "", newRemoveLock},
		{removephase.Do, "", func(w *World) (act.Action, error) { return removephase.New(removephase.Options{Closed: w.closed}), nil }},
		{abortrebase.Name, "abort_rebase", newAbortRebase},
		{checkoutprimary.Name, "", newCheckoutPrimary},
		{removeworktree.Name, "", newRemoveWorktree},
		{clearbuild.Name, "clear_build_output", newClearBuild},
		{notifyterminal.Do, "notify_terminal", newNotifyTerminal},
		{closelandmark.Do, "", func(w *World) (act.Action, error) { return closelandmark.New(w.From.UID), nil }},
		{installhooks.Do, "", newInstallHooks},
		{movevaultitem.Approve, "", func(*World) (act.Action, error) { return movevaultitem.New(movevaultitem.Approve), nil }},
		{movevaultitem.Reject, "", func(*World) (act.Action, error) { return movevaultitem.New(movevaultitem.Reject), nil }},
		{trustcode.Do, "", func(w *World) (act.Action, error) {
			return trustcode.New(trustcode.Options{Look: w.Code, Pin: w.Pin}), nil
		}},
	}, agentMakers(), runMakers(), forgeActionMakers(), beadMakers(), engineMakers(), ciActionMakers(), mergeMakers())
}

// Actions makes every built-in action.
func Actions(w *World) ([]act.Action, error) {
	var out []act.Action
	for _, m := range actionMakers() {
		a, err := m.make(w)
		var said *config.Mistake
		if errors.As(err, &said) { // it says itself where it is
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("cannot set up action %s: %w", m.do, err)
		}
		out = append(out, a)
	}
	return out, nil
}

// ActionNames lists what rules may ask for.
func ActionNames() (names []string) {
	for _, m := range actionMakers() {
		names = append(names, m.do)
	}
	return names
}

// made reads a section into options that hold the defaults, and makes the plug-in.
func made[O any, A act.Action](w *World, section string, o O, make func(O) (A, error)) (act.Action, error) {
	if err := w.Config.Section(section, &o); err != nil {
		return nil, err
	}
	a, err := make(o)
	return a, w.Config.Misread(section, err)
}

func newRemoveLock(w *World) (act.Action, error) {
	o, err := w.locks()
	return removelock.New(removelock.Options{Holders: proc.Holders{ForeignNamespace: o.ForeignNamespace}}), err
}

func newCheckoutPrimary(w *World) (act.Action, error) {
	o, err := w.git()
	return checkoutprimary.New(checkoutprimary.Options{Primary: o.Primary, Occupied: w.occupied(o)}), err
}

func newRemoveWorktree(w *World) (act.Action, error) {
	o, err := w.git()
	return removeworktree.New(removeworktree.Options{Primary: o.Primary, Crashed: o.Crashed, CrashedIn: w.crashedIn, Occupied: w.occupied(o)}), err
}

func newAbortRebase(w *World) (act.Action, error) {
	o, err := w.git()
	if err != nil {
		return nil, err
	}
	return made(w, "abort_rebase", abortrebase.Options{Occupied: w.occupied(o)}, abortrebase.New)
}

func newClearBuild(w *World) (act.Action, error) {
	o, err := w.git()
	if err != nil {
		return nil, err
	}
	return made(w, "clear_build_output", clearbuild.Options{Crashed: o.Crashed, Occupied: w.occupied(o)}, clearbuild.New)
}

func newNotifyTerminal(w *World) (act.Action, error) {
	o := notifyterminal.Options{Out: w.Stderr}
	err := w.Config.Section("notify_terminal", &o)
	return notifyterminal.New(o), err
}
