package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/plugin"
	"custos/internal/rules"
)

// pluginSettings is the section [plugins] of custos.toml.
type pluginSettings struct {
	// Dirs are folders of plugins, before ~/.config/custos/plugins.
	Dirs []string `toml:"dirs" is:"path"`
	// Projects names projects of [formulas] whose .custos/plugins are run, too: what
	// lies in a project is run by nobody who did not say so.
	Projects []string `toml:"projects"`
}

// pluginRoot is one folder of plugins, and the project it belongs to.
type pluginRoot struct {
	dir, project, work string    // dir and work raw
	code               *codeTree // what lies in it is run only as far as it is trusted; nil: it is a person's own
	below              string    // of the plugins in code
}

// pluginShelf is the plugins there are. They are read when they are first asked
// for, and again when one of their files or folders changed. Nothing of a plugin
// that is only read is run.
type pluginShelf struct {
	formulas *formulary
	roots    []pluginRoot
	repeat   time.Duration // of a condition that goes on to hold
	warn     func(msg string, args ...any)

	mu   sync.Mutex
	list []shelved
	followed
}

// shelved is a plugin as far as it could be read.
type shelved struct {
	plugin.Plugin
	root     pluginRoot
	home     string // where it is kept, raw
	dir      string // where it is run from, raw: home, or a copy of what is trusted of it
	problems []plugin.Problem
	schedule fleet.Schedule // with the run that it begins; without a way to be due when only people begin it
	when     *rules.Condition
	broken   string
}

// newPluginShelf reads the section.
func newPluginShelf(cfg config.Config, b *formulary, warn func(string, ...any)) (*pluginShelf, error) {
	s := &pluginShelf{formulas: b, repeat: cfg.PatrolEvery, warn: warn}
	var given pluginSettings
	if err := cfg.Section("plugins", &given); err != nil {
		return nil, err
	}
	wrong := func(key string, err error) error {
		return fmt.Errorf("cannot read %s:%d: [plugins] %s: %w", cfg.File, cfg.Line("plugins."+key), key, err)
	}
	for _, dir := range given.Dirs {
		path, err := cfg.Expand(dir)
		if err != nil {
			return nil, wrong("dirs", err)
		}
		s.roots = append(s.roots, pluginRoot{dir: path})
	}
	s.roots = append(s.roots, pluginRoot{dir: filepath.Join(filepath.Dir(cfg.File), "plugins")})
	for _, name := range given.Projects {
		dir, err := b.project(name)
		if err != nil {
			return nil, wrong("projects", err)
		}
		s.roots = append(s.roots, pluginRoot{filepath.Join(dir, codeFolder, "plugins"), name, dir, b.code.ofProject(dir, name), "plugins/"})
	}
	return s, nil
}

// all returns the plugins in the order in which they are run. The list is not to
// be changed.
func (s *pluginShelf) all(ctx context.Context) []shelved {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reread(s.formulas.code.version, func() { s.load(ctx) })
	return s.list
}

// load reads every plugin. Of two that have one name the first one is run.
func (s *pluginShelf) load(ctx context.Context) {
	s.list, s.sources = nil, nil
	first := map[string]string{}
	for _, root := range s.roots {
		if root.project == "" {
			root.code = s.formulas.code.ofFolder(root.dir, true)
		}
		if root.code != nil {
			s.loadCode(ctx, root, first)
			continue
		}
		s.sources = append(s.sources, root.dir)
		dirs, err := foldersIn(root.dir)
		if err != nil {
			s.list = append(s.list, shelved{Plugin: plugin.Plugin{Name: fleet.Path(root.dir), File: root.dir}, root: root, broken: fleet.Line(err.Error(), 300)})
		}
		for _, dir := range dirs {
			if x, ok := s.read(ctx, root, dir, dir); ok {
				x.oneOf(first)
				s.list = append(s.list, x)
			}
		}
	}
	for _, x := range s.list {
		if x.broken != "" {
			s.warn("A plugin cannot be run", "plugin", x.Name, "why", x.broken)
		}
	}
}

// loadCode reads the plugins of a folder that agents may write to: from copies of
// what is trusted. What is not is in the list, and says why.
func (s *pluginShelf) loadCode(ctx context.Context, root pluginRoot, first map[string]string) {
	var seen []string
	for _, file := range s.formulas.code.names(root.code, root.below) {
		name, rest, _ := strings.Cut(file, "/")
		if rest != plugin.File || slices.Contains(seen, name) || strings.HasPrefix(name, ".") {
			continue
		}
		seen = append(seen, name)
		dir := filepath.Join(root.dir, name)
		from, err := s.formulas.code.copyOf(root.code, root.below+name)
		x := shelved{Plugin: plugin.Plugin{Name: fleet.Line(name, 60), File: filepath.Join(dir, plugin.File)}, root: root, dir: dir}
		if err != nil {
			x.broken = fleet.Line(err.Error(), 500)
		} else if is, ok := s.read(ctx, root, dir, from); ok {
			x = is
			x.oneOf(first)
		}
		s.list = append(s.list, x)
	}
}

// oneOf refuses a name that another plugin has already.
func (x *shelved) oneOf(first map[string]string) {
	if other, taken := first[x.Name]; taken && x.Name != "" {
		x.refuse(fmt.Sprintf("name %q: %s has the same name, and is the one that is run", x.Name, fleet.Path(other)))
		return
	}
	first[x.Name] = x.File
}

func (x *shelved) refuse(text string) {
	x.problems = append(x.problems, plugin.Problem{File: x.File, Line: x.Line("name"), Severity: plugin.Error, Text: text})
	x.settle()
}

// settle says what keeps the plugin from being run.
func (x *shelved) settle() {
	var errs []string
	for _, p := range x.problems {
		if p.Severity == plugin.Error {
			p.File = fleet.Path(p.File)
			errs = append(errs, strings.Replace(p.String(), ": error: ", ": ", 1))
		}
	}
	x.broken = fleet.Line(strings.Join(errs, "; "), 500)
}

// foldersIn lists the folders in one, by name. A folder that is not there has none.
func foldersIn(dir string) (dirs []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			dirs = append(dirs, path)
		}
	}
	return dirs, err
}

// read reads the plugin of a folder; false when there is none in it. It is read and
// run from another one when it is a copy.
func (s *pluginShelf) read(ctx context.Context, root pluginRoot, home, dir string) (shelved, bool) {
	file := filepath.Join(dir, plugin.File)
	// The folder itself is none of them: a plugin may write into it.
	s.sources = append(s.sources, file, filepath.Join(dir, plugin.Script))
	text, err := config.ReadFile(file, plugin.MaxBytes+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return shelved{}, false
	case err != nil && strings.Contains(err.Error(), "larger than"):
		text = make([]byte, plugin.MaxBytes+1) // refused by its size
	case err != nil:
		return shelved{Plugin: plugin.Plugin{Name: filepath.Base(dir), File: file}, root: root, dir: dir, broken: fleet.Line(err.Error(), 300)}, true
	}
	x := s.parse(ctx, filepath.Join(home, plugin.File), text, folderOf(dir))
	x.root, x.home, x.dir = root, home, dir
	s.granted(&x)
	if others := writable(dir, file, filepath.Join(dir, plugin.Script)); others != "" {
		x.refuse(fmt.Sprintf("anybody may write to %s: chmod o-w it", fleet.Path(others)))
	}
	if x.broken == "" {
		x.schedule = s.scheduleOf(ctx, x, text)
	}
	return x, true
}

// granted refuses a plugin that asks for variables that custos.toml does not grant it.
func (s *pluginShelf) granted(x *shelved) {
	grant := strings.TrimPrefix(x.root.project+"/"+fleet.PluginFormula(x.Name), "/")
	for _, v := range s.formulas.missing(x.File, grant, x.Env) {
		x.problems = append(x.problems, plugin.Problem{File: x.File, Line: x.Line("env"), Severity: plugin.Error,
			Text: fmt.Sprintf("env: it asks for %s, which only custos.toml can grant: [grants] %q = [%q]", v, grant, v)})
	}
	x.settle()
}

// folderOf is what lies beside a plugin.md.
func folderOf(dir string) plugin.Folder {
	f := plugin.Folder{Name: filepath.Base(dir)}
	info, err := os.Stat(filepath.Join(dir, plugin.Script))
	f.Script = err == nil && info.Mode().IsRegular()
	f.Executable = f.Script && info.Mode()&0o111 != 0
	return f
}

// writable returns the first of the files that every user may write to.
func writable(files ...string) string {
	i := slices.IndexFunc(files, func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && info.Mode()&0o002 != 0 && info.Mode()&os.ModeSticky == 0
	})
	if i < 0 {
		return ""
	}
	return files[i]
}

// parse reads the text of a plugin.md, and says everything that is wrong.
func (s *pluginShelf) parse(_ context.Context, file string, text []byte, dir plugin.Folder) (x shelved) {
	x.Plugin, x.problems = plugin.Parse(file, text)
	if !plugin.Refused(x.problems) {
		var more []plugin.Problem
		x.Plugin, more = plugin.Check(x.Plugin, dir, pluginChecks(x.Plugin))
		x.problems = append(x.problems, more...)
	}
	if x.Name == "" {
		x.Name = fleet.Line(dir.Name, 60)
	}
	if w := x.Gate.When; w != "" && !plugin.Refused(x.problems) {
		x.when, _ = rules.CompileCondition(w) // checked
	}
	x.settle()
	return x
}

// pluginChecks is what package plugin must be told.
func pluginChecks(p plugin.Plugin) plugin.Checks {
	return plugin.Checks{
		Cron: func(expr, zone string) error { return unillegal(ledger.CheckCron(expr, zone)) },
		When: func(expr string) error { _, err := rules.CompileCondition(expr); return err },
		On:   func(on string) error { return checkEvent(on, p.Name) },
	}
}
