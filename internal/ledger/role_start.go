package ledger

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// longestBefore is how much of what others found is told to who comes after them, in bytes.
const longestBefore = 16 << 10

// RoleLacks refuses to start an agent of a role of which custos.toml does not say enough.
func RoleLacks(r fleet.Role) error {
	what := "start an agent of role " + r.Name
	switch {
	case r.Kind == "":
		return Unfit(what, "[role.%s] names no kind", r.Name)
	case r.Repo == "" && r.Dir == "":
		return Unfit(what, "[role.%s] names no place: repo, of which each has a worktree, or dir", r.Name)
	}
	return nil
}

// RoleStart is the registration of a new agent of a role that begins with a piece of work (nil: with none), below a parent
// (nil: none): its name, its place and its first prompt. Where another had that work before, on a branch of the same
// repository, its own branch begins where that one stands.
func RoleStart(r fleet.Role, w *fleet.WorkItem, parent *fleet.Registration, files []string, past fleet.Past) fleet.Registration {
	a := fleet.Registration{Name: roleAgent(r.Name, w, past.Registrations), Role: r.Name, Project: r.Project, Kind: r.Kind, Owner: fleet.OwnerCustos, Where: fleet.WhereTmux, Env: r.Env, Files: files,
		Dir: r.Dir, Account: r.Account, Restart: r.Restart, Standing: r.Standing, MemoryMax: r.MemoryMax, Heartbeat: roleBeat(r), RoleSum: RoleSum(r)}
	if r.Headless {
		a.Where = fleet.WhereHeadless
	}
	if parent == nil && (w == nil || w.Review == nil) { // who was started by an author reviews nothing of that one's
		parent = RoleSupervisor(r, past.Registrations)
	}
	if parent != nil {
		a.Parent, a.Depth, a.Run = parent.Name, parent.Depth+1, parent.Run
	}
	if r.Repo != "" {
		a.Repo, a.Branch = fleet.Path(path.Clean(r.Repo)), "agent/"+a.Name
	}
	var before string
	if w != nil {
		a.Task, a.Project = w.ID, cmp.Or(w.Project, a.Project)
		if len(a.Files) == 0 {
			a.Files = w.Files
		}
		if w.Left != "" && a.Repo != "" {
			a.From = w.Left
			before = fmt.Sprintf("%s worked on it before you, on branch %s. Where that branch is still there yours begins at it: look first at what was done.", leftByWhom(w), w.Left)
		}
		before = strings.TrimSpace(found(past.Records, w) + before + cameBack(past.Records, w))
	}
	a.Argv = RoleArgv(r, a, w)
	if r.Kind != generic { // it is not known how that would be given one
		a.Prompt = rolePrompt(r, a, w, before)
	}
	return a
}

// generic is the kind of any command.
const generic = "generic"

// roleAgent is what a new agent of a role is called: after its work, and by a number where that name was had before.
func roleAgent(role string, w *fleet.WorkItem, all []fleet.Registration) string {
	name, first := role, 1
	if w != nil {
		name += "-" + w.ID
		if rest, is := strings.CutPrefix(w.LeftBy, name); is { // whoever had it before may be forgotten, and its branch is there
			n, _ := strconv.Atoi(strings.TrimPrefix(rest, "-"))
			first = max(n, 1) + 1
		}
	}
	for n := first; ; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s-%d", name, n)
		}
		if !slices.ContainsFunc(all, func(r fleet.Registration) bool { return strings.EqualFold(r.Name, try) }) {
			return try
		}
	}
}

// roleBeat is the heartbeat that agents of a role promise; nil for none. Its grace is half of it, as of spawn.
func roleBeat(r fleet.Role) *fleet.Heartbeat {
	every, err := time.ParseDuration(r.Heartbeat)
	if err != nil {
		return nil
	}
	return &fleet.Heartbeat{Every: fleet.Duration(every), Grace: fleet.Duration(every / 2)}
}

// found is what other parts of the same whole have found, and what reviews have.
func found(all fleet.Records, w *fleet.WorkItem) string {
	var b strings.Builder
	for _, p := range all.Work {
		if p.Result == "" || p.State != fleet.WorkClosed || w.ID == p.ID || p.Part == "" || p.Part != w.Part && p.Part != w.Ref() {
			continue
		}
		fmt.Fprintf(&b, "What came of %s (%s):\n%s\n\n", p.ID, p.Title, p.Result)
	}
	text := b.String()
	if len(text) > longestBefore {
		text = fleet.Text(text[:longestBefore]) + "\n(the rest: custos work show)\n\n"
	}
	return text
}

// RoleOrders are the orders by which such an agent begins: its start, and the words that are typed to one that takes
// none on its command line.
func RoleOrders(r fleet.Role, a fleet.Registration, id, by string, at fleet.Instant) ([]fleet.Order, error) {
	start, _, err := Take(nil, fleet.Order{ID: id, Do: fleet.OrderSpawn, Agent: a.Name, By: by, At: at, Spawn: &a}, at)
	if err != nil || !r.Typed || a.Prompt == "" {
		return []fleet.Order{start}, err
	}
	words, _, err := Take(nil, fleet.Order{ID: id + PromptOf, Do: fleet.OrderNudge, Agent: a.Name, By: by, At: at, Text: a.Prompt}, at)
	return []fleet.Order{start, words}, err
}

// PromptOf follows the ID of a spawn in the ID of the order that types its prompt.
const PromptOf = "-prompt"

// SlingID is the order by which the agent begins that a piece of work is handed out to now.
func SlingID(w fleet.WorkItem) string { return fmt.Sprintf(fleet.SlingOrder+"%s-%d", w.ID, w.Revision) }

func leftByWhom(w *fleet.WorkItem) string {
	if w.LeftBy == "" {
		return "Somebody else"
	}
	return "Agent " + w.LeftBy
}

// cameBack says why what was handed in for a piece of work is not merged; "" where nothing was, or it may yet be.
func cameBack(all fleet.Records, w *fleet.WorkItem) (text string) {
	for n := range all.Merges {
		if i := &all.Merges[n]; isStuck(i) && slices.Contains(i.Work, w.Ref()) {
			text = fmt.Sprintf("\n\nBranch %s (%s) was handed in for it, and is not merged: %s", i.Source, i.ID, mergeWhy(i))
		}
	}
	return text
}
