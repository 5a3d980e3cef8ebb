//go:build conformance

package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
)

// handLimit is how long a hand-off may take, from a full context to the fresh agent's first turn.
const handLimit = 4 * time.Minute

// TestHandoff fills the context of a real agent to 60 % where [handoff] says 50: it is asked for
// its hand-off once, writes it by the command that it was told, and a fresh conversation begins
// in the same folder with its words, and with nothing else of what was said before.
func TestHandoff(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, _ agent.Kind) {
		if c.kind != "claude" {
			t.Skipf("it was not tried with %s", c.kind)
		}
		f := startFleet(t, c, "[handoff]\nfor = [\"*\"]\npercent = 50\n")
		defer func() {
			if t.Failed() {
				t.Log(f.tellAll(t))
			}
		}()
		f.home.write(t, ".claude/settings.json", `{"permissions": {"defaultMode": "default", "allow": ["Bash"]}}`)
		f.order(t, "spawn", f.who, "--kind", c.kind, "--dir", f.home.project, "--restart", "on-failure", "--wait", "2m", "--env", strings.Join(f.names, ","), "--", c.program())
		f.is(t, "idle")
		f.say(t, "please say hello")
		before := f.show(t)
		if n := f.handedOver(0); n > 0 {
			t.Errorf("it was asked for a hand-off %d times, and its context was nearly empty", n)
		}
		f.say(t, "please "+fillWords)
		from := len(f.home.model.Asked())
		f.until(t, "a fresh one has taken over", handLimit, func() bool {
			d := f.show(t)
			return d.Record != nil && d.Record.Instance != before.Record.Instance && d.Agent.State == "idle" && f.fresh(from) != nil
		})
		after, first := f.show(t), f.fresh(from)
		if after.Agent.CWD != before.Agent.CWD || after.Agent.PID == before.Agent.PID || after.Record.Session == before.Record.Session {
			t.Errorf("it was %+v (%s), and is %+v (%s)", before.Agent, before.Record.Session, after.Agent, after.Record.Session)
		}
		if text := said(*first); strings.Contains(text, fillWords) || strings.Contains(text, "say hello") {
			t.Errorf("the fresh conversation holds what was said before: %.2000q", text)
		}
		if n := f.handedOver(from); n != 1 {
			t.Errorf("a hand-off was asked for %d times", n)
		}
		if after.Context != nil && *after.Context > 50 {
			t.Errorf("%v %% of the fresh context are used", *after.Context)
		}
	})
}

// handedOver counts how often the model was asked for a hand-off: by a prompt, not by its result.
func (f *custos) handedOver(from int) (n int) {
	for _, a := range f.home.model.Asked()[from:] {
		if len(a.Tools) > 0 && strings.Contains(a.Prompt(), handWords) && !a.Turns[len(a.Turns)-1].Result {
			n++
		}
	}
	return n
}

// fresh is the first request of a conversation that begins with what was handed over.
func (f *custos) fresh(from int) *Asked {
	all := f.home.model.Asked()[from:]
	i := slices.IndexFunc(all, func(a Asked) bool {
		return len(a.Tools) > 0 && strings.Contains(said(a), handedOver) && !strings.Contains(said(a), handWords)
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// said is all that a person, or Custos, has said in a conversation.
func said(a Asked) string {
	var all []string
	for _, turn := range a.Turns {
		if turn.Role == "user" {
			all = append(all, turn.Text)
		}
	}
	return strings.Join(all, "\n")
}
