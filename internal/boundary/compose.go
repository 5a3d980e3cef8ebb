package boundary

import (
	"path/filepath"
	"slices"
)

// Places are what a boundary is made of. Paths are absolute, without links in them, and there.
type Places struct {
	Name, By, Missing, Network string
	Ports                      []int
	Memory, Procs              int64

	Dir     string   // where the agent works, if it is in no worktree
	Git     Git      // the worktree that it works in
	State   []string // where its CLI keeps what it writes
	Config  []string // settings of the CLI: read, and not written
	Read    []string // besides, as configured
	Write   []string // besides, as configured
	Caches  []string // names, of Caches
	Home    string
	Sockets []string
	Tmp     string
}

// Git are the folders of a worktree. Top is empty where there is none.
type Git struct {
	Top    string   // of the worktree
	Dir    string   // its own git folder
	Common string   // the repository's
	Extra  []string // files and folders in Dir or Common that are not to be written, where they are there
	Lock   bool     // of a linked worktree: files are made in Common, so that references can be removed
}

// System are the trees that programs need to run, where they are there. /etc is read whole:
// what other users may not read there the owners of the files say, as without a boundary.
var System = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/proc", "/sys", "/run/systemd/resolve"}

// Caches are folders below HOME that builds share, by the name of what fills them. Whoever
// writes one changes what others build with it.
var Caches = map[string][]string{
	"go":    {"go/pkg", ".cache/go-build"},
	"npm":   {".npm"},
	"pnpm":  {".local/share/pnpm", ".cache/pnpm"},
	"yarn":  {".cache/yarn", ".yarn"},
	"pip":   {".cache/pip"},
	"uv":    {".cache/uv"},
	"cargo": {".cargo/registry", ".cargo/git"},
	"maven": {".m2/repository"},
}

// Compose makes a boundary of places.
func Compose(p Places) Spec {
	s := Spec{V: Version, Name: p.Name, By: p.By, Missing: p.Missing, Network: p.Network, Ports: p.Ports, Sockets: p.Sockets, Tmp: p.Tmp, Memory: p.Memory, Procs: p.Procs}
	s.Read = slices.Concat(System, p.Read, p.Config)
	s.Write = slices.Concat(p.Write, p.State)
	s.Keep = slices.Clone(p.Config)
	for _, name := range p.Caches {
		for _, dir := range Caches[name] {
			s.Write = append(s.Write, filepath.Join(p.Home, dir))
		}
	}
	if p.Tmp != "" {
		s.Write = append(s.Write, p.Tmp)
	}
	s.git(p)
	s.Read, s.Write = tidy(s.Read), s.written()
	s.Read = slices.DeleteFunc(s.Read, func(path string) bool { return within(path, s.Write) })
	s.Keep = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(s.Keep))), func(path string) bool { return !within(path, s.Write) })
	return s
}

// git adds the worktree. Of a linked one, the repository's folder itself is not written: whoever
// makes files in it steers what git does for everybody, by its configuration, its hooks, or a file
// commondir that names others. So git cannot make packed-refs.lock, without which it removes no
// reference, unless that is asked for (Lock). A clone's own folder lies in its worktree, and git
// makes index.lock in it: there it is the same.
func (s *Spec) git(p Places) {
	g := p.Git
	if g.Top == "" {
		s.Write = append(s.Write, p.Dir)
		return
	}
	s.Write = append(s.Write, g.Top, g.Dir)
	s.Keep = append(s.Keep, g.Extra...)
	if g.Dir != g.Common {
		s.Plain = append(in(g.Common, "objects", "refs", "logs"), g.Dir, g.Common)
		s.Read = append(s.Read, g.Common)
		s.Write = append(s.Write, in(g.Common, "objects", "refs", "logs")...)
		s.Keep = append(s.Keep, filepath.Join(g.Top, ".git"))
		s.Keep = append(s.Keep, in(g.Dir, "commondir", "gitdir")...)
	}
	if g.Lock && g.Dir != g.Common {
		s.Write = append(s.Write, g.Common)
		s.Keep = append(s.Keep, in(g.Common, "HEAD", "worktrees")...)
	}
	if within(g.Common, s.Write) {
		s.Steers = g.Common
		s.Keep = append(s.Keep, in(g.Common, "hooks", "config", "info")...)
	}
}

// written are the trees that are written, without those that lie in another: but for what is
// written in something that is not.
func (s *Spec) written() []string {
	all := tidy(s.Write)
	for _, path := range s.Write {
		if within(path, s.Keep) {
			all = append(all, path)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

func in(dir string, names ...string) (all []string) {
	for _, name := range names {
		all = append(all, filepath.Join(dir, name))
	}
	return all
}
