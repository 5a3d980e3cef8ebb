package loop_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"custos/internal/fleet"
)

// mqCommit is a commit of the target, or one that it may move to: what it brings beside its
// first parent. Its tree is the set of all changes in it: equal content is an equal tree.
type mqCommit struct {
	id     string
	parent *mqCommit
	depth  int
	brings string // a change: the commit of an item, or what a person pushed
	by     string // "" for a person, else the Custos that landed it
	tree   uint64 // of the hashes of all changes
	bad    int    // changes in it that make the gates fail
	breaks int    // the same, of which each is made good by a change that mends
}

// passes says whether the gates pass on a tree that are not flaky.
func (c *mqCommit) passes() bool { return c.bad == 0 && c.breaks <= 0 }

func (c *mqCommit) treeID() string { return "t" + strconv.FormatUint(c.tree, 16) }

// has says whether a change is in the commit.
func (c *mqCommit) has(change string) bool {
	for ; c != nil; c = c.parent {
		if c.brings == change {
			return true
		}
	}
	return false
}

// isIn says whether the commit is an ancestor of another, or is it.
func (c *mqCommit) isIn(of *mqCommit) bool {
	for of != nil && of.depth > c.depth {
		of = of.parent
	}
	return of == c
}

// mqChange is what a commit of a branch does.
type mqChange struct {
	culprit, breaks, mends, empty bool
	conflicts                     []string // changes it cannot be merged with
}

// mqRemote is the repository, and the target in it.
type mqRemote struct {
	tip      *mqCommit
	commits  map[string]*mqCommit
	changes  map[string]mqChange
	branches map[string]string // tips; none: the branch is gone
	down     bool
	declines string // why it takes no push
}

func newMQRemote() *mqRemote {
	root := &mqCommit{id: "root", brings: "root", tree: mqHash("root")}
	return &mqRemote{tip: root, commits: map[string]*mqCommit{"root": root}, changes: map[string]mqChange{}, branches: map[string]string{}}
}

// mqHash is a hash that can be added up: one of FNV's, mixed.
func mqHash(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	x := h.Sum64()
	for range 3 {
		x = (x ^ x>>31) * 0x9e3779b97f4a7c15
	}
	return x ^ x>>32
}

// merge is what comes of merging a change onto a commit: the same twice is the same commit.
func (r *mqRemote) merge(ours *mqCommit, change string, salt ...any) *mqCommit {
	is := r.changes[change]
	c := &mqCommit{id: fmt.Sprintf("%016x", mqHash(append(salt, "|", ours.id, "|", change)...)), parent: ours, depth: ours.depth + 1, brings: change,
		tree: ours.tree ^ mqHash(change), bad: ours.bad, breaks: ours.breaks}
	if was := r.commits[c.id]; was != nil {
		return was
	}
	switch {
	case is.culprit:
		c.bad++
	case is.breaks:
		c.breaks++
	case is.mends:
		c.breaks--
	}
	r.commits[c.id] = c
	return c
}

// conflicts says whether a change cannot be merged onto a commit.
func (r *mqRemote) conflicts(ours *mqCommit, change string) bool {
	if slices.ContainsFunc(r.changes[change].conflicts, ours.has) {
		return true
	}
	return false
}

// push is what a person pushes to the target.
func (r *mqRemote) push(change string, is mqChange) {
	r.changes[change] = is
	r.tip = r.merge(r.tip, change, "person")
}

// clash makes two changes conflict.
func (r *mqRemote) clash(a, b string) {
	x, y := r.changes[a], r.changes[b]
	x.conflicts, y.conflicts = append(slices.Clip(x.conflicts), b), append(slices.Clip(y.conflicts), a)
	r.changes[a], r.changes[b] = x, y
}

// moved says what the actions say of an item whose branch is elsewhere now; nil when it is not.
func (r *mqRemote) moved(i *fleet.MergeItem) *fleet.MergeLeft {
	switch tip := r.branches[i.Source]; tip {
	case i.Commit:
		return nil
	case "":
		return &fleet.MergeLeft{ID: i.ID, State: fleet.MergeFailed, Why: "its branch " + i.Source + " is gone"}
	default:
		return &fleet.MergeLeft{ID: i.ID, State: fleet.MergeWaiting, Commit: tip, Why: "its branch moved from " + i.Commit + " to " + tip}
	}
}
