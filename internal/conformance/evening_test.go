//go:build conformance

package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/api"
)

// atOnce is how many agents an evening has.
const atOnce = 8

// TestEvening leaves eight agents of all CLIs under one Custos for a while (--for), each in a
// worktree of its own: they are given prompts, run tools, ask and are answered, and nothing is
// wrong with any of them. So no alert is true, each prompt arrives or is known not to have,
// and what was spent is what the models told.
func TestEvening(t *testing.T) {
	e := startEvening(t)
	var all sync.WaitGroup
	for _, g := range e.guests {
		all.Go(func() { g.live(t, time.Now().Add(e.length)) })
	}
	watched := make(chan struct{})
	over := make(chan struct{})
	go func() { defer close(watched); e.watch(over) }()
	all.Wait()
	close(over)
	<-watched
	e.judge(t)
	if t.Failed() {
		out, err := e.command("feed", "--since", "2h").CombinedOutput()
		t.Logf("$ custos feed (%v)\n%s\n%s", err, out, e.log())
	}
}

// evening is a Custos with several agents.
type evening struct {
	*custos
	length time.Duration
	models map[string]*Model // by kind
	guests []*guest

	alerts map[string]api.Alert // all that were seen, by rule and subject
}

// guest is one agent of an evening.
type guest struct {
	*custos
	model *Model
	said  []arrival
	turns int
}

func startEvening(t *testing.T) *evening {
	t.Helper()
	all := wanted(t)
	if len(all) == 0 {
		t.Fatal("no agent CLI was run")
	}
	e := &evening{length: 5 * time.Minute, models: map[string]*Model{}, alerts: map[string]api.Alert{}}
	if text := os.Getenv(forVar); text != "" {
		length, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		e.length = length
	}
	h := newHome(t, all[0], nil)
	for i := range atOnce {
		h.trees = append(h.trees, filepath.Join(h.project, "trees", guestName(i, all[i%len(all)])))
	}
	e.custos = &custos{cli: all[0], home: h, who: "none", env: append(h.env(), "PATH="+pathOf(all))}
	names := e.furnish(t, all)
	h.write(t, ".config/custos/custos.toml", "mode = \"auto\"\n")
	e.up(t)
	for i := range atOnce {
		e.invite(t, i, all[i%len(all)], names[all[i%len(all)].kind])
	}
	return e
}

// pathOf is where programs are looked for: one daemon starts all CLIs, so the Node that one of
// them asks for is the Node of all. Those that ask for none run on it.
func pathOf(all []cli) string {
	for _, c := range all {
		if path := c.path(); path != os.Getenv("PATH") {
			return path
		}
	}
	return os.Getenv("PATH")
}

func guestName(i int, c cli) string { return fmt.Sprintf("%s%d", c.kind, i) }

// furnish writes the settings of all kinds, each with a model of its own, and returns the
// names of the variables that each is given: Custos passes on those that it has itself.
func (e *evening) furnish(t *testing.T, all []cli) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	for _, c := range all {
		if e.models[c.kind] != nil {
			continue
		}
		e.models[c.kind] = StartModel(t, 250*time.Millisecond)
		h := e.home
		h.cli, h.model = c, e.models[c.kind]
		for _, v := range c.settle(t, h) {
			key, _, _ := strings.Cut(v, "=")
			names[c.kind] = append(names[c.kind], key)
			e.env = append(e.env, v)
		}
	}
	return names
}

// invite starts an agent in a worktree below the project.
func (e *evening) invite(t *testing.T, i int, c cli, names []string) {
	t.Helper()
	g := &guest{custos: &custos{cli: c, home: e.home, env: e.env, names: names, who: guestName(i, c), daemon: e.daemon}, model: e.models[c.kind]}
	g.home.cli, g.home.model = c, g.model
	g.home.project = e.home.trees[i]
	cmd := exec.Command("git", "worktree", "add", "-q", "-b", g.who, g.home.project)
	cmd.Dir, cmd.Env = e.home.project, e.home.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git worktree add: %v: %s", err, out)
	}
	defer func() {
		if t.Failed() {
			t.Log(g.tellAll(t))
		}
	}()
	g.spawn(t)
	e.guests = append(e.guests, g)
}

// live gives the agent one thing after the other to do, with pauses.
func (g *guest) live(t *testing.T, until time.Time) {
	r := rand.New(rand.NewPCG(uint64(len(g.who)), uint64(g.who[len(g.who)-1]))) // another evening for each, the same each time
	g.declines(t)                                                               // it may ask a moment after it was ready
	for time.Now().Before(until) {
		g.turns++
		kind := r.IntN(4)
		g.ask(fmt.Sprintf("%s %d of %s", []string{"please say hello", "slow please", "now run the tool", "think first"}[kind], g.turns, g.who))
		for range map[bool]int{true: g.cli.permission}[kind == 2] {
			g.allow(t)
		}
		g.settled(t)
		<-time.After(time.Duration(r.IntN(30)) * time.Second)
	}
}

// ask nudges, and notes what Custos says of the prompt against what the model was given.
func (g *guest) ask(text string) {
	from := len(g.model.Asked())
	var o api.Order
	out, err := g.try(&o, "nudge", "--wait", "90s", "--", g.who, text)
	heard := false
	for deadline := time.Now().Add(10 * time.Second); !heard && time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		heard, _ = g.model.Heard(from, text, "")
	}
	g.said = append(g.said, arrival{what: text, told: err == nil && o.State == "done", heard: heard,
		why: strings.Join(strings.Fields(o.State+" "+o.Guard+" "+o.Why+map[bool]string{true: out}[err != nil]), " ")})
}

// allow waits for the agent's question and answers it.
func (g *guest) allow(t *testing.T) {
	var row api.AgentRow
	if out, err := g.try(&row, "wait", g.who, "--for", "waiting", "--timeout", "90s"); err != nil {
		g.fault(t, "it does not ask", err, out)
		return
	}
	if out, err := g.try(nil, "answer", g.who, "yes", "--wait", "90s"); err != nil {
		g.fault(t, "it cannot be answered", err, out)
	}
}

// fault tells what is wrong with the agent now, and shows it.
func (g *guest) fault(t *testing.T, what string, err error, out string) {
	t.Errorf("%s, turn %d: %s: %v %s", g.who, g.turns, what, err, out)
	for _, args := range [][]string{{"why", g.who}, {"peek", g.who}} {
		out, err := g.command(args...).CombinedOutput()
		t.Logf("$ custos %s (%v)\n%s", strings.Join(args, " "), err, out)
	}
}

// mostQuestions is how often an agent may ask before a person takes it for stuck.
const mostQuestions = 10

// settled waits for the end of a turn.
func (g *guest) settled(t *testing.T) {
	for range mostQuestions {
		var row api.AgentRow
		if out, err := g.try(&row, "wait", g.who, "--for", "idle,waiting", "--timeout", "3m"); err != nil {
			g.fault(t, "it does not come to rest", err, out)
			return
		}
		if row.State == "idle" {
			return
		}
		if g.show(t).Dialog == nil { // what was answered may be told of a moment longer
			<-time.After(time.Second)
			continue
		}
		g.allow(t) // its model has called the tool again
	}
	t.Errorf("%s, turn %d: it asks without an end", g.who, g.turns)
}

// watch keeps each alert that is seen until the evening is over.
func (e *evening) watch(over <-chan struct{}) {
	for tick := time.NewTicker(5 * time.Second); ; {
		var all api.Alerts
		if _, err := e.try(&all, "alerts", "--all"); err == nil {
			for _, a := range all.Alerts {
				if a.Status == "firing" {
					e.alerts[a.Rule+" "+a.Subject] = a
				}
			}
		}
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// judge holds what Custos said against what is true.
func (e *evening) judge(t *testing.T) {
	turns, wrong := 0, 0
	for _, g := range e.guests {
		turns += g.turns
		for _, a := range g.said {
			if !a.told || !a.heard {
				wrong++
				t.Errorf("%s: prompt %q: heard %v, told as arrived %v: %s", g.cli, a.what, a.heard, a.told, a.why)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.alerts)) {
		a := e.alerts[key]
		t.Errorf("an alert, and nothing is wrong: %s %s %s: %s (since %s, %s)", a.Priority, a.Rule, a.Subject, a.Summary, a.Since.Format("15:04:05"), a.Status)
	}
	e.money(t)
	t.Logf("%v: %d agents, %d turns, %d prompts not as told or lost, %d false alerts", e.length, len(e.guests), turns, wrong, len(e.alerts))
}

// money: what is told of a kind's tokens is what its model told. What CLIs ask for
// themselves (titles) some write down, and some do not.
func (e *evening) money(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(e.models)) {
		account := e.models[kind].Account()
		least, most := toldBy(kind, account, false), toldBy(kind, account, true)
		var row api.CostRow
		ok := false
		for deadline := time.Now().Add(40 * time.Second); !ok && time.Now().Before(deadline); <-time.After(time.Second) {
			row = e.costOf(kind)
			ok = row.Tokens == least.All() || row.Tokens == most.All()
		}
		t.Logf("%-8s %3d responses, %d tokens told, %d by the model (%d with its own requests)", kind, row.Calls, row.Tokens, least.All(), most.All())
		if !ok {
			t.Errorf("%s: custos cost tells %d tokens, the model %d (%d with the CLI's own requests)", kind, row.Tokens, least.All(), most.All())
		}
	}
}

func (e *evening) costOf(kind string) api.CostRow {
	var costs api.Costs
	_, _ = e.try(&costs, "cost", "--by", "kind", "--since", "1d") // asked again where it fails
	for _, r := range costs.Rows {
		if r.Key == kind {
			return r
		}
	}
	return api.CostRow{Key: kind}
}
