package conversation

import (
	"bytes"
	"fmt"
	json "github.com/go-json-experiment/json/v1"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// What a line of an output can tell besides.
const (
	Turn      What = "turn"       // a turn began
	RateLimit What = "rate-limit" // what it knows of its limit; Limited says whether it is reached
	Retry     What = "retry"      // a request failed and is tried again
	Denied    What = "denied"     // a tool was refused for want of permission
	Error     What = "error"      // something failed; the turn may go on
	Result    What = "result"     // the turn ended
)

// Event is one thing an agent without a terminal told. What it did not
// tell is unknown.
type Event struct {
	What    What
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

// OutputLanguages are those that ReadOutput reads.
func OutputLanguages() []string { return slices.Sorted(maps.Keys(outputReaders())) }

func outputReaders() map[string]func(line []byte) ([]Event, error) {
	return map[string]func([]byte) ([]Event, error){
		"claude": claudeOutput, "codex": codexOutput, "gemini": geminiOutput, "opencode": openCodeOutput, "pi": piOutput, "qwen": qwenOutput,
	}
}

// ReadOutput reads one line that an agent without a terminal wrote; the language is that of
// its kind (headless.stream). A line that is well formed and tells nothing gives no events;
// one that is no line of the language is an error, which says nothing of the agent: tools
// and libraries print between the lines.
func ReadOutput(language string, line []byte) ([]Event, error) {
	return readLine("an output", outputReaders(), language, line)
}

// shownLine makes what a program wrote short and safe.
func shownLine(s string) string { return fleet.Line(fleet.Redact(fleet.Text(clipped(s))), 200) }

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

// newEvent returns an event of which nothing is known but what it is.
func newEvent(what What, session string) Event {
	return Event{What: what, Session: shortID(session), Cost: dollars(nil), Tokens: untold()}
}

func claudeOutput(line []byte) ([]Event, error) {
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
	if err := unmarshal(line, &l); err != nil {
		return nil, err
	}
	switch {
	case l.Type == "system" && l.Subtype == "init":
		return []Event{newEvent(Session, l.Session), newEvent(Turn, l.Session)}, nil
	case l.Type == "system" && l.Subtype == "api_retry":
		e := newEvent(Retry, l.Session)
		e.Error = FailureOf(l.Status.int(), l.Text)
		return []Event{e}, nil
	case l.Type == "assistant":
		return append(l.Message.used(l.Session, l.Parent != ""), claudeTools(l.Session, l.Message.Content)...), nil
	case l.Type == "user":
		return claudeTools(l.Session, l.Message.Content), nil
	case l.Type == "rate_limit_event" && l.Limit != nil:
		e := newEvent(RateLimit, l.Session)
		e.Limited, e.Until, e.Text = l.Limit.Status == "rejected", Epoch(l.Limit.Resets), shownLine(l.Limit.Status)
		return []Event{e}, nil
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

func (r claudeResult) events(session, subtype string) []Event {
	var out []Event
	for _, d := range r.Denials[:min(len(r.Denials), 20)] {
		e := newEvent(Denied, session)
		e.Tool, e.CallID, e.Args = shortID(d.Tool), shortID(d.CallID), shownLine(string(d.Input))
		out = append(out, e)
	}
	e := newEvent(Result, session)
	e.OK = !r.IsError && subtype == "success"
	e.Text = shownLine(r.Text)
	e.Cost, e.Tokens = r.spent()
	switch {
	case e.OK:
	case strings.HasPrefix(subtype, "error_max"):
		e.Error = "limit" // of turns or money, set by what started it
	default:
		e.Error = FailureOf(r.Status.int(), r.Text)
	}
	return append(out, e)
}

func claudeTools(session string, content json.RawMessage) []Event {
	var out []Event
	for _, b := range claudeBlocks(content) {
		switch b.Type {
		case "tool_use":
			e := newEvent(ToolBegin, session)
			e.Tool, e.CallID, e.Args = shortID(b.Name), shortID(b.ID), shownLine(string(b.Input))
			out = append(out, e)
		case "tool_result":
			e := newEvent(ToolEnd, session)
			e.CallID, e.OK = shortID(b.UseID), !b.IsError
			out = append(out, e)
		}
	}
	return out
}

func codexOutput(line []byte) ([]Event, error) {
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
	if err := unmarshal(line, &l); err != nil {
		return nil, err
	}
	switch l.Type {
	case "thread.started":
		return []Event{newEvent(Session, l.Thread)}, nil
	case "turn.started":
		return []Event{newEvent(Turn, "")}, nil
	case "turn.completed", "turn.failed":
		e := newEvent(Result, "")
		e.OK, e.Tokens = l.Type == "turn.completed", told(l.Usage.tokens()) // of the whole conversation, earlier runs too
		if !e.OK {
			e.Text, e.Error = shownLine(l.Error.Message), FailureOf(0, l.Error.Message)
		}
		return []Event{e}, nil
	case "error":
		e := newEvent(Error, "")
		e.Text, e.Error = shownLine(l.Message), FailureOf(0, l.Message)
		return []Event{e}, nil
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

func (i codexItem) events(done bool) []Event {
	switch i.Type {
	case "command_execution", "mcp_tool_call", "file_change", "web_search":
	default:
		return nil // words
	}
	e := newEvent(ToolBegin, "")
	e.Tool, e.CallID, e.Args = shortID(i.Type), shortID(i.ID), shownLine(i.Command)
	if i.Tool != "" {
		e.Tool = shortID(i.Tool)
	}
	if done {
		e.What, e.OK = ToolEnd, i.Status != "failed" && (i.Exit == nil || *i.Exit == 0)
		if i.Status == "declined" {
			e.What, e.OK = Denied, false
		}
	}
	return []Event{e}
}

func geminiOutput(line []byte) ([]Event, error) {
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
	if err := unmarshal(line, &l); err != nil {
		return nil, err
	}
	e := newEvent("", l.Session)
	switch l.Type {
	case "init":
		return []Event{newEvent(Session, l.Session), newEvent(Turn, l.Session)}, nil
	case "tool_use":
		e.What, e.Tool, e.CallID, e.Args = ToolBegin, shortID(l.Tool), shortID(l.CallID), shownLine(string(l.Args))
	case "tool_result":
		e.What, e.CallID, e.OK = ToolEnd, shortID(l.CallID), l.Status == "success"
	case "error":
		e.What, e.Text, e.Error = Error, shownLine(l.Message), FailureOf(0, l.Message)
	case "result":
		e.What, e.OK = Result, l.Status == "success"
		e.Tokens = l.Stats.tokens()
		if !e.OK {
			e.Text, e.Error = shownLine(l.Error.Message), FailureOf(0, l.Error.Type+" "+l.Error.Message)
		}
	case "":
		return nil, fmt.Errorf("it has no type")
	default:
		return nil, nil
	}
	return []Event{e}, nil
}

func openCodeOutput(line []byte) ([]Event, error) {
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
	if err := unmarshal(line, &l); err != nil {
		return nil, err
	}
	switch l.Type {
	case "step_start":
		return []Event{newEvent(Session, l.Session), newEvent(Turn, l.Session)}, nil
	case "tool_use", "step_finish":
		return l.Part.events(l.Type, l.Session), nil
	case "error":
		e := newEvent(Result, l.Session)
		e.Text, e.Error = shownLine(l.Error.Data.Message), FailureOf(l.Error.Data.Status.int(), l.Error.Name+" "+l.Error.Data.Message)
		return []Event{e}, nil
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
func (p openCodePart) events(what, session string) []Event {
	if what == "tool_use" {
		e := newEvent(ToolEnd, session)
		e.OK = p.State.Status == "completed"
		e.Tool, e.CallID, e.Args = shortID(p.Tool), shortID(p.CallID), shownLine(string(p.State.Input))
		return []Event{e}
	}
	r := newEvent(Response, session)
	r.Key, r.Tokens, r.Cost = "opencode:"+shortID(p.ID), told(p.Tokens.tokens()), ownPrice(p.Cost)
	if p.Reason == "tool-calls" {
		return []Event{r}
	}
	e := newEvent(Result, session)
	e.OK = true
	return []Event{r, e}
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

// Epoch reads seconds since 1970; milliseconds too, which are told by their size.
func Epoch(n *float64) time.Time {
	switch {
	case n == nil || *n < 1e9 || *n > 1e13:
		return time.Time{}
	case *n > 1e11:
		return time.UnixMilli(int64(*n)).UTC()
	}
	return time.UnixMilli(int64(*n * 1000)).UTC()
}

// Hook returns what an event of a stream is as a hook event, so that agents with
// and without a terminal are read by one rule; ok is false for one that has no
// such meaning. Times and identity are the caller's to fill in.
func (e Event) Hook(kind string, at fleet.Instant) (h fleet.HookEvent, ok bool) {
	h = fleet.HookEvent{Kind: kind, At: at, Session: e.Session, Tool: e.Tool, CallID: e.CallID, Args: e.Args, Text: e.Text,
		Context: fleet.Unknown[float64]("not told")}
	switch {
	case e.What == Session:
		h.Event = fleet.HookSessionStart
	case e.What == Turn:
		h.Event = fleet.HookPrompt
	case e.What == ToolBegin:
		h.Event = fleet.HookToolBegin
	case e.What == ToolEnd, e.What == Denied:
		h.Event = fleet.HookToolEnd
	case e.What == RateLimit && e.Limited:
		h.Event, h.Text = fleet.HookFailure, "rate_limit"
		if !e.Until.IsZero() {
			h.Until = at.Add(e.Until.Sub(at.Wall))
		}
	case e.What == Result && e.OK:
		h.Event, h.Text = fleet.HookStop, ""
	case e.What == Result && e.Error != "":
		h.Event, h.Text = fleet.HookFailure, e.Error
		if until := limitReset(e.Text, at.Wall); e.Error == "rate_limit" && until.After(at.Wall) {
			h.Until = at.Add(until.Sub(at.Wall))
		}
	case e.What == Result:
		h.Event = fleet.HookStop
	default:
		return fleet.HookEvent{}, false
	}
	return h, true
}
