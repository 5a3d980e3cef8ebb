package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/cli"
	"custos/internal/service"
	"custos/internal/sys/systemdtest"
)

// serve runs custos service on a machine where systemd runs, as user me.
func serve(t *testing.T, m *systemdtest.Machine, home string, args ...string) (code int, out, errs string) {
	t.Helper()
	exe, err := filepath.EvalSymlinks("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "PATH": "/usr/bin:/bin"}
	getenv := func(name string) string { return env[name] }
	var stdout, stderr bytes.Buffer
	machine := service.Machine{Root: m.Root, UID: func() int { return 1000 }, Exe: func() (string, error) { return exe, nil },
		Passwd: func(int) (string, string, error) { return "me", home, nil }, Every: time.Millisecond, Within: 50 * time.Millisecond}
	code = cli.Run(t.Context(), cli.Env{Args: append([]string{"service"}, args...), Stdout: &stdout, Stderr: &stderr, Getenv: getenv, Width: 100, Daemon: fake(getenv), Service: machine})
	return code, stdout.String(), stderr.String()
}

// What a person reads of each end that custos service comes to, and the exit code.
func TestService(t *testing.T) {
	home := t.TempDir()
	m := systemdtest.New(t, filepath.Join(home, ".config"))
	file := home + "/.config/systemd/user/custos.service"
	try := func(code int, want string, args ...string) {
		t.Helper()
		got, out, errs := serve(t, m, home, args...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("custos service %s ended with %d:\n%s%s", strings.Join(args, " "), got, out, errs)
		}
	}
	try(1, "NEXT\n  custos service install", "status")
	try(0, "[Unit]\n", "install", "--print")
	try(2, "a unit of the system is root's to write", "install", "--system")
	try(2, "--system and --user do not go together", "install", "--system", "--user")
	try(3, "everything is as it was: the daemon is not well", "install") // the fake's systemd starts no daemon
	if _, err := os.Stat(file); err == nil || m.Is("user/enabled") || m.Is("user/active") {
		t.Error("something of it is left")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[Service]\nExecStart=/bin/false\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	try(2, "-ExecStart=/bin/false", "install")
	try(2, "try: custos service install --replace", "install")
	try(1, "differs: not written by custos service", "status", "--user")
	try(2, "custos service uninstall --edited", "uninstall")
	try(0, "removed "+file, "uninstall", "--edited")
	try(0, "There was nothing to remove.", "uninstall")
	if err := os.Remove(m.Root + "/run/systemd/system"); err != nil {
		t.Fatal(err)
	}
	try(3, "systemd does not run here. In a container", "install")
	try(3, "not known: systemd does not run here", "status", "--user")
	code, out, _ := serve(t, m, home, "status", "--json")
	var said struct{ Units []service.Status }
	if err := json.Unmarshal([]byte(out), &said); err != nil || code != 3 || len(said.Units) != 2 || said.Units[0].Manager != "user" || said.Units[0].Known {
		t.Errorf("%d, %v: %s", code, err, out)
	}
}
