// Package judgetest gives tests a judge: an HTTP server that speaks the
// Anthropic Messages API and OpenAI chat completions, answers by a script, counts
// its calls, and remembers what it was asked.
//
// The first is as anthropics/anthropic-sdk-go has it, which is made from the API's own
// description: message.go (015e8bc), and internal/requestconfig (0006a88) for the version
// that each request names. A request without one is refused with 400 (docs.anthropic.com,
// api/versioning). The second is as openai/openai-go v3 has it, chatcompletion.go
// (015fe52), made in the same way.
package judgetest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Key is the key that the judge insists on: in X-Api-Key, or as a bearer.
const Key = "sk-judgetest-0123456789abcdef"

// Request is one question as it arrived.
type Request struct {
	API    string // anthropic or openai
	Model  string
	System string
	Data   string // the user's message
	Schema string // JSON schema of the answer
	By     string // how the answer is wanted: tool or format
	Header http.Header
	Body   []byte
}

// Server is a judge. Each call takes the next reply of the script; the last one
// is for all that come after.
type Server struct {
	URL  string // base URL: settings take it for either API
	quit chan struct{}

	mu     sync.Mutex
	script []Reply
	asked  []Request
}

// Start starts a judge on the loopback; it ends with the test, with whoever
// still waits for it.
func Start(t testing.TB, script ...Reply) *Server {
	t.Helper()
	s := &Server{script: script, quit: make(chan struct{})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("cannot listen on the loopback: %v", err)
	}
	web := &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.routes()}}
	web.Start()
	s.URL = web.URL
	t.Cleanup(func() {
		close(s.quit)
		web.CloseClientConnections()
		web.Close()
	})
	return s
}

// Script replaces what is left of the script.
func (s *Server) Script(script ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Calls is how many requests arrived.
func (s *Server) Calls() int { return len(s.Requests()) }

// Requests are all that arrived, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serve("anthropic"))
	mux.HandleFunc("POST /v1/chat/completions", s.serve("openai"))
	return mux
}

func (s *Server) serve(api string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 32<<20))
		if err != nil {
			complain(w, http.StatusBadRequest, "cannot read the request: "+err.Error())
			return
		}
		q := read(api, body)
		q.Header = r.Header.Clone()
		reply := s.next(q)
		if api == "anthropic" && r.Header.Get("Anthropic-Version") != "2023-06-01" {
			complain(w, http.StatusBadRequest, "anthropic-version: header is required")
			return
		}
		if reply.open || r.Header.Get("X-Api-Key") == Key || r.Header.Get("Authorization") == "Bearer "+Key {
			reply.send(s, w, r, q)
			return
		}
		complain(w, http.StatusUnauthorized, "invalid x-api-key")
	}
}

func (s *Server) next(q Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	if len(s.script) == 0 {
		return Status(http.StatusTeapot)
	}
	reply := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	return reply
}

// read takes a request of either API apart, as far as it can be.
func read(api string, body []byte) Request {
	q := Request{API: api, Body: body}
	var in struct {
		Model    string `json:"model"`
		System   string `json:"system"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Schema   json.RawMessage `json:"input_schema"`
			Function struct {
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		Format struct {
			JSON struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	_ = json.Unmarshal(body, &in)
	q.Model, q.System, q.By, q.Schema = in.Model, in.System, "format", string(in.Format.JSON.Schema)
	for _, m := range in.Messages {
		if m.Role == "system" {
			q.System = m.Content
		} else {
			q.Data += m.Content
		}
	}
	for _, t := range in.Tools {
		q.By, q.Schema = "tool", string(t.Schema)+string(t.Function.Parameters)
	}
	return q
}
