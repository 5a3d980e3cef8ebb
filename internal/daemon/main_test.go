package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"custos/internal/cli"
)

// TestMain runs the tests of this package in a world of their own: new pid and
// mount namespaces, with a /tmp of their own, so that a Custos which acts sees
// no process and no tmux server but those the tests started. The test binary is
// also the command custos, for tests that need a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("CUSTOS_AS_COMMAND") != "" {
		os.Exit(cli.Main("test"))
	}
	if id := os.Getenv("CUSTOS_HAMMER"); id != "" {
		os.Exit(hammer(id))
	}
	if os.Getenv("CUSTOS_PRIVATE_WORLD") == "" {
		os.Exit(inPrivateWorld())
	}
	os.Exit(m.Run())
}

// enter covers the places of temporary files by new ones. The go command runs
// the test binary from below one of them, so that folder is kept reachable.
const enter = `mount -t tmpfs tmpfs "$CUSTOS_WORLD" && exec "$@"`

func inPrivateWorld() int {
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
	args := []string{"--pid", "--mount", "--fork", "--mount-proc", "--kill-child", "sh", "-c", enter, "sh", self}
	if os.Getuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	cmd := exec.Command("unshare", append(args, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), "CUSTOS_PRIVATE_WORLD=1", goEnv("GOCACHE"), goEnv("GOMODCACHE"), goEnv("GOPATH"), "CUSTOS_WORLD="+world, "TMPDIR="+world, "HOME="+world,
		"TMUX=", "TMUX_TMPDIR="+world)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the tests in a world of their own:", err)
		return 1
	}
	return 0
}

// goEnv keeps a setting of go that depends on HOME.
func goEnv(name string) string {
	out, _ := exec.Command("go", "env", name).Output()
	return name + "=" + strings.TrimSpace(string(out))
}
