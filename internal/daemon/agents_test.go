package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
)

// binaries are the programs as make build makes them, in one folder. Where the tests
// are run in several worlds, they were built for all of them.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bin")
	if err != nil {
		return "", err
	}
	if built := os.Getenv("CUSTOS_BINARIES"); built != "" {
		return dir, os.CopyFS(dir, os.DirFS(built))
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", dir+"/", "custos/cmd/custos", "custos/cmd/custos-shim", "custos/cmd/custos-hook")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build: %w\n%s", err, out)
	}
	return dir, nil
})

// town is a Custos of its own with a daemon that may act, and fake agents.
type town struct {
	*testing.T
	dir  string // the home of everything
	bin  string
	cfg  config.Config
	up   *exec.Cmd
	said *writer
	// within is a program that runs the daemon in namespaces of its own, as itself; empty: none
	within []string
	// powerless: its commands run without the powers of root, which reads whatever there is
	powerless bool
}

// newTown makes one; more is added to its custos.toml.
func newTown(t *testing.T, more string) *town {
	t.Helper()
	w := foundTown(t, more)
	w.start()
	return w
}

// foundTown makes one whose daemon is yet to be started, and that is the home of this
// process, too.
func foundTown(t *testing.T, more string) *town {
	t.Helper()
	w := foundBeside(t, more)
	t.Setenv("HOME", w.dir)
	return w
}

// foundBeside makes one that may stand beside others, for tests that run at once.
func foundBeside(t *testing.T, more string) *town {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "t") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	w := &town{T: t, dir: dir, bin: bin}
	for _, d := range []string{".fakeagent", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(more, "mode =") {
		more = "mode = \"auto\"\n" + more
	}
	head, rest, _ := strings.Cut(more, "\n")
	more = rest
	text := head + "\ngrace = \"0s\"\nstate_dir = \"" + dir + "/s\"\n" + more
	if err := os.WriteFile(filepath.Join(dir, "custos.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.cfg, err = config.Load(config.Options{File: filepath.Join(dir, "custos.toml"), Sections: daemon.Sections(), Getenv: func(name string) string {
		if name == "HOME" {
			return dir
		}
		return os.Getenv(name)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.burn)
	return w
}

// start starts the daemon.
func (w *town) start() {
	w.Helper()
	if w.said == nil || w.up != nil { // else who listens already goes on
		w.said = &writer{}
	}
	argv := append(slices.Clone(w.within), filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "up")
	w.up = exec.Command(argv[0], argv[1:]...)
	w.up.Env = append(os.Environ(), "HOME="+w.dir, "PATH="+filepath.Dir(agenttest.Build(w))+":"+os.Getenv("PATH"))
	w.up.Stdout, w.up.Stderr = w.said, w.said
	if err := w.up.Start(); err != nil {
		w.Fatal(err)
	}
	await(w.T, w.said.String, func() bool { s, err := status(w.Context(), w.cfg); return err == nil && s.Patrols > 0 })
}

// stop kills the daemon without warning.
func (w *town) kill() {
	_ = w.up.Process.Kill()
	_ = w.up.Wait()
}

// burn ends every process whose home is this town's, each by its number.
func (w *town) burn() {
	if w.up != nil && w.up.Process != nil {
		ends(w.T, w.up, w.said)
	}
	for range 3 { // what is ended may have just started another one
		for _, pid := range w.inhabitants() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = os.RemoveAll(w.dir)
}

func (w *town) inhabitants() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil && pid != os.Getpid() && slices.Contains(strings.Split(string(b), "\x00"), "HOME="+w.dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (w *town) client() *api.Client {
	w.Helper()
	c, err := api.Dial(w.Context(), daemon.Socket(w.cfg))
	if err != nil {
		w.Fatalf("%v\n%s", err, w.said)
	}
	w.Cleanup(c.Close)
	return c
}

// order gives an order and waits until it is over.
func (w *town) order(o api.OrderRequest) api.Order {
	w.Helper()
	c := w.client()
	got, err := c.Order(w.Context(), o)
	if err != nil {
		w.Fatalf("%s %s: %v\n%s", o.Do, o.Agent, err, w.said)
	}
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", got, w.said) }, func() bool {
		got, err = c.OrderState(w.Context(), got.ID)
		return err == nil && got.Over
	})
	return got
}

// spawn starts a fake agent that does what fake says.
func (w *town) spawn(name, fake string, headless bool) {
	w.Helper()
	s := &api.SpawnRequest{Kind: "claude", Headless: headless, Dir: filepath.Join(w.dir, "work"), Prompt: "fake " + fake}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
		w.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
	}
}

// spawnArgv starts an agent by its own command line.
func (w *town) spawnArgv(name string, argv ...string) {
	w.Helper()
	s := &api.SpawnRequest{Kind: "claude", Argv: argv, Dir: filepath.Join(w.dir, "work")}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
		w.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
	}
}

// pidOf waits until the process of an agent is seen: to signal 0 would end every process
// of our own group, this test's caller among them.
func (w *town) pidOf(name string) (pid int) {
	w.Helper()
	await(w.T, w.said.String, func() bool { pid = w.agent(name).PID; return pid > 1 })
	return pid
}

// agent returns an agent as it is now; the zero row when there is none.
func (w *town) agent(name string) api.AgentRow {
	c := w.client()
	defer c.Close()
	all, err := c.Agents(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(all.Agents, func(a api.AgentRow) bool { return a.Name == name })
	if i < 0 {
		return api.AgentRow{}
	}
	return all.Agents[i]
}

func (w *town) awaitState(name string, states ...string) api.AgentRow {
	w.Helper()
	var a api.AgentRow
	await(w.T, func() string { return fmt.Sprintf("%s is %+v, want %v\n%s", name, a, states, w.said) }, func() bool {
		a = w.agent(name)
		return slices.Contains(states, a.State)
	})
	return a
}

func (w *town) alerts(rule string) (found []api.Alert) {
	c := w.client()
	defer c.Close()
	all, err := c.Alerts(w.Context(), true)
	if err != nil {
		w.Fatal(err)
	}
	for _, a := range all.Alerts {
		if a.Rule == rule {
			found = append(found, a)
		}
	}
	return found
}

// judged has patrols made until an alert of a rule fires: how often that is done by
// itself is no matter of whoever needs the alert.
func (w *town) judged(rule, subject string) {
	w.Helper()
	c := w.client()
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", w.alerts(rule), w.said) }, func() bool {
		if _, err := c.Patrol(w.Context(), api.PatrolOrder{}); err != nil {
			w.Fatal(err)
		}
		return slices.ContainsFunc(w.alerts(rule), func(a api.Alert) bool { return a.Subject == subject && a.Status == "firing" })
	})
}

func TestAnAgentsLife(t *testing.T) {
	w := newTown(t, "")
	w.spawn("builder", "reply hello", false)
	first := w.awaitState("builder", "idle")
	if first.Owner != "custos" || first.PID == 0 {
		t.Fatalf("%+v", first)
	}
	if o := w.order(api.OrderRequest{Do: "nudge", Agent: "builder", Text: "fake reply again"}); o.State != "done" || !strings.Contains(o.Why, "delivered (proof: hook)") {
		t.Errorf("nudge: %+v", o)
	}
	screen, err := w.client().Screen(t.Context(), "builder", 40)
	if err != nil || !strings.Contains(screen.Text, "again") {
		t.Errorf("screen %q, %v", screen.Text, err)
	}
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, w.said.String, func() bool { return len(w.alerts("agent-crashed")) == 1 })
	var next api.AgentRow
	await(t, w.said.String, func() bool { next = w.agent("builder"); return next.State == "idle" && next.PID != first.PID })
	if screen, err := w.client().Screen(t.Context(), "builder", 40); err != nil || !strings.Contains(screen.Text, "again") {
		t.Errorf("the conversation was not gone on with: %q, %v", screen.Text, err)
	}
	if o := w.order(api.OrderRequest{Do: "stop", Agent: "builder"}); o.State != "done" {
		t.Errorf("stop: %+v", o)
	}
	w.awaitState("builder", "stopped")
	if err := syscall.Kill(next.PID, 0); err == nil {
		t.Error("its process is left")
	}
	if n := len(w.alerts("agent-crashed")); n != 1 {
		t.Errorf("%d alerts of a crash; a person's stop is none", n)
	}
}

func TestHeadlessAgents(t *testing.T) {
	w := newTown(t, "")
	w.spawn("three", "exit 3", true)
	a := w.awaitState("three", "crashed")
	if !strings.Contains(a.Ended, "3") {
		t.Errorf("it ended with %q, want status 3", a.Ended)
	}
	w.spawn("well", "reply done", true)
	w.awaitState("well", "finished")
	if n := len(w.alerts("agent-crashed")); n != 1 {
		t.Errorf("%d alerts, want the one of the crash", n)
	}
}

// TestDeadDaemon kills the daemon; the agents live on, and the next daemon finds
// them, each once, and knows how one ended meanwhile.
func TestDeadDaemon(t *testing.T) {
	w := newTown(t, "")
	pids := map[string]int{}
	for _, name := range []string{"one", "two"} {
		w.spawn(name, "reply hello", false)
		pids[name] = w.awaitState(name, "idle").PID
	}
	w.spawn("quiet", "work 1h", true)
	pids["quiet"] = w.awaitState("quiet", "working", "idle", "starting").PID
	w.kill()
	if err := syscall.Kill(pids["two"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.start()
	for _, name := range []string{"one", "quiet"} {
		if a := w.agent(name); a.PID != pids[name] {
			t.Errorf("%s was %d and is %+v", name, pids[name], a)
		}
	}
	await(t, w.said.String, func() bool { return len(w.alerts("agent-crashed")) == 1 })
	if a := w.alerts("agent-crashed")[0]; !strings.Contains(a.Summary, "signal 9") {
		t.Errorf("how it ended is not known: %+v", a)
	}
	all, err := w.client().Agents(t.Context())
	if err != nil || len(all.Agents) != 3 {
		t.Errorf("%d agents, want 3: %+v, %v", len(all.Agents), all.Agents, err)
	}
}

// TestAnswer: a dialog is seen, and answered by a person's word for that very one.
func TestAnswer(t *testing.T) {
	w := newTown(t, "")
	w.spawn("asker", "dialog touch proof", false)
	w.awaitState("asker", "waiting")
	var d api.AgentDetail
	await(t, func() string { return fmt.Sprintf("%+v", d) }, func() bool {
		var err error
		d, err = w.client().Agent(t.Context(), "asker")
		return err == nil && d.Dialog != nil
	})
	if o := w.order(api.OrderRequest{Do: "answer", Agent: "asker", Text: "yes", Dialog: "another"}); o.State == "done" {
		t.Errorf("an answer to another dialog was given: %+v", o)
	}
	if o := w.order(api.OrderRequest{Do: "answer", Agent: "asker", Text: "yes", Dialog: d.Dialog.Hash}); o.State != "done" {
		t.Errorf("answer: %+v", o)
	}
	w.awaitState("asker", "idle", "working")
}

// A person who refuses a tool, or interrupts one, says what to do instead: no hook tells that
// the tool is over, and what is said arrives all the same.
func TestWhatIsSaidAfterNoArrives(t *testing.T) {
	for name, c := range map[string]struct{ fake, state, do, text string }{
		"refused": {"dialog date", "waiting", "answer", "no"}, "interrupted": {"tool 200s", "working", "interrupt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, "")
			w.spawn(name, c.fake, false)
			var dialog string
			await(t, w.said.String, func() bool {
				d, err := w.client().Agent(t.Context(), name)
				if err == nil && d.Dialog != nil {
					dialog = d.Dialog.Hash
				}
				return err == nil && d.Agent.State == c.state && (c.do != "answer" || dialog != "") && d.Tool != nil
			})
			if o := w.order(api.OrderRequest{Do: c.do, Agent: name, Text: c.text, Dialog: dialog}); o.State != "done" {
				t.Fatalf("%s: %+v", c.do, o)
			}
			if o := w.order(api.OrderRequest{Do: "nudge", Agent: name, Text: "fake reply next"}); o.State != "done" {
				t.Errorf("what is said then: %+v", o)
			}
		})
	}
}

// TestCrashLoop: it is tried again, less and less often, and given up once.
func TestCrashLoop(t *testing.T) {
	w := newTown(t, "[rule.agent-crashed]\nattempts = \"2 in 1h\"\ncooldown = \"1s\"\n[limits]\nsettle = \"100ms\"\nstagger = \"0s\"\ndeaths = \"9 in 1s\"\n[recover]\nsettle = \"200ms\"\n")
	w.spawnArgv("loop", "claude", "--fake", "boot 300ms; kill")
	await(t, w.said.String, func() bool { return w.agent("loop").Failed != "" })
	await(t, w.said.String, func() bool { return len(w.alerts("agent-crash-loop")) == 1 })
	w.kill()
	before := w.said
	w.start()
	if a := w.agent("loop"); a.Failed == "" || a.PID != 0 {
		t.Errorf("the next daemon forgot: %+v", a)
	}
	told := func() int { return strings.Count(before.String()+w.said.String(), "] agent-crash-loop") }
	await(t, w.said.String, func() bool { return told() > 0 })
	if told() > 2 { // the headline and the list of one message
		t.Errorf("people were told %d times:\n%s%s", told(), before, w.said)
	}
}

// TestFrozenTmux: a server that is stopped is unknown: nothing is done, one alert and the
// health tell of it, and both end when it goes on.
func TestFrozenTmux(t *testing.T) {
	w := newTown(t, "")
	w.spawn("still", "reply hello", false)
	a := w.awaitState("still", "idle")
	out, err := exec.Command("tmux", "-S", filepath.Join(w.cfg.RuntimeDir, "tmux.sock"), "display", "-p", "#{pid}").Output()
	if err != nil {
		t.Fatal(err)
	}
	var server int
	if _, err := fmt.Sscan(string(out), &server); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(server, syscall.SIGCONT) }()
	r, err := w.client().Patrol(t.Context(), api.PatrolOrder{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Planned) != 0 || len(w.alerts("agent-crashed")) != 0 {
		t.Errorf("it would do %+v", r.Planned)
	}
	told := fmt.Sprintf("the terminal server (process %d) is stopped by a signal", server)
	await(t, w.said.String, func() bool { return len(w.alerts("terminal-server-stopped")) == 1 })
	health := func() string {
		h, err := w.client().Health(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(h.Notes, "\n")
	}
	if got := w.alerts("terminal-server-stopped")[0].Summary; !strings.Contains(got, told) || !strings.Contains(health(), told) || !strings.Contains(health(), "still") {
		t.Errorf("the alert says %q, health %q", got, health())
	}
	if a := w.agent("still"); a.State != "unknown" {
		t.Errorf("the agent is %s", a.State)
	}
	w.stoppedTerminalIsTold("still", server)
	if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.awaitState("still", "idle")
	await(t, w.said.String, func() bool { return w.alerts("terminal-server-stopped")[0].Status == "resolved" && health() == "" })
	if err := syscall.Kill(a.PID, 0); err != nil {
		t.Error("the agent is gone")
	}
}

// stoppedTerminalIsTold: no check of the doctor takes what it saw before for what is, and
// what would show the agent says how it is shown again.
func (w *town) stoppedTerminalIsTold(name string, server int) {
	w.Helper()
	d, err := w.client().Doctor(w.Context(), []string{"sessions", "agents"}, "test")
	if err != nil {
		w.Fatal(err)
	}
	all := map[string]api.DoctorCheck{}
	for _, c := range d.Checks {
		all[c.Category+" "+c.Name] = c
	}
	for _, check := range []string{"sessions seen", "sessions dead-panes", "sessions session-orphan"} {
		wantCheck(w.T, all, check, "cannot tell", "stopped by a signal")
	}
	wantCheck(w.T, all, "sessions terminal-server-stopped", "bad", fmt.Sprintf("kill -CONT %d", server))
	_, err = w.client().Screen(w.Context(), name, 7)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", server)) {
		w.Errorf("a look at its screen says %v", err)
	}
	if a, err := w.client().Agent(w.Context(), name); err != nil || a.TerminalStopped != server || len(a.Attach) != 0 {
		w.Errorf("%+v, %v", a, err)
	}
}

// TestDeaths kills many agents at random times: every death is one alert with
// its cause, soon.
func TestDeaths(t *testing.T) {
	n := 40
	if os.Getenv("CUSTOS_DEATHS") != "" {
		fmt.Sscan(os.Getenv("CUSTOS_DEATHS"), &n)
	}
	w := newTown(t, "budget = \"5000 in 1h\"\nblast = 0\n[rule.agent-crashed]\nmode = \"observe\"\n[limits]\nmax_agents = 500\nstagger = \"0s\"\nspawn_memory = \"0\"\n")
	pids := make([]int, n)
	for i := range pids {
		w.spawn(fmt.Sprintf("a%03d", i), "work 1h", i%2 == 1)
	}
	took := w.killAll(pids)
	slices.Sort(took)
	t.Logf("%d deaths: alert committed after median %v, worst %v", len(took), took[len(took)/2], took[len(took)-1])
	if len(took) != n || len(w.alerts("agent-crashed")) != n {
		t.Errorf("%d deaths, %d alerts; want %d of each", len(took), len(w.alerts("agent-crashed")), n)
	}
	if worst := took[len(took)-1]; worst > 5*time.Second {
		t.Errorf("one death was told after %v", worst)
	}
}

// killAll kills every agent that lives, one after the other at random moments,
// and returns how long each death took until its alert could be read from the
// ledger.
func (w *town) killAll(pids []int) (took []time.Duration) {
	w.Helper()
	c := w.client()
	for i := range pids {
		name := fmt.Sprintf("a%03d", i)
		a := w.agent(name)
		if a.PID == 0 {
			w.Fatalf("%s does not run: %+v", name, a)
		}
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond) // deaths come at random moments
		killed := time.Now()
		if err := syscall.Kill(a.PID, syscall.SIGKILL); err != nil {
			w.Fatal(err)
		}
		var alert api.Alert
		await(w.T, w.said.String, func() bool {
			all, err := c.Alerts(w.Context(), false)
			if err != nil {
				w.Fatal(err)
			}
			i := slices.IndexFunc(all.Alerts, func(a api.Alert) bool {
				return a.Rule == "agent-crashed" && a.Status == "firing" && strings.HasSuffix(a.Subject, name)
			})
			if i >= 0 {
				alert = all.Alerts[i]
			}
			return i >= 0
		})
		took = append(took, time.Since(killed))
		if !strings.Contains(alert.Summary, "signal 9") {
			w.Errorf("%s was killed by signal 9; its alert says %q", name, alert.Summary)
		}
	}
	return took
}
