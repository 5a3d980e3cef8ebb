package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// streamLimit is the longest line of a stream that is read, in bytes: a line
// holds a whole answer, or the result of a tool.
const streamLimit = 8 << 20

// StreamWhat is what a line of a stream tells.
type StreamWhat string

// What a line can tell.
const (
	StreamSession   StreamWhat = "session"    // the conversation began, or goes on
	StreamTurn      StreamWhat = "turn"       // a turn began
	StreamToolBegin StreamWhat = "tool-begin" //
	StreamToolEnd   StreamWhat = "tool-end"   //
	StreamRateLimit StreamWhat = "rate-limit" // what it knows of its limit; Limited says whether it is reached
	StreamRetry     StreamWhat = "retry"      // a request failed and is tried again
	StreamDenied    StreamWhat = "denied"     // a tool was refused for want of permission
	StreamResponse  StreamWhat = "response"   // the model answered, or a part of it; Tokens is what that used
	StreamError     StreamWhat = "error"      // something failed; the turn may go on
	StreamResult    StreamWhat = "result"     // the turn ended
)

// StreamEvent is one thing an agent without a terminal told. What it did not
// tell is unknown.
type StreamEvent struct {
	What    StreamWhat
	Session string
	OK      bool   // of a result, of a tool's end
	Limited bool   // of a rate limit: nothing more goes through until Until
	Error   string // rate_limit, authentication, billing, context, server_error, limit, or "" when it is none of them
	Text    string // error, or end of the answer: one line, redacted, at most 200 runes
	Tool    string
	CallID  string
	Args    string    // redacted, at most 200 runes
	Until   time.Time // of a rate limit; zero when not told

	Cost   fleet.Leaf[float64]      // of a result: dollars, of all that it was for so far
	Tokens fleet.Leaf[fleet.Tokens] // of a response; of a result: of all answers so far, its helpers' too
	Key    string                   // of a response: the same as in its transcript; empty where the two do not name it alike
	Model  string                   // of a response: that answered; empty where that is not told
	Side   bool                     // of a response: of a sub-agent
}

// streams lists the languages ParseStream reads.
func streams() []string { return slices.Sorted(maps.Keys(streamReaders())) }

func streamReaders() map[string]func(line []byte) ([]StreamEvent, error) {
	return map[string]func([]byte) ([]StreamEvent, error){
		"claude": readClaude, "codex": readCodex, "gemini": readGemini, "opencode": readOpenCode, "pi": readPi, "qwen": readQwen,
	}
}

// ParseStream reads one line that an agent of the kind wrote without a terminal.
// A line that is well formed and tells nothing gives no events; one that is no
// line of the language is an error, which says nothing of the agent: tools and
// libraries print between the lines.
func ParseStream(k Kind, line []byte) ([]StreamEvent, error) {
	language := k.Headless.Stream
	read, ok := streamReaders()[language]
	if !ok {
		return nil, fmt.Errorf("cannot read the output of %s: it is in no language that is known", k.Name)
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil, nil
	}
	if len(line) > streamLimit {
		return nil, fmt.Errorf("cannot read a line of %s: more than %d bytes", k.Name, streamLimit)
	}
	events, err := read(line)
	if err != nil {
		return nil, fmt.Errorf("cannot read a line of %s: %w", k.Name, err)
	}
	return events, nil
}

// streamText makes what a program wrote short and safe.
func streamText(s string) string { return fleet.Line(fleet.Redact(fleet.Text(clipped(s))), 200) }

// clipped keeps texts that are far too long from being worked on whole.
func clipped(s string) string { return s[:min(len(s), 4096)] }

func shortID(s string) string { return fleet.Line(clipped(s), 128) }

func dollars(n *float64) fleet.Leaf[float64] {
	if n == nil || *n < 0 || *n > 1e9 {
		return fleet.Unknown[float64]("not told")
	}
	return fleet.Known(*n)
}

// ownPrice is what a CLI says that an answer cost by prices that it has itself. It says 0
// of a model that it has no price of.
func ownPrice(n *float64) fleet.Leaf[float64] {
	if n != nil && *n == 0 {
		return dollars(nil)
	}
	return dollars(n)
}

// micros are the same in millionths of a dollar; 0 where nothing is told.
func micros(n *float64) int64 {
	usd, _ := ownPrice(n).Get()
	return int64(math.Round(usd * 1e6))
}

// streamEvent returns an event of which nothing is known but what it is.
func streamEvent(what StreamWhat, session string) StreamEvent {
	return StreamEvent{What: what, Session: shortID(session), Cost: dollars(nil), Tokens: untold()}
}

// failureName names an error by its HTTP status, or else by the words that CLIs use.
func failureName(status int, text string) string {
	switch {
	case status == 429:
		return "rate_limit"
	case status == 401, status == 403:
		return "authentication"
	case status == 402:
		return "billing"
	case status >= 500:
		return "server_error"
	}
	text = strings.ToLower(clipped(text))
	for _, c := range []struct{ name, words string }{
		{"rate_limit", "rate limit|rate_limit|429|usage limit|session limit|too many requests|quota"},
		{"authentication", "unauthorized|authentication|invalid api key|invalid x-api-key|401|oauth token|please run /login"},
		{"billing", "billing|credit balance|payment required|402"},
		{"context", "prompt is too long|context limit|context window|context length"},
		{"server_error", "overloaded|high demand|server error|server_error|500|502|503|529"},
	} {
		for word := range strings.SplitSeq(c.words, "|") {
			if strings.Contains(text, word) {
				return c.name
			}
		}
	}
	return ""
}

func readClaude(line []byte) ([]StreamEvent, error) {
	var l struct {
		Type    string       `json:"type"`
		Subtype string       `json:"subtype"`
		Session string       `json:"session_id"`
		Parent  string       `json:"parent_tool_use_id"`
		Message claudeAnswer `json:"message"`
		Limit   *struct {
			Status string   `json:"status"`
			Resets *float64 `json:"resetsAt"`
		} `json:"rate_limit_info"`
		claudeResult
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	switch {
	case l.Type == "system" && l.Subtype == "init":
		return []StreamEvent{streamEvent(StreamSession, l.Session), streamEvent(StreamTurn, l.Session)}, nil
	case l.Type == "system" && l.Subtype == "api_retry":
		e := streamEvent(StreamRetry, l.Session)
		e.Error = failureName(l.Status.int(), l.Text)
		return []StreamEvent{e}, nil
	case l.Type == "assistant":
		return append(l.Message.used(l.Session, l.Parent != ""), claudeTools(l.Session, l.Message.Content)...), nil
	case l.Type == "user":
		return claudeTools(l.Session, l.Message.Content), nil
	case l.Type == "rate_limit_event" && l.Limit != nil:
		e := streamEvent(StreamRateLimit, l.Session)
		e.Limited, e.Until, e.Text = l.Limit.Status == "rejected", epoch(l.Limit.Resets), streamText(l.Limit.Status)
		return []StreamEvent{e}, nil
	case l.Type == "result":
		return l.events(l.Session, l.Subtype), nil
	case l.Type == "":
		return nil, fmt.Errorf("it has no type")
	}
	return nil, nil
}

// claudeResult is the last line of a turn. Its subtype says success even where
// the API refused the request: is_error counts.
type claudeResult struct {
	Text    string                      `json:"result"`
	IsError bool                        `json:"is_error"`
	Status  anyInt                      `json:"api_error_status"`
	Cost    *float64                    `json:"total_cost_usd"`
	Usage   json.RawMessage             `json:"usage"`
	Models  map[string]claudeModelUsage `json:"modelUsage"`
	Denials []struct {
		Tool   string          `json:"tool_name"`
		CallID string          `json:"tool_use_id"`
		Input  json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
}

func (r claudeResult) events(session, subtype string) []StreamEvent {
	var out []StreamEvent
	for _, d := range r.Denials[:min(len(r.Denials), 20)] {
		e := streamEvent(StreamDenied, session)
		e.Tool, e.CallID, e.Args = shortID(d.Tool), shortID(d.CallID), streamText(string(d.Input))
		out = append(out, e)
	}
	e := streamEvent(StreamResult, session)
	e.OK = !r.IsError && subtype == "success"
	e.Text = streamText(r.Text)
	e.Cost, e.Tokens = r.spent()
	switch {
	case e.OK:
	case strings.HasPrefix(subtype, "error_max"):
		e.Error = "limit" // of turns or money, set by what started it
	default:
		e.Error = failureName(r.Status.int(), r.Text)
	}
	return append(out, e)
}

func claudeTools(session string, content json.RawMessage) []StreamEvent {
	var blocks []struct {
		Type    string          `json:"type"`
		ID      string          `json:"id"`
		UseID   string          `json:"tool_use_id"`
		Name    string          `json:"name"`
		Input   json.RawMessage `json:"input"`
		IsError bool            `json:"is_error"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil // a plain text
	}
	var out []StreamEvent
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			e := streamEvent(StreamToolBegin, session)
			e.Tool, e.CallID, e.Args = shortID(b.Name), shortID(b.ID), streamText(string(b.Input))
			out = append(out, e)
		case "tool_result":
			e := streamEvent(StreamToolEnd, session)
			e.CallID, e.OK = shortID(b.UseID), !b.IsError
			out = append(out, e)
		}
	}
	return out
}

func readCodex(line []byte) ([]StreamEvent, error) {
	var l struct {
		Type   string    `json:"type"`
		Thread string    `json:"thread_id"`
		Usage  codexTold `json:"usage"`
		Error  struct {
			Message string `json:"message"`
		} `json:"error"`
		Message string    `json:"message"`
		Item    codexItem `json:"item"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	switch l.Type {
	case "thread.started":
		return []StreamEvent{streamEvent(StreamSession, l.Thread)}, nil
	case "turn.started":
		return []StreamEvent{streamEvent(StreamTurn, "")}, nil
	case "turn.completed", "turn.failed":
		e := streamEvent(StreamResult, "")
		e.OK, e.Tokens = l.Type == "turn.completed", told(l.Usage.tokens()) // of the whole conversation, earlier runs too
		if !e.OK {
			e.Text, e.Error = streamText(l.Error.Message), failureName(0, l.Error.Message)
		}
		return []StreamEvent{e}, nil
	case "error":
		e := streamEvent(StreamError, "")
		e.Text, e.Error = streamText(l.Message), failureName(0, l.Message)
		return []StreamEvent{e}, nil
	case "item.started", "item.completed":
		return l.Item.events(l.Type == "item.completed"), nil
	case "":
		return nil, fmt.Errorf("it has no type")
	}
	return nil, nil
}

type codexItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Tool    string `json:"tool"`
	Status  string `json:"status"`
	Exit    *int   `json:"exit_code"`
}

func (i codexItem) events(done bool) []StreamEvent {
	switch i.Type {
	case "command_execution", "mcp_tool_call", "file_change", "web_search":
	default:
		return nil // words
	}
	e := streamEvent(StreamToolBegin, "")
	e.Tool, e.CallID, e.Args = shortID(i.Type), shortID(i.ID), streamText(i.Command)
	if i.Tool != "" {
		e.Tool = shortID(i.Tool)
	}
	if done {
		e.What, e.OK = StreamToolEnd, i.Status != "failed" && (i.Exit == nil || *i.Exit == 0)
		if i.Status == "declined" {
			e.What, e.OK = StreamDenied, false
		}
	}
	return []StreamEvent{e}
}

func readGemini(line []byte) ([]StreamEvent, error) {
	var l struct {
		Type    string          `json:"type"`
		Session string          `json:"session_id"`
		Tool    string          `json:"tool_name"`
		CallID  string          `json:"tool_id"`
		Args    json.RawMessage `json:"parameters"`
		Status  string          `json:"status"`
		Message string          `json:"message"`
		Error   struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
		Stats geminiStats `json:"stats"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	e := streamEvent("", l.Session)
	switch l.Type {
	case "init":
		return []StreamEvent{streamEvent(StreamSession, l.Session), streamEvent(StreamTurn, l.Session)}, nil
	case "tool_use":
		e.What, e.Tool, e.CallID, e.Args = StreamToolBegin, shortID(l.Tool), shortID(l.CallID), streamText(string(l.Args))
	case "tool_result":
		e.What, e.CallID, e.OK = StreamToolEnd, shortID(l.CallID), l.Status == "success"
	case "error":
		e.What, e.Text, e.Error = StreamError, streamText(l.Message), failureName(0, l.Message)
	case "result":
		e.What, e.OK = StreamResult, l.Status == "success"
		e.Tokens = l.Stats.tokens()
		if !e.OK {
			e.Text, e.Error = streamText(l.Error.Message), failureName(0, l.Error.Type+" "+l.Error.Message)
		}
	case "":
		return nil, fmt.Errorf("it has no type")
	default:
		return nil, nil
	}
	return []StreamEvent{e}, nil
}

func readOpenCode(line []byte) ([]StreamEvent, error) {
	var l struct {
		Type    string       `json:"type"`
		Session string       `json:"sessionID"`
		Part    openCodePart `json:"part"`
		Error   struct {
			Name string `json:"name"`
			Data struct {
				Message string `json:"message"`
				Status  anyInt `json:"statusCode"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	switch l.Type {
	case "step_start":
		return []StreamEvent{streamEvent(StreamSession, l.Session), streamEvent(StreamTurn, l.Session)}, nil
	case "tool_use", "step_finish":
		return l.Part.events(l.Type, l.Session), nil
	case "error":
		e := streamEvent(StreamResult, l.Session)
		e.Text, e.Error = streamText(l.Error.Data.Message), failureName(l.Error.Data.Status.int(), l.Error.Name+" "+l.Error.Data.Message)
		return []StreamEvent{e}, nil
	case "":
		return nil, fmt.Errorf("it has no type")
	}
	return nil, nil
}

type openCodePart struct {
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  struct {
		Status string          `json:"status"`
		Input  json.RawMessage `json:"input"`
	} `json:"state"`
	Reason string         `json:"reason"`
	Cost   *float64       `json:"cost"`
	Tokens openCodeTokens `json:"tokens"`
}

// events: a step is one answer of the model. One that ends for a tool is no end of the turn.
func (p openCodePart) events(what, session string) []StreamEvent {
	if what == "tool_use" {
		e := streamEvent(StreamToolEnd, session)
		e.OK = p.State.Status == "completed"
		e.Tool, e.CallID, e.Args = shortID(p.Tool), shortID(p.CallID), streamText(string(p.State.Input))
		return []StreamEvent{e}
	}
	r := streamEvent(StreamResponse, session)
	r.Key, r.Tokens, r.Cost = "opencode:"+shortID(p.ID), told(p.Tokens.tokens()), ownPrice(p.Cost)
	if p.Reason == "tool-calls" {
		return []StreamEvent{r}
	}
	e := streamEvent(StreamResult, session)
	e.OK = true
	return []StreamEvent{r, e}
}

// anyInt is a number, or a number in quotes, or nothing.
type anyInt json.RawMessage

func (n *anyInt) UnmarshalJSON(b []byte) error {
	*n = append((*n)[:0], b...)
	return nil
}

func (n anyInt) int() int {
	var f float64
	if json.Unmarshal(bytes.Trim(n, `"`), &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1e6 {
		return 0
	}
	return int(f)
}

// epoch reads seconds since 1970; milliseconds too, which are told by their size.
func epoch(n *float64) time.Time {
	switch {
	case n == nil || *n < 1e9 || *n > 1e13:
		return time.Time{}
	case *n > 1e11:
		return time.UnixMilli(int64(*n)).UTC()
	}
	return time.Unix(int64(*n), 0).UTC()
}

// Hook returns what an event of a stream is as a hook event, so that agents with
// and without a terminal are read by one rule; ok is false for one that has no
// such meaning. Times and identity are the caller's to fill in.
func (e StreamEvent) Hook(kind string, at fleet.Instant) (h fleet.HookEvent, ok bool) {
	h = fleet.HookEvent{Kind: kind, At: at, Session: e.Session, Tool: e.Tool, CallID: e.CallID, Args: e.Args, Text: e.Text,
		Context: fleet.Unknown[float64]("not told")}
	switch {
	case e.What == StreamSession:
		h.Event = fleet.HookSessionStart
	case e.What == StreamTurn:
		h.Event = fleet.HookPrompt
	case e.What == StreamToolBegin:
		h.Event = fleet.HookToolBegin
	case e.What == StreamToolEnd, e.What == StreamDenied:
		h.Event = fleet.HookToolEnd
	case e.What == StreamRateLimit && e.Limited:
		h.Event, h.Text = fleet.HookFailure, "rate_limit"
		if !e.Until.IsZero() {
			h.Until = at.Add(e.Until.Sub(at.Wall))
		}
	case e.What == StreamResult && e.OK:
		h.Event, h.Text = fleet.HookStop, ""
	case e.What == StreamResult && e.Error != "":
		h.Event, h.Text = fleet.HookFailure, e.Error
		if until := limitReset(e.Text, at.Wall); e.Error == "rate_limit" && until.After(at.Wall) {
			h.Until = at.Add(until.Sub(at.Wall))
		}
	case e.What == StreamResult:
		h.Event = fleet.HookStop
	default:
		return fleet.HookEvent{}, false
	}
	return h, true
}
