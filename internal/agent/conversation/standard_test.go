package conversation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	standard "encoding/json"

	json "github.com/go-json-experiment/json/v1"
)

// answerLine is an answer as Claude Code writes it, with words and calls of tools of some length.
const answerLine = `{"parentUuid":"u","isSidechain":false,"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"TEXT"},` +
	`{"type":"tool_use","id":"toolu_1","name":"Write","input":{"file_path":"/a","content":"TEXT"}}],"stop_reason":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":1500,"cache_read_input_tokens":2001,` +
	`"output_tokens":51,"cache_creation":{"ephemeral_1h_input_tokens":500,"ephemeral_5m_input_tokens":1000},"output_tokens_details":{"thinking_tokens":7}}},"requestId":"r","type":"assistant","uuid":"v","timestamp":"2026-11-20T09:00:00.123Z","cwd":"/p","sessionId":"s","version":"2.1.330"}`

// holds reads a line by the library, and by the standard one: what it takes, what it leaves out, and what it refuses.
func holds(t *testing.T, language string, line []byte) {
	t.Helper()
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	holdsInto[claudeLine](t, language, line)
	holdsInto[claudeUsage](t, language, line)
	holdsInto[[]claudeBlock](t, language, line)
	holdsInto[codexLine](t, language, line)
	holdsInto[geminiLine](t, language, line)
	holdsInto[piLine](t, language, line)
	holdsInto[qwenLine](t, language, line)
}

func holdsInto[T any](t *testing.T, language string, line []byte) {
	t.Helper()
	var got, want, whole T
	err, wrong := unmarshal(line, &got), standard.Unmarshal(line, &want)
	if (err == nil) != (wrong == nil) || err != nil && Unreadable(err) == "" {
		t.Errorf("%s: %.300s\n got %v\nwant %v", language, line, err, wrong)
	}
	if wrong == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %.300s\n got %+v\nwant %+v", language, line, got, want)
	}
	if slow := json.Unmarshal(line, &whole); fmt.Sprint(slow) != fmt.Sprint(err) || !reflect.DeepEqual(got, whole) {
		t.Errorf("%s: %.300s\n got %+v, %v\nwant %+v, %v", language, line, got, err, whole, slow)
	}
}

// A line is read as encoding/json would read it, which takes four times as long.
func TestLinesAreReadAsTheStandardLibraryReadsThem(t *testing.T) {
	for _, line := range recordedLines(t) {
		holds(t, line.language, line.text)
	}
	for from, to := range map[string]string{
		`"input_tokens":4`: `"input_tokens":-4`, `"input_tokens":4,`: ``, `:51`: `:51.0`, `:1500`: `:015`, `:2001`: `:2e3`, `:500`: `:"500"`, `:1000`: `:null`, `:7`: `:1000000000000`,
		`"usage":{`: `"Usage":{`, `"id":"msg_1"`: `"id":"msg_1","ID":"msg_2"`, `"sessionId":"s"`: `"sessionId":"s","sessionId":"t"`, `"message":{`: `"message":{"message":{"id":"deeper"},`,
		`"cwd":"/p"`: `"cwd":"/\u00fc"`, `"cwd":"/p",`: `"cwd":"/ü",`, `"version":"2.1.330"`: "\"version\":\"\xff\"", `"requestId":"r"`: `"requestId":5`, `"uuid":"v"`: `"uuid":null`,
		`"isSidechain":false`: `"isSidechain":true`, `:false`: `:"false"`, `"stop_reason":null`: `"stop_reason":"end_turn"`, `claude-opus-5-5`: `<synthetic>`, `"type":"assistant"`: `"type":"user"`,
		`"requestId"`: `"isApiErrorMessage":true,"requestId"`, `"id":"toolu_1"`: `"id":5`, `"content":[`: `"content":[null,`, `{"type":"text","text":"TEXT"}`: `"TEXT"`, `"name":"Write"`: `"name":"Write","is_error":"no"`,
		`"role"`: `"r\u006fle"`, `"text":"TEXT"`: "\"text\":\"a\x00\"", `"2.1.330"}`: `"2.1.330"} `, `"/p"`: `"/p"}`, `"r"`: `"\x"`, `"parentUuid":"u"`: `"deep":` + strings.Repeat("[", 200) + strings.Repeat("]", 200),
		`"parentUuid"`: `"deep":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `,"p"`, `{"parent`: " {\"parent", `,"model"`: `,,"model"`, `"cache_creation":{`: `"cache_creation":null,"x":{`,
	} {
		if !strings.Contains(answerLine, from) {
			t.Fatalf("%s is no part of the line", from)
		}
		holds(t, "claude", []byte(strings.Replace(answerLine, from, to, 1)))
	}
	for n := range len(answerLine) { // torn
		holds(t, "claude", []byte(answerLine[:n]))
		holds(t, "claude", []byte(answerLine[:n]+answerLine))
		holds(t, "claude", []byte(answerLine[:n]+answerLine[n+1:]))
	}
}

type recordedLine struct {
	language string
	text     []byte
}

func recordedLines(t testing.TB) (lines []recordedLine) {
	t.Helper()
	names, err := filepath.Glob("testdata/transcripts/*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, name := range names {
		language, _, _ := strings.Cut(filepath.Base(name), "-")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			lines = append(lines, recordedLine{language, line})
		}
	}
	return lines
}

func FuzzStandard(f *testing.F) {
	for _, line := range recordedLines(f) {
		f.Add(line.language, line.text)
	}
	f.Add("claude", []byte(answerLine))
	f.Fuzz(func(t *testing.T, language string, line []byte) { holds(t, language, line) })
}

// BenchmarkLine reads a line, in this way and in the obvious one.
func BenchmarkLine(b *testing.B) {
	line := []byte(strings.ReplaceAll(answerLine, "TEXT", strings.Repeat("words ", 100)))
	for name, read := range map[string]func([]byte, *claudeLine) error{
		"here":          unmarshal[claudeLine],
		"two_passes":    func(line []byte, into *claudeLine) error { return json.Unmarshal(line, into) },
		"encoding_json": func(line []byte, into *claudeLine) error { return standard.Unmarshal(line, into) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := read(line, &claudeLine{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("entries", func(b *testing.B) {
		for b.Loop() {
			if _, err := Read("claude", line); err != nil {
				b.Fatal(err)
			}
		}
	})
}
