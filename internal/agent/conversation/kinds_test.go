package conversation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// recorded returns the files that real CLIs of a kind wrote on the mock model. They are
// named KIND-VERSION-WHAT.jsonl.
func recorded(t testing.TB, kind string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/" + kind + "-*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded transcripts of %s: %v", kind, err)
	}
	return files
}

// entriesOf reads a recorded file as a whole.
func entriesOf(t testing.TB, kind, file string) (all []Entry) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		entries, err := Read(kind, line)
		if err != nil {
			t.Errorf("%s: %v: %.200s", file, err, line)
		}
		all = append(all, entries...)
	}
	return all
}

// spentOf sums the answers of a file as the ledger does: one of each key, that with the
// most tokens.
func spentOf(entries []Entry) (n int, sum fleet.Tokens) {
	most := map[string]fleet.Tokens{}
	for _, e := range entries {
		if e.What == Response && e.Tokens.All() >= most[e.Key].All() {
			most[e.Key] = e.Tokens
		}
	}
	for _, tokens := range most {
		sum = sum.Add(tokens)
	}
	return len(most), sum
}

// TestTokensOfTranscripts: the sums of recorded files against what the mock said that it
// gave. Of the answer number N of an OpenAI or a Google server these are: read 1000+N, of
// which 300+N from the cache; written 40+N, and 5+N thoughts, which OpenAI counts within
// and Google beside what is written. Of an Anthropic server: 100+N, from the cache 300+N,
// into it 20+N for five minutes and 50+N for an hour, written 40+N.
func TestTokensOfTranscripts(t *testing.T) {
	openai := func(n int64) fleet.Tokens {
		return fleet.Tokens{Input: 700, CacheRead: 300 + n, Output: 40 + n, Reasoning: 5 + n}
	}
	google := func(n int64) fleet.Tokens {
		return fleet.Tokens{Input: 700, CacheRead: 300 + n, Output: 45 + 2*n, Reasoning: 5 + n}
	}
	anthropic := func(n int64) fleet.Tokens {
		return fleet.Tokens{Input: 100 + n, CacheRead: 300 + n, CacheWrite5m: 70 + 2*n, Output: 40 + n}
	}
	for _, c := range []struct {
		kind, file string
		gave       func(int64) fleet.Tokens
		answers    []int64
		mute       bool // of thoughts: pi counts them, and does not tell how many they are
	}{
		{"opencode", "opencode-1.18.33-life", func(n int64) fleet.Tokens {
			if n == 5 || n == 6 {
				return anthropic(n)
			}
			return openai(n)
		}, []int64{2, 3, 5, 6, 11, 12, 14, 17, 19}, false}, // the others were for titles, refused or interrupted
		{"opencode", "opencode-1.18.33-forked", openai, []int64{2, 3, 4}, false}, // the first two are in the fork, too
		{"pi", "pi-0.73.1-terminal", openai, []int64{1, 2, 3}, true},             // 4 was interrupted, 5 was refused, 6 is that of /compact: pi writes down no tokens of them
		{"pi", "pi-0.73.1-anthropic", anthropic, []int64{8, 9}, true},            // for how long it is kept pi does not tell
		{"pi", "pi-0.73.1-google", google, []int64{10, 11}, true},
		{"qwen", "qwen-0.24.4-headless", openai, []int64{1, 2}, false},
		{"qwen", "qwen-0.24.4-terminal", openai, []int64{85, 86, 87, 88, 90}, false}, // 89 was interrupted
		{"qwen", "qwen-0.24.4-cleared", openai, []int64{92, 93, 94, 95}, false},      // helpers' of what was before, too
		{"gemini", "gemini-0.61.0-headless", google, []int64{1, 2, 3}, false},
	} {
		var want fleet.Tokens
		for _, n := range c.answers {
			want = want.Add(c.gave(n))
		}
		if c.mute {
			want.Reasoning = 0
		}
		n, got := spentOf(entriesOf(t, c.kind, "testdata/transcripts/"+c.file+".jsonl"))
		if n != len(c.answers) || got != want {
			t.Errorf("%s: %d answers with %+v, want %d with %+v", c.file, n, got, len(c.answers), want)
		}
	}
}

// TestBadTokens: what is no number of tokens makes no row.
func TestBadTokens(t *testing.T) {
	for kind, line := range map[string]string{
		"gemini":   `{"id":"m","type":"gemini","content":"x","tokens":{"input":%s,"output":1}}`,
		"opencode": `{"session":"s","id":"p","part":{"type":"step-finish","tokens":{"input":%s,"output":1}}}`,
		"pi":       `{"type":"message","message":{"role":"assistant","usage":{"input":%s,"output":1},"stopReason":"stop"}}`,
		"qwen":     `{"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","input_token_count":%s}}}`,
	} {
		for _, n := range []string{"-1", "1e300", "0.5", "1e12"} {
			if e, err := Read(kind, fmt.Appendf(nil, line, n)); err == nil || len(e) > 0 {
				t.Errorf("%s: %s tokens gave %+v", kind, n, e)
			}
		}
		if e, err := Read(kind, fmt.Appendf(nil, line, "7")); err != nil || len(e) == 0 || e[0].Tokens.Input != 7 {
			t.Errorf("%s: 7 tokens gave %+v, %v", kind, e, err)
		}
	}
}

// TestForeignTranscripts: what is no line of the language is an error, and tells nothing.
func TestForeignTranscripts(t *testing.T) {
	for _, kind := range []string{"gemini", "opencode", "pi", "qwen"} {
		for _, line := range []string{"npm warn deprecated", `{"type":`, `[]`, `"result"`, `{}`, strings.Repeat(" x", mostBytes)} {
			if e, err := Read(kind, []byte(line)); err == nil || len(e) > 0 {
				t.Errorf("%s: %.40q gave %+v", kind, line, e)
			}
		}
	}
}

func FuzzTranscriptsOfKinds(f *testing.F) {
	kinds := []string{"gemini", "opencode", "pi", "qwen"}
	for _, kind := range kinds {
		for _, file := range recorded(f, kind) {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				f.Add(line)
			}
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, kind := range kinds {
			entries, _ := Read(kind, []byte(line))
			for _, e := range entries {
				soundEntry(t, kind, e)
			}
		}
	})
}

// soundEntry holds an entry against what each has to be.
func soundEntry(t *testing.T, kind string, e Entry) {
	t.Helper()
	n := e.Tokens
	bad := min(n.Input, n.CacheRead, n.CacheWrite5m, n.CacheWrite1h, n.Output, n.Reasoning) < 0 || n.Reasoning > n.Output || n.All() > 6*mostTokens
	if e.What == "" || bad || strings.ContainsAny(e.Text+e.Tool+e.Args()+e.Session+e.Model+e.Key, "\x1b\n") || len(e.Key) > 600 {
		t.Errorf("%s: %+v", kind, e)
	}
	if e.What == Response && !strings.HasPrefix(e.Key, kind+":") {
		t.Errorf("%s: the key of an answer is %q", kind, e.Key)
	}
}

// TestToldPrices: what a CLI says that an answer cost is its price; that it says 0 is none, for
// it says so of a model that it has no price of.
func TestToldPrices(t *testing.T) {
	for _, c := range []struct {
		kind, line string
		micro      int64
		pricing    fleet.Pricing
	}{
		{"pi", `{"type":"message","timestamp":"2026-11-23T21:06:44.019Z","message":{"role":"assistant","timestamp":1,"usage":{"input":7,"output":1,"cost":{"total":0.0028053}}}}`, 2805, fleet.PricedByCLI},
		{"pi", `{"type":"message","timestamp":"2026-11-23T21:06:44.019Z","message":{"role":"assistant","timestamp":1,"usage":{"input":7,"output":1,"cost":{"total":0}}}}`, 0, fleet.Unpriced},
		{"pi", `{"type":"message","timestamp":"2026-11-23T21:06:44.019Z","message":{"role":"assistant","timestamp":1,"usage":{"input":7,"output":1,"cost":{"total":-3}}}}`, 0, fleet.Unpriced},
		{"opencode", `{"session":"s","id":"p","updated":1795468003767,"part":{"type":"step-finish","cost":0.5,"tokens":{"input":7,"output":1}}}`, 500000, fleet.PricedByCLI},
		{"opencode", `{"session":"s","id":"p","updated":1795468003767,"part":{"type":"step-finish","cost":0,"tokens":{"input":7,"output":1}}}`, 0, fleet.Unpriced},
	} {
		entries, err := Read(c.kind, []byte(c.line))
		if err != nil || len(entries) == 0 {
			t.Fatalf("%s: %v", c.line, err)
		}
		row, ok := NewTranscript(c.kind, c.kind, "x", true).Take(entries[0])
		if !ok || row.MicroUSD != c.micro || row.Pricing != c.pricing {
			t.Errorf("%s\n%+v; want %d, %s", c.line, row, c.micro, c.pricing)
		}
	}
}

// A provider that says to try again in a second was tried again, several times, before
// opencode gave up: that tells of no reset, and the limit is not over a second later.
func TestAPauseBetweenTriesIsNoReset(t *testing.T) {
	for after, want := range map[string]time.Duration{"1": 0, "59": 0, "3600": time.Hour} {
		line := `{"session":"ses_1","updated":1795000000000,"error":{"name":"APIError","data":{"message":"Rate limit reached","statusCode":429,"responseHeaders":{"retry-after":"` + after + `"}}}}`
		all, err := Read("opencode", []byte(line))
		if err != nil || len(all) != 1 || all[0].Failure == nil || all[0].Failure.Name != "rate_limit" {
			t.Fatalf("%+v, %v", all, err)
		}
		if got := all[0].Failure.Until; want == 0 && !got.IsZero() || want != 0 && got.Sub(all[0].At) != want {
			t.Errorf("after %s seconds: the limit is reset at %v, the error was at %v", after, got, all[0].At)
		}
	}
}
