package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// sides is a repository whose branches main and theirs were edited since they forked.
type sides struct {
	*gittest.Repo
	w            *git.Writer
	ours, theirs string
}

// edits are done in a worktree, by path: "" takes a file away, "-> x" makes a link, "+x text" one that may be run, and
// "<= old" renames.
type edits map[string]string

func (e edits) in(r *gittest.Repo, top string) string {
	r.T.Helper()
	paths := make([]string, 0, len(e))
	for p := range e {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths { // first what goes, so that a folder may take a file's place
		if old, is := strings.CutPrefix(e[p], "<= "); is {
			must(r.T, os.MkdirAll(filepath.Dir(filepath.Join(top, p)), 0o755))
			must(r.T, os.Rename(filepath.Join(top, old), filepath.Join(top, p)))
		} else if e[p] == "" {
			must(r.T, os.RemoveAll(filepath.Join(top, p)))
		}
	}
	for _, p := range paths {
		at := filepath.Join(top, p)
		to, link := strings.CutPrefix(e[p], "-> ")
		text, runs := strings.CutPrefix(e[p], "+x ")
		switch {
		case e[p] == "" || strings.HasPrefix(e[p], "<= "):
		case link:
			_ = os.Remove(at)
			must(r.T, os.Symlink(to, at))
		default:
			_ = os.Remove(at)
			r.Write(at, text)
			if runs {
				must(r.T, os.Chmod(at, 0o755))
			}
		}
	}
	r.Git(top, "add", "-A", ".")
	r.Git(top, "commit", "-q", "--allow-empty", "-m", "edits")
	return r.Git(top, "rev-parse", "HEAD")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func forked(t testing.TB, base, ours, theirs edits) sides {
	t.Helper()
	r := gittest.New(t)
	base.in(r, r.Top)
	r.Git(r.Top, "branch", "theirs")
	s := sides{Repo: r, w: git.NewWriter(git.New(git.Options{}), git.WriterOptions{}), ours: ours.in(r, r.Top)}
	r.Git(r.Top, "switch", "-q", "theirs")
	s.theirs = theirs.in(r, r.Top)
	r.Git(r.Top, "switch", "-q", "main")
	return s
}

func (s sides) plan() git.MergePlan {
	return git.MergePlan{Ours: s.ours, Theirs: s.theirs, Message: "merge\n\nof both\n", Name: "Queue", Email: "queue@example.org", At: time.Unix(1_700_000_000, 0)}
}

func (s sides) merge(t testing.TB) (git.Candidate, error) {
	t.Helper()
	return s.w.MergeCommits(t.Context(), s.Top, s.plan())
}

// file reads "mode text" of a commit's file; "" where it is none.
func (s sides) file(commit, path string) string {
	s.T.Helper()
	listed := s.Git(s.Top, "--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--", path)
	if listed == "" {
		return ""
	}
	text, err := s.Try(s.Top, "cat-file", "blob", commit+":"+path)
	must(s.T, err)
	return strings.Fields(listed)[0] + " " + text
}

const eight = "1\n2\n3\n4\n5\n6\n7\n8\n"

func TestMergeCommits(t *testing.T) {
	first, last, second := "one\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\n5\n6\n7\neight\n", "uno\n2\n3\n4\n5\n6\n7\n8\n"
	for name, c := range map[string]struct {
		base, ours, theirs edits
		conflicts          []string
		want               edits // "mode text" of some paths of what it makes
	}{
		"one file, both ends":  {edits{"f": eight}, edits{"f": first}, edits{"f": last}, nil, edits{"f": "100644 one\n2\n3\n4\n5\n6\n7\neight\n"}},
		"one line":             {edits{"f": eight}, edits{"f": first}, edits{"f": second}, []string{"f"}, nil},
		"the same":             {edits{"f": eight}, edits{"f": first, "g": "g\n"}, edits{"f": first, "h": "h\n"}, nil, edits{"f": "100644 " + first, "g": "100644 g\n", "h": "100644 h\n"}},
		"a hostile path":       {edits{"a\nb \"'\\\xff": eight}, edits{"a\nb \"'\\\xff": first}, edits{"a\nb \"'\\\xff": second}, []string{"a\nb \"'\\\xff"}, nil},
		"two of them, sorted":  {edits{"z": eight, "b/y": eight}, edits{"z": first, "b/y": first}, edits{"z": second, "b/y": second}, []string{"b/y", "z"}, nil},
		"added by both":        {nil, edits{"f": first}, edits{"f": second}, []string{"f"}, nil},
		"renamed and edited":   {edits{"f": eight}, edits{"d/g": "<= f"}, edits{"f": last}, nil, edits{"f": "", "d/g": "100644 " + last}},
		"renamed two ways":     {edits{"f": eight}, edits{"g": "<= f"}, edits{"h": "<= f"}, []string{"f", "g", "h"}, nil},
		"renamed to one":       {edits{"f": eight, "g": "a\nb\nc\nd\ne\n"}, edits{"x": "<= f"}, edits{"x": "<= g"}, []string{"x"}, nil},
		"the case of a name":   {edits{"name": eight}, edits{"Name": "<= name"}, edits{"name": last}, nil, edits{"name": "", "Name": "100644 " + last}},
		"two cases of a name":  {nil, edits{"name": "a\n"}, edits{"Name": "b\n"}, nil, edits{"name": "100644 a\n", "Name": "100644 b\n"}},
		"edited and gone":      {edits{"f": eight}, edits{"f": first}, edits{"f": ""}, []string{"f"}, nil},
		"gone in both":         {edits{"f": eight}, edits{"f": "", "g": "g\n"}, edits{"f": ""}, nil, edits{"f": "", "g": "100644 g\n"}},
		"may be run":           {edits{"f": eight}, edits{"f": "+x " + eight}, edits{"f": last}, nil, edits{"f": "100755 " + last}},
		"binary, one side":     {edits{"f": "a\x00b"}, edits{"f": "a\x00c"}, edits{"g": "g\n"}, nil, edits{"f": "100644 a\x00c"}},
		"binary, both":         {edits{"f": "1\n\x00\n3\n4\n5\n"}, edits{"f": "x\n\x00\n3\n4\n5\n"}, edits{"f": "1\n\x00\n3\n4\ny\n"}, []string{"f"}, nil},
		"CRLF":                 {edits{"f": "1\r\n2\r\n3\r\n4\r\n5\r\n"}, edits{"f": "a\r\n2\r\n3\r\n4\r\n5\r\n"}, edits{"f": "1\r\n2\r\n3\r\n4\r\nb\r\n"}, nil, edits{"f": "100644 a\r\n2\r\n3\r\n4\r\nb\r\n"}},
		"CRLF and LF":          {edits{"f": "1\n2\n3\n"}, edits{"f": "1\r\n2\r\n3\r\n"}, edits{"f": "1\n2\nx\n"}, []string{"f"}, nil},
		"no newline at end":    {edits{"f": "1\n2\n3\n4"}, edits{"f": "x\n2\n3\n4"}, edits{"f": "1\n2\n3\n4\n"}, nil, edits{"f": "100644 x\n2\n3\n4\n"}},
		"links":                {edits{"f": "-> a"}, edits{"f": "-> b"}, edits{"g": "-> c"}, nil, edits{"f": "120000 b", "g": "120000 c"}},
		"one link, two ways":   {edits{"f": "-> a"}, edits{"f": "-> b"}, edits{"f": "-> c"}, []string{"f"}, nil},
		"file for a folder":    {edits{"d/f": eight}, edits{"d": "", "d.txt": "x\n"}, edits{"d/f": first}, []string{"d/f"}, nil},
		"folder beside a file": {nil, edits{"d": "file\n"}, edits{"d/f": "in it\n"}, nil, nil}, // see below: the name is git's
		"a folder split in two": {edits{"d/a": eight, "d/b": first, "d/c": last, "d/d": second},
			edits{"x/a": "<= d/a", "x/b": "<= d/b", "y/c": "<= d/c", "y/d": "<= d/d"}, edits{"d/new": "new\n"}, []string{"d"}, nil},
		"a folder renamed": {edits{"d/a": eight, "d/b": first}, edits{"x/a": "<= d/a", "x/b": "<= d/b"}, edits{"d/new": "new\n"}, []string{"x/new"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := forked(t, c.base, c.ours, c.theirs)
			was := s.Git(s.Top, "for-each-ref") + s.Git(s.Top, "status", "--porcelain") + s.Git(s.Top, "rev-parse", "HEAD")
			got, err := s.merge(t)
			must(t, err)
			if name == "folder beside a file" {
				if len(got.Conflicts) != 1 || !strings.HasPrefix(got.Conflicts[0], "d~") {
					t.Errorf("conflicts %q", got.Conflicts)
				}
				return
			}
			if !slices.Equal(got.Conflicts, c.conflicts) || (got.Commit == "") != (len(c.conflicts) > 0) || got.Lost != nil {
				t.Fatalf("%+v, want conflicts %q", got, c.conflicts)
			}
			for path, want := range c.want {
				if is := s.file(got.Commit, path); is != want {
					t.Errorf("%q is %q, want %q", path, is, want)
				}
			}
			if is := s.Git(s.Top, "for-each-ref") + s.Git(s.Top, "status", "--porcelain") + s.Git(s.Top, "rev-parse", "HEAD"); is != was {
				t.Errorf("it changed\n%s\nto\n%s", was, is)
			}
		})
	}
}

func TestMergeCommitsMakesAMergeCommit(t *testing.T) {
	s := forked(t, edits{"f": eight}, nil, edits{"g": "g\n"})
	s.ours = s.Git(s.Top, "rev-parse", s.ours+"^") // it could be moved forward
	got, err := s.merge(t)
	must(t, err)
	want := fmt.Sprintf("tree %s\nparent %s\nparent %s\nauthor Queue <queue@example.org> 1700000000 +0000\ncommitter Queue <queue@example.org> 1700000000 +0000\n\nmerge\n\nof both",
		got.Tree, s.ours, s.theirs)
	if is := s.Git(s.Top, "cat-file", "commit", got.Commit); is != want {
		t.Errorf("%s\nwant\n%s", is, want)
	}
	if again, err := s.merge(t); err != nil || again.Commit != got.Commit {
		t.Errorf("again it is %+v, %v", again, err)
	}
}

func TestMergeCommitsWithNothingToDo(t *testing.T) {
	s := forked(t, nil, edits{"f": "f\n", "g": "g\n"}, edits{"f": "f\n"})
	tree := s.Git(s.Top, "rev-parse", "main^{tree}")
	if got, err := s.merge(t); err != nil || !got.Empty || got.Commit != s.ours || got.Tree != tree {
		t.Errorf("the same change: %+v, %v", got, err)
	}
	p := s.plan()
	p.Theirs = s.Git(s.Top, "rev-parse", "main~1")
	for _, p.Theirs = range []string{p.Theirs, p.Ours} {
		if got, err := s.w.MergeCommits(t.Context(), s.Top, p); err != nil || !got.Already || got.Commit != s.ours || got.Tree != tree {
			t.Errorf("an ancestor: %+v, %v", got, err)
		}
	}
	p.Theirs = s.Git(s.Top, "commit-tree", "-m", "alone", tree)
	if got, err := s.w.MergeCommits(t.Context(), s.Top, p); err != nil || !got.Unrelated || got.Commit != "" {
		t.Errorf("unrelated: %+v, %v", got, err)
	}
	for _, p.Theirs = range []string{"", "theirs", s.ours[:12], strings.Repeat("0", 40), strings.Repeat("1", 40), tree} {
		if got, err := s.w.MergeCommits(t.Context(), s.Top, p); err == nil {
			t.Errorf("%q: %+v", p.Theirs, got)
		}
	}
}

// Both sides moved a submodule on: whether one of them holds the other is in another repository.
func TestMergeCommitsOfSubmodules(t *testing.T) {
	s := forked(t, nil, nil, nil)
	at := func(branch, sub string) string {
		s.Git(s.Top, "switch", "-q", branch)
		s.Git(s.Top, "update-index", "--add", "--cacheinfo", "160000,"+sub+",mod")
		s.Git(s.Top, "commit", "-q", "-m", "mod")
		return s.Git(s.Top, "rev-parse", "HEAD")
	}
	base := at("main", strings.Repeat("1", 40))
	s.Git(s.Top, "branch", "-f", "theirs", base)
	s.ours, s.theirs = at("main", strings.Repeat("2", 40)), at("theirs", strings.Repeat("3", 40))
	if got, err := s.merge(t); err != nil || !slices.Equal(got.Conflicts, []string{"mod"}) {
		t.Errorf("%+v, %v", got, err)
	}
	s.ours = base
	got, err := s.merge(t)
	if err != nil || !strings.Contains(s.Git(s.Top, "ls-tree", got.Commit, "mod"), strings.Repeat("3", 40)) {
		t.Errorf("moved by one side: %+v, %v", got, err)
	}
}

// Git's own drivers work from the commits' attributes, whatever is checked out.
func TestMergeCommitsByAttributes(t *testing.T) {
	log := edits{"d/CHANGELOG.md": "# Log\n\nend\n"}
	ours, theirs := edits{"d/CHANGELOG.md": "# Log\na\n\nend\n"}, edits{"d/CHANGELOG.md": "# Log\nb\n\nend\n"}
	union, binary := edits{".gitattributes": "CHANGELOG.md merge=union\n"}, edits{"d/.gitattributes": "*.md binary\n"}
	both := "100644 # Log\na\nb\n\nend\n"
	with := func(all ...edits) edits {
		e := edits{}
		for _, one := range all {
			for p, text := range one {
				e[p] = text
			}
		}
		return e
	}
	for name, c := range map[string]struct {
		base, ours, theirs edits
		want               string // "": a conflict
	}{
		"none":                     {log, ours, theirs, ""},
		"in both":                  {with(log, union), ours, theirs, both},
		"brought by ours":          {log, with(ours, union), theirs, both},
		"brought by theirs":        {log, ours, with(theirs, union), both},
		"a nearer one":             {with(log, union, binary), ours, theirs, ""},
		"taken away":               {with(log, union), ours, with(theirs, edits{".gitattributes": ""}), ""},
		"a driver nobody has":      {with(log, edits{".gitattributes": "*.md merge=unknown\n"}), ours, theirs, ""},
		"one that hides the lines": {with(log, edits{".gitattributes": "*.md -diff merge=union\n"}), ours, theirs, both},
	} {
		t.Run(name, func(t *testing.T) {
			s := forked(t, c.base, c.ours, c.theirs)
			bare := filepath.Join(s.Dir, "bare.git")
			s.Git(s.Dir, "clone", "-q", "--bare", s.Top, bare)
			// What is checked out, and what is configured, says the contrary.
			s.Write("repo/.gitattributes", "CHANGELOG.md merge=union\n")
			s.Write("repo/.git/info/attributes", "CHANGELOG.md merge=union\n")
			s.Write("xdg/git/attributes", "CHANGELOG.md merge=union\n")
			t.Setenv("XDG_CONFIG_HOME", filepath.Join(s.Dir, "xdg"))
			s.w = git.NewWriter(git.New(git.Options{}), git.WriterOptions{})
			if c.want != "" {
				s.Write("repo/.gitattributes", "CHANGELOG.md -merge\n")
				s.Write("repo/.git/info/attributes", "CHANGELOG.md -merge\n")
				s.Write("xdg/git/attributes", "CHANGELOG.md -merge\n")
			}
			for _, dir := range []string{s.Top, filepath.Join(s.Top, "d"), bare} {
				got, err := s.w.MergeCommits(t.Context(), dir, s.plan())
				if must(t, err); c.want == "" != slices.Equal(got.Conflicts, []string{"d/CHANGELOG.md"}) || got.Lost != nil {
					t.Fatalf("in %s: %+v", dir, got)
				}
				if c.want != "" && dir != bare && s.file(got.Commit, "d/CHANGELOG.md") != c.want {
					t.Errorf("%q", s.file(got.Commit, "d/CHANGELOG.md"))
				}
			}
		})
	}
}

func TestMergeCommitsRunsNoProgram(t *testing.T) {
	for _, h := range gittest.HostileRepos() {
		t.Run(h.Name, func(t *testing.T) {
			r, top, _ := h.Run(t)
			r.Git(r.Top, "-c", "core.fsmonitor=false", "branch", "-f", "ours", "main")
			untouched := h.Check(t, r)
			w := git.NewWriter(git.New(git.Options{}), git.WriterOptions{})
			p := git.MergePlan{Ours: r.Git(r.Top, "rev-parse", "main"), Theirs: r.Git(r.Top, "rev-parse", "wt"), Name: "Q", Email: "q"}
			_ = os.Remove(filepath.Join(r.Dir, "canary"))
			_, _ = w.MergeCommits(t.Context(), top, p)
			untouched("MergeCommits")
		})
	}
}

// A merge driver with a program is met only where it would merge something; a filter never.
func TestMergeCommitsByADriver(t *testing.T) {
	base := edits{"f": eight, "g": eight, ".gitattributes": "f merge=evil\ng filter=lfs\n"}
	for name, c := range map[string]struct {
		key          string
		ours, theirs edits
		refused      bool
	}{
		"merged by it":     {"merge.evil.driver", edits{"f": "x\n" + eight}, edits{"f": eight + "y\n"}, true},
		"one side only":    {"merge.evil.driver", edits{"f": "x\n" + eight}, edits{"g": eight + "y\n"}, false},
		"another":          {"merge.other.driver", edits{"f": "x\n" + eight}, edits{"f": eight + "y\n"}, false},
		"one of git's own": {"merge.text.driver", edits{"g": "x\n" + eight}, edits{"g": eight + "y\n"}, false},
		"a filter":         {"filter.lfs.clean", edits{"g": "x\n" + eight}, edits{"g": eight + "y\n"}, false},
		"a whole filter":   {"filter.lfs.process", edits{"g": "x\n" + eight}, edits{"g": eight + "y\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := forked(t, base, c.ours, c.theirs)
			canary := filepath.Join(s.Dir, "canary")
			s.Git(s.Top, "config", c.key, "touch '"+canary+"'; false")
			s.Git(s.Top, "config", "merge.renormalize", "true")
			got, err := s.merge(t)
			if errors.Is(err, git.ErrRunsCode) != c.refused || (err != nil) != c.refused || (got.Commit != "") == c.refused {
				t.Errorf("%+v, %v", got, err)
			}
			if _, err := os.Lstat(canary); err == nil {
				t.Error("it ran")
			}
		})
	}
}

// A resolution that somebody recorded is not taken for this merge.
func TestMergeCommitsIsNotResolvedByRerere(t *testing.T) {
	s := forked(t, edits{"f": eight}, edits{"f": "x\n"}, edits{"f": "y\n"})
	s.Git(s.Top, "config", "rerere.enabled", "true")
	s.Git(s.Top, "config", "rerere.autoUpdate", "true")
	_, _ = s.Try(s.Top, "merge", "theirs")
	s.Write("repo/f", "both\n")
	s.Git(s.Top, "commit", "-q", "-a", "-m", "resolved")
	if got, err := s.merge(t); err != nil || !slices.Equal(got.Conflicts, []string{"f"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// In a shallow clone the ancestor that is here may not be the nearest: what main took out again would come back.
func TestMergeCommitsInAShallowClone(t *testing.T) {
	s := forked(t, edits{"f": eight}, nil, nil)
	old := s.ours
	added := edits{"f": "new\n" + eight}.in(s.Repo, s.Top)
	s.Git(s.Top, "branch", "-f", "theirs", added)
	edits{"f": eight}.in(s.Repo, s.Top)
	s.ours = edits{"g": "g\n"}.in(s.Repo, s.Top)
	s.Git(s.Top, "switch", "-q", "theirs")
	s.theirs = edits{"h": "h\n"}.in(s.Repo, s.Top)
	s.theirs = s.Git(s.Top, "commit-tree", "-p", s.theirs, "-p", old, "-m", "old", s.theirs+"^{tree}")
	s.ours = s.Git(s.Top, "commit-tree", "-p", s.ours, "-p", old, "-m", "old", s.ours+"^{tree}")
	s.Git(s.Top, "update-ref", "refs/heads/theirs", s.theirs)
	s.Git(s.Top, "update-ref", "refs/heads/main", s.ours)
	got, err := s.merge(t)
	if must(t, err); s.file(got.Commit, "f") != "100644 "+eight {
		t.Fatalf("whole: %q", s.file(got.Commit, "f"))
	}
	for depth, want := range map[string]bool{"1": false, "2": false, "6": true} {
		dir := filepath.Join(s.Dir, "shallow"+depth)
		s.Git(s.Dir, "clone", "-q", "--bare", "--no-single-branch", "--depth", depth, "file://"+s.Top, dir)
		got, err := s.w.MergeCommits(t.Context(), dir, s.plan())
		if want != (err == nil) || want != (got.Commit != "") || !want && !strings.Contains(err.Error(), "shallow") {
			t.Errorf("depth %s: %+v, %v", depth, got, err)
		}
	}
}

func TestMergeCommitsInOtherPlaces(t *testing.T) {
	s := forked(t, edits{"d/f": eight, "e/g": eight}, edits{"d/f": "x\n" + eight}, edits{"d/f": eight + "y\n", "e/g": "z\n"})
	want, err := s.merge(t)
	must(t, err)
	linked := s.Worktree("linked")
	sparse := s.Worktree("sparse")
	s.Git(sparse, "sparse-checkout", "set", "--sparse-index", "e")
	s.Git(s.Dir, "clone", "-q", "--shared", s.Top, "borrows")
	for _, dir := range []string{linked, sparse, filepath.Join(s.Top, ".git", "..", "d"), filepath.Join(s.Dir, "borrows")} {
		if got, err := s.w.MergeCommits(t.Context(), dir, s.plan()); err != nil || got.Commit != want.Commit {
			t.Errorf("in %s: %+v, %v", dir, got, err)
		}
	}
	if s.Git(s.Top, "fsck", "--full"); s.Git(s.Top, "status", "--porcelain") != "" {
		t.Error("the worktree looks changed")
	}
}

func TestMergeCommitsWithSHA256(t *testing.T) {
	s := forked(t, nil, nil, nil)
	s.Top = filepath.Join(s.Dir, "sha256")
	s.Git(s.Dir, "init", "-q", "-b", "main", "--object-format=sha256", s.Top)
	s.Git(s.Top, "config", "core.sharedRepository", "group")
	base := edits{"f": eight}.in(s.Repo, s.Top)
	s.ours = edits{"f": "x\n" + eight}.in(s.Repo, s.Top)
	s.Git(s.Top, "switch", "-q", "-c", "theirs", base)
	s.theirs = edits{"f": eight + "y\n"}.in(s.Repo, s.Top)
	got, err := s.merge(t)
	if must(t, err); s.file(got.Commit, "f") != "100644 x\n"+eight+"y\n" {
		t.Errorf("%+v", got)
	}
	info, err := os.Stat(filepath.Join(s.Top, ".git/objects", got.Commit[:2]))
	if must(t, err); info.Mode().Perm()&0o020 == 0 {
		t.Errorf("others of the group may not write where it wrote: %v", info.Mode())
	}
}

func TestMergeCommitsWithAnOldGit(t *testing.T) {
	s := forked(t, nil, edits{"f": "f\n"}, edits{"g": "g\n"})
	old := filepath.Join(s.Dir, "old-git")
	s.Write(old, "#!/bin/sh\nfor a; do case $a in merge-tree) exit 129;; version) echo git version 2.30.1; exit;; esac; done\nexec git \"$@\"\n")
	must(t, os.Chmod(old, 0o755))
	_, err := git.NewWriter(git.New(git.Options{Binary: old}), git.WriterOptions{}).MergeCommits(t.Context(), s.Top, s.plan())
	if err == nil || !strings.Contains(err.Error(), "git version 2.30.1") || !strings.Contains(err.Error(), "2.38") {
		t.Errorf("%v", err)
	}
}

func TestMergeCommitsEnds(t *testing.T) {
	s := forked(t, nil, edits{"f": "f\n"}, edits{"g": "g\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := s.w.MergeCommits(ctx, s.Top, s.plan()); !errors.Is(err, context.Canceled) || got.Commit != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func BenchmarkMergeCommits(b *testing.B) {
	s := forked(b, nil, nil, nil)
	many := edits{}
	for i := range 50_000 {
		many[fmt.Sprintf("d%02d/e%02d/f%d", i%50, i/50%20, i)] = fmt.Sprintln(i)
	}
	many["d00/f"] = eight
	base := many.in(s.Repo, s.Top)
	s.ours = edits{"d00/f": "x\n" + eight, "d01/e01/new": "n\n"}.in(s.Repo, s.Top)
	s.Git(s.Top, "switch", "-q", "-c", "more", base)
	s.theirs = edits{"d00/f": eight + "y\n", "d02/e02/new": "n\n"}.in(s.Repo, s.Top)
	s.Git(s.Top, "repack", "-a", "-d", "-q")
	for b.Loop() {
		if got, err := s.merge(b); err != nil || got.Commit == "" {
			b.Fatal(got, err)
		}
	}
}
