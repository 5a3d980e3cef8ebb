package agents

import (
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// Of two that speak of the same failure the one that names it is believed: a hook that knows
// only that a request was wrong does not outweigh a transcript that says why.
func TestTheMoreExactOfTwoTellsTheFailure(t *testing.T) {
	at := fleet.Instant{Wall: time.Unix(2e9, 0), Up: fleet.Duration(time.Hour), Boot: "b"}
	for _, c := range []struct{ told, written, want string }{
		{"invalid_request", "context", "context"},
		{"unknown", "rate_limit", "rate_limit"},
		{"error", "unknown", "error"},
		{"context", "unknown", "context"},
		{"rate_limit", "context", "rate_limit"},
		{"invalid_request", "", "invalid_request"},
		{"", "context", "context"},
	} {
		told := agent.Reported{Failure: c.told, Prompt: at, Last: at.Add(time.Second)}
		written := agent.Reported{Failure: c.written, Prompt: at, Last: at.Add(time.Second)}
		if got := failureOf(told, written); got != c.want {
			t.Errorf("hooks say %q, the transcript %q: it is told as %q, want %q", c.told, c.written, got, c.want)
		}
		written.Last = at.Add(-time.Second)
		if got := failureOf(told, written); got != c.told {
			t.Errorf("the transcript said %q before the prompt that hooks tell of: %q, want %q", c.written, got, c.told)
		}
	}
}
