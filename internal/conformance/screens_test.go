//go:build conformance

package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// TestScreens drives each CLI by hand, as a person would, and holds what
// internal/agent reads of it against what it is known to be doing.
func TestScreens(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, k agent.Kind) {
		s := start(t, c, k)
		r := reading{cli: c, terminal: s}
		for _, step := range []struct {
			name string
			do   func(*testing.T)
		}{
			{"ready", r.ready}, {"turn", r.turn}, {"tool", r.tool}, {"slow", r.slow}, {"limit", r.limit}, {"exit", r.exit},
		} {
			if !t.Run(step.name, step.do) {
				t.FailNow()
			}
		}
	})
}

// start launches a CLI as Custos does, with hooks on its command line.
func start(t *testing.T, c cli, k agent.Kind) *terminal {
	t.Helper()
	h := newHome(t, c, StartModel(t, 250*time.Millisecond))
	env := append(h.env(), c.settle(t, h)...)
	args, hookEnv, files, err := parse(t).LaunchHooks(c.kind, ours("custos-hook"), h.run, "")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		name, err := filepath.Rel(h.dir, file)
		if err != nil {
			t.Fatal(err)
		}
		h.write(t, name, string(text))
	}
	cmd, err := agent.Launch(k, agent.LaunchOptions{Program: c.program(), Hooks: args, Extra: c.extra, Root: os.Getuid() == 0})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, k, h, cmd.Argv, slices.Concat(env, hookEnv, cmd.Env))
}

type reading struct {
	cli cli
	*terminal
}

// startLimit is how long a CLI may take until it is ready: two cores may be
// shared with a test suite.
const startLimit = 2 * time.Minute

// ready: the prompt is there, and read as empty, idle, and no dialog.
func (r reading) ready(t *testing.T) {
	l := r.until(t, "it is ready", startLimit, func(l look) bool { ok, known := l.ready.Get(); return known && ok })
	if empty, known := l.composer.Get(); !known || !empty {
		t.Errorf("its prompt is not read as empty: %v\n%s", l.composer, r.describe(l))
	}
	r.until(t, "it is idle", 30*time.Second, state(fleet.StateIdle))
	if r.cli.startTold {
		r.until(t, "its hook tells of the session", 30*time.Second, func(look) bool { return r.told(0, is(fleet.HookSessionStart)) })
	}
}

// turn: a text at the prompt is seen, its prompt acknowledged by the very text,
// and the end of the turn told.
func (r reading) turn(t *testing.T) {
	from := r.prompt(t, "please say hello")
	r.until(t, "its answer", time.Minute, func(l look) bool {
		return strings.Contains(l.screen, "MOCK answers: done.") && l.full.State == fleet.StateIdle && l.bare.State == fleet.StateIdle
	})
	r.until(t, "its hook tells of the end of the turn", 30*time.Second, func(look) bool { return r.told(from, is(fleet.HookStop)) })
	r.until(t, "its prompt is empty again", 30*time.Second, func(l look) bool { ok, known := l.composer.Get(); return known && ok })
}

// prompt types a text and sees it acknowledged; it returns how many events there
// were before.
func (r reading) prompt(t *testing.T, text string) int {
	t.Helper()
	from := len(r.events)
	r.paste(t, text)
	l := r.until(t, "the text at its prompt", 20*time.Second, func(l look) bool { return strings.Contains(l.screen, text) })
	if empty, known := l.composer.Get(); !known || empty {
		t.Errorf("its prompt holds a text and is read as empty: %v\n%s", l.composer, r.describe(l))
	}
	r.keys(t, "Enter")
	r.until(t, "its hook acknowledges the prompt", 30*time.Second, func(look) bool {
		return r.told(from, func(e fleet.HookEvent) bool {
			return e.Event == fleet.HookPrompt && strings.HasPrefix(e.Text, conversation.PromptHash(text))
		})
	})
	return from
}

// tool: the permission prompt is waiting, with and without hooks; its dialog can
// be answered; what was asked for is then done.
func (r reading) tool(t *testing.T) {
	from := r.prompt(t, "now run the tool")
	for i := range r.cli.permission {
		l := r.until(t, "its permission prompt", time.Minute, func(l look) bool {
			return l.dialog != nil && l.full.State == fleet.StateWaiting && l.bare.State == fleet.StateWaiting
		})
		r.until(t, "its hook tells of the request", 30*time.Second, func(look) bool { return r.told(from, is(fleet.HookPermission)) })
		r.answer(t, l, i)
	}
	r.until(t, "the file that the tool makes", 30*time.Second, func(look) bool {
		_, err := os.Stat(filepath.Join(r.home.project, proof))
		return err == nil
	})
	r.until(t, "idle after the tool", time.Minute, func(l look) bool {
		return l.full.State == fleet.StateIdle && l.bare.State == fleet.StateIdle && l.dialog == nil
	})
	for _, name := range []fleet.HookName{fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookStop} {
		r.until(t, "its hook tells of "+string(name), 30*time.Second, func(look) bool { return r.told(from, is(name)) })
	}
}

func (r reading) answer(t *testing.T, l look, nth int) {
	t.Helper()
	d := *l.dialog
	if d.ID != "permission" || !d.Person || d.Hash == "" {
		t.Errorf("dialog %d is read as %+v", nth, d)
	}
	if !strings.Contains(d.Args+d.Question+d.Tool, toolCommand) {
		t.Errorf("the dialog does not show the command %q: %+v", toolCommand, d)
	}
	for _, name := range []string{"yes", "no"} {
		if _, err := agent.Pick(d, name); err != nil {
			t.Errorf("the dialog cannot be answered by %s: %v", name, err)
		}
	}
	yes, err := agent.Pick(d, "yes")
	if err != nil {
		t.FailNow()
	}
	var pressed time.Time
	r.until(t, "the dialog goes away", 20*time.Second, func(l look) bool {
		gone := l.dialog == nil || l.dialog.Hash != d.Hash
		if !gone && time.Since(pressed) > 3*time.Second { // what is pressed as it is drawn, claude 2.1.332 does not take
			r.keys(t, yes.Keys...)
			pressed = time.Now()
		}
		return gone
	})
}

// slow: work is work with hooks and without, and the interrupt ends it.
func (r reading) slow(t *testing.T) {
	r.prompt(t, "slow please")
	r.until(t, "working", 30*time.Second, func(l look) bool {
		return l.full.State == fleet.StateWorking && l.bare.State == fleet.StateWorking && strings.Contains(l.screen, "word12")
	})
	r.keys(t, r.kind.Interrupt...)
	r.until(t, "idle after the interrupt", 30*time.Second, func(l look) bool {
		return l.full.State == fleet.StateIdle && l.bare.State == fleet.StateIdle
	})
	r.keys(t, "C-u") // some put the prompt back
}

// limit: a 429 is a rate limit, where the kind tells at all.
func (r reading) limit(t *testing.T) {
	from := r.prompt(t, "hit the limit")
	if r.cli.limitIs == "" {
		l := r.until(t, "the request is refused", 30*time.Second, func(look) bool { return r.refused() })
		if l.full.State == fleet.StateRateLimited {
			t.Errorf("%s is said never to tell a rate limit, and does: take it out of never\n%s", r.kind.Name, r.describe(l))
		}
		return
	}
	r.until(t, "rate limited", time.Minute, state(fleet.StateRateLimited))
	if r.cli.limitIs == "hook" {
		r.until(t, "its hook tells of the limit", time.Minute, func(look) bool {
			return r.told(from, func(e fleet.HookEvent) bool { return e.Event == fleet.HookFailure && e.Text == "rate_limit" })
		})
	}
}

func (r reading) refused() bool {
	return slices.ContainsFunc(r.home.model.Asked(), func(a Asked) bool { return a.Status == 429 })
}

// exit: the command that ends it ends it.
func (r reading) exit(t *testing.T) {
	if r.cli.retries {
		r.keys(t, r.kind.Interrupt...)
		<-time.After(time.Second) // gemini takes an Escape and a paste behind it for one key
	}
	r.keys(t, "C-u") // qwen puts back the prompt that was refused
	r.until(t, "its prompt is empty", 30*time.Second, func(l look) bool { ok, known := l.composer.Get(); return known && ok })
	r.paste(t, r.kind.ExitCommand)
	r.until(t, "the command at its prompt", 20*time.Second, func(l look) bool { return strings.Contains(l.screen, r.kind.ExitCommand) })
	r.keys(t, "Enter")
	r.until(t, "its end", 30*time.Second, func(l look) bool { return l.dead })
}

func state(want fleet.AgentState) func(look) bool {
	return func(l look) bool { return l.full.State == want }
}
