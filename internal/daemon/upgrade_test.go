package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
)

// loopConfig gives up on an agent after two recoveries, soon.
const loopConfig = `budget = "500 in 1h"
[rule.agent-crashed]
attempts = "2 in 1h"
cooldown = "1s"
[rule.correlated-failure]
enabled = false
[limits]
settle = "100ms"
stagger = "0s"
deaths = "99 in 1s"
spawn_memory = "0"
[recover]
settle = "200ms"
`

// down ends the daemon as a person does, and waits for its process.
func (w *town) down() {
	w.Helper()
	cmd := exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "down")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("down: %v\n%s\n%s", err, out, w.said)
	}
	if err := w.up.Wait(); err != nil {
		w.Fatalf("the daemon ended with %v\n%s", err, w.said)
	}
}

// spawnTold starts an agent that is never recovered, and can be told what to do
// by the lines of a file.
func (w *town) spawnTold(name string, headless bool) (file string) {
	w.Helper()
	file = filepath.Join(w.dir, name+".told")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		w.Fatal(err)
	}
	s := &api.SpawnRequest{Kind: "claude", Headless: headless, Restart: "never", Dir: filepath.Join(w.dir, "work"), Prompt: "fake work 1h",
		Argv: []string{"claude", "--control", file}}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
		w.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
	}
	return file
}

// refusal is why an agent is not recovered now.
func (w *town) refusal(name string) api.Refusal {
	w.Helper()
	p, err := w.client().Plan(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(p.Skipped, func(r api.Refusal) bool { return r.Do == "recover" && r.Subject == "agent/"+name })
	if i < 0 {
		return api.Refusal{}
	}
	return p.Skipped[i]
}

// claudes lists the processes of agents in this world, ended ones left out.
func claudes(t *testing.T) (pids []int) {
	t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		stat, err := os.ReadFile(d + "/stat")
		if err != nil || !strings.Contains(string(stat), "(claude) ") || strings.Contains(string(stat), "(claude) Z") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

func isGone(pid int) bool { return syscall.Kill(pid, 0) != nil }

// before is what a daemon that goes down leaves, and the next one must find.
type before struct {
	pids    map[string]int
	nudge   api.Order
	refusal api.Refusal
	loop    []api.Alert
}

// TestUpgrade takes the daemon down and starts another build: the same agents, each
// once, open orders and windows as they were, and the end of those that died meanwhile.
func TestUpgrade(t *testing.T) {
	next := built(t, "2.0.0-next", "")
	w := newTown(t, loopConfig)
	w.spawn("calm", "reply hello", false)
	w.spawn("quiet", "work 1h", true)
	w.spawn("busy", "work 1h", false)
	w.spawnTold("nine", false)
	three := w.spawnTold("three", true)
	w.spawnArgv("loop", "claude", "--fake", "boot 300ms; kill")
	was := w.leave()
	first := w.executable()

	w.down()
	if err := syscall.Kill(was.pids["nine"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(three, []byte("exit 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, w.said.String, func() bool { return isGone(was.pids["nine"]) && isGone(was.pids["three"]) })
	for _, name := range []string{"calm", "quiet", "busy"} {
		if isGone(was.pids[name]) {
			t.Errorf("%s ended with the daemon", name)
		}
	}

	w.bin = next
	w.start()
	if s, err := status(t.Context(), w.cfg); err != nil || s.Version != "2.0.0-next" || w.executable() == first {
		t.Fatalf("it is no other build: %+v, %v, %s", s, err, w.executable())
	}
	t.Run("same agents", func(t *testing.T) { w.sameAgents(t, was) })
	t.Run("ends are known", func(t *testing.T) { w.endsAreKnown(t) })
	t.Run("windows are there", func(t *testing.T) { w.windowsAreThere(t, was) })
	t.Run("nudge is delivered", func(t *testing.T) { w.nudgeIsDelivered(t, was, "busy") })
}

// leave brings everything about, and notes it.
func (w *town) leave() before {
	w.Helper()
	was := before{pids: map[string]int{}}
	for name, states := range map[string][]string{"calm": {"idle"}, "busy": {"working"}, "nine": {"working"}, "quiet": {"working", "idle"}, "three": {"working", "idle"}} {
		was.pids[name] = w.awaitState(name, states...).PID
	}
	var err error
	was.nudge, err = w.client().Order(w.Context(), api.OrderRequest{Do: "nudge", Agent: "busy", Text: "fake reply thanks"})
	if err != nil || was.nudge.State != "queued" {
		w.Fatalf("the nudge of an agent that works: %+v, %v", was.nudge, err)
	}
	await(w.T, w.said.String, func() bool { return w.agent("loop").Failed != "" })
	await(w.T, w.said.String, func() bool { was.refusal = w.refusal("loop"); return was.refusal.Guard == "attempts" })
	await(w.T, w.said.String, func() bool { was.loop = w.alerts("agent-crash-loop"); return len(was.loop) > 0 })
	if len(was.loop) != 1 {
		w.Fatalf("%d alerts of the loop, want 1\n%s", len(was.loop), w.said)
	}
	return was
}

func (w *town) executable() string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(w.up.Process.Pid) + "/exe")
	if err != nil {
		w.Fatal(err)
	}
	return path
}

func (w *town) sameAgents(t *testing.T, was before) {
	var alive []int
	for _, name := range []string{"calm", "quiet", "busy"} {
		alive = append(alive, was.pids[name])
		if a := w.agent(name); a.PID != was.pids[name] || a.Owner != "custos" {
			t.Errorf("%s was %d and is %+v", name, was.pids[name], a)
		}
	}
	slices.Sort(alive)
	if got := claudes(t); !slices.Equal(got, alive) {
		t.Errorf("the agents' processes are %v, want %v", got, alive)
	}
	if all, err := w.client().Agents(t.Context()); err != nil || len(all.Agents) != 6 {
		t.Errorf("%d agents, want 6: %+v, %v", len(all.Agents), all.Agents, err)
	}
}

func (w *town) endsAreKnown(t *testing.T) {
	for name, want := range map[string]string{"nine": "signal 9", "three": "status 3"} {
		var d api.AgentDetail
		await(t, func() string { return fmt.Sprintf("%s: %+v\n%s", name, d, w.said) }, func() bool {
			var err error
			d, err = w.client().Agent(t.Context(), name)
			return err == nil && d.Exit != nil
		})
		code := d.Exit.Signal
		if name == "three" {
			code = d.Exit.Status
		}
		if n := want[len(want)-1:]; code == nil || strconv.Itoa(*code) != n || !strings.Contains(d.Exit.Words, want) {
			t.Errorf("%s ended %+v, want %s", name, d.Exit, want)
		}
		mine := func(a api.Alert) bool { return strings.HasSuffix(a.Subject, name) && strings.Contains(a.Summary, want) }
		await(t, w.said.String, func() bool { return slices.ContainsFunc(w.alerts("agent-crashed"), mine) })
	}
}

func (w *town) windowsAreThere(t *testing.T, was before) {
	if a := w.agent("loop"); a.Failed == "" || a.PID != 0 {
		t.Errorf("it was given up, and now is %+v", a)
	}
	var is api.Refusal
	await(t, func() string { return fmt.Sprintf("%+v\n%s", is, w.said) }, func() bool { is = w.refusal("loop"); return is.Guard == "attempts" })
	if is.Until == nil || was.refusal.Until == nil || is.Until.Sub(*was.refusal.Until).Abs() > time.Second {
		t.Errorf("the window was open until %v, and is until %v", was.refusal.Until, is.Until)
	}
	if now := w.alerts("agent-crash-loop"); len(now) != 1 || now[0].Number != was.loop[0].Number {
		t.Errorf("the alert of the loop was %+v and is %+v", was.loop, now)
	}
}

func (w *town) nudgeIsDelivered(t *testing.T, was before, agent string) {
	o, err := w.client().OrderState(t.Context(), was.nudge.ID)
	if err != nil || o.State != "queued" || !o.At.Equal(was.nudge.At) {
		t.Fatalf("the nudge was %+v and is %+v, %v", was.nudge, o, err)
	}
	if o := w.order(api.OrderRequest{Do: "interrupt", Agent: agent}); o.State != "done" {
		t.Fatalf("interrupt: %+v\n%s", o, w.said)
	}
	await(t, func() string { return fmt.Sprintf("%+v\n%s", o, w.said) }, func() bool {
		o, err = w.client().OrderState(t.Context(), was.nudge.ID)
		return err == nil && o.Over
	})
	if o.State != "done" || !strings.Contains(o.Why, "delivered (proof: hook)") {
		t.Errorf("the nudge became %+v", o)
	}
}
