// Package transcripts reads the files in which agent CLIs keep their conversations: of
// agents that live, what their conversation says now (Conversations), and of all, what
// each response used, for the ledger (Usage). It only reads, nothing but regular files in
// the folders that kinds name, and a piece of each at a time.
package transcripts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// mostFiles of one pattern are read; of several, files.Globs times as many.
const mostFiles = 20000

// Options is what is read, and how.
type Options struct {
	// Enabled reads transcripts. Default true.
	Enabled bool `toml:"enabled"`
	// Roots are more folders, by kind, in which its conversations are kept besides the one below
	// HOME: of other accounts, for example.
	Roots map[string][]string `toml:"roots" is:"path"`

	// Accounts are those that have a section: whose a conversation is says the folder it lies in.
	Accounts fleet.Accounts `toml:"-"`
	// Kinds are the kinds whose transcripts are read; needed.
	Kinds *agent.Kinds `toml:"-"`
	// Home is where a kind's folder lies; empty for nowhere.
	Home string `toml:"-"`
	// Getenv is the environment of Custos itself; nil for none.
	Getenv func(string) string `toml:"-"`
	// Now is the clock; needed.
	Now func() fleet.Instant `toml:"-"`
}

// file is a transcript that was found.
type file struct {
	kind, language, path string
	folder               string // see agent.TranscriptMark
	account              string // whose it is, by the folder it lies in; "" for nobody's
	info                 files.Info
}

// same says whether nothing was written since.
func (f file) same(o file) bool { return f.info.Identity == o.info.Identity }

// finder lists transcripts.
type finder struct {
	o         Options
	followers map[place]*files.Follower
	// passed is told of a link that is not followed, behind which conversations may lie that nothing
	// else leads to; nil for nobody.
	passed func(kind, path string)
}

// place is one folder of a kind.
type place struct{ kind, root string }

func newFinder(o Options) (*finder, error) {
	if o.Kinds == nil || o.Now == nil {
		return nil, errors.New("cannot read transcripts: Kinds and Now are needed")
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Roots)) {
		k, ok := o.Kinds.Get(kind)
		if !ok || k.Transcripts.Language == "" {
			return nil, fmt.Errorf("cannot use transcripts roots.%s: of this kind no conversations are known to be kept", kind)
		}
		for _, root := range o.Roots[kind] {
			if _, err := files.Expand(root, o.Home); err != nil {
				return nil, fmt.Errorf("cannot use transcripts roots.%s: %q: %w", kind, root, err)
			}
		}
	}
	return &finder{o: o, followers: map[place]*files.Follower{}}, nil
}

// roots are the folders of a kind.
func (f *finder) roots(k agent.Kind, more []string) (roots []string) {
	m := k.Transcripts
	if f.o.Home != "" {
		roots = append(roots, filepath.Join(f.o.Home, m.Home))
	}
	if f.o.Getenv != nil && m.Env != "" {
		more = append(slices.Clip(more), m.Named(f.o.Getenv(m.Env)))
	}
	for _, root := range append(slices.Clip(more), f.o.Roots[k.Name]...) {
		if full, err := files.Expand(root, f.o.Home); err == nil {
			roots = append(roots, full)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// find lists the transcripts of a kind. The error names what could not be listed; what was
// found is returned with it.
func (f *finder) find(ctx context.Context, k agent.Kind, more ...string) (found []file, err error) {
	return f.below(ctx, k, nil, more)
}

// below lists those that lie below some folders; nil: all.
func (f *finder) below(ctx context.Context, k agent.Kind, folders, more []string) (found []file, err error) {
	if !f.o.Enabled || k.Disabled || k.Transcripts.Language == "" {
		return nil, nil
	}
	var errs []error
	for _, root := range f.roots(k, more) {
		follower, err := f.follower(place{k.Name, root}, k.Transcripts.Files)
		if err != nil {
			return nil, err
		}
		paths, links, cut, err := follower.FindAll(ctx)
		if errs = append(errs, err); cut != "" {
			errs = append(errs, fmt.Errorf("there are more transcripts than are read: %s", cut))
		}
		f.pass(k.Name, root, links)
		for _, path := range paths {
			if folders != nil && !slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(path, dir+"/") }) {
				continue
			}
			if info, err := files.Lstat(path); err == nil {
				found = append(found, f.file(k, path, info))
			} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, files.ErrNotRegular) {
				errs = append(errs, err)
			}
		}
	}
	return found, errors.Join(errs...)
}

// pass tells of links that lead out of a folder: what lies in it is read by its own name.
func (f *finder) pass(kind, root string, links []string) {
	if f.passed == nil || len(links) == 0 {
		return
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return // it is not there any more
	}
	for _, link := range links {
		if to, err := filepath.EvalSymlinks(link); err == nil && !strings.HasPrefix(to, real+"/") {
			f.passed(kind, link)
		}
	}
}

func (f *finder) file(k agent.Kind, path string, info files.Info) file {
	return file{k.Name, k.Transcripts.Language, path, k.Transcripts.Folder, k.AccountOf(f.o.Accounts, f.o.Home, path), info}
}

func (f *finder) follower(p place, globs []string) (*files.Follower, error) {
	if known, ok := f.followers[p]; ok {
		return known, nil
	}
	var full []string
	for _, g := range globs {
		full = append(full, filepath.Join(literal.Replace(p.root), g))
	}
	patterns, err := files.CompileAll(full, "")
	if err != nil {
		return nil, fmt.Errorf("cannot look for transcripts of %s: %w", p.kind, err)
	}
	f.followers[p] = files.Follow(patterns, mostFiles)
	return f.followers[p], nil
}

// literal makes a glob of a path that means just itself.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// all lists the transcripts of all kinds, the ones written last first: those below some
// folders; nil: all.
func (f *finder) all(ctx context.Context, folders []string) (found []file, err error) {
	var errs []error
	for _, k := range f.o.Kinds.All() {
		some, err := f.below(ctx, k, folders, nil)
		found, errs = append(found, some...), append(errs, err)
	}
	slices.SortFunc(found, func(a, b file) int {
		return cmp.Or(cmp.Compare(b.info.MTime, a.info.MTime), cmp.Compare(a.path, b.path))
	})
	return found, errors.Join(errs...)
}
