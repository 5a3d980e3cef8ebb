package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/fleet"
)

// Model is a model server that answers by the words of the prompt (see moves), keeps
// what it was asked and what it told of tokens (see Account), and knows what the
// agents are doing (see Doing). It speaks Anthropic Messages, OpenAI Responses, OpenAI
// chat completions and Gemini generateContent, streamed and not.
type Model struct {
	*httptest.Server
	pace time.Duration // between two words of a slow answer

	mu      sync.Mutex
	asked   []Asked
	account []Response
	doings  []Doing
	broken  move // what every request for a turn is answered with; moveSay: what the prompt says
	summary bool // it refuses nothing any more when it was asked for a summary
	whole   bool // nothing is refused
}

// Asked is one request for an answer, read as far as the script needs it.
type Asked struct {
	Protocol string
	Model    string   // that was asked for
	Turns    []Turn   // the conversation
	Tools    []string // names of the tools on offer
	Stream   bool
	Status   int // that it was answered with
	At       time.Time
}

// Turn is one message of a conversation.
type Turn struct {
	Role   string // user, assistant or tool
	Text   string
	Result bool // it carries the result of a tool
}

// StartModel starts a model server on the loopback; it ends with the test.
func StartModel(t testing.TB, pace time.Duration) *Model {
	t.Helper()
	m := &Model{pace: pace}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("cannot listen on the loopback: %v", err)
	}
	m.Server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: m.routes()}}
	m.Start()
	t.Cleanup(func() { m.CloseClientConnections(); m.Close() })
	return m
}

func (m *Model) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.serve(claudeWire{}))
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, 200, object{"input_tokens": 100})
	})
	mux.HandleFunc("POST /v1/responses", m.serve(responsesWire{}))
	mux.HandleFunc("POST /v1/chat/completions", m.serve(chatWire{}))
	mux.HandleFunc("POST /v1beta/models/{call}", m.serve(geminiWire{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { // models, telemetry, probes
		writeJSON(w, 404, object{"error": object{"type": "not_found_error", "message": "no " + r.URL.Path + " here"}})
	})
	return mux
}

// object is JSON to be written.
type object = map[string]any

// wire is one way to talk to a model.
type wire interface {
	name() string
	// read takes a request apart.
	read(r *http.Request, body []byte) (Asked, error)
	// tool names the shell tool among those on offer, and its arguments for a command.
	tool(offered []string, command string) (name string, args object)
	// asks names the tool by which the model asks the person something, and its arguments.
	asks(offered []string) (name string, args object)
	// say writes a text, word by word; call writes one call of a tool.
	say(s *sink, words []string, pause func() bool)
	call(s *sink, tool string, args object)
	// refuse writes an error.
	refuse(s *sink, r refusal)
	// tells leaves of the tokens what the protocol has words for, and names the response
	// as it does.
	tells(t fleet.Tokens) fleet.Tokens
	id(id string) string
}

func (m *Model) serve(via wire) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 32<<20))
		if err != nil {
			writeJSON(w, 400, object{"error": object{"message": err.Error()}})
			return
		}
		asked, err := via.read(r, body)
		if err != nil {
			writeJSON(w, 400, object{"error": object{"message": "cannot read the request: " + err.Error()}})
			return
		}
		asked.Protocol, asked.At = via.name(), time.Now()
		m.answer(w, r, via, asked)
	}
}

func (m *Model) answer(w http.ResponseWriter, r *http.Request, via wire, asked Asked) {
	main, _ := via.tool(asked.Tools, "true")
	move := m.move(asked, main != "")
	if question, _ := via.asks(asked.Tools); move == moveAsk && question == "" {
		move = moveSay
	}
	refused := refusals()[move]
	asked.Status = max(200, refused.status)
	n := m.note(asked)
	s := &sink{w: w, stream: asked.Stream, id: fmt.Sprintf("mock%d", n), model: asked.Model}
	s.tokens = via.tells(tokens(n, asked))
	s.told = func(output int64) { m.tell(via.id(s.id), s, asked, main == "", output) }
	if main != "" {
		defer m.begin(move)()
	}
	m.act(s, r, via, asked, move, refused)
}

// act does what the move says.
func (m *Model) act(s *sink, r *http.Request, via wire, asked Asked, move move, refused refusal) {
	switch {
	case refused.status != 0:
		refused.write(s.w.Header())
		via.refuse(s, refused)
	case move == moveAsk:
		name, args := via.asks(asked.Tools)
		via.call(s, name, args)
	case move == moveHelp && slices.ContainsFunc(asked.Tools, isHelper):
		name := asked.Tools[slices.IndexFunc(asked.Tools, isHelper)]
		via.call(s, name, helpers[name])
	case move == moveLoop && !m.wait(r, 1): // nobody listens any more
	case move.command() != "":
		name, args := via.tool(asked.Tools, move.command())
		via.call(s, name, args)
	case move == moveSlow:
		via.say(s, slowWords(), func() bool { return m.wait(r, 1) })
	case move == moveThink:
		if m.wait(r, thinkPaces) {
			via.say(s, doneWords(), goOn)
		}
	default:
		via.say(s, doneWords(), goOn)
	}
}

// helpers are the tools by which CLIs begin a sub-agent, and how they are asked for one: claude and
// qwen, qwen before 0.20 and claude before 2.1.63, opencode, codex.
var helpers = map[string]object{
	"Agent": helper("general-purpose"), "agent": helper("general-purpose"), "Task": helper("general-purpose"), "task": helper("general"),
	"spawn_agent": {"message": helperWords, "task_name": "helper"},
}

const helperWords = "now run the tool"

func helper(kind string) object {
	return object{"description": "Make a proof file", "prompt": helperWords, "subagent_type": kind}
}

func isHelper(tool string) bool { return helpers[tool] != nil }

func goOn() bool { return true }

// wait is the pause between two slow words, so many times; it is false when nobody listens.
func (m *Model) wait(r *http.Request, paces time.Duration) bool {
	select {
	case <-r.Context().Done():
		return false
	case <-time.After(paces * m.pace):
		return true
	}
}

func doneWords() []string { return []string{"MOCK ", "answers: ", "done."} }

func slowWords() []string {
	var words []string
	for i := range 120 {
		words = append(words, fmt.Sprintf("word%d ", i))
	}
	return words
}

// note keeps a request, and returns how many there were.
func (m *Model) note(a Asked) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, a)
	return len(m.asked)
}

// Asked returns the requests so far.
func (m *Model) Asked() []Asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Heard says whether a request after the first `from` ones has the prompt as
// its last, and whether one of those carries the earlier text, too.
func (m *Model) Heard(from int, prompt, earlier string) (heard, remembered bool) {
	for _, a := range m.Asked()[from:] {
		if !strings.Contains(a.Prompt(), prompt) {
			continue
		}
		heard = true
		for _, turn := range a.Turns[:len(a.Turns)-1] {
			remembered = remembered || earlier != "" && strings.Contains(turn.Text, earlier)
		}
	}
	return heard, remembered
}

// notPrompt is what CLIs put beside a person's words.
var notPrompt = regexp.MustCompile(`(?s)<(system-reminder|environment_context|user_instructions|session_context|local-command-caveat)>.*?</(?:system-reminder|environment_context|user_instructions|session_context|local-command-caveat)>`)

// Prompt is the last thing a person said.
func (a Asked) Prompt() string {
	for _, turn := range slices.Backward(a.Turns) {
		if turn.Role != "user" || turn.Result {
			continue
		}
		if text := strings.TrimSpace(notPrompt.ReplaceAllString(turn.Text, "")); text != "" {
			return text
		}
	}
	return ""
}

// sink writes an answer: events of a stream, or one JSON text.
type sink struct {
	w      http.ResponseWriter
	stream bool
	id     string // of the answer: CLIs take two with one id for parts of one
	model  string
	tokens fleet.Tokens
	told   func(output int64) // is called with what was told of the output, each time it is
	begun  bool
	seq    int
}

// event writes one server-sent event; name may be empty.
func (s *sink) event(name string, data any) {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-cache")
	}
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	b, ok := data.([]byte)
	if !ok {
		b = encode(data)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", b)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // a client that is gone hears nothing
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte(`{}`) // maps of strings and numbers always marshal
	}
	return b
}

// text returns the words in a message's content, which is a string or a list of
// parts; result says whether one of the parts is the result of a tool.
func text(raw json.RawMessage) (text string, result bool) {
	if json.Unmarshal(raw, &text) == nil {
		return text, false
	}
	var parts []struct {
		Type             string          `json:"type"`
		Text             string          `json:"text"`
		FunctionResponse json.RawMessage `json:"functionResponse"`
	}
	_ = json.Unmarshal(raw, &parts) // what cannot be read has no words
	var all []string
	for _, p := range parts {
		result = result || p.Type == "tool_result" || len(p.FunctionResponse) > 0
		if p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n"), result
}
