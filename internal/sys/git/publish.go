package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrRejected says that a remote did not take a push, because its branch has moved
// meanwhile: look again, and build on what is there now.
var ErrRejected = errors.New("the remote's branch has moved")

// NewCommit is a commit to be made beside every worktree and index.
type NewCommit struct {
	Parent  string            // "": it has none
	Files   map[string][]byte // what its tree has otherwise than its parent's, by path with slashes
	Message string
	Name    string // of author and committer
	Email   string
	At      time.Time
}

// CommitFiles makes a commit of a parent's tree with some files changed, and
// returns its name. It writes objects and nothing else: no ref, no index, no file
// of any worktree. Its own index is a private file that is gone afterwards.
func (w *Writer) CommitFiles(ctx context.Context, dir string, c NewCommit) (string, error) {
	tmp, err := os.MkdirTemp("", "custos-commit-")
	if err != nil {
		return "", fmt.Errorf("cannot commit: %w", err)
	}
	defer os.RemoveAll(tmp)
	stamp := fmt.Sprintf("%d +0000", c.At.Unix())
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index"),
		"GIT_AUTHOR_NAME=" + c.Name, "GIT_AUTHOR_EMAIL=" + c.Email, "GIT_AUTHOR_DATE=" + stamp,
		"GIT_COMMITTER_NAME=" + c.Name, "GIT_COMMITTER_EMAIL=" + c.Email, "GIT_COMMITTER_DATE=" + stamp}
	run := func(stdin string, args ...string) (string, error) {
		out, err := w.r.run(ctx, call{dir: dir, args: args, env: env, stdin: strings.NewReader(stdin)})
		return strings.TrimSpace(string(out)), err
	}
	base := "--empty"
	if c.Parent != "" {
		base = c.Parent
	}
	if _, err := run("", "read-tree", base); err != nil {
		return "", err
	}
	for _, path := range sortedKeys(c.Files) {
		blob, err := run(string(c.Files[path]), "hash-object", "-w", "--no-filters", "--stdin")
		if err != nil {
			return "", err
		}
		if _, err := run("", "update-index", "--add", "--replace", "--cacheinfo", "100644", blob, path); err != nil {
			return "", err
		}
	}
	tree, err := run("", "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "--no-gpg-sign"}
	if c.Parent != "" {
		args = append(args, "-p", c.Parent)
	}
	return run(c.Message, append(args, "-F", "-", tree)...)
}

// Blob returns a file of a commit's tree, and whether it is there.
func (r *Reader) Blob(ctx context.Context, dir, commit, path string) ([]byte, bool, error) {
	listed, err := r.git(ctx, dir, "ls-tree", "-z", "--full-tree", commit, "--", path)
	if err != nil || len(listed) == 0 {
		return nil, false, err
	}
	head, _, _ := strings.Cut(string(listed), "\t")
	fields := strings.Fields(head) // mode, type, name
	if len(fields) != 3 || fields[1] != "blob" {
		return nil, true, nil // a folder or a submodule has its place
	}
	b, err := r.git(ctx, dir, "cat-file", "blob", fields[2])
	return b, true, err
}

// Tip returns the commit that a ref names; "" when there is no such ref.
func (r *Reader) Tip(ctx context.Context, dir, ref string) (string, error) {
	out, err := r.line(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if exitedOne(err) {
		return "", nil
	}
	return out, err
}

// CheckedOutAt returns the worktree in which a branch is checked out; "" for none.
func (r *Reader) CheckedOutAt(ctx context.Context, dir, branch string) (string, error) {
	list, err := r.Worktrees(ctx, dir)
	if err != nil {
		return "", err
	}
	for _, l := range list {
		if l.Branch == branch && !l.Bare {
			return l.Path, nil
		}
	}
	return "", nil
}

// MoveRef makes a ref name a commit, if it names another one now (""; none). It
// fails when another writer was first.
func (w *Writer) MoveRef(ctx context.Context, dir, ref, to, from string) error {
	if from == "" {
		from = strings.Repeat("0", len(to))
	}
	_, err := w.r.git(ctx, dir, "update-ref", "-m", "custos", "--end-of-options", ref, to, from)
	return err
}

// network lets one call of git reach a remote: by the usual ways, and without a
// question to anybody.
func (r *Reader) network(ctx context.Context, dir string, more ...[2]string) []string {
	ways := []string{"https", "http", "ssh", "git", "file"}
	settings := more
	for _, way := range ways {
		settings = append(settings, [2]string{"protocol." + way + ".allow", "always"})
	}
	env := append(configured(settings), "GIT_ASKPASS=true", "SSH_ASKPASS_REQUIRE=never", "GIT_ALLOW_PROTOCOL="+strings.Join(ways, ":"))
	ssh := "ssh -oBatchMode=yes -oConnectTimeout=15"
	if own, err := r.line(ctx, dir, "config", "--get", "core.sshCommand"); err == nil && own != "" {
		ssh = own
	}
	return append(env, "GIT_SSH_COMMAND="+ssh)
}

// RemoteTip asks a remote for a branch ("": its default one) and returns its name
// and commit; the commit is "" when the remote has no such branch.
func (w *Writer) RemoteTip(ctx context.Context, dir, remote, branch string) (name, commit string, err error) {
	want := "HEAD"
	if branch != "" {
		want = "refs/heads/" + branch
	}
	out, err := w.r.run(ctx, call{dir: dir, logsIn: true, args: []string{"ls-remote", "--symref", "--", remote, want}, env: w.r.network(ctx, dir)})
	if err != nil {
		return "", "", err
	}
	name = branch
	for line := range strings.Lines(string(out)) {
		first, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if to, ok := strings.CutPrefix(first, "ref: refs/heads/"); ok && branch == "" {
			name = to
		} else if ref == want && isOID(first) {
			commit = first
		}
	}
	if name == "" {
		name = "main" // an empty repository may not say what its branch will be
	}
	return name, commit, nil
}

// FetchCommit brings a branch of a remote into the repository, under a ref of our
// own. Remote-tracking branches, tags and FETCH_HEAD stay as they are.
func (w *Writer) FetchCommit(ctx context.Context, dir, remote, branch, into string) error {
	_, err := w.r.run(ctx, call{dir: dir, logsIn: true, env: w.r.network(ctx, dir), args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--refmap=", "--", remote, "+refs/heads/" + branch + ":" + into}})
	return err
}

// nameless is a remote that is known for one call only: it has no remote-tracking
// branches, so a push moves none, on which a --force-with-lease may rest.
const nameless = "custos-push"

// Push gives a commit to a branch of a remote, never by force: ErrRejected says that
// the branch is not what the commit was built on. The remote's URL, which may hold a
// secret, is in no argument.
func (w *Writer) Push(ctx context.Context, dir, remote, commit, branch string) error {
	return w.push(ctx, dir, remote, commit, branch)
}

// push is Push, with options of git push.
func (w *Writer) push(ctx context.Context, dir, remote, commit, branch string, options ...string) error {
	url, err := w.r.line(ctx, dir, "remote", "get-url", "--push", "--", remote)
	if err != nil {
		return err
	}
	args := append([]string{"push", "--porcelain", "--no-verify", "--recurse-submodules=no", "--no-follow-tags"}, options...)
	out, told, err := w.r.talk(ctx, call{dir: dir, logsIn: true, env: w.r.network(ctx, dir, [2]string{"remote." + nameless + ".url", url}),
		args: append(args, "--", nameless, commit+":refs/heads/"+branch)})
	if err != nil {
		return refused(out, told, err)
	}
	return nil
}
