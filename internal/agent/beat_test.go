package agent

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestBeat(t *testing.T) {
	now := fleet.Instant{Wall: time.Unix(1e9, 0).UTC(), Up: fleet.Duration(100 * time.Hour), Boot: "b"}
	ago := func(d time.Duration) fleet.Instant { return now.Add(-d) }
	known := func(d time.Duration) fleet.Leaf[fleet.Duration] { return fleet.Known(fleet.Duration(d)) }
	unwatched := fleet.Unknown[fleet.Duration]("not watched for long enough")
	tool := func(age time.Duration) *fleet.ToolCall {
		return &fleet.ToolCall{Name: "Bash", Age: fleet.Duration(age), Deadline: fleet.Duration(30 * time.Minute)}
	}
	const allowed = fleet.Duration(15 * time.Minute)
	for name, c := range map[string]struct {
		told  Reported
		beat  fleet.Instant
		quiet fleet.Leaf[fleet.Duration]
		want  fleet.Leaf[fleet.Duration]
	}{
		"a hook told":                             {Reported{Last: ago(3 * time.Minute)}, fleet.Instant{}, known(0), known(3 * time.Minute)},
		"hooks are silent, and a spinner turns":   {Reported{Last: ago(time.Hour)}, fleet.Instant{}, known(0), known(time.Hour)},
		"it says so":                              {Reported{Last: ago(time.Hour)}, ago(time.Minute), known(time.Hour), known(time.Minute)},
		"it said so before the last hook":         {Reported{Last: ago(time.Minute)}, ago(time.Hour), known(time.Hour), known(time.Minute)},
		"a tool runs":                             {Reported{Last: ago(20 * time.Minute), Tool: tool(20 * time.Minute)}, fleet.Instant{}, known(time.Hour), known(0)},
		"a tool has had its time":                 {Reported{Last: ago(40 * time.Minute), Tool: tool(40 * time.Minute)}, fleet.Instant{}, known(0), known(40 * time.Minute)},
		"no hooks, it moves":                      {Reported{}, fleet.Instant{}, known(time.Minute), known(time.Minute)},
		"no hooks, not watched":                   {Reported{}, fleet.Instant{}, unwatched, unwatched},
		"no hooks, it said so":                    {Reported{}, ago(15 * time.Minute), unwatched, known(15 * time.Minute)},
		"no hooks, it said so long ago":           {Reported{}, ago(16 * time.Minute), unwatched, unwatched},
		"no hooks, it said so long ago, it moves": {Reported{}, ago(time.Hour), known(2 * time.Minute), known(2 * time.Minute)},
		"a clock that was set back":               {Reported{Last: now.Add(time.Hour)}, fleet.Instant{}, unwatched, known(0)},
	} {
		if got := Beat(c.told, c.beat, c.quiet, allowed, now); got != c.want {
			t.Errorf("%s: %v (%s), want %v", name, got.Or(-1), got.Why(), c.want.Or(-1))
		}
	}
}

// TestWithoutBeats: what an agent says of itself is no hook event, in whatever
// order they come.
func TestWithoutBeats(t *testing.T) {
	at := func(s int) fleet.Instant { return fleet.Instant{Wall: time.Unix(int64(s), 0).UTC()} }
	events := []fleet.HookEvent{{ID: "1", Event: fleet.HookPrompt, At: at(1)}, {ID: "2", Event: fleet.HookBeat, At: at(9)}, {ID: "3", Event: fleet.HookBeat, At: at(5)}, {ID: "4", Event: fleet.HookStop, At: at(6)}}
	others, last := WithoutBeats(events)
	if len(others) != 2 || others[0].ID != "1" || others[1].ID != "4" || last != at(9) {
		t.Errorf("%v, last %v", others, last)
	}
	if others, last := WithoutBeats(events[:1]); len(others) != 1 || !last.IsZero() {
		t.Errorf("without a beat: %v, %v", others, last)
	}
}
