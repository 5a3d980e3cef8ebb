package conversation

import (
	"errors"
	"fmt"
	json "github.com/go-json-experiment/json/v1"
	"strconv"

	"custos/internal/fleet"
)

// piLine is a line of ~/.pi/agent/sessions/FOLDER/TIME_SESSION.jsonl. Seen with 0.73.1.
// A conversation that was forked repeats the lines of the first one.
type piLine struct {
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	Timestamp string    `json:"timestamp"`
	CWD       string    `json:"cwd"`
	Message   piMessage `json:"message"`
}

// piMessage is a message as pi writes it down, and as it prints it.
type piMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Model     string          `json:"model"`
	Answered  string          `json:"responseModel"`
	Response  string          `json:"responseId"`
	Usage     piUsage         `json:"usage"`
	Stop      string          `json:"stopReason"`
	Error     string          `json:"errorMessage"`
	Timestamp float64         `json:"timestamp"`
	CallID    string          `json:"toolCallId"`
	Failed    bool            `json:"isError"`
}

type piUsage struct {
	Input      *float64 `json:"input"`
	Output     *float64 `json:"output"`
	CacheRead  *float64 `json:"cacheRead"`
	CacheWrite *float64 `json:"cacheWrite"`
	Cost       struct {
		Total *float64 `json:"total"`
	} `json:"cost"`
}

// piTranscript reads a line of pi.
func piTranscript(line []byte) ([]Entry, error) {
	var l piLine
	if err := readLoosely(line, &l); err != nil {
		return nil, err
	}
	e := newEntry("")
	e.At = timeOf(l.Timestamp)
	switch l.Type {
	case "":
		return nil, errors.New("it has no type")
	case "session":
		e.Session, e.CWD = shortID(l.ID), fleet.Path(clipped(l.CWD))
		return []Entry{e.as(Session)}, nil
	case "compaction":
		return []Entry{e.as(Compact)}, nil
	case "message":
		return l.Message.entries(e)
	}
	return nil, nil
}

// readLoosely reads an object of which newer versions may write some fields otherwise:
// those are left out.
func readLoosely[T any](line []byte, into *T) error {
	if len(line) == 0 || line[0] != '{' {
		return errors.New("it is no JSON object")
	}
	var mismatch *json.UnmarshalTypeError
	if err := unmarshal(line, into); err != nil && !errors.As(err, &mismatch) {
		return err
	}
	return nil
}

func (m piMessage) entries(e Entry) ([]Entry, error) {
	switch m.Role {
	case "user":
		if text, ok := words(m.Content, isClaudeText); ok {
			return []Entry{e.prompted(text)}, nil
		}
	case "toolResult":
		end := e.as(ToolEnd)
		if end.CallID = shortID(m.CallID); m.Failed {
			end.Text = "failed"
		}
		return []Entry{end}, nil
	case "assistant":
		return m.answered(e)
	}
	return nil, nil
}

// answered reads an answer. One that failed names no tokens: nothing is known of what
// it used, which is not that it used nothing.
func (m piMessage) answered(e Entry) (out []Entry, err error) {
	tokens, err := m.Usage.tokens()
	if err != nil {
		return nil, err
	}
	if tokens.All() > 0 {
		r := e.as(Response)
		r.Key, r.Model, r.Tokens, r.Used, r.Cost = m.key(), m.model(), tokens, fleet.Known(tokens.Read()), micros(m.Usage.Cost.Total)
		out = append(out, r)
	}
	for _, b := range piCalls(m.Content) {
		begin := e.as(ToolBegin)
		begin.Tool, begin.CallID, begin.input = shortID(b.Name), shortID(b.ID), b.Args
		out = append(out, begin)
	}
	switch m.Stop {
	case "error":
		out = append(out, e.failed("", m.Error, leadingStatus(m.Error)))
	case "aborted":
		stop := e.as(Stop)
		stop.Text = "interrupted"
		out = append(out, stop)
	case "stop", "length":
		out = append(out, e.as(Stop))
	}
	return out, nil
}

// key names the answer in both of its sources, and in copies of the conversation. A
// small server of models may name two of its answers alike: the time tells them apart.
func (m piMessage) key() string {
	return "pi:" + strconv.FormatInt(int64(min(max(m.Timestamp, 0), 1e15)), 10) + "/" + shortID(m.Response)
}

// model is the one that answered, where that is told.
func (m piMessage) model() string {
	if m.Answered != "" {
		return fleet.Line(clipped(m.Answered), 100)
	}
	return fleet.Line(clipped(m.Model), 100)
}

func (u piUsage) tokens() (fleet.Tokens, error) {
	n, err := tokensOf(u.Input, u.Output, u.CacheRead, u.CacheWrite)
	if err != nil {
		return fleet.Tokens{}, fmt.Errorf("its usage: %w", err)
	}
	return fleet.Tokens{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite5m: n[3]}, nil
}

type piCall struct {
	Type string          `json:"type"`
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"arguments"`
}

func piCalls(content json.RawMessage) (calls []piCall) {
	var all []piCall
	_ = unmarshal(content, &all) // a plain text calls nothing
	for _, c := range all {
		if c.Type == "toolCall" {
			calls = append(calls, c)
		}
	}
	return calls
}

// leadingStatus is the HTTP status that a message begins with; 0 where there is none.
func leadingStatus(text string) int {
	if len(text) < 3 || len(text) > 3 && text[3] >= '0' && text[3] <= '9' {
		return 0
	}
	if n, err := strconv.Atoi(text[:3]); err == nil && n >= 400 && n < 600 {
		return n
	}
	return 0
}
