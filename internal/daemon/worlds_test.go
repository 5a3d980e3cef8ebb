package daemon_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// worlds is in how many worlds at once the whole of the tests is run: most of them
// wait most of the time. They are more shards than worlds, so that none is left alone
// with what takes longest.
const (
	worlds = 3
	shards = 12
)

// inPrivateWorlds runs the tests in a world of their own; all of them, in several.
func inPrivateWorlds() int {
	flag.Parse()
	for _, name := range []string{"test.run", "test.list", "test.bench", "test.fuzz"} {
		if flag.Lookup(name).Value.String() != "" {
			return inPrivateWorld(os.Stdout, os.Args[1:])
		}
	}
	var list bytes.Buffer
	if code := inPrivateWorld(&list, []string{"-test.list", "^Test"}); code != 0 {
		return code
	}
	tests := slices.DeleteFunc(strings.Fields(list.String()), func(s string) bool { return !strings.HasPrefix(s, "Test") })
	return withBinaries(func() int { return inShards(tests) })
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
	args := append([]string{"-test.run", "^(" + strings.Join(some, "|") + ")$"}, os.Args[1:]...)
	if shard > 0 { // one file, one writer
		args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile") })
	}
	return args
}

// enter covers the places of temporary files by new ones. The go command runs
// the test binary from below one of them, so that folder is kept reachable.
const enter = `mount -t tmpfs tmpfs "$CUSTOS_WORLD" && exec "$@"`

func inPrivateWorld(out io.Writer, args []string) int {
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
	unshare := []string{"--pid", "--mount", "--fork", "--mount-proc", "--kill-child", "sh", "-c", enter, "sh", self}
	if os.Getuid() != 0 {
		unshare = append([]string{"--user", "--map-root-user"}, unshare...)
	}
	cmd := exec.Command("unshare", append(unshare, args...)...)
	cmd.Env = append(os.Environ(), "CUSTOS_PRIVATE_WORLD=1", goEnv("GOCACHE"), goEnv("GOMODCACHE"), goEnv("GOPATH"), "CUSTOS_WORLD="+world, "TMPDIR="+world, "HOME="+world,
		"TMUX=", "TMUX_TMPDIR="+world)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the tests in a world of their own:", err)
		return 1
	}
	return 0
}
