package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

func newFeed() *world {
	w := newWorld()
	agent := func(name string) fleet.Subject { return fleet.Subject{Kind: fleet.KindAgent, Name: name} }
	hand := fleet.ProcessID{PID: 77, Start: 5, Boot: "b"}
	w.pass.Snapshot.Agents.Value = []fleet.Agent{{Name: "hand", Kind: "codex", Process: hand}, {Name: "builder", Process: fleet.ProcessID{PID: 5, Start: 1, Boot: "b"}}}
	w.registrations = []fleet.Registration{{Name: "boss", Run: "r1"}, {Name: "builder", Parent: "boss", Task: "T-1"},
		{Name: "helper", Parent: "builder"}, {Name: "other", Run: "r1", Task: "T-1"}}
	sec := func(n int) fleet.Instant { return instant(time.Duration(n) * time.Second) }
	w.events = []fleet.Event{
		{ID: 1, At: sec(1), Kind: "agent.started", Subject: agent("builder"), Text: "instance i1"},
		{ID: 2, At: sec(5), Kind: "alert.firing", Alert: fleet.AlertKey{Rule: "agent-crashed", Subject: agent("helper")}, Text: "P2 it crashed"},
		{ID: 3, At: sec(6), Kind: "action.ended", Subject: agent("helper"), Text: "recover: failed: no room"},
		{ID: 4, At: sec(7), Kind: "action.ended", Subject: agent("helper"), Text: "recover: done: it has failed: before"},
		{ID: 5, At: sec(8), Kind: "agent.ended", Subject: agent("other"), Text: "ended with status 0"},
		{ID: 6, At: sec(9), Kind: "agent.ended", Subject: agent("other"), Text: "ended with status 01"},
		{ID: 7, At: sec(10), Kind: "agent.ended", Subject: agent("other"), Text: "ended by signal 15, asked by me"},
		{ID: 8, At: sec(11), Kind: "patrol", Text: "number 1"},
	}
	w.hooks = []fleet.HookEvent{
		{ID: "a", At: sec(2), Agent: "builder", Instance: "i1", Kind: "claude", Event: fleet.HookToolBegin, Tool: "Bash", CallID: "c1", Args: "make test"},
		{ID: "b", At: sec(3), Agent: "helper", Instance: "i2", Kind: "claude", Event: fleet.HookToolBegin, Tool: "Read", CallID: "c1"},
		{ID: "c", At: sec(4), Agent: "builder", Instance: "i1", Kind: "claude", Event: fleet.HookToolEnd, Tool: "Bash", CallID: "c1", Text: "failed"},
		{ID: "d", At: sec(12), Process: hand, Kind: "codex", Event: fleet.HookPrompt, Text: "password=hunter2 \x1b[31mx"},
		{ID: "e", At: sec(13), Agent: "builder", Instance: "i1", Kind: "claude", Event: fleet.HookToolEnd, Tool: "Bash", CallID: "never begun"},
		{ID: "f", At: sec(14), Agent: "other", Kind: "claude", Event: fleet.HookFailure, Text: "rate_limit", Until: sec(60), Context: fleet.Known(81.4)},
	}
	return w
}

func fed(f api.Feed) string {
	var out []string
	for _, e := range f.Entries {
		out = append(out, e.ID)
	}
	return strings.Join(out, " ")
}

func TestFeeds(t *testing.T) {
	c := client(newFeed())
	for _, q := range []struct {
		q    api.FeedQuery
		want string
	}{
		{api.FeedQuery{}, "e1 ha hb hc e2 e3 e4 e5 e6 e7 e8 hd he hf"},
		{api.FeedQuery{Limit: 2}, "he hf"},
		{api.FeedQuery{Since: instant(12 * time.Second).Wall}, "hd he hf"},
		{api.FeedQuery{View: api.FeedErrors}, "hc e2 e3 e6 hf"},
		{api.FeedQuery{Until: instant(3 * time.Second).Wall}, "e1 ha"},
		{api.FeedQuery{Until: instant(9 * time.Second).Wall, Limit: 2}, "e4 e5"},
		{api.FeedQuery{Kind: "action"}, "e3 e4"},
		{api.FeedQuery{Kind: "tool"}, "ha hb hc he"},
		{api.FeedQuery{Kind: "tool-end"}, "hc he"},
		{api.FeedQuery{Kind: "act"}, ""},
		{api.FeedQuery{Kind: "agent", View: api.FeedTrace, Of: "other"}, "e5 e6 e7"},
		{api.FeedQuery{View: api.FeedTrace, Of: "builder"}, "e1 ha hc he"},
		{api.FeedQuery{View: api.FeedTrace, Of: "hand"}, "hd"},
		{api.FeedQuery{View: api.FeedTrace, Of: "T-1"}, "e1 ha hc e5 e6 e7 he hf"},
		{api.FeedQuery{View: api.FeedReplay, Of: "builder"}, "e1 ha hb hc e2 e3 e4 he"},
		{api.FeedQuery{View: api.FeedReplay, Of: "r1"}, "e5 e6 e7 hf"},
		{api.FeedQuery{View: api.FeedReplay, Of: "boss"}, "e1 ha hb hc e2 e3 e4 he"},
	} {
		f, err := c.Feed(t.Context(), q.q)
		if err != nil || fed(f) != q.want {
			t.Errorf("%+v tells %q, %v; want %q", q.q, fed(f), err, q.want)
		}
	}
}

// The words of entries: a tool call's duration is told by its own agent's call,
// secrets and escapes are gone.
func TestFeedEntries(t *testing.T) {
	f, err := client(newFeed()).Feed(t.Context(), api.FeedQuery{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range f.Entries {
		got[e.ID] = fmt.Sprintf("%s|%s|%s|%s|%s", e.Agent, e.Kind, e.About, e.Text, e.Took)
	}
	for id, want := range map[string]string{
		"ha": "builder|tool-begin||Bash make test|",
		"hc": "builder|tool-end||Bash failed|2s",
		"hd": "codex (pid 77)|prompt||password=*** x|",
		"he": "builder|tool-end||Bash|",
		"hf": "other|failure||rate_limit context 81 % until 2026-11-20 09:01 UTC|",
		"e2": "helper|alert.firing|agent-crashed|P2 it crashed|",
		"e8": "|patrol||number 1|",
	} {
		if got[id] != want {
			t.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
}

func TestBadFeeds(t *testing.T) {
	c := client(newFeed())
	for want, q := range map[string]api.FeedQuery{
		`cannot show "dance"`:    {View: "dance"},
		"a replay name an agent": {View: api.FeedTrace},
		"the others none":        {View: api.FeedErrors, Of: "builder"},
		"want 1 to 5000":         {Limit: 9999},
	} {
		_, err := c.Feed(t.Context(), q)
		wantError(t, err, api.BadInput, want)
	}
	_, err := c.Feed(t.Context(), api.FeedQuery{View: api.FeedTrace, Of: "nobody"})
	wantError(t, err, api.NotFound, "cannot trace")
}
