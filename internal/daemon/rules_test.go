package daemon_test

import (
	"bytes"
	"encoding/json"
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

// quickRules shortens what rules wait for. The least dwell there is, is a minute:
// only what is stuck takes that long.
const quickRules = `budget = "5000 in 1h"
blast = 0
[limits]
stagger = "0s"
spawn_memory = "0"
max_agents = 500
settle = "200ms"
deaths = "99 in 1s"
[agents]
dwell = "1m"
every = "1s"
[stop]
ask_wait = "1s"
interrupt_wait = "500ms"
term_wait = "1s"
[nudge]
echo = "1s"
[rule.correlated-failure]
enabled = false
[rule.agent-crash-loop]
enabled = false
[rule.agent-stuck]
mode = "auto"
cooldown = "1s"
actions = [
  { do = "nudge", where = "agent.name == 'hung' && agent.dwell > duration('1s')", text = "say what you wait for" },
  { do = "stop", where = "agent.name == 'hung' && agent.dwell > duration('5s')", text = "stuck" },
]
[rule.agent-status-unchanged]
expr = "agent.state == 'working' && size(agent.tool) == 0 && agent.dwell > duration('20s') && agent.quiet > duration('20s')"
[rule.agent-waiting]
expr = "agent.state == 'waiting' && agent.dwell > duration('1s')"
[rule.agent-startup-dialog]
for = "1s"
[rule.agent-boot-timeout]
expr = "agent.state == 'starting' && agent.age > duration('8s')"
[rule.spawn-not-started]
expr = "agent.registered && agent.desired == 'running' && agent.process.pid != 0 && (agent.prompt_state == 'undelivered' || agent.prompt_state in ['pending', 'sent'] && agent.age > duration('8s'))"
[rule.agent-idle-with-work]
expr = "agent.registered && !agent.standing && agent.desired == 'running' && agent.task != '' && agent.state == 'idle' && agent.dwell > duration('1s')"
mode = "ask" # TestIdleWithWorkGetsLouder plays what it does by itself
[rule.agent-memory-high]
expr = "agent.rss > mib(200)"
for = "1s"
[rule.agent-orphan-process]
expr = "agent.orphan && agent.age > duration('1s')"
for = "1s"
[rule.agent-unregistered]
for = "1s"
`

// ruleCase is an agent that does something, and what is to come of it: these
// states, these alerts, these actions beside its start, and nothing else.
type ruleCase struct {
	name     string
	fake     string // what it does from the start
	prompt   string
	headless bool
	spawn    func(*api.SpawnRequest)
	states   []string
	rules    []string // that alert
	maybe    []string // and that may
	says     string   // part of why it is in that state
	actions  []string // that are done to it, and that may be
	typed    []string // prompts that it gets beside its first
	dies     bool     // it does not stay the same process
	told     bool     // it is told what to do later, too
	late     bool     // is judged when what is stuck was found
	then     func(*testing.T, *rulesTown, *ruleCase, api.AgentRow)

	skip string // why it does not hold yet

	pid int // as it was first seen
}

func never(s *api.SpawnRequest)    { s.Restart = "never" }
func withTask(s *api.SpawnRequest) { s.Task = "T-1" }

// named is a name of 200 characters.
var longName = strings.Repeat("long-name-", 20)

func ruleCases() []*ruleCase {
	return []*ruleCase{
		// What takes its time comes first.
		{name: "hung", prompt: "fake hang", late: true, dies: true, states: []string{"stopped", "idle"}, rules: []string{"agent-stuck", "agent-status-unchanged", "agent-crashed"},
			maybe: []string{"agent-unresponsive"}, actions: []string{"nudge", "stop", "recover"}, then: isStartedAnew},
		{name: "hung-quietly", prompt: "fake hang", late: true, states: []string{"stuck"}, rules: []string{"agent-stuck", "agent-status-unchanged"}, maybe: []string{"agent-unresponsive"}, says: "moved"},
		{name: "hung-headless", prompt: "fake hang", headless: true, late: true, states: []string{"stuck"}, rules: []string{"agent-stuck", "agent-status-unchanged"}, maybe: []string{"agent-unresponsive"}, says: "moved"},
		{name: "silent-tool", prompt: "fake tool 1h make", late: true, states: []string{"working"}},
		{name: "silent-tool-headless", prompt: "fake tool 1h make", headless: true, late: true, states: []string{"working"}},
		{name: "busy", prompt: "fake busy 2m", late: true, states: []string{"working", "idle"}},
		{name: "works", prompt: "fake work 1h", late: true, states: []string{"working"}},
		{name: "trust", fake: "trust", prompt: "fake reply x", states: []string{"dialog"}, rules: []string{"agent-startup-dialog", "spawn-not-started"}, actions: []string{"notify-terminal"}},
		{name: "boot", fake: "boot 1h", states: []string{"starting"}, rules: []string{"agent-boot-timeout"}, maybe: []string{"agent-unresponsive", "agent-crashed"}, actions: []string{"stop", "recover"}, dies: true},
		{name: "deaf", fake: "nohooks", prompt: "fake work 1h", states: []string{"working"}, rules: []string{"spawn-not-started"}},

		{name: "killed", prompt: "fake kill", spawn: never, dies: true, states: []string{"crashed"}, rules: []string{"agent-crashed"}, says: "signal 9"},
		{name: "killed-headless", prompt: "fake kill", headless: true, spawn: never, dies: true, states: []string{"crashed"}, rules: []string{"agent-crashed"}, says: "signal 9"},
		{name: "three", prompt: "fake exit 3", spawn: never, dies: true, states: []string{"crashed"}, rules: []string{"agent-crashed"}, says: "status 3"},
		{name: "three-headless", prompt: "fake exit 3", headless: true, spawn: never, dies: true, states: []string{"crashed"}, rules: []string{"agent-crashed"}, says: "status 3"},
		{name: "well", prompt: "fake exit 0", dies: true, states: []string{"finished"}, says: "status 0"},
		{name: "well-headless", prompt: "fake reply x", headless: true, dies: true, states: []string{"finished"}, says: "status 0"},

		{name: "loop", prompt: "fake loop 12 ls; work 1h", states: []string{"looping"}, rules: []string{"agent-looping"}},
		{name: "loop-headless", prompt: "fake loop 12 ls; tool 1h", headless: true, states: []string{"looping"}, rules: []string{"agent-looping"}},
		{name: "loop-short", prompt: "fake loop 5 ls; work 1h", states: []string{"working"}, late: true},
		{name: "dialog", prompt: "fake dialog touch proof", states: []string{"waiting"}, rules: []string{"agent-waiting"}, actions: []string{"notify-terminal"}},
		{name: "question", prompt: "fake question Which", states: []string{"waiting"}, rules: []string{"agent-waiting"}, actions: []string{"notify-terminal"}},
		{name: "idle-task", prompt: "fake reply x", spawn: withTask, states: []string{"idle"}, rules: []string{"agent-idle-with-work"}},
		{name: "idle", prompt: "fake reply x", states: []string{"idle"}},
		{name: "idle-standing", prompt: "fake reply x", spawn: func(s *api.SpawnRequest) { s.Task, s.Standing = "T-2", true }, states: []string{"idle"}},

		{name: "limited", prompt: "fake ratelimit 5m", states: []string{"rate_limited"}, rules: []string{"agent-rate-limited"}, then: isHeld},
		{name: "limited-retry", prompt: "fake retry 1h", states: []string{"rate_limited"}, rules: []string{"agent-rate-limited"}},
		{name: "talks-of-limits", prompt: "fake print You've hit your session limit · resets 3:00pm (UTC); print ✻ 429 Rate limited · Retrying in 5s · attempt 1/10; print ❯ 1. Yes; reply You've hit your rate limit, please run /login", states: []string{"idle"}},
		{name: "logged-out", prompt: "fake auth", states: []string{"auth_lost"}, rules: []string{"agent-auth-lost"}},
		{name: "filling", fake: "context 90", states: []string{"context_high"}, rules: []string{"agent-context-high"}, actions: []string{"checkpoint"}, then: isWrittenDown},
		{name: "full", prompt: "fake full", states: []string{"context_high"}, rules: []string{"agent-context-high"}, actions: []string{"checkpoint"}, then: isWrittenDown},
		{name: "big", prompt: "fake memory 220", states: []string{"idle"}, rules: []string{"agent-memory-high"}},

		{name: "comm", prompt: "fake comm 2.1.197; reply x", states: []string{"idle"}, then: isNamed("2.1.197")},
		{name: "alt", fake: "altscreen", prompt: "fake reply x", states: []string{"idle"}, typed: []string{"fake reply nudged"}, actions: []string{"nudge"}, then: isNudged},
		{name: "drops", fake: "dropenter", prompt: "fake reply x", states: []string{"idle"}, typed: []string{"fake reply nudged"}, actions: []string{"nudge"}, then: isNudged},
		{name: "half", fake: "half a draft of mine", states: []string{"idle"}, then: isNotAppended},
		{name: "clear", told: true, prompt: "fake reply x", states: []string{"idle"}, then: isCleared},

		{name: "setsid", prompt: "fake setsid 1h; reply x", states: []string{"idle"}, actions: []string{"stop"}, dies: true, then: isStoppedWhole},
		{name: "fork2", prompt: "fake fork2 1h; reply x", states: []string{"idle"}, actions: []string{"stop"}, dies: true, then: isStoppedWhole},
		{name: "setsid-headless", prompt: "fake setsid 1h; fork2 1h; work 1h", headless: true, states: []string{"working"}, maybe: []string{"agent-status-unchanged"}, actions: []string{"stop"}, dies: true, then: isStoppedWhole},
		{name: "refuses", prompt: "fake child 1h; ignore TERM; hang", states: []string{"working"}, maybe: []string{"agent-status-unchanged"}, actions: []string{"stop"}, dies: true, then: isStoppedWhole},
		{name: "refuses-headless", prompt: "fake child 1h; ignore TERM; hang", headless: true, states: []string{"working"}, maybe: []string{"agent-status-unchanged"}, actions: []string{"stop"}, dies: true, then: isStoppedWhole},

		{name: "pre", prompt: "fake reply x", states: []string{"idle"}, actions: []string{"stop"}, dies: true, then: isStoppedWhole},
		{name: "prefix", prompt: "fake reply x", states: []string{"idle"}, typed: []string{"fake reply nudged"}, actions: []string{"nudge"}, then: isNudged},
		{name: "two words", prompt: "fake reply x", states: []string{"idle"}, typed: []string{"fake reply nudged"}, actions: []string{"nudge"}, then: isNudged},
		{name: "a.b:c.1", prompt: "fake reply x", states: []string{"idle"}, typed: []string{"fake reply nudged"}, actions: []string{"nudge"}, then: isNudged},
		{name: `it's "quoted" $HOME`, prompt: "fake reply x", states: []string{"idle"}, typed: []string{"fake reply nudged"}, actions: []string{"nudge"}, then: isNudged},
		{name: longName, prompt: "fake reply x", states: []string{"idle"}, typed: []string{"fake reply nudged"}, actions: []string{"nudge"}, then: isNudged},
	}
}

// TestRules drives each rule on agents by an agent that gives it cause, in tmux
// and headless, and looks that nothing else came of it.
func TestRules(t *testing.T) {
	inTown(t)
	w := newRulesTown(t, quickRules)
	cases := ruleCases()
	for _, c := range cases {
		w.begin(c)
	}
	strangers := w.strangers(t)
	for _, late := range []bool{false, true} {
		for _, c := range cases {
			if c.late == late {
				t.Run(c.name[:min(len(c.name), 24)], func(t *testing.T) { w.judge(t, c) })
			}
		}
	}
	t.Run("strangers", func(t *testing.T) { w.judgeStrangers(t, strangers) })
	t.Run("patrols", func(t *testing.T) { w.patrols(t, cases) })
	for _, c := range cases {
		t.Run("after/"+c.name[:min(len(c.name), 24)], func(t *testing.T) { w.nothingElse(t, c) })
	}
}

// begin starts the agent of a case.
func (w *rulesTown) begin(c *ruleCase) {
	s := &api.SpawnRequest{Kind: "claude", Headless: c.headless, Dir: filepath.Join(w.dir, "work"), Prompt: c.prompt,
		Argv: []string{"claude"}}
	if c.told {
		s.Argv = append(s.Argv, "--control", w.control(c.name)) // looking for it takes so much of a processor that it never seems stuck
	}
	if c.fake != "" {
		s.Argv = append(s.Argv, "--fake", c.fake)
	}
	if c.spawn != nil {
		c.spawn(s)
	}
	o, err := w.c.Order(w.Context(), api.OrderRequest{Do: "spawn", Agent: c.name, Spawn: s})
	if err != nil {
		w.Errorf("spawn %s: %v", c.name, err)
		return
	}
	w.until(w.T, func() string { return fmt.Sprintf("spawn %s: %+v", c.name, o) }, func() bool {
		o, err = w.c.OrderState(w.Context(), o.ID)
		return err == nil && o.Over
	})
	if o.State != "done" && !c.dies {
		w.Errorf("spawn %s: %+v", c.name, o)
	}
	c.pid = w.row(w.T, c.name).PID
}

// control is the file that tells an agent what to do next.
func (w *rulesTown) control(name string) string {
	return filepath.Join(w.dir, fmt.Sprintf("control-%x", name[:min(len(name), 40)]))
}

// tell has a fake agent do something at once.
func (w *rulesTown) tell(t *testing.T, name, command string) {
	t.Helper()
	if err := os.WriteFile(w.control(name), []byte(command+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// judge waits for what is to come of a case.
func (w *rulesTown) judge(t *testing.T, c *ruleCase) {
	if c.skip != "" {
		t.Skip(c.skip)
	}
	var a api.AgentRow
	w.until(t, func() string { return fmt.Sprintf("it is %+v, want %v because of %q", a, c.states, c.says) }, func() bool {
		a = w.row(t, c.name)
		return slices.Contains(c.states, a.State) && strings.Contains(a.Reason, c.says)
	})
	if a.Name != c.name || a.Owner != "custos" || a.Kind != "claude" {
		t.Errorf("it is %+v", a)
	}
	for _, rule := range c.rules {
		w.until(t, func() string { return "no alert " + rule + "; there are " + fmt.Sprint(w.told(t, c.name)) },
			func() bool { return slices.Contains(w.told(t, c.name), rule) })
	}
	if c.then != nil {
		c.then(t, w, c, a)
	}
}

// nothingElse looks that a case had no other alert, no other action and no other
// prompt than it should have had, and that what lived lives.
func (w *rulesTown) nothingElse(t *testing.T, c *ruleCase) {
	for _, rule := range w.told(t, c.name) {
		if !slices.Contains(c.rules, rule) && !slices.Contains(c.maybe, rule) {
			t.Errorf("alert %s was told: %s", rule, w.awaitAlertOf(t, rule, c.name).Summary)
		}
	}
	for _, do := range w.done(t, c.name) {
		if do != "spawn" && !slices.Contains(c.actions, do) {
			t.Errorf("%s was done to it", do)
		}
	}
	if c.dies || c.pid == 0 {
		return
	}
	if a := w.row(t, c.name); a.PID != c.pid {
		t.Errorf("it was process %d and is %+v", c.pid, a)
	}
	want := c.typed
	if c.prompt != "" && c.fake != "trust" {
		want = append([]string{c.prompt}, want...)
	}
	if got := w.log(t, c.pid, "prompt"); !slices.Equal(got, want) {
		t.Errorf("it was told %q, want %q", got, want)
	}
	if lost := w.log(t, c.pid, "lost"); len(lost) > 0 && c.fake != "dropenter" {
		t.Errorf("keys %q were pressed where they did nothing", lost)
	}
	if given := w.log(t, c.pid, "answer"); len(given) > 0 {
		t.Errorf("its dialog was answered with %q", given)
	}
}

func isNudged(t *testing.T, w *rulesTown, c *ruleCase, _ api.AgentRow) {
	o := w.give(t, api.OrderRequest{Do: "nudge", Agent: c.name, Text: "fake reply nudged"})
	if o.State != "done" || !strings.Contains(o.Why, "delivered (proof: hook)") {
		t.Errorf("the nudge: %+v", o)
	}
	if again := strings.Contains(o.Why, "once more"); again != (c.fake == "dropenter") {
		t.Errorf("how Enter was pressed: %q", o.Why)
	}
	s, err := w.c.Screen(t.Context(), c.name, 40)
	if err != nil || !strings.Contains(s.Text, "nudged") {
		t.Errorf("its screen: %q, %v", s.Text, err)
	}
}

// isHeld: what is limited is neither started anew nor typed into.
func isHeld(t *testing.T, w *rulesTown, c *ruleCase, _ api.AgentRow) {
	if o := w.queued(t, api.OrderRequest{Do: "nudge", Agent: c.name, Text: "go on"}); o.Over || !strings.Contains(o.Why, "rate limited") {
		t.Errorf("the nudge: %+v", o)
	}
	d, err := w.c.Agent(t.Context(), c.name)
	if err != nil || d.Exit != nil || len(d.Failures) != 0 {
		t.Errorf("it is taken for a crash: %+v, %v", d, err)
	}
}

// isStartedAnew: what is stuck was nudged, then stopped, then started again.
func isStartedAnew(t *testing.T, w *rulesTown, c *ruleCase, _ api.AgentRow) {
	if done := w.done(t, c.name); len(done) < 3 || !slices.Equal(done[:3], []string{"spawn", "nudge", "stop"}) {
		t.Errorf("done to it: %v", done)
	}
	w.untilAnew(t, c)
}

func (w *rulesTown) untilAnew(t *testing.T, c *ruleCase) {
	t.Helper()
	var a api.AgentRow
	w.until(t, func() string {
		return fmt.Sprintf("it was process %d and is %+v; done: %v", c.pid, a, w.done(t, c.name))
	}, func() bool {
		a = w.row(t, c.name)
		if c.headless { // resumed without a prompt, it may have ended again: well
			return slices.Contains(w.done(t, c.name), "recover") && a.PID != c.pid && (a.PID != 0 || a.State == "finished")
		}
		return a.PID != 0 && a.PID != c.pid
	})
}

func isNotAppended(t *testing.T, w *rulesTown, c *ruleCase, _ api.AgentRow) {
	if o := w.queued(t, api.OrderRequest{Do: "nudge", Agent: c.name, Text: "SHOUTED"}); o.Over || !strings.Contains(o.Why, "half-written") {
		t.Errorf("the nudge: %+v", o)
	}
	s, err := w.c.Screen(t.Context(), c.name, 40)
	if err != nil || !strings.Contains(s.Text, "a draft of mine") || strings.Contains(s.Text, "SHOUTED") {
		t.Errorf("its screen: %q, %v", s.Text, err)
	}
}

func isCleared(t *testing.T, w *rulesTown, c *ruleCase, a api.AgentRow) {
	session := func() string {
		d, err := w.c.Agent(t.Context(), c.name)
		if err != nil || d.Record == nil {
			t.Fatalf("%+v, %v", d, err)
		}
		return d.Record.Session
	}
	before := session()
	w.tell(t, c.name, "clear")
	w.until(t, func() string { return "its session is still " + before }, func() bool { return session() != before })
	if now := w.row(t, c.name); now.PID != a.PID || now.State != "idle" {
		t.Errorf("after /clear it is %+v", now)
	}
}

func isWrittenDown(t *testing.T, w *rulesTown, c *ruleCase, _ api.AgentRow) {
	w.until(t, func() string { return "no checkpoint" }, func() bool {
		d, err := w.c.Agent(t.Context(), c.name)
		return err == nil && d.Record != nil && d.Record.Checkpoint != nil
	})
}

func isNamed(comm string) func(*testing.T, *rulesTown, *ruleCase, api.AgentRow) {
	return func(t *testing.T, _ *rulesTown, _ *ruleCase, a api.AgentRow) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", a.PID))
		if err != nil || strings.TrimSpace(string(b)) != comm {
			t.Errorf("process %d is named %q, %v", a.PID, b, err)
		}
	}
}

// isStoppedWhole: a person stops it, and nothing that it started is left.
func isStoppedWhole(t *testing.T, w *rulesTown, c *ruleCase, a api.AgentRow) {
	procs := []int{a.PID}
	want := len(w.log(t, a.PID, "child"))
	for _, text := range w.log(t, a.PID, "child") {
		pid, err := strconv.Atoi(text)
		if err != nil || !runs(pid) {
			t.Errorf("child %q does not run: %v", text, err)
		}
		procs = append(procs, pid)
	}
	if asked := strings.Count(c.prompt, "1h") - strings.Count(c.prompt, "work 1h"); asked != want {
		t.Errorf("it has %d children, want %d", want, asked)
	}
	o := w.give(t, api.OrderRequest{Do: "stop", Agent: c.name})
	if o.State != "done" {
		t.Errorf("stop: %+v", o)
	}
	if hard := strings.Contains(o.Why, "SIGKILL"); hard != strings.Contains(c.prompt, "ignore TERM") {
		t.Errorf("how it was stopped: %q", o.Why)
	}
	for _, pid := range procs {
		if runs(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	w.until(t, func() string { return fmt.Sprintf("it is %+v", w.row(t, c.name)) }, func() bool { return w.row(t, c.name).State == "stopped" })
}

// strangers starts agents that Custos did not: one in a shell of somebody's
// tmux, which is killed later; one that nobody minds; one on the server of Custos.
func (w *rulesTown) strangers(t *testing.T) map[string]int {
	w.byHand(t)
	w.run(t, "sh", "-c", `setsid claude -p --fake "comm orphan" "fake work 1h" </dev/null >/dev/null 2>&1 &`)
	w.run(t, "tmux", "-S", filepath.Join(w.cfg.RuntimeDir, "tmux.sock"), "new-session", "-d", "-s", "intruder", "-x", "120", "-y", "40", "claude --fake 'comm intruder'")
	return w.find(t, "by-hand", "orphan", "intruder")
}

// byHand starts an agent in a shell of somebody's tmux.
func (w *rulesTown) byHand(t *testing.T) {
	t.Helper()
	w.run(t, "tmux", "-f", "/dev/null", "new-session", "-d", "-s", "by-hand", "-x", "120", "-y", "40", "sh")
	w.run(t, "tmux", "send-keys", "-t", "by-hand", "claude --fake 'comm by-hand; reply x'", "Enter")
}

// run runs a program as somebody who lives here.
func (w *rulesTown) run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "HOME="+w.dir, "PATH="+filepath.Dir(w.fakeAgent())+":"+os.Getenv("PATH"))
	cmd.Dir = filepath.Join(w.dir, "work")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// find waits until processes of these names run.
func (w *rulesTown) find(t *testing.T, names ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	w.until(t, func() string { return fmt.Sprintf("only %v run", found) }, func() bool {
		stats, _ := filepath.Glob("/proc/[0-9]*/comm")
		for _, s := range stats {
			b, _ := os.ReadFile(s)
			if name := strings.TrimSpace(string(b)); slices.Contains(names, name) {
				found[name], _ = strconv.Atoi(filepath.Base(filepath.Dir(s)))
			}
		}
		return len(found) == len(names)
	})
	return found
}

func (w *rulesTown) judgeStrangers(t *testing.T, pids map[string]int) {
	name := map[string]string{}
	w.until(t, func() string { return fmt.Sprintf("of %v only %v are seen", pids, name) }, func() bool {
		for who, pid := range pids {
			for _, a := range w.rows(t) {
				if a.PID == pid {
					name[who] = a.Name
				}
			}
		}
		return len(name) == len(pids)
	})
	if err := syscall.Kill(pids["by-hand"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for who, rule := range map[string]string{"by-hand": "agent-crashed", "orphan": "agent-orphan-process", "intruder": "agent-unregistered"} {
		w.until(t, func() string {
			return fmt.Sprintf("no alert %s of %+v; there are %v", rule, w.row(t, name[who]), w.told(t, name[who]))
		}, func() bool { return slices.Contains(w.told(t, name[who]), rule) })
		if done := w.done(t, name[who]); len(done) > 0 {
			t.Errorf("%v was done to %s, which is not ours", done, who)
		}
		if who != "by-hand" && !runs(pids[who]) {
			t.Errorf("%s is gone", who)
		}
	}
	if a := w.row(t, name["by-hand"]); a.State != "crashed" || a.Owner == "custos" {
		t.Errorf("what is left of it is %+v", a)
	}
}

// patrols: in the third cycle that finds it unresponsive, an agent is started
// anew; whatever is alive is left alone.
func (w *rulesTown) patrols(t *testing.T, cases []*ruleCase) {
	for i := range 3 {
		for _, name := range []string{"hung-quietly", "hung-headless"} {
			var a api.Alert
			w.patrolUntil(t, func() string { return fmt.Sprintf("for cycle %d its alert is %+v", i+1, a) }, func() bool {
				a = w.alertOf(t, "agent-unresponsive", name)
				return strings.Contains(a.Summary, fmt.Sprintf("in %d patrol", i+1)) || i == 2 && slices.Contains(w.done(t, name), "stop")
			})
			if done := w.done(t, name); i < 2 && slices.Contains(done, "stop") {
				t.Errorf("%s was stopped in cycle %d", name, i+1)
			}
		}
	}
	for _, c := range cases {
		if !strings.HasPrefix(c.name, "hung-") {
			continue
		}
		c.dies, c.actions, c.rules = true, []string{"stop", "recover"}, append(c.rules, "agent-crashed")
		w.until(t, func() string { return fmt.Sprintf("done to %s: %v", c.name, w.done(t, c.name)) },
			func() bool { return slices.Contains(w.done(t, c.name), "stop") })
		w.until(t, func() string { return c.name + " is not told to have ended" },
			func() bool { return slices.Contains(w.told(t, c.name), "agent-crashed") })
	}
	for _, c := range cases {
		if strings.HasPrefix(c.name, "hung-") {
			w.untilAnew(t, c)
		}
	}
}

// patrolUntil has patrols go round until one of them has brought something about.
// Those that follow each other within a minute see an unresponsive agent once.
func (w *rulesTown) patrolUntil(t *testing.T, what func() string, is func() bool) {
	t.Helper()
	var last time.Time
	w.until(t, what, func() bool {
		if is() {
			return true
		}
		if time.Since(last) > 10*time.Second { // what the last one found is to be seen by now
			last = time.Now()
			if _, err := w.c.Patrol(t.Context(), api.PatrolOrder{}); err != nil {
				t.Fatal(err)
			}
		}
		return is() // a patrol that acts returns when that is over
	})
}

// TestRulesOfCommonDeath: three agents die at once. Each death is an alert, the
// common one is their cause, and they are recovered one at a time: after the hold,
// though the alert of the common cause goes on for much longer.
func TestRulesOfCommonDeath(t *testing.T) {
	inTown(t)
	w := newRulesTown(t, "budget = \"5000 in 1h\"\nblast = 0\n[limits]\nsettle = \"200ms\"\nstagger = \"0s\"\nhold = \"3s\"\nspawn_memory = \"0\"\n[agents]\nevery = \"1s\"\n[recover]\nsettle = \"500ms\"\n[rule.agent-crashed]\ncooldown = \"1s\"\n")
	cases := []*ruleCase{{name: "one", prompt: "fake reply x"}, {name: "two", prompt: "fake reply x"}, {name: "other", prompt: "fake reply x"}, {name: "spared", prompt: "fake reply x"}}
	for _, c := range cases {
		w.begin(c)
		c.states = []string{"idle"}
		w.judge(t, c)
	}
	dead := cases[:3]
	began := time.Now()
	for _, c := range dead {
		if err := syscall.Kill(c.pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range dead {
		w.until(t, func() string { return c.name + " has no alert" }, func() bool { return slices.Contains(w.told(t, c.name), "agent-crashed") })
	}
	common := w.awaitAlert(t, "correlated-failure")
	for _, c := range dead {
		var a api.Alert
		w.until(t, func() string { return fmt.Sprintf("the alert of %s is caused by %v", c.name, a.CausedBy) }, func() bool {
			a = w.awaitAlertOf(t, "agent-crashed", c.name)
			return slices.ContainsFunc(a.CausedBy, func(s string) bool { return strings.Contains(s, "correlated-failure") })
		})
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the common cause was told after %v", took)
	}
	if !strings.HasPrefix(common.Summary, "3 ") {
		t.Errorf("it says %q", common.Summary)
	}
	for _, c := range dead {
		if done := w.done(t, c.name); time.Since(began) < 2*time.Second && slices.Contains(done, "recover") {
			t.Errorf("%s was recovered at once", c.name)
		}
		w.until(t, func() string { return fmt.Sprintf("%s is %+v", c.name, w.row(t, c.name)) }, func() bool {
			a := w.row(t, c.name)
			return a.State == "idle" && a.PID != c.pid && a.PID != 0
		})
	}
	w.oneAtATime(t, began.Add(3*time.Second-500*time.Millisecond))
	if a := w.awaitAlert(t, "correlated-failure"); a.Status != "firing" {
		t.Errorf("the common cause is over after %v: that they did not wait for its end is not shown", time.Since(began))
	}
	if a := w.row(t, "spared"); a.PID != cases[3].pid || len(w.told(t, "spared")) > 0 {
		t.Errorf("the one that lives is %+v, with alerts %v", a, w.told(t, "spared"))
	}
}

// oneAtATime looks that no recovery began before a moment, or before another one
// had ended.
func (w *rulesTown) oneAtATime(t *testing.T, notBefore time.Time) {
	open := ""
	n := 0
	for _, e := range w.feed(t) {
		switch {
		case !strings.HasPrefix(e.Text, "recover"):
		case e.Kind == "action.started":
			if open != "" {
				t.Errorf("%s was recovered while %s was", e.Agent, open)
			}
			if e.At.Before(notBefore) {
				t.Errorf("%s was recovered %v too soon", e.Agent, notBefore.Sub(e.At))
			}
			open, n = e.Agent, n+1
		case e.Kind == "action.ended":
			open = ""
		}
	}
	if n != 3 {
		t.Errorf("%d recoveries, want 3", n)
	}
}

// TestRulesOfZombies: an agent died, and nobody saw how; only its shell is left.
// It is told, and nothing is done.
func TestRulesOfZombies(t *testing.T) {
	inTown(t)
	w := newRulesTown(t, "[agents]\nevery = \"1s\"\n")
	w.byHand(t)
	pid := w.find(t, "by-hand")["by-hand"]
	var a api.AgentRow
	w.until(t, func() string { return fmt.Sprintf("%d is not seen idle: %+v", pid, w.rows(t)) }, func() bool {
		i := slices.IndexFunc(w.rows(t), func(r api.AgentRow) bool { a = r; return r.PID == pid && r.State == "idle" })
		return i >= 0
	})
	if _, err := w.c.Patrol(t.Context(), api.PatrolOrder{}); err != nil { // so that it is written down
		t.Fatal(err)
	}
	w.kill()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.c = w.client()
	w.awaitAlertOf(t, "agent-zombie", a.Name)
	if now := w.row(t, a.Name); now.State != "zombie" || now.Owner != "foreign" || now.Pane == "" {
		t.Errorf("it is %+v", now)
	}
	if done := w.done(t, a.Name); len(done) > 0 {
		t.Errorf("%v was done to it", done)
	}
}

// ---- the town -------------------------------------------------------------

// rulesTown is a town with one client, whose people end by their own numbers.
type rulesTown struct {
	*town
	c *api.Client
}

func newRulesTown(t *testing.T, more string) *rulesTown {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "r") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	w := &rulesTown{town: &town{T: t, dir: dir, bin: bin}}
	for _, d := range []string{".fakeagent", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("sh", "-c", `cd "$0" && git init -q && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m begin`, filepath.Join(dir, "work")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.statusLine()
	text := "mode = \"auto\"\ngrace = \"0s\"\nstate_dir = \"" + dir + "/s\"\n" + more
	if err := os.WriteFile(filepath.Join(dir, "custos.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	w.cfg = load(t, dir)
	t.Cleanup(w.burn)
	w.start()
	w.c = w.client()
	return w
}

// statusLine is what a user may set up so that Custos is told how full a context
// is: it takes no status line for itself.
func (w *rulesTown) statusLine() {
	w.Helper()
	line := fmt.Sprintf(`{"statusLine":{"type":"command","command":"%s/custos-hook claude Status --run %s/s/run"}}`, w.bin, w.dir)
	if err := os.MkdirAll(filepath.Join(w.dir, ".claude"), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, ".claude/settings.json"), []byte(line), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *rulesTown) fakeAgent() string {
	path := ""
	for _, kv := range w.up.Env {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			path, _, _ = strings.Cut(p, ":")
		}
	}
	return filepath.Join(path, "claude")
}

// until waits for the real world to catch up.
func (w *rulesTown) until(t *testing.T, what func() string, is func() bool) {
	t.Helper()
	await(t, func() string {
		said := w.said.String()
		return what() + "\n" + said[max(0, len(said)-1500):]
	}, is)
}

func (w *rulesTown) rows(t *testing.T) []api.AgentRow {
	t.Helper()
	all, err := w.c.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all.Agents
}

func (w *rulesTown) row(t *testing.T, name string) api.AgentRow {
	t.Helper()
	for _, a := range w.rows(t) {
		if a.Name == name {
			return a
		}
	}
	return api.AgentRow{}
}

// give gives an order and waits until it is over.
func (w *rulesTown) give(t *testing.T, r api.OrderRequest) api.Order {
	t.Helper()
	o, err := w.c.Order(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	w.until(t, func() string { return fmt.Sprintf("%+v", o) }, func() bool {
		o, err = w.c.OrderState(t.Context(), o.ID)
		return err == nil && o.Over
	})
	return o
}

// queued gives an order that is not carried out, and returns what became of it
// after a patrol.
func (w *rulesTown) queued(t *testing.T, r api.OrderRequest) api.Order {
	t.Helper()
	o, err := w.c.Order(t.Context(), r)
	if err == nil {
		_, err = w.c.Patrol(t.Context(), api.PatrolOrder{})
	}
	if err == nil {
		o, err = w.c.OrderState(t.Context(), o.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *rulesTown) allAlerts(t *testing.T) []api.Alert {
	t.Helper()
	all, err := w.c.Alerts(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Alerts, func(a api.Alert) bool { return a.Status == "pending" })
}

// told lists the rules that alerted of an agent, now or before. What was only ever
// pending was never told.
func (w *rulesTown) told(t *testing.T, name string) (rules []string) {
	t.Helper()
	for _, a := range w.allAlerts(t) {
		if a.Subject == "agent/"+name && (a.Status == "firing" || w.fired(t, a.Rule, name)) {
			rules = append(rules, a.Rule)
		}
	}
	return rules
}

func (w *rulesTown) fired(t *testing.T, rule, name string) bool {
	t.Helper()
	return slices.ContainsFunc(w.feed(t), func(e api.FeedEntry) bool { return e.Kind == "alert.firing" && e.Agent == name && e.About == rule })
}

// alertOf returns an alert of an agent, or nothing.
func (w *rulesTown) alertOf(t *testing.T, rule, agent string) api.Alert {
	t.Helper()
	for _, a := range w.allAlerts(t) {
		if a.Rule == rule && a.Subject == "agent/"+agent {
			return a
		}
	}
	return api.Alert{}
}

func (w *rulesTown) awaitAlert(t *testing.T, rule string) (found api.Alert) {
	t.Helper()
	w.until(t, func() string { return "no alert " + rule }, func() bool {
		i := slices.IndexFunc(w.allAlerts(t), func(a api.Alert) bool { found = a; return a.Rule == rule })
		return i >= 0
	})
	return found
}

func (w *rulesTown) awaitAlertOf(t *testing.T, rule, agent string) (found api.Alert) {
	t.Helper()
	w.until(t, func() string { return "no alert " + rule + " of " + agent }, func() bool {
		i := slices.IndexFunc(w.allAlerts(t), func(a api.Alert) bool { found = a; return a.Rule == rule && a.Subject == "agent/"+agent })
		return i >= 0
	})
	return found
}

func (w *rulesTown) feed(t *testing.T) []api.FeedEntry {
	t.Helper()
	f, err := w.c.Feed(t.Context(), api.FeedQuery{Limit: 5000})
	if err != nil {
		t.Fatal(err)
	}
	return f.Entries
}

// done lists the actions that were begun on an agent, in their order.
func (w *rulesTown) done(t *testing.T, name string) (actions []string) {
	t.Helper()
	for _, e := range w.feed(t) {
		if e.Kind == "action.started" && e.Agent == name {
			do, _, _ := strings.Cut(e.Text, ":")
			actions = append(actions, do)
		}
	}
	return actions
}

// log returns what a fake agent noted of one sort.
func (w *rulesTown) log(t *testing.T, pid int, what string) (texts []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, ".fakeagent/log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var r struct {
			PID        int
			What, Text string
		}
		if json.Unmarshal(line, &r) == nil && r.PID == pid && r.What == what {
			texts = append(texts, r.Text)
		}
	}
	return texts
}

// inTown skips what takes minutes of real time, unless it is asked for: make town.
func inTown(t *testing.T) {
	t.Helper()
	if os.Getenv("CUSTOS_TOWN") == "" {
		t.Skip("every agent rule on real agents takes four minutes: make town")
	}
}
