package control

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// spawnOf returns the registration that a spawn asks for, among all others.
// spawnOf makes a registration of a request. kindOf names the kind of a command line.
func spawnOf(q api.SpawnRequest, name string, all []fleet.Registration, kindOf func(argv []string) string) (_ *fleet.Registration, err error) {
	parent := ledger.Registration(all, q.Parent)
	for _, check := range []error{checkName(name), checkAlike(name, all), checkKind(&q, kindOf), checkParent(q, parent), checkPaths(q), checkFiles(q.Files), checkRestart(q)} {
		if check != nil {
			return nil, fmt.Errorf("cannot spawn %q: %w", fleet.Line(name, 80), check)
		}
	}
	r := &fleet.Registration{Name: name, Owner: fleet.OwnerCustos, Kind: q.Kind, Argv: q.Argv, Env: q.Env, Role: q.Role, Project: q.Project,
		Task: q.Task, Spec: fleet.Path(q.Spec), Files: q.Files, Parent: q.Parent, Run: q.Run, Account: q.Account, Dir: fleet.Path(q.Dir),
		Where: fleet.WhereTmux, Restart: fleet.Restart(q.Restart), Standing: q.Standing, MemoryMax: q.MemoryMax, Prompt: firstPrompt(q)}
	if q.Kind == generic {
		r.Prompt = q.Prompt // a task is for the record: it is not known how it would be sent
	}
	if q.Headless {
		r.Where = fleet.WhereHeadless
	}
	if r.Heartbeat, err = promised(q); err != nil {
		return nil, fmt.Errorf("cannot spawn %q: %w", fleet.Line(name, 80), err)
	}
	if parent != nil {
		r.Depth = parent.Depth + 1
		if r.Run == "" {
			r.Run = parent.Run
		}
	}
	if q.Worktree {
		inWorktree(r, q)
	}
	return r, nil
}

// checkAlike refuses a name that a person, and a file system that knows no capitals,
// takes for another one's.
func checkAlike(name string, all []fleet.Registration) error {
	for _, r := range all {
		if r.Name != name && strings.EqualFold(r.Name, name) && r.Desired != fleet.DesiredRetired {
			return fmt.Errorf("there is an agent %q: names that differ by capitals alone are one to people", r.Name)
		}
	}
	return nil
}

// longestName is the most letters of the name of an agent: it is the name of a
// session, a folder and a branch too.
const longestName = 64

// plainName is what a new agent may be called, so that its name is one word in any
// shell, in tmux and in a branch.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func checkName(name string) error {
	if len(name) > longestName || !plainName.MatchString(name) || strings.HasSuffix(name, ".lock") || strings.Contains(name, "..") {
		return fmt.Errorf(`that is no name for an agent: want 1 to %d letters of a to z, digits, ".", "-" and "_", beginning with a letter or digit, without ".." and not ending in ".lock"`, longestName)
	}
	return nil
}

// checkKind finds the kind, which a command line shows where nothing else says it.
func checkKind(q *api.SpawnRequest, kindOf func([]string) string) error {
	switch {
	case len(q.Argv) > 0 && (q.Argv[0] == "" || strings.HasPrefix(q.Argv[0], "-")):
		return fmt.Errorf("its command line begins with %q: want the program first, like -- claude --verbose", fleet.Line(q.Argv[0], 40))
	case q.Kind == "" && len(q.Argv) > 0:
		q.Kind = kindOf(q.Argv)
	case q.Kind == "":
		return fmt.Errorf("name its kind, or its command line behind --")
	}
	for _, name := range q.Env {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			return fmt.Errorf("%q names no variable: want a name, never a value", fleet.Line(name, 20))
		}
	}
	return nil
}

func checkParent(q api.SpawnRequest, parent *fleet.Registration) error {
	depth := 0
	switch {
	case q.Parent != "" && (parent == nil || parent.Desired == fleet.DesiredRetired):
		return fmt.Errorf("its parent %q is not registered", fleet.Line(q.Parent, 80))
	case parent != nil:
		depth = parent.Depth + 1
	}
	if q.Depth != nil && *q.Depth != depth {
		return fmt.Errorf("its depth is %d, one more than its parent's, and not %d", depth, *q.Depth)
	}
	return nil
}

func checkPaths(q api.SpawnRequest) error {
	for _, p := range []string{q.Dir, q.Repo, q.Spec} {
		if p != "" && !path.IsAbs(p) {
			return fmt.Errorf("%q is no absolute path", fleet.Line(p, 200))
		}
	}
	switch {
	case q.Worktree && q.Repo == "":
		return fmt.Errorf("a worktree needs the repository it is made of")
	case !q.Worktree && q.Dir == "":
		return fmt.Errorf("name the folder it works in")
	case !q.Worktree && (q.Branch != "" || q.Repo != ""):
		return fmt.Errorf("a branch and a repository are for a worktree")
	case q.MemoryMax < 0:
		return fmt.Errorf("a memory cap of %d bytes makes no sense", q.MemoryMax)
	}
	return nil
}

// checkFiles refuses what would assign nothing.
func checkFiles(files []string) error {
	for _, f := range files {
		_, bad := path.Match(f, "")
		switch {
		case path.Clean(f) == "." || f == "":
			return fmt.Errorf("--files %q is nothing, or all of its folder: name files, folders or patterns in it", fleet.Line(f, 80))
		case bad != nil:
			return fmt.Errorf("--files %q is no pattern: a [ wants its ], and \\[ is the letter", fleet.Line(f, 80))
		}
	}
	return nil
}

func checkRestart(q api.SpawnRequest) error {
	if q.Restart == "" || slices.Contains([]fleet.Restart{fleet.RestartAlways, fleet.RestartOnFailure, fleet.RestartNever}, fleet.Restart(q.Restart)) {
		return nil
	}
	return fmt.Errorf("it cannot be restarted %q: want always, on-failure or never", fleet.Line(q.Restart, 40))
}

// inWorktree gives the agent a worktree of its own, on a branch of its own. The
// start makes it, beside the repository unless a folder is named.
func inWorktree(r *fleet.Registration, q api.SpawnRequest) {
	r.Repo, r.Branch, r.Worktree = fleet.Path(path.Clean(q.Repo)), q.Branch, r.Dir
	if r.Branch == "" {
		r.Branch = "agent/" + fileWord(r.Name)
	}
}

// fileWord is a name as part of a branch: what git might take for something else
// becomes a dash.
func fileWord(name string) string {
	word := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, name)
	word = strings.Trim(word, "-")
	if r := []rune(word); len(r) > 60 {
		word = strings.TrimRight(string(r[:60]), "-")
	}
	if word == "" {
		word = "agent"
	}
	return word
}

// generic is the kind of any command.
const generic = "generic"

// firstPrompt is what an agent gets first: the given words, else its task.
func firstPrompt(q api.SpawnRequest) string {
	if q.Prompt != "" || q.Task == "" && q.Spec == "" {
		return q.Prompt
	}
	var parts []string
	if q.Task != "" {
		parts = append(parts, "Your task: "+q.Task)
	}
	if q.Spec != "" {
		parts = append(parts, "Read the specification first: "+q.Spec)
	}
	if len(q.Files) > 0 {
		parts = append(parts, "The files it is about: "+strings.Join(q.Files, ", "))
	}
	return strings.Join(parts, "\n")
}

// promised reads what a spawn says of a heartbeat; nil when it says nothing.
func promised(q api.SpawnRequest) (*fleet.Heartbeat, error) {
	if q.Heartbeat == "" {
		if q.Grace != "" {
			return nil, fmt.Errorf("a grace of %q is for a heartbeat, and it has none", fleet.Line(q.Grace, 40))
		}
		return nil, nil
	}
	every, err := time.ParseDuration(q.Heartbeat)
	if err != nil || every <= 0 {
		return nil, fmt.Errorf("a heartbeat every %q makes no sense: want a time like 10m", fleet.Line(q.Heartbeat, 40))
	}
	grace := every / 2
	if q.Grace != "" {
		if grace, err = time.ParseDuration(q.Grace); err != nil || grace < 0 {
			return nil, fmt.Errorf("a grace of %q makes no sense: want a time like 5m", fleet.Line(q.Grace, 40))
		}
	}
	return &fleet.Heartbeat{Every: fleet.Duration(every), Grace: fleet.Duration(grace)}, nil
}
