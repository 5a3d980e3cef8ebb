package agentrun_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/spawn"
	"custos/internal/fleet"
	"custos/internal/session"
)

// mute is a provider whose server does not say whether it has started anything.
type mute struct{ session.Provider }

func (p mute) Launch(context.Context, session.Launch) (session.Launched, error) {
	return session.Launched{}, fmt.Errorf("%w: tmux server: no answer", session.ErrInDoubt)
}

// A start of which nobody can tell whether it was done is in doubt, whoever asked for
// it, and says what to look at. One that was plainly not done has failed.
func TestAStartInDoubt(t *testing.T) {
	g := newGround(t)
	g.ready("one")
	g.kill("one")
	g.register(fleet.Registration{Name: "new"})
	real := g.world.Providers[fleet.WhereTmux]
	g.world.Providers[fleet.WhereTmux] = mute{real}
	_, err := g.recover("one")
	_, spawned := g.spawn(spawn.Options{}, "new")
	for name, err := range map[string]error{"one": err, "new": spawned} {
		if !errors.Is(err, act.ErrInDoubt) || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("%s: %v, want that it is in doubt", name, err)
		}
	}
	g.world.Providers[fleet.WhereTmux] = failing{real}
	if _, err := g.recover("one"); err == nil || errors.Is(err, act.ErrInDoubt) {
		t.Errorf("a start that failed: %v", err)
	}
}

// failing is a provider that starts nothing.
type failing struct{ session.Provider }

func (p failing) Launch(context.Context, session.Launch) (session.Launched, error) {
	return session.Launched{}, errors.New("no such folder")
}
