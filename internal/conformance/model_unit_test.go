package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// spoken is one protocol as the tests speak it.
type spoken struct {
	path      string
	request   string // with one %s for the turns
	user      string // a turn of a person's, with one %s
	assistant string // a turn of the model's, with one %s
	result    string // a turn with a tool's result
	tools     string
	says      string // in the stream of a text
	calls     string // in the stream of a call
	ends      string // at the end of both
}

func protocols() map[string]spoken {
	return map[string]spoken{
		"messages": {
			path:      "/v1/messages?beta=true",
			request:   `{"model":"m","stream":true,"messages":[%s],"tools":[%s]}`,
			user:      `{"role":"user","content":[{"type":"text","text":"<system-reminder>run the tool, limit</system-reminder>"},{"type":"text","text":%q}]}`,
			assistant: `{"role":"assistant","content":[{"type":"text","text":%q}]}`,
			result:    `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_mock1","content":"ok"},{"type":"text","text":"<system-reminder>slow</system-reminder>"}]}`,
			tools:     `{"name":"Read"},{"name":"Bash"}`,
			says:      `"text":"answers: "`, calls: `"name":"Bash"`, ends: "event: message_stop",
		},
		"responses": {
			path:      "/v1/responses",
			request:   `{"model":"m","stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>limit</environment_context>"}]},%s],"tools":[%s]}`,
			user:      `{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}`,
			assistant: `{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`,
			result:    `{"type":"function_call","call_id":"c"},{"type":"function_call_output","call_id":"c","output":"ok"}`,
			tools:     `{"type":"web_search"},{"type":"function","name":"exec_command"}`,
			says:      `"delta":"answers: "`, calls: `"name":"exec_command"`, ends: "event: response.completed",
		},
		"chat": {
			path:      "/v1/chat/completions",
			request:   `{"model":"m","stream":true,"messages":[{"role":"system","content":"limit"},%s],"tools":[%s]}`,
			user:      `{"role":"user","content":%q}`,
			assistant: `{"role":"assistant","content":%q}`,
			result:    `{"role":"tool","tool_call_id":"c","content":"ok"}`,
			tools:     `{"type":"function","function":{"name":"bash"}}`,
			says:      `"content":"answers: "`, calls: `"name":"bash"`, ends: "data: [DONE]",
		},
		"gemini": {
			path:      "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
			request:   `{"contents":[%s],"tools":[{"functionDeclarations":[%s]}]}`,
			user:      `{"role":"user","parts":[{"text":%q}]}`,
			assistant: `{"role":"model","parts":[{"text":%q}]}`,
			result:    `{"role":"user","parts":[{"functionResponse":{"name":"run_shell_command","response":{"output":"ok"}}}]}`,
			tools:     `{"name":"run_shell_command"}`,
			says:      `"text":"answers: "`, calls: `"functionCall"`, ends: `"finishReason":"STOP"`,
		},
	}
}

// ask sends turns to the model and returns the answer.
func (p spoken) ask(t *testing.T, m *Model, tools string, turns ...string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(p.request, strings.Join(turns, ","), tools)
	r, err := http.Post(m.URL+p.path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func (p spoken) person(text string) string { return fmt.Sprintf(p.user, text) }

// TestModelFollowsTheScript: the four moves, over each protocol.
func TestModelFollowsTheScript(t *testing.T) {
	for name, p := range protocols() {
		t.Run(name, func(t *testing.T) {
			m := StartModel(t, 0)
			status, said := p.ask(t, m, p.tools, p.person("say hello"))
			if status != 200 || !strings.Contains(said, p.says) || !strings.Contains(said, p.ends) {
				t.Errorf("say: %d %s", status, said)
			}
			status, called := p.ask(t, m, p.tools, p.person("run the tool"))
			if status != 200 || !strings.Contains(called, p.calls) || !strings.Contains(called, proof) || !strings.Contains(called, p.ends) {
				t.Errorf("call: %d %s", status, called)
			}
			if status, body := p.ask(t, m, p.tools, p.person("hit the limit")); status != 429 || !json.Valid([]byte(body)) {
				t.Errorf("limit: %d %s", status, body)
			}
			if status, slow := p.ask(t, m, p.tools, p.person("slow please")); status != 200 || !strings.Contains(slow, "word119") || !strings.Contains(slow, p.ends) {
				t.Errorf("slow: %d %s", status, slow)
			}
		})
	}
}

// TestModelCallsOnce: a result ends the script, else an agent would run the tool for ever.
func TestModelCallsOnce(t *testing.T) {
	for name, p := range protocols() {
		m := StartModel(t, 0)
		if _, said := p.ask(t, m, p.tools, p.person("run the tool"), p.result); strings.Contains(said, p.calls) || !strings.Contains(said, p.says) {
			t.Errorf("%s: after the result it said %s", name, said)
		}
	}
}

// TestModelLeavesSideRequestsAlone: what has no shell tool is the CLI's own.
func TestModelLeavesSideRequestsAlone(t *testing.T) {
	for name, p := range protocols() {
		m := StartModel(t, 0)
		if status, said := p.ask(t, m, "", p.person("find a title for: run the tool, limit")); status != 200 || !strings.Contains(said, p.says) {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
}

// TestModelRemembersWhatItHeard: the earlier words of a conversation that goes on are seen.
func TestModelRemembersWhatItHeard(t *testing.T) {
	for name, p := range protocols() {
		m := StartModel(t, 0)
		p.ask(t, m, p.tools, p.person("first words"))
		from := len(m.Asked())
		if heard, _ := m.Heard(from, "first words", ""); heard {
			t.Errorf("%s: heard again what was before", name)
		}
		p.ask(t, m, p.tools, p.person("second words"))
		if heard, remembered := m.Heard(from, "second words", "first words"); !heard || remembered {
			t.Errorf("%s: a new conversation: heard %v, remembered %v", name, heard, remembered)
		}
		p.ask(t, m, p.tools, p.person("first words"), fmt.Sprintf(p.assistant, "MOCK"), p.person("third words"))
		if heard, remembered := m.Heard(from, "third words", "first words"); !heard || !remembered {
			t.Errorf("%s: a conversation that goes on: heard %v, remembered %v", name, heard, remembered)
		}
	}
}

// TestModelSlowEndsWithItsListener: an agent that is interrupted must not hold the server.
func TestModelSlowEndsWithItsListener(t *testing.T) {
	m := StartModel(t, time.Hour)
	p := protocols()["chat"]
	body := fmt.Sprintf(p.request, p.person("slow"), p.tools)
	r, err := http.Post(m.URL+p.path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	if _, err := io.ReadFull(r.Body, buf); err != nil {
		t.Fatalf("cannot read the first word: %v", err)
	}
	r.Body.Close()
	done := make(chan struct{})
	go func() { m.CloseClientConnections(); m.Server.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the server still waits for a listener that is gone")
	}
}

// FuzzModelReads: no request breaks a reader, or the script.
func FuzzModelReads(f *testing.F) {
	for _, p := range protocols() {
		f.Add([]byte(fmt.Sprintf(p.request, p.person("run the tool")+","+p.result, p.tools)))
	}
	f.Add([]byte(`{"messages":[{"role":"user","content":3}],"input":"run the tool","contents":[{"parts":{}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/m:streamGenerateContent"} {
			m := &Model{}
			w := httptest.NewRecorder()
			m.routes().ServeHTTP(w, httptest.NewRequest("POST", path, bytes.NewReader(body)))
			if !slices.Contains([]int{200, 400, 401, 429, 500, 503, 529}, w.Code) {
				t.Errorf("%s: status %d for %q", path, w.Code, body)
			}
		}
	})
}
