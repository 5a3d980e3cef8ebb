package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestVerdicts(t *testing.T) {
	cases, err := txtar.ParseFile("testdata/verdicts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases.Files {
		t.Run(c.Name, func(t *testing.T) {
			want, text, _ := strings.Cut(string(c.Data), "\n")
			if got := shown(ParseVerdict(text, noon)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func shown(v Verdict) string {
	switch {
	case v.Unusable && v.Decision == Ask:
		return fmt.Sprintf("unusable %q", v.Reason)
	case !v.Until.IsZero():
		return fmt.Sprintf("%s %s %v %q", v.Decision, v.Until.Format(time.RFC3339), v.Confidence, v.Reason)
	}
	return fmt.Sprintf("%s %v %q", v.Decision, v.Confidence, v.Reason)
}

func TestALongReasonIsCut(t *testing.T) {
	text := `{"verdict":"stop","confidence":1,"reason":"` + strings.Repeat("ä", 501) + `"}`
	if v := ParseVerdict(text, noon); v.Unusable || utf8.RuneCountInString(v.Reason) != maxReason || !strings.HasSuffix(v.Reason, "ä…") {
		t.Errorf("got %+v", v)
	}
	if v := ParseVerdict(text+strings.Repeat(" ", maxVerdict), noon); !v.Unusable {
		t.Errorf("an answer beyond the cap was read: %+v", v)
	}
}

// sound is what holds of any verdict, whatever was said.
func sound(t interface{ Fatalf(string, ...any) }, v Verdict, now time.Time) {
	if !slices.Contains(decisions(), v.Decision) || !(v.Confidence >= 0 && v.Confidence <= 1) {
		t.Fatalf("no verdict: %+v", v)
	}
	if v.Unusable && v.Decision != Ask {
		t.Fatalf("what could not be read became %s", v.Decision)
	}
	if v.Decision == Extend && (!v.Until.After(now) || v.Until.After(now.Add(MaxExtension))) || v.Decision != Extend && !v.Until.IsZero() {
		t.Fatalf("the moment of %s is %v", v.Decision, v.Until)
	}
	if v.Reason == "" || utf8.RuneCountInString(v.Reason) > maxReason || strings.ContainsFunc(v.Reason, unicode.IsControl) || !utf8.ValidString(v.Reason) {
		t.Fatalf("the reason is %q", v.Reason)
	}
}

// TestAVerdictOnlyFromAVerdict holds that whatever acts was said exactly: read
// again as JSON, the text has that word, and nothing is around it.
func TestAVerdictOnlyFromAVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := map[string]any{
			"verdict":    rapid.SampledFrom([]any{"retry", "extend", "stop", "ask", "kill", "", 7, nil}).Draw(t, "verdict"),
			"confidence": rapid.SampledFrom([]any{0.0, 0.5, 1.0, 1.5, -1.0, "1", nil}).Draw(t, "confidence"),
			"reason":     rapid.String().Draw(t, "reason"),
			"until":      rapid.SampledFrom([]any{nil, "", noon.Add(time.Hour).Format(time.RFC3339), noon.Add(48 * time.Hour).Format(time.RFC3339)}).Draw(t, "until"),
		}
		b, _ := json.Marshal(o)
		around := rapid.SampledFrom([]string{"", " ", "\n", "x", "{}", "```"}).Draw(t, "around")
		v := ParseVerdict(string(b)+around, noon)
		sound(t, v, noon)
		if !v.Unusable && (o["verdict"] != string(v.Decision) || strings.TrimSpace(around) != "") {
			t.Fatalf("%s%s became %+v", b, around, v)
		}
	})
}

// TestTheSchemaIsStrict holds the schema to what strict modes ask for.
func TestTheSchemaIsStrict(t *testing.T) {
	var s struct {
		Additional *bool                     `json:"additionalProperties"`
		Required   []string                  `json:"required"`
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(VerdictSchema(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Additional == nil || *s.Additional || len(s.Required) != len(s.Properties) {
		t.Errorf("got %+v", s)
	}
	words := []string{}
	for _, w := range s.Properties["verdict"]["enum"].([]any) {
		words = append(words, w.(string))
	}
	if got, want := fmt.Sprint(words), fmt.Sprint(decisions()); got != want {
		t.Errorf("the schema has %s, the parser %s", got, want)
	}
}

func FuzzParseVerdict(f *testing.F) {
	cases, err := txtar.ParseFile("testdata/verdicts.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range cases.Files {
		_, text, _ := strings.Cut(string(c.Data), "\n")
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := ParseVerdict(text, noon)
		sound(t, v, noon)
		if !v.Unusable && !json.Valid([]byte(text)) {
			t.Fatalf("%q is no JSON and became %+v", text, v)
		}
	})
}

func FuzzReplies(f *testing.F) {
	f.Add([]byte(`{"type":"result","result":"{}","total_cost_usd":0.1,"usage":{"input_tokens":1,"output_tokens":2}}`))
	f.Add([]byte(`{"type":"item.completed","item":{"type":"agent_message","text":"{}"}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}`))
	f.Add([]byte(`{"content":[{"type":"tool_use","name":"answer","input":{}}]}`))
	f.Add([]byte(`{"choices":[{"message":{"content":"{}"}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, read := range map[string]func([]byte) (Answer, error){
			"text": readText, "claude": readClaude, "codex": readCodex,
			"anthropic": func(b []byte) (a Answer, err error) { err = readMessage(b, &a); return },
			"openai":    func(b []byte) (a Answer, err error) { err = readCompletion(b, &a); return },
		} {
			a, err := read(b)
			if err == nil && strings.TrimSpace(a.Text) == "" {
				t.Errorf("%s: an answer without a text: %q", name, b)
			}
			if a.Usage.Input < 0 || a.Usage.Output < 0 || a.Cost.Micros < 0 {
				t.Errorf("%s: less than nothing: %+v", name, a)
			}
		}
	})
}
