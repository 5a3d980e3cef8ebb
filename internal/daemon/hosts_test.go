package daemon_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
)

// desk is the machine of a person who looks at others: each of these is a town of its own,
// reached through a real sshd on loopback.
type desk struct {
	*testing.T
	dir, bin string
}

const sshdConfig = `Port %s
ListenAddress 127.0.0.1
HostKey %[2]s/hostkey
AuthorizedKeysFile %[2]s/key.pub
StrictModes no
UsePAM no
PidFile none
`

const sshConfig = `Host *
  HostName 127.0.0.1
  Port %s
  IdentityFile %[2]s/key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
`

// newDesk starts an sshd through which the towns are hosts. It skips, aloud, where there is none.
func newDesk(t *testing.T, hosts map[string]string) *desk {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("no sshd is here (openssh-server): no other machine was asked")
	}
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, dir: t.TempDir(), bin: bin}
	d.keys()
	address := freePort(t)
	_, port, _ := net.SplitHostPort(address)
	d.write("sshd_config", fmt.Sprintf(sshdConfig, port, d.dir), 0o600)
	d.write("ssh_config", fmt.Sprintf(sshConfig, port, d.dir), 0o600)
	d.write("ssh", "#!/bin/sh\nexec /usr/bin/ssh -F "+d.dir+"/ssh_config \"$@\"\n", 0o755)
	// sshd of root wants a folder of its own below /run.
	cmd := exec.Command("unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "+sshd+" -D -e -f "+d.dir+"/sshd_config")
	said := &writer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	await(t, said.String, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	var toml strings.Builder
	for name, program := range hosts {
		fmt.Fprintf(&toml, "[host.%s]\nssh = \"%s\"\nprogram = %q\n", name, name, program)
	}
	d.write("custos.toml", "state_dir = \""+d.dir+"/s\"\n"+toml.String(), 0o600)
	return d
}

func (d *desk) write(name, text string, mode os.FileMode) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), mode); err != nil {
		d.Fatal(err)
	}
}

// keys makes those of the machines and of the person.
func (d *desk) keys() {
	d.Helper()
	for _, key := range []string{"hostkey", "key"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(d.dir, key)).CombinedOutput(); err != nil {
			d.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
}

// custos runs a command of the person at the desk.
func (d *desk) custos(args ...string) (string, int) {
	d.Helper()
	cmd := exec.Command(filepath.Join(d.bin, "custos"), append([]string{"--config", filepath.Join(d.dir, "custos.toml")}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+d.dir, "PATH="+d.dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		d.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// program is what a town's machine has as custos.
func (w *town) program() string {
	file := filepath.Join(w.dir, "custos")
	text := "#!/bin/sh\nexport HOME=" + w.dir + " PATH=" + filepath.Dir(agenttest.Build(w)) + ":$PATH\nexec " + w.bin + "/custos --config " + w.dir + "/custos.toml \"$@\"\n"
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		w.Fatal(err)
	}
	return file
}

// TestOtherMachines: what is asked of another machine is done there, by its own rules; a
// machine that is silent is said, in time, and what its agents do is unknown.
func TestOtherMachines(t *testing.T) {
	one, two := foundBeside(t, ""), foundBeside(t, "")
	one.start()
	two.start()
	one.spawn("ann", "idle", false)
	two.spawn("bob", "idle", false)
	silent := filepath.Join(one.dir, "silent")
	if err := os.WriteFile(silent, []byte("#!/bin/sh\nsleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, map[string]string{"box1": one.program(), "box2": two.program(), "mute": silent, "none": "/nowhere/custos"})

	began := time.Now()
	out, code := d.custos("ps", "--json")
	var all api.Agents
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 3 {
		t.Fatalf("ps ended with %d, %v: %s", code, err, out)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, want := range []string{"box1/ann", "box2/bob"} {
		if !slices.ContainsFunc(all.Agents, func(g api.AgentRow) bool { return g.Name == want && g.Host+"/" == want[:5] && g.State != "unknown" }) {
			t.Errorf("%s is not there: %s", want, out)
		}
	}
	for _, h := range all.Hosts {
		switch {
		case strings.HasPrefix(h.Name, "box") && h.Status == "ok":
		case h.Name == "mute" && h.Status == "unknown" && strings.Contains(h.Why, "no answer within 8s"):
		case h.Name == "none" && h.Status == "unknown" && strings.Contains(h.Why, "/nowhere/custos"):
		default:
			t.Errorf("%+v", h)
		}
	}

	for _, args := range [][]string{{"show", "box1/ann"}, {"why", "box1/ann"}, {"peek", "box1/ann"}, {"status", "--host", "box1"}, {"attach", "box1/ann"}} {
		if out, code := d.custos(args...); code != 0 || strings.Contains(out, "custos show ann") {
			t.Errorf("%v ended with %d: %s", args, code, out)
		}
	}
	if out, _ := d.custos("show", "box1/ann"); !strings.Contains(out, "--host box1 ") {
		t.Errorf("what to do next is not for that machine: %s", out)
	}
	if out, code := d.custos("nudge", "box2/bob", "please say hello", "--wait", "1m"); code != 0 {
		t.Errorf("nudge ended with %d: %s", code, out)
	}
	if out, code := d.custos("stop", "box1/ann", "--instance", two.agent("bob").Instance); code != 2 || !strings.Contains(out, "another instance of that name") || one.agent("ann").PID == 0 {
		t.Errorf("stop of another instance ended with %d: %s", code, out)
	}
	if out, code := d.custos("stop", "box1/ann", "--instance", one.agent("ann").Instance); code != 0 || one.agent("ann").PID != 0 {
		t.Errorf("stop ended with %d: %s", code, out)
	}
	if out, code := d.custos("stop", "box9/ann"); code != 2 {
		t.Errorf("a host that is none: %d: %s", code, out)
	}
	if out, code := d.custos("status", "--host", "box9"); code != 2 || !strings.Contains(out, "[host.box9]") {
		t.Errorf("a host that is none: %d: %s", code, out)
	}
	began = time.Now()
	if out, code := d.custos("stop", "mute/ann"); code != 3 || !strings.Contains(out, "no answer within 8s") || time.Since(began) > 30*time.Second {
		t.Errorf("stop at a silent machine ended with %d after %v: %s", code, time.Since(began), out)
	}
	d.asksAsAnAgent()
	two.signal(syscall.SIGSTOP)
	began = time.Now()
	if out, code := d.custos("stop", "box2/bob"); code != 3 || !strings.Contains(out, "the order was not given: cannot reach host box2: it gave no answer within 9s") || time.Since(began) > 20*time.Second {
		t.Errorf("stop at a machine whose daemon hangs ended with %d after %v: %s", code, time.Since(began), out)
	}
	two.signal(syscall.SIGCONT)
	two.kill()
	if out, code := d.custos("show", "box2/bob"); code != 3 || !strings.Contains(out, "no daemon answers on this machine") || !strings.Contains(out, "try: ssh box2 "+two.dir+"/custos up\n") {
		t.Errorf("a machine without a daemon: %d: %s", code, out)
	}
}

// asksAsAnAgent: who is an agent here is none of the other machine's persons.
func (d *desk) asksAsAnAgent() {
	d.Setenv("CUSTOS_AGENT", "eve:i1")
	defer os.Unsetenv("CUSTOS_AGENT")
	if out, code := d.custos("stop", "box2/bob"); code != 2 || !strings.Contains(out, "an agent of another machine") {
		d.Errorf("an agent's stop ended with %d: %s", code, out)
	}
	if out, code := d.custos("show", "box2/bob"); code != 0 {
		d.Errorf("an agent's look ended with %d: %s", code, out)
	}
}
