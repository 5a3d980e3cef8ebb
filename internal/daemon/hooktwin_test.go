package daemon

import (
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/hookwire"
)

// TestAnEventThatComesByBothWaysIsOne: hooks that an agent was started with and those that are
// installed in its user's settings are both called. What only one of them tells is heard as ever.
func TestAnEventThatComesByBothWaysIsOne(t *testing.T) {
	s := watching(t, "")
	post := func(instance, event, payload string, installed bool) hookwire.Post {
		p := hookwire.Post{Kind: "claude", Event: event, Installed: installed}
		p.Stamp()
		p.Agent, p.Instance = "bob", instance
		p.SetPayload([]byte(payload))
		return p
	}
	take := func(p hookwire.Post) {
		t.Helper()
		if _, err := s.hookReceiver.Take(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	heard := func(instance string) string {
		events, err := s.hookEventsOf(t.Context(), fleet.HookEvent{Agent: "bob", Instance: instance}.Key(), fleet.Instant{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range events {
			names = append(names, string(e.Event))
		}
		return strings.Join(names, " ")
	}
	const start, tool = `{"session_id":"s","source":"startup"}`, `{"session_id":"s","tool_name":"Bash","tool_input":{"command":"x"}}`
	for _, installed := range []bool{false, true} {
		take(post("i1", "SessionStart", start, installed))
	}
	for _, installed := range []bool{true, false, false, true} { // an old CLI that gives its calls no ids calls twice
		take(post("i1", "PreToolUse", tool, installed))
	}
	if got := heard("i1"); got != "session-start tool-begin tool-begin" {
		t.Errorf("by both ways: %s", got)
	}
	for range 2 {
		take(post("i2", "PreToolUse", tool, true))
	}
	if got := heard("i2"); got != "tool-begin tool-begin" {
		t.Errorf("by the installed ones alone, as where the others are ignored: %s", got)
	}
	take(post("i3", "Stop", start, false))
	late := post("i3", "Stop", start, true)
	late.Wall += int64(2 * hookwire.TwinWithin)
	late.UpNanos += int64(2 * hookwire.TwinWithin)
	take(late)
	if got := heard("i3"); got != "stop stop" {
		t.Errorf("long after it, which is another one: %s", got)
	}
}

// TestWhatIsToldIsHeardAtOnce: hook events are not read again while nothing was told, and with the next one that is.
func TestWhatIsToldIsHeardAtOnce(t *testing.T) {
	s := watching(t, "")
	read := s.hookEvents()
	heard := func() []fleet.HookEvent {
		events, err := read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	for n := range 3 {
		if is := heard(); len(is) != n || n > 0 && &is[0] != &heard()[0] {
			t.Errorf("after %d events, heard are %v", n, is)
		}
		p := hookwire.Post{Kind: "claude", Event: "UserPromptSubmit"}
		p.Stamp()
		p.Agent, p.Instance = "bob", "i"
		p.SetPayload([]byte(`{"session_id":"s","prompt":"x"}`))
		if _, err := s.hookReceiver.Take(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}
