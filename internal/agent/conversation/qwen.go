package conversation

import (
	"errors"
	"fmt"
	json "github.com/go-json-experiment/json/v1"
	"strings"

	"custos/internal/fleet"
)

// qwenLine is a line of ~/.qwen/projects/FOLDER/chats/SESSION.jsonl. Seen with 0.24.4.
type qwenLine struct {
	Session    string          `json:"sessionId"`
	Timestamp  string          `json:"timestamp"`
	Type       string          `json:"type"`
	Subtype    string          `json:"subtype"`
	Provenance string          `json:"provenance"`
	CWD        string          `json:"cwd"`
	Version    string          `json:"version"`
	Message    googleMessage   `json:"message"`
	Usage      json.RawMessage `json:"usageMetadata"` // missing of an answer that was interrupted
	Window     *float64        `json:"contextWindowSize"`
	Payload    struct {
		Event qwenEvent `json:"uiEvent"`
	} `json:"systemPayload"`
}

// qwenEvent is what it tells of its own requests, those of its helpers too.
type qwenEvent struct {
	Name     string   `json:"event.name"`
	At       string   `json:"event.timestamp"`
	Response string   `json:"response_id"`
	Model    string   `json:"model"`
	Status   anyInt   `json:"status_code"`
	Input    *float64 `json:"input_token_count"`
	Output   *float64 `json:"output_token_count"`
	Cached   *float64 `json:"cached_content_token_count"`
	Thoughts *float64 `json:"thoughts_token_count"`
	Total    *float64 `json:"total_token_count"`
	Helper   string   `json:"subagent_name"`
	Error    string   `json:"error_message"`
}

// googleMessage is a message in the words of Google's API, in which qwen keeps its
// conversations.
type googleMessage struct {
	Parts []struct {
		Text    string `json:"text"`
		Thought bool   `json:"thought"`
		Call    *struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
		Response *struct {
			ID       string `json:"id"`
			Response struct {
				Error json.RawMessage `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	} `json:"parts"`
}

// qwenTranscript reads a line of Qwen Code.
func qwenTranscript(line []byte) ([]Entry, error) {
	var l qwenLine
	if err := readLoosely(line, &l); err != nil {
		return nil, err
	}
	e := newEntry("")
	e.At, e.Session, e.CWD, e.Version = timeOf(l.Timestamp), shortID(l.Session), fleet.Path(clipped(l.CWD)), fleet.Line(clipped(l.Version), 40)
	switch {
	case l.Type == "":
		return nil, errors.New("it has no type")
	case l.Type == "user" && (l.Provenance == "real_user" || l.Provenance == ""):
		return l.Message.prompts(e), nil
	case l.Type == "tool_result":
		return l.Message.results(e), nil
	case l.Type == "assistant":
		return l.answered(e)
	case l.Type == "system" && l.Subtype == "ui_telemetry":
		return l.Payload.Event.entries(e)
	case l.Type == "system" && l.Subtype == "chat_compression":
		return []Entry{e.as(Compact)}, nil
	}
	return nil, nil
}

func (m googleMessage) prompts(e Entry) []Entry {
	var texts []string
	for _, p := range m.Parts {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return []Entry{e.prompted(strings.Join(texts, "\n"))}
}

func (m googleMessage) results(e Entry) (out []Entry) {
	for _, p := range m.Parts {
		if p.Response == nil {
			continue
		}
		end := e.as(ToolEnd)
		if end.CallID = shortID(p.Response.ID); len(p.Response.Response.Error) > 0 {
			end.Text = "failed"
		}
		out = append(out, end)
	}
	return out
}

// answered reads what the model answered; what that used is told by an event of its
// own, which has a name for it.
func (l qwenLine) answered(e Entry) (out []Entry, err error) {
	n, err := tokensOf(l.Window)
	if err != nil {
		return nil, fmt.Errorf("its window: %w", err)
	}
	if n[0] > 0 {
		w := e.as(Window)
		w.Window = fleet.Known(n[0])
		out = append(out, w)
	}
	calls := false
	for _, p := range l.Message.Parts {
		if p.Call == nil {
			continue
		}
		begin := e.as(ToolBegin)
		begin.Tool, begin.CallID, begin.input = shortID(p.Call.Name), shortID(p.Call.ID), p.Call.Args
		out, calls = append(out, begin), true
	}
	stop := e.as(Stop)
	if len(l.Usage) == 0 {
		stop.Text = "interrupted"
	}
	if !calls || stop.Text != "" {
		out = append(out, stop)
	}
	return out, nil
}

func (v qwenEvent) entries(e Entry) ([]Entry, error) {
	e.Side = v.Helper != ""
	switch v.Name {
	case "qwen-code.api_error":
		if e.Side {
			return nil, nil // its turn goes on
		}
		return []Entry{e.failed("", v.Error, v.Status.int())}, nil
	case "qwen-code.api_response":
		tokens, err := v.tokens()
		if err != nil {
			return nil, fmt.Errorf("its usage: %w", err)
		}
		r := e.as(Response)
		r.Key, r.Model, r.Tokens = "qwen:"+shortID(v.Response)+"@"+shortID(v.At), fleet.Line(clipped(v.Model), 100), tokens
		if !e.Side {
			r.Used = fleet.Known(tokens.Read())
		}
		return []Entry{r}, nil
	}
	return nil, nil
}

// tokens: what came from the cache is in the input, too. Of thoughts some servers tell
// within the output and some beside it: the sum of all says which.
func (v qwenEvent) tokens() (fleet.Tokens, error) {
	n, err := tokensOf(v.Input, v.Output, v.Cached, v.Thoughts, v.Total)
	if err != nil {
		return fleet.Tokens{}, err
	}
	input, output, cached, thoughts, total := n[0], n[1], n[2], n[3], n[4]
	if thoughts > 0 && (total >= input+output+thoughts || thoughts > output) {
		output += thoughts
	}
	return fleet.Tokens{Input: max(0, input-cached), CacheRead: min(cached, input), Output: output, Reasoning: min(thoughts, output)}, nil
}
