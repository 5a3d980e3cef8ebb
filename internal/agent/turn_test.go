package agent

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// What became of the turn that a text began, from what hooks ("prompt") and a transcript
// ("t:prompt") told since, a second apart. The text was given in the first three seconds.
func TestTurnOf(t *testing.T) {
	start := fleet.Instant{Wall: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	for name, c := range map[string]struct{ told, want string }{
		"nothing was told":                         {"", "unknown"},
		"no prompt was told":                       {"stop", "unknown"},
		"a prompt that came later is another":      {"- - - - prompt failure", "unknown"},
		"it has begun":                             {"prompt", "under_way"},
		"it uses a tool":                           {"prompt tool-begin tool-end", "under_way"},
		"it waits for an answer":                   {"prompt permission", "under_way"},
		"answered":                                 {"prompt t:prompt t:stop stop", "answered 3"},
		"after a tool":                             {"prompt tool-begin tool-end stop", "answered 4"},
		"401":                                      {"prompt t:prompt t:failure=authentication|API_Error:_401 stop", "failed 3 authentication: API_Error:_401"},
		"401, by its hooks first":                  {"prompt failure=authentication t:failure=authentication|API_Error:_401", "failed 3 authentication: API_Error:_401"},
		"401, by its hooks last":                   {"prompt t:failure=authentication|API_Error:_401 failure=authentication", "failed 3 authentication: API_Error:_401"},
		"429, and the end of the turn after it":    {"prompt failure=rate_limit stop", "failed 2 rate_limit"},
		"500, and its prompt is free":              {"prompt failure=overloaded_error rest", "failed 2 server_error"},
		"the end was told first":                   {"prompt stop t:failure=server_error|500", "failed 3 server_error: 500"},
		"a failure without a name":                 {"prompt failure=", "failed 2 error"},
		"it failed, tried again, and ended well":   {"prompt failure=rate_limit tool-begin tool-end stop", "answered 5"},
		"the next turn was answered":               {"prompt failure=authentication prompt stop", "failed 2 authentication"},
		"the next turn failed":                     {"prompt stop prompt failure=authentication", "answered 2"},
		"the next turn, by its transcript alone":   {"t:prompt t:stop t:prompt t:failure=authentication|401", "answered 2"},
		"a failure of before":                      {"failure=authentication prompt", "under_way"},
		"interrupted":                              {"prompt tool-begin t:stop=interrupted stop", "interrupted 3"},
		"its prompt is free, and nothing says why": {"prompt rest", "unknown"},
		"it ended in its turn":                     {"prompt tool-begin session-end", "unknown"},
		"it ended after its turn":                  {"prompt stop session-end", "answered 2"},
	} {
		var told []fleet.HookEvent
		for i, word := range strings.Fields(c.told) {
			e := fleet.HookEvent{At: start.Add(time.Duration(i+1) * time.Second)}
			word, written := strings.CutPrefix(word, "t:")
			if written {
				e.Source = fleet.UsageTranscript
			}
			word, rest, _ := strings.Cut(word, "=")
			e.Event = fleet.HookName(word)
			if e.Text, e.Args, _ = strings.Cut(rest, "|"); word != "-" {
				told = append(told, e)
			}
		}
		turn := TurnOf(told, start, start.Add(3*time.Second))
		got := string(turn.State)
		if !turn.At.IsZero() {
			got += " " + strings.TrimSuffix(turn.At.Since(start).String(), "s")
		}
		if got = strings.TrimSpace(got + " " + turn.Error); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
