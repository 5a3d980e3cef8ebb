//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/api"
)

// taughtFrom is the share of states, in percent, that have to be right of a kind that is
// called taught.
const taughtFrom = 99.0

// TestLife lives a whole life with each CLI under a Custos with a daemon, and samples what
// Custos says of it five times a second against what the model knows. What goes wrong on
// the way is said, and the life goes on.
func TestLife(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, k agent.Kind) {
		l := &life{custos: startFleet(t, c), kind: k}
		l.watch(t)
		for _, step := range lifeSteps() {
			t.Run(step.name, func(t *testing.T) { l.step(t, step.name, func() { step.do(l, t) }) })
		}
		l.close(t)
	})
}

type lifeStep struct {
	name string
	do   func(*life, *testing.T)
}

func lifeSteps() []lifeStep {
	return []lifeStep{
		{"start", (*life).begin}, {"turn", (*life).turn}, {"think", (*life).think}, {"interrupt", (*life).interrupt}, {"permission", (*life).permission},
		{"long tool", (*life).longTool}, {"question", (*life).question}, {"errors", (*life).errors}, {"commands", (*life).commands},
		{"prompts", (*life).prompts}, {"ends", (*life).ends}, {"five", (*life).five},
	}
}

// life is one agent's, and what is known of it.
type life struct {
	*custos
	kind agent.Kind

	mu       sync.Mutex
	said     []word // by the life itself
	samples  []sample
	arrivals []arrival
	stop     func()
}

// word is what the life knows and the model does not: states that are right from then on
// (none: nothing is judged), that the model knows it again, or that a request was answered.
type word struct {
	at       time.Time
	is       []string
	why      string
	free     bool
	answered bool
}

// arrival is what became of a prompt, by Custos and in truth.
type arrival struct {
	what        string
	told, heard bool
	why         string
}

// step runs one part of a life, and shows all when it failed.
func (l *life) step(t *testing.T, name string, do func()) {
	t.Logf("begins at %s", time.Now().UTC().Format("15:04:05"))
	defer func() {
		if t.Failed() {
			t.Log(l.tellAll(t))
		}
		l.say("after "+name, "")
	}()
	do()
}

// say sets what is true from now on: states, or "" for what is not judged.
func (l *life) say(why string, is ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(is) == 1 && is[0] == "" {
		is = nil
	}
	l.said = append(l.said, word{at: time.Now(), is: is, why: why})
}

// free leaves it to the model.
func (l *life) free(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, word{at: time.Now(), why: why, free: true})
}

func (l *life) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, word{at: time.Now(), why: "answered", free: true, answered: true})
}

// watch samples until the life is over.
func (l *life) watch(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	l.stop = func() { stop(); <-done }
	go func() {
		defer close(done)
		var client *api.Client
		for tick := time.NewTicker(200 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			var err error
			if client == nil {
				if client, err = api.Dial(ctx, l.state("run", "custos.sock")); err != nil {
					client = nil
					continue
				}
			}
			all, err := client.Agents(ctx)
			if err != nil {
				client = nil
				continue
			}
			l.note(all)
		}
	}()
}

func (l *life) note(all api.Agents) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range all.Agents {
		if a.Name == l.who {
			l.samples = append(l.samples, sample{at: time.Now(), state: a.State, source: a.Source, reason: a.Reason})
		}
	}
}

// close judges the life.
func (l *life) close(t *testing.T) {
	l.stop()
	m := judge(l.spans(), l.samples)
	t.Logf("%s: %s", l.cli, m)
	right := 0
	for _, a := range l.arrivals {
		if a.told == a.heard {
			right++
		}
		t.Logf("prompt %-12s heard %v, told as arrived %v: %s", a.what, a.heard, a.told, a.why)
	}
	writeResult(t, l.cli, m, right, len(l.arrivals))
	if m.share() < taughtFrom {
		t.Errorf("%s may not be called taught: %.1f %% of its states are right, and %.0f %% have to be", l.cli, m.share(), taughtFrom)
	}
}

// spans puts what the life said and what the model knows together.
func (l *life) spans() (all []span) {
	doings, words := l.home.model.Doings(), slices.Clone(l.said)
	var d Doing
	w := word{why: "the beginning"}
	answered := false
	var late *span // what is right when a CLI cannot be trying again any more
	add := func(at time.Time) {
		if late != nil && late.at.Before(at) {
			all = append(all, *late)
		}
		late = nil
		if !w.free {
			all = append(all, span{at, w.is, w.why})
			return
		}
		all = append(all, span{at, truth(d, answered, l.cli.permission > 0, true), w.why})
		if d.Failed != moveSay {
			late = &span{at.Add(15 * time.Second), truth(d, answered, true, false), w.why}
		}
	}
	for len(doings)+len(words) > 0 {
		if len(words) > 0 && (len(doings) == 0 || words[0].at.Before(doings[0].At)) {
			w, answered = words[0], words[0].answered
			add(w.at)
			words = words[1:]
			continue
		}
		if doings[0].Called != d.Called || doings[0].Asking != d.Asking {
			answered = false
		}
		d = doings[0]
		if w.why == typing {
			w = word{why: "a turn", free: true}
		}
		add(d.At)
		doings = doings[1:]
	}
	if late != nil {
		all = append(all, *late)
	}
	return all
}

// typing is the time between a key and the request that it leads to.
const typing = "between a prompt and its request"

// tmux talks to the server that Custos keeps its agents in.
func (l *life) tmux(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", l.state("run", "tmux.sock")}, args...)...)
	cmd.Env = l.home.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// pane is the agent's.
func (l *life) pane(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(l.tmux(t, "list-panes", "-a", "-F", "#{pane_id} #{session_name}")) {
		id, session, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(session, name) {
			return id
		}
	}
	t.Fatalf("no pane of %s", name)
	return ""
}

func (l *life) screen(t *testing.T) string {
	return l.tmux(t, "capture-pane", "-p", "-t", l.pane(t, l.who))
}

// types types a text as a person does, and Enter.
func (l *life) types(t *testing.T, text string) {
	t.Helper()
	pane := l.pane(t, l.who)
	l.tmux(t, "set-buffer", "-b", "n", "--", text)
	l.tmux(t, "paste-buffer", "-d", "-p", "-r", "-b", "n", "-t", pane)
	<-time.After(700 * time.Millisecond)
	l.say(typing, "idle", "working", "rate_limited", "auth_lost", "context_high", "waiting")
	l.tmux(t, "send-keys", "-t", pane, "Enter")
}

func (l *life) press(t *testing.T, keys ...string) {
	t.Helper()
	for _, k := range keys {
		l.tmux(t, "send-keys", "-t", l.pane(t, l.who), "--", k)
		<-time.After(keyPause)
	}
}

// doing waits until the model knows something of the agent.
func (l *life) doing(t *testing.T, what string, so func(Doing) bool) {
	t.Helper()
	l.until(t, what, time.Minute, func() bool { return so(l.home.model.Doing()) })
}

func (l *life) asked(t *testing.T, text string, from int) {
	t.Helper()
	l.until(t, "the model is asked "+text, time.Minute, func() bool { heard, _ := l.home.model.Heard(from, text, ""); return heard })
}

// prompt types a text and waits until the model has it.
func (l *life) prompt(t *testing.T, text string) {
	t.Helper()
	from := len(l.home.model.Asked())
	l.types(t, text)
	l.asked(t, text, from)
}

func done(d Doing) bool { return d.Asking == 0 && d.Called == moveSay }

// rest is for how long a state is looked at.
const rest = 3 * time.Second

func (l *life) begin(t *testing.T) {
	l.say("it starts", "starting", "dialog", "idle")
	l.spawn(t)
	l.free("ready")
	<-time.After(rest)
}

func (l *life) turn(t *testing.T) {
	l.prompt(t, "please say hello")
	l.doing(t, "the turn ends", done)
	<-time.After(rest)
}

func (l *life) think(t *testing.T) {
	l.prompt(t, "think first")
	l.doing(t, "the turn ends", done)
	<-time.After(rest)
}

func (l *life) interrupt(t *testing.T) {
	l.prompt(t, "slow please")
	<-time.After(rest)
	l.press(t, l.kind.Interrupt...)
	l.doing(t, "the model is left alone", done)
	<-time.After(rest)
	l.say("its prompt is cleared", "")
	l.press(t, "C-u") // some put the prompt back
	<-time.After(time.Second)
}

// asks waits for what the CLI asks, looks at it for a while, and answers it.
func (l *life) asks(t *testing.T, choice string) {
	t.Helper()
	l.is(t, "waiting")
	<-time.After(rest)
	l.until(t, "the dialog can be read", lookLimit, func() bool { return l.show(t).Dialog != nil })
	l.say("it is being answered", "waiting", "working", "idle")
	l.order(t, "answer", l.who, choice, "--wait", "30s")
	l.answered()
}

func (l *life) permission(t *testing.T) {
	l.prompt(t, "now run the tool")
	for range l.cli.permission {
		l.asks(t, "yes")
	}
	l.doing(t, "the turn ends", done)
	<-time.After(rest)
}

func (l *life) longTool(t *testing.T) {
	l.prompt(t, "run the long tool")
	for range l.cli.permission {
		l.asks(t, "yes")
	}
	l.doing(t, "the turn ends", done)
	<-time.After(rest)
}

func (l *life) question(t *testing.T) {
	l.prompt(t, "ask a question")
	<-time.After(time.Second)
	if l.home.model.Doing().Called != moveAsk {
		t.Skip("it has no tool to ask with")
	}
	l.asks(t, "1")
	l.doing(t, "the turn ends", done)
	<-time.After(rest)
}

// errors: each is looked at for longer than a CLI tries again; then it goes on.
func (l *life) errors(t *testing.T) {
	for _, words := range []string{"fail inside", "lose the login", "hit the limit", "be too long"} {
		l.prompt(t, words)
		<-time.After(20 * time.Second)
		l.home.model.Heal()
		l.say("it goes on after "+words, "")
		if l.cli.retries {
			l.press(t, l.kind.Interrupt...)
			<-time.After(time.Second)
		}
		l.prompt(t, "please go on after that: "+words)
		l.doing(t, "the turn after an error ends", done)
		<-time.After(rest)
		l.home.model.Spoil()
	}
}

// commands are the CLI's own: after each its prompt is free again.
func (l *life) commands(t *testing.T) {
	for _, words := range l.cli.commands {
		l.types(t, words)
		if keys := l.cli.menus[words]; len(keys) > 0 {
			l.say("the menu of "+words, "dialog")
			<-time.After(rest)
			l.say("its menu is answered", "")
			l.press(t, keys...)
		}
		<-time.After(5 * time.Second)
		l.free("after " + words)
		<-time.After(rest)
	}
}

// prompts are nudged, and are to arrive as they are, or be known not to have.
func (l *life) prompts(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d of %d\n", i+1, n)
		}
		return b.String() + "the end of it all"
	}
	for _, p := range []struct{ what, text string }{
		{"1 line", "please say one"}, {"60 lines", lines(60)}, {"2000 lines", lines(2000)}, {"@file", "please look at @README.md"},
		{"!", "!echo one"}, {"/", "/tmp is a folder"}, {"#", "# one heading"}, {"-", "- one item"},
		{"/path/x", "/path/x"}, {"a mere /", "/"}, {"ends in $name", "please use $name"}, {"ends in @READ", "please look at @READ"}, {"ends in /mod", "please choose /mod"},
	} {
		l.say("a nudge", "")
		from := len(l.home.model.Asked())
		var o api.Order
		out, err := l.try(&o, "nudge", "--wait", "60s", "--", l.who, p.text)
		<-time.After(2 * time.Second)
		a := arrival{what: p.what, told: err == nil && o.State == "done", heard: l.heard(from, p.text), why: strings.Join(strings.Fields(o.State+" "+o.Guard+" "+o.Why), " ")}
		if err != nil && o.State == "" {
			a.why = strings.Join(strings.Fields(out), " ")
		}
		l.arrivals = append(l.arrivals, a)
		if a.told != a.heard {
			t.Errorf("the nudge of %s: heard %v, told %v: %s", p.what, a.heard, a.told, a.why)
		}
		l.press(t, "Escape", "C-u") // what is left of it
		<-time.After(time.Second)
	}
}

// heard says whether the model was given the whole of a text since.
func (l *life) heard(from int, text string) bool {
	words := strings.Join(strings.Fields(text), " ")
	return slices.ContainsFunc(l.home.model.Asked()[from:], func(a Asked) bool {
		return slices.ContainsFunc(a.Turns, func(turn Turn) bool {
			return turn.Role == "user" && strings.Contains(strings.Join(strings.Fields(turn.Text), " "), words)
		})
	})
}

// ends: by its command, by a signal that asks, by Ctrl-C, and by one that does not, before
// the first turn and after it.
func (l *life) ends(t *testing.T) {
	for i, end := range []struct {
		how  string
		turn bool
		do   func(pid int)
		is   []string
	}{
		{l.kind.ExitCommand, true, func(int) { l.types(t, l.kind.ExitCommand) }, []string{"finished", "stopped"}},
		{"SIGTERM", true, func(pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) }, []string{"stopped", "finished", "crashed"}},
		{"Ctrl-C", true, func(int) { l.press(t, ctrlC[:l.ctrlCs()]...) }, []string{"finished", "stopped"}},
		{"kill -9 after a turn", true, func(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }, []string{"crashed"}},
		{"kill -9 before a turn", false, func(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }, []string{"crashed"}},
	} {
		if end.how == "" {
			continue
		}
		l.another(t, fmt.Sprintf("end%d", i))
		if end.turn {
			l.prompt(t, "please say hello")
			l.doing(t, "the turn ends", done)
		}
		<-time.After(rest)
		pid := l.show(t).Agent.PID
		if end.how == "SIGTERM" && l.cli.ignoresTerm {
			end.do(pid)
			l.say("SIGTERM, which its launcher ignores", "idle")
			<-time.After(rest)
			end.do(l.below(t, pid))
		} else {
			end.do(pid)
		}
		l.say(end.how+", and it runs still", ending...)
		l.until(t, "its process ends", time.Minute, func() bool { return syscall.Kill(pid, 0) != nil })
		l.say(end.how, end.is...)
		<-time.After(4 * time.Second)
	}
}

var ctrlC = []string{"C-c", "C-c"}

// ctrlCs is how many of them end the CLI at its prompt.
func (l *life) ctrlCs() int {
	if l.cli.oneCtrlC {
		return 1
	}
	return 2
}

// below is the process that a launcher has started.
func (l *life) below(t *testing.T, pid int) int {
	t.Helper()
	out, err := exec.Command("pgrep", "-o", "-P", strconv.Itoa(pid)).Output()
	child, bad := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || bad != nil {
		t.Fatalf("nothing runs below %d: %v, %v", pid, err, bad)
	}
	return child
}

// ending is what may be said of one that was told to end, as long as its process is there:
// not that it has ended, and not that it can be given something.
var ending = []string{"unknown", "working"}

// another agent takes the place of the one that is looked at.
func (l *life) another(t *testing.T, who string) {
	t.Helper()
	l.say("another one", "")
	_ = l.command("stop", l.who, "--wait", "30s").Run()
	l.mu.Lock()
	l.who = who
	l.mu.Unlock()
	l.spawn(t)
	l.free("ready")
}

// five at once are each told to say something, and each does.
func (l *life) five(t *testing.T) {
	l.say("five at once", "")
	names := []string{"five1", "five2", "five3", "five4", "five5"}
	for _, n := range names {
		args := []string{"spawn", n, "--kind", l.cli.kind, "--dir", l.home.project, "--restart", "never"}
		args = append(args, "--env", strings.Join(l.names, ","), "--", l.cli.program())
		l.order(t, append(args, l.cli.extra...)...)
	}
	from := len(l.home.model.Asked())
	for _, n := range names {
		var row api.AgentRow
		l.run(t, &row, "wait", n, "--for", "idle", "--timeout", startLimit.String())
		l.order(t, "nudge", n, "please say hello to "+n, "--wait", "2m")
	}
	for _, n := range names {
		l.asked(t, "hello to "+n, from)
		l.until(t, n+" is idle", time.Minute, func() bool {
			var d api.AgentDetail
			_, err := l.try(&d, "show", n)
			return err == nil && d.Agent.State == "idle"
		})
	}
}
