package git_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/git"
	sysgit "custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// none is beyond every pid there can be.
const none = 1 << 30

func nobody(context.Context) ([]sysgit.CWD, error) { return nil, nil }

func look(t *testing.T, o git.Options) fleet.Repos {
	t.Helper()
	p, err := git.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return lookAgain(t, p)
}

func lookAgain(t *testing.T, p *git.Probe) fleet.Repos {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return s.Repos.Value
}

func worktree(t *testing.T, seen fleet.Repos, top string) fleet.Worktree {
	t.Helper()
	for _, w := range seen.Worktrees {
		if w.Path == fleet.Path(top) {
			return w
		}
	}
	t.Fatalf("%q was not seen: %+v", top, seen)
	return fleet.Worktree{}
}

func TestLook(t *testing.T) {
	r := gittest.New(t)
	clean, dirty := r.Worktree("clean"), r.Worktree("dirty")
	strange := filepath.Join(r.Dir, "odd \xff\n")
	r.Git(r.Top, "worktree", "add", "-q", "-b", "odd", strange)
	r.Write(dirty+"/README", "x")
	r.Write(dirty+"/.env", "x")
	r.Write(dirty+"/target/big", strings.Repeat("x", 100_000))
	r.Age(3*time.Hour, clean, r.Top+"/.git/worktrees/clean")
	seen := look(t, git.Options{Repos: []string{r.Top}, Holding: nothing, Pinned: []string{r.Dir + "/*"}, Standing: func(context.Context) ([]sysgit.CWD, error) {
		return []sysgit.CWD{{PID: none + 42, UID: os.Getuid(), Path: dirty}}, nil
	}})
	if len(seen.Repos) != 1 || len(seen.Worktrees) != 3 {
		t.Fatalf("seen %+v", seen)
	}
	repo := seen.Repos[0]
	if repo.Owner != fleet.OwnerConfigured || !repo.Pinned || repo.Primary.Or("") != "main" || repo.Branch.Or("") != "main" ||
		repo.Dirty.Or(-1) != 0 || repo.Ahead.Or(-1) != 0 || repo.Operation.Or("?") != "" || repo.Stashes.Or(-1) != 0 {
		t.Errorf("repo %+v", repo)
	}
	w := worktree(t, seen, clean)
	if !w.Removable.Or(false) || w.MergedBy != "ancestry" || time.Duration(w.Age.Or(0)).Round(time.Minute) != 3*time.Hour || w.Owner != fleet.OwnerConfigured {
		t.Errorf("clean %+v", w)
	}
	w = worktree(t, seen, dirty)
	if w.Removable.Or(true) || w.Dirty.Or(0) != 1 || !slices.Equal(w.Precious.Or(nil), []string{".env"}) || !slices.Equal(w.Occupied.Or(nil), []int{none + 42}) ||
		len(w.Bulk.Or(nil)) != 1 || w.BulkBytes.Or(0) < 100_000 || w.Bytes.Or(0) < w.BulkBytes.Or(0) {
		t.Errorf("dirty %+v", w)
	}
	if w = worktree(t, seen, strange); fleet.RawPath(w.Path) != strange || !w.Removable.IsKnown() {
		t.Errorf("odd %+v", w)
	}
	if _, err := json.Marshal(seen); err != nil {
		t.Error(err)
	}
}

func TestOwners(t *testing.T) {
	r, other := gittest.New(t), gittest.New(t)
	mine, theirs := r.Worktree("app-worktree-1"), r.Worktree("theirs")
	seen := look(t, git.Options{Worktrees: []string{r.Dir + "/*-worktree-*"}, Standing: nobody, Holding: nothing,
		Discover: func() []string { return []string{other.Top, "/nonexistent"} }})
	if w := worktree(t, seen, mine); w.Owner != fleet.OwnerConfigured {
		t.Errorf("a configured worktree is %s", w.Owner)
	}
	if w := worktree(t, seen, theirs); w.Owner != fleet.OwnerForeign {
		t.Errorf("another worktree of its repository is %s", w.Owner)
	}
	for _, repo := range seen.Repos {
		if repo.Owner != fleet.OwnerForeign {
			t.Errorf("%s is %s", repo.Path, repo.Owner)
		}
	}
	if len(seen.Repos) != 2 {
		t.Errorf("repos %+v", seen.Repos)
	}
	// What Custos made for a run is its own, in a repository that nobody configured.
	seen = look(t, git.Options{Standing: nobody, Holding: nothing, Made: func() []string { return []string{mine, "/nonexistent", r.Top} }})
	if w := worktree(t, seen, mine); w.Owner != fleet.OwnerCustos {
		t.Errorf("a worktree of a run is %s", w.Owner)
	}
	if w := worktree(t, seen, theirs); w.Owner != fleet.OwnerForeign || len(seen.Repos) != 1 || seen.Repos[0].Owner != fleet.OwnerForeign {
		t.Errorf("another one of its repository is %s, and the repository %+v", w.Owner, seen.Repos)
	}
	// A folder of repositories.
	seen = look(t, git.Options{Repos: []string{other.Dir}, Standing: nobody, Holding: nothing})
	if len(seen.Repos) != 2 || seen.Repos[0].Owner != fleet.OwnerConfigured {
		t.Errorf("a folder of repositories: %+v", seen.Repos)
	}
}

func TestWhatCannotBeSeenIsUnknown(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	seen := look(t, git.Options{Repos: []string{r.Top}})
	if w := worktree(t, seen, top); w.Occupied.IsKnown() || w.Removable.IsKnown() {
		t.Errorf("nobody looked at the processes, but %+v", w)
	}
	seen = look(t, git.Options{Repos: []string{r.Top}, Holding: nothing, Standing: func(context.Context) ([]sysgit.CWD, error) {
		return []sysgit.CWD{{PID: none + 1, UID: os.Getuid(), Name: "node"}}, nil
	}})
	if w := worktree(t, seen, top); w.Occupied.IsKnown() || w.Removable.IsKnown() {
		t.Errorf("a process hides where it stands, but %+v", w)
	}
	broken := gittest.New(t)
	if err := os.WriteFile(filepath.Join(broken.Top, ".git", "HEAD"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen = look(t, git.Options{Repos: []string{broken.Top, "/nonexistent/repo", r.Top}, Standing: nobody, Holding: nothing})
	if len(seen.Repos) != 3 {
		t.Fatalf("repos %+v", seen.Repos)
	}
	for _, repo := range seen.Repos {
		if repo.Branch.IsKnown() != (repo.Path == r.Top) || repo.Occupied.IsKnown() != (repo.Path == r.Top) {
			t.Errorf("%s: %+v", repo.Path, repo)
		}
	}
	worktree(t, seen, top)
}

func TestHungGitBlindsOnlyItself(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(t.TempDir(), "git")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$PWD\" in */w) exec sleep 600;; esac\nexec %s \"$@\"\n", real)
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	seen := look(t, git.Options{Repos: []string{r.Top}, Standing: nobody, Holding: nothing, PerWorktree: 2 * time.Second, Git: sysgit.New(sysgit.Options{Binary: fake})})
	if w := worktree(t, seen, top); w.Dirty.IsKnown() || w.Removable.IsKnown() || !strings.Contains(w.Dirty.Why(), "did not answer") {
		t.Errorf("worktree %+v", w)
	}
	if repo := seen.Repos[0]; !repo.Branch.IsKnown() {
		t.Errorf("repo %+v", repo)
	}
}

// noGit is a reader without a program.
func noGit() *sysgit.Reader { return sysgit.New(sysgit.Options{Binary: "no-such-git"}) }

func TestNoGitIsAbsentOnlyWhereNothingIsMissed(t *testing.T) {
	r := gittest.New(t)
	stands := func(dirs ...string) func() []string { return func() []string { return dirs } }
	for name, c := range map[string]struct {
		o      git.Options
		absent bool
	}{
		"nothing":                    {git.Options{}, true},
		"nobody stands":              {git.Options{Discover: stands()}, true},
		"a repository":               {git.Options{Repos: []string{r.Top}}, false},
		"one that is not there":      {git.Options{Repos: []string{"/nonexistent/repo"}}, false},
		"a glob that finds nothing":  {git.Options{Worktrees: []string{r.Dir + "/nothing-*"}}, false},
		"only pinned":                {git.Options{Pinned: []string{r.Top}}, false},
		"an agent in a repository":   {git.Options{Discover: stands(r.Top)}, false},
		"an agent anywhere":          {git.Options{Discover: stands(r.Dir)}, false},
		"one of ours has worked":     {git.Options{Worked: stands(r.Top)}, false},
		"it worked in no repository": {git.Options{Worked: stands(r.Dir)}, true},
		"configured and discovered":  {git.Options{Repos: []string{r.Top}, Discover: stands(r.Top)}, false},
		"configured, only worktrees": {git.Options{Worktrees: []string{r.Top}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Standing, c.o.Git = nobody, noGit()
			p, err := git.New(c.o)
			if err != nil {
				t.Fatal(err)
			}
			put, err := p.Look(t.Context())
			if put != nil || err == nil || errors.Is(err, observe.ErrAbsent) != c.absent {
				t.Fatalf("absent %v, want %v: %v", errors.Is(err, observe.ErrAbsent), c.absent, err)
			}
			b := observe.New(observe.Options{Probes: []observe.Probe{p}, Now: func() fleet.Instant { return fleet.Instant{Wall: time.Now()} }})
			b.First(t.Context())
			want := fleet.StatusUnknown
			if c.absent {
				want = fleet.StatusAbsent
			}
			if s := b.Snapshot(); s.Repos.Sight.Status != want {
				t.Errorf("the part is %s (%s), want %s", s.Repos.Sight.Status, s.Repos.Sight.Why, want)
			}
		})
	}
}

// A repository that was only discovered is not forgotten when git and the agent
// in it go away at once; it is when a look with git sees that nothing is left.
func TestGitGoesAway(t *testing.T) {
	r := gittest.New(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	link := func() {
		if err := os.Symlink(real, bin+"/git"); err != nil {
			t.Fatal(err)
		}
	}
	link()
	t.Setenv("PATH", bin)
	stands := []string{r.Top}
	p, err := git.New(git.Options{Standing: nobody, Holding: nothing, Discover: func() []string { return stands }})
	if err != nil {
		t.Fatal(err)
	}
	if seen := lookAgain(t, p); len(seen.Repos) != 1 {
		t.Fatalf("seen %+v", seen)
	}
	stands = nil
	os.Remove(bin + "/git")
	for range 2 {
		if put, err := p.Look(t.Context()); put != nil || err == nil || errors.Is(err, observe.ErrAbsent) {
			t.Fatalf("git went away: %v", err)
		}
	}
	link()
	if seen := lookAgain(t, p); len(seen.Repos) != 0 {
		t.Fatalf("seen %+v", seen)
	}
	os.Remove(bin + "/git")
	if _, err := p.Look(t.Context()); !errors.Is(err, observe.ErrAbsent) {
		t.Errorf("nothing is left: %v", err)
	}
}

// A glob that matches too much is cut and named; the next one is still seen.
func TestTooManyMatches(t *testing.T) {
	dir := t.TempDir()
	for i := range 5000 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := gittest.New(t)
	top := r.Worktree("app-worktree-1")
	p, err := git.New(git.Options{Repos: []string{dir + "/[0-8]*"}, Worktrees: []string{dir + "/*", r.Dir + "/*-worktree-*"}, Standing: nobody, Holding: nothing})
	if err != nil {
		t.Fatal(err)
	}
	put, err := p.Look(t.Context())
	if err == nil || put == nil || !strings.Contains(err.Error(), dir+`/*" 5000 match, and 2000 are`) || strings.Contains(err.Error(), "worktree") {
		t.Fatalf("5000 matches: %v", err)
	}
	var s fleet.Snapshot
	put(&s)
	if w := worktree(t, s.Repos.Value, top); w.Owner != fleet.OwnerConfigured {
		t.Errorf("%+v", w)
	}
}

// counting returns a git that writes a line for each call.
func counting(t *testing.T) (*sysgit.Reader, func() int) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho >> %s/calls\nexec %s \"$@\"\n", dir, real)
	if err := os.WriteFile(dir+"/git", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return sysgit.New(sysgit.Options{Binary: dir + "/git"}), func() int {
		b, _ := os.ReadFile(dir + "/calls")
		os.Remove(dir + "/calls")
		return len(b)
	}
}

func TestAnIdleLookCostsLittleAndMissesNothing(t *testing.T) {
	r := gittest.New(t)
	var tops []string
	for i := range 4 {
		tops = append(tops, r.Worktree(fmt.Sprint("w", i)))
	}
	r.Write(tops[3]+"/x/target/f", "x") // output deep inside: no top folder notices when it goes
	r.Write(tops[3]+"/x/Cargo.toml", "")
	r.Git(tops[3], "add", ".")
	r.Git(tops[3], "commit", "-q", "-m", "x")
	reader, calls := counting(t)
	now := time.Now()
	p, err := git.New(git.Options{Repos: []string{r.Top}, Standing: nobody, Holding: nothing, Git: reader, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	lookAgain(t, p)
	first := calls()
	lookAgain(t, p)
	if idle := calls(); idle > 2 || first < 20 {
		t.Errorf("an idle look ran git %d times, the first %d times", idle, first)
	}
	r.Write(tops[0]+"/new", "x")
	r.Commit(tops[1], "c", "c")
	os.RemoveAll(tops[3] + "/x/target")
	seen := lookAgain(t, p)
	if worktree(t, seen, tops[0]).Untracked.Or(0) != 1 || worktree(t, seen, tops[1]).Merged.Or(true) || len(worktree(t, seen, tops[3]).Bulk.Or(nil)) != 0 {
		t.Errorf("changes were missed: %+v", seen.Worktrees)
	}
	r.Git(r.Top, "merge", "-q", "--ff-only", "w1")
	if seen = lookAgain(t, p); !worktree(t, seen, tops[1]).Merged.Or(false) {
		t.Error("a merge was missed")
	}
	calls()
	now = now.Add(3 * time.Hour)
	if lookAgain(t, p); calls() < 20 {
		t.Error("old answers were kept")
	}
}

func TestRebaseAndCrash(t *testing.T) {
	r := gittest.New(t)
	top := r.Rebase("w")
	crashed := r.Worktree("c")
	r.Write(crashed+"/.worktree-preserved", "")
	now := time.Now().Add(2 * time.Hour)
	seen := look(t, git.Options{Repos: []string{r.Top}, Standing: nobody, Holding: nothing, Crashed: []string{".worktree-preserved"}, Now: func() time.Time { return now }})
	if w := worktree(t, seen, top); w.Operation.Or("") != "rebase" || w.Branch.Or("?") != "" || w.Removable.Or(true) {
		t.Errorf("rebase %+v", w)
	}
	if w := worktree(t, seen, crashed); !w.Crashed || time.Duration(w.CrashedAge.Or(0)).Round(time.Minute) != 2*time.Hour || w.Untracked.Or(-1) != 0 || w.Removable.Or(true) {
		t.Errorf("crashed %+v", w)
	}
	_, _ = r.Try(r.Top, "rebase", "w")
	seen = look(t, git.Options{Repos: []string{r.Top}, Standing: nobody, Holding: nothing, Now: func() time.Time { return now }})
	if repo := seen.Repos[0]; repo.Operation.Or("") != "rebase" || time.Duration(repo.OperationAge.Or(0)).Round(time.Minute) != 2*time.Hour {
		t.Errorf("repo in a rebase %+v", repo)
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []git.Options{{Every: "soon"}, {Keep: "-1m"}} {
		if _, err := git.New(o); err == nil || !strings.Contains(err.Error(), "cannot read") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// Every path and glob that cannot be used is named with its key, all at once.
func TestBadPlaces(t *testing.T) {
	repos := []string{"/tmp/nope", "~/src/*", "[", "rel/path", "/srv/[", "~root/x", "", "/srv/**/x"}
	_, err := git.New(git.Options{Home: "/home/x", Repos: repos, Worktrees: []string{"./w-*", "/tmp/[a-"}, Pinned: []string{"main", "/p/[]"}, Crashed: []string{"[x"}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`"[" in repos`, `"rel/path" in repos`, `"/srv/[" in repos`, `"~root/x" in repos`, `"" in repos`, `"/srv/**/x" in repos`,
		`"./w-*" in worktrees`, `"/tmp/[a-" in worktrees`, `"main" in pinned`, `"/p/[]" in pinned`, `"[x" in crashed`, "begins with / or ~/", "syntax error"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not say %s", err, want)
		}
	}
	for _, fine := range []string{"/tmp/nope", "~/src"} {
		if strings.Contains(err.Error(), fine) {
			t.Errorf("%v: refuses %s", err, fine)
		}
	}
	if _, err := git.New(git.Options{Pinned: []string{"~/x"}}); err == nil || !strings.Contains(err.Error(), "home") {
		t.Errorf("no home: %v", err)
	}
}

// A glob of folders takes no file for a repository: Gas Town's polecats/*/* finds
// those of a polecat that works in polecats/NAME itself.
func TestFilesAreNoRepositories(t *testing.T) {
	r := gittest.New(t)
	r.Write(r.Dir+"/rig/polecats/nux/README.md", "x")
	r.Write(r.Dir+"/rig/polecats/.gitkeep", "")
	r.Write(r.Dir+"/rig/refinery/notes.txt", "x")
	o := git.Options{Repos: []string{r.Dir + "/*/refinery/*"}, Worktrees: []string{r.Dir + "/*/polecats/*", r.Dir + "/*/polecats/*/*", r.Dir + "/*/polecats/.*"}, Standing: nobody, Holding: nothing}
	if seen := look(t, o); len(seen.Repos) != 0 || len(seen.Worktrees) != 0 {
		t.Errorf("repos %+v, worktrees %+v", seen.Repos, seen.Worktrees)
	}
	o.Repos = []string{r.Dir + "/rig/refinery/notes.txt"}
	if seen := look(t, o); len(seen.Repos) != 1 || seen.Repos[0].Branch.IsKnown() {
		t.Errorf("a file that is named as a repository: %+v", seen.Repos)
	}
}

func TestHome(t *testing.T) {
	r := gittest.New(t)
	mine := r.Worktree("app-worktree-1")
	repos := []string{"~/" + filepath.Base(r.Top) + "/"}
	o := git.Options{Home: r.Dir, Repos: repos, Worktrees: []string{"~/*-worktree-*"}, Pinned: []string{"~/*"}, Standing: nobody, Holding: nothing}
	seen := look(t, o)
	if len(seen.Repos) != 1 || seen.Repos[0].Path != fleet.Path(r.Top) || !seen.Repos[0].Pinned || seen.Repos[0].Owner != fleet.OwnerConfigured {
		t.Errorf("repos %+v", seen.Repos)
	}
	o.Repos = nil
	if w := worktree(t, look(t, o), mine); w.Owner != fleet.OwnerConfigured {
		t.Errorf("worktree %+v", w)
	}
	if !strings.HasPrefix(repos[0], "~/") {
		t.Error("the caller's list was changed")
	}
}

// The same worktrees are followed at each look, however many come before them by
// name, and files beside them take nobody's place.
func TestTheSameWorktreesAreFollowed(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("m-worktree-1")
	dir := filepath.Dir(top)
	p, err := git.New(git.Options{Worktrees: []string{dir + "/*"}, Standing: nobody, Holding: nothing})
	if err != nil {
		t.Fatal(err)
	}
	worktree(t, lookAgain(t, p), top)
	for i := range 2001 {
		if err := os.WriteFile(fmt.Sprintf("%s/a%d", dir, i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(fmt.Sprintf("%s/b%d", dir, i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put, err := p.Look(t.Context())
	if put == nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	worktree(t, s.Repos.Value, top)
	var cut observe.Cut
	if !errors.As(err, &cut) || strings.Contains(err.Error(), " 40") {
		t.Errorf("the look says %v, want it cut, and of the folders alone", err)
	}
}

// A worktree that an agent of ours crashed in was kept after a crash, as one with a mark
// in it was: its day begins when nobody comes back to it any more.
func TestAWorktreeThatAnAgentCrashedIn(t *testing.T) {
	r := gittest.New(t)
	work, marked, gone := r.Worktree("work"), r.Worktree("marked"), r.Worktree("gone")
	r.Write(work+"/new.txt", "untracked")
	r.Write(marked+"/.custos-crashed", "")
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	now, since := time.Now(), time.Hour
	p, err := git.New(git.Options{Repos: []string{r.Top}, Standing: nobody, Holding: nothing, Now: func() time.Time { return now },
		CrashedIn: func() map[string]time.Time {
			then := now.Add(-since)
			return map[string]time.Time{work: then, marked: then, gone: then}
		}})
	if err != nil {
		t.Fatal(err)
	}
	w := worktree(t, lookAgain(t, p), work)
	if !w.Crashed || w.CrashedAge.Or(0) != fleet.Duration(time.Hour) || w.Removable.Or(true) {
		t.Errorf("in its day: %+v", w)
	}
	since = 25 * time.Hour
	seen := lookAgain(t, p)
	if w := worktree(t, seen, work); w.CrashedAge.Or(0) != fleet.Duration(25*time.Hour) || !w.Removable.Or(false) {
		t.Errorf("after its day: %+v", w)
	}
	if w := worktree(t, seen, marked); w.CrashedAge.Or(fleet.Duration(time.Hour)) >= fleet.Duration(time.Hour) || w.Removable.Or(true) {
		t.Errorf("marked just now: %+v", w)
	}
	if w := worktree(t, seen, gone); w.Crashed {
		t.Errorf("whose folder is gone: %+v", w)
	}
}
