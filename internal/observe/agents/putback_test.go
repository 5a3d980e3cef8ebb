package agents

import (
	"context"
	"testing"
	"time"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// TestAPromptThatItsCLIPutBackIsNotHalfWritten: by its hooks, or by its transcript.
func TestAPromptThatItsCLIPutBackIsNotHalfWritten(t *testing.T) {
	for name, c := range map[string]struct {
		hook, written string
		empty         bool
	}{
		"its hooks told of it":       {"think first", "", true},
		"its transcript tells of it": {"", "think first", true},
		"both":                       {"think first", "think first", true},
		"another was told of since":  {"and then", "think first", false},
		"neither":                    {"", "", false},
	} {
		w := newWorld()
		w.proc(10, 1, "claude")
		pane := w.pane("one", 10)
		pane.Title = "✳ x"
		w.screens[pane.ID] = "────────────\n❯ think first\n────────────\n  ? for shortcuts"
		told := func(text string) []fleet.HookEvent {
			if text == "" {
				return nil
			}
			return []fleet.HookEvent{{Event: fleet.HookPrompt, Process: id(10), At: w.now.Add(-time.Minute), Text: conversation.PromptLine(text)},
				{Event: fleet.HookStop, Process: id(10), At: w.now.Add(-time.Second)}}
		}
		p := w.probe(t, func(o *Options) {
			o.Hooks = func(context.Context) ([]fleet.HookEvent, error) { return told(c.hook), nil }
			o.Conversations = func(context.Context, []Conversing) (map[fleet.ProcessID]fleet.Conversation, error) {
				return map[fleet.ProcessID]fleet.Conversation{id(10): {Events: told(c.written)}}, nil
			}
		})
		if empty, known := see(t, p)["one"].ComposerEmpty.Get(); !known || empty != c.empty {
			t.Errorf("%s: nothing is half-written: %v (known %v), want %v", name, empty, known, c.empty)
		}
	}
}
