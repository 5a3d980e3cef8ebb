package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
)

// quickRuns is a town where prose is worked on at once, and as much as wanted.
const quickRuns = `budget = "5000 in 1h"
blast = 0
[limits]
stagger = "0s"
spawn_memory = "0"
max_agents = 500
settle = "200ms"
deaths = "99 in 1s"
[recover]
settle = "200ms"
[agents]
dwell = "1m"
every = "1s"
[git]
foreign_namespace = false
every = "1s"
[stop]
ask_wait = "1s"
interrupt_wait = "500ms"
term_wait = "1s"
[nudge]
echo = "20s"
[formulas]
projects = { app = "~/app" }
factory = "~/factory"
`

// runCase is a run of the seed's formula: what its agent does, and what is to come
// of it.
type runCase struct {
	name   string
	more   string // of the formula, before its own keys
	plays  string // the agent's script
	code   int    // exit code of a command that follows it
	state  string // of the run, in the end
	why    string // part of it
	steps  string // the first letter of the state of each, in order
	alert  string // that names the run, and its worktree when that is kept
	tree   string // kept, gone, or "" for none
	phase  string // the last one, part of it
	before func(*runsTown)
	then   func(*testing.T, *runsTown, api.Run)
}

// steps of the seed, as an agent reports them.
func reports(ids ...string) string {
	if len(ids) == 0 {
		ids = []string{"preflight", "health-assessment", "decide-actions", "report", "journal"}
	}
	return "step done " + strings.Join(ids, "\nstep done ") + "\n"
}

const inTree = "worktree = true\n"

func runCases() []runCase {
	return []runCase{
		{name: "ignores", more: inTree, plays: "reply I see.\n", state: "failed", why: "back to its prompt without a phase", steps: "fssss", alert: "run-failed", tree: "kept", then: notBefore(60 * time.Second)},
		{name: "half", more: inTree, plays: reports("preflight", "health-assessment") + "phase done\n", state: "done", steps: "ddddd", tree: "gone", phase: "done", then: byPhase},
		{name: "run-supervisor", plays: "step done half/preflight\nstep done half-t/journal\n" + reports() + "phase done\n", state: "done", steps: "ddddd", then: follows},
		{name: "half-idle", plays: reports("preflight") + "work 1s\n", state: "failed", why: "back to its prompt", steps: "dfsss", alert: "run-failed"},
		{name: "crashes", more: inTree, plays: "edit mine kept\n" + reports("preflight") + "kill\n---\n" + reports("health-assessment") + "phase done\n", state: "done", steps: "ddddd", phase: "done", tree: "kept", then: toldOnce},
		{name: "crashes-twice", more: inTree, plays: reports("preflight") + "kill\n---\nwork 3s\nkill\n", state: "failed", why: "died again", steps: "dfsss", alert: "run-failed", tree: "kept", then: markedCrashed},
		{name: "done-at-once", more: inTree, plays: "phase done\nwork 4s\nedit late work\nstep done preflight\n", state: "done", steps: "ddddd", phase: "done", tree: "kept", then: refusedLate},
		{name: "former", plays: "work 2s\n" + reports("preflight") + "phase merged\n", before: formerPhase, state: "done", steps: "ddddd", phase: "merged", then: reported("preflight")},
		{name: "unknown", plays: "phase finished\nwork 2s\n" + reports("preflight") + "phase done\n", state: "done", steps: "ddddd", phase: "done", then: reported("preflight")},
		{name: "on-screen", plays: "print PHASE:done\nwork 2s\n" + reports("preflight") + "phase failed no network\n", state: "failed", why: "no network", steps: "dfsss", alert: "run-failed", phase: "failed no network"},
		{name: "fails", more: inTree, plays: reports("preflight") + "phase failed the disk is full\n", state: "failed", why: "the disk is full", steps: "dfsss", alert: "run-failed", tree: "kept"},
		{name: "fails-a-step", plays: reports("preflight") + "step fail health-assessment\n", state: "failed", why: "reported by", steps: "dfsss", alert: "run-failed"},
		{name: "escalates", plays: "phase escalate which branch?\n---\n" + reports() + "phase done\n", state: "needs a person", why: "which branch?", steps: "nwwww", alert: "run-needs-person", then: answered},
		{name: "asks", plays: "phase escalate which branch?\n---\n" + reports() + "phase done\n", state: "needs a person", why: "which branch?", steps: "nwwww", then: repliedByFile},
		{name: "asks-on", more: "mode = \"headless\"\n", plays: "phase escalate which branch?\n---\n" + reports() + "phase done\n", state: "needs a person", why: "which branch?", steps: "nwwww", then: repliedByCommand},
		{name: "crashes-at-once", plays: reports("preflight") + "kill\n---\nkill\n", state: "failed", why: "died again", steps: "dfsss", alert: "run-failed", then: startedTwice},
		{name: "stopped", more: inTree, plays: reports("preflight") + "work 1h\n", before: nil, state: "cancelled", why: "stopped its agent", steps: "dssss", tree: "kept"},
		{name: "hangs", more: "session_timeout = \"5s\"\n", plays: "hang\n", state: "failed", why: "has run for 5s", steps: "fssss", alert: "run-failed"},
		{name: "awaits", plays: "phase awaiting_ci\n", state: "running", why: "awaits its pipeline", steps: "rwwww", then: awaited},
		{name: "headless", more: "mode = \"headless\"\n", plays: reports("preflight") + "phase done\n", state: "done", steps: "ddddd", phase: "done", then: costs},
		{name: "headless-dies", more: "mode = \"headless\"\n", plays: "exit 3\n---\nwork 3s\nexit 3\n", state: "failed", why: "died again", steps: "fssss", alert: "run-failed"},
		{name: "headless-ignores", more: "mode = \"headless\"\n", plays: "reply hello\n", state: "failed", why: "ended by itself, without a phase", steps: "fssss", alert: "run-failed"},
	}
}

// TestFormulaSessions runs the supervisor formula of seed 000 with agents that
// follow the protocol, ignore it, half-follow it, crash in it and lie about it.
func TestFormulaSessions(t *testing.T) {
	w := newRunsTown(t)
	t.Run("run", func(t *testing.T) {
		for _, c := range runCases() {
			t.Run(c.name, func(t *testing.T) {
				w.begin(c)
				t.Parallel()
				w.settles(t, c)
			})
		}
	})
	if t.Failed() {
		log, _ := os.ReadFile(filepath.Join(w.dir, ".fakeagent/log.jsonl"))
		t.Logf("%s\n%s", w.said, log)
	}
}

// runsTown is a town with a project, the seed's formula, and custos as everyone
// there finds it.
type runsTown struct {
	*town
	seed string
	runs map[string]string // ID of the run of each case
}

func newRunsTown(t *testing.T) *runsTown {
	t.Helper()
	w := foundRunsTown(t)
	w.start()
	return w
}

// foundRunsTown makes one without a daemon.
func foundRunsTown(t *testing.T) *runsTown {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := os.ReadFile("../formula/testdata/seed-supervisor.toml")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	w := &runsTown{town: foundTown(t, quickRuns), seed: string(seed), runs: map[string]string{}}
	for dir, text := range map[string]string{".config/custos/custos.toml": "", "app/AGENTS.md": "Be kind.\n", "factory/x": "", "formulas/x.txt": ""} {
		if text == "" {
			b, _ := os.ReadFile(filepath.Join(w.dir, "custos.toml"))
			text = string(b)
		}
		w.write(dir, text)
	}
	app := filepath.Join(w.dir, "app")
	git(t, app, "init", "-q", "-b", "main")
	git(t, app, "add", ".")
	git(t, app, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", "first")
	return w
}

func (w *runsTown) write(name, text string) {
	w.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// custos is the command as a person types it, and what it prints as JSON.
func (w *runsTown) custos(t *testing.T, out any, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.bin, "custos"), append(args, "--json")...)
	cmd.Env = append(os.Environ(), "HOME="+w.dir)
	text, err := cmd.Output()
	if _, is := err.(*exec.ExitError); err != nil && (!is || len(text) == 0) {
		t.Fatalf("custos %v: %v\n%s", args, err, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatalf("custos %v: %v\n%s", args, err, text)
	}
}

// begin begins the run of a case: that of the seed as it is by the command line,
// the others by the API, each under a name of its own.
func (w *runsTown) begin(c runCase) {
	w.Helper()
	w.write(".fakeagent/"+c.name+".script", c.plays)
	text := c.more + strings.Replace(w.seed, `"run-supervisor"`, `"`+c.name+`"`, 1)
	w.write("formulas/"+c.name+".toml", text)
	if c.before != nil {
		c.before(w)
	}
	var run api.Run
	var err error
	if c.name == "run-supervisor" {
		w.custos(w.T, &run, "formula", "run", c.name, "--project", "app")
	} else {
		run, err = w.client().RunFormula(w.Context(), api.RunRequest{ID: "t", Name: c.name, Project: "app"})
	}
	if err != nil || run.ID == "" {
		w.Fatalf("%s: %+v, %v\n%s", c.name, run, err, w.said)
	}
	w.runs[c.name] = run.ID
}

func (w *runsTown) show(t *testing.T, c runCase) (run api.Run) {
	t.Helper()
	asks := w.client()
	defer asks.Close()
	run, err := asks.Run(t.Context(), w.runs[c.name])
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// settles waits until a run is as it is to be, and checks what became of all of it.
func (w *runsTown) settles(t *testing.T, c runCase) {
	if c.name == "stopped" {
		w.stops(t, c)
	}
	run := w.awaits(t, c, c.state)
	if !strings.Contains(run.Why, c.why) || !strings.Contains(run.Phase, c.phase) {
		t.Errorf("why %q, phase %q", run.Why, run.Phase)
	}
	if got := initials(run); got != c.steps {
		t.Errorf("its steps are %s, want %s: %+v", got, c.steps, run.Steps)
	}
	if c.tree != "" {
		w.checkTree(t, c)
	}
	if c.alert != "" {
		w.checkAlert(t, c, run)
	}
	if c.then != nil {
		c.then(t, w, run)
	}
}

func initials(run api.Run) (s string) {
	for _, step := range run.Steps {
		s += step.State[:1]
	}
	return s
}

// awaits waits for a state of a run.
func (w *runsTown) awaits(t *testing.T, c runCase, state string) (run api.Run) {
	t.Helper()
	is := func() bool { return run.State == state && (c.state != "running" || strings.Contains(run.Why, c.why)) }
	story := func() string {
		return fmt.Sprintf("it is %s, want %s: %+v\nagent %+v\n%s", run.State, state, run, w.agent(run.Agent), strings.Join(w.log(run.ID), "\n"))
	}
	await(t, story, func() bool { run = w.show(t, c); return is() || run.Over })
	if !is() {
		t.Fatal(story())
	}
	return run
}

// checkTree looks for the worktree of a run, once its agent is gone.
func (w *runsTown) checkTree(t *testing.T, c runCase) {
	tree := filepath.Join(w.dir, "app.worktrees", w.runs[c.name])
	there := func() bool { _, err := os.Stat(tree); return err == nil }
	if c.tree == "gone" {
		await(t, func() string {
			return tree + " is left\n" + w.why("run/"+w.runs[c.name]) + w.why("worktree/"+tree) + w.stopping(w.runs[c.name])
		}, func() bool { return !there() })
		return
	}
	w.gone(t, w.runs[c.name])
	if run := w.show(t, c); !there() || run.State != "done" && !strings.Contains(run.Why+run.Kept, tree) {
		t.Errorf("the worktree: there %v, why %q, kept %q", there(), run.Why, run.Kept)
	}
}

// gone waits until an agent has ended.
func (w *runsTown) gone(t *testing.T, agent string) {
	t.Helper()
	var a api.AgentRow
	await(t, func() string { return fmt.Sprintf("%s is left: %+v\n%v", agent, a, w.stopping(agent)) }, func() bool {
		a = w.agent(agent)
		return slices.Contains([]string{"stopped", "finished", "crashed"}, a.State)
	})
}

// stopping is how the order to stop the agent of a run fares.
func (w *runsTown) stopping(run string) string {
	o, err := w.client().OrderState(w.Context(), run+"-stop-1")
	return fmt.Sprintf("%+v, %v", o, err)
}

func (w *runsTown) why(subject string) string {
	story, err := w.client().Story(w.Context(), subject)
	return fmt.Sprintf("%+v, %v\n", story, err)
}

func (w *runsTown) checkAlert(t *testing.T, c runCase, run api.Run) {
	t.Helper()
	var all []api.Alert
	await(t, func() string { return fmt.Sprintf("no alert %s of %s: %+v", c.alert, run.ID, all) }, func() bool {
		all = w.alerts(c.alert)
		return slices.ContainsFunc(all, func(a api.Alert) bool {
			return strings.HasSuffix(a.Subject, run.ID) && strings.Contains(a.Summary, c.why) && (c.tree == "" || strings.Contains(a.Summary, "app.worktrees/"+run.ID))
		})
	})
}

// log is what the agents of a run noted: prompts, reports, phases.
func (w *runsTown) log(run string) (notes []string) {
	text, _ := os.ReadFile(filepath.Join(w.dir, ".fakeagent/log.jsonl"))
	for line := range strings.Lines(string(text)) {
		var r struct {
			What, Text, Run string
		}
		if json.Unmarshal([]byte(line), &r) == nil && r.Run == run {
			notes = append(notes, r.What+": "+r.Text)
		}
	}
	return notes
}

func noted(notes []string, what string) (found []string) {
	for _, n := range notes {
		if text, ok := strings.CutPrefix(n, what+": "); ok {
			found = append(found, text)
		}
	}
	return found
}

func reported(step string) func(*testing.T, *runsTown, api.Run) {
	return func(t *testing.T, w *runsTown, run api.Run) {
		if s := run.Steps[0]; s.ID != step || s.By != "agent/"+run.Agent || s.Note == "" {
			t.Errorf("%s was not reported: %+v", step, s)
		}
	}
}

// follows: what it read, what it was refused, and that it ended.
func follows(t *testing.T, w *runsTown, run api.Run) {
	for _, s := range run.Steps {
		if s.By != "agent/"+run.Agent || s.Note != "as the script has it" {
			t.Errorf("%+v", s)
		}
	}
	w.gone(t, run.Agent)
	notes := w.log(run.ID)
	read, refused := noted(notes, "read"), noted(notes, "refused")
	if len(read) != 1 {
		t.Fatalf("it read %d prompts: %v", len(read), notes)
	}
	for _, want := range []string{"Be kind.", "Step decide-actions: ", "custos formula step done " + run.ID, "PHASE:done", run.Dir + "/phase", "Scratch file", "PROJECT_REPO_ROOT=" + w.dir + "/app"} {
		if !strings.Contains(read[0], want) {
			t.Errorf("its prompt does not say %q:\n%s", want, read[0])
		}
	}
	if len(refused) != 2 || !strings.Contains(refused[1], "agent "+run.Agent+" does not work on it") {
		t.Errorf("it reported steps of another run: %q", refused)
	}
	if n := len(noted(notes, "prompt")); n != 1 {
		t.Errorf("it got %d prompts: %v", n, notes)
	}
}

func notBefore(d time.Duration) func(*testing.T, *runsTown, api.Run) {
	return func(t *testing.T, _ *runsTown, run api.Run) {
		if took := run.EndedAt.Sub(run.At); took < d {
			t.Errorf("given up after %v", took)
		}
	}
}

func byPhase(t *testing.T, _ *runsTown, run api.Run) {
	for i, s := range run.Steps {
		if by := strings.Contains(s.Why, "by its phase, not reported one by one"); by != (i > 1) || (s.By != "") == by {
			t.Errorf("%+v", s)
		}
	}
}

// toldOnce: who is started again is told what is done, once, and nothing else.
func toldOnce(t *testing.T, w *runsTown, run api.Run) {
	prompts := noted(w.log(run.ID), "prompt")
	if len(prompts) != 2 || !strings.Contains(prompts[1], "not to be repeated: preflight.") || !strings.Contains(prompts[1], "Left: health-assessment, ") {
		t.Errorf("%d prompts: %q", len(prompts), prompts)
	}
}

// markedCrashed: what is kept belongs to rule worktree-crashed, for its 24 h.
func markedCrashed(t *testing.T, w *runsTown, run api.Run) {
	if story, err := w.client().Story(t.Context(), "run/"+run.ID); err != nil || len(story.Events) == 0 {
		t.Errorf("%+v, %v", story, err)
	}
}

// refusedLate: what is said after the end counts no more, and what was done is not lost.
func refusedLate(t *testing.T, w *runsTown, run api.Run) {
	if refused := noted(w.log(run.ID), "refused"); len(refused) != 1 || !strings.Contains(refused[0], "the run is done") {
		t.Errorf("%v", w.log(run.ID))
	}
	if text, err := os.ReadFile(filepath.Join(w.dir, "app.worktrees", run.ID, "late")); err != nil || string(text) != "work\n" {
		t.Errorf("what it did late: %q, %v", text, err)
	}
}

// formerPhase leaves the phase of a former run in the folder of the next.
func formerPhase(w *runsTown) {
	file := "s/runs/former-t/phase"
	w.write(file, "PHASE:done\n")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(w.dir, file), old, old); err != nil {
		w.Fatal(err)
	}
}

// stops stops the agent of a run, as a person does.
func (w *runsTown) stops(t *testing.T, c runCase) {
	await(t, w.said.String, func() bool { return w.show(t, c).Done == 1 })
	var o api.Order
	w.custos(t, &o, "stop", w.runs[c.name])
}

// answered: a person answers, and another agent goes on.
func answered(t *testing.T, w *runsTown, run api.Run) {
	w.gone(t, run.ID)
	w.custos(t, &run, "formula", "resume", run.ID)
	run = w.awaits(t, runCase{name: "escalates"}, "done")
	if run.Agent == run.ID || initials(run) != "ddddd" {
		t.Errorf("%+v", run)
	}
	await(t, func() string { return "its alert is left" }, func() bool {
		return !slices.ContainsFunc(w.alerts("run-needs-person"), func(a api.Alert) bool { return strings.HasSuffix(a.Subject, run.ID) && a.Status == "firing" })
	})
}

// repliedByFile: a reply that others may have written is refused aloud; one of ours
// goes into the prompt of the next session, once, and is put away.
func repliedByFile(t *testing.T, w *runsTown, run api.Run) {
	c := runCase{name: "asks"}
	file := filepath.Join(w.dir, "s/replies/asks-escalation-reply")
	w.write("s/replies/asks-escalation-reply", "Take \x1b[1mmain.")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	await(t, func() string { return fmt.Sprintf("%+v", w.show(t, c)) }, func() bool {
		return strings.Contains(w.show(t, c).Why, "its reply is not taken: ")
	})
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	w.toldOfReply(t, w.awaits(t, c, "done"), "Take ", "main.")
}

// repliedByCommand: the same by the command line, with an agent without a terminal.
func repliedByCommand(t *testing.T, w *runsTown, run api.Run) {
	w.custos(t, &run, "formula", "resume", run.ID, "--reply", "Take main.")
	w.toldOfReply(t, w.awaits(t, runCase{name: "asks-on"}, "done"), "Take main.")
}

// toldOfReply: the second agent read the reply, once, and the file is put away.
func (w *runsTown) toldOfReply(t *testing.T, run api.Run, want ...string) {
	t.Helper()
	await(t, func() string { return strings.Join(w.spool(run.ID), " ") }, func() bool {
		return slices.Equal(w.spool(run.ID), []string{"escalation-reply.1.done"})
	})
	read := noted(w.log(run.ID), "read")
	if len(read) != 2 || strings.Contains(read[0], "own words") {
		t.Fatalf("it read %d prompts: %q", len(read), read)
	}
	for _, want := range append(want, "asked a person: which branch?", "in the person's own words") {
		if strings.Count(read[1], want) != 1 {
			t.Errorf("its prompt says %q %d times:\n%s", want, strings.Count(read[1], want), read[1])
		}
	}
	if run.Agent != run.ID+"-2" || initials(run) != "ddddd" {
		t.Errorf("%+v", run)
	}
}

// spool lists what lies there of a run's replies, or its formula's.
func (w *runsTown) spool(run string) (names []string) {
	formula := strings.TrimSuffix(run, "-t")
	entries, _ := os.ReadDir(filepath.Join(w.dir, "s/replies"))
	for _, e := range entries {
		for _, name := range []string{run, formula} {
			if rest, ok := strings.CutPrefix(e.Name(), name+"-"); ok && strings.HasPrefix(rest, "escalation-reply") {
				names = append(names, rest)
			}
		}
	}
	return names
}

// startedTwice: one recovery is one process, though that ends at once.
func startedTwice(t *testing.T, w *runsTown, run api.Run) {
	if prompts := noted(w.log(run.ID), "prompt"); len(prompts) != 2 {
		t.Errorf("%d were started: %q", len(prompts), prompts)
	}
	for _, a := range w.alerts("agent-crashed") {
		if strings.HasSuffix(a.Subject, run.Agent) {
			t.Errorf("the run tells of its agent, and so does %+v", a)
		}
	}
}

// awaited: nobody is in the way of who waits for a pipeline, until it is done.
func awaited(t *testing.T, w *runsTown, run api.Run) {
	for _, d := range []time.Duration{40 * time.Second, 75 * time.Second} { // three looks take a minute
		await(t, w.said.String, func() bool { return time.Since(run.At) > d })
	}
	if run = w.show(t, runCase{name: "awaits"}); run.State != "running" {
		t.Fatalf("%+v", run)
	}
	w.write("s/runs/"+run.ID+"/phase", "PHASE:done\n")
	w.awaits(t, runCase{name: "awaits"}, "done")
	w.gone(t, run.ID)
}

func costs(t *testing.T, w *runsTown, run api.Run) {
	await(t, func() string { return fmt.Sprintf("%+v", run) }, func() bool {
		run = w.show(t, runCase{name: "headless"})
		return run.Dollars == 0.01 && run.Tokens == 15
	})
}

// TestReplyOutlivesACrash: Custos is killed when it has taken a reply, and again when
// the agent has it. The reply is told once, and put away in the end.
func TestReplyOutlivesACrash(t *testing.T) {
	w := newRunsTown(t)
	c := runCase{name: "asks", plays: "phase escalate which branch?\n---\nwork 8s\n" + reports() + "phase done\n"}
	w.begin(c)
	run := w.awaits(t, c, "needs a person")
	w.gone(t, run.ID)
	w.custos(t, &run, "formula", "resume", run.ID, "--reply", "Take main.")
	for _, moment := range []func() bool{
		func() bool { // taken, or, on a machine that is slow to look, filed already
			return slices.ContainsFunc(w.spool(run.ID), func(s string) bool { return strings.HasPrefix(s, "escalation-reply.1.") })
		},
		func() bool { return len(noted(w.log(run.ID), "read")) == 2 },
	} {
		await(t, func() string { return strings.Join(append(w.spool(run.ID), w.log(run.ID)...), "\n") }, moment)
		w.kill()
		w.start()
	}
	w.toldOfReply(t, w.awaits(t, c, "done"), "Take main.")
	if n := len(noted(w.log(run.ID), "prompt")); n != 2 {
		t.Errorf("%d prompts: %q", n, w.log(run.ID))
	}
}

// TestOneShotRunEndsItsSession: without a daemon nobody comes after the command, so the
// agent that it started is gone when it returns, whichever way the run ended.
func TestOneShotRunEndsItsSession(t *testing.T) {
	w := foundRunsTown(t)
	t.Setenv("PATH", filepath.Dir(agenttest.Build(t))+":"+os.Getenv("PATH"))
	for _, c := range []runCase{
		{name: "once", plays: reports("preflight") + "phase done\n", state: "done"},
		{name: "once-asks", plays: "phase escalate which branch?\n", state: "needs a person", code: 1},
	} {
		w.write(".fakeagent/"+c.name+".script", c.plays)
		w.write("formulas/"+c.name+".toml", strings.Replace(w.seed, `"run-supervisor"`, `"`+c.name+`"`, 1))
		out, code := w.says(t, "formula", "run", c.name, "--project", "app")
		if !strings.Contains(out, c.state) || code != c.code {
			t.Errorf("%s ended with %d: %s", c.name, code, out)
		}
		if left := w.running(agenttest.Build(t)); len(left) > 0 {
			t.Errorf("%s: its agent runs on: %v", c.name, left)
		}
	}
}

// says is what a command prints, and its exit code.
func (w *runsTown) says(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.bin, "custos"), append([]string{"--config", filepath.Join(w.dir, "custos.toml")}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+w.dir)
	out, err := cmd.CombinedOutput()
	if _, is := err.(*exec.ExitError); err != nil && !is {
		t.Fatalf("custos %v: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// running lists the town's processes of one program.
func (w *runsTown) running(program string) (pids []int) {
	for _, pid := range w.inhabitants() {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && exe == program {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestRunWithoutItsWorktree: a run whose worktree cannot be made fails with the cause;
// its agent is never started, in the shared folder least of all.
func TestRunWithoutItsWorktree(t *testing.T) {
	w := foundRunsTown(t)
	t.Setenv("PATH", filepath.Dir(agenttest.Build(t))+":"+os.Getenv("PATH"))
	w.write("app.worktrees", "a file where the folder is to be\n")
	w.write("bare/x", "no repository\n")
	t.Chdir(filepath.Join(w.dir, "bare"))
	for name, more := range map[string][]string{"no-place": {"--project", "app"}, "no-repository": nil} {
		w.write(".fakeagent/"+name+".script", "edit shared work\nphase done\n")
		w.write("formulas/"+name+".toml", inTree+strings.Replace(w.seed, `"run-supervisor"`, `"`+name+`"`, 1))
		out, code := w.says(t, append([]string{"formula", "run", name}, more...)...)
		if code != 1 || !strings.Contains(out, "failed") || !strings.Contains(out, "its agent could not be started: ") {
			t.Errorf("%s ended with %d: %s", name, code, out)
		}
		if left := w.running(agenttest.Build(t)); len(left) > 0 {
			t.Errorf("%s: an agent runs: %v", name, left)
		}
	}
	for _, dir := range []string{"app", "bare"} {
		if _, err := os.Stat(filepath.Join(w.dir, dir, "shared")); err == nil {
			t.Errorf("an agent worked in %s", dir)
		}
	}
}
