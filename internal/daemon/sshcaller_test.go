package daemon_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/daemon"
)

// agentRuns has an agent run a script, in which there is ssh of the desk.
func (d *desk) agentRuns(w *town, name, script string) {
	d.Helper()
	file := filepath.Join(w.dir, "work", name+".sh")
	text := "#!/bin/bash\nexport PATH=" + d.dir + ":$PATH\n" + script + "\nsleep 600\n"
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		d.Fatal(err)
	}
	s := &api.SpawnRequest{Kind: "claude", Argv: []string{file}, Dir: filepath.Join(w.dir, "work"), Headless: true, Prompt: "go"}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
		d.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
	}
}

// TestAnAgentStaysOneThroughSSH: an agent comes back to its own machine by ssh, in each way that was
// seen to make a person of it; a person does so, too, and stays one.
func TestAnAgentStaysOneThroughSSH(t *testing.T) {
	d, w := newDesk(t, nil), newTown(t, quickTown)
	ssh := d.dir + "/ssh"
	ways := []string{
		ssh + " box RUN",
		"env -i " + ssh + " box RUN",
		"setsid -f " + ssh + " box RUN",
		ssh + " -tt box RUN",
		ssh + " -o 'ProxyCommand " + ssh + " -W 127.0.0.1:%p box' box RUN",
		ssh + " box '" + ssh + " box RUN'",
		ssh + " -f box 'exec env -i RUN'",
		ssh + " box 'exec env -i SSH_CONNECTION=\"192.0.2.7 50000 127.0.0.1 22\" RUN'",
		ssh + " -tt box 'tmux -S " + w.dir + "/through.sock new-session -d RUN'",
	}
	var script strings.Builder
	told := func(i int) string { return fmt.Sprintf("%s/work/way.%d", w.dir, i) }
	for i, way := range ways {
		text := fmt.Sprintf("#!/bin/sh\n%s ack 1 >%s 2>&1\necho code $? >>%[2]s\n", w.program(), told(i))
		if err := os.WriteFile(told(i)+".run", []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		script.WriteString(strings.ReplaceAll(way, "RUN", told(i)+".run") + " &\n")
	}
	d.agentRuns(w, "cheat", script.String())
	for i, way := range ways {
		w.wasRefused(t, told(i), "by ssh", way)
	}
	for _, args := range [][]string{{"box"}, {"-tt", "box"}} {
		out, _ := exec.Command(ssh, append(args, w.program()+" ack 1")...).CombinedOutput()
		if got := string(out); !strings.Contains(got, "there is no such alert") {
			t.Errorf("a person by ssh %v: %s", args, got)
		}
	}
}

// tunnel is an ssh of the test that leads to an address of this machine, when it is there.
func (d *desk) tunnel(to string) (at string, end func()) {
	d.Helper()
	at = freePort(d.T)
	cmd := exec.Command(d.dir+"/ssh", "-N", "-L", at+":"+to, "box")
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	await(d.T, func() string { return "no tunnel to " + to }, func() bool { return listens(at) })
	return at, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
}

// TestThePageThroughATunnelOfAnAgent: while an agent has a way through sshd to its own machine, what
// comes through sshd may be its: by the page, and by the daemon's own socket. A person's tunnel is
// one's again when the agent's is gone.
func TestThePageThroughATunnelOfAnAgent(t *testing.T) {
	d, w := newDesk(t, nil), newTown(t, quickTown)
	address := w.webAddress()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	person, end := d.tunnel(u.Host)
	defer end()
	b := newBrowser(t, "http://"+u.Host)
	b.enters(address)
	cookie := b.http.Jar.Cookies(&url.URL{Scheme: "http", Host: u.Host, Path: "/"})[0]
	posts := func(by string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+by+"/alerts/1/ack", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = u.Host
		req.AddCookie(cookie)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "http://"+u.Host)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := posts(person); got == http.StatusForbidden {
		t.Errorf("a person's tunnel: %d", got)
	}
	theirs, socket := freePort(t), filepath.Join(w.dir, "theirs.sock")
	d.agentRuns(w, "digger", fmt.Sprintf("ssh -N -L %s:%s -L %s:%s box &", theirs, u.Host, socket, daemon.Socket(w.cfg)))
	await(t, w.said.String, func() bool { return listens(theirs) })
	for _, by := range []string{theirs, person} {
		if got := posts(by); got != http.StatusForbidden {
			t.Errorf("by %s, while an agent has a tunnel: %d", by, got)
		}
	}
	h := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	resp, err := h.Post("http://custos/v1/alerts/1/ack", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("by the daemon's socket, through an agent's tunnel: %d", resp.StatusCode)
	}
	if o := w.order(api.OrderRequest{Do: "stop", Agent: "digger"}); o.State != "done" {
		t.Fatalf("stop: %+v", o)
	}
	await(t, func() string { return fmt.Sprintf("by a person's tunnel: %d", posts(person)) }, func() bool { return posts(person) != http.StatusForbidden })
}

// TestAPersonOfAnotherMachineIsOne: who comes by ssh from another machine is a person there, and an
// agent that goes by an address of its machine that is not loopback's is none.
func TestAPersonOfAnotherMachineIsOne(t *testing.T) {
	d, all := newMachines(t, "box1")
	box := all["box1"]
	d.agentRuns(box.town, "cheat", fmt.Sprintf("/usr/bin/ssh -F %s/ssh_config box1 %s ack 1 >%s/work/own 2>&1; echo code $? >>%[3]s/work/own", d.dir, box.program(), box.dir))
	box.wasRefused(t, box.dir+"/work/own", "by ssh", "10.77.0.2")
	for _, args := range [][]string{{"box1"}, {"-tt", "box1"}, {"-J", "box1", "box1"}} {
		out, _ := exec.Command(d.dir+"/ssh", append(args, box.program()+" ack 99")...).CombinedOutput()
		if got := string(out); !strings.Contains(got, "there is no such alert") {
			t.Errorf("a person of another machine, by ssh %v: %s", args, got)
		}
	}
	if out, code := d.custos("stop", "box1/cheat"); code != 0 {
		t.Errorf("a person's stop ended with %d: %s", code, out)
	}
}
