package runstep

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"custos/internal/fleet"
	"custos/internal/formula"
)

// passed are the variables of Custos' own environment that every step gets: none
// holds a secret, and the XDG folders let `custos` find its daemon from within.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"}

// searched is where a step's programs are looked for: tools first. An entry that is
// empty or relative would mean the step's own folder, in which an agent may write.
func searched(tools []string, path string) string {
	dirs := slices.DeleteFunc(slices.Concat(tools, filepath.SplitList(path)), func(dir string) bool { return !filepath.IsAbs(dir) })
	if len(dirs) == 0 {
		return "/usr/local/bin:/usr/bin:/bin" // an empty PATH means the step's own folder, too
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// environment is the whole environment of a step, sorted, and which of the
// variables that its formula names are not set here. tools come first in its PATH.
func (l launch) environment(environ []string, tools string) (env, missing []string) {
	values := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && (slices.Contains(passed, name) || slices.Contains(l.step.Env, name)) {
			values[name] = value
		}
	}
	for _, name := range l.step.Env {
		if _, set := values[name]; !set {
			missing = append(missing, fleet.Line(name, 60))
		}
	}
	values["PATH"] = searched(fleet.ToolDirs(tools, l.run.Town), values["PATH"])
	for _, vars := range []map[string]string{l.run.Vars, l.step.Vars} { // a step's own last: those of its round of a loop
		for name, value := range vars {
			values[formula.EnvName(name)] = value
		}
	}
	values["CUSTOS_RUN_ID"], values["CUSTOS_STEP"], values["CUSTOS_ATTEMPT"] = l.run.ID, l.step.ID, strconv.Itoa(l.attempt)
	if l.run.Work != "" {
		values["PROJECT_REPO_ROOT"] = fleet.RawPath(l.run.Work)
	}
	for name, value := range values {
		if name != "" {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env, missing
}
