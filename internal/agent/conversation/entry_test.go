package conversation

import (
	"bytes"
	"flag"
	"fmt"
	json "github.com/go-json-experiment/json/v1"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite the expected readings; then look at the difference")

// TestTranscripts reads each line that real CLIs wrote of real conversations with a mock
// model: testdata/transcripts/LANGUAGE-….jsonl, and what was read beside it, as .txt.
func TestTranscripts(t *testing.T) {
	names, err := filepath.Glob("testdata/transcripts/*.jsonl")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d recordings, %v", len(names), err)
	}
	for _, name := range names {
		got := readTranscript(t, name)
		file := strings.TrimSuffix(name, ".jsonl") + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != got {
			t.Errorf("%s is read as\n%s\nwant\n%s", name, got, want)
		}
	}
}

func readTranscript(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	language, _, _ := strings.Cut(filepath.Base(name), "-")
	var out strings.Builder
	for line := range bytes.Lines(text) {
		entries, err := Read(language, line)
		if err != nil {
			fmt.Fprintln(&out, "error:", err)
		}
		for _, e := range entries {
			fmt.Fprintln(&out, toldText(e))
		}
	}
	return out.String()
}

// toldText is an entry on a line, without what is unknown.
func toldText(e Entry) string {
	words := []string{e.At.Format("15:04:05"), string(e.What)}
	add := func(name, value string) {
		if value != "" {
			words = append(words, name+value)
		}
	}
	add("session=", e.Session[:min(8, len(e.Session))])
	if e.Side {
		add("", "side")
	}
	add("key=", e.Key)
	add("model=", e.Model)
	if e.Tokens != (fleet.Tokens{}) {
		b, _ := json.Marshal(e.Tokens)
		add("", strings.ReplaceAll(string(b), `"`, ""))
	}
	if e.Cost > 0 {
		add("micro_usd=", fmt.Sprint(e.Cost))
	}
	if n, ok := e.Used.Get(); ok {
		add("used=", fmt.Sprint(n))
	}
	if n, ok := e.Window.Get(); ok {
		add("window=", fmt.Sprint(n))
	}
	add("tool=", e.Tool)
	add("call=", e.CallID)
	add("args=", e.Args())
	add("hash=", e.PromptHash)
	add("text=", e.Text)
	if f := e.Failure; f != nil {
		add("failed=", f.Name)
		if !f.Until.IsZero() {
			add("until=", f.Until.Format(time.RFC3339))
		}
		add("says=", f.Text)
	}
	return strings.Join(words, " ")
}

// usedIn sums what lines used as a ledger does: a response counts once, with the most
// tokens that were told of it.
func usedIn(t *testing.T, language string, lines ...string) (sum fleet.Tokens) {
	t.Helper()
	rows := map[string]fleet.Tokens{}
	for _, line := range lines {
		entries, err := Read(language, []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.What == Response && e.Key != "" && e.Tokens.All() >= rows[e.Key].All() {
				rows[e.Key] = e.Tokens
			}
		}
	}
	for _, row := range rows {
		sum = sum.Add(row)
	}
	return sum
}

// The ways in which the counting of Claude Code's tokens is known to go wrong.
func TestClaudeCounts(t *testing.T) {
	answer := func(id, request, usage, more string) string {
		return `{"type":"assistant","timestamp":"2026-11-20T09:00:00Z","sessionId":"s","message":{"id":"` + id + `","model":"claude-opus-5-5","content":[{"type":"text","text":"x"}],"usage":` + usage + `}` +
			map[bool]string{true: `,"requestId":"` + request + `"`}[request != ""] + more + `}`
	}
	for name, c := range map[string]struct {
		lines []string
		want  fleet.Tokens
	}{
		"the first line of a response has two tokens of output, the last the truth": {
			[]string{answer("m1", "r1", `{"input_tokens":10,"output_tokens":2}`, ""), answer("m1", "r1", `{"input_tokens":10,"output_tokens":300}`, "")},
			fleet.Tokens{Input: 10, Output: 300}},
		"the truth is not in the last line": {
			[]string{answer("m1", "r1", `{"input_tokens":10,"output_tokens":300}`, ""), answer("m1", "r1", `{"input_tokens":10,"output_tokens":2}`, "")},
			fleet.Tokens{Input: 10, Output: 300}},
		"without a request's name a response counts once, too": {
			[]string{answer("m1", "", `{"input_tokens":10,"output_tokens":5}`, ""), answer("m1", "", `{"input_tokens":10,"output_tokens":5}`, ""), answer("m1", "r1", `{"input_tokens":10,"output_tokens":5}`, "")},
			fleet.Tokens{Input: 10, Output: 5}},
		"a resumed conversation repeats what was said, under a new name": {
			[]string{answer("m1", "r1", `{"input_tokens":10,"output_tokens":5}`, ""), strings.Replace(answer("m1", "r1", `{"input_tokens":10,"output_tokens":5}`, ""), `"sessionId":"s"`, `"sessionId":"t"`, 1)},
			fleet.Tokens{Input: 10, Output: 5}},
		"a sub-agent's count": {
			[]string{answer("m1", "r1", `{"input_tokens":10,"output_tokens":5}`, ""), answer("m2", "r2", `{"input_tokens":1,"output_tokens":1}`, `,"isSidechain":true`)},
			fleet.Tokens{Input: 11, Output: 6}},
		"what goes into the cache, by how long": {
			[]string{answer("m1", "r1", `{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":1700,"cache_read_input_tokens":9,"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":500}}`, "")},
			fleet.Tokens{Input: 1, Output: 1, CacheRead: 9, CacheWrite5m: 1200, CacheWrite1h: 500}},
		"what goes into the cache, without for how long": {
			[]string{answer("m1", "r1", `{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":1700}`, "")},
			fleet.Tokens{Input: 1, Output: 1, CacheWrite5m: 1700}},
		"thoughts are part of the output": {
			[]string{answer("m1", "r1", `{"input_tokens":1,"output_tokens":50,"output_tokens_details":{"thinking_tokens":40}}`, "")},
			fleet.Tokens{Input: 1, Output: 50, Reasoning: 40}},
		"an error is no response": {
			[]string{`{"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error"}],"usage":{"input_tokens":7,"output_tokens":7}}}`,
				`{"type":"assistant","message":{"id":"y","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}],"usage":{"input_tokens":7,"output_tokens":7}}}`},
			fleet.Tokens{}},
	} {
		if got := usedIn(t, "claude", c.lines...); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// What is no number of tokens is not read as none: the line cannot be read.
func TestTokensThatCannotBe(t *testing.T) {
	for _, usage := range []string{`{"input_tokens":-1}`, `{"input_tokens":1e300}`, `{"output_tokens":1.5}`, `{"output_tokens":"many"}`, `{"input_tokens":{}}`, `[]`} {
		line := `{"type":"assistant","message":{"id":"m","model":"x","usage":` + usage + `}}`
		if entries, err := Read("claude", []byte(line)); err == nil {
			t.Errorf("%s is read as %+v", usage, entries)
		}
	}
}

// A field that a newer version writes in another shape takes nothing of the others away.
func TestATranscriptOfAnotherShape(t *testing.T) {
	line := `{"type":"assistant","version":7,"timestamp":["x"],"sessionId":"s","message":{"id":"m","model":"x","usage":{"input_tokens":1}}}`
	entries, err := Read("claude", []byte(line))
	if err != nil || len(entries) != 1 || entries[0].Tokens.Input != 1 || entries[0].Session != "s" || !entries[0].At.IsZero() {
		t.Errorf("%+v, %v", entries, err)
	}
}

func TestATranscriptThatIsNone(t *testing.T) {
	for _, line := range []string{`{"type":"assistant","mess`, `[1,2]`, `"assistant"`, "\x00\x00\x00", strings.Repeat("x", mostBytes+1)} {
		if entries, err := Read("claude", []byte(line)); err == nil {
			t.Errorf("%.20q is read as %+v", line, entries)
		}
	}
	if _, err := Read("pascal", []byte("{}")); err == nil {
		t.Error("a language that is not known is read")
	}
}

// What was pasted is known again by its hash, although Claude Code gives it to its model
// between marks; a paste in the middle of typed words, too.
func TestPastedTextIsKnownAgain(t *testing.T) {
	typed := "line one\nline two\nline three\nline four\nline five\nline six of a paste"
	if !strings.Contains(readTranscript(t, "testdata/transcripts/claude-2.1.330-terminal.jsonl"), "hash="+PromptHash(typed)) {
		t.Error("the pasted prompt is not among those that were read")
	}
	for typed, given := range map[string]string{
		"a\nb\nc":         "\n\n<pasted_content id=\"b454\">\na\nb\nc\n</pasted_content id=\"b454\">\n",
		"see a\nb and\nc": "see \n<pasted_content id=\"1f\">\na\nb\n</pasted_content id=\"1f\">\n and\nc",
	} {
		if PromptHash(typed) != PromptHash(given) {
			t.Errorf("%q is not known again in %q", typed, given)
		}
	}
	if PromptHash("say pasted_content") == PromptHash("say") || PromptHash("<pasted_contents>") == PromptHash("") {
		t.Error("words of a person are left out")
	}
}

// The tokens of Codex: a running sum tells of the responses that have names, too; it counts
// only where there are none, and what it repeats counts once.
func TestCodexCounts(t *testing.T) {
	usage := `{"input_tokens":3000,"cached_input_tokens":2000,"cache_write_input_tokens":100,"output_tokens":150,"reasoning_output_tokens":40,"total_tokens":3150}`
	record := `{"type":"token_usage_record","payload":{"thread_id":"t","response_id":"r1","usage":` + usage + `}}`
	sum := `{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":9000},"last_token_usage":` + usage + `,"model_context_window":258400}}}`
	want := fleet.Tokens{Input: 900, CacheRead: 2000, CacheWrite5m: 100, Output: 150, Reasoning: 40}
	if got := usedIn(t, "codex", record, record, sum, sum); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	entries, err := Read("codex", []byte(sum))
	if err != nil || len(entries) != 1 || !entries[0].Counted() || entries[0].Tokens != want || entries[0].Window.Or(0) != 258400 || entries[0].Used.Or(0) != 3150 {
		t.Errorf("%+v, %v", entries, err)
	}
	for usage, want := range map[string]fleet.Tokens{
		// More from the cache than was read: counted beside the input, unless the sum of all says that it is within.
		`{"input_tokens":10,"cached_input_tokens":20,"output_tokens":1}`:                                               {Input: 10, CacheRead: 20, Output: 1},
		`{"input_tokens":10,"cached_input_tokens":20,"output_tokens":1,"total_tokens":31}`:                             {Input: 10, CacheRead: 20, Output: 1},
		`{"input_tokens":10,"cached_input_tokens":20,"output_tokens":1,"total_tokens":11}`:                             {CacheRead: 10, Output: 1},
		`{"input_tokens":10,"cached_input_tokens":6,"cache_write_input_tokens":6,"output_tokens":1,"total_tokens":11}`: {CacheRead: 6, CacheWrite5m: 4, Output: 1},
		`{"input_tokens":10,"cached_input_tokens":10,"output_tokens":1,"total_tokens":11}`:                             {CacheRead: 10, Output: 1},
		`{"output_tokens":1,"reasoning_output_tokens":5}`:                                                              {Output: 1, Reasoning: 1},
	} {
		if got := usedIn(t, "codex", `{"type":"token_usage_record","payload":{"response_id":"r","usage":`+usage+`}}`); got != want {
			t.Errorf("%s: %+v, want %+v", usage, got, want)
		}
	}
}

func TestLimitReset(t *testing.T) {
	at := time.Date(2026, 11, 23, 21, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"You've hit your session limit · resets 11:20pm (UTC)": "2026-11-23T23:20:00Z",
		"You've hit your limit · resets 3am (UTC)":             "2026-11-24T03:00:00Z",
		"You've hit your limit · resets 3am (Europe/Berlin)":   "2026-11-24T02:00:00Z",
		"You've hit your limit · resets 10pm (Europe/London)":  "2026-11-23T22:00:00Z",
		"resets 11pm (Europe/Berlin)":                          "2026-11-23T22:00:00Z", // it is half past ten there
		"resets 10:15pm (Europe/Berlin)":                       "2026-11-24T21:15:00Z", // which was a quarter ago
		"resets 9:30am (Asia/Kolkata)":                         "2026-11-24T04:00:00Z",
		"resets 9am (America/Argentina/Buenos_Aires)":          "2026-11-24T12:00:00Z",
		"resets 3am (Nowhere/Land)":                            "",
		"resets 3am (../../etc/passwd)":                        "",
		"resets 3am (Local)":                                   "",
		"resets 3am (CET":                                      "",
		"resets 3am":                                           "",
		"Claude AI usage limit reached|1795471200":             "2026-11-23T22:00:00Z",
		"Try again in 2 days 3 hours 4 minutes.":               "2026-11-26T00:34:00Z",
		"try again at 12am UTC":                                "2026-11-24T00:00:00Z",
		"resets 99pm (UTC)":                                    "",
		"Rate limit reached":                                   "",
	} {
		got := ""
		if until := limitReset(text, at); !until.IsZero() {
			got = until.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/transcripts/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		language, _, _ := strings.Cut(filepath.Base(name), "-")
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			f.Add(language, line)
		}
	}
	f.Fuzz(func(t *testing.T, language string, line []byte) {
		entries, _ := Read(language, line)
		for _, e := range entries {
			if strings.ContainsAny(e.Session+e.CWD+e.Version+e.Model+e.Text+e.Tool+e.CallID+e.Args()+e.Key, "\x1b\x00\n") {
				t.Errorf("%+v shows what is not safe", e)
			}
			if n := e.Tokens; min(n.Input, n.Output, n.CacheRead, n.CacheWrite5m, n.CacheWrite1h, n.Reasoning) < 0 || n.Reasoning > n.Output {
				t.Errorf("tokens %+v", n)
			}
			if e.What == "" || e.What == Response && e.Tokens.All() > 0 && e.Key == "" && !bytes.Contains(line, []byte("usage")) {
				t.Errorf("%+v", e)
			}
		}
	})
}

// What codex tells of its plan is kept, also while nothing is used up; windows are named by
// their length.
func TestCodexTellsOfItsPlan(t *testing.T) {
	line := `{"timestamp":"2026-11-23T10:00:00Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"primary":{"used_percent":42.5,"window_minutes":300,"resets_at":1795472187},"secondary":{"used_percent":140,"window_minutes":10080,"resets_at":1795900000}}}}`
	entries, err := Read("codex", []byte(line))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	tr := NewTranscript("codex", "codex", "/x", true)
	tr.Take(entries[0])
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	want := []fleet.Quota{{Window: "5h", Percent: 42.5, Resets: time.Unix(1795472187, 0).UTC(), At: at}, {Window: "7d", Percent: 100, Resets: time.Unix(1795900000, 0).UTC(), At: at}}
	if got := tr.Conversation().Quota; !slices.Equal(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
	for minutes, name := range map[int64]string{300: "5h", 10080: "7d", 90: "90m", 0: "plan", -5: "plan"} {
		if got := windowOf(minutes); got != name {
			t.Errorf("%d minutes are %q, want %q", minutes, got, name)
		}
	}
}
