//go:build conformance

package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
)

// toldToGoOn is what the rules of errors tell an agent, and triesLimit how long a try may be
// waited for: its rules wait a minute at most before the first, and twice as long before each
// that follows.
const (
	toldToGoOn = "Go on with what you were doing"
	triesLimit = 4 * time.Minute
)

// TestErrors has turns of a real agent refused by its model, for each cause until the test lets
// it go by, under a Custos that acts by itself: it is said what holds the agent up, it is told to
// go on after a wait and not before, and it goes on.
func TestErrors(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, _ agent.Kind) {
		if c.kind != "claude" && c.kind != "codex" {
			t.Skipf("it is not known how %s tells of its errors", c.kind)
		}
		f := startFleet(t, c)
		f.spawn(t)
		e := &errs{custos: f}
		for _, step := range []struct {
			name string
			do   func(*testing.T)
		}{
			{"too long", e.tooLong}, {"server error", e.serverError}, {"limit", e.limitUntold}, {"reset", e.limitTold}, {"login", e.login},
		} {
			t.Run(step.name, func(t *testing.T) {
				e.home.model.Spoil()
				began := time.Now()
				defer func() {
					t.Logf("took %s", time.Since(began).Round(time.Second))
					if t.Failed() {
						t.Log(f.tellAll(t))
					}
				}()
				step.do(t)
			})
		}
	})
}

// errs is a Custos whose agent is refused.
type errs struct{ *custos }

// breaks has each turn end like this, begins one, and waits until Custos says what holds it up.
func (e errs) breaks(t *testing.T, how move, state, reason string) {
	t.Helper()
	e.home.model.Break(how)
	e.say(t, "please build it, part "+state)
	e.until(t, "it is "+state+": "+reason, startLimit, func() bool {
		a := e.show(t).Agent
		return a.State == state && strings.Contains(a.Reason, reason)
	})
}

// tries counts what the model was asked since: prompts that tell it to go on, and those that
// were answered.
func (e errs) tries(from int) (asked, answered int) {
	all := e.home.model.Asked()
	for _, a := range all[from:] {
		if len(a.Tools) == 0 || !strings.Contains(a.Prompt(), toldToGoOn) {
			continue
		}
		asked++
		if a.Status == 200 {
			answered++
		}
	}
	return asked, answered
}

// goesOn waits until it was told to go on, and goes on.
func (e errs) goesOn(t *testing.T, from int) {
	t.Helper()
	e.until(t, "it is told to go on, and is answered", triesLimit, func() bool { _, ok := e.tries(from); return ok > 0 })
	e.is(t, "idle")
	if a := e.show(t).Agent; strings.Contains(a.Reason, "ended its last turn") {
		t.Errorf("something holds it up still: %s", a.Reason)
	}
}

// says waits until people are told of it: by ps what holds it up, by why what is done about it.
func (e errs) says(t *testing.T, ps, why string) {
	t.Helper()
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"ps"}, ps}, {[]string{"why", e.who}, why}} {
		var said string
		e.until(t, fmt.Sprintf("custos %s says %q", c.args[0], c.want), startLimit, func() bool {
			out, err := e.command(c.args...).CombinedOutput()
			said = strings.Join(strings.Fields(string(out)), " ")
			return err == nil && strings.Contains(said, c.want)
		})
		i := strings.Index(said, c.want)
		t.Logf("custos %s: … %s …", c.args[0], said[max(0, i-120):min(len(said), i+200)])
	}
}

// serverError: it is tried again while it fails, and once more when it does not.
func (e errs) serverError(t *testing.T) {
	from := len(e.home.model.Asked())
	e.breaks(t, moveError, "idle", "server_error")
	e.says(t, "server_error", "agent-turn-failed")
	e.until(t, "it is tried while the server fails", triesLimit, func() bool { asked, _ := e.tries(from); return asked > 0 })
	e.says(t, "server_error", "try 2 of 6 waits")
	e.home.model.Heal()
	e.goesOn(t, from)
}

// tooLong: it is told to make its conversation shorter, does, and goes on.
func (e errs) tooLong(t *testing.T) {
	e.nudge(t)
	from := len(e.home.model.Asked())
	e.breaks(t, moveFull, "context_high", "")
	e.says(t, "context_high", "agent-context-high")
	asked := len(e.home.model.Asked()) // a CLI may have tried by itself, which was refused
	e.home.model.HealBySummary()
	e.until(t, "it is told to make its conversation shorter, and asks the model to", triesLimit, func() bool {
		return slices.ContainsFunc(e.home.model.Asked()[asked:], Asked.summarises)
	})
	e.says(t, "context", "agent-turn-failed")
	e.goesOn(t, from)
}

func (e errs) limitUntold(t *testing.T) {
	from := len(e.home.model.Asked())
	e.breaks(t, moveLimit, "rate_limited", "ended its turn") // before that the CLI tries again by itself
	e.says(t, "rate_limited", "agent-rate-limited")
	e.home.model.Heal()
	e.goesOn(t, from)
}

// limitTold: until the limit is reset it is not told to go on, and soon after it is.
func (e errs) limitTold(t *testing.T) {
	if e.cli.kind == "claude" {
		t.Skip("it tells those who use a key no reset: neither its hook nor its transcript has one")
	}
	from := len(e.home.model.Asked())
	e.breaks(t, moveSoon, "rate_limited", "")
	reset := e.home.model.Asked()[from].At.Add(resetsSoon)
	until := e.show(t).Limited
	if until == nil || until.Sub(reset).Abs() > time.Minute {
		t.Fatalf("the limit is reset at %s, and is said to be until %v", reset, until)
	}
	e.says(t, "rate_limited", "is rate limited until")
	e.home.model.Heal()
	e.goesOn(t, from)
	for _, a := range e.home.model.Asked()[from:] {
		if strings.Contains(a.Prompt(), toldToGoOn) && a.At.Before(*until) {
			t.Errorf("it was told to go on at %s, and its limit is until %s", a.At, until)
		}
	}
}

// login: it is held until the model answers another agent of the same login.
func (e errs) login(t *testing.T) {
	from := len(e.home.model.Asked())
	e.breaks(t, moveLogin, "auth_lost", "")
	e.says(t, "auth_lost", "agent-auth-lost")
	if asked, _ := e.tries(from); asked > 0 {
		t.Errorf("it was told to go on without a login, %d times", asked)
	}
	e.home.model.Heal()
	beta := *e.custos
	beta.who = "beta"
	beta.spawn(t)
	beta.say(t, "run the long tool")
	for range e.cli.permission {
		beta.is(t, "waiting")
		beta.order(t, "answer", beta.who, "yes", "--wait", "30s")
	}
	e.goesOn(t, from)
	beta.order(t, "stop", "beta", "--wait", "2m")
}
