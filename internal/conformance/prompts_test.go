//go:build conformance

package conformance

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/api"
)

// firstPrompts are texts that a CLI may take for something else than a prompt.
func firstPrompts() []string {
	return []string{"--help is what I need", "-v", "/help", "/clear the table", "!echo hi", "# a heading", "exit", "read @README.md", "@README.md",
		"it ends with \\", "a line\n/help\nand one more",
		"$name", "use $name", "/path/x", "/", "look at @READ", "choose /mod"}
}

// heardWithin is how long a CLI may take from its start until the model has its first prompt.
const heardWithin = 40 * time.Second

// TestFirstPrompts: what an agent is started with reaches the model as the words of a person,
// whatever they begin or end with, in a terminal and without one.
func TestFirstPrompts(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, k agent.Kind) {
		for _, headless := range []bool{false, true} {
			h := newHome(t, c, StartModel(t, 10*time.Millisecond))
			h.write(t, "project/README.md", "nothing to see\n")
			env := c.settle(t, h)
			for _, prompt := range firstPrompts() {
				start, err := agent.Launch(k, agent.LaunchOptions{Headless: headless, Prompt: prompt, Program: c.program(), Extra: c.extra, Root: os.Getuid() == 0})
				switch {
				case err != nil:
					t.Errorf("headless %t, %q: %v", headless, prompt, err)
				case start.Typed != "":
					t.Logf("headless %t: %s is typed its first prompt", headless, k.Name)
				default:
					h.first(t, k, start, env, headless, prompt)
				}
			}
		}
	})
}

// first starts an agent and waits until the model has heard its prompt.
func (h home) first(t *testing.T, k agent.Kind, start agent.Command, env []string, headless bool, prompt string) {
	t.Helper()
	from, screen := len(h.model.Asked()), func() string { return "" }
	all := slices.Concat(h.env(), []string{"IS_SANDBOX=1"}, env, start.Env)
	if headless {
		ctx, cancel := context.WithTimeout(t.Context(), heardWithin)
		defer cancel()
		run := exec.CommandContext(ctx, start.Argv[0], start.Argv[1:]...)
		run.Dir, run.Env, run.Stdin, run.WaitDelay = h.project, all, strings.NewReader(start.Stdin), time.Second
		out, _ := run.CombinedOutput()
		screen = func() string { return string(out[max(0, len(out)-1500):]) }
	} else {
		s := open(t, k, h, start.Argv, all)
		defer func() { _, _ = s.tmux("kill-server") }()
		screen = func() string { out, _ := s.tmux("capture-pane", "-p"); return out }
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(heardWithin); ; {
		if heard, _ := h.model.Heard(from, strings.TrimSpace(prompt), ""); heard {
			return
		}
		if headless { // it has ended
			break
		}
		select {
		case <-tick.C:
			continue
		case <-over:
		}
		break
	}
	var asked []string
	for _, a := range h.model.Asked()[from:] {
		asked = append(asked, a.Prompt())
	}
	t.Errorf("headless %t, %q: the model has heard %q\n%s", headless, prompt, asked, screen())
}

// TestCompletions: a text that a CLI completes at Enter instead of taking it, typed as it is (a
// command of its own), does not stay at its prompt: the next text arrives.
func TestCompletions(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, _ agent.Kind) {
		f := startFleet(t, c)
		defer func() {
			if t.Failed() {
				t.Log(f.tellAll(t))
			}
		}()
		f.spawn(t)
		f.say(t, "please say hello") // some tell of themselves with their first turn
		f.is(t, "idle")
		for _, text := range []string{"/comp", "look at @READ", "use $sk"} {
			from := len(f.home.model.Asked())
			var o api.Order
			out, err := f.try(&o, "nudge", "--command", "--wait", "60s", "--", f.who, text)
			t.Logf("%s: %s %s %v %s", text, o.State, o.Why, err, strings.Join(strings.Fields(out), " "))
			f.is(t, "idle")
			if heard, _ := f.home.model.Heard(from, text, ""); heard != (o.State == "done") && text != "/comp" {
				t.Errorf("%q: heard %v, told %s: %s", text, heard, o.State, o.Why)
			}
			f.say(t, "please go on after "+strings.Trim(text, "/@$"))
			f.is(t, "idle")
		}
	})
}
