package gittest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Hostile is a way in which a repository asks whoever looks at it to run a program.
// Each program makes the file canary, so that its being there is the proof.
type Hostile struct {
	Name string
	// Set prepares the repository and its linked worktree top.
	Set func(r *Repo, top, canary string)
	// Hides says that a file of the worktree was changed in a way that only the
	// repository's own program could judge.
	Hides bool
}

// touch is a shell command that makes the canary.
func touch(canary string) string { return fmt.Sprintf("touch '%s'; cat", canary) }

// filtered makes a.txt pass a filter, and be on disk other than in the index.
func filtered(attributes string, set func(r *Repo, canary string)) func(r *Repo, top, canary string) {
	return func(r *Repo, top, canary string) {
		for _, at := range []string{r.Top, top} {
			r.Write(filepath.Join(at, ".gitattributes"), attributes)
			r.Git(at, "add", ".gitattributes")
			r.Git(at, "commit", "-q", "-m", "attributes")
		}
		set(r, canary)
		for _, at := range []string{r.Top, top} {
			r.Write(filepath.Join(at, "a.txt"), "what is on disk, and is stored otherwise\n")
		}
	}
}

// setting is a configured program; every look could meet it.
func setting(keys ...string) func(r *Repo, top, canary string) {
	return func(r *Repo, top, canary string) {
		for _, key := range keys {
			r.Git(r.Top, "config", key, touch(canary))
		}
		r.Write(filepath.Join(r.Top, "a.txt"), "9\n")
		r.Write(filepath.Join(top, "a.txt"), "9\n")
	}
}

// HostileRepos is the corpus.
func HostileRepos() []Hostile {
	return append(hostileFilters(), hostileSettings()...)
}

func hostileFilters() []Hostile {
	all := "a.txt filter=evil diff=evil merge=evil\n"
	config := func(keys ...string) func(r *Repo, canary string) {
		return func(r *Repo, canary string) {
			for _, key := range keys {
				r.Git(r.Top, "config", key, touch(canary))
			}
		}
	}
	return []Hostile{
		{Name: "clean filter", Hides: true, Set: filtered(all, config("filter.evil.clean"))},
		{Name: "smudge filter", Set: filtered(all, config("filter.evil.smudge"))},
		{Name: "process filter", Hides: true, Set: filtered(all, config("filter.evil.process"))},
		{Name: "required filter", Hides: true, Set: filtered(all, func(r *Repo, canary string) {
			config("filter.evil.clean", "filter.evil.smudge")(r, canary)
			r.Git(r.Top, "config", "filter.evil.required", "true")
		})},
		{Name: "filter with dots and a space in its name", Hides: true, Set: filtered("a.txt filter=e.v=il\n", config("filter.e.v=il.clean"))},
		{Name: "textconv and external diff", Set: filtered(all, config("diff.evil.textconv", "diff.evil.command", "diff.external"))},
		{Name: "merge driver", Set: filtered(all, config("merge.evil.driver"))},
		{Name: "attributes of the git folder", Hides: true, Set: filtered("", func(r *Repo, canary string) {
			config("filter.evil.clean")(r, canary)
			r.Write(filepath.Join(r.Top, ".git/info/attributes"), "a.txt filter=evil\n")
		})},
		{Name: "included configuration", Hides: true, Set: filtered(all, func(r *Repo, canary string) {
			r.Write("included", fmt.Sprintf("[filter \"evil\"]\n\tclean = \"%s\"\n", touch(canary)))
			r.Git(r.Top, "config", "include.path", r.Dir+"/included")
		})},
		{Name: "configuration of the worktree", Hides: true, Set: func(r *Repo, top, canary string) {
			filtered(all, func(r *Repo, canary string) {
				r.Git(r.Top, "config", "extensions.worktreeConfig", "true")
				r.Git(top, "config", "--worktree", "filter.evil.clean", touch(canary))
			})(r, top, canary)
		}},
	}
}

func hostileSettings() []Hostile {
	return []Hostile{
		{Name: "file system monitor", Set: setting("core.fsmonitor")},
		{Name: "pager and editors", Set: setting("core.pager", "pager.log", "pager.status", "core.editor", "sequence.editor")},
		{Name: "credential helper", Set: setting("credential.helper", "core.askPass")},
		{Name: "gpg program", Set: func(r *Repo, top, canary string) {
			setting("gpg.program", "gpg.ssh.program", "gpg.x509.program")(r, top, canary)
			r.Git(r.Top, "config", "commit.gpgSign", "true")
			r.Git(r.Top, "config", "log.showSignature", "true")
		}},
		{Name: "alias", Set: func(r *Repo, top, canary string) {
			for _, name := range []string{"status", "log", "config", "rev-parse", "worktree", "ls-files"} {
				r.Git(r.Top, "config", "alias."+name, "!"+touch(canary))
			}
		}},
		{Name: "hooks of the repository", Set: func(r *Repo, top, canary string) { r.hooks(filepath.Join(r.Top, ".git/hooks"), canary) }},
		{Name: "hooks elsewhere", Set: func(r *Repo, top, canary string) {
			r.hooks(filepath.Join(r.Dir, "hooks"), canary)
			r.Git(r.Top, "config", "core.hooksPath", filepath.Join(r.Dir, "hooks"))
		}},
		{Name: "promised objects", Set: promised},
		{Name: "submodule", Set: submodule},
		{Name: "a worktree that says it is elsewhere", Set: func(r *Repo, top, canary string) {
			filtered("a.txt filter=evil\n", func(r *Repo, canary string) {
				r.Git(r.Top, "config", "filter.evil.clean", touch(canary))
			})(r, top, canary)
			r.Git(r.Top, "config", "core.worktree", top)
		}, Hides: true},
	}
}

// hooks puts every hook that git knows into a folder.
func (r *Repo) hooks(dir, canary string) {
	for _, name := range []string{"post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman",
		"pre-auto-gc", "post-rewrite", "pre-rebase", "post-commit", "pre-commit", "post-merge"} {
		r.Write(filepath.Join(dir, name), "#!/bin/sh\ntouch '"+canary+"'\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			r.T.Fatal(err)
		}
	}
}

// promised makes a repository some of whose objects have to be fetched, by a
// program, from a remote that promised them.
func promised(r *Repo, top, canary string) {
	r.Commit(top, "b", "b\n")
	tree := r.Git(top, "rev-parse", "HEAD^{tree}")
	if err := os.Remove(filepath.Join(r.Top, ".git/objects", tree[:2], tree[2:])); err != nil {
		r.T.Fatal(err)
	}
	r.Git(r.Top, "config", "core.repositoryFormatVersion", "1")
	r.Git(r.Top, "config", "extensions.partialClone", "origin")
	r.Git(r.Top, "config", "remote.origin.promisor", "true")
	r.Git(r.Top, "config", "remote.origin.url", "ext::sh -c touch% '"+canary+"'")
	r.Git(r.Top, "config", "remote.origin.uploadpack", touch(canary))
	r.Git(r.Top, "config", "protocol.ext.allow", "always")
	r.Git(r.Top, "config", "core.sshCommand", touch(canary))
}

// submodule makes a submodule whose own configuration has a filter.
func submodule(r *Repo, top, canary string) {
	r.Git(top, "submodule", "add", "-q", r.Dir+"/origin.git", "mod")
	r.Git(top, "commit", "-q", "-m", "mod")
	mod := filepath.Join(top, "mod")
	r.Write(filepath.Join(mod, ".gitattributes"), "a.txt filter=evil\n")
	r.Git(mod, "add", ".")
	r.Git(mod, "commit", "-q", "-m", "attributes")
	r.Git(top, "commit", "-q", "-a", "-m", "mod")
	r.Git(mod, "config", "filter.evil.clean", touch(canary))
	r.Git(mod, "config", "core.fsmonitor", touch(canary))
	r.Write(filepath.Join(mod, "a.txt"), "on disk\n")
}

// Run makes one hostile repository and its linked worktree "wt", and returns them
// and a check that nothing of it ran.
func (h Hostile) Run(t testing.TB) (r *Repo, top string, untouched func(when string)) {
	t.Helper()
	r = New(t)
	top = r.Worktree("wt")
	h.Set(r, top, r.canary())
	return r, top, h.Check(t, r)
}

func (r *Repo) canary() string { return filepath.Join(r.Dir, "canary") }

// Check forgets what ran until now, and returns a check that nothing runs from now on.
func (h Hostile) Check(t testing.TB, r *Repo) (untouched func(when string)) {
	t.Helper()
	_ = os.Remove(r.canary())
	return func(when string) {
		t.Helper()
		if os.Remove(r.canary()) == nil {
			t.Errorf("%s: %s ran a program of the repository", h.Name, when)
		}
	}
}
