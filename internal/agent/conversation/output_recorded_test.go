package conversation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// printed reads what a real CLI printed on the mock model; the files are named
// LANGUAGE-VERSION-WHAT.jsonl.
func printed(t testing.TB, file string) (events []Event) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	language, _, _ := strings.Cut(filepath.Base(file), "-")
	for line := range bytes.Lines(text) {
		more, err := ReadOutput(language, line)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		events = append(events, more...)
	}
	return events
}

// TestRecordedOutputs: what is read of each recorded output, an event a line.
func TestRecordedOutputs(t *testing.T) {
	files, err := filepath.Glob("testdata/outputs/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded outputs: %v", err)
	}
	for _, file := range files {
		got := strings.ReplaceAll(eventsText(printed(t, file)), "; ", "\n") + "\n"
		want := strings.TrimSuffix(file, ".jsonl") + ".txt"
		if *update {
			if err := os.WriteFile(want, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(want); err != nil || string(text) != got {
			t.Errorf("%s (%v) is read as\n%s", file, err, got)
		}
	}
}

// TestTokensOfOutputs: the sums of recorded outputs against what the mock said that it gave.
func TestTokensOfOutputs(t *testing.T) {
	for file, want := range map[string]fleet.Tokens{
		// Answers 2 and 3, and 4 to 8: read 3+N and 2000+N from the cache; into it 1000 for five minutes and 500 for an hour; written 50+N.
		// 2.1.330 tells that of the whole conversation, so that answer 1 is among them, and in the fork of it 1 to 9.
		"claude-2.1.197-tool":     {Input: 11, CacheRead: 4005, CacheWrite5m: 2000, CacheWrite1h: 1000, Output: 105},
		"claude-2.1.330-tool":     {Input: 15, CacheRead: 6006, CacheWrite5m: 3000, CacheWrite1h: 1500, Output: 156},
		"claude-2.1.197-subagent": {Input: 45, CacheRead: 10030, CacheWrite5m: 6500, CacheWrite1h: 1000, Output: 280}, // of helpers it does not tell for how long
		"claude-2.1.330-subagent": {Input: 72, CacheRead: 18045, CacheWrite5m: 9000, CacheWrite1h: 4500, Output: 495},
		// Answers 1 to 3, the first of which was of an earlier run: read 3000+N, of which 2000 from the cache; written 100+N, of which 40 thoughts.
		"codex-0.169.0-tool": {Input: 3006, CacheRead: 6000, Output: 306, Reasoning: 120},
		// The others are as in TestTokensOfTranscripts.
		"gemini-0.61.0-tool":         {Input: 1400, CacheRead: 603, Output: 96, Reasoning: 13},
		"opencode-1.18.33-tool":      {Input: 1400, CacheRead: 605, Output: 85, Reasoning: 15}, // answers 2 and 3: the first was for a title
		"opencode-1.18.33-anthropic": {Input: 211, CacheRead: 611, CacheWrite5m: 162, Output: 91},
		"pi-0.73.1-tool":             {Input: 1400, CacheRead: 603, Output: 83},
		"pi-0.73.1-anthropic":        {Input: 217, CacheRead: 617, CacheWrite5m: 174, Output: 97},
		"qwen-0.24.4-tool":           {Input: 1400, CacheRead: 603, Output: 83},
		"qwen-0.24.4-helper":         {Input: 1400, CacheRead: 603, Output: 83}, // an answer that is seen, and one that is not
	} {
		if got := spentIn(printed(t, "testdata/outputs/"+file+".jsonl")); got != want {
			t.Errorf("%s: %+v, want %+v", file, got, want)
		}
	}
}

// spentIn is what a run told that it used: its results, or where they do not tell, its answers.
func spentIn(events []Event) (sum fleet.Tokens) {
	told := fleet.Unknown[fleet.Tokens]("no result")
	for _, e := range events {
		tokens, known := e.Tokens.Get()
		switch {
		case known && e.What == Result:
			told = e.Tokens
		case known && e.What == Response:
			sum = sum.Add(tokens)
		}
	}
	return told.Or(sum)
}

// TestOneAnswerOneKey: an answer is named alike by an agent's output and by its transcript.
// What claude prints of an answer is told when that begins, so that its transcript tells more.
func TestOneAnswerOneKey(t *testing.T) {
	for _, c := range []struct {
		language, output, transcript string
		answers                      int
		less                         bool
	}{
		{"claude", "claude-2.1.330-tool", "claude-2.1.330-headless", 2, true},
		{"opencode", "opencode-1.18.33-tool", "opencode-1.18.33-life", 2, false},
		{"pi", "pi-0.73.1-tool", "pi-0.73.1-tool", 2, false},
	} {
		rows := map[string]fleet.Tokens{}
		for _, e := range entriesOf(t, c.language, "testdata/transcripts/"+c.transcript+".jsonl") {
			if e.What == Response && e.Tokens.All() >= rows[e.Key].All() {
				rows[e.Key] = e.Tokens
			}
		}
		keys := map[string]bool{}
		for _, e := range printed(t, "testdata/outputs/"+c.output+".jsonl") {
			if e.What != Response {
				continue
			}
			keys[e.Key] = true
			told, _ := e.Tokens.Get()
			if row, ok := rows[e.Key]; !ok || row != told && (!c.less || row.All() <= told.All()) {
				t.Errorf("%s used %+v by the output of %s, and %+v by its transcript", e.Key, told, c.output, row)
			}
		}
		if len(keys) != c.answers {
			t.Errorf("%s tells of %d answers, want %d", c.output, len(keys), c.answers)
		}
	}
}

// TestFailedTurnsCostNothingThatIsKnown: of a run that was refused, CLIs say that it used
// and cost 0. And why it ended is told, so that it is no crash.
func TestFailedTurnsCostNothingThatIsKnown(t *testing.T) {
	for what, want := range map[string]string{"limit": "rate_limit", "login": "authentication", "too-long": "context", "broken": "server_error"} {
		files, err := filepath.Glob("testdata/outputs/*-" + what + ".jsonl")
		if err != nil || len(files) == 0 {
			t.Fatalf("no outputs of %s: %v", what, err)
		}
		for _, file := range files {
			failed := ""
			for _, e := range printed(t, file) {
				if e.What != Result {
					continue
				}
				if !e.OK {
					failed = e.Error
				}
				if e.Cost.IsKnown() || e.Tokens.IsKnown() {
					t.Errorf("%s: %+v", file, e)
				}
			}
			if failed != want {
				t.Errorf("%s: it failed with %q, want %q", file, failed, want)
			}
		}
	}
}
