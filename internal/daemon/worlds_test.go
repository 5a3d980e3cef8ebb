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
// wait most of the time.
const worlds = 3

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

// inShards runs every so manieth test in each world, and shows what each said when it
// has ended.
func inShards(tests []string) (code int) {
	var said [worlds]bytes.Buffer
	var codes [worlds]int
	var over sync.WaitGroup
	for w := range worlds {
		var some []string
		for i := w; i < len(tests); i += worlds {
			some = append(some, tests[i])
		}
		args := append([]string{"-test.run", "^(" + strings.Join(some, "|") + ")$"}, os.Args[1:]...)
		if w > 0 { // one file, one writer
			args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile") })
		}
		over.Go(func() { codes[w] = inPrivateWorld(&said[w], args) })
	}
	over.Wait()
	for w := range worlds {
		_, _ = said[w].WriteTo(os.Stdout)
		code = max(code, codes[w])
	}
	return code
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
