package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// Looking runs no program that a repository names, and what only such a program
// could tell is not known.
func TestLookingRunsNothingOfTheRepository(t *testing.T) {
	for _, h := range gittest.HostileRepos() {
		t.Run(h.Name, func(t *testing.T) {
			r, top, untouched := h.Run(t)
			reader, ctx := git.New(git.Options{}), t.Context()
			s := look(t, r, top)
			untouched("Look")
			c, err := s.Changes.Get()
			if h.Hides && (err != nil || len(c.Unsure) != 1 || c.Unsure[0] != "a.txt" || len(c.Dirty) != 0) {
				t.Errorf("changes %+v (%v), want a.txt to be unsure", c, err)
			}
			if _, known := git.Obstacles(s, time.Now()); h.Hides && known {
				t.Error("it is known whether it may go")
			}
			_, _ = reader.Changes(ctx, r.Top, false)
			_, _ = reader.Changes(ctx, r.Top, true)
			untouched("Changes")
			_, _ = reader.Stashes(ctx, r.Top)
			_, _, _ = reader.CommitsMade(ctx, top, time.Time{})
			_, _ = reader.Measure(ctx, top)
			_, _ = reader.Tracked(ctx, top, "a.txt")
			untouched("the rest of looking")
		})
	}
}

// What acts runs none either: it does without, or does not act.
func TestActingRunsNothingOfTheRepository(t *testing.T) {
	for _, h := range gittest.HostileRepos() {
		t.Run(h.Name, func(t *testing.T) {
			r, top, _ := h.Run(t)
			r.Git(r.Top, "branch", "other", "main")
			untouched := h.Check(t, r)
			reader, ctx := git.New(git.Options{}), t.Context()
			w := git.NewWriter(reader, git.WriterOptions{})
			place, err := git.At(top)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = w.Backup(ctx, place)
			untouched("Backup")
			_ = w.RemoveWorktree(ctx, place, nil)
			untouched("RemoveWorktree")
			main, err := git.At(r.Top)
			if err != nil {
				t.Fatal(err)
			}
			_ = w.Checkout(ctx, main, "other")
			untouched("Checkout")
		})
	}
}

// A rebase is given up by git itself, which would run what the repository names.
func TestAbortRebaseRunsNothingOfTheRepository(t *testing.T) {
	for _, key := range []string{"filter.evil.smudge", "filter.evil.process", "filter.evil.clean"} {
		r := gittest.New(t)
		r.Write("repo/.gitattributes", "a.txt filter=evil\n")
		r.Git(r.Top, "add", ".")
		r.Git(r.Top, "commit", "-q", "-m", "attributes")
		top := r.Rebase("stuck")
		canary := filepath.Join(r.Dir, "canary")
		r.Git(r.Top, "config", key, "touch '"+canary+"'; cat")
		place, err := git.At(top)
		if err != nil {
			t.Fatal(err)
		}
		err = git.NewWriter(git.New(git.Options{}), git.WriterOptions{}).AbortRebase(t.Context(), place)
		if !errors.Is(err, git.ErrRunsCode) {
			t.Errorf("%s: %v, want it refused", key, err)
		}
		if _, err := os.Lstat(canary); err == nil {
			t.Errorf("%s ran", key)
		}
	}
}

// A filter's program gets no secret of ours, where one has to run.
func TestAFilterGetsNoSecrets(t *testing.T) {
	t.Setenv("FORGE_TOKEN", "planted-secret")
	r := gittest.New(t)
	r.Write("repo/.gitattributes", "a.txt filter=lfs\n")
	r.Git(r.Top, "add", ".")
	r.Git(r.Top, "commit", "-q", "-m", "attributes")
	seen := filepath.Join(r.Dir, "environment")
	r.Git(r.Top, "config", "filter.lfs.smudge", "env > '"+seen+"'; cat")
	plan := git.WorktreePlan{Repo: r.Top, Path: filepath.Join(r.Dir, "new"), Branch: "new", Start: r.Git(r.Top, "rev-parse", "main")}
	if err := git.NewWriter(git.New(git.Options{}), git.WriterOptions{}).AddWorktree(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(seen)
	if err != nil {
		t.Fatalf("the filter of a new worktree did not run: %v", err)
	}
	if s := string(env); strings.Contains(s, "planted-secret") || !strings.Contains(s, "PATH=") {
		t.Errorf("the filter's environment:\n%s", s)
	}
}
