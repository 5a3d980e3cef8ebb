//go:build conformance

package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/api"
)

// TestCustos does through Custos itself what TestScreens does by hand: a daemon,
// and its command line, with real agents.
func TestCustos(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, k agent.Kind) {
		f := startFleet(t, c)
		for _, step := range []struct {
			name string
			do   func(*testing.T)
		}{
			{"spawn", f.spawn}, {"nudge", f.nudge}, {"answer", f.answer}, {"recover", f.recover}, {"limit", f.limit}, {"stop", f.stop},
		} {
			if !t.Run(step.name, step.do) {
				t.Log(f.tellAll(t))
				t.FailNow()
			}
		}
	})
}

// custos is a Custos with a home, a daemon and one agent of its own.
type custos struct {
	cli    cli
	home   home
	env    []string
	names  []string // of variables that the agent is given
	who    string   // the agent that is looked at
	daemon *exec.Cmd
}

// lookLimit is how old what Custos has seen of a screen may be: it looks twice a
// minute where no event makes it look.
const lookLimit = 90 * time.Second

// name is the first agent's.
const name = "alpha"

// startFleet starts the daemon, with more in its configuration, and waits until it answers.
func startFleet(t *testing.T, c cli, more ...string) *custos {
	t.Helper()
	h := newHome(t, c, StartModel(t, 250*time.Millisecond))
	f := &custos{cli: c, home: h, who: name}
	given := c.settle(t, h)
	for _, v := range given {
		key, _, _ := strings.Cut(v, "=")
		f.names = append(f.names, key)
	}
	f.env = append(h.env(), given...)
	config := "mode = \"auto\"\ngrace = \"1s\"\npatrol_every = \"10s\"\n" + strings.Join(more, "")
	if file := os.Getenv(kindsVar); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		config += string(text)
	}
	h.write(t, ".config/custos/custos.toml", config)
	f.up(t)
	return f
}

func (f *custos) up(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(f.home.dir, "daemon.log"))
	if err != nil {
		t.Fatal(err)
	}
	f.daemon = f.command("up")
	f.daemon.Stdout, f.daemon.Stderr = log, log
	if err := f.daemon.Start(); err != nil {
		t.Fatalf("cannot start the daemon: %v", err)
	}
	t.Cleanup(func() { f.down(t); _ = log.Close() })
	f.until(t, "the daemon answers", 30*time.Second, func() bool {
		var s api.Status
		_, err := f.try(&s, "status") // without a daemon it answers, too
		return err == nil && s.Daemon
	})
}

// down ends what the test started: the agents first, then the daemon.
func (f *custos) down(t *testing.T) {
	_ = f.command("stop", "--all").Run()
	_ = exec.Command("tmux", "-S", f.state("run", "tmux.sock"), "kill-server").Run()
	if err := f.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the daemon has ended before: %v\n%s", err, f.log())
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- f.daemon.Wait() }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Errorf("the daemon does not end")
		_ = f.daemon.Process.Kill()
		<-ended
	}
}

func (f *custos) state(parts ...string) string {
	return filepath.Join(append([]string{f.home.dir, ".local/state/custos"}, parts...)...)
}

func (f *custos) log() string {
	b, _ := os.ReadFile(filepath.Join(f.home.dir, "daemon.log")) // it is for people to read
	return string(b)
}

func (f *custos) command(args ...string) *exec.Cmd {
	cmd := exec.Command(ours("custos"), args...)
	cmd.Dir, cmd.Env = f.home.project, f.env
	return cmd
}

// run runs a command that has to succeed, and reads its JSON.
func (f *custos) run(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := f.try(into, args...)
	if err != nil {
		t.Fatalf("custos %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (f *custos) try(into any, args ...string) (string, error) {
	cmd := f.command(append(slices.Clone(args), "--json")...)
	if i := slices.Index(args, "--"); i >= 0 { // flags come before it
		cmd = f.command(slices.Insert(slices.Clone(args), i, "--json")...)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil && into != nil {
		err = json.Unmarshal(out, into)
	}
	return string(out) + errs.String(), err
}

// until asks again and again until something is so.
func (f *custos) until(t *testing.T, what string, limit time.Duration, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !so(); <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v not seen: %s", limit, what)
		}
	}
}

// is waits until the agent is in a state.
func (f *custos) is(t *testing.T, state string) api.AgentRow {
	t.Helper()
	var row api.AgentRow
	f.run(t, &row, "wait", f.who, "--for", state, "--timeout", startLimit.String())
	return row
}

// show is what Custos knows of the agent.
func (f *custos) show(t *testing.T) api.AgentDetail {
	t.Helper()
	var d api.AgentDetail
	f.run(t, &d, "show", f.who)
	return d
}

// order gives an order that has to be done.
func (f *custos) order(t *testing.T, args ...string) api.Order {
	t.Helper()
	var o api.Order
	f.run(t, &o, args...)
	if o.State != "done" {
		t.Fatalf("custos %s: %s: %s %s", strings.Join(args, " "), o.State, o.Guard, o.Why)
	}
	return o
}

// tellAll shows all that Custos has to say of the agent.
func (f *custos) tellAll(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, args := range [][]string{{"ps"}, {"show", f.who}, {"why", f.who}, {"peek", f.who}, {"feed"}, {"failures"}} {
		out, err := f.command(args...).CombinedOutput()
		fmt.Fprintf(&b, "$ custos %s (%v)\n%s\n", strings.Join(args, " "), err, out)
	}
	for _, a := range f.home.model.Asked() {
		fmt.Fprintf(&b, "asked by %s: %.60q, %d turns, %d tools: %d\n", a.Protocol, a.Prompt(), len(a.Turns), len(a.Tools), a.Status)
	}
	return b.String() + f.log()
}

// spawn: the agent starts under its shim, and is seen as ready.
func (f *custos) spawn(t *testing.T) {
	args := []string{"spawn", f.who, "--kind", f.cli.kind, "--dir", f.home.project, "--restart", "never", "--wait", "2m"}
	args = append(args, "--env", strings.Join(f.names, ","), "--", f.cli.program())
	f.order(t, append(args, f.cli.extra...)...)
	f.declines(t)
	row := f.is(t, "idle")
	if row.Owner != "custos" || row.PID == 0 {
		t.Errorf("the agent is %+v", row)
	}
}

// declines what a CLI offers at the first start after an update, which it does when it likes.
func (f *custos) declines(t *testing.T) {
	if row := f.is(t, "idle,waiting,dialog"); row.State == "idle" {
		return
	}
	var d api.AgentDetail
	f.until(t, "what it asks at its start", time.Minute, func() bool { d = f.show(t); return d.Dialog != nil || d.Agent.State == "idle" })
	if d.Dialog != nil && d.Dialog.ID == "renderer" {
		f.order(t, "answer", f.who, "no", "--wait", "90s")
	}
}

// nudge: one turn, whose prompt the agent's own hook acknowledges.
func (f *custos) nudge(t *testing.T) {
	o := f.say(t, "please say hello")
	if o.Arrival == nil || o.Arrival.Outcome != "delivered" || o.Arrival.Proof == "screen" {
		t.Errorf("the nudge is %s, but the agent does not tell of it: %s", o.State, o.Why)
	}
	f.is(t, "idle")
}

// say nudges, and sees that the model was asked.
func (f *custos) say(t *testing.T, text string) api.Order {
	t.Helper()
	from := len(f.home.model.Asked())
	o := f.order(t, "nudge", f.who, text, "--wait", "2m")
	f.until(t, "the model is asked "+text, 30*time.Second, func() bool { heard, _ := f.home.model.Heard(from, text, ""); return heard })
	return o
}

// answer: a permission prompt is seen as waiting, and answered.
func (f *custos) answer(t *testing.T) {
	f.say(t, "now run the tool")
	for range f.cli.permission {
		f.is(t, "waiting")
		f.until(t, "the dialog can be read", lookLimit, func() bool { return f.show(t).Dialog != nil })
		if d := f.show(t).Dialog; d != nil && !strings.Contains(d.Args+d.Question+d.Tool, toolCommand) {
			t.Errorf("the dialog does not show the command %q: %+v", toolCommand, d)
		}
		f.order(t, "answer", f.who, "yes", "--wait", "30s")
	}
	f.until(t, "the file that the tool makes", 30*time.Second, func() bool {
		_, err := os.Stat(filepath.Join(f.home.project, proof))
		return err == nil
	})
	f.is(t, "idle")
}

// recover: a killed agent is a crash by signal 9, known as such; recovered it
// goes on with its conversation.
func (f *custos) recover(t *testing.T) {
	before := f.show(t)
	if err := syscall.Kill(before.Agent.PID, syscall.SIGKILL); err != nil {
		t.Fatalf("cannot kill the agent: %v", err)
	}
	f.is(t, "crashed")
	if e := f.show(t).Exit; e == nil || e.Signal == nil || *e.Signal != int(syscall.SIGKILL) {
		t.Errorf("how it ended is told as %+v", e)
	}
	f.order(t, "recover", f.who, "--wait", "2m")
	f.is(t, "idle")
	if after := f.show(t); after.Agent.PID == before.Agent.PID || after.Record == nil || before.Record == nil || after.Record.Instance == before.Record.Instance {
		t.Errorf("it is no new instance: %+v", after.Agent)
	}
	from := len(f.home.model.Asked())
	f.say(t, "what was before")
	if _, remembered := f.home.model.Heard(from, "what was before", "please say hello"); !remembered {
		t.Error("its conversation was not resumed: the model was not told of what was said before")
	}
	f.is(t, "idle")
}

// limit: a 429 is a rate limit, where the kind tells at all.
func (f *custos) limit(t *testing.T) {
	if f.cli.limitIs == "" {
		t.Skipf("%s never tells a rate limit", f.cli.kind)
	}
	f.say(t, "hit the limit")
	f.is(t, "rate_limited")
}

// stop: nothing of it is left.
func (f *custos) stop(t *testing.T) {
	pid := f.show(t).Agent.PID
	f.order(t, "stop", f.who, "--wait", "2m")
	f.is(t, "stopped")
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is there still: %v", pid, err)
	}
}
