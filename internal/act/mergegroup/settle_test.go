package mergegroup_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/agentrun"
	"custos/internal/act/endstep"
	"custos/internal/act/mergegroup"
	"custos/internal/act/runstep"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/session"
	"custos/internal/session/process"
	"custos/internal/session/sessiontest"
	"custos/internal/sys/shim"
)

// theShim is the shim, built once, beside the first world; TestMain takes it away.
var theShim = sync.OnceValues(func() (string, error) {
	dir, err := first()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir+"-bin", shim.Program)
	cmd := exec.Command("go", "build", "-o", binary, "custos/cmd/custos-shim")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return binary, cmd.Run()
})

// remaking is a world whose go.sum is made anew by a script, and a builder that can run it.
type remaking struct {
	*world
	x     act.Action // builds
	start act.Action // starts commands
	clear act.Action
}

func newRemaking(t *testing.T, script string, files ...string) *remaking {
	t.Helper()
	w := newWorld(t)
	w.q.Runs = fleet.Path(filepath.Join(w.Dir, "runs"))
	w.q.Regenerate = []fleet.MergeRegenerate{{Files: files, Argv: []string{"/bin/sh", "-ec", script}, Timeout: fleet.Duration(20 * time.Second), Env: []string{"REMADE"}}}
	binary, err := theShim()
	if err != nil {
		t.Fatal(err)
	}
	start, err := runstep.New(runstep.Options{Environ: func() []string { return append(os.Environ(), "REMADE=yes", "SECRET=s3cret") }, Open: func(root string) (session.Provider, error) {
		return process.New(process.Options{Root: root, Shim: binary, Start: "30s"})
	}})
	if err != nil {
		t.Fatal(err)
	}
	end, err := endstep.New(endstep.Options{Term: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	o := mergegroup.Options{Start: start, End: end}
	r := &remaking{w, mergegroup.NewBuilder(o), start, mergegroup.NewClearer(o)}
	t.Cleanup(func() {
		steps, _ := filepath.Glob(filepath.Join(w.Dir, "runs", "*", "steps", "*"))
		for _, dir := range steps {
			sessiontest.End(t, dir)
		}
	})
	return r
}

// conflicting is an item whose go.sum conflicts with main, and which changes another file.
func (r *remaking) conflicting(name string) fleet.MergeItem {
	r.T.Helper()
	start := r.Git(r.Top, "rev-parse", "refs/remotes/origin/main")
	r.from(start, name, name+".go", name+"\n")
	i := r.from("refs/heads/"+name, name, "go.sum", "of "+name+"\n")
	r.clone("go.sum", "of main\n")
	return i
}

func (r *remaking) made(t *fleet.MergeTarget) fleet.MergeOutcome {
	r.T.Helper()
	before := r.checkout()
	o, err := try(r.T.(*testing.T).Context(), r.x, action(mergegroup.Build, t))
	if err != nil {
		r.T.Fatal(err)
	}
	if after := r.checkout(); after != before {
		r.T.Errorf("the checkout was touched:\n%s\nwas:\n%s", after, before)
	}
	return o
}

// The file that conflicts is made anew from the target's, and what is merged is tested as it came of that.
func TestAFileIsMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRemaking(t, `printf '%s and %s of %s%s\n' "$(cat go.sum)" "$(cat one.go)" "$REMADE" "$SECRET" > go.sum`, "go.sum")
	i := r.conflicting("one")
	target := r.target(i)
	o := r.made(target)
	if len(o.Left) > 0 || o.Commit == "" || len(o.Settled) != 1 || !slices.Equal(o.Settled[0].Again, []string{"go.sum"}) || o.Settled[0].ID != i.ID {
		t.Fatalf("%+v", o)
	}
	if text := r.Git(r.Top, "show", o.Commit+":go.sum"); text != "of main and one of yes" {
		t.Errorf("go.sum: %q", text)
	}
	if text := r.Git(r.Top, "show", "-s", "--format=%B", o.Commit); !strings.Contains(text, "\nMade anew: go.sum") {
		t.Errorf("%q", text)
	}
	if parents := r.Git(r.Top, "show", "-s", "--format=%P", o.Commit); parents != o.Base+" "+i.Commit {
		t.Errorf("parents: %s", parents)
	}
	text, err := os.ReadFile(filepath.Join(fleet.RawPath(o.Worktree), "go.sum"))
	if err != nil || string(text) != "of main and one of yes\n" {
		t.Errorf("the gates see %q, %v", text, err)
	}
	target.Group.Commit, target.Group.Worktree, target.Group.State = o.Commit, o.Worktree, fleet.GroupLanded
	r.isCleared(target)
}

// What a command does otherwise leaves the item with its author, and says so.
func TestACommandThatDoesNotMakeItAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, why string
		files       []string
	}{
		"another file":      {"echo new > go.sum; echo x > README", "changed other files, too: README", []string{"go.sum"}},
		"fails":             {"echo no such module >&2; exit 3", "failed: status 3: no such module", []string{"go.sum"}},
		"is killed":         {"kill -9 $$", "failed: signal 9", []string{"go.sum"}},
		"a link":            {"ln -sf /etc/passwd go.sum", "left what cannot be merged", []string{"go.sum"}},
		"not named":         {"echo new > go.sum", "it conflicts with main of origin in go.sum", []string{"other"}},
		"in a lower folder": {"echo new > go.sum", "it conflicts with main of origin in go.sum", []string{"*/go.sum"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemaking(t, c.script, c.files...)
			o := r.made(r.target(r.conflicting("one")))
			if l := r.leaves(o, fleet.MergeConflict, c.why); !slices.Equal(l.Files, []string{"go.sum"}) || o.Settled != nil {
				t.Errorf("%+v", o)
			}
			if left := r.worktrees(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A program that is not there is told of as one that fails.
func TestACommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRemaking(t, "", "go.sum")
	r.q.Regenerate[0].Argv = []string{"no-such-program"}
	r.leaves(r.made(r.target(r.conflicting("one"))), fleet.MergeConflict, "could not be started")
}

// One that hangs is ended at its time, and so is what a command leaves running.
func TestNothingOfACommandRunsOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		timeout time.Duration
		why     string
	}{
		"hangs":            {"trap '' TERM; echo $$ > PIDS; sleep 600 & echo $! >> PIDS; wait; sleep 600", 500 * time.Millisecond, "took longer than 500ms"},
		"leaves processes": {"setsid sleep 600 > /dev/null 2>&1 & echo $! > PIDS; echo new > go.sum", 20 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			r := newRemaking(t, strings.ReplaceAll(c.script, "PIDS", pids), "go.sum")
			r.q.Regenerate[0].Timeout = fleet.Duration(c.timeout)
			o := r.made(r.target(r.conflicting("one")))
			if c.why != "" {
				r.leaves(o, fleet.MergeConflict, c.why)
			} else if len(o.Left) > 0 {
				t.Errorf("%+v", o)
			}
			isEnded(t, pids)
		})
	}
}

func isEnded(t *testing.T, pids string) {
	t.Helper()
	text, err := os.ReadFile(pids)
	if err != nil || len(text) == 0 {
		t.Fatalf("it did not run: %q, %v", text, err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, _ := strconv.Atoi(word)
		if stat, err := os.ReadFile("/proc/" + word + "/stat"); err == nil && strings.Contains(string(stat), "sleep") && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %d runs on", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// An action that is given up while a command runs ends that.
func TestWhatIsGivenUpEndsItsCommand(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	r := newRemaking(t, "echo $$ > "+pids+"; exec sleep 600", "go.sum")
	target := r.target(r.conflicting("one"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		r.awaits(ctx, pids)
		cancel()
	}()
	if _, err := try(ctx, r.x, action(mergegroup.Build, target)); err == nil {
		t.Fatal("it was not given up")
	}
	isEnded(t, pids)
	if left := r.worktrees(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// awaits returns once something is written to a file.
func (r *remaking) awaits(ctx context.Context, file string) {
	_ = agentrun.Wait(ctx, time.Minute, func(context.Context) bool {
		text, err := os.ReadFile(file)
		return err == nil && len(text) > 0
	})
}

// cutOff leaves what a Custos does that is killed while a command runs: the command, which runs on under its shim, and
// its worktree.
func (r *remaking) cutOff(target *fleet.MergeTarget) (pids string) {
	r.T.Helper()
	top := filepath.Join(fleet.RawPath(r.q.Dir), target.Group.ID+"-1")
	r.Git(r.Top, "worktree", "add", "-q", "--detach", top)
	pids = filepath.Join(r.Dir, "pids")
	q := target.Queue
	q.Regenerate = []fleet.MergeRegenerate{{Argv: []string{"/bin/sh", "-ec", "echo half > go.sum; echo $$ > " + pids + "; exec sleep 600"}}}
	t := ledger.MakeAnew(q, target.Group, 0, fleet.Path(top))
	t.Attempt = 1
	acttest.Do(r.T.(*testing.T), r.start, fleet.Action{ID: "a", Do: runstep.Do, Target: fleet.Target{Step: &t}})
	r.awaits(r.T.Context(), pids)
	return pids
}

// A Custos that is killed while a command runs leaves nothing half: the next one ends that, and builds anew.
func TestWhatAKilledCustosBeganIsMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRemaking(t, "echo whole > go.sum", "go.sum")
	target := r.target(r.conflicting("one"))
	pids := r.cutOff(target)
	o := r.made(target)
	if len(o.Left) > 0 || r.Git(r.Top, "show", o.Commit+":go.sum") != "whole" {
		t.Errorf("%+v", o)
	}
	isEnded(t, pids)
}

// The same where the group was given up meanwhile: clearing ends it.
func TestWhatAKilledCustosBeganIsMadeAnewNoMore(t *testing.T) {
	t.Parallel()
	r := newRemaking(t, "true", "go.sum")
	target := r.target(r.conflicting("one"))
	pids := r.cutOff(target)
	target.Group.State = fleet.GroupDropped
	if _, err := try(t.Context(), r.clear, action(mergegroup.Clear, target)); err != nil {
		t.Error(err)
	}
	isEnded(t, pids)
	if left := r.worktrees(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Building that makes files anew keeps what every action promises.
func TestMakingAnewConforms(t *testing.T) {
	t.Parallel()
	acttest.Test(t, acttest.Case{
		Action: newRemaking(t, "true", "go.sum").x,
		Setup: func(t *testing.T) fleet.Action {
			r := newRemaking(t, "echo new > go.sum", "go.sum")
			return action(mergegroup.Build, r.target(r.conflicting("one")))
		},
		Fingerprint: all, Repeats: true,
		Changed: map[string]func(*testing.T, fleet.Action){"repository gone": gone},
	})
}

// Two items of one group whose go.sum conflicts with each other's are both in the group.
func TestTwoItemsWhoseFilesAreMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRemaking(t, "cat *.go > go.sum", "go.sum")
	one, two := r.branch("one", "one.go", "one\n"), r.branch("two", "two.go", "two\n")
	one = r.from("refs/heads/one", "one", "go.sum", "one\n")
	two = r.from("refs/heads/two", "two", "go.sum", "two\n")
	o := r.made(r.target(one, two))
	if len(o.Left) > 0 || len(o.Settled) != 1 || r.Git(r.Top, "show", o.Commit+":go.sum") != "one\ntwo" {
		t.Errorf("%+v", o)
	}
}

// A file that is not named is in conflict, too: nothing is run.
func TestAConflictInAnotherFileIsTheAuthors(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	r := newRemaking(t, "touch "+ran, "go.sum")
	r.conflicting("one")
	i := r.from("refs/heads/one", "one", "main.go", "one\n")
	r.clone("main.go", "main\n")
	l := r.leaves(r.made(r.target(i)), fleet.MergeConflict, "in go.sum, main.go")
	if _, err := os.Lstat(ran); err == nil || len(l.Files) != 2 {
		t.Errorf("%+v; it ran: %v", l, err == nil)
	}
}

// resolved has a person merge a branch and resolve one file by hand, with rerere.
func (w *world) resolved(branch, file, content string) {
	w.T.Helper()
	w.Git(w.Top, "fetch", "-q", "origin")
	top := filepath.Join(w.Dir, "person")
	w.Git(w.Top, "worktree", "add", "-q", "--detach", top, "refs/remotes/origin/main")
	_, _ = w.Try(top, "-c", "rerere.enabled=true", "merge", "-q", branch)
	w.Write(filepath.Join(top, file), content)
	w.Git(top, "-c", "rerere.enabled=true", "commit", "-qam", "by hand")
	w.Git(w.Top, "worktree", "remove", "--force", top)
}

// What a person has once resolved is used where the queue asks for it, beside what is made anew; the lines that they
// dropped are not held against the item, and their records stay as they are.
func TestAPersonsResolutionIsUsedAgain(t *testing.T) {
	t.Parallel()
	r := newRemaking(t, "echo new > go.sum", "go.sum")
	r.conflicting("one")
	i := r.from("refs/heads/one", "one", "main.go", "one\n")
	r.clone("main.go", "main\n")
	r.resolved("one", "main.go", "both\n")
	records := func() string { return acttest.Tree(t, filepath.Join(r.Top, ".git", "rr-cache")) }
	before := records()
	if !strings.Contains(before, "postimage") {
		t.Fatalf("nothing is recorded: %s", before)
	}
	r.leaves(r.made(r.target(i)), fleet.MergeConflict, "in go.sum, main.go")
	r.q.Rerere = true
	o := r.made(r.target(i))
	if len(o.Left) > 0 || len(o.Settled) != 1 || !slices.Equal(o.Settled[0].Recorded, []string{"main.go"}) || !slices.Equal(o.Settled[0].Again, []string{"go.sum"}) {
		t.Fatalf("%+v", o)
	}
	if text := r.Git(r.Top, "show", o.Commit+":main.go"); text != "both" {
		t.Errorf("%q", text)
	}
	if text := r.Git(r.Top, "show", "-s", "--format=%B", o.Commit); !strings.Contains(text, "\nMade anew: go.sum\nResolved as recorded: main.go") {
		t.Errorf("%q", text)
	}
	if after := records(); after != before {
		t.Errorf("the records were touched:\n%s\nwere:\n%s", after, before)
	}
}

// An item that conflicts with one before it, and with the target only in what is settled there, waits.
func TestAConflictThatMayBeSettledLaterWaits(t *testing.T) {
	t.Parallel()
	r := newRemaking(t, "cat *.go > go.sum", "go.sum")
	two := r.conflicting("two")
	two = r.from("refs/heads/two", "two", "main.go", "two\n")
	r.Git(r.Top, "fetch", "-q", "origin")
	one := r.from("refs/remotes/origin/main", "one", "main.go", "one\n")
	o := r.made(r.target(one, two))
	if l := r.leaves(o, fleet.MergeWaiting, "what is merged before it"); l.ID != two.ID {
		t.Errorf("%+v", o)
	}
}
