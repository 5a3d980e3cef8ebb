// Package git is a client of the git binary. Reader looks and changes nothing,
// not even an index's cached stat data; Writer makes backups and worktrees, and
// mends. Every path here is raw, byte for byte as the kernel knows it; what is
// meant for people (reasons, errors) has its names quoted.
//
// Each call is one process: an argument vector, never a shell; no pager, no
// prompt, no hook, no network, no file system monitor, no optional lock, none of
// our secrets in its environment; it runs in a process group of its own that is
// killed when the context ends, and its output is capped.
//
// No program that a repository's configuration names is run. What looks at files
// looks through a view, in which there is no such configuration; what else looks
// reads objects and refs only. Of what acts, backups and removals need none;
// giving up a rebase and checking out a branch refuse (ErrRunsCode) where the
// repository names one. Only two run them, because a person asked and the result
// would be wrong without: a new worktree is checked out through the filters, and
// what speaks to a remote logs in as the repository says.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrNotRepository says that there is no git repository at or above a path.
var ErrNotRepository = errors.New("not in a git repository")

// ErrTooMuch says that git wrote more than the cap.
var ErrTooMuch = errors.New("more output than the cap")

// Options of a Reader.
type Options struct {
	// Binary is the git program; default "git", found in PATH.
	Binary string
	// MaxOutput caps what one call may write, in bytes; default 64 MiB. A
	// repository with a million changed files stays far below it.
	MaxOutput int64
	// Environ is the environment calls start from; default os.Environ. Every
	// GIT_ variable in it that would point git elsewhere is dropped.
	Environ []string
}

// Reader looks at repositories and changes nothing in them.
type Reader struct {
	binary string
	max    int64
	env    []string
	own    []string // everything of the caller's own environment, for what logs in to a remote
}

// New returns a Reader.
func New(o Options) *Reader {
	if o.Binary == "" {
		o.Binary = "git"
	}
	if o.MaxOutput == 0 {
		o.MaxOutput = 64 << 20
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	return &Reader{binary: o.Binary, max: o.MaxOutput, env: environment(o.Environ, needed), own: environment(o.Environ, all)}
}

// kept are the GIT_ variables that choose configuration files or bound
// discovery, and nothing else; the rest (GIT_DIR, GIT_INDEX_FILE, … as set
// inside a hook) would aim a call at another repository.
const kept = " GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_EXEC_PATH "

// needs are the variables that git, and the filters of a new worktree, need: to
// find programs, configuration and the way out. No token of ours is among them.
const needs = " PATH HOME USER LOGNAME LANG TZ TMPDIR SHELL XDG_CONFIG_HOME XDG_RUNTIME_DIR LD_LIBRARY_PATH SSH_AUTH_SOCK" +
	" HTTPS_PROXY https_proxy HTTP_PROXY http_proxy ALL_PROXY all_proxy NO_PROXY no_proxy "

func needed(name string) bool { return strings.Contains(needs, " "+name+" ") }

func all(string) bool { return true }

func environment(base []string, want func(name string) bool) []string {
	var env []string
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		ours := strings.HasPrefix(name, "GIT_")
		if ours && strings.Contains(kept, " "+name+" ") || !ours && want(name) {
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"GIT_LITERAL_PATHSPECS=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_EDITOR=false",
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_AUTHOR_NAME=custos", "GIT_AUTHOR_EMAIL=custos@localhost",
		"GIT_COMMITTER_NAME=custos", "GIT_COMMITTER_EMAIL=custos@localhost")
}

// fixed are the settings no repository may override.
var fixed = [...]string{"--no-optional-locks", "--no-pager",
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "core.quotePath=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "protocol.allow=never", "-c", "submodule.recurse=false",
	"-c", "color.ui=false", "-c", "commit.gpgSign=false", "-c", "push.gpgSign=false", "-c", "log.showSignature=false"}

// call is one run of git.
type call struct {
	dir    string
	args   []string
	env    []string
	stdin  io.Reader
	logsIn bool // it speaks to a remote, and needs the caller's own environment for that
}

// git runs git in dir and returns what it wrote to standard output.
func (r *Reader) git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return r.run(ctx, call{dir: dir, args: args})
}

// line runs git and returns its output without the final newline.
func (r *Reader) line(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := r.git(ctx, dir, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// says runs a git command that answers by its exit status: 0 yes, 1 no.
func (r *Reader) says(ctx context.Context, dir string, args ...string) (bool, error) {
	_, err := r.git(ctx, dir, args...)
	if exitedOne(err) {
		return false, nil
	}
	return err == nil, err
}

func exitedOne(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 1
}

func (r *Reader) run(ctx context.Context, c call) ([]byte, error) {
	out, _, err := r.talk(ctx, c)
	return out, err
}

// talk runs git, and returns also what it, and a remote, complained of.
func (r *Reader) talk(ctx context.Context, c call) (written []byte, told string, err error) {
	cmd := exec.CommandContext(ctx, r.binary, append(append([]string{}, fixed[:]...), c.args...)...)
	cmd.Dir, cmd.Stdin = c.dir, c.stdin
	base := r.env
	if c.logsIn {
		base = r.own
	}
	cmd.Env = slices.Concat(base, c.env)
	out, errs := &capped{left: r.max}, &capped{left: mostTold, quiet: true}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case err == nil:
		return out.Bytes(), errs.String(), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case out.over:
		err = ErrTooMuch
	}
	return out.Bytes(), errs.String(), fmt.Errorf("cannot run git %s in %q: %w%s", c.args[0], c.dir, err, said(errs.String()))
}

// mostTold is how much is kept of what git complains of, in bytes: a hook of a remote may say much
// before it says why.
const mostTold = 64 << 10

// said returns the last line git complained with, quoted so that no byte of a
// name reaches a terminal as it is.
func said(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	last := lines[0]
	for _, l := range lines {
		if strings.HasPrefix(l, "fatal:") || strings.HasPrefix(l, "error:") {
			last = l
			break
		}
	}
	if last == "" {
		return ""
	}
	q := fmt.Sprintf("%q", last)
	return ": " + q[1:len(q)-1]
}

// capped keeps the first bytes written to it. Past the cap it fails, which ends
// the process, or is quiet about the rest.
type capped struct {
	bytes.Buffer
	left  int64
	quiet bool
	over  bool
}

func (c *capped) Write(p []byte) (int, error) {
	keep := min(int64(len(p)), c.left)
	c.Buffer.Write(p[:keep])
	c.left -= keep
	if keep < int64(len(p)) && !c.quiet {
		c.over = true
		return int(keep), ErrTooMuch
	}
	return len(p), nil
}

// ReadFrom hides bytes.Buffer's own, which knows no cap.
func (c *capped) ReadFrom(src io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, src)
}
