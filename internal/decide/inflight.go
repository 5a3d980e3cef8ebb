package decide

import (
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// askInFlight refuses a second action on a thing that one is under way on, or
// was planned on earlier in this pass. Two things that share a process or a path
// are one thing here: an agent and the worktree it works in are never acted on at once.
func askInFlight(p *pass, r *request) *refusal {
	h, shared, taken := p.claims.conflict(r.claim)
	if !taken {
		return nil
	}
	what := "it"
	if h.subject != r.wish.Subject {
		what = h.subject.String()
	}
	why := h.do + " is planned on " + what + " in this very pass"
	if !h.since.IsZero() {
		why = h.do + " has been under way on " + what + " since " + clock(h.since)
	}
	if shared != "" {
		why += "; both have a hold on " + shared
	}
	return &refusal{why: why}
}

// holder is the action that has a claim.
type holder struct {
	do      string
	subject fleet.Subject
	since   fleet.Instant // zero: planned in this pass
}

// claim is what an action takes hold of. What it owns it changes; what it uses
// must not change beneath it. Two claims conflict when one owns what the other
// owns or uses; two agents that merely work in the same folder do not.
type claim struct {
	subject  fleet.Subject
	ownPIDs  []int
	usePIDs  []int
	ownPaths []string
	usePaths []string
}

// claimOf returns what an action on a target takes hold of. A message takes
// nothing but its turn. An agent that is started again is seen somewhere and works
// where it is registered: both are held.
func claimOf(s fleet.Subject, t fleet.Target, harmless bool) claim {
	c := claim{subject: s}
	if harmless {
		return c
	}
	switch {
	case t.Agent != nil:
		c.agent(t.Agent)
		if t.Registration != nil {
			c.usePaths = append(c.usePaths, placesOf(t.Registration)...)
		}
	case t.Step != nil && t.Step.Step != "" && t.Step.Run.Work != "":
		c.usePaths = []string{t.Step.Run.Work}
	case t.Registration != nil:
		c.usePaths = placesOf(t.Registration)
	case t.Repo != nil:
		c.ownPaths = []string{t.Repo.Path}
		c.usePIDs, _ = t.Repo.Occupied.Get()
	case t.Worktree != nil:
		c.ownPaths = []string{t.Worktree.Path}
		c.usePIDs, _ = t.Worktree.Occupied.Get()
	case t.Lock != nil:
		c.ownPaths = []string{t.Lock.Path}
		if pid, ok := t.Lock.PID.Get(); ok {
			c.usePIDs = []int{pid}
		}
	case t.Phase != nil:
		c.ownPaths = []string{t.Phase.Path}
	case t.Vault != nil:
		c.ownPaths = []string{t.Vault.Path}
	case t.Log != nil:
		c.ownPaths = []string{t.Log.Path}
	case t.Pipeline != nil: // two pipelines that run one commit are one thing
		c.ownPaths = []string{t.Pipeline.Run().String()}
	case t.Landmark != nil: // its mode or its text: what lies below it stays as it is
	}
	return c
}

// placesOf lists the folders an agent that is to be started will work in.
func placesOf(r *fleet.Registration) (paths []string) {
	for _, path := range []string{r.Dir, r.Worktree, r.Real} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

func (c *claim) agent(a *fleet.Agent) {
	if a.Process.PID != 0 {
		c.ownPIDs = append(c.ownPIDs, a.Process.PID)
	}
	for _, id := range a.Procs {
		c.ownPIDs = append(c.ownPIDs, id.PID)
	}
	if cwd, ok := a.CWD.Get(); ok && cwd != "" {
		c.usePaths = []string{cwd}
	}
}

// claims are all claims of a pass, indexed so that a question costs as much as
// its paths are deep.
type claims struct {
	subjects map[fleet.Subject]holder
	ownPID   map[int]holder
	usePID   map[int]holder
	ownPath  map[string]holder
	ownBelow map[string]holder // a folder above (or at) an owned path
	useBelow map[string]holder // a folder above (or at) a used path
}

func newClaims() claims {
	return claims{
		subjects: map[fleet.Subject]holder{},
		ownPID:   map[int]holder{},
		usePID:   map[int]holder{},
		ownPath:  map[string]holder{},
		ownBelow: map[string]holder{},
		useBelow: map[string]holder{},
	}
}

func (cs *claims) add(c claim, h holder) {
	cs.subjects[c.subject] = h
	for _, pid := range c.ownPIDs {
		cs.ownPID[pid] = h
	}
	for _, pid := range c.usePIDs {
		cs.usePID[pid] = h
	}
	for _, path := range c.ownPaths {
		cs.ownPath[path] = h
		eachFolder(path, func(dir string) bool { cs.ownBelow[dir] = h; return true })
	}
	for _, path := range c.usePaths {
		eachFolder(path, func(dir string) bool { cs.useBelow[dir] = h; return true })
	}
}

// conflict returns who holds something of the claim, and what is shared (empty
// when it is the subject itself).
func (cs *claims) conflict(c claim) (holder, string, bool) {
	if h, ok := cs.subjects[c.subject]; ok {
		return h, "", true
	}
	if h, shared, ok := cs.pidConflict(c); ok {
		return h, shared, true
	}
	for _, path := range c.ownPaths {
		if h, ok := cs.ownBelow[path]; ok {
			return h, path, true
		}
		if h, ok := cs.useBelow[path]; ok {
			return h, path, true
		}
		if h, dir, ok := cs.owned(path); ok {
			return h, dir, true
		}
	}
	for _, path := range c.usePaths {
		if h, dir, ok := cs.owned(path); ok {
			return h, dir, true
		}
	}
	return holder{}, "", false
}

func (cs *claims) pidConflict(c claim) (holder, string, bool) {
	for _, pid := range c.ownPIDs {
		for _, held := range []map[int]holder{cs.ownPID, cs.usePID} {
			if h, ok := held[pid]; ok {
				return h, "process " + strconv.Itoa(pid), true
			}
		}
	}
	for _, pid := range c.usePIDs {
		if h, ok := cs.ownPID[pid]; ok {
			return h, "process " + strconv.Itoa(pid), true
		}
	}
	return holder{}, "", false
}

// owned finds an owned path at or above the path.
func (cs *claims) owned(path string) (h holder, dir string, ok bool) {
	eachFolder(path, func(d string) bool {
		h, ok = cs.ownPath[d]
		dir = d
		return !ok
	})
	return h, dir, ok
}

// eachFolder calls f with the path and each folder above it, until f says no.
// Paths are in the safe form of fleet.Path, which leaves slashes alone.
func eachFolder(path string, f func(string) bool) {
	for path != "" {
		if !f(path) || path == "/" {
			return
		}
		i := strings.LastIndexByte(path, '/')
		if i == 0 {
			i = 1 // the root keeps its slash
		}
		path = path[:max(i, 0)]
	}
}
