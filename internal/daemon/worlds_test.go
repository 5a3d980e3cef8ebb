package daemon_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// worlds is in how many worlds at once the whole of the tests is run, and together how many
// of a test's parts that may run at once do: most of them wait most of the time. They are
// more shards than worlds, so that none is left alone with what takes longest.
const (
	worlds   = 6
	shards   = 36
	together = "6"
)

// inPrivateWorlds runs the tests in a world of their own; all of them, in several.
func inPrivateWorlds() int {
	flag.Parse()
	for _, name := range []string{"test.run", "test.list", "test.bench", "test.fuzz"} {
		if flag.Lookup(name).Value.String() != "" {
			return inOneWorld(name)
		}
	}
	var list bytes.Buffer
	if code := inPrivateWorld(&list, []string{"-test.list", "^Test"}); code != 0 {
		return code
	}
	tests := slices.DeleteFunc(strings.Fields(list.String()), func(s string) bool { return !strings.HasPrefix(s, "Test") })
	return withBinaries(func() int { return inShards(tests) })
}

// inOneWorld runs what a flag names. The programs are built before, so that the limit of a test
// (-timeout) does not pass while its programs are built.
func inOneWorld(named string) int {
	run := func() int { return inPrivateWorld(os.Stdout, os.Args[1:]) }
	if named != "test.run" {
		return run()
	}
	return withBinaries(run)
}

// withBinaries builds the programs once, for each of the worlds.
func withBinaries(run func() int) int {
	dir, err := binaries()
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv("CUSTOS_BINARIES", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot build for the worlds:", err)
		return 1
	}
	return run()
}

// inShards runs every so manieth test in a world of its own, so many worlds at once;
// one that is through takes the next shard. What each said is shown when all have ended.
func inShards(tests []string) (code int) {
	var said [shards]bytes.Buffer
	var codes [shards]int
	queue := make(chan int, shards)
	for i := range min(shards, len(tests)) {
		queue <- i
	}
	close(queue)
	var over sync.WaitGroup
	for range worlds {
		over.Go(func() {
			for i := range queue {
				codes[i] = inPrivateWorld(&said[i], shardArgs(tests, i))
			}
		})
	}
	over.Wait()
	for i := range shards {
		_, _ = said[i].WriteTo(os.Stdout)
		code = max(code, codes[i])
	}
	return code
}

// shardArgs are the arguments with which one shard is run.
func shardArgs(tests []string, shard int) []string {
	var some []string
	for i := shard; i < len(tests); i += shards {
		some = append(some, tests[i])
	}
	args := append([]string{"-test.parallel", together, "-test.run", "^(" + strings.Join(some, "|") + ")$"}, os.Args[1:]...)
	if shard > 0 { // one file, one writer
		args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile") })
	}
	return args
}

// inPrivateWorld runs the test binary in a world of its own, as a process group of its
// own: a signal to process 0, or to a group, goes past the pid namespace to all of the
// group, CI among it. It ends with whoever began it, however that ends.
func inPrivateWorld(out io.Writer, args []string) int {
	runtime.LockOSThread() // Pdeathsig is sent when the thread ends that began it
	defer runtime.UnlockOSThread()
	world, err := os.MkdirTemp("", "custos-world-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot make a world of its own:", err)
		return 1
	}
	defer os.RemoveAll(world)
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot find the test binary:", err)
		return 1
	}
	unshare := []string{"--pid", "--mount", "--fork", "--mount-proc", "--kill-child", self}
	if os.Getuid() != 0 {
		unshare = append([]string{"--user", "--map-root-user"}, unshare...)
	}
	cmd := exec.Command("unshare", append(unshare, args...)...)
	cmd.Env = append(os.Environ(), "CUSTOS_PRIVATE_WORLD=entering", goEnv("GOCACHE"), goEnv("GOMODCACHE"), goEnv("GOPATH"), "CUSTOS_WORLD="+world, "TMPDIR="+world, "HOME="+world,
		"TMUX=", "TMUX_TMPDIR="+world)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the tests in a world of their own:", err)
		return 1
	}
	return 0
}

// inItsWorld is what a process of worldWith says as soon as it is in its world.
const inItsWorld = "in its world"

// worldWith begins a world, and when it is in it, does there what is asked: signal
// process 0, or nothing, for ever.
func worldWith(what string, args []string) int {
	if len(args) == 0 {
		code := inPrivateWorld(os.Stdout, []string{what})
		fmt.Println("outlived its world, which ended with", code)
		return 0
	}
	fmt.Println(inItsWorld)
	if args[0] == "kill" {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
	for {
		_ = syscall.Pause()
	}
}

// begunWorld begins a world in a group that is not the tests' own, and returns who
// began it and what is said by all of it, which ends when the last of it has ended.
func begunWorld(t *testing.T, what string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said, say, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer say.Close()
	cmd := exec.Command("env", "--default-signal=INT", self) // a shell has what it runs in the background ignore it
	cmd.Env = append(os.Environ(), "CUSTOS_WORLD_WITH="+what)
	cmd.Stdout, cmd.Stderr = say, say
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait(); _ = said.Close() })
	_ = said.SetReadDeadline(time.Now().Add(30 * time.Second))
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); err != nil || line != inItsWorld+"\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
	return cmd, lines
}

// Signal 0 in a test, where the process of an agent was meant and not seen yet, has
// ended the whole of CI once.
func TestASignalToProcessZeroEndsNothingOutsideOfTheWorld(t *testing.T) {
	t.Parallel()
	cmd, lines := begunWorld(t, "kill")
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), "outlived its world, which ended with 1") {
		t.Errorf("it said %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("who began the world ended with it: %v", err)
	}
}

// Who stops the tests, by Ctrl-C or by ending the process or its group, stops what runs
// in a world.
func TestAWorldEndsWithWhoBeganIt(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(pid int) error{
		"Ctrl-C":      func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) },
		"its end":     func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
		"its group's": func(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cmd, lines := begunWorld(t, "nothing")
			if err := end(cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(lines); err != nil || strings.Contains(string(rest), "outlived") {
				t.Errorf("the world goes on, or its beginner: %q, %v", rest, err)
			}
		})
	}
}
