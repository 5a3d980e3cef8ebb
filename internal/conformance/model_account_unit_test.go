package conformance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// told reads the tokens of a stream as a CLI would: by each protocol's own words.
func told(t *testing.T, protocol, stream string) (sum fleet.Tokens) {
	t.Helper()
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		var e struct {
			Message, Response struct{ Usage map[string]json.RawMessage }
			Usage             map[string]json.RawMessage
			UsageMetadata     map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("cannot read %s: %v", data, err)
		}
		for _, usage := range []map[string]json.RawMessage{e.Message.Usage, e.Response.Usage, e.Usage, e.UsageMetadata} {
			if usage != nil {
				sum = inWords(protocol, usage, sum)
			}
		}
	}
	return sum
}

func inWords(protocol string, usage map[string]json.RawMessage, was fleet.Tokens) fleet.Tokens {
	get := func(names ...string) (n int64) {
		all := usage
		for _, name := range names[:len(names)-1] {
			var in map[string]json.RawMessage
			_ = json.Unmarshal(all[name], &in) // absent: nothing is in it
			all = in
		}
		_ = json.Unmarshal(all[names[len(names)-1]], &n)
		return n
	}
	switch protocol {
	case "messages": // the last event tells of the output only
		if usage["input_tokens"] == nil {
			was.Output = get("output_tokens")
			return was
		}
		return fleet.Tokens{Input: get("input_tokens"), CacheRead: get("cache_read_input_tokens"), Output: get("output_tokens"),
			CacheWrite5m: get("cache_creation", "ephemeral_5m_input_tokens"), CacheWrite1h: get("cache_creation", "ephemeral_1h_input_tokens")}
	case "responses":
		cached := get("input_tokens_details", "cached_tokens")
		return fleet.Tokens{Input: get("input_tokens") - cached, CacheRead: cached, Output: get("output_tokens"), Reasoning: get("output_tokens_details", "reasoning_tokens")}
	case "chat":
		cached := get("prompt_tokens_details", "cached_tokens")
		return fleet.Tokens{Input: get("prompt_tokens") - cached, CacheRead: cached, Output: get("completion_tokens"), Reasoning: get("completion_tokens_details", "reasoning_tokens")}
	}
	thoughts, cached := get("thoughtsTokenCount"), get("cachedContentTokenCount")
	return fleet.Tokens{Input: get("promptTokenCount") - cached, CacheRead: cached, Output: get("candidatesTokenCount") + thoughts, Reasoning: thoughts}
}

// TestModelTellsItsAccount: what the CLIs are told of tokens is what the account says.
func TestModelTellsItsAccount(t *testing.T) {
	for name, p := range protocols() {
		t.Run(name, func(t *testing.T) {
			m := StartModel(t, 0)
			for i, prompt := range []string{"say hello", "run the tool"} {
				_, stream := p.ask(t, m, p.tools, p.person(prompt))
				account := m.Account()
				if len(account) != i+1 {
					t.Fatalf("%d responses in the account after %d", len(account), i+1)
				}
				r := account[i]
				if got := told(t, name, stream); got != r.Tokens || got == (fleet.Tokens{}) {
					t.Errorf("told %+v, the account says %+v", got, r.Tokens)
				}
				if !strings.Contains(stream, `"`+r.ID+`"`) || r.Side {
					t.Errorf("response %+v is not in the stream by its name:\n%s", r, stream)
				}
			}
			p.ask(t, m, p.tools, p.person("hit the limit"))
			p.ask(t, m, "", p.person("a title"))
			account := m.Account()
			if len(account) != 3 || !account[2].Side {
				t.Errorf("an error is no response, and a title is one beside: %+v", account)
			}
		})
	}
}

// TestModelRefuses: each error comes with its status, in words that are JSON.
func TestModelRefuses(t *testing.T) {
	words := map[string]int{"hit the limit": 429, "limit for an hour": 429, "lose the login": 401, "fail inside": 500, "be too long": 400}
	for name, p := range protocols() {
		for prompt, want := range words {
			m := StartModel(t, 0)
			status, body := p.ask(t, m, p.tools, p.person(prompt))
			inStream := name == "responses" && want == 400 && strings.Contains(body, "context_length_exceeded")
			if !inStream && (status != want || !json.Valid([]byte(body))) {
				t.Errorf("%s: %s: %d %s", name, prompt, status, body)
			}
			m.Heal()
			if status, said := p.ask(t, m, p.tools, p.person(prompt)); status != 200 || !strings.Contains(said, p.says) {
				t.Errorf("%s: %s: healed it said %d %s", name, prompt, status, said)
			}
			m.Break(moveLogin)
			if status, _ := p.ask(t, m, p.tools, p.person("say hello")); status != 401 {
				t.Errorf("%s: broken it said %d", name, status)
			}
		}
	}
}

// TestModelKnowsWhatIsDone: a call is out until its result comes, and an error stands until
// something follows it.
func TestModelKnowsWhatIsDone(t *testing.T) {
	for name, p := range protocols() {
		m := StartModel(t, 0)
		var got []Doing
		for _, turns := range [][]string{{p.person("run the long tool")}, {p.person("run the long tool"), p.result}, {p.person("lose the login")}, {p.person("say hello")}} {
			p.ask(t, m, p.tools, turns...)
			p.ask(t, m, "", p.person("a title: run the tool"))
			d := waitFor(t, m)
			d.At = Doing{}.At
			got = append(got, d)
		}
		want := []Doing{{Called: moveLong}, {}, {Failed: moveLogin}, {}}
		if !slices.Equal(got, want) {
			t.Errorf("%s: it knew %+v, want %+v", name, got, want)
		}
	}
}

// TestModelHearsTheLast: after an error, CLIs put the next prompt behind the one that failed.
func TestModelHearsTheLast(t *testing.T) {
	for prompt, want := range map[string]move{
		"hit the limit\n\nlose the login": moveLogin, "hit the limit\n\nsay hello": moveSay, "limit for an hour": moveReset, "slow, then run the tool": moveCall,
	} {
		if got := (Asked{Turns: []Turn{{Role: "user", Text: prompt}}}).move(); got != want {
			t.Errorf("%q: move %d, want %d", prompt, got, want)
		}
	}
}

// waitFor returns what is known when nothing is being answered any more: the reader of an
// answer may be done before its writer is.
func waitFor(t *testing.T, m *Model) Doing {
	t.Helper()
	for {
		select {
		case <-t.Context().Done():
			t.Fatal("an answer never ends")
		default:
			if d := m.Doing(); d.Asking == 0 {
				return d
			}
		}
	}
}
