package daemon

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"custos/internal/catalog"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/sys/git"
)

// mergePort is what is known of merge queues beside their records.
type mergePort struct{ *system }

// Queues implements control.Merges.
func (p mergePort) Queues() []fleet.MergeQueue { return p.workers.Merges }

// OfMail implements control.Merges.
func (p mergePort) OfMail(of fleet.MailType) fleet.MailAction { return p.mail[of] }

// Place implements control.Merges.
func (p mergePort) Place(dir string) (repo, branch string) {
	at, err := git.Find(dir)
	if err != nil {
		return "", ""
	}
	return at.Common, at.Branch()
}

// Tip implements control.Merges.
func (p mergePort) Tip(ctx context.Context, q fleet.MergeQueue, branch string) (commit, title string, err error) {
	return git.NewWriter(git.New(git.Options{}), git.WriterOptions{}).BranchTip(ctx, fleet.RawPath(q.Repo), q.Remote, branch)
}

// Diff implements control.Merges.
func (p mergePort) Diff(ctx context.Context, q fleet.MergeQueue, i fleet.MergeItem) (string, error) {
	return git.NewWriter(git.New(git.Options{}), git.WriterOptions{}).BranchDiff(ctx, fleet.RawPath(q.Repo), q.Remote, q.Target, i.Source, i.Commit)
}

// mergeQueue is the queue that an item is in.
func (s *system) mergeQueue(ctx context.Context, item string) (fleet.MergeQueue, error) {
	past, err := s.recall(ctx)
	m := ledger.Merge(past.Records, item)
	if err != nil || m == nil {
		return fleet.MergeQueue{}, cmp.Or(err, fmt.Errorf("there is no item %s of a merge queue", item))
	}
	if q := fleet.Find(s.workers.Merges, func(q *fleet.MergeQueue) bool { return q.Name == m.Queue }); q != nil {
		return *q, nil
	}
	return fleet.MergeQueue{}, fmt.Errorf("custos.toml has no [merge.%s] any more", m.Queue)
}

// presets are the roles that come with Custos.
func presets() []fleet.Role {
	list, _ := catalog.RolePresets() // a test reads them
	return list
}

// changing is how long a custos.toml that was changed may take until it is in force, or is told to be broken.
const changing = 3 * time.Minute

// mergeBarred says why a merge group is not to land at this very instant, by the queue as it is now.
func (s *system) mergeBarred(ctx context.Context, t fleet.MergeTarget) (string, error) {
	return s.barred(ctx, t.Queue.Name, func(past fleet.Past, q fleet.MergeQueue) string {
		t.Queue = q
		return ledger.MergeBarred(past, t, s.world.Now())
	})
}

// pullBarred says the same of a pull request that its forge is to be asked to merge.
func (s *system) pullBarred(ctx context.Context, item, commit string) (string, error) {
	q, err := s.mergeQueue(ctx, item)
	if err != nil {
		return "", err
	}
	return s.barred(ctx, q.Name, func(past fleet.Past, q fleet.MergeQueue) string {
		return ledger.PullBarred(past, q, item, commit, s.world.Now())
	})
}

func (s *system) barred(ctx context.Context, queue string, ask func(fleet.Past, fleet.MergeQueue) string) (string, error) {
	past, err := s.recall(ctx)
	if err != nil {
		return "", err
	}
	q := fleet.Find(s.workers.Merges, func(q *fleet.MergeQueue) bool { return q.Name == queue })
	switch {
	case q == nil:
		return "custos.toml has no [merge." + queue + "] any more", nil
	case s.cfg.ChangedWithin(changing):
		return "custos.toml was changed a moment ago, and is not in force yet", nil
	}
	return ask(past, *q), nil
}
