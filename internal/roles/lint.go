package roles

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// World is what roles are judged beside: what custos.toml says else, and what was looked up of each role.
type World struct {
	Roles   []fleet.Role // of custos.toml
	Presets []fleet.Role // that come with Custos
	Teams   []fleet.Team
	Queues  []fleet.MergeQueue
	Untold  func(fleet.Role) string // why its agents cannot be given a first prompt; "": they can
	Gone    func(fleet.Role) string // what of its place is not there; "": nothing
	Unread  func(fleet.Role) string // why its standing instructions cannot be read; "": they can, or it has none
	// Line is where a key of a role's section is said, as custos.toml:12; "" where it is not.
	Line func(role, key string) string
}

// Lint is what is wrong or doubtful with one role, or with all for "".
func Lint(one string, w World) api.RoleFindings {
	out := api.RoleFindings{Findings: []api.RoleFinding{}, Next: []api.Hint{}}
	for _, r := range w.Roles {
		if one == "" || one == r.Name {
			out.Roles++
			out.Findings = append(out.Findings, Findings(r, w)...)
		}
	}
	if len(out.Findings) > 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos role show " + out.Findings[0].Role, What: "what it is, and what says so"})
	}
	return out
}

// Findings is what is wrong or doubtful with one role, of what config check takes: a note is right where it
// is meant so.
func Findings(r fleet.Role, w World) (out []api.RoleFinding) {
	add := func(note bool, key, format string, args ...any) {
		out = append(out, api.RoleFinding{Role: r.Name, Key: key, Note: note, What: fleet.Redact(fmt.Sprintf(format, args...)), Line: w.Line(r.Name, key)})
	}
	for _, name := range w.unmade(r) {
		add(w.presets(r), "may_spawn", "custos.toml has no [role.%s], and no work is handed out to one", name)
	}
	if way := w.cycle(r.Name, r.Name); len(way) > 2 {
		add(true, "may_spawn", "its agents may start it again through others: %s", strings.Join(way, " → "))
	}
	if why := w.Untold(r); r.Prompt != "" && why != "" {
		add(false, "prompt", "its agents are not told it: %s", why)
	}
	if why := w.Gone(r); why != "" {
		key := "dir"
		if r.Repo != "" {
			key = "repo"
		}
		add(false, key, "%s", why)
	}
	if why := w.Unread(r); why != "" {
		add(false, "context", "no agent of it is started: %s", why)
	}
	if by := w.handedOut(r); by != "" && r.Repo == "" && r.Dir == "" {
		add(false, "repo", "%s hands work out to it, and it names no place: repo, of which each has a worktree, or dir", by)
	}
	if r.Ends == fleet.RoleEndsMerged && !w.merged(r) {
		add(false, "ends", `work of its agents is closed by its merge alone, and no [merge.NAME] is of its repository`)
	}
	if q := fleet.Find(w.Queues, func(q *fleet.MergeQueue) bool { return q.Resolve == r.Name }); q != nil && r.Repo == "" && r.Dir != "" {
		add(false, "dir", "it brings in what others do not for [merge.%s], on a branch of its own: it needs repo, of which each has a worktree", q.Name)
	}
	if q := w.reviewed(r.Name); q != "" && r.Repo != "" {
		add(true, "repo", "it reviews for [merge.%s], and a reader needs a folder (dir) and no worktree", q)
	}
	return out
}

// unmade are the roles that one may start and that custos.toml does not have.
func (w World) unmade(r fleet.Role) (out []string) {
	for _, name := range r.MaySpawn {
		if w.role(name) == nil {
			out = append(out, name)
		}
	}
	return out
}

// presets says whether whom a role may start is its preset's word.
func (w World) presets(r fleet.Role) bool {
	p := fleet.Find(w.Presets, func(p *fleet.Role) bool { return p.Name == r.Preset })
	return p != nil && slices.Equal(p.MaySpawn, r.MaySpawn)
}

func (w World) role(name string) *fleet.Role {
	return fleet.Find(w.Roles, func(r *fleet.Role) bool { return r.Name == name })
}

// cycle is the shortest way by which agents of a role may come to start another one, both ends named; nil: there is none.
func (w World) cycle(from, to string) []string {
	seen := map[string]bool{}
	for ways := [][]string{{from}}; len(ways) > 0; ways = ways[1:] {
		way := ways[0]
		r := w.role(way[len(way)-1])
		if r == nil {
			continue
		}
		for _, next := range r.MaySpawn {
			longer := append(slices.Clone(way), next)
			if next == to && len(longer) > 2 {
				return longer
			}
			if !seen[next] && next != from {
				seen[next], ways = true, append(ways, longer)
			}
		}
	}
	return nil
}

// handedOut is what hands work of a role out by itself; "" for nothing.
func (w World) handedOut(r fleet.Role) string {
	if r.Takes != "" {
		return fmt.Sprintf("takes = %q", r.Takes)
	}
	for _, t := range w.Teams {
		if slices.Contains(t.Roles, r.Name) {
			return "[team." + t.Name + "]"
		}
	}
	if q := fleet.Find(w.Queues, func(q *fleet.MergeQueue) bool { return q.Review == r.Name || q.Resolve == r.Name }); q != nil {
		return "[merge." + q.Name + "]"
	}
	return ""
}

// reviewed is a queue that a role reviews for; "" for none.
func (w World) reviewed(role string) string {
	if q := fleet.Find(w.Queues, func(q *fleet.MergeQueue) bool { return q.Review == role }); q != nil {
		return q.Name
	}
	return ""
}

// merged says whether some queue is of the repository in which agents of a role work.
func (w World) merged(r fleet.Role) bool {
	return slices.ContainsFunc(w.Queues, func(q fleet.MergeQueue) bool {
		repo := path.Clean(q.Repo)
		return path.Clean(r.Repo) == repo || r.Repo == "" && strings.HasPrefix(path.Clean(r.Dir)+"/", repo+"/")
	})
}
