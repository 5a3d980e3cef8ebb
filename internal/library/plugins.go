package library

import (
	"cmp"
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
	"custos/internal/ledger/cron"
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

// Plugins are the plugins there are. They are read when they are first asked
// for, and again when one of their files or folders changed. Nothing of a plugin
// that is only read is run.
type Plugins struct {
	formulas *Formulas
	roots    []pluginRoot
	repeat   time.Duration // of a condition that goes on to hold
	warn     func(msg string, args ...any)

	mu   sync.Mutex
	list []Plugin
	followed
}

// Plugin is one as far as it could be read.
type Plugin struct {
	plugin.Plugin
	Dir      string // where it is run from, raw: home, or a copy of what is trusted of it
	Problems []plugin.Problem
	Schedule Schedule // with the run that it begins; without a way to be due when only people begin it
	Broken   string
	root     pluginRoot
	home     string // where it is kept, raw
}

// Project is the one it belongs to, as it is named; "" for none.
func (x Plugin) Project() string { return x.root.project }

// newPlugins reads the section.
func newPlugins(cfg config.Config, b *Formulas, warn func(string, ...any)) (*Plugins, error) {
	s := &Plugins{formulas: b, repeat: cfg.PatrolEvery, warn: warn}
	var given pluginSettings
	if err := cfg.Section("plugins", &given); err != nil {
		return nil, err
	}
	for _, dir := range given.Dirs {
		if err := expand(cfg, "plugins", "dirs", &dir); err != nil {
			return nil, err
		}
		s.roots = append(s.roots, pluginRoot{dir: dir})
	}
	s.roots = append(s.roots, pluginRoot{dir: filepath.Join(filepath.Dir(cfg.File), "plugins")})
	for _, name := range given.Projects {
		dir, err := b.project(name)
		if err != nil {
			return nil, mistake(cfg, "plugins", "projects", err)
		}
		s.roots = append(s.roots, pluginRoot{filepath.Join(dir, codeFolder, "plugins"), name, dir, b.code.ofProject(dir, name), "plugins/"})
	}
	return s, nil
}

// All returns the plugins in the order in which they are run. The list is not to
// be changed.
func (s *Plugins) All(ctx context.Context) []Plugin {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reread(s.formulas.code.version, func() { s.load(ctx) })
	return s.list
}

// load reads every plugin. Of two that have one name the first one is run.
func (s *Plugins) load(ctx context.Context) {
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
			s.list = append(s.list, Plugin{Plugin: plugin.Plugin{Name: fleet.Path(root.dir), File: root.dir}, root: root, Broken: fleet.Line(err.Error(), 300)})
		}
		for _, dir := range dirs {
			if x, ok := s.read(ctx, root, dir, dir); ok {
				x.oneOf(first)
				s.list = append(s.list, x)
			}
		}
	}
	for _, x := range s.list {
		if x.Broken != "" {
			s.warn("A plugin cannot be run", "plugin", x.Name, "why", x.Broken)
		}
	}
}

// loadCode reads the plugins of a folder that agents may write to: from copies of
// what is trusted. What is not is in the list, and says why.
func (s *Plugins) loadCode(ctx context.Context, root pluginRoot, first map[string]string) {
	var seen []string
	for _, file := range s.formulas.code.names(root.code, root.below) {
		name, rest, _ := strings.Cut(file, "/")
		if rest != plugin.File || slices.Contains(seen, name) || strings.HasPrefix(name, ".") {
			continue
		}
		seen = append(seen, name)
		dir := filepath.Join(root.dir, name)
		from, err := s.formulas.code.copyOf(root.code, root.below+name)
		x := Plugin{Plugin: plugin.Plugin{Name: fleet.Line(name, 60), File: filepath.Join(dir, plugin.File)}, root: root, Dir: dir}
		if err != nil {
			x.Broken = fleet.Line(err.Error(), 500)
		} else if is, ok := s.read(ctx, root, dir, from); ok {
			x = is
			x.oneOf(first)
		}
		s.list = append(s.list, x)
	}
}

// oneOf refuses a name that another plugin has already.
func (x *Plugin) oneOf(first map[string]string) {
	if other, taken := first[x.Name]; taken && x.Name != "" {
		x.refuse(fmt.Sprintf("name %q: %s has the same name, and is the one that is run", x.Name, fleet.Path(other)))
		return
	}
	first[x.Name] = x.File
}

func (x *Plugin) refuse(text string) {
	x.Problems = append(x.Problems, plugin.Problem{File: x.File, Line: x.Line("name"), Severity: plugin.Error, Text: text})
	x.settle()
}

// settle says what keeps the plugin from being run.
func (x *Plugin) settle() {
	var errs []string
	for _, p := range x.Problems {
		if p.Severity == plugin.Error {
			p.File = fleet.Path(p.File)
			errs = append(errs, strings.Replace(p.String(), ": error: ", ": ", 1))
		}
	}
	x.Broken = fleet.Line(strings.Join(errs, "; "), 500)
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
func (s *Plugins) read(ctx context.Context, root pluginRoot, home, dir string) (Plugin, bool) {
	file := filepath.Join(dir, plugin.File)
	// The folder itself is none of them: a plugin may write into it.
	s.sources = append(s.sources, file, filepath.Join(dir, plugin.Script))
	text, err := config.ReadFile(file, plugin.MaxBytes+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Plugin{}, false
	case err != nil && strings.Contains(err.Error(), "larger than"):
		text = make([]byte, plugin.MaxBytes+1) // refused by its size
	case err != nil:
		return Plugin{Plugin: plugin.Plugin{Name: filepath.Base(dir), File: file}, root: root, Dir: dir, Broken: fleet.Line(err.Error(), 300)}, true
	}
	x := s.parse(filepath.Join(home, plugin.File), text, folderOf(dir))
	x.root, x.home, x.Dir = root, home, dir
	s.granted(&x)
	if others := writable(dir, file, filepath.Join(dir, plugin.Script)); others != "" {
		x.refuse(fmt.Sprintf("anybody may write to %s: chmod o-w it", fleet.Path(others)))
	}
	if x.Broken == "" {
		x.Schedule = s.scheduleOf(ctx, x, text)
	}
	return x, true
}

// granted refuses a plugin that asks for variables that custos.toml does not grant it.
func (s *Plugins) granted(x *Plugin) {
	grant := strings.TrimPrefix(x.root.project+"/"+fleet.PluginFormula(x.Name), "/")
	for _, v := range s.formulas.missing(x.File, grant, x.Env) {
		x.Problems = append(x.Problems, plugin.Problem{File: x.File, Line: x.Line("env"), Severity: plugin.Error,
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
func (s *Plugins) parse(file string, text []byte, dir plugin.Folder) (x Plugin) {
	x.Plugin, x.Problems = plugin.Parse(file, text)
	if !plugin.Refused(x.Problems) {
		var more []plugin.Problem
		x.Plugin, more = plugin.Check(x.Plugin, dir, pluginChecks(x.Plugin))
		x.Problems = append(x.Problems, more...)
	}
	if x.Name == "" {
		x.Name = fleet.Line(dir.Name, 60)
	}
	x.settle()
	return x
}

// pluginChecks is what package plugin must be told.
func pluginChecks(p plugin.Plugin) plugin.Checks {
	return plugin.Checks{
		Cron: func(expr, zone string) error { return cron.Check(expr, zone) },
		When: func(expr string) error { _, err := rules.CompileCondition(expr); return err },
		On:   func(on string) error { return checkEvent(on, p.Name) },
	}
}

// Lint reads the text of a plugin.md that may lie anywhere.
func (s *Plugins) Lint(ctx context.Context, file string, text []byte, folder plugin.Folder) Plugin {
	x := s.parse(file, text, folder)
	x.home, x.Dir = filepath.Dir(file), filepath.Dir(file)
	if x.Broken == "" {
		x.Schedule = s.scheduleOf(ctx, x, text)
	}
	return x
}

// timed lists when plugins are run, of those that are by themselves.
func (s *Plugins) timed(ctx context.Context) (list []Schedule) {
	for _, x := range s.All(ctx) {
		if x.Broken == "" && x.Gate.Type != plugin.Manual {
			list = append(list, x.Schedule)
		}
	}
	return list
}

// Policy is what plugins may run by themselves now.
func (s *Plugins) Policy(ctx context.Context, snap *fleet.Snapshot) fleet.RunPolicy {
	return s.formulas.policy(s.timed(ctx), snap)
}

// RestsOn lists the parts that tell whether gates are open.
func (s *Plugins) RestsOn(ctx context.Context) []fleet.PartName { return restsOn(s.timed(ctx)) }

// Checks lists the commands that tell whether gates are open.
func (s *Plugins) Checks(ctx context.Context) (list []fleet.PluginCheck) {
	for _, x := range s.All(ctx) {
		if x.Broken != "" || len(x.Gate.Check) == 0 || s.Disabled(x) != "" {
			continue
		}
		timeout := cmp.Or(x.Gate.Timeout, plugin.CheckTimeout)
		list = append(list, fleet.PluginCheck{Formula: x.Schedule.Name, Argv: x.Schedule.Check, Dir: x.Dir, Env: x.Env, Timeout: fleet.Duration(timeout)})
	}
	return list
}

// Disabled says why a plugin is not run; "" when it is.
func (s *Plugins) Disabled(x Plugin) string {
	if x.Plugin.Disabled {
		return "its " + plugin.File + " says disabled"
	}
	return s.formulas.Disabled(fleet.PluginFormula(x.Name))
}
