package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Repository is what Ops needs of git.
type Repository interface {
	Tip(ctx context.Context, dir, ref string) (string, error)
	Blob(ctx context.Context, dir, commit, path string) ([]byte, bool, error)
	CheckedOutAt(ctx context.Context, dir, branch string) (string, error)
}

// Publisher is what of git writes.
type Publisher interface {
	CommitFiles(ctx context.Context, dir string, c git.NewCommit) (string, error)
	MoveRef(ctx context.Context, dir, ref, to, from string) error
	RemoteTip(ctx context.Context, dir, remote, branch string) (name, commit string, err error)
	FetchCommit(ctx context.Context, dir, remote, branch, into string) error
	Push(ctx context.Context, dir, remote, commit, branch string) error
}

// OpsOptions say where the journal is committed to.
type OpsOptions struct {
	Journal  Dir
	Repo     string // path of a git repository
	Push     bool   // commit onto the remote's branch and push; else onto a branch of Repo
	Remote   string // default origin
	Branch   string // default: with Push the remote's own default, else custos/journal
	Folder   string // in the repository, with slashes
	Name     string // of the committer
	Email    string
	Deadline time.Duration // of one try; default 1 min
	Now      func() time.Time
	Read     Repository
	Write    Publisher
}

const (
	ownRef     = "refs/custos/journal"      // what we made last: nothing of ours is ever garbage
	baseRef    = "refs/custos/journal-base" // the remote's branch as it was fetched
	ownBranch  = "custos/journal"
	tries      = 5  // against others who push at the same time
	daysBack   = 31 // that are caught up on after a time without a repository
	mostCopies = 9  // of a day that others have written to
)

// Ops commits the journal to an ops repository. It builds its commits beside every
// worktree and index, on top of what the branch is at that moment; so there is
// nothing to rebase, and no file that a person has checked out is touched.
type Ops struct {
	o    OpsOptions
	wake chan struct{}

	mu      sync.Mutex
	trouble string
}

// NewOps returns an Ops that has not begun.
func NewOps(o OpsOptions) *Ops {
	if o.Remote == "" {
		o.Remote = "origin"
	}
	if o.Deadline <= 0 {
		o.Deadline = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Ops{o: o, wake: make(chan struct{}, 1)}
}

// Append adds an entry to the day's file, and has it committed beside: it does not
// wait for that.
func (o *Ops) Append(at fleet.Instant, entry string) error {
	if err := o.o.Journal.Append(at, entry); err != nil {
		return err
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// Trouble says why the journal could not be committed last; "" when it could.
func (o *Ops) Trouble() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.trouble
}

// Run commits after each entry, one commit at a time, until ctx ends. What fails is
// told, and tried again with the next entry.
func (o *Ops) Run(ctx context.Context, told func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		if err := o.Commit(ctx); err != nil && ctx.Err() == nil && told != nil {
			told(err)
		}
	}
}

// Flush commits what Append left to be committed: for a command that ends then.
func (o *Ops) Flush(ctx context.Context) error {
	select {
	case <-o.wake:
		return o.Commit(ctx)
	default:
		return nil
	}
}

// Commit brings the repository up to the journal, once.
func (o *Ops) Commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, o.o.Deadline)
	defer cancel()
	err := o.commit(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trouble = ""
	if err != nil {
		o.trouble = fleet.Redact(fleet.Line(err.Error(), 300))
		return fmt.Errorf("cannot commit the journal to %s: %s", fleet.Path(o.o.Repo), o.trouble)
	}
	return nil
}

func (o *Ops) commit(ctx context.Context) error {
	days, err := o.days()
	if err != nil || len(days) == 0 {
		return err
	}
	if !o.o.Push {
		return o.commitHere(ctx, days)
	}
	for try := 1; ; try++ {
		err := o.commitThere(ctx, days)
		if !errors.Is(err, git.ErrRejected) || try == tries {
			return err
		}
	}
}

// day is one file of the journal.
type day struct {
	name string // 2026-11-22
	text []byte
}

func (o *Ops) days() ([]day, error) {
	names, err := o.o.Journal.Days()
	if err != nil {
		return nil, err
	}
	var out []day
	for _, n := range names[max(0, len(names)-daysBack):] {
		text, _, err := o.o.Journal.Read(n)
		if err != nil {
			return nil, err
		}
		out = append(out, day{n, []byte(text)})
	}
	return out, nil
}

// commitHere commits onto a branch of the repository that is not checked out anywhere:
// the files of one who has would seem to be changed behind their back.
func (o *Ops) commitHere(ctx context.Context, days []day) error {
	branch := o.o.Branch
	if branch == "" {
		branch = ownBranch
	}
	switch at, err := o.o.Read.CheckedOutAt(ctx, o.o.Repo, branch); {
	case err != nil:
		return err
	case at != "":
		return fmt.Errorf("branch %s is checked out at %s: name another branch, or push = true", branch, fleet.Path(at))
	}
	ref := "refs/heads/" + branch
	tip, err := o.o.Read.Tip(ctx, o.o.Repo, ref)
	if err != nil {
		return err
	}
	made, err := o.build(ctx, tip, days)
	if err != nil || made == "" {
		return err
	}
	return o.o.Write.MoveRef(ctx, o.o.Repo, ref, made, tip)
}

// commitThere commits on top of what the remote's branch is now, and pushes.
func (o *Ops) commitThere(ctx context.Context, days []day) error {
	dir := o.o.Repo
	branch, tip, err := o.o.Write.RemoteTip(ctx, dir, o.o.Remote, o.o.Branch)
	if err != nil {
		return err
	}
	if tip != "" {
		if err := o.o.Write.FetchCommit(ctx, dir, o.o.Remote, branch, baseRef); err != nil {
			return err
		}
		if tip, err = o.o.Read.Tip(ctx, dir, baseRef); err != nil {
			return err
		}
	}
	made, err := o.build(ctx, tip, days)
	if err != nil || made == "" {
		return err
	}
	if err := o.o.Write.Push(ctx, dir, o.o.Remote, made, branch); err != nil {
		return err
	}
	old, err := o.o.Read.Tip(ctx, dir, ownRef)
	if err != nil {
		return err
	}
	return o.o.Write.MoveRef(ctx, dir, ownRef, made, old)
}

// build makes the commit; "" when the branch holds everything already.
func (o *Ops) build(ctx context.Context, tip string, days []day) (string, error) {
	files := map[string][]byte{}
	var which []string
	for _, d := range days {
		file, has, err := o.place(ctx, tip, d)
		if err != nil {
			return "", err
		}
		if !has {
			files[file] = d.text
			which = append(which, d.name)
		}
	}
	if len(files) == 0 {
		return "", nil
	}
	subject := "Journal of " + strings.Join(which[max(0, len(which)-3):], ", ")
	if n := len(which); n > 3 {
		subject += " and " + fleet.Counted(n-3, "day") + " before"
	}
	return o.o.Write.CommitFiles(ctx, o.o.Repo, git.NewCommit{Parent: tip, Files: files, Message: subject + "\n", Name: o.o.Name, Email: o.o.Email, At: o.o.Now()})
}

// place says in which file a day belongs, and whether it is there as it is. The
// journal only grows: a file that is no beginning of it was written by another
// else, and stays; the day then has a file beside it.
func (o *Ops) place(ctx context.Context, tip string, d day) (file string, has bool, err error) {
	for n := 1; n <= mostCopies; n++ {
		name := d.name
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		file = path.Join(filepath.ToSlash(o.o.Folder), name+".md")
		if tip == "" {
			return file, false, nil
		}
		text, there, err := o.o.Read.Blob(ctx, o.o.Repo, tip, file)
		if err != nil {
			return file, false, err
		}
		if !there || len(text) > 0 && bytes.HasPrefix(d.text, text) {
			return file, there && len(text) == len(d.text), nil
		}
	}
	return "", false, fmt.Errorf("the journal of %s and %d files beside it were written by another program", d.name, mostCopies-1)
}
