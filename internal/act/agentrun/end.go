package agentrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

// Rounds is how often SIGKILL is sent to what is left: a process may have forked
// between the look and the signal.
const Rounds = 5

// glance is how often a tree is looked for while it ends: a child that leaves
// its session is found only as long as its parent lives.
const glance = 100 * time.Millisecond

// End ends what is left of the tree: SIGTERM to all, parents first, so that each
// can save what it has; a wait of at most term; SIGKILL, a wait of at most kill,
// and again what was begun meanwhile. It returns what was sent, in words. Over
// says whether that was enough.
func (t *Tree) End(ctx context.Context, term, kill time.Duration) (sent []string, err error) {
	for round := range 1 + Rounds {
		if lives, err := t.lives(ctx); err != nil || !lives {
			return sent, err
		}
		left := t.live()
		name, wait, sigs := "SIGKILL", kill, []syscall.Signal{syscall.SIGKILL}
		if round == 0 {
			// SIGCONT because a stopped process would not see SIGTERM.
			name, wait, sigs = "SIGTERM", term, []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT}
		}
		sent = append(sent, name+" to "+fleet.Counted(len(left), "process"))
		if err := t.send(left, sigs...); err != nil {
			return sent, err
		}
		if err := t.settle(ctx, wait); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// send signals each in order. One that ended meanwhile is as it should be; one that has
// become another user's runs on.
func (t *Tree) send(to []*proc.Handle, sigs ...syscall.Signal) error {
	for _, h := range to {
		for _, sig := range sigs {
			err := h.Signal(sig)
			switch {
			case err == nil || errors.Is(err, proc.ErrGone):
			case t.Spares && h.ID() != t.Self && errors.Is(err, syscall.EPERM):
				t.others = append(t.others, proc.Member{ID: h.ID(), UID: -1})
			default:
				return fmt.Errorf("cannot stop all of it: %w", err)
			}
		}
	}
	return nil
}

// settle waits until all of the tree has ended, at most d.
func (t *Tree) settle(ctx context.Context, d time.Duration) error {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for within.Err() == nil {
		live := t.live()
		if len(live) == 0 {
			break
		}
		soon, done := context.WithTimeout(within, glance)
		_ = live[0].Wait(soon) // its error is that time is up
		done()
		if _, err := t.again(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot wait for its end: %w", err)
	}
	return nil
}

// Gone says whether all that was held has ended, from what was found so far.
func (t *Tree) Gone() bool { return len(t.live()) == 0 }

// Over looks once more, and returns an error unless nothing lives that was ever
// part of the tree.
func (t *Tree) Over(ctx context.Context) error {
	if _, err := t.lives(ctx); err != nil {
		return fmt.Errorf("cannot show that nothing is left: %w", err)
	}
	if len(t.barred) > 0 {
		return errors.Join(t.barred...)
	}
	var left []string
	for _, h := range t.live() {
		left = append(left, fmt.Sprint(h.ID().PID))
	}
	if len(left) > 0 {
		return fmt.Errorf("cannot end process %s", strings.Join(left, ", "))
	}
	if t.Doubt != nil {
		return fmt.Errorf("cannot show that nothing is left: %w", t.Doubt)
	}
	return nil
}
