package daemon_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestAClientSpeaksOfOtherMachines: a Custos that watches nothing, as on a machine that is no
// Linux, built and run here, asks a real daemon through a real sshd. What is of its own machine is
// unknown, and refused; what is of the other one is shown and done there.
func TestAClientSpeaksOfOtherMachines(t *testing.T) {
	one := foundBeside(t, "")
	one.start()
	one.spawn("ann", "idle", false)
	d := newDesk(t, map[string]string{"box1": one.program()})
	d.bin = clientProgram(t)

	out, code := d.custos("ps", "--json")
	var all api.Agents
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 3 || all.Seen.Status != "unknown" || len(all.Agents) != 1 || all.Agents[0].Name != "box1/ann" || all.Hosts[0].Status != "ok" {
		t.Errorf("ps ended with %d, %v: %s", code, err, out)
	}
	for _, c := range []struct {
		typed string
		code  int
		want  string
	}{
		{"ps", 3, "this machine is not in it: agents unknown, Custos watches Linux only"},
		{"ps --host box1", 0, "ann"},
		{"alerts", 3, "the alerts of this machine are not known: Custos watches Linux only"},
		{"why box1/ann", 0, "ann"},
		{"plan --host box1", 0, ""},
		{"status --host box1", 0, "running"},
		{"attach box1/ann", 0, "ssh -t"},
		{"config check", 0, "as far as a client reads it"},
		{"up", 3, "cannot look at this machine: Custos watches Linux only"},
		{"stop --all", 3, "cannot look at this machine: Custos watches Linux only"},
		{"stop ann", 3, "cannot look at this machine: Custos watches Linux only"},
		{"patrol --apply", 3, "cannot look at this machine: Custos watches Linux only"},
		{"stop box1/ann", 2, "it is not known here who asks"},
	} {
		if out, code := d.custos(strings.Fields(c.typed)...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s ended with %d: %s", c.typed, code, out)
		}
	}
	d.asksOfAClient(one)
	d.looksAtTop()
}

// asksOfAClient: on a terminal it is a person who asks, unless the environment tells of an agent.
func (d *desk) asksOfAClient(one *town) {
	d.Helper()
	typed := func(args string, environ ...string) (string, int) {
		cmd := exec.Command("script", "-qec", filepath.Join(d.bin, "custos")+" --config "+d.dir+"/custos.toml "+args, "/dev/null")
		cmd.Env = append(environ, "HOME="+d.dir, "PATH="+d.dir+":"+os.Getenv("PATH"), "TERM=xterm") // an agent may run the tests
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := typed("stop box1/ann", "CLAUDECODE=1"); code != 2 || !strings.Contains(out, "CLAUDECODE is set") || one.agent("ann").PID == 0 {
		d.Errorf("an agent's stop ended with %d: %s", code, out)
	}
	if out, code := typed("nudge box1/ann 'please say hello' --wait 1m"); code != 0 {
		d.Errorf("a person's nudge ended with %d: %s", code, out)
	}
	if out, code := typed("stop box1/ann"); code != 0 || one.agent("ann").PID != 0 {
		d.Errorf("a person's stop ended with %d: %s", code, out)
	}
}

// looksAtTop: the screen shows the other machine, and this one as unknown.
func (d *desk) looksAtTop() {
	d.Helper()
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(d.dir, "tmux"), "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+d.dir, "PATH="+d.dir+":"+os.Getenv("PATH"))
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	d.Cleanup(func() { tmux("kill-server") })
	tmux("new-session", "-d", "-x", "80", "-y", "24", filepath.Join(d.bin, "custos")+" --config "+d.dir+"/custos.toml top")
	screen := func() string { return tmux("capture-pane", "-p") }
	await(d.T, screen, func() bool {
		return strings.Contains(screen(), "box1/ann") && strings.Contains(screen(), "cannot look at this machine: Custos watches Linux only")
	})
	for _, want := range []string{" · this machine is not seen", "AGENTS 1, and those of this machine, which are not known", "nothing that could be seen"} {
		if !strings.Contains(screen(), want) {
			d.Errorf("want %q: %s", want, screen())
		}
	}
	d.Log(screen())
}

// clientProgram is custos as it is built for a machine that is no Linux.
func clientProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-tags", "custos_client", "-trimpath", "-buildvcs=false", "-o", dir+"/", "custos/cmd/custos")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build a client: %v: %s", err, out)
	}
	return dir
}
