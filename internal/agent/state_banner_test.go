package agent

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// What an error leaves above the prompt, a model may say, too: of a turn that ended well by the
// CLI's own word, where that tells of errors, it says nothing.
func TestWhatLooksLikeAnErrorOfATurnThatEndedWell(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 27, 22, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	fold := func(names ...fleet.HookName) Reported {
		var all []fleet.HookEvent
		for i, n := range names {
			e := fleet.HookEvent{Event: n, At: now.Add(time.Duration(i-20) * time.Second)}
			if n == fleet.HookFailure {
				e.Text = "rate_limit"
			}
			all = append(all, e)
		}
		return Gather(all, "", now, Deadlines{})
	}
	well, failed := fold(fleet.HookPrompt, fleet.HookStop), fold(fleet.HookPrompt, fleet.HookFailure)
	again := fold(fleet.HookPrompt, fleet.HookFailure, fleet.HookPrompt, fleet.HookStop)
	for name, c := range map[string]struct {
		pane          string
		told, written Reported
		state         fleet.AgentState
	}{
		"a limit, and nothing else tells":             {pane: "claude-32-err-429plain-final", state: fleet.StateRateLimited},
		"its hooks say that it ended well":            {pane: "claude-32-err-429plain-final", told: well, state: fleet.StateIdle},
		"its transcript says so":                      {pane: "claude-32-err-429plain-final", written: well, state: fleet.StateIdle},
		"both say so, after an error":                 {pane: "claude-32-err-429plain-final", told: again, written: again, state: fleet.StateIdle},
		"its hooks say so, and its transcript failed": {pane: "claude-32-err-429plain-final", told: well, written: failed, state: fleet.StateRateLimited},
		"its transcript says so, and its hooks not":   {pane: "claude-32-err-429plain-final", told: failed, written: well, state: fleet.StateRateLimited},
		"a login":                                 {pane: "claude-32-err-401-final", told: well, state: fleet.StateIdle},
		"a conversation that is too long":         {pane: "claude-32-err-toolong-final", written: well, state: fleet.StateIdle},
		"a menu at a limit is no words":           {pane: "claudeo-33-usage-limit", told: well, state: fleet.StateRateLimited},
		"codex, by its transcript":                {pane: "codex-30-err-429plain", written: well, state: fleet.StateIdle},
		"codex, whose hooks tell of no error":     {pane: "codex-30-err-429plain", told: well, state: fleet.StateRateLimited},
		"it began, and nothing is told of a turn": {pane: "claude-32-err-401-final", told: fold(fleet.HookSessionStart), state: fleet.StateAuthLost},
	} {
		k, screen, title := paneOf(t, "testdata/panes/"+c.pane+".meta")
		v := State(Signals{Kind: k, Title: fleet.Known(title), Screen: fleet.Known(screen), Told: c.told, Written: c.written, Now: now})
		if v.State != c.state {
			t.Errorf("%s: %s by %s (%s), want %s", name, v.State, v.Source, v.Reason, c.state)
		}
	}
}
