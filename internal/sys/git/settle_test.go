package git_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// numbered is a file of seven lines, some of which were changed.
func numbered(end string, changed ...string) string {
	list := []string{"one", "two", "three", "four", "five", "six", "seven"}
	for n, text := range changed {
		list[3+2*n] = text
	}
	return strings.Join(list, end) + end
}

// resolve has a person merge theirs in a clone-like checkout of the very repository, and resolve a file by hand.
func (s sides) resolve(t *testing.T, files edits, config ...string) {
	t.Helper()
	top := filepath.Join(s.Dir, "person")
	s.Git(s.Top, "worktree", "add", "-q", "--detach", top, s.ours)
	args := []string{"-c", "rerere.enabled=true"}
	for _, c := range config {
		args = append(args, "-c", c)
	}
	cmd := append(slices.Clone(args), "merge", "-q", s.theirs)
	_, _ = s.Try(top, cmd...)
	for path, text := range files {
		s.Write(filepath.Join(top, path), text)
	}
	s.Git(top, append(slices.Clone(args), "add", "-A")...)
	s.Git(top, append(slices.Clone(args), "commit", "-q", "-m", "by hand")...)
	s.Git(s.Top, "worktree", "remove", "--force", top)
}

// settled settles, and checks that nothing but objects was written.
func (s sides) settled(t *testing.T, how git.Settling) git.Settled {
	t.Helper()
	before := s.standing(t)
	out, err := s.w.Settle(t.Context(), s.Top, s.plan(), how)
	if err != nil {
		t.Fatal(err)
	}
	if after := s.standing(t); !maps.Equal(before, after) {
		t.Errorf("changed:\n%s\nwas:\n%s", after, before)
	}
	return out
}

// standing is all of a checkout and its repository but the objects.
func (s sides) standing(t *testing.T) map[string]string {
	t.Helper()
	all := gittest.Files(t, s.Top)
	for path, text := range gittest.Files(t, filepath.Join(s.Top, ".git")) {
		if !strings.HasPrefix(path, "objects/") {
			all[".git/"+path] = text
		}
	}
	return all
}

func (s sides) text(t *testing.T, tree, path string) string {
	t.Helper()
	text, err := s.Try(s.Top, "cat-file", "blob", tree+":"+path)
	must(t, err)
	return text
}

// sh runs a script in a folder.
func (s sides) sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

var recorded = git.Settling{Recorded: true}

func named(list ...string) func(string) bool {
	return func(path string) bool { return slices.Contains(list, path) }
}

// What a person has resolved once is used again, also where the rest of the file has changed.
func TestARecordedResolutionIsUsedAgain(t *testing.T) {
	for name, config := range map[string]string{"merge": "merge.conflictStyle=merge", "diff3": "merge.conflictStyle=diff3", "zdiff3": "merge.conflictStyle=zdiff3"} {
		t.Run(name, func(t *testing.T) {
			s := forked(t, edits{"f": numbered("\n"), "g": "g\n"}, edits{"f": numbered("\n", "ours")}, edits{"f": numbered("\n", "theirs"), "g": "more\ng\n"})
			s.Git(s.Top, "config", "merge.conflictStyle", strings.TrimPrefix(config, "merge.conflictStyle="))
			if got := s.settled(t, recorded); got.Tree != "" {
				t.Fatalf("nothing is recorded: %+v", got)
			}
			s.resolve(t, edits{"f": numbered("\n", "both")}, config)
			s.ours = edits{"f": "zero\n" + numbered("\n", "ours")}.in(s.Repo, s.Top)
			got := s.settled(t, recorded)
			if got.Tree == "" || !slices.Equal(got.Recorded, []string{"f"}) || got.Again != nil {
				t.Fatalf("%+v", got)
			}
			if text := s.text(t, got.Tree, "f"); text != "zero\n"+numbered("\n", "both") {
				t.Errorf("%q", text)
			}
			if text := s.text(t, got.Tree, "g"); text != "more\ng\n" {
				t.Errorf("%q", text)
			}
			if off := s.settled(t, git.Settling{}); off.Tree != "" {
				t.Errorf("it was not asked for: %+v", off)
			}
			c, err := s.w.CommitSettled(context.Background(), s.Top, s.plan(), got.Tree, got.Recorded)
			if err != nil || c.Commit == "" || len(c.Lost) > 0 {
				t.Errorf("%+v, %v", c, err)
			}
			if c, err := s.w.CommitSettled(context.Background(), s.Top, s.plan(), got.Tree, nil); err != nil || len(c.Lost) == 0 {
				t.Errorf("of a file that was not settled it is told what is lost: %+v, %v", c, err)
			}
		})
	}
}

// A resolution is found where lines end as they do in Windows, and is stored as the attributes say.
func TestARecordedResolutionWithOtherLineEnds(t *testing.T) {
	t.Run("stored", func(t *testing.T) {
		s := forked(t, edits{"f": numbered("\r\n")}, edits{"f": numbered("\r\n", "ours")}, edits{"f": numbered("\r\n", "theirs")})
		s.resolve(t, edits{"f": numbered("\r\n", "both")})
		if got := s.settled(t, recorded); got.Tree == "" || s.text(t, got.Tree, "f") != numbered("\r\n", "both") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("by attribute", func(t *testing.T) {
		s := forked(t, edits{".gitattributes": "f text eol=crlf\n", "f": numbered("\r\n")}, edits{"f": numbered("\r\n", "ours")}, edits{"f": numbered("\r\n", "theirs")})
		s.resolve(t, edits{"f": numbered("\r\n", "both")})
		if got := s.settled(t, recorded); got.Tree == "" || s.text(t, got.Tree, "f") != numbered("\n", "both") {
			t.Errorf("%+v", got)
		}
	})
}

// What is recorded and is no resolution of every conflict leaves the merge in conflict.
func TestWhatIsNotResolvedStaysInConflict(t *testing.T) {
	marks := "<<<<<<< mine\nours\n=======\ntheirs\n>>>>>>> yours"
	for name, c := range map[string]struct {
		base, ours, theirs, by edits
		damage                 string // of the record
	}{
		"marks in the record": {edits{"f": numbered("\n")}, edits{"f": numbered("\n", "ours")}, edits{"f": numbered("\n", "theirs")}, edits{"f": numbered("\n", "both")}, numbered("\n", marks)},
		"another file":        {edits{"f": numbered("\n"), "g": numbered("\n")}, edits{"f": numbered("\n", "ours"), "g": numbered("\n", "o")}, edits{"f": numbered("\n", "theirs"), "g": numbered("\n", "t")}, nil, ""},
		"gone on one side":    {edits{"f": numbered("\n"), "g": "g\n"}, edits{"f": ""}, edits{"f": numbered("\n", "theirs")}, edits{"f": "x\n"}, ""},
		"binary":              {edits{"f": "\x00a"}, edits{"f": "\x00b"}, edits{"f": "\x00c"}, edits{"f": "\x00d"}, ""},
		"rights":              {edits{"f": numbered("\n")}, edits{"f": "+x " + numbered("\n", "ours")}, edits{"f": numbered("\n", "theirs")}, edits{"f": numbered("\n", "both")}, ""},
		"a filter":            {edits{".gitattributes": "f filter=x\n", "f": numbered("\n")}, edits{"f": numbered("\n", "ours")}, edits{"f": numbered("\n", "theirs")}, edits{"f": numbered("\n", "both")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := forked(t, c.base, c.ours, c.theirs)
			if name == "another file" { // only one of two conflicts was ever resolved
				one := forked(t, c.base, edits{"f": c.ours["f"]}, edits{"f": c.theirs["f"]})
				one.resolve(t, edits{"f": numbered("\n", "both")})
				must(t, os.CopyFS(filepath.Join(s.Top, ".git", "rr-cache"), os.DirFS(filepath.Join(one.Top, ".git", "rr-cache"))))
			} else {
				s.resolve(t, c.by)
			}
			if c.damage != "" {
				all, _ := filepath.Glob(filepath.Join(s.Top, ".git", "rr-cache", "*", "postimage"))
				if len(all) != 1 {
					t.Fatalf("%d are recorded", len(all))
				}
				must(t, os.WriteFile(all[0], []byte(c.damage), 0o644))
			}
			if got := s.settled(t, recorded); got.Tree != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A file that is made anew stands as Ours has it, beside what is resolved as recorded; no program runs.
func TestFilesThatAreMadeAnewBeginAsOursHasThem(t *testing.T) {
	s := forked(t, edits{"sum": "a\n", "f": numbered("\n"), "gone": "1\n", "g": "g\n"}, edits{"sum": "a\nours\n", "f": numbered("\n", "ours"), "gone": ""},
		edits{"sum": "a\ntheirs\n", "f": numbered("\n", "theirs"), "gone": "2\n", "g": "g2\n"})
	again := named("sum", "gone")
	if got := s.settled(t, git.Settling{Again: again}); got.Tree != "" {
		t.Errorf("f is in conflict: %+v", got)
	}
	s.resolve(t, edits{"f": numbered("\n", "both"), "sum": "x\n", "gone": "3\n"})
	got := s.settled(t, git.Settling{Again: again, Recorded: true})
	if got.Tree == "" || !slices.Equal(got.Again, []string{"gone", "sum"}) || !slices.Equal(got.Recorded, []string{"f"}) {
		t.Fatalf("%+v", got)
	}
	if text := s.text(t, got.Tree, "sum") + s.text(t, got.Tree, "f") + s.text(t, got.Tree, "g"); text != "a\nours\n"+numbered("\n", "both")+"g2\n" {
		t.Errorf("%q", text)
	}
	if _, err := s.Try(s.Top, "cat-file", "-e", got.Tree+":gone"); err == nil {
		t.Error("it is there, though Ours has taken it away")
	}
}

// Of what a command leaves in a worktree only the files that it may change are taken.
func TestTakeMade(t *testing.T) {
	s := forked(t, edits{".gitignore": "*.o\n", ".gitattributes": "*.big filter=x\n", "sum": "a\n", "f": "f\n", "x.big": "b\n"}, edits{"sum": "b\n"}, edits{"sum": "c\n"})
	s.Git(s.Top, "config", "filter.x.smudge", "touch "+filepath.Join(s.Dir, "ran")+"; cat")
	s.Git(s.Top, "config", "filter.x.clean", "touch "+filepath.Join(s.Dir, "ran")+"; cat")
	tree := s.settled(t, git.Settling{Again: named("sum")}).Tree
	for name, c := range map[string]struct {
		script string
		want   string // of sum
		others []string
		fails  string
	}{
		"made":             {"echo new > sum; echo o > a.o", "new\n", nil, ""},
		"as it was":        {"touch sum", "b\n", nil, ""},
		"another":          {"echo new > sum; echo x > f", "", []string{"f"}, ""},
		"a new one":        {"echo x > other", "", []string{"other"}, ""},
		"one that is not":  {"rm f", "", []string{"f"}, ""},
		"rights":           {"chmod +x f", "", []string{"f"}, ""},
		"a repository":     {"git init -q in; git -C in -c user.name=a -c user.email=a@b commit -q --allow-empty -m x", "", []string{"in/"}, ""},
		"a link":           {"rm sum; ln -s /etc/passwd sum", "", nil, "no file any more"},
		"a pipe":           {"rm sum; mkfifo sum", "", nil, "no file any more"},
		"through a filter": {"echo y > x.big", "", nil, "attribute filter"},
		"hooks":            {"echo new > sum; git config core.fsmonitor 'touch " + filepath.Join(s.Dir, "ran") + "'; git config core.hooksPath /nowhere", "new\n", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan := git.WorktreePlan{Repo: s.Top, Path: filepath.Join(s.Dir, "anew"), Start: s.ours}
			must(t, s.w.AddPlain(t.Context(), plan, tree))
			defer func() { must(t, s.w.Discard(context.Background(), plan)) }()
			if out := s.Git(plan.Path, "-c", "core.fsmonitor=false", "diff", "--name-only"); out != "" {
				t.Errorf("differs: %s", out)
			}
			_ = os.Remove(filepath.Join(s.Dir, "ran"))
			s.sh(t, plan.Path, c.script)
			got, err := s.w.TakeMade(t.Context(), plan, tree, named("sum", "x.big"))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			must(t, err)
			if !slices.Equal(got.Others, c.others) || (got.Tree == "") != (c.others != nil) {
				t.Fatalf("%+v", got)
			}
			if got.Tree != "" && s.text(t, got.Tree, "sum") != c.want {
				t.Errorf("sum is %q", s.text(t, got.Tree, "sum"))
			}
			if _, err := os.Lstat(filepath.Join(s.Dir, "ran")); err == nil {
				t.Error("a program of the repository's configuration ran")
			}
		})
	}
}
