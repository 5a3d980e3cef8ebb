package forgewrite

import (
	"context"
	"errors"
	"fmt"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// mergingPull has the forge merge a pull request, by its own rules, at the head that was seen and no other.
type mergingPull struct {
	writer Writer
	number int
	head   string // as it was seen
	barred func(ctx context.Context, commit string) (string, error)

	answer *forge.Merged // nil: it was not asked
}

func (x *Action) mergingPull(a fleet.Action, t target, p Project) (deed, error) {
	pull := a.Target.Pull
	switch {
	case pull == nil:
		return nil, errors.New("the target is no pull request")
	case x.o.Barred == nil || a.For.Subject.Kind != fleet.KindMerge || pull.Head == "":
		return nil, fmt.Errorf("no merge queue asks for it: %w", act.ErrRefused)
	}
	return &mergingPull{writer: p.Writer, number: t.number, head: pull.Head, barred: func(ctx context.Context, commit string) (string, error) {
		return x.o.Barred(ctx, a.For.Subject.Name, commit)
	}}, nil
}

// left: what is open still has the head that was seen, and its queue still wants it.
func (d *mergingPull) left(ctx context.Context, now forge.Issue) (bool, error) {
	if !now.Open || d.answer != nil && d.answer.Commit == "" {
		return false, nil
	}
	if err := hasHead(ctx, d.writer, d.number, d.head); err != nil {
		return false, err
	}
	switch why, err := d.barred(ctx, d.head); {
	case err != nil:
		return false, err
	case why != "":
		return false, fmt.Errorf("%s: %w", why, act.ErrRefused)
	}
	return true, nil
}

// moves says that what is closed already is no obstacle to it: somebody has merged it.
func (d *mergingPull) moves() {}

// do asks: the forge compares the head itself, and refuses another.
func (d *mergingPull) do(ctx context.Context) error {
	said, err := d.writer.Merge(ctx, d.number, d.head)
	if err == nil {
		d.answer = &said
	}
	return err
}

func (d *mergingPull) effect() string {
	if d.answer.Commit == "" {
		return "it is in the forge's own merge queue"
	}
	return fmt.Sprintf("the forge has merged it as %.12s", d.answer.Commit)
}

// Merged implements the question for what was learned: the commit, where there is one yet.
func (r *run) Merged() *fleet.MergeOutcome {
	if d, is := r.deed.(*mergingPull); is && d.answer != nil {
		return &fleet.MergeOutcome{Commit: d.answer.Commit}
	}
	return nil
}

// dequeuing takes a pull request out of the forge's own queue. It is asked at any rate: that it is in it no list of a forge says.
type dequeuing struct {
	writer Writer
	number int
	done   bool
}

func (d *dequeuing) left(_ context.Context, now forge.Issue) (bool, error) {
	return now.Open && !d.done, nil
}

// moves says that what is closed already is no obstacle to it.
func (d *dequeuing) moves() {}

func (d *dequeuing) do(ctx context.Context) error {
	err := d.writer.LeaveQueue(ctx, d.number)
	d.done = err == nil
	return err
}

func (d *dequeuing) effect() string { return "it is not in the forge's own merge queue" }
