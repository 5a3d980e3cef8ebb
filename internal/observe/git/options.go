package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"custos/internal/fleet"
	sysfiles "custos/internal/sys/files"
	sysgit "custos/internal/sys/git"
)

// Options of the probe; the tagged ones come from [git] of custos.toml. Repos,
// Worktrees and Pinned begin with / or ~/; what they name need not exist yet.
type Options struct {
	// Repos are repositories that may be mended: paths, globs, or folders whose
	// direct children are repositories.
	Repos []string `toml:"repos" is:"glob"`
	// Worktrees are globs of further places where worktrees lie that may be
	// mended: "/tmp/*-worktree-*". Their repositories are only viewed.
	Worktrees []string `toml:"worktrees" is:"glob"`
	// Primary is the primary branch of every repository; default: what the
	// remote calls HEAD, else init.defaultBranch, main or master.
	Primary string `toml:"primary" is:"name"`
	// Pinned are globs of repositories that must stay on their primary branch.
	Pinned []string `toml:"pinned" is:"glob"`
	// Crashed are patterns of files in a worktree's top folder that say that it
	// was preserved after a crash; .custos-crashed always is one.
	Crashed []string `toml:"crashed" is:"pattern"`
	// ForeignNamespace says whether processes that are not to be seen from here (of
	// another pid namespace) work in the worktrees, so that nobody can be told to be
	// out of them. Default: they may where we are in a pid namespace of our own, and
	// the folder is not on a file system made for it alone.
	ForeignNamespace *bool `toml:"foreign_namespace"`
	// Every is the time between two looks; default "1m".
	Every string `toml:"every" is:"duration 1ms.."`
	// Keep is how long costly answers are kept when nothing moved; default "10m".
	Keep string `toml:"keep" is:"duration 1ms.."`

	// Home is what ~/ stands for in Repos, Worktrees and Pinned; without it they
	// may not begin so.
	Home string `toml:"-"`
	// Discover returns folders where agents stand (raw); their repositories are
	// viewed as foreign.
	Discover func() []string `toml:"-"`
	// Worked returns folders (raw) that agents of ours are on record with, whether or not
	// they live; their repositories are viewed as foreign.
	Worked func() []string `toml:"-"`
	// Made returns the worktrees (raw paths) that Custos made for agents: they are its
	// own, whatever Repos and Worktrees say.
	Made func() []string `toml:"-"`
	// CrashedIn returns the worktrees (raw paths) that agents of ours crashed in, and since
	// when nobody comes back to each.
	CrashedIn func() map[string]time.Time `toml:"-"`
	// Standing returns where every process stands, and every tmux pane, dead
	// ones too. Without it nobody is known to be inside or not.
	Standing func(context.Context) ([]sysgit.CWD, error) `toml:"-"`
	// Holding returns who holds files open, runs or maps them. It is asked only where
	// nothing else says that a folder is in use, and at most once a look; without it
	// that is not known of such a folder.
	Holding func(context.Context) (*sysgit.Holders, error) `toml:"-"`
	// Outside says why processes that are not to be seen may be in a folder (raw); ""
	// when none can. Default: none can.
	Outside func(folder string) string `toml:"-"`
	// Git is the reader; default sysgit.New.
	Git *sysgit.Reader `toml:"-"`
	// Now is the clock that ages are told by; default time.Now.
	Now func() time.Time `toml:"-"`
	// LookFor bounds one look: what was not seen by then is unknown; default 9/10
	// of the Spec's deadline.
	LookFor time.Duration `toml:"-"`
	// PerWorktree bounds the look at one worktree; default 20 s.
	PerWorktree time.Duration `toml:"-"`
}

// expand checks the globs, and writes the places out in full.
func (o *Options) expand() error {
	var wrong []error
	refuse := func(key, text string, err error) {
		wrong = append(wrong, fmt.Errorf("cannot use %q in %s of [git]: %w", text, key, err))
	}
	for _, places := range []struct {
		key  string
		list *[]string
	}{{"repos", &o.Repos}, {"worktrees", &o.Worktrees}, {"pinned", &o.Pinned}} {
		full := make([]string, len(*places.list))
		for i, text := range *places.list {
			var err error
			if full[i], err = sysfiles.Expand(text, o.Home); err != nil {
				refuse(places.key, text, err)
			}
		}
		*places.list = full // a list of our own: the caller keeps its
	}
	for _, text := range o.Crashed {
		if _, err := filepath.Match(text, ""); err != nil {
			refuse("crashed", text, err)
		}
	}
	return errors.Join(wrong...)
}

func duration(name, s string, byDefault time.Duration) (time.Duration, error) {
	if s == "" {
		return byDefault, nil
	}
	d, err := fleet.ParseDuration(s)
	if err == nil && d <= 0 {
		err = errors.New("want more than 0")
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read %s of probe git: %w", name, err)
	}
	return d, nil
}
