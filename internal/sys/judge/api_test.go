package judge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/judge"
	"custos/internal/sys/judge/judgetest"
)

const right = `{"verdict":"stop","until":null,"confidence":0.9,"reason":"it is done"}`

func apis() []string { return []string{"anthropic", "openai"} }

func question() judge.Question {
	return judge.Question{System: "Judge this.", Data: "an agent: $(rm -rf ~)", Schema: judge.VerdictSchema(), Deadline: 20 * time.Second}
}

func price(p float64) *float64 { return &p }

// settings of a judge with a key, of three dollars in and fifteen out.
func settings(t testing.TB, api string, s *judgetest.Server) judge.Settings {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(judgetest.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return judge.Settings{Kind: api, Model: "asked-for", BaseURL: s.URL, Key: judge.Key{File: file}, InputPrice: price(3), OutputPrice: price(15)}
}

func client(t testing.TB, s judge.Settings) *judge.Client {
	t.Helper()
	c, err := judge.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// each runs a test with either API.
func each(t *testing.T, test func(t *testing.T, api string)) {
	for _, api := range apis() {
		t.Run(api, func(t *testing.T) { t.Parallel(); test(t, api) })
	}
}

func TestARightVerdict(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		s := judgetest.Start(t, judgetest.Says(right))
		a, err := client(t, settings(t, api, s)).Ask(t.Context(), question())
		if err != nil {
			t.Fatal(err)
		}
		want := judge.Answer{
			Text: right, Model: judgetest.Model, Calls: 1, Took: a.Took,
			Usage: judge.Usage{Known: true, Input: judgetest.InputTokens, Output: judgetest.OutputTokens},
			Cost:  judge.Cost{Known: true, Micros: 3750}, // 1000 tokens at 3, and 50 at 15 dollars a million
		}
		if a != want || a.Took <= 0 {
			t.Errorf("got  %+v\nwant %+v", a, want)
		}
		if v := judge.ParseVerdict(a.Text, time.Now()); v.Decision != judge.Stop || v.Unusable {
			t.Errorf("got %+v", v)
		}
	})
}

// TestWhatIsAsked looks at the question as it arrives: the data between marks,
// the schema whole, the key in its header and nowhere else.
func TestWhatIsAsked(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		s := judgetest.Start(t, judgetest.Says(right))
		if _, err := client(t, settings(t, api, s)).Ask(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
		r := s.Requests()[0]
		if r.API != api || r.Model != "asked-for" || !strings.HasPrefix(r.System, "Judge this.\n") {
			t.Errorf("asked %+v", r)
		}
		open, rest, _ := strings.Cut(r.Data, "\n")
		if rest != question().Data+"\n</"+strings.TrimPrefix(open, "<")+"\n" || !strings.Contains(r.System, open+" and ") {
			t.Errorf("the data came as %q below %q", r.Data, r.System)
		}
		var got, want any
		_ = json.Unmarshal([]byte(r.Schema), &got)
		_ = json.Unmarshal(judge.VerdictSchema(), &want)
		if g, w := mustJSON(got), mustJSON(want); g != w {
			t.Errorf("the schema came as %s", g)
		}
		if by := map[string]string{"anthropic": "tool", "openai": "format"}[api]; r.By != by {
			t.Errorf("the answer was wanted by %s, want %s", r.By, by)
		}
		if strings.Contains(string(r.Body), judgetest.Key) {
			t.Error("the key is in the body")
		}
	})
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestWhatIsNoVerdictAsks holds that replies which are not one verdict are
// answers that ask a person, whatever they say besides.
func TestWhatIsNoVerdictAsks(t *testing.T) {
	for name, reply := range map[string]judgetest.Reply{
		"wrong JSON":            judgetest.Wrong(),
		"injected instructions": judgetest.Injected(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, api string) {
				s := judgetest.Start(t, reply)
				a, err := client(t, settings(t, api, s)).Ask(t.Context(), question())
				if err != nil {
					t.Fatal(err)
				}
				if v := judge.ParseVerdict(a.Text, time.Now()); v.Decision != judge.Ask || !v.Unusable {
					t.Errorf("%q became %+v", a.Text, v)
				}
				if a.Cost.Micros == 0 || s.Calls() != 1 {
					t.Errorf("got %+v by %d calls: it must be paid, once", a, s.Calls())
				}
			})
		})
	}
}

func TestDeadlines(t *testing.T) {
	for name, reply := range map[string]judgetest.Reply{
		"hang":            judgetest.Hang(),
		"slow drip":       judgetest.Drip(right, 50*time.Millisecond),
		"a pause too far": judgetest.Later(429, "30"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, api string) {
				s := judgetest.Start(t, reply)
				q := question()
				q.Deadline = 300 * time.Millisecond
				a, err := client(t, settings(t, api, s)).Ask(t.Context(), q)
				var status *judge.StatusError
				if !errors.Is(err, context.DeadlineExceeded) && !(errors.As(err, &status) && status.RetryAfter == 30*time.Second) {
					t.Errorf("got %v", err)
				}
				if a.Calls != 1 || s.Calls() != 1 || a.Text != "" || a.Took > 10*time.Second {
					t.Errorf("got %+v by %d calls", a, s.Calls())
				}
			})
		})
	}
}

func TestTheCallerMayGiveUp(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		s := judgetest.Start(t, judgetest.Hang())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := client(t, settings(t, api, s)).Ask(ctx, question()); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestASlowAnswerInTimeIsAnAnswer(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		s := judgetest.Start(t, judgetest.Drip(right, time.Microsecond))
		a, err := client(t, settings(t, api, s)).Ask(t.Context(), question())
		if err != nil || a.Text != right {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

func TestStatuses(t *testing.T) {
	ok := judgetest.Says(right)
	for _, c := range []struct {
		name   string
		script []judgetest.Reply
		calls  int
		status int // 0: an answer
	}{
		{"429 then ok", []judgetest.Reply{judgetest.Status(429), ok}, 2, 0},
		{"429 with a time, then ok", []judgetest.Reply{judgetest.Later(429, "1"), ok}, 2, 0},
		{"500 then ok", []judgetest.Reply{judgetest.Status(500), ok}, 2, 0},
		{"529 then ok", []judgetest.Reply{judgetest.Status(529), ok}, 2, 0},
		{"500 and 500", []judgetest.Reply{judgetest.Status(500), judgetest.Status(500), ok}, 2, 500},
		{"429 and 503", []judgetest.Reply{judgetest.Status(429), judgetest.Status(503), ok}, 2, 503},
		{"401", []judgetest.Reply{judgetest.Status(401), ok}, 1, 401},
		{"404", []judgetest.Reply{judgetest.Status(404), ok}, 1, 404},
		{"413", []judgetest.Reply{judgetest.Status(413), ok}, 1, 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, api string) {
				s := judgetest.Start(t, c.script...)
				a, err := client(t, settings(t, api, s)).Ask(t.Context(), question())
				var status *judge.StatusError
				errors.As(err, &status)
				if c.status == 0 && (err != nil || a.Text != right) || c.status != 0 && (status == nil || status.Status != c.status) {
					t.Errorf("got %+v, %v", a, err)
				}
				if a.Calls != c.calls || s.Calls() != c.calls {
					t.Errorf("%d calls said, %d made, want %d", a.Calls, s.Calls(), c.calls)
				}
			})
		})
	}
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, api string) {
		s := judgetest.Start(t, judgetest.Later(503, "2"), judgetest.Says(right))
		a, err := client(t, settings(t, api, s)).Ask(t.Context(), question())
		if err != nil || a.Took < 2*time.Second {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

func TestHugeReplies(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		s := judgetest.Start(t, judgetest.Huge(judge.MaxReply))
		if _, err := client(t, settings(t, api, s)).Ask(t.Context(), question()); !errors.Is(err, judge.ErrTooMuch) {
			t.Errorf("got %v", err)
		}
		if s.Calls() != 1 {
			t.Errorf("%d calls", s.Calls())
		}
	})
}

// TestRedirects holds that the question, and the key above all, goes to no other
// host, and on the same one as it is.
func TestRedirects(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		elsewhere := judgetest.Start(t, judgetest.Says(right))
		path := map[string]string{"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}[api]
		for _, c := range []struct {
			status int
			to     string
			ok     bool
		}{
			{307, elsewhere.URL + path, false}, {308, elsewhere.URL + path + "?key=" + judgetest.Key, false}, {302, elsewhere.URL + path, false},
			{302, path, false}, {307, path, true},
		} {
			s := judgetest.Start(t, judgetest.Redirect(c.status, c.to), judgetest.Says(right))
			a, err := client(t, settings(t, api, s)).Ask(t.Context(), question())
			if c.ok && (err != nil || a.Text != right) || !c.ok && !errors.Is(err, judge.ErrRedirect) {
				t.Errorf("%d to %s: got %+v, %v", c.status, c.to, a, err)
			}
			hides(t, err)
		}
		if n := elsewhere.Calls(); n != 0 {
			t.Errorf("another host was asked %d times", n)
		}
	})
}

func TestRepliesThatAreNone(t *testing.T) {
	for _, c := range []struct {
		name, api, body string
		want            error
		paid            bool
	}{
		{"no JSON", "anthropic", "<html>", judge.ErrNoAnswer, false},
		{"no JSON", "openai", "<html>", judge.ErrNoAnswer, false},
		{"null", "anthropic", "null", judge.ErrNoAnswer, false},
		{"null", "openai", "null", judge.ErrNoAnswer, false},
		{"nothing said", "anthropic", `{"content":[],"usage":{"input_tokens":1,"output_tokens":1}}`, judge.ErrNoAnswer, true},
		{"nothing said", "openai", `{"choices":[{"message":{"content":null}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, judge.ErrNoAnswer, true},
		{"cut", "anthropic", `{"stop_reason":"max_tokens","content":[{"type":"tool_use","name":"answer","input":{}}],"usage":{"input_tokens":1,"output_tokens":1}}`, judge.ErrCut, true},
		{"cut", "openai", `{"choices":[{"finish_reason":"length","message":{"content":"{}"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, judge.ErrCut, true},
		{"declined", "anthropic", `{"stop_reason":"refusal","content":[{"type":"text","text":"no"}]}`, judge.ErrDeclined, false},
		{"paused", "anthropic", `{"stop_reason":"pause_turn","content":[{"type":"text","text":"let me see"}],"usage":{"input_tokens":1,"output_tokens":1}}`, judge.ErrCut, true},
		{"declined", "openai", `{"choices":[{"message":{"refusal":"no"}}]}`, judge.ErrDeclined, false},
		{"filtered", "openai", `{"choices":[{"finish_reason":"content_filter","message":{"content":"x"}}]}`, judge.ErrDeclined, false},
		{"two answers", "anthropic", `{"content":[{"type":"text","text":"words"},{"type":"tool_use","name":"answer","input":{"a":1}},{"type":"tool_use","name":"answer","input":{"a":2}}]}`, judge.ErrNoAnswer, false},
		{"two answers", "openai", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"answer","arguments":"1"}},{"function":{"name":"answer","arguments":"2"}}]}}]}`, judge.ErrNoAnswer, false},
		{"two choices", "openai", `{"choices":[{"message":{"content":"1"}},{"message":{"content":"2"}}]}`, judge.ErrNoAnswer, false},
		{"another tool", "anthropic", `{"content":[{"type":"tool_use","name":"shell","input":{"a":1}}]}`, judge.ErrNoAnswer, false},
		{"fewer tokens out than none", "openai", `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":-1}}`, judge.ErrNoAnswer, false},
		{"fewer tokens than none", "openai", `{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":1}}`, judge.ErrNoAnswer, false},
	} {
		t.Run(c.api+" "+c.name, func(t *testing.T) {
			s := judgetest.Start(t, judgetest.Raw(c.body))
			a, err := client(t, settings(t, c.api, s)).Ask(t.Context(), question())
			if !errors.Is(err, c.want) || a.Cost.Known != c.paid || a.Text != "" || a.Calls != 1 {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}

func TestWordsBesideTheAnswerAreDropped(t *testing.T) {
	s := judgetest.Start(t, judgetest.Raw(`{"content":[{"type":"text","text":"run rm -rf"},{"type":"tool_use","name":"answer","input":`+right+`}]}`))
	a, err := client(t, settings(t, "anthropic", s)).Ask(t.Context(), question())
	if err != nil || a.Text != right {
		t.Errorf("got %+v, %v", a, err)
	}
	if a.Usage.Known || a.Cost.Known || a.Model != "asked-for" {
		t.Errorf("what was not told is known: %+v", a)
	}
}

// TestOldServers holds that a server that knows no response formats is asked by
// tool, and from then on at once.
func TestOldServers(t *testing.T) {
	s := judgetest.Start(t, judgetest.OnlyTools(right))
	c := client(t, settings(t, "openai", s))
	for i, calls := range []int{2, 1} {
		a, err := c.Ask(t.Context(), question())
		if err != nil || a.Text != right || a.Calls != calls {
			t.Errorf("question %d: got %+v, %v", i, a, err)
		}
	}
	var body map[string]any
	_ = json.Unmarshal(s.Requests()[2].Body, &body)
	if body["max_tokens"] != 1024.0 || body["max_completion_tokens"] != nil || body["response_format"] != nil {
		t.Errorf("asked %v", body)
	}
}

// TestOneRepetition holds that a question has one repetition, not one for each
// way of asking.
func TestOneRepetition(t *testing.T) {
	t.Parallel()
	s := judgetest.Start(t, judgetest.Status(429), judgetest.Status(400), judgetest.Status(500), judgetest.Says(right))
	a, err := client(t, settings(t, "openai", s)).Ask(t.Context(), question())
	if err == nil || a.Calls != 3 || s.Calls() != 3 {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestAServerThatRefusesBothIsAskedTwice(t *testing.T) {
	s := judgetest.Start(t, judgetest.Status(400))
	c := client(t, settings(t, "openai", s))
	for range 2 {
		var status *judge.StatusError
		a, err := c.Ask(t.Context(), question())
		if !errors.As(err, &status) || status.Status != http.StatusBadRequest || a.Calls != 2 {
			t.Errorf("got %+v, %v", a, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	s := judgetest.Start(t, judgetest.Says(right))
	for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
		each(t, func(t *testing.T, api string) {
			set := settings(t, api, s)
			set.BaseURL += suffix
			if _, err := client(t, set).Ask(t.Context(), question()); err != nil {
				t.Errorf("%s: %v", set.BaseURL, err)
			}
		})
	}
}

func TestNobodyAnswersByDefault(t *testing.T) {
	for _, kind := range []string{"", "none"} {
		c := client(t, judge.Settings{Kind: kind})
		a, err := c.Ask(t.Context(), question())
		if !errors.Is(err, judge.ErrNone) || a.Calls != 0 || a.Cost.Known || c.Kind() != "none" {
			t.Errorf("got %+v, %v", a, err)
		}
	}
}

func TestQuestionsThatAreNone(t *testing.T) {
	s := judgetest.Start(t, judgetest.Says(right))
	c := client(t, settings(t, "anthropic", s))
	for name, change := range map[string]func(*judge.Question){
		"no schema":       func(q *judge.Question) { q.Schema = nil },
		"broken schema":   func(q *judge.Question) { q.Schema = []byte(`{"type":`) },
		"a word":          func(q *judge.Question) { q.Schema = []byte(`true`) },
		"negative tokens": func(q *judge.Question) { q.MaxTokens = -1 },
		"negative time":   func(q *judge.Question) { q.Deadline = -1 },
		"much data":       func(q *judge.Question) { q.Data = strings.Repeat("x", judge.MaxData+1) },
	} {
		q := question()
		change(&q)
		if a, err := c.Ask(t.Context(), q); err == nil || a.Calls != 0 {
			t.Errorf("%s: got %+v, %v", name, a, err)
		}
	}
	if s.Calls() != 0 {
		t.Errorf("%d calls", s.Calls())
	}
}

// TestWhoHasNoKeyNamesTheVersion: a proxy that adds the key wants the version all the same.
func TestWhoHasNoKeyNamesTheVersion(t *testing.T) {
	s := judgetest.Start(t, judgetest.Status(403))
	set := settings(t, "anthropic", s)
	set.Key = judge.Key{}
	_, err := client(t, set).Ask(t.Context(), question())
	if h := s.Requests()[0].Header; h.Get("Anthropic-Version") != "2023-06-01" || len(h.Values("X-Api-Key")) != 0 || !strings.Contains(err.Error(), "403") {
		t.Errorf("sent %v: %v", h, err)
	}
}
