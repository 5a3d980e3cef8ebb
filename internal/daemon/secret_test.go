package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// nobody is a user who is not the one of the tests.
const nobody = 65534

// asNobody has a command run as that user.
func asNobody(c *exec.Cmd) *exec.Cmd {
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	return c
}

// TestDaemonKeepsItsMemoryToItself: a process of the same user, as an agent is, reads
// neither the environment nor the memory of the daemon, where tokens may be. Agents
// are started and stopped all the same, and a new configuration comes into force.
func TestDaemonKeepsItsMemoryToItself(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("takes root, to be two users")
	}
	w := foundTown(t, "[limits]\nspawn_memory = \"0\"\n")
	if err := asNobody(exec.Command("true")).Run(); err != nil {
		t.Skipf("cannot become another user here: %v", err)
	}
	program := w.script("mute", "for f in environ mem maps; do head -c 64 /proc/$(cat "+w.dir+"/pid)/$f; echo \"code $?\"; done > "+w.dir+"/work/told 2>&1\ncat /proc/$PPID/environ >> "+w.dir+"/work/told; echo told >> "+w.dir+"/work/told\nexec sleep 600")
	for _, path := range []string{w.dir, filepath.Join(w.dir, "work"), filepath.Join(w.dir, ".fakeagent"), filepath.Join(w.dir, "custos.toml"), program} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(w.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	w.said = &writer{}
	w.up = asNobody(exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "up"))
	w.up.Env = append(os.Environ(), "HOME="+w.dir, "FORGE_TOKEN=s3cret")
	w.up.Stdout, w.up.Stderr = w.said, w.said
	if err := w.up.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, w.said.String, func() bool { s, err := status(t.Context(), w.cfg); return err == nil && s.Patrols > 0 })
	for _, file := range []string{"environ", "mem", "maps"} {
		out, err := asNobody(exec.Command("head", "-c", "64", "/proc/"+strconv.Itoa(w.up.Process.Pid)+"/"+file)).CombinedOutput()
		if err == nil || strings.Contains(string(out), "s3cret") {
			t.Errorf("%s of the daemon was read by another process: %v", file, err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.dir, "pid"), []byte(strconv.Itoa(w.up.Process.Pid)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &api.SpawnRequest{Kind: "claude", Argv: []string{program}, Dir: filepath.Join(w.dir, "work"), Headless: true, Prompt: "go"}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "mute", Spawn: s}); o.State != "done" {
		t.Errorf("spawn: %+v\n%s", o, w.said)
	}
	told := func() string { b, _ := os.ReadFile(filepath.Join(w.dir, "work", "told")); return string(b) }
	await(t, told, func() bool { return strings.Contains(told(), "told") })
	if strings.Count(told(), "Permission denied") != 3 || strings.Contains(told(), "s3cret") {
		t.Errorf("an agent that asks for the memory of the daemon, and of its shim, was told %q", told())
	}
	if o := w.order(api.OrderRequest{Do: "stop", Agent: "mute"}); o.State != "done" {
		t.Errorf("stop: %+v\n%s", o, w.said)
	}
	w.rewrite("mode = \"observe\"\n")
	await(t, w.said.String, func() bool { return w.mode() == "observe" })
}
