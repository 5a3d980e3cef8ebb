package daemon_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"custos/internal/cli"
)

// TestMain runs the tests of this package in worlds of their own: new pid and
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
	if dir := os.Getenv("CUSTOS_CAGE"); dir != "" {
		os.Exit(cage(dir, os.Args[1:]))
	}
	if what := os.Getenv("CUSTOS_WORLD_WITH"); what != "" {
		os.Exit(worldWith(what, os.Args[1:]))
	}
	switch os.Getenv("CUSTOS_PRIVATE_WORLD") {
	case "":
		os.Exit(inPrivateWorlds())
	case "entering":
		os.Exit(enter(os.Getenv("CUSTOS_WORLD")))
	}
	os.Exit(m.Run())
}

// goEnv keeps a setting of go that depends on HOME.
func goEnv(name string) string {
	out, _ := exec.Command("go", "env", name).Output()
	return name + "=" + strings.TrimSpace(string(out))
}
