package forgewrite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// closingPull closes a pull request whose head is in its target; why is said under it first.
type closingPull struct {
	moving
	head   string // as it was seen
	landed func(ctx context.Context, commit string) (bool, error)
}

func (x *Action) closingPull(a fleet.Action, t target, p Project) (deed, error) {
	pull := a.Target.Pull
	text := strings.TrimSpace(fleet.Redact(fleet.Text(a.Text)))
	switch {
	case pull == nil:
		return nil, errors.New("the target is no pull request")
	case x.o.Landed == nil || a.For.Subject.Kind != fleet.KindMerge || pull.Head == "" || text == "":
		return nil, fmt.Errorf("nothing says that it is merged: %w", act.ErrRefused)
	}
	d := &closingPull{head: pull.Head, landed: func(ctx context.Context, commit string) (bool, error) {
		return x.o.Landed(ctx, a.For.Subject.Name, commit)
	}}
	d.moving = moving{writer: p.Writer, number: t.number, why: &saying{writer: p.Writer, number: t.number, key: x.reasonKey(a, t), text: text}}
	return d, nil
}

// left: what is open still has the head that was seen, and that is in its target.
func (d *closingPull) left(ctx context.Context, now forge.Issue) (bool, error) {
	if !now.Open {
		return false, nil
	}
	if err := hasHead(ctx, d.writer, d.number, d.head); err != nil {
		return false, err
	}
	switch in, err := d.landed(ctx, d.head); {
	case err != nil:
		return false, err
	case !in:
		return false, fmt.Errorf("its head %.12s is not in the target: %w", d.head, act.ErrRefused)
	}
	return true, nil
}

// hasHead refuses a pull request whose head is not the commit that was seen.
func hasHead(ctx context.Context, w looker, number int, seen string) error {
	head, err := w.Head(ctx, number)
	if err == nil && head != seen {
		err = fmt.Errorf("its head is %.12s, and was %.12s: %w", head, seen, act.ErrRefused)
	}
	return err
}
