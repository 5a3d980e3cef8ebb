package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// desk is a journal beside a real repository with a real remote.
type desk struct {
	*gittest.Repo
	t       *testing.T
	journal Dir
}

func newDesk(t *testing.T) *desk {
	r := gittest.New(t)
	return &desk{Repo: r, t: t, journal: Dir(filepath.Join(r.Dir, "journal"))}
}

func (d *desk) ops(change func(*OpsOptions)) *Ops {
	read := git.New(git.Options{})
	o := OpsOptions{Journal: d.journal, Repo: d.Top, Push: true, Folder: "journal/box", Name: "Custos of box", Email: "custos@box.example",
		Read: read, Write: git.NewWriter(read, git.WriterOptions{})}
	if change != nil {
		change(&o)
	}
	return NewOps(o)
}

func (d *desk) append(o *Ops, day int, entry string) {
	d.t.Helper()
	if err := o.Append(fleet.Instant{Wall: time.Date(2026, 11, day, 9, 0, 0, 0, time.UTC)}, entry); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) commit(o *Ops) {
	d.t.Helper()
	if err := o.Flush(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// origin is a file of the remote's main branch; "" when it is not there.
func (d *desk) origin(file string) string {
	out, err := d.Try("origin.git", "cat-file", "blob", "main:"+file)
	if err != nil {
		return ""
	}
	return out
}

// state is everything about a checkout that a person would miss.
func (d *desk) state() string {
	d.t.Helper()
	index, err := os.ReadFile(filepath.Join(d.Top, ".git/index"))
	if err != nil {
		d.t.Fatal(err)
	}
	return fmt.Sprintf("%x\n%s\n%s\n%s", index, d.Git(d.Top, "status", "--porcelain=v2", "--branch"), d.Git(d.Top, "stash", "list"),
		d.Git(d.Top, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/remotes", "refs/tags"))
}

// The day's file gets onto the remote's branch, by the committer that is
// configured, and a person's dirty checkout is left as it is, to the last bit.
func TestOpsPushesAndTouchesNothing(t *testing.T) {
	d := newDesk(t)
	d.Write("repo/a.txt", "half-written\n")
	d.Write("repo/new", "untracked\n")
	d.Write("repo/README", "staged\n")
	d.Git(d.Top, "add", "README")
	d.Git(d.Top, "checkout", "-q", "-b", "topic")
	before := d.state()
	o := d.ops(nil)
	d.append(o, 22, "## one\n")
	d.commit(o)
	d.append(o, 22, "## two\n")
	d.commit(o)
	if got := d.origin("journal/box/2026-11-22.md"); got != "# Journal of 2026-11-22\n\n## one\n## two\n" {
		t.Errorf("the remote has %q", got)
	}
	if after := d.state(); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
	if log := d.Git("origin.git", "log", "--format=%an <%ae> %cn: %s", "main"); log != "Custos of box <custos@box.example> Custos of box: Journal of 2026-11-22\n"+
		"Custos of box <custos@box.example> Custos of box: Journal of 2026-11-22\nT <t@example.org> T: first" {
		t.Errorf("its history is\n%s", log)
	}
	n := d.Git("origin.git", "rev-list", "--count", "main")
	d.commit(o)
	if err := o.Commit(t.Context()); err != nil || d.Git("origin.git", "rev-list", "--count", "main") != n {
		t.Errorf("nothing is new, and something was committed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.Top, ".git/FETCH_HEAD")); err == nil {
		t.Error("FETCH_HEAD was written")
	}
}

// Others push at the same time, once between our look and our push: nothing of
// theirs is lost, and ours gets there.
// What it had not committed before is counted as people count.
func TestOpsCountsTheDaysBefore(t *testing.T) {
	for before, want := range map[int]string{1: "1 day", 2: "2 days"} {
		d := newDesk(t)
		o := d.ops(nil)
		for day := range before + 3 {
			d.append(o, 10+day, "## one\n")
		}
		d.commit(o)
		if log := d.Git("origin.git", "log", "-1", "--format=%s", "main"); !strings.HasSuffix(strings.TrimSpace(log), " and "+want+" before") {
			t.Errorf("%q, want %s", log, want)
		}
	}
}

func TestOpsAgainstOthers(t *testing.T) {
	d := newDesk(t)
	d.Git(d.Dir, "clone", "-q", "origin.git", "other")
	pushes := 0
	o := d.ops(func(o *OpsOptions) {
		o.Write = &racing{Publisher: o.Write, before: func() {
			if pushes++; pushes <= 3 {
				d.Commit(filepath.Join(d.Dir, "other"), fmt.Sprintf("their-%d", pushes), "x\n")
				d.Git("other", "push", "-q", "origin", "main")
			}
		}}
	})
	d.append(o, 22, "## one\n")
	d.commit(o)
	if pushes != 4 {
		t.Errorf("%d pushes", pushes)
	}
	for _, f := range []string{"their-1", "their-2", "their-3", "journal/box/2026-11-22.md"} {
		if d.origin(f) == "" {
			t.Errorf("%s is not there", f)
		}
	}
	if out := d.Git("origin.git", "rev-list", "--min-parents=2", "main"); out != "" {
		t.Errorf("there are merges: %s", out)
	}
	always := d.ops(func(o *OpsOptions) {
		o.Write = &racing{Publisher: o.Write, before: func() {
			pushes++
			d.Commit(filepath.Join(d.Dir, "other"), fmt.Sprintf("more-%d", pushes), "x\n")
			d.Git("other", "pull", "-q", "--rebase", "origin", "main")
			d.Git("other", "push", "-q", "origin", "main")
		}}
	})
	d.append(always, 22, "## two\n")
	if err := always.Flush(t.Context()); err == nil || always.Trouble() == "" {
		t.Error("it never got there, and does not say so")
	}
	d.append(o, 22, "## three\n")
	d.commit(o)
	if got := d.origin("journal/box/2026-11-22.md"); !strings.HasSuffix(got, "## one\n## two\n## three\n") {
		t.Errorf("what could not be pushed then is not there now: %q", got)
	}
}

type racing struct {
	Publisher
	before func()
}

func (r *racing) Push(ctx context.Context, dir, remote, commit, branch string) error {
	r.before()
	return r.Publisher.Push(ctx, dir, remote, commit, branch)
}

// A day that somebody has written to stays as they left it; ours goes beside it.
func TestOpsKeepsWhatOthersWrote(t *testing.T) {
	d := newDesk(t)
	o := d.ops(nil)
	d.append(o, 22, "## one\n")
	d.commit(o)
	d.Git(d.Dir, "clone", "-q", "origin.git", "other")
	d.Commit(filepath.Join(d.Dir, "other"), "journal/box/2026-11-22.md", "# my own notes\n")
	d.Git("other", "push", "-q", "origin", "main")
	for _, entry := range []string{"## two\n", "## three\n"} {
		d.append(o, 22, entry)
		d.commit(o)
	}
	if got := d.origin("journal/box/2026-11-22.md"); got != "# my own notes\n" {
		t.Errorf("their notes are %q", got)
	}
	if got := d.origin("journal/box/2026-11-22-2.md"); !strings.HasSuffix(got, "## one\n## two\n## three\n") {
		t.Errorf("our day is %q", got)
	}
	if d.origin("journal/box/2026-11-22-3.md") != "" {
		t.Error("there is a third")
	}
}

// A remote that cannot be reached is told, and caught up on when it is back; the
// secret in its URL is not told.
func TestOpsWithoutRemote(t *testing.T) {
	d := newDesk(t)
	o := d.ops(nil)
	d.Git(d.Top, "remote", "set-url", "origin", "https://bot:hunter2hunter2@127.0.0.1:1/ops.git")
	d.append(o, 21, "## lost\n")
	if err := o.Flush(t.Context()); err == nil || strings.Contains(err.Error()+o.Trouble(), "hunter2") || o.Trouble() == "" {
		t.Errorf("%v; %s", err, o.Trouble())
	}
	d.append(o, 21, "## lost\n")
	o.o.Write = &talkative{Publisher: o.o.Write}
	if err := o.Flush(t.Context()); err == nil || strings.Contains(err.Error()+o.Trouble(), "hunter2") || !strings.Contains(o.Trouble(), "ops.git") {
		t.Errorf("a git that tells secrets: %v; %s", err, o.Trouble())
	}
	o.o.Write = o.o.Write.(*talkative).Publisher
	d.Git(d.Top, "remote", "remove", "origin")
	d.append(o, 22, "## lost too\n")
	if err := o.Flush(t.Context()); err == nil {
		t.Error("without a remote there is no error")
	}
	d.Git(d.Top, "remote", "add", "origin", "../origin.git")
	d.append(o, 23, "## found\n")
	d.commit(o)
	for _, f := range []string{"21", "22", "23"} {
		if d.origin("journal/box/2026-11-"+f+".md") == "" {
			t.Errorf("the %s is not there", f)
		}
	}
	if o.Trouble() != "" {
		t.Errorf("it is well, and says %q", o.Trouble())
	}
}

// talkative is a git that names the password of a URL.
type talkative struct{ Publisher }

func (*talkative) RemoteTip(context.Context, string, string, string) (string, string, error) {
	return "", "", errors.New("fatal: cannot access 'https://bot:hunter2hunter2@127.0.0.1/ops.git'")
}

// An empty remote, and a bare repository, are no trouble.
func TestOpsIntoEmptyRemote(t *testing.T) {
	d := newDesk(t)
	d.Git(d.Dir, "init", "-q", "--bare", "-b", "trunk", "empty.git")
	d.Git(d.Dir, "clone", "-q", "--bare", "empty.git", "mine.git")
	o := d.ops(func(o *OpsOptions) { o.Repo, o.Branch = filepath.Join(d.Dir, "mine.git"), "trunk" })
	for range 2 {
		d.append(o, 22, "## one\n")
		d.commit(o)
	}
	if got := d.Git("empty.git", "cat-file", "blob", "trunk:journal/box/2026-11-22.md"); !strings.HasSuffix(got, "## one\n## one") {
		t.Errorf("the remote has %q", got)
	}
}

// Without push the journal is on a branch of its own, never on one that somebody
// has checked out.
func TestOpsHere(t *testing.T) {
	d := newDesk(t)
	before := d.Git(d.Top, "status", "--porcelain=v2", "--branch")
	o := d.ops(func(o *OpsOptions) { o.Push = false })
	d.append(o, 22, "## one\n")
	d.commit(o)
	d.append(o, 22, "## two\n")
	d.commit(o)
	if got := d.Git(d.Top, "cat-file", "blob", "custos/journal:journal/box/2026-11-22.md"); !strings.HasSuffix(got, "## one\n## two") {
		t.Errorf("the branch has %q", got)
	}
	if after := d.Git(d.Top, "status", "--porcelain=v2", "--branch"); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
	for _, branch := range []string{"main", "side"} {
		if branch == "side" {
			d.Worktree("side")
		}
		o := d.ops(func(o *OpsOptions) { o.Push, o.Branch = false, branch })
		d.append(o, 22, "## three\n")
		if err := o.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "checked out") {
			t.Errorf("onto %s, which is checked out: %v", branch, err)
		}
	}
	if after := d.Git(d.Top, "status", "--porcelain=v2", "--branch"); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

// To append waits for nothing: a repository that never answers is given up at its
// deadline, beside.
func TestOpsNeverBlocks(t *testing.T) {
	d := newDesk(t)
	asked, told := make(chan struct{}, 100), make(chan error, 100)
	o := d.ops(func(o *OpsOptions) {
		o.Deadline = 50 * time.Millisecond
		o.Write = &stuck{Publisher: o.Write, asked: asked}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); o.Run(ctx, func(err error) { told <- err }) }()
	for range 20 {
		d.append(o, 22, "## entry\n")
	}
	<-asked
	if err := <-told; !strings.Contains(err.Error(), "deadline") {
		t.Errorf("told %v", err)
	}
	cancel()
	<-ended
}

type stuck struct {
	Publisher
	asked chan struct{}
}

func (s *stuck) RemoteTip(ctx context.Context, _, _, _ string) (string, string, error) {
	s.asked <- struct{}{}
	<-ctx.Done()
	return "", "", ctx.Err()
}

func TestOpsIsNoRepository(t *testing.T) {
	d := newDesk(t)
	for _, push := range []bool{true, false} {
		o := d.ops(func(o *OpsOptions) { o.Repo, o.Push = t.TempDir(), push })
		d.append(o, 22, "## one\n")
		if err := o.Flush(t.Context()); err == nil {
			t.Error("a folder that is no repository is no error")
		}
	}
}
