// Package forgewrite holds the actions "comment", "label" and "assign" on an issue
// or a pull request, "close-issue" and "reopen-issue", and "close-pull" on a pull request that is merged
// though its forge does not see it. Each looks again before it writes, does what is not done yet,
// and looks once more afterwards; done twice, it is done once.
package forgewrite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// The names of the actions. What they do is said by their text:
//
//	comment   the words to say, once for each rule, agent and commit
//	label     what to put on and take off: "-in-progress, +ready"
//	assign    to whom, and from whom: "+ann, -bob"; "-*" from all
//	close-issue, reopen-issue   why, which is said under it first; or nothing
//	close-pull                  the same
//
// ready, in-progress and blocked stand for the labels that the project calls so.
const (
	Comment = "comment"
	Label   = "label"
	Assign  = "assign"

	CloseIssue  = "close-issue"
	ReopenIssue = "reopen-issue"
	ClosePull   = "close-pull"
	MergePull   = "merge-pull"
	DequeuePull = "dequeue-pull"
)

// Names lists them.
func Names() []string {
	return []string{Comment, Label, Assign, CloseIssue, ReopenIssue, ClosePull, MergePull, DequeuePull}
}

// looker looks at one repository at the instant of acting. number is that of an
// issue or of a pull request.
type looker interface {
	Issue(ctx context.Context, number int) (forge.Issue, error)
	// Said says whether a comment of our own carries the mark of key.
	Said(ctx context.Context, number int, key string) (bool, error)
	// Head is the newest commit of a pull request; "" while it is not open.
	Head(ctx context.Context, number int) (string, error)
}

// writer changes it. What is so already is left as it is, and not done.
type writer interface {
	Comment(ctx context.Context, number int, key, text string) (done bool, err error)
	Label(ctx context.Context, number int, label string, on bool) (done bool, err error)
	Assign(ctx context.Context, number int, user string, on bool) (done bool, err error)
	// Open opens an issue, or closes it.
	Open(ctx context.Context, number int, on bool) (done bool, err error)
	// Merge merges a pull request at its head, or has it wait in the forge's own queue.
	Merge(ctx context.Context, number int, head string) (forge.Merged, error)
	// LeaveQueue takes it out of that.
	LeaveQueue(ctx context.Context, number int) error
}

// Writer is both.
type Writer interface {
	looker
	writer
}

// Project is one project that may be written to.
type Project struct {
	Writer Writer
	// Pulls writes to pull requests where the forge counts them apart from issues; nil: Writer does.
	Pulls Writer
	// Labels are those that the project calls ready, in-progress and blocked, by
	// these words. The first is put on; all are taken off.
	Labels map[string][]string
}

// Options say where it may be written.
type Options struct {
	Projects map[string]Project // by name of the section [forge.NAME]
	// Landed says whether a commit is in the target that an item of a merge queue was merged into, as that
	// is read now; nil: no pull request is closed.
	Landed func(ctx context.Context, item, commit string) (bool, error)
	// Barred says why the forge is not to be asked at this instant to merge an item at a commit; "": it is; nil: none
	// is ever asked.
	Barred func(ctx context.Context, item, commit string) (string, error)
}

// Action implements act.Action for one of them.
type Action struct {
	do string
	o  Options
}

// New returns the action of that name.
func New(do string, o Options) *Action { return &Action{do, o} }

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: x.do, Idempotent: true, Shared: fleet.SharedForge, Touches: []fleet.PartName{fleet.PartForge}, Deadline: fleet.Duration(2 * time.Minute)}
	if len(x.o.Projects) == 0 {
		a.Cannot, a.Needs = "no forge is configured", "a section [forge.NAME] in custos.toml"
	}
	return a
}

// Commands implements act.Action. The forge is spoken to by HTTP; these are the
// words for it.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t, err := targetOf(a)
	if err != nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{x.do, t.url, a.Text},
		Note: "through the API of the forge, with the token of [forge." + t.project + "]; only while it is as it was seen"}}
}

// target is what is written to.
type target struct {
	project   string
	number    int
	name, url string
	owner     fleet.Owner
	assignees []string // as they were seen; nil: not asked
	about     string   // what a comment is about beside its rule
}

func targetOf(a fleet.Action) (target, error) {
	switch i, p := a.Target.Issue, a.Target.Pull; {
	case i != nil:
		return target{i.Project, i.Number, i.Name, i.URL, i.Owner, append([]string{}, i.Assignees...), i.Agent}, nil
	case p != nil:
		return target{p.Project, p.Number, p.Name, p.URL, p.Owner, nil, p.Head}, nil
	}
	return target{}, errors.New("the target is neither an issue nor a pull request")
}

// Prepare implements act.Action: it looks at the issue again.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	t, err := targetOf(a)
	if err != nil {
		return nil, fmt.Errorf("cannot %s: %w", x.do, err)
	}
	p, ok := x.o.Projects[t.project]
	if !ok {
		return nil, fmt.Errorf("cannot %s: there is no [forge.%s] to write to: %w", x.do, t.project, act.ErrRefused)
	}
	if a.Target.Pull != nil && p.Pulls != nil {
		p.Writer = p.Pulls
	}
	if !t.owner.MayTouch() {
		return nil, fmt.Errorf("cannot %s: %s is not ours: %w", x.do, t.name, act.ErrRefused)
	}
	d, err := x.deed(a, t, p)
	if err == nil {
		err = p.ready(ctx, t, d)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot %s: %w", x.do, err)
	}
	return &run{do: x.do, p: p, t: t, deed: d}, nil
}

// ready reads the issue. A deed that is done is unneeded; one on an issue that is
// not as it was seen is refused: it may have been closed, or taken up.
func (p Project) ready(ctx context.Context, t target, d deed) error {
	now, err := p.Writer.Issue(ctx, t.number)
	if err != nil {
		return err
	}
	_, moves := d.(interface{ moves() })
	if !now.Open && !moves {
		return fmt.Errorf("%s was closed since: %w", t.name, act.ErrRefused)
	}
	switch left, err := d.left(ctx, now); {
	case err != nil:
		return err
	case !left:
		return fmt.Errorf("%s is so already: %w", t.name, act.ErrUnneeded)
	case t.assignees != nil && !sameSet(t.assignees, now.Assignees):
		return fmt.Errorf("%s was assigned to another user since: %w", t.name, act.ErrRefused)
	}
	return nil
}

// sameSet compares what was seen, which may be cut, with what there is.
func sameSet(seen, now []string) bool {
	a, b := slices.Clone(seen), make([]string, 0, len(now))
	for _, s := range now {
		b = append(b, fleet.Line(s, nameRunes))
	}
	for i := range a {
		a[i] = fleet.Line(a[i], nameRunes)
	}
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// nameRunes is how much of a name is compared.
const nameRunes = 60

// run is one deed that is to be done.
type run struct {
	do   string
	p    Project
	t    target
	deed deed
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		err = r.deed.do(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot %s on %s: %w", r.do, r.t.name, err)
	}
	return nil
}

// Verify implements act.Run: it looks once more.
func (r *run) Verify(ctx context.Context) (string, error) {
	now, err := r.p.Writer.Issue(ctx, r.t.number)
	if err != nil {
		return "", fmt.Errorf("cannot look at %s again: %w", r.t.name, err)
	}
	left, err := r.deed.left(ctx, now)
	if err != nil {
		return "", fmt.Errorf("cannot look at %s again: %w", r.t.name, err)
	}
	if left {
		return "", fmt.Errorf("cannot show that it was done: %s is as before", r.t.name)
	}
	return r.deed.effect(), nil
}

// Close implements act.Run.
func (r *run) Close() {}
