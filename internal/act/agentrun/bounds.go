package agentrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/boundary"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/git"
	"custos/internal/sys/shim"
)

// Bounds is a section [boundary.NAME] of custos.toml, checked; its paths are absolute.
type Bounds struct {
	Name, By, Missing, Network string
	Roles                      []string // whose agents it is for
	Read, Write, Sockets       []string
	Caches                     []string
	Ports                      []int
	LockRefs                   bool
	MemoryMax, Processes       int64 // bytes, and how many; 0: no cap
}

// boundsOf is what an agent is kept within: what names its role, or else what is for all.
func (l *Launcher) boundsOf(role string) (Bounds, bool) {
	for _, b := range l.o.Bounds {
		if role != "" && slices.Contains(b.Roles, role) {
			return b, true
		}
	}
	for _, b := range l.o.Bounds {
		if b.Name == l.o.Boundary && b.Name != "" {
			return b, true
		}
	}
	return Bounds{}, false
}

// bound writes the boundary of a start down, as what it is made of is found now.
func (l *Launcher) bound(b *Begin) error {
	if _, err := shim.ReadClaim(b.Launch.Shim); b.Bounds == nil || err == nil { // or it was started before
		return nil
	}
	spec, err := l.spec(*b)
	if err == nil {
		b.Launch.Boundary, err = spec.Text()
	}
	if err != nil {
		return fmt.Errorf("cannot keep the agent within boundary %q: %w", b.Bounds.Name, err)
	}
	return nil
}

func (l *Launcher) spec(b Begin) (boundary.Spec, error) {
	bounds, home := *b.Bounds, variable(b.Launch.Env, "HOME")
	p := boundary.Places{Name: bounds.Name, By: bounds.By, Missing: bounds.Missing, Network: bounds.Network, Ports: bounds.Ports, Memory: bounds.MemoryMax, Procs: bounds.Processes,
		Read: bounds.Read, Write: bounds.Write, Caches: bounds.Caches, Home: home, Tmp: filepath.Join(os.TempDir(), "custos-"+b.Launch.Instance)}
	if !filepath.IsAbs(home) {
		return boundary.Spec{}, errors.New("the agent has no home folder")
	}
	p.Sockets = slices.Clone(bounds.Sockets)
	if l.o.HookSocket != "" {
		p.Sockets = append(p.Sockets, l.o.HookSocket)
	}
	p.State, p.Config = ownOf(b, home)
	p.Read = slices.Concat(p.Read, l.programs(b, home), []string{filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git")})
	for path := range b.Files {
		p.Read = append(p.Read, path)
	}
	if b.Grants != "" {
		p.Read = append(p.Read, b.Grants)
	}
	var err error
	if p.Git, p.Dir, err = treeOf(b.Launch.Dir); err != nil {
		return boundary.Spec{}, err
	}
	p.Git.Lock = bounds.LockRefs
	s := boundary.Compose(real(p))
	return s, l.spares(s)
}

// spares refuses a boundary in which Custos's own files lie: whoever writes them is kept by nothing.
func (l *Launcher) spares(s boundary.Spec) error {
	for _, mine := range append([]string{l.Shims, l.o.Run}, l.o.Spared...) {
		if mine == "" {
			continue
		}
		if at, err := filepath.EvalSymlinks(mine); err == nil {
			mine = at
		}
		for _, tree := range slices.Concat(s.Read, s.Write) {
			if boundary.Inside(mine, tree) {
				return fmt.Errorf("it holds %s, in which Custos's own files lie (%s): name smaller trees", fleet.Path(tree), fleet.Path(mine))
			}
		}
	}
	return nil
}

// ownOf is what the CLI keeps for itself: the folder that it was given, or the one that it uses
// by itself, and the settings in which hooks are installed, which are not the agent's to change.
func ownOf(b Begin, home string) (state, config []string) {
	k := b.kind
	settings := k.Hooks.Settings
	switch {
	case b.ConfigDir != "":
		dir := k.Transcripts.Named(fleet.RawPath(b.ConfigDir))
		state = append(state, dir)
		if settings != "" {
			config = append(config, filepath.Join(dir, filepath.Base(settings)))
		}
		return state, config
	case k.Transcripts.Home != "":
		state = append(state, filepath.Join(home, k.Transcripts.Home))
	}
	for _, path := range k.Writes {
		state = append(state, filepath.Join(home, path))
	}
	if settings != "" {
		config = append(config, filepath.Join(home, settings))
	}
	return state, config
}

// programs are the folders of the programs that the agent runs, besides those of the system: of
// its PATH, of its CLI, and of Custos's hook.
func (l *Launcher) programs(b Begin, home string) (dirs []string) {
	for _, path := range []string{l.o.Hook, l.o.Program} {
		if path != "" {
			dirs = append(dirs, path)
		}
	}
	path := filepath.SplitList(variable(b.Launch.Env, "PATH"))
	dirs = append(dirs, slices.DeleteFunc(slices.Clone(path), func(dir string) bool { return !filepath.IsAbs(dir) || dir == home || dir == "/" })...)
	name := b.Launch.Argv[0]
	for _, dir := range path {
		if strings.Contains(name, "/") {
			break
		}
		if at := filepath.Join(dir, name); isProgram(at) {
			name = at
		}
	}
	if at, err := filepath.EvalSymlinks(name); err == nil && filepath.IsAbs(at) {
		dirs = append(dirs, packageOf(at))
	}
	return dirs
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// packageOf is what belongs to a program: the modules that it lies among, or itself.
func packageOf(path string) string {
	if at := strings.Index(path, "/node_modules/"); at >= 0 {
		return path[:at] + "/node_modules"
	}
	return path
}

// treeOf is the worktree that a folder lies in. What a .git names is the agent's to write, so it counts
// only where the repository itself says that this is its worktree.
func treeOf(dir string) (boundary.Git, string, error) {
	place, err := git.Find(dir)
	if errors.Is(err, git.ErrNotRepository) || err == nil && place.Bare {
		return boundary.Git{}, dir, nil
	}
	if err != nil {
		return boundary.Git{}, dir, err
	}
	g := boundary.Git{Top: place.Top, Dir: place.GitDir, Common: place.Common}
	for _, path := range []*string{&g.Top, &g.Dir, &g.Common} {
		if *path, err = filepath.EvalSymlinks(*path); err != nil {
			return g, dir, err
		}
	}
	own := g.Dir == filepath.Join(g.Top, ".git") && g.Common == g.Dir
	if !own {
		admin, err := git.AdminDir(place.Common, place.Top)
		if err != nil || admin != place.GitDir || filepath.Dir(g.Dir) != filepath.Join(g.Common, "worktrees") {
			return g, dir, fmt.Errorf("the .git of %s names %s, which is no worktree of a repository that says so", fleet.Path(g.Top), fleet.Path(g.Dir))
		}
	}
	if text, err := files.Read(filepath.Join(g.Common, "config"), 1<<20); err == nil && strings.Contains(strings.ToLower(string(text)), "worktreeconfig") {
		g.Extra = append(g.Extra, filepath.Join(g.Dir, "config.worktree"))
	}
	return g, dir, nil
}

// real are places past all links; what is not there is no place. Of Config the folders are, for a
// setting that is a link, or is not there, is not kept, which the shim says.
func real(p boundary.Places) boundary.Places {
	for name, dirs := range boundary.Caches {
		if slices.Contains(p.Caches, name) {
			for _, dir := range dirs {
				p.Write = append(p.Write, filepath.Join(p.Home, dir))
			}
		}
	}
	p.Caches = nil
	for _, list := range []*[]string{&p.Read, &p.Write, &p.State, &p.Sockets} {
		*list = there(*list)
	}
	for i, path := range p.Config {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			p.Config[i] = filepath.Join(dir, filepath.Base(path))
		}
	}
	if dir, err := filepath.EvalSymlinks(p.Dir); err == nil {
		p.Dir = dir
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(p.Tmp)); err == nil {
		p.Tmp = filepath.Join(dir, filepath.Base(p.Tmp))
	}
	return p
}

func there(paths []string) (out []string) {
	for _, path := range paths {
		if at, err := filepath.EvalSymlinks(path); err == nil {
			out = append(out, at)
		}
	}
	return out
}

func variable(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// held is what the record of a start says of its boundary.
func held(b *shim.Boundary) *fleet.Boundary {
	if b == nil {
		return nil
	}
	lines := func(list []string) (out []string) {
		for _, s := range list {
			out = append(out, fleet.Line(s, 300))
		}
		return out
	}
	return &fleet.Boundary{Name: fleet.Line(b.Name, 64), By: fleet.Line(b.By, 20), Landlock: b.ABI, Open: lines(b.Open), Never: lines(b.Never)}
}
