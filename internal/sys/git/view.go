package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// view is a worktree as seen past its repository's configuration: a common git
// folder of our own leads to the repository's objects and refs, and holds a
// configuration in which no program is named. So nothing that the repository
// configures can run, whatever it is called and whenever it was written; what
// only such a program could tell is not known (Changes.Unsure).
type view struct {
	r        *Reader
	place    Place
	common   string   // the folder of our own
	env      []string // that makes git use it
	drivers  []string // filters that the repository, or the user, has programs for
	deep     int      // how many submodules it lies in
	finished func()
}

// harmless are the settings that say how files are compared and where a branch
// comes from. None of them names a program.
var harmless = [...]string{"core.filemode", "core.ignorecase", "core.symlinks", "core.autocrlf", "core.eol", "core.excludesfile",
	"core.attributesfile", "core.precomposeunicode", "core.sparsecheckout", "core.sparsecheckoutcone", "core.trustctime",
	"core.checkstat", "core.bigfilethreshold", "core.checkroundtripencoding", "index.sparse"}

// storage are settings of how a repository is stored, with the values that are known.
var storage = map[string][]string{"extensions.objectformat": {"sha1", "sha256"}, "extensions.refstorage": {"files", "reftable"}}

// see makes a view of a worktree. It has to be closed.
func (r *Reader) see(ctx context.Context, p Place) (*view, error) {
	settings, err := r.settings(ctx, p)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "custos-view-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder to look from: %w", err)
	}
	v := &view{r: r, place: p, common: dir, finished: func() { _ = os.RemoveAll(dir) }, drivers: filters(settings)}
	if err := v.fill(settings); err != nil {
		v.close()
		return nil, fmt.Errorf("cannot look at %q: %w", p.Top, err)
	}
	return v, nil
}

func (v *view) close() { v.finished() }

// fill leads to everything of the repository but its configuration and hooks.
func (v *view) fill(settings []setting) error {
	for _, name := range []string{"objects", "refs", "packed-refs", "logs", "info", "shallow", "reftable", "worktrees"} {
		if to := filepath.Join(v.place.Common, name); exists(to) {
			if err := os.Symlink(to, filepath.Join(v.common, name)); err != nil {
				return err
			}
		}
	}
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n"
	var pass [][2]string
	for _, s := range settings {
		switch {
		case slices.Contains(storage[s.key], s.value):
			config += "\t" + strings.TrimPrefix(s.key, "extensions.") + " = " + s.value + "\n"
		case slices.Contains(harmless[:], s.key), s.ofBranch():
			pass = append(pass, [2]string{s.key, s.value})
		}
	}
	v.env = append(configured(pass), "GIT_DIR="+v.place.GitDir, "GIT_WORK_TREE="+v.place.Top, "GIT_COMMON_DIR="+v.common,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	return os.WriteFile(filepath.Join(v.common, "config"), []byte(config), 0o600)
}

// configured gives settings to one call of git, out of sight of other processes.
func configured(settings [][2]string) []string {
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}

func (v *view) git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return v.r.run(ctx, call{dir: v.place.Top, env: v.env, stdin: stdin, args: args})
}

// setting is one value of a repository's configuration.
type setting struct {
	scope string // system, global, local, worktree, command
	key   string // section and variable in lower case
	value string
}

// ofBranch says whether a setting is where a branch comes from.
func (s setting) ofBranch() bool {
	return strings.HasPrefix(s.key, "branch.") && (strings.HasSuffix(s.key, ".remote") || strings.HasSuffix(s.key, ".merge")) ||
		strings.HasPrefix(s.key, "remote.") && strings.HasSuffix(s.key, ".fetch")
}

// own says whether the repository itself says so, and not its user or machine.
func (s setting) own() bool { return s.scope == "local" || s.scope == "worktree" }

// settings reads the configuration that counts in a worktree. Reading it runs nothing.
func (r *Reader) settings(ctx context.Context, p Place) ([]setting, error) {
	env := []string{"GIT_DIR=" + p.GitDir}
	out, err := r.run(ctx, call{dir: p.Common, env: env, args: []string{"config", "--list", "--includes", "--show-scope", "-z"}})
	if err != nil {
		return nil, err
	}
	return parseSettings(out), nil
}

// parseSettings reads what git config --list --show-scope -z wrote: a scope, then
// a key and its value; a key without a value stands for true.
func parseSettings(out []byte) (list []setting) {
	fields := strings.Split(string(out), "\x00")
	for ; len(fields) >= 2; fields = fields[2:] {
		key, value, is := strings.Cut(fields[1], "\n")
		if !is {
			value = "true"
		}
		list = append(list, setting{scope: fields[0], key: key, value: value})
	}
	return list
}

// filters names the filters that something has a program for.
func filters(settings []setting) (names []string) {
	for _, s := range settings {
		if name, variable, ok := driver(s.key, "filter"); ok && (variable == "clean" || variable == "process") && s.value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// driver parts a key like filter.NAME.clean; the name may hold dots.
func driver(key, section string) (name, variable string, ok bool) {
	rest, ok := strings.CutPrefix(key, section+".")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return "", "", false
	}
	return rest[:dot], rest[dot+1:], true
}

// unsure picks, of files whose bytes differ from what is stored, those that a
// filter stores otherwise than they are on disk.
func (v *view) unsure(ctx context.Context, paths []string) ([]string, error) {
	if len(v.drivers) == 0 || len(paths) == 0 {
		return nil, nil
	}
	stdin := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := v.git(ctx, stdin, "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	var unsure []string
	fields := bytes.Split(out, []byte{0})
	for ; len(fields) >= 3; fields = fields[3:] { // path, attribute, value
		if slices.Contains(v.drivers, string(fields[2])) {
			unsure = append(unsure, string(fields[0]))
		}
	}
	return unsure, nil
}
