package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/fleet"
	sysfiles "custos/internal/sys/files"
	sysgit "custos/internal/sys/git"
)

// seed is a repository to look at, and who may touch what in it.
type seed struct {
	place     sysgit.Place // of the main worktree
	owner     fleet.Owner
	worktrees map[string]bool // tops of linked worktrees that were configured by a glob of their own
	made      map[string]bool // tops of linked worktrees that Custos made
	err       error           // why it cannot be looked at
}

func (f seed) ownerOf(top string) fleet.Owner {
	switch {
	case f.made[top]:
		return fleet.OwnerCustos
	case f.worktrees[top]:
		return fleet.OwnerConfigured
	}
	return f.owner
}

// discovery collects seeds, each repository once.
type discovery struct {
	seeds map[string]*seed // by common folder, or by path for what is broken
}

// discover finds the repositories to look at, sorted; agents are the folders
// that agents stand in. Cut says which globs match more than is looked at.
func (p *Probe) discover(agents []string) (found []seed, cut string, err error) {
	d := &discovery{seeds: map[string]*seed{}}
	patterns := slices.Concat(p.o.Repos, p.o.Worktrees)
	matches, cut, err := p.follow(patterns)
	for i, pattern := range patterns {
		for _, m := range matches[i] {
			if i < len(p.o.Repos) {
				d.repository(m, pattern == m)
			} else {
				d.worktree(m)
			}
		}
	}
	slices.Sort(agents)
	for _, cwd := range slices.Compact(agents) {
		d.foreign(cwd)
	}
	if p.o.Worked != nil {
		for _, dir := range p.o.Worked() {
			d.foreign(dir)
		}
	}
	if p.o.Made != nil {
		for _, path := range p.o.Made() {
			d.ours(path)
		}
	}
	return d.list(), cut, err
}

func (d *discovery) list() []seed {
	var list []seed
	for _, s := range d.seeds {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b seed) int { return strings.Compare(a.place.Common, b.place.Common) })
	return list
}

// follow returns what each pattern matches: at most maxMatches, and of all together
// maxTotal, so that none hides what another finds; the same ones at each look.
func (p *Probe) follow(patterns []string) (matches [][]string, cut string, err error) {
	var errs []error
	found := make([]sysfiles.Found, len(patterns))
	for i, pattern := range patterns {
		all, err := sysfiles.Glob(pattern)
		// Files lie beside the folders that were meant.
		all = slices.DeleteFunc(all, func(m string) bool { return pattern != m && isFile(m) })
		all = sysfiles.InOrder(all, p.choice.Before(pattern))
		found[i] = sysfiles.Found{Paths: all[:min(len(all), maxMatches)], Total: len(all)}
		errs = append(errs, err)
	}
	matches, cut = p.choice.Of(patterns, found, maxTotal)
	return matches, cut, errors.Join(errs...)
}

// isFile says whether a path is seen to be no folder.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// repository adds a configured repository, or those directly in a folder. One
// that was named without wildcards is missed when it is not there.
func (d *discovery) repository(path string, named bool) {
	p, err := at(path)
	if errors.Is(err, sysgit.ErrNotRepository) {
		found := false
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			if child, err := at(filepath.Join(path, e.Name())); err == nil && e.IsDir() {
				d.own(child)
				found = true
			}
		}
		if found || !named {
			return
		}
	}
	if err != nil {
		d.broken(path, fleet.OwnerConfigured, err)
		return
	}
	d.own(p)
}

// at reads the worktree at path, whatever links lead there.
func at(path string) (sysgit.Place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return sysgit.Place{}, err
	}
	return sysgit.At(real)
}

func (d *discovery) own(p sysgit.Place) { d.add(p).owner = fleet.OwnerConfigured }

// worktree adds a configured worktree; only itself is configured, unless it is
// a whole repository.
func (d *discovery) worktree(path string) {
	p, err := at(path)
	switch {
	case errors.Is(err, sysgit.ErrNotRepository), errors.Is(err, os.ErrNotExist):
	case err != nil:
		d.broken(path, fleet.OwnerConfigured, err)
	case p.Linked():
		d.add(p).worktrees[p.Top] = true
	default:
		d.own(p)
	}
}

// ours adds a worktree that Custos made, while it is there.
func (d *discovery) ours(path string) {
	if p, err := at(path); err == nil && p.Linked() {
		d.add(p).made[p.Top] = true
	}
}

func (d *discovery) foreign(cwd string) {
	p, err := sysgit.Find(cwd)
	if err == nil {
		d.add(p)
	}
}

func (d *discovery) add(p sysgit.Place) *seed {
	s := d.seeds[p.Common]
	if s == nil {
		main := sysgit.Place{Top: p.Main(), GitDir: p.Common, Common: p.Common, Bare: p.Main() == p.Common}
		s = &seed{place: main, owner: fleet.OwnerForeign, worktrees: map[string]bool{}, made: map[string]bool{}}
		d.seeds[p.Common] = s
	}
	return s
}

func (d *discovery) broken(path string, owner fleet.Owner, err error) {
	d.seeds[path] = &seed{place: sysgit.Place{Top: path, Common: path}, owner: owner, err: err}
}
