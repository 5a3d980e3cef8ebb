package act

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// claim is something an action must have to itself while it runs.
type claim struct {
	what   string // a subject, a process
	path   string // or a path, with all that lies below it
	shared bool   // others that share it may run: the folder an agent works in
}

// claims lists what an action touches: its subject, and what of its target
// another action could reach by another name.
func claims(a fleet.Action) []claim {
	list := []claim{{what: a.Subject.String()}}
	path := func(p string, shared bool) {
		if p != "" {
			list = append(list, claim{path: fleet.RawPath(p), shared: shared})
		}
	}
	t := a.Target
	switch {
	case t.Agent != nil:
		for _, id := range append([]fleet.ProcessID{t.Agent.Process}, t.Agent.Procs...) {
			if id.PID != 0 {
				list = append(list, claim{what: fmt.Sprintf("process/%d@%d", id.PID, id.Start)})
			}
		}
		path(t.Agent.CWD.Or(""), true)
	case t.Repo != nil:
		path(t.Repo.Path, false)
	case t.Worktree != nil:
		path(t.Worktree.Path, false)
		path(t.Worktree.Repo, false) // git keeps the list of worktrees there
	case t.Lock != nil:
		path(t.Lock.Path, false)
	case t.Phase != nil:
		path(t.Phase.Path, false)
	case t.Vault != nil:
		path(t.Vault.Path, false)
	case t.Log != nil:
		path(t.Log.Path, false)
	}
	if r := t.Registration; r != nil {
		path(r.Dir, true)
		path(r.Worktree, true)
		path(r.Real, true)
	}
	return list
}

// clash says whether two actions with these claims must not run at once.
func clash(a, b []claim) bool {
	for _, x := range a {
		for _, y := range b {
			if x.clashes(y) {
				return true
			}
		}
	}
	return false
}

func (c claim) clashes(o claim) bool {
	if c.shared && o.shared {
		return false
	}
	if c.path != "" && o.path != "" {
		return inside(c.path, o.path) || inside(o.path, c.path)
	}
	return c.what != "" && c.what == o.what
}

// inside says whether path is dir or lies below it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
