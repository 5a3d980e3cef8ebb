//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"custos/internal/boundary"
)

// yard is a machine with a repository, two worktrees, a clone, and what an agent is to be kept from.
type yard struct {
	*testing.T
	dir, home, main, mine, other, clone, state, docker, cli, bin, tmp string
	sibling                                                           *exec.Cmd
	tcp                                                               string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "yard") // beside bwrap's /tmp, in which anything may be made; its sockets have short names
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	y := &yard{T: t, dir: dir, home: at("home"), main: at("main"), mine: at("mine"), other: at("other"), clone: at("clone"), state: at("state"),
		docker: at("docker.sock"), cli: at("home/.cli"), tmp: at("tmp")}
	y.bin = filepath.Dir(y.self())
	for name, text := range map[string]string{
		"home/.gitconfig":         "[user]\nname = a\nemail = a@example.org\n[init]\ndefaultBranch = main\n[advice]\ndetachedHead = false\n",
		"home/.ssh/id":            "secret\n",
		"home/.cli/settings.json": "{}\n",
		"state/custos.db":         "ledger\n",
	} {
		y.put(at(name), text)
	}
	for _, socket := range []string{y.docker, filepath.Join(y.state, "custos.sock"), filepath.Join(y.state, "hook.sock"), "@" + dir} {
		y.listen("unix", socket)
	}
	if err := os.Mkdir(y.mine, 0o755); err != nil {
		t.Fatal(err)
	}
	y.tcp = y.listen("tcp", "127.0.0.1:0")
	y.sibling = exec.Command("sleep", "600")
	y.sibling.Dir = dir
	if err := y.sibling.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { y.sibling.Process.Kill(); y.sibling.Wait() })
	return y
}

// repositories is a yard with a repository, its worktrees, and a clone.
func repositories(t *testing.T) *yard {
	t.Helper()
	y := newYard(t)
	dir, at := y.dir, func(name string) string { return filepath.Join(y.dir, name) }
	y.git(dir, "init", "-q", "main")
	for i := range 3 {
		y.put(filepath.Join(y.main, "file"), fmt.Sprintln(i))
		y.git(y.main, "add", ".")
		y.git(y.main, "commit", "-qm", fmt.Sprint(i))
	}
	y.git(dir, "clone", "-q", "--bare", "main", "origin.git")
	y.git(y.main, "remote", "add", "origin", at("origin.git"))
	y.git(y.main, "fetch", "-q")
	y.git(y.main, "pack-refs", "--all")
	y.git(y.main, "worktree", "add", "-q", "-b", "mine", y.mine)
	y.git(y.main, "worktree", "add", "-q", "-b", "other", y.other)
	y.git(dir, "clone", "-q", "origin.git", "clone")
	y.put(filepath.Join(y.clone, ".git/hooks/sample"), "")
	y.put(filepath.Join(y.main, ".git/hooks/sample"), "")
	return y
}

func (y *yard) self() string {
	self, err := os.Executable()
	if err != nil {
		y.Fatal(err)
	}
	return self
}

func (y *yard) put(path, text string) {
	y.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		y.Fatal(err)
	}
}

func (y *yard) git(dir string, args ...string) {
	y.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = dir, y.env()
	if out, err := c.CombinedOutput(); err != nil {
		y.Fatalf("git %s: %v: %s", args, err, out)
	}
}

func (y *yard) env() []string {
	return []string{"HOME=" + y.home, "PATH=" + os.Getenv("PATH"), "GIT_EDITOR=true", "LC_ALL=C"}
}

// listen answers on a socket for as long as the test runs.
func (y *yard) listen(network, address string) string {
	y.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		y.Fatal(err)
	}
	y.Cleanup(func() { l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
	return l.Addr().String()
}

// places are those of the agent that works in a tree.
func (y *yard) places(by, tree string) boundary.Places {
	p := boundary.Places{Name: "t", By: by, Missing: boundary.Say, Network: boundary.NetClosed, Tmp: y.tmp, Home: y.home,
		Git:     boundary.Git{Top: tree, Dir: filepath.Join(y.main, ".git/worktrees/mine"), Common: filepath.Join(y.main, ".git")},
		State:   []string{y.cli},
		Config:  []string{filepath.Join(y.cli, "settings.json")},
		Read:    []string{y.bin, filepath.Join(y.home, ".gitconfig")},
		Write:   []string{filepath.Join(y.dir, "origin.git")},
		Sockets: []string{filepath.Join(y.state, "hook.sock")},
	}
	if _, err := os.Lstat(y.main); err != nil { // no repository was made
		p.Git, p.Dir = boundary.Git{}, tree
	}
	if tree == y.clone {
		p.Git.Dir, p.Git.Common = filepath.Join(tree, ".git"), filepath.Join(tree, ".git")
	}
	return p
}

// within runs a command within a boundary, and returns what it printed, and how it started.
func (y *yard) within(p boundary.Places, env []string, argv ...string) (string, started) {
	y.Helper()
	text, err := boundary.Compose(p).Text()
	if err != nil {
		y.Fatal(err)
	}
	dir, file := filepath.Join(y.TempDir(), "i1"), filepath.Join(y.TempDir(), "boundary.json")
	y.put(file, string(text))
	if err := os.Mkdir(dir, 0o700); err != nil {
		y.Fatal(err)
	}
	launch := slices.Concat([]string{launchHead, p.Git.Top + p.Dir, fmt.Sprint(len(argv))}, argv, y.env(), env)
	y.put(filepath.Join(dir, "launch"), strings.Join(launch, "\x00")+"\x00")
	cmd := start(y.T, dir, "--boundary", file, "--from", filepath.Join(dir, "launch"))
	status := code(y.T, cmd)
	var s started
	if !read(y.T, dir, "started.json", &s) {
		var f failed
		read(y.T, dir, "failed.json", &f)
		y.Fatalf("it did not start: %s", f.Error)
	}
	out, err := os.ReadFile(filepath.Join(dir, "stdout.log"))
	errs, err2 := os.ReadFile(filepath.Join(dir, "stderr.log"))
	if err := errors.Join(err, err2); err != nil {
		y.Fatal(err)
	}
	if _, err := os.Lstat(y.tmp); !errors.Is(err, os.ErrNotExist) {
		y.Errorf("its folder for temporary files is left: %v", err)
	}
	return fmt.Sprintf("%s%s[%d]", out, errs, status), s
}

// canHold skips where a boundary cannot be held.
func canHold(t *testing.T, by string) {
	t.Helper()
	if by == boundary.Landlock && landlockABI() < boundary.Needs {
		t.Skip("this kernel has no Landlock, or one that is too old")
	}
	if by != boundary.Bwrap {
		return
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bwrap is not installed (Debian: bubblewrap)")
	}
	if out, err := exec.Command("bwrap", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("bwrap cannot make namespaces here: %s", out)
	}
}

// try is one thing that a hostile agent does, in its own words, and what comes of it.
type try struct {
	name string
	do   func(y tried) error
	// open says where it works, although it was asked that it does not; nil: nowhere. What is open
	// stands on the agent's record in words that hold said.
	open func(by string, clone bool) bool
	said string
}

// tried are the places that a hostile agent knows.
type tried struct{ home, main, mine, other, state, docker, abstract, tcp, tmp, sibling string }

func landlockClone(by string, clone bool) bool { return by == boundary.Landlock && clone }
func landlockOnly(by string, _ bool) bool      { return by == boundary.Landlock }
func anyClone(_ string, clone bool) bool       { return clone }
func noSockets(by string, _ bool) bool         { return by == boundary.Landlock && landlockABI() < 9 }
func noSignals(string, bool) bool              { return landlockABI() < 6 }
func noTruncate(by string, _ bool) bool        { return by == boundary.Landlock && landlockABI() < 3 }

var tries = []try{
	{name: "read a key", do: func(y tried) error { return reads(y.home + "/.ssh/id") }},
	{name: "read a key by a link", do: func(y tried) error {
		return errors.Join(os.Symlink(y.home+"/.ssh/id", y.mine+"/link"), reads(y.mine+"/link"))
	}},
	{name: "read a key by a hard link", do: func(y tried) error {
		return errors.Join(os.Link(y.home+"/.ssh/id", y.mine+"/hard"), reads(y.mine+"/hard"))
	}},
	{name: "read a key by the root of another process", do: func(y tried) error { return reads("/proc/" + y.sibling + "/root" + y.home + "/.ssh/id") }},
	{name: "read a file by the folder of another process", do: func(y tried) error { return reads("/proc/" + y.sibling + "/cwd/state/custos.db") }},
	{name: "read the memory of another process", do: func(y tried) error { return reads("/proc/" + y.sibling + "/environ") }},
	{name: "cut a key short", do: func(y tried) error { return os.Truncate(y.home+"/.ssh/id", 0) }, open: noTruncate, said: "cutting short"},
	{name: "change who may read a key", do: func(y tried) error { return os.Chmod(y.home+"/.ssh/id", 0o666) }, open: landlockOnly, said: "changes of their mode"},
	{name: "read another worktree", do: func(y tried) error { return reads(y.other + "/file") }},
	{name: "write another worktree", do: func(y tried) error { return writes(y.other + "/file") }},
	{name: "make a file in another worktree", do: func(y tried) error { return writes(y.other + "/new") }},
	{name: "write the entry of another worktree", do: func(y tried) error { return writes(y.main + "/.git/worktrees/other/HEAD") }},
	{name: "write the main worktree", do: func(y tried) error { return writes(y.main + "/file") }},
	{name: "write its HEAD", do: func(y tried) error { return writes(y.main + "/.git/HEAD") }},
	{name: "write a hook of the repository", do: func(y tried) error { return writes(y.main + "/.git/hooks/pre-commit") }},
	{name: "write the repository's configuration", do: func(y tried) error { return writes(y.main + "/.git/config") }},
	{name: "put another configuration in its place", do: func(y tried) error {
		return errors.Join(writes(y.mine+"/config"), os.Rename(y.mine+"/config", y.main+"/.git/config"))
	}},
	{name: "link a hook into the repository", do: func(y tried) error {
		return errors.Join(writes(y.mine+"/hook"), os.Link(y.mine+"/hook", y.main+"/.git/hooks/post-commit"))
	}},
	{name: "write its own hook", do: func(y tried) error { return writes(y.own() + "/hooks/sample") }, open: landlockClone, said: "/hooks"},
	{name: "write its own configuration", do: func(y tried) error { return writes(y.own() + "/config") }, open: landlockClone, said: "/config"},
	{name: "exchange its own .git or what it names", do: func(y tried) error { return replaces(y.pointer()) }, open: landlockOnly, said: ".git"},
	{name: "write the settings of its hooks", do: func(y tried) error { return writes(y.home + "/.cli/settings.json") }, open: landlockOnly, said: "settings.json"},
	{name: "exchange the settings of its hooks", do: func(y tried) error { return replaces(y.home + "/.cli/settings.json") }, open: landlockOnly, said: "settings.json"},
	{name: "read the ledger", do: func(y tried) error { return reads(y.state + "/custos.db") }},
	{name: "write the ledger", do: func(y tried) error { return writes(y.state + "/custos.db") }},
	{name: "make a file beside the ledger", do: func(y tried) error { return writes(y.state + "/frozen") }},
	{name: "speak to the person's socket", do: func(y tried) error { return dials("unix", y.state+"/custos.sock") }, open: noSockets, said: "unix sockets in the file system"},
	{name: "speak to an engine", do: func(y tried) error { return dials("unix", y.docker) }, open: noSockets, said: "unix sockets in the file system"},
	{name: "speak to an abstract socket", do: func(y tried) error { return dials("unix", "@"+y.abstract) }, open: func(by string, c bool) bool { return landlockOnly(by, c) && noSignals(by, c) }, said: "abstract"},
	{name: "speak to a server", do: func(y tried) error { return dials("tcp", y.tcp) }},
	{name: "send a datagram", do: func(y tried) error { return sends(y.tcp) }},
	{name: "make a socket of MPTCP", do: func(tried) error { return makes(unix.AF_INET, unix.SOCK_STREAM, 262) }},
	{name: "make a socket of virtual machines", do: func(tried) error { return makes(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{name: "make a ring of calls", do: func(tried) error {
		_, _, no := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		if no == unix.EFAULT { // it got as far as the memory that it was not given
			return nil
		}
		return no
	}},
	{name: "end another process", do: func(y tried) error { return unix.Kill(number(y.sibling), 0) }, open: noSignals, said: "signals"},
	{name: "trace another process", do: func(y tried) error { return unix.PtraceSeize(number(y.sibling)) }},
	{name: "change the limits of another process", do: func(y tried) error {
		return unix.Prlimit(number(y.sibling), unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}},
	{name: "change how the kernel sees another process", do: func(y tried) error { return opens("/proc/" + y.sibling + "/oom_score_adj") }},
	{name: "change a setting of the kernel", do: func(tried) error { return opens("/proc/sys/kernel/core_pattern") }},
	{name: "put a link among the logs of git", do: func(y tried) error { return os.Symlink(y.home+"/.profile", y.own()+"/logs/refs/heads/l1") }, open: anyClone, said: "what git does for whoever runs it"},
	{name: "move a link among the logs of git", do: func(y tried) error {
		return errors.Join(os.Symlink(y.home+"/.profile", y.mine+"/l2"), os.Rename(y.mine+"/l2", y.own()+"/logs/refs/heads/l2"))
	}, open: anyClone, said: "what git does for whoever runs it"},
	{name: "put a link among what git writes for its worktree", do: func(y tried) error {
		if y.own() == y.mine+"/.git" {
			return errors.New("it has none of its own")
		}
		return os.Symlink(y.home+"/.profile", y.main+"/.git/worktrees/mine/ORIG_HEAD.x")
	}},
	{name: "mount over a file", do: func(y tried) error { return mounts(y.mine) }},
	{name: "write to a device", do: func(tried) error {
		fd, err := unix.Open("/dev/kmsg", unix.O_WRONLY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		return err
	}},
}

func (y tried) own() string {
	if info, err := os.Lstat(y.mine + "/.git"); err == nil && info.IsDir() {
		return y.mine + "/.git"
	}
	return y.main + "/.git"
}

func (y tried) pointer() string {
	if y.own() == y.mine+"/.git" {
		return y.own() + "/config"
	}
	return y.mine + "/.git"
}

func number(s string) (n int) {
	fmt.Sscan(s, &n)
	return n
}

func reads(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func writes(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o755)
	if err == nil {
		err = f.Close()
	}
	return err
}

// opens opens a file of the kernel's to write it, and writes nothing.
func opens(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		err = f.Close()
	}
	return err
}

// replaces puts another file of the same text in the place of one.
func replaces(path string) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}

func dials(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		c.Close()
	}
	return err
}

// sends sends a datagram, which arrives where the machine's own network is reached.
func sends(address string) error {
	c, err := net.Dial("udp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	ifaces, err := net.Interfaces()
	if err == nil && len(ifaces) == 1 { // a network of its own, in which nobody else is
		return errors.New("nobody hears it")
	}
	_, err = c.Write([]byte("x"))
	return err
}

func makes(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func mounts(dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWUSER | unix.CLONE_NEWNS); err != nil {
		return err
	}
	return unix.Mount(dir, dir, "", unix.MS_BIND, "")
}

// tryAll is the hostile agent: it does all of it, and says what worked.
func tryAll(args []string) int {
	if len(args) != 10 {
		return 2
	}
	y := tried{args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[8], args[9]}
	for _, t := range tries {
		if err := t.do(y); err != nil {
			fmt.Printf("%s: kept (%v)\n", t.name, err)
		} else {
			fmt.Printf("%s: OPEN\n", t.name)
		}
	}
	return 0
}

func TestHostileAgent(t *testing.T) {
	for _, by := range []string{boundary.Landlock, boundary.Bwrap} {
		for _, kind := range []string{"worktree", "clone"} {
			t.Run(by+"/"+kind, func(t *testing.T) {
				canHold(t, by)
				y := repositories(t)
				tree := map[string]string{"worktree": y.mine, "clone": y.clone}[kind]
				out, s := y.within(y.places(by, tree), nil, y.self(), "--try", y.home, y.main, tree, y.other, y.state, y.docker, y.dir, y.tcp, y.tmp, fmt.Sprint(y.sibling.Process.Pid))
				record := strings.Join(slices.Concat(s.Boundary.Open, s.Boundary.Never), "\n")
				for _, try := range tries {
					open := try.open != nil && try.open(by, kind == "clone")
					want := try.name + ": kept"
					if open {
						want = try.name + ": OPEN"
					}
					if !strings.Contains("\n"+out, "\n"+want) {
						t.Errorf("want %q", want)
					}
					if open && !strings.Contains(record, try.said) {
						t.Errorf("%s works, and its record does not say so: %s", try.name, record)
					}
				}
				t.Logf("%s\nits record:\n%s", out, record)
			})
		}
	}
}

// Where some ports are open, no other one is reached, by sending either (TCP Fast Open).
func TestOtherPortsAreClosed(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("perl is not installed")
	}
	const dial = `use Socket; my ($how, $port) = @ARGV; socket(my $s, PF_INET, SOCK_STREAM, 0) or die; my $to = sockaddr_in($port, inet_aton("127.0.0.1"));
print "$how: ", (($how eq "connect" ? connect($s, $to) : send($s, "x", 0x20000000, $to)) ? "OPEN" : "kept"), "\n"`
	for _, by := range []string{boundary.Landlock, boundary.Bwrap} {
		t.Run(by, func(t *testing.T) {
			canHold(t, by)
			if landlockABI() < 4 {
				t.Skip("this kernel's Landlock knows no ports")
			}
			y := repositories(t)
			_, open, _ := net.SplitHostPort(y.listen("tcp", "127.0.0.1:0"))
			_, other, _ := net.SplitHostPort(y.tcp)
			p := y.places(by, y.mine)
			p.Network, p.Ports = boundary.NetPorts, []int{number(open)}
			for _, c := range []struct{ how, port, want string }{{"connect", open, "connect: OPEN"}, {"connect", other, "connect: kept"}, {"send", other, "send: kept"}} {
				if out, _ := y.within(p, nil, "perl", "-e", dial, c.how, c.port); !strings.Contains(out, c.want) {
					t.Errorf("%s to port %s (open is %s): %s, want %s", c.how, c.port, open, out, c.want)
				}
			}
		})
	}
}

// Without a boundary all of it works that a person could do: the test above can fail.
func TestHostileAgentWithoutBoundary(t *testing.T) {
	y := repositories(t)
	cmd := exec.Command(y.self(), "--try", y.home, y.main, y.mine, y.other, y.state, y.docker, y.dir, y.tcp, y.tmp, fmt.Sprint(y.sibling.Process.Pid))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, try := range tries {
		switch try.name { // what the kernel, or who we are, may keep by itself
		case "mount over a file", "trace another process", "make a ring of calls", "make a socket of MPTCP", "make a socket of virtual machines", "write to a device", "change a setting of the kernel":
			continue
		}
		if !strings.Contains("\n"+string(out), "\n"+try.name+": OPEN") {
			t.Errorf("%s is kept without a boundary: %s", try.name, out)
		}
	}
}

// daily is what an agent does all day. Each line is a command that must work.
const daily = `
set -eu
echo 1 >> file; git commit -qam one
echo 2 >> file; git stash -q; git stash apply -q; git commit -qam two
git checkout -q -b side HEAD~1; echo 3 > third; git add third; git commit -qm three
git rebase -q "$BRANCH"
git checkout -q -b clash HEAD~2; echo z > file; git commit -qam clash
git rebase -q "$BRANCH" && exit 3
echo zz > file; git add file; git rebase --continue >/dev/null
git tag v1
git fetch -q origin
git push -q origin HEAD:refs/heads/new
git fetch -q --prune origin
git status >/dev/null; git log -p >/dev/null; git diff HEAD~1 >/dev/null
git notes add -m note
git reset -q --hard HEAD~1
[ "$(git rev-parse --abbrev-ref HEAD)" = clash ]
`

// refs is what takes a lock in the repository's own folder: removing references, which a merge
// after a conflict does with what the conflict has left.
const refs = `
set -eu
git cherry-pick --quit
git tag -f v2 >/dev/null
git merge -q -s ours side
git branch -q -D side
git tag -d v2 >/dev/null
git stash drop -q
git pack-refs --all
[ "$BRANCH" = mine ] || git gc -q # it trims what is noted of all worktrees
`

func TestAgentWorksWithin(t *testing.T) {
	for _, by := range []string{boundary.Landlock, boundary.Bwrap} {
		for _, kind := range []string{"worktree", "clone"} {
			t.Run(by+"/"+kind, func(t *testing.T) {
				canHold(t, by)
				y := repositories(t)
				tree, branch := y.mine, "BRANCH=mine"
				if kind == "clone" {
					tree, branch = y.clone, "BRANCH=main"
				}
				p := y.places(by, tree)
				y.works(p, branch, daily, true)
				y.git(tree, "fsck", "--strict")
				if kind == "worktree" {
					y.works(p, branch, refs, false)
					p.Git.Lock = true
				}
				y.works(p, branch, refs, true)
			})
		}
	}
}

// works runs a script, which must work, or must not.
func (y *yard) works(p boundary.Places, env, script string, want bool) {
	y.Helper()
	if out, _ := y.within(p, []string{env}, "sh", "-c", script); strings.HasSuffix(out, "[0]") != want {
		y.Errorf("want %v of %s: %s", want, script, out)
	}
}

func TestAgentBuildsWithin(t *testing.T) {
	goEnv, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("go is not installed")
	}
	paths := strings.Fields(string(goEnv))
	if err := os.MkdirAll(paths[1], 0o755); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{boundary.Landlock, boundary.Bwrap} {
		t.Run(by, func(t *testing.T) {
			canHold(t, by)
			y := newYard(t)
			y.put(filepath.Join(y.mine, "go.mod"), "module example.org/m\n\ngo 1.21\n")
			y.put(filepath.Join(y.mine, "m_test.go"), "package m\n\nimport (\n\t\"net\"\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestLoopback(t *testing.T) {\n\tl, err := net.Listen(\"tcp\", \"127.0.0.1:0\")\n\tif err == nil {\n\t\t_, err = net.Dial(\"tcp\", l.Addr().String())\n\t}\n\tif has := err == nil; has != (os.Getenv(\"BY\") == \"bwrap\") {\n\t\tt.Errorf(\"loopback: %v, %v\", has, err)\n\t}\n}\n\nfunc TestTmp(t *testing.T) {\n\tif err := os.WriteFile(t.TempDir()+\"/x\", nil, 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n")
			p := y.places(by, y.mine)
			p.Read, p.Write = append(p.Read, paths[0]), append(p.Write, paths[1])
			env := []string{"GOCACHE=" + paths[1], "GOMODCACHE=" + paths[2], "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "CGO_ENABLED=0", "BY=" + by}
			if out, _ := y.within(p, env, "go", "test", "./..."); !strings.HasSuffix(out, "[0]") {
				t.Errorf("it cannot build and test: %s", out)
			}
		})
	}
}

// How an agent ends is known as without a boundary; bwrap tells a signal as the shell does.
func TestEndsWithin(t *testing.T) {
	for _, by := range []string{boundary.Landlock, boundary.Bwrap} {
		t.Run(by, func(t *testing.T) {
			canHold(t, by)
			y := newYard(t)
			for script, want := range map[string]string{"exit 7": "[7]", "kill -TERM $$": "[143]", "kill -KILL $$": "[137]"} {
				if out, _ := y.within(y.places(by, y.mine), nil, "sh", "-c", script); !strings.HasSuffix(out, want) {
					t.Errorf("%s: %s", script, out)
				}
			}
		})
	}
}

// SIGTERM to the shim reaches the agent, which ends in its own way, beside bwrap, too.
func TestSignalsReachWithin(t *testing.T) {
	for _, by := range []string{boundary.Landlock, boundary.Bwrap} {
		t.Run(by, func(t *testing.T) {
			canHold(t, by)
			y := newYard(t)
			text, err := boundary.Compose(y.places(by, y.mine)).Text()
			if err != nil {
				t.Fatal(err)
			}
			dir, file := filepath.Join(t.TempDir(), "i1"), filepath.Join(t.TempDir(), "b")
			y.put(file, string(text))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(y.mine)
			cmd := start(t, dir, "--boundary", file, "--", "sh", "-c", `trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done`)
			await(t, "the agent", func() bool {
				b, _ := os.ReadFile(filepath.Join(dir, "stdout.log"))
				return strings.Contains(string(b), "ready")
			})
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if got := code(t, cmd); got != 5 {
				t.Errorf("it ended with %d", got)
			}
			if b, _ := os.ReadFile(filepath.Join(dir, "stdout.log")); !strings.Contains(string(b), "bye") {
				t.Errorf("it said %q", b)
			}
		})
	}
}

// What is no boundary, or cannot be held, starts nothing, and says why.
func TestRefusedStarts(t *testing.T) {
	canHold(t, boundary.Landlock)
	y := newYard(t)
	p := y.places(boundary.Landlock, y.mine)
	text, err := boundary.Compose(p).Text()
	if err != nil {
		t.Fatal(err)
	}
	p.Missing = boundary.Refuse
	strict, err := boundary.Compose(p).Text()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"torn":         {string(text[:len(text)/2]), "it is torn"},
		"without end":  {strings.TrimSuffix(string(text), "\n"), "the end of its line"},
		"empty":        {"", "it is torn"},
		"with more":    {string(text) + "{}\n", "something else"},
		"other key":    {strings.Replace(string(text), `"name"`, `"nmae"`, 1), "unknown field"},
		"a later one":  {strings.Replace(string(text), `{"v":1`, `{"v":2`, 1), "its version is 2"},
		"what is open": {string(strict), "open would be"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file, ran := filepath.Join(t.TempDir(), "i1"), filepath.Join(t.TempDir(), "b"), filepath.Join(y.mine, "ran")
			y.put(file, c.text)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if got := code(t, start(t, dir, "--boundary", file, "--", "touch", ran)); got != exitCannot {
				t.Errorf("status %d", got)
			}
			var f failed
			if !read(t, dir, "failed.json", &f) || !strings.Contains(f.Error, c.want) {
				t.Errorf("it says %q, want %q", f.Error, c.want)
			}
			if _, err := os.Lstat(ran); err == nil {
				t.Error("the agent ran")
			}
			if _, err := os.Lstat(y.tmp); err == nil {
				t.Error("its folder for temporary files was made")
			}
		})
	}
}
