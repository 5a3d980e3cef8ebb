package control

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// pullAsked turns a request for a pull request ("shop!7") into one for its branch, with its title, in the
// queue of its project and base; the pull request is closed with the merge.
func (c *Control) pullAsked(r *api.MergeRequest, past fleet.Past, snap fleet.Snapshot) (*fleet.PullRequest, error) {
	ref := fleet.Ref(r.Branch)
	seen := ledger.NewTrackers(past, snap).Seen(ref)
	pull := fleet.Find(snap.Forge.Value.Pulls, func(p *fleet.PullRequest) bool { return fleet.Ref(p.Name) == ref })
	switch {
	case seen.Why != "":
		return nil, noPull(ref, "it is not seen now: "+seen.Why)
	case pull == nil:
		return nil, noPull(ref, "it is "+cmp.Or(seen.Outcome, "closed"))
	}
	if r.Queue == "" {
		var fit []string
		for _, q := range c.Merges.Queues() {
			if q.Project == pull.Project && q.Target == pull.Base {
				fit = append(fit, q.Name)
			}
		}
		if len(fit) != 1 {
			return nil, noPull(ref, fmt.Sprintf("%d merge queues are of project %s and merge into %s: say which with --queue", len(fit), pull.Project, fleet.Line(pull.Base, 60)))
		}
		r.Queue = fit[0]
	}
	r.Branch, r.Dir, r.Title = pull.Branch, "", cmp.Or(r.Title, pull.Title)
	if !slices.Contains(r.Work, string(ref)) {
		r.Work = append(slices.Clone(r.Work), string(ref))
	}
	return pull, nil
}

func noPull(ref fleet.Ref, why string) error {
	return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot add %s to a merge queue: %s", fleet.Line(string(ref), 80), why), Hint: "custos work show " + string(ref)}
}

// ofPull refuses a branch that is not the one that a pull request shows: a queue merges what is in its
// repository, or in the remote of that. nil of a pull request: there is none to compare with.
func ofPull(p *fleet.PullRequest, q fleet.MergeQueue, commit string, err error) error {
	switch {
	case p == nil:
		return err
	case err != nil:
		return fmt.Errorf("%w; a pull request of a fork, whose branch is not in the remote, cannot be merged by a queue", err)
	case p.Fork:
		return fmt.Errorf("%s is of a fork: whoever has that pushes to it", p.Name)
	case p.Base != q.Target:
		return fmt.Errorf("%s is to be merged into %s, and the queue merges into %s", p.Name, fleet.Line(p.Base, 60), q.Target)
	case commit != p.Head || strings.TrimSpace(commit) == "":
		return errors.New(p.Name + fmt.Sprintf(" is at %.12s, and the branch %s here at %.12s: it is of a fork, or was pushed to since", p.Head, fleet.Line(p.Branch, 60), commit))
	}
	return nil
}
