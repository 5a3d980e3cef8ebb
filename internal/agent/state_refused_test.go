package agent

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// Who ends because its model was refused to it has not crashed, whatever its status: it is
// held up, until the limit is reset or the login works.
func TestEndedBecauseItWasRefused(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	failed := func(name string, until time.Duration) Reported {
		e := fleet.HookEvent{Kind: "claude", Event: fleet.HookFailure, Text: name, At: at, Context: fleet.Unknown[float64]("")}
		if until != 0 {
			e.Until = at.Add(until)
		}
		return Gather([]fleet.HookEvent{{Kind: "claude", Event: fleet.HookPrompt, At: at, Context: fleet.Unknown[float64]("")}, e}, "", at.Add(time.Minute), Deadlines{})
	}
	none := fleet.Unknown[int]("none")
	for name, c := range map[string]struct {
		told           Reported
		status, signal fleet.Leaf[int]
		want           fleet.AgentState
	}{
		"a limit":                     {failed("rate_limit", time.Hour), fleet.Known(1), none, fleet.StateRateLimited},
		"a limit, status 0":           {failed("rate_limit", 0), fleet.Known(0), none, fleet.StateRateLimited},
		"a limit that was reset":      {failed("rate_limit", time.Second), fleet.Known(1), none, fleet.StateCrashed},
		"its login":                   {failed("authentication_failed", 0), fleet.Known(1), none, fleet.StateAuthLost},
		"its credit":                  {failed("billing", 0), fleet.Known(1), none, fleet.StateAuthLost},
		"an error of the server":      {failed("server_error", 0), fleet.Known(1), none, fleet.StateCrashed},
		"nothing":                     {Reported{}, fleet.Known(1), none, fleet.StateCrashed},
		"killed while it was limited": {failed("rate_limit", 0), none, fleet.Known(9), fleet.StateCrashed},
		"killed, as shells say it":    {failed("rate_limit", 0), fleet.Known(137), none, fleet.StateCrashed},
	} {
		exit := &fleet.Exit{Status: c.status, Signal: c.signal, At: at, Source: "shim"}
		v := State(Signals{End: &End{Exit: exit, Wanted: fleet.DesiredRunning, Told: c.told}})
		if v.State != c.want || (v.State != fleet.StateCrashed) != strings.Contains(v.Reason, "its hooks say") {
			t.Errorf("%s: %s (%s), want %s", name, v.State, v.Reason, c.want)
		}
		exit.Asked = "eve"
		if v := State(Signals{End: &End{Exit: exit, Wanted: fleet.DesiredRunning, Told: c.told}}); v.State != fleet.StateStopped {
			t.Errorf("%s, and a person stopped it: %s", name, v.State)
		}
	}
}

// What ended the last turn is told by one name, until the next turn begins.
func TestWhatEndedItsTurn(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	event := func(i int, what fleet.HookName, text string) fleet.HookEvent {
		return fleet.HookEvent{Kind: "claude", Event: what, Text: text, At: at.Add(time.Duration(i) * time.Second), Context: fleet.Unknown[float64]("")}
	}
	for text, want := range map[string]string{"server_error": "server_error", "overloaded": "server_error", "rate_limit": "rate_limit",
		"authentication_failed": "authentication", "context": "context", "max_output_tokens": "max_output_tokens", "": "error"} {
		list := []fleet.HookEvent{event(0, fleet.HookPrompt, "x"), event(1, fleet.HookFailure, text)}
		if got := Gather(list, "", at.Add(time.Hour), Deadlines{}).Failure; got != want {
			t.Errorf("%q ended its turn, and it is said: %q", text, got)
		}
		if got := Gather(append(list, event(2, fleet.HookPrompt, "y")), "", at.Add(time.Hour), Deadlines{}).Failure; got != "" {
			t.Errorf("its next turn has begun, and %q is said to have ended its last", got)
		}
		free := Gather(append(list, event(2, fleet.HookRest, "idle_prompt")), "", at.Add(time.Hour), Deadlines{})
		if before := Gather(list, "", at.Add(time.Hour), Deadlines{}); free.Failure != want || free.State != before.State || free.Since != before.Since {
			t.Errorf("%q ended its turn, and once its prompt is free it is said to be %s since %v, ended by %q", text, free.State, free.Since, free.Failure)
		}
		wentOn := append(list, event(2, fleet.HookToolBegin, ""), event(3, fleet.HookRest, "idle_prompt"))
		if got := Gather(wentOn, "", at.Add(time.Hour), Deadlines{}); got.Failure != "" || got.State != fleet.StateIdle {
			t.Errorf("it went on after %q and was broken off, and it is said to be %s, ended by %q", text, got.State, got.Failure)
		}
	}
}

// Whose conversation was too long, and has been made shorter, can be told to go on: what ended
// its turn is known still, and over. A compaction in mid-turn ends nothing.
func TestAConversationThatWasMadeShorter(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	event := func(what fleet.HookName, text string) fleet.HookEvent {
		return fleet.HookEvent{Kind: "claude", Event: what, Text: text, Context: fleet.Unknown[float64]("")}
	}
	prompt, tooLong, begins, over := event(fleet.HookPrompt, "x"), event(fleet.HookFailure, "context"), event(fleet.HookCompact, "manual"), event(fleet.HookSessionStart, "compact")
	written := event(fleet.HookCompact, "")
	written.Source = fleet.UsageTranscript
	for name, c := range map[string]struct {
		told    []fleet.HookEvent
		state   fleet.AgentState
		failure string
	}{
		"too long":                     {[]fleet.HookEvent{prompt, tooLong}, fleet.StateContextHigh, "context"},
		"it is being made shorter":     {[]fleet.HookEvent{prompt, tooLong, begins}, fleet.StateContextHigh, "context"},
		"it was made shorter":          {[]fleet.HookEvent{prompt, tooLong, begins, over}, fleet.StateIdle, "context"},
		"its transcript tells of it":   {[]fleet.HookEvent{prompt, tooLong, written}, fleet.StateIdle, "context"},
		"that was a turn of its own":   {[]fleet.HookEvent{prompt, tooLong, written, event(fleet.HookStop, "")}, fleet.StateIdle, "context"},
		"and its prompt is free":       {[]fleet.HookEvent{prompt, tooLong, begins, over, event(fleet.HookStop, ""), event(fleet.HookRest, "")}, fleet.StateIdle, "context"},
		"and it went on":               {[]fleet.HookEvent{prompt, tooLong, written, event(fleet.HookStop, ""), prompt, event(fleet.HookStop, "")}, fleet.StateIdle, ""},
		"it goes on":                   {[]fleet.HookEvent{prompt, tooLong, begins, over, prompt}, fleet.StateWorking, ""},
		"in mid-turn":                  {[]fleet.HookEvent{prompt, begins, over}, fleet.StateWorking, ""},
		"in mid-turn, by a transcript": {[]fleet.HookEvent{prompt, written}, fleet.StateWorking, ""},
		"a session that begins anew":   {[]fleet.HookEvent{prompt, tooLong, event(fleet.HookSessionStart, "clear")}, fleet.StateIdle, ""},
	} {
		for i := range c.told {
			c.told[i].At = at.Add(time.Duration(i) * time.Second)
		}
		if got := Gather(c.told, "", at.Add(time.Hour), Deadlines{}); got.State != c.state || got.Failure != c.failure {
			t.Errorf("%s: %q, ended by %q; want %q, %q", name, got.State, got.Failure, c.state, c.failure)
		}
	}
}
