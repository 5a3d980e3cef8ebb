package daemon_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
	"custos/internal/daemon"
	"custos/internal/sys/gittest"
)

// mergeGate is a gate that writes down what it passes, and fails where there is something bad;
// the daemon may be killed as it begins and ends: see mergeTown.arm.
const mergeGate = `[merge.shop]
repo = "DIR/shop/repo"
target = "main"
batch = %d
wait = "%s"
[[merge.shop.gate]]
name = "check"
script = '''
%s
echo run >> DIR/gates
if grep -rq bad --include='f*' .; then exit 1; fi
git rev-parse 'HEAD^{tree}' >> DIR/passed
%s
'''
`

// mergeTown is a town with a merge queue, a repository and a remote. Each git that its daemon
// starts is written down, and may be where the daemon is killed.
type mergeTown struct {
	*town
	repo *gittest.Repo
}

// spy runs git as it is, writes down what it is asked, and kills whoever asks where the next line
// of the file arm begins with "before", "after" or "late" and the rest is among the arguments.
const spy = `#!/bin/sh
echo "$*" >> DIR/asked
comes() {
	read -r mode what < DIR/arm && [ "$(cat DIR/pid)" = "$PPID" ] || return 1
	case "$*" in *"$what"*) mkdir DIR/taken 2> /dev/null ;; *) return 1 ;; esac
}
if [ -s DIR/arm ] && comes "$@"; then
	tail -n +2 DIR/arm > DIR/rest; mv DIR/rest DIR/arm; rmdir DIR/taken
	case $mode in
	before) kill -9 $PPID; exit 1 ;;
	after) GIT "$@"; code=$?; kill -9 $PPID; exit $code ;;
	late) kill -9 $PPID; sleep 0.5 ;;
	esac
fi
exec GIT "$@"
`

// dies is how a gate kills the daemon; it goes on when there is another one.
func dies(when string) string {
	return `if [ "$(head -n 1 DIR/arm 2> /dev/null)" = "gate ` + when + `" ]; then
	tail -n +2 DIR/arm > DIR/rest; mv DIR/rest DIR/arm
	old=$(cat DIR/pid); kill -9 $old; while [ "$(cat DIR/pid)" = $old ]; do sleep 0.05; done
fi`
}

// newMergeTown has the queue of mergeGate, with more keys of it.
func newMergeTown(t *testing.T, batch int, wait string, more ...string) *mergeTown {
	t.Helper()
	text := fmt.Sprintf(mergeGate, batch, wait, dies("begins"), dies("ends"))
	return foundMergeTown(t, strings.Replace(text, "[[merge.shop.gate]]", strings.Join(append(more, "[[merge.shop.gate]]"), "\n"), 1))
}

// foundMergeTown has a queue as a text says; files, by their names, are on main.
func foundMergeTown(t *testing.T, text string, files ...string) *mergeTown {
	t.Helper()
	w := &mergeTown{town: foundTown(t, "")}
	at := strings.NewReplacer("DIR", w.dir, "GIT", realGit(t))
	file := filepath.Join(w.dir, "custos.toml")
	head, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(head, at.Replace(text)...), 0o600)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(w.dir, "bin"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(w.dir, "bin", "git"), []byte(at.Replace(spy)), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := gittest.New(t)
	if err := os.MkdirAll(filepath.Join(w.dir, "shop"), 0o755); err == nil {
		err = os.CopyFS(filepath.Join(w.dir, "shop"), os.DirFS(r.Dir))
	}
	r.Dir, r.Top = filepath.Join(w.dir, "shop"), filepath.Join(w.dir, "shop", "repo")
	if w.repo = r; err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(files); n += 2 {
		r.Commit(r.Top, files[n], files[n+1])
		r.Git(r.Top, "push", "-q", "origin", "main")
	}
	w.start()
	return w
}

func realGit(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// ignite starts the daemon, beside a git that is spied on, and does not wait for it.
func (w *mergeTown) ignite() {
	w.Helper()
	if w.said == nil {
		w.said = &writer{}
	}
	w.up = exec.Command("sh", "-c", `echo $$ > "$0"; exec "$@"`, filepath.Join(w.dir, "pid"), filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "up")
	w.up.Env = append(os.Environ(), "HOME="+w.dir, "PATH="+filepath.Join(w.dir, "bin")+":"+filepath.Dir(agenttest.Build(w))+":"+os.Getenv("PATH"))
	w.up.Stdout, w.up.Stderr = w.said, w.said
	if err := w.up.Start(); err != nil {
		w.Fatal(err)
	}
}

func (w *mergeTown) start() {
	w.Helper()
	w.ignite()
	await(w.T, w.said.String, func() bool { s, err := status(w.Context(), w.cfg); return err == nil && s.Patrols > 0 })
}

// branch makes one with a file of its own.
func (w *mergeTown) branch(name, file, content string) (commit string) {
	w.Helper()
	top := filepath.Join(w.repo.Dir, name)
	w.repo.Git(w.repo.Top, "worktree", "add", "-q", "-b", name, top, "main")
	commit = w.repo.Commit(top, file, content)
	w.repo.Git(w.repo.Top, "worktree", "remove", "--force", top)
	return commit
}

func (w *mergeTown) add(branch string, work ...string) api.Merge {
	w.Helper()
	c := w.client()
	defer c.Close()
	m, err := c.AddMerge(w.Context(), api.MergeRequest{Branch: branch, Queue: "shop", Work: work})
	if err != nil {
		w.Fatalf("%v\n%s", err, w.said)
	}
	return m
}

// items are all of the queue, by their branches; false while no daemon tells.
func (w *mergeTown) items() (map[string]api.Merge, bool) {
	c, err := api.Dial(w.Context(), daemon.Socket(w.cfg))
	if err != nil {
		return nil, false
	}
	defer c.Close()
	list, err := c.Merges(w.Context(), "", true)
	out := map[string]api.Merge{}
	for _, m := range list.Merges {
		out[m.Source] = m
	}
	return out, err == nil
}

// awaitOver waits until nothing is under way any more.
func (w *mergeTown) awaitOver() (all map[string]api.Merge) {
	w.Helper()
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", all, w.said) }, func() bool {
		is, ok := w.items()
		if !ok {
			return false
		}
		for _, m := range is {
			if m.State == "waiting" {
				all = is
				return false
			}
		}
		all = is
		return true
	})
	return all
}

// isClean checks that nothing is left of any group: no worktree, ref, process, folder.
func (w *mergeTown) isClean() {
	w.Helper()
	var left []string
	await(w.T, func() string { return fmt.Sprintf("left: %v\n%s", left, w.said) }, func() bool {
		left = nil
		for line := range strings.Lines(w.repo.Git(w.repo.Top, "worktree", "list", "--porcelain")) {
			if path, is := strings.CutPrefix(strings.TrimSpace(line), "worktree "); is && path != w.repo.Top {
				left = append(left, path)
			}
		}
		left = append(left, strings.Fields(w.repo.Git(w.repo.Top, "for-each-ref", "--format=%(refname)", "refs/custos/"))...)
		folders, _ := filepath.Glob(filepath.Join(w.dir, "s", "merge", "shop", "*"))
		return len(append(left, folders...)) == 0
	})
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if b, _ := os.ReadFile(f); strings.Contains(string(b), "CUSTOS_RUN_ID=merge-") {
			w.Errorf("a process of a gate is left: %s", f)
		}
	}
}

// landed checks the remote: each of these branches' commits is in it, by one merge each; and each
// commit that main stood at has passed the gates.
func (w *mergeTown) landed(commits map[string]string) {
	w.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "passed"))
	if err != nil {
		w.Fatal(err)
	}
	passed := strings.Fields(string(b))
	log := w.repo.Git("origin.git", "log", "--first-parent", "--format=%T %s%n%b", "main")
	history := w.repo.Git("origin.git", "rev-list", "main")
	for branch, commit := range commits {
		if n := strings.Count(log, "Merge "+branch+":"); n != 1 || strings.Count(history, commit) != 1 {
			w.Errorf("%s: %d merges; its commit is there %d times", branch, n, strings.Count(history, commit))
		}
	}
	if n := strings.Count(w.repo.Git("origin.git", "rev-list", "--merges", "main"), "\n") + 1; n != len(commits) {
		w.Errorf("%d merges, want %d: %s", n, len(commits), log)
	}
	landed := w.landings()
	for _, l := range landed {
		if tree := w.repo.Git("origin.git", "rev-parse", l+"^{tree}"); !slices.Contains(passed, tree) {
			w.Errorf("main stood at %s, whose tree has passed nothing", l)
		}
	}
	if len(landed) == 0 || landed[len(landed)-1] != w.repo.Git("origin.git", "rev-parse", "main") {
		w.Errorf("main stands at none of %v", landed)
	}
}

// landings are the commits that main was moved to, by the remote's own word.
func (w *mergeTown) landings() (commits []string) {
	b, _ := os.ReadFile(filepath.Join(w.repo.Dir, "origin.git", "logs", "refs", "heads", "main"))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 {
			commits = append(commits, f[1])
		}
	}
	return commits
}

func (w *mergeTown) count(name string) int {
	b, _ := os.ReadFile(filepath.Join(w.dir, name))
	return strings.Count(string(b), "\n")
}

// Eight branches, of which one fails and one conflicts: what docs/merge.md promises comes about,
// no model is called, and nobody's checkout is touched.
func TestMerge(t *testing.T) {
	w := newMergeTown(t, 8, "2s")
	w.repo.Git("origin.git", "config", "core.logAllRefUpdates", "always")
	c := w.client()
	work, err := c.AddWork(t.Context(), api.WorkRequest{Title: "the third"})
	if err != nil {
		t.Fatal(err)
	}
	w.repo.Write(filepath.Join(w.repo.Top, "README"), "dirty\n")
	commits := map[string]string{}
	for n := 1; n <= 8; n++ {
		name, file, text := fmt.Sprint("b", n), fmt.Sprint("f", n), "good\n"
		switch n {
		case 5:
			text = "bad\n"
		case 7:
			file = "a.txt"
		}
		commits[name] = w.branch(name, file, text)
	}
	other := filepath.Join(w.repo.Dir, "other")
	w.repo.Git(w.repo.Dir, "clone", "-q", "origin.git", "other")
	w.repo.Commit(other, "a.txt", "theirs\n")
	w.repo.Git(other, "push", "-q", "origin", "main")
	for n := 1; n <= 8; n++ {
		var refs []string
		if n == 3 {
			refs = []string{work.Ref}
		}
		w.add(fmt.Sprint("b", n), refs...)
	}
	all := w.awaitOver()
	for name, m := range all {
		want := "merged"
		switch name {
		case "b5":
			want = "failed"
		case "b7":
			want = "conflict"
		}
		if m.State != want {
			t.Errorf("%s is %s: %s; want %s", name, m.State, m.Why, want)
		}
	}
	if m := all["b7"]; !slices.Equal(m.Files, []string{"a.txt"}) {
		t.Errorf("%+v", m)
	}
	if m := all["b5"]; !strings.Contains(m.Why, "check failed on "+m.ID+" alone, and the gates pass on main without it") {
		t.Errorf("%q", m.Why)
	}
	delete(commits, "b5")
	delete(commits, "b7")
	w.landedSince(commits, 1)
	w.isClean()
	if got, err := c.WorkItem(t.Context(), work.Ref); err != nil || got.State != "closed" {
		t.Errorf("%+v, %v", got, err)
	}
	w.mailed(all)
	if b, err := os.ReadFile(filepath.Join(w.repo.Top, "README")); err != nil || string(b) != "dirty\n" {
		t.Errorf("%q, %v", b, err)
	}
	w.idles()
}

// landedSince is landed, where the first commits that main was moved to are another's.
func (w *mergeTown) landedSince(commits map[string]string, others int) {
	w.Helper()
	for _, l := range w.landings()[:others] {
		w.passed(w.repo.Git("origin.git", "rev-parse", l+"^{tree}"))
	}
	w.landed(commits)
}

// passed takes a tree for one that has passed.
func (w *mergeTown) passed(tree string) {
	w.Helper()
	f, err := os.OpenFile(filepath.Join(w.dir, "passed"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(tree + "\n")
		_ = f.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}

// mailed checks that of each item one mail was written, to who added it.
func (w *mergeTown) mailed(all map[string]api.Merge) {
	w.Helper()
	list, err := w.client().Mails(w.Context(), "overseer", true)
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range all {
		var of []api.Mail
		for _, l := range list.Mail {
			if l.About == m.ID {
				of = append(of, l)
			}
		}
		if len(of) != 1 || of[0].Type != "merge_result" || !strings.Contains(of[0].Subject, m.Source) {
			w.Errorf("%s is %s, and the mails about it are %+v", m.ID, m.State, of)
		}
	}
}

// idles checks that a queue in which nothing waits starts no git and no gate, whatever is
// looked at. Other parts of Custos look at repositories; none of them asks this of a queue.
func (w *mergeTown) idles() {
	w.Helper()
	var before int
	asked := func() []byte {
		before = w.count("gates")
		if err := os.Truncate(filepath.Join(w.dir, "asked"), 0); err != nil {
			w.Fatal(err)
		}
		for range 3 {
			if _, err := w.client().Patrol(w.Context(), api.PatrolOrder{}); err != nil {
				w.Fatal(err)
			}
		}
		b, _ := os.ReadFile(filepath.Join(w.dir, "asked"))
		return b
	}
	await(w.T, w.said.String, func() bool { return len(asked()) == 0 }) // what was under way makes sure that it is clean
	if b := asked(); len(b) > 0 || w.count("gates") != before {
		w.Errorf("an idle queue asks git: %s; gates ran %d times", b, w.count("gates")-before)
	}
}

// boundaries are where the daemon is killed, in the order in which they come when one branch
// lands: as an action was written down and has not begun, between each two of its steps, as it
// ended and nobody has taken note, as a gate runs.
var boundaries = []string{
	"before ls-remote", "after merge-tree", "after commit-tree", "before update-ref --no-deref --end-of-options refs/custos", "after update-ref --no-deref --end-of-options refs/custos",
	"before worktree add", "after worktree add", "late worktree add", "after rev-parse --verify --quiet HEAD^{commit}", "gate begins", "gate ends", "before ^{tree}", "after ls-remote", "before push", "late push", "after push", "after merge-base --is-ancestor",
	"before worktree list", "before worktree remove", "after worktree remove", "before update-ref --no-deref -d", "after update-ref --no-deref -d", "after worktree list",
}

// arm has the daemon killed at these boundaries, one after the other.
func (w *mergeTown) arm(at ...string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "arm"), []byte(strings.Join(at, "\n")+"\n"), 0o600); err != nil {
		w.Fatal(err)
	}
}

// killed starts another daemon whenever one is killed, until all is over, and returns how
// many were.
func (w *mergeTown) killed() (kills int) {
	w.Helper()
	await(w.T, func() string {
		all, _ := w.items()
		told, _ := w.says("feed")
		return fmt.Sprintf("armed: %s\n%+v\n%s\n%s", w.armed(), all, told, w.said)
	}, func() bool {
		if !runs(w.up.Process.Pid) {
			_ = w.up.Wait()
			kills++
			w.ignite()
		}
		return w.armed() == "" && w.isOver()
	})
	return kills
}

// addSomehow adds a branch to a daemon that may die of it before it answers.
func (w *mergeTown) addSomehow(branch string) {
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
	defer cancel()
	if c, err := api.Dial(ctx, daemon.Socket(w.cfg)); err == nil {
		_, _ = c.AddMerge(ctx, api.MergeRequest{Branch: branch, Queue: "shop"})
		c.Close()
	}
}

// armed is where the daemon is still to be killed.
func (w *mergeTown) armed() string {
	b, _ := os.ReadFile(filepath.Join(w.dir, "arm"))
	return strings.TrimSpace(string(b))
}

func (w *mergeTown) isOver() bool {
	all, ok := w.items()
	for _, m := range all {
		ok = ok && m.State != "waiting"
	}
	refs := w.repo.Git(w.repo.Top, "for-each-ref", "--format=%(refname)", "refs/custos/")
	return ok && refs == ""
}

// The daemon is killed at each boundary of building, testing, landing and clearing, and another
// one goes on: each branch lands once, what lands has passed, and nothing is left. Quick, one
// landing meets as many boundaries as come after one another; in whole, each boundary has a
// landing of its own, too.
func TestMergeKilledAtEveryBoundary(t *testing.T) {
	w := newMergeTown(t, 1, "0s")
	w.repo.Git("origin.git", "config", "core.logAllRefUpdates", "always")
	commits, kills := map[string]string{}, 0
	land := func(name string, at ...string) {
		commits[name] = w.branch(name, "f-"+name, "good\n")
		w.arm(at...)
		w.addSomehow(name)
		kills += w.killed()
		if all, _ := w.items(); all[name].State == "" { // it died before it had taken that
			w.add(name)
			kills += w.killed()
		}
	}
	land("all", boundaries...)
	if os.Getenv("CUSTOS_TOWN") != "" {
		for n, b := range boundaries {
			land("b"+strconv.Itoa(n), b)
		}
	}
	for name, m := range w.awaitOver() {
		if m.State != "merged" {
			t.Errorf("%s is %s: %s", name, m.State, m.Why)
		}
	}
	w.landed(commits)
	w.isClean()
	w.mailed(w.awaitOver())
	t.Logf("%d landings, %d kills", len(commits), kills)
	if kills < len(boundaries) {
		t.Errorf("%d kills, want one at each of %d boundaries", kills, len(boundaries))
	}
}
