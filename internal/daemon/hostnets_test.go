package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/remote"
)

// netns is a network and a tree of mounts of its own, kept by a process that does nothing.
type netns struct {
	*testing.T
	keeper *exec.Cmd
}

// newNetwork makes one. It skips, aloud, where that may not be.
func newNetwork(t *testing.T) *netns {
	t.Helper()
	n := &netns{T: t, keeper: exec.Command("unshare", "-n", "-m", "sh", "-c", "ip link set lo up && mount -t tmpfs tmpfs /run && mkdir /run/sshd && echo ready && exec sleep 600")}
	said := &writer{}
	n.keeper.Stdout, n.keeper.Stderr = said, said
	if err := n.keeper.Start(); err != nil {
		t.Skipf("no namespaces here: %v: no machines with a network of their own were tried", err)
	}
	t.Cleanup(func() { _ = n.keeper.Process.Kill(); _ = n.keeper.Wait() })
	await(t, said.String, func() bool { return said.String() != "" })
	if !strings.HasPrefix(said.String(), "ready") {
		t.Skipf("no namespaces here: %s: no machines with a network of their own were tried", said)
	}
	return n
}

// enter runs a program there.
func (n *netns) enter(argv ...string) []string {
	return append([]string{"nsenter", "-t", strconv.Itoa(n.keeper.Process.Pid), "-n", "-m", "--"}, argv...)
}

func (n *netns) runs(argv ...string) {
	n.Helper()
	argv = n.enter(argv...)
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		n.Fatalf("%v: %v: %s", argv, err, out)
	}
}

// machine is a town with a network of its own, and an sshd in it.
type machine struct {
	*town
	net *netns
}

// newMachines are towns, each at the end of a wire of its own that leads to the desk.
func newMachines(t *testing.T, names ...string) (*desk, map[string]*machine) {
	t.Helper()
	for _, program := range []string{"unshare", "nsenter", "ip", "ssh", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(program); err != nil || os.Getuid() != 0 {
			t.Skipf("%s is not here, or this is not root: no machines with a network of their own were tried", program)
		}
	}
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	d, here := &desk{T: t, dir: t.TempDir(), bin: bin}, newNetwork(t)
	d.keys()
	toml, all, hosts := "state_dir = \""+d.dir+"/s\"\n", map[string]*machine{}, ""
	for i, name := range names {
		m := &machine{foundBeside(t, ""), newNetwork(t)}
		m.within = m.net.enter()
		here.runs("ip", "link", "add", name, "type", "veth", "peer", "name", "wire", "netns", strconv.Itoa(m.net.keeper.Process.Pid))
		here.runs("ip", "address", "add", fmt.Sprintf("10.77.%d.1/24", i), "dev", name)
		here.runs("ip", "link", "set", name, "up")
		m.net.runs("ip", "address", "add", fmt.Sprintf("10.77.%d.2/24", i), "dev", "wire")
		m.net.runs("ip", "link", "set", "wire", "up")
		d.write(name+".sshd", strings.ReplaceAll(fmt.Sprintf(sshdConfig, "22", d.dir), "127.0.0.1", "0.0.0.0"), 0o600)
		argv := m.net.enter("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(d.dir, name+".sshd"))
		sshd := exec.Command(argv[0], argv[1:]...)
		if err := sshd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sshd.Process.Kill(); _ = sshd.Wait() })
		m.start()
		m.spawn("ann-"+name, "idle", false)
		hosts += fmt.Sprintf("Host %s\n  HostName 10.77.%d.2\n", name, i)
		toml += fmt.Sprintf("[host.%s]\nssh = %q\nprogram = %q\n", name, name, m.program())
		all[name] = m
	}
	d.write("ssh_config", hosts+strings.ReplaceAll(fmt.Sprintf(sshConfig, "22", d.dir), "  HostName 127.0.0.1\n", ""), 0o600)
	d.write("ssh", "#!/bin/sh\nexec "+strings.Join(here.enter("/usr/bin/ssh"), " ")+" -F "+d.dir+"/ssh_config \"$@\"\n", 0o755)
	d.write("custos.toml", toml, 0o600)
	return d, all
}

// watch looks at machines as a screen and the page do.
func (d *desk) watch(all map[string]*machine) *remote.Watch {
	d.Setenv("PATH", d.dir+":"+os.Getenv("PATH"))
	var hosts []remote.Host
	for name, m := range all {
		hosts = append(hosts, remote.Host{Name: name, SSH: name, Program: m.program()})
	}
	return remote.NewWatch(d.Context(), func() []remote.Host { return hosts }, nil, func() {})
}

// state is how a machine was seen last, and what its agent does.
func state(w *remote.Watch, name string) (api.HostLook, string) {
	list, _ := w.Looks(true)
	for _, h := range list {
		if h.Name != name {
			continue
		}
		for _, g := range h.Agents(time.Now()) { // the agents of the others are seen there, too: processes have one machine
			if g.Own() == "ann-"+name {
				return h, g.State
			}
		}
		return h, ""
	}
	return api.HostLook{}, ""
}

// soon is how soon it is said that a machine is silent.
const soon = 10 * time.Second

// Three machines, of which one daemon hangs, one wire is cut and one daemon is killed: each is
// said within ten seconds, its agent is unknown and not gone, and the others are seen as they
// are; when they are back, so is what they say.
func TestMachinesThatFallSilent(t *testing.T) {
	d, all := newMachines(t, "box1", "box2", "box3")
	w := d.watch(all)
	sees := func(name, want string) time.Duration {
		t.Helper()
		began := time.Now()
		await(t, func() string { h, s := state(w, name); return fmt.Sprintf("%s: %+v: %s", name, h.HostSeen, s) }, func() bool { _, s := state(w, name); return s == want })
		return time.Since(began)
	}
	for name := range all {
		sees(name, "idle")
	}
	began := time.Now()
	if err := all["box1"].up.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = all["box1"].up.Process.Signal(syscall.SIGCONT) }()
	all["box3"].net.runs("ip", "link", "set", "wire", "down")
	sees("box1", "unknown")
	hung := time.Since(began)
	sees("box3", "unknown")
	cut := time.Since(began)
	if h, s := state(w, "box2"); s != "idle" || h.IsSilent() {
		t.Errorf("box2 is seen otherwise, too: %s, %+v", s, h.HostSeen)
	}
	began = time.Now()
	all["box2"].kill()
	sees("box2", "unknown")
	killed := time.Since(began)
	t.Logf("said after: hung %v, cut %v, killed %v", hung, cut, killed)
	for what, took := range map[string]time.Duration{"hangs": hung, "is cut off": cut, "is killed": killed} {
		if took > soon {
			t.Errorf("that one %s was said after %v", what, took)
		}
	}
	if h, _ := state(w, "box2"); !strings.Contains(h.Why, "no daemon answers") {
		t.Errorf("why box2 is silent: %+v", h.HostSeen)
	}
	if out, code := d.custos("ps"); code != 3 || strings.Count(out, "is silent") != 3 {
		t.Errorf("ps ended with %d: %s", code, out)
	}
	_ = all["box1"].up.Process.Signal(syscall.SIGCONT)
	all["box3"].net.runs("ip", "link", "set", "wire", "up")
	sees("box1", "idle")
	sees("box3", "idle")
}
