package service

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/service/unit"
)

// named are the variables by which Custos, and the programs it calls, find their things. Those of
// them that are set are written into the unit; no other is, but what a person names.
var named = []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "LANG", "TMUX_TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}

var isName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environ is what the daemon is given: PATH, written out, and the variables that are named. Notes
// say what was left out. A value that looks like a secret is refused: every user may read a unit.
func environ(getenv func(string) string, more []string) (env []unit.Variable, notes []string, err error) {
	path, left := searched(getenv("PATH"))
	for _, dir := range left {
		notes = append(notes, fmt.Sprintf("%q of PATH is left out: it is relative, or a folder of temporary files", fleet.Line(dir, 200)))
	}
	env = append(env, unit.Variable{Name: "PATH", Value: path})
	names := append(slices.Clone(named), more...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		value := getenv(name)
		switch asked := slices.Contains(more, name); {
		case asked && (!isName.MatchString(name) || name == "PATH" || name == "HOME"):
			return nil, nil, fmt.Errorf("cannot give the daemon %q: want the name of a variable, other than PATH and HOME", fleet.Line(name, 60))
		case asked && value == "":
			return nil, nil, fmt.Errorf("cannot give the daemon %s: it is not set here", name)
		case value == "":
		case !asked && name != "LANG" && !filepath.IsAbs(value):
			notes = append(notes, fmt.Sprintf("%s=%q is left out: it is relative, and the daemon begins in another folder", name, fleet.Line(value, 200)))
		case fleet.RedactValue(name, "", value) != value:
			return nil, nil, fmt.Errorf("cannot give the daemon %s: its value looks like a secret, and other users may read a unit; name a file with it in custos.toml (token_file)", name)
		default:
			env = append(env, unit.Variable{Name: name, Value: value})
		}
	}
	return env, notes, nil
}

// searched are the folders of a PATH that a daemon can go by, each once, and those left out.
func searched(path string) (good string, left []string) {
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		switch {
		case slices.Contains(dirs, dir):
		case !filepath.IsAbs(dir) || isTemporary(dir+"/"):
			left = append(left, dir)
		default:
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":"), left
}
