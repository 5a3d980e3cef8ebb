package conversation

import (
	"errors"
	json "github.com/go-json-experiment/json/v1"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// codexLine is a line of ~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl. Seen with
// 0.169.0; older versions tell prompts as user_message, and tokens by token_count alone.
type codexLine struct {
	Timestamp string       `json:"timestamp"`
	Type      string       `json:"type"`
	Payload   codexPayload `json:"payload"`
}

type codexPayload struct {
	Type string `json:"type"`

	// Of session_meta, turn_context.
	ID      string          `json:"id"`
	CWD     string          `json:"cwd"`
	Version string          `json:"cli_version"`
	Source  json.RawMessage `json:"source"` // a word; of a sub-agent, an object
	Thread  string          `json:"thread_source"`
	Model   string          `json:"model"`

	// Of token_usage_record, token_count.
	ThreadID string          `json:"thread_id"`
	Response string          `json:"response_id"`
	Usage    *codexTold      `json:"usage"`
	Info     *codexTokenInfo `json:"info"`
	Limits   *codexLimits    `json:"rate_limits"`
	Window   *float64        `json:"model_context_window"`

	// Of prompts, tools, ends of turns.
	Message string          `json:"message"`
	Item    codexSaid       `json:"item"`
	Name    string          `json:"name"`
	CallID  string          `json:"call_id"`
	Args    json.RawMessage `json:"arguments"`
	Input   json.RawMessage `json:"input"`
	Action  json.RawMessage `json:"action"`
	Reason  string          `json:"reason"`
	Error   *struct {
		Message string          `json:"message"`
		Info    json.RawMessage `json:"codex_error_info"`
	} `json:"error"`
}

type codexSaid struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

// codexTranscript reads a line of Codex.
func codexTranscript(line []byte) ([]Entry, error) {
	var l codexLine
	if err := readLoosely(line, &l); err != nil {
		return nil, err
	}
	e, p := newEntry(""), l.Payload
	e.At = timeOf(l.Timestamp)
	switch l.Type {
	case "session_meta":
		e.What, e.Session, e.CWD, e.Version = Session, shortID(p.ID), fleet.Path(clipped(p.CWD)), fleet.Line(clipped(p.Version), 40)
		e.Side = p.Thread == "subagent" || len(p.Source) > 0 && p.Source[0] == '{'
		return []Entry{e}, nil
	case "turn_context":
		e.What, e.Model, e.CWD = Session, fleet.Line(clipped(p.Model), 100), fleet.Path(clipped(p.CWD))
		return []Entry{e}, nil
	case "token_usage_record":
		return p.response(e)
	case "response_item":
		return p.tool(e), nil
	case "compacted":
		return []Entry{e.as(Compact)}, nil
	case "event_msg":
		return p.event(e)
	case "":
		return nil, errors.New("it has no type")
	}
	return nil, nil
}

// event reads what the program told its screen.
func (p codexPayload) event(e Entry) ([]Entry, error) {
	switch p.Type {
	case "user_message":
		return []Entry{e.prompted(p.Message)}, nil
	case "item_completed":
		if text, ok := words(p.Item.Content, isCodexText); ok && p.Item.Type == "UserMessage" {
			return []Entry{e.prompted(text)}, nil
		}
	case "task_started":
		if window := Count(p.Window); window.Or(0) > 0 {
			e.What, e.Window = Window, window
			return []Entry{e}, nil
		}
	case "token_count":
		return p.counted(e)
	case "task_complete":
		if p.Error != nil {
			return []Entry{e.failed(codexFailure(p.Error.Info, p.Error.Message), p.Error.Message, 0)}, nil
		}
		return []Entry{e.as(Stop)}, nil
	case "turn_aborted":
		e.What, e.Text = Stop, fleet.Line(clipped(p.Reason), 40)
		return []Entry{e}, nil
	}
	return nil, nil
}

func isCodexText(kind string) bool { return kind == "text" || kind == "input_text" }

// tool reads that a tool began, or ended.
func (p codexPayload) tool(e Entry) []Entry {
	e.CallID = shortID(p.CallID)
	switch p.Type {
	case "function_call", "custom_tool_call", "local_shell_call":
		e.What, e.Tool = ToolBegin, shortID(p.Name)
		if p.Type == "local_shell_call" {
			e.Tool = "local_shell"
		}
		e.input = p.arguments()
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		e.What = ToolEnd
	default:
		return nil
	}
	return []Entry{e}
}

// arguments are those of a tool, which are JSON within a text, a text, or an object.
func (p codexPayload) arguments() json.RawMessage {
	for _, raw := range []json.RawMessage{p.Args, p.Action, p.Input} {
		var inside string
		switch {
		case len(raw) == 0:
		case json.Unmarshal(raw, &inside) == nil && json.Valid([]byte(inside)):
			return json.RawMessage(inside)
		case p.Type == "custom_tool_call":
			b, err := json.Marshal(map[string]json.RawMessage{"input": raw})
			if err != nil {
				return nil
			}
			return b
		default:
			return raw
		}
	}
	return nil
}

type codexTold struct {
	Input     *float64 `json:"input_tokens"` // those from the cache, and into it, among them
	Cached    *float64 `json:"cached_input_tokens"`
	Written   *float64 `json:"cache_write_input_tokens"`
	Output    *float64 `json:"output_tokens"` // thoughts among them
	Reasoning *float64 `json:"reasoning_output_tokens"`
	Total     *float64 `json:"total_tokens"`
}

// tokens tells apart what Codex counts together.
func (u codexTold) tokens() (fleet.Tokens, error) {
	n, err := tokensOf(u.Input, u.Cached, u.Written, u.Output, u.Reasoning)
	if err != nil {
		return fleet.Tokens{}, err
	}
	input, cached, written := n[0], n[1], n[2]
	switch total := Count(u.Total); {
	case cached+written <= input:
		input -= cached + written
	case total.IsKnown() && total.Or(0) < input+cached+written+n[3]: // no more than the input was read, whatever is said of the cache
		cached = min(cached, input)
		written = min(written, input-cached)
		input -= cached + written
	} // else the server counts what came from the cache beside the input
	return fleet.Tokens{Input: input, CacheRead: cached, CacheWrite5m: written, Output: n[3], Reasoning: min(n[4], n[3])}, nil
}

// response reads what one response used.
func (p codexPayload) response(e Entry) ([]Entry, error) {
	if p.Usage == nil {
		return nil, nil
	}
	tokens, err := p.Usage.tokens()
	if err != nil {
		return nil, err
	}
	e.What, e.Session, e.Tokens = Response, shortID(p.ThreadID), tokens
	if id := shortID(p.Response); id != "" {
		e.Key = "codex:" + id
	}
	e.Used = Count(p.Usage.Total)
	return []Entry{e}, nil
}

type codexTokenInfo struct {
	Total  codexTold `json:"total_token_usage"`
	Last   codexTold `json:"last_token_usage"`
	Window *float64  `json:"model_context_window"`
}

type codexLimits struct {
	Primary   *codexLimit `json:"primary"`
	Secondary *codexLimit `json:"secondary"`
}

type codexLimit struct {
	Used    *float64 `json:"used_percent"`
	Resets  *float64 `json:"resets_at"`
	Minutes *float64 `json:"window_minutes"`
}

// quota is how much of each window of the plan is used.
func (l *codexLimits) quota(at time.Time) (all []fleet.Quota) {
	if l == nil {
		return nil
	}
	for _, limit := range []*codexLimit{l.Primary, l.Secondary} {
		if limit == nil || limit.Used == nil || !(*limit.Used >= 0) {
			continue
		}
		all = append(all, fleet.Quota{Window: windowOf(Count(limit.Minutes).Or(0)), Percent: min(100, *limit.Used), Resets: Epoch(limit.Resets), At: at})
	}
	return all
}

// mostInAll is more tokens than all responses of a conversation have; a double holds each number up to it.
const mostInAll = 1 << 53

// windowOf names a window by its length.
func windowOf(minutes int64) string {
	switch {
	case minutes <= 0:
		return "plan"
	case minutes%(24*60) == 0:
		return strconv.FormatInt(minutes/(24*60), 10) + "d"
	case minutes%60 == 0:
		return strconv.FormatInt(minutes/60, 10) + "h"
	}
	return strconv.FormatInt(minutes, 10) + "m"
}

// counted reads how full the context is, and which limit is used up. Its tokens are those
// of the last response, once more; the sum of all, which grows with each response, is the
// name of that one where it has no other (Counted).
func (p codexPayload) counted(e Entry) ([]Entry, error) {
	e.What, e.Quota = Window, p.Limits.quota(e.At)
	if limit := p.Limits.spent(); limit != nil {
		e.Failure = &fleet.TurnFailure{Name: "rate_limit", Text: "a limit is used up", At: e.At, Until: Epoch(limit.Resets)}
	}
	if p.Info != nil {
		tokens, err := p.Info.Last.tokens()
		if err != nil {
			return nil, err
		}
		e.Used, e.Window = Count(p.Info.Last.Total), Count(p.Info.Window)
		if total := p.Info.Total.Total; total != nil && *total > 0 && *total <= mostInAll && tokens.All() > 0 {
			e.Tokens, e.Key = tokens, countedKey(int64(*total))
		}
	}
	if p.Info == nil && e.Failure == nil && len(e.Quota) == 0 {
		return nil, nil
	}
	return []Entry{e}, nil
}

// spent is the limit that is used up and reset last; nil when none is.
func (l *codexLimits) spent() (last *codexLimit) {
	if l == nil {
		return nil
	}
	for _, limit := range []*codexLimit{l.Primary, l.Secondary} {
		if limit == nil || limit.Used == nil || *limit.Used < 100 {
			continue
		}
		if last == nil || Epoch(last.Resets).Before(Epoch(limit.Resets)) {
			last = limit
		}
	}
	return last
}

// codexFailure names an error that ended a turn: by the CLI's word for it, by the status of
// HTTP that it tells, else by its text.
func codexFailure(info json.RawMessage, text string) string {
	switch word := Scalar(info); word {
	case "usage_limit_exceeded":
		return "rate_limit"
	case "context_window_exceeded":
		return "context"
	case "internal_server_error", "server_overloaded":
		return "server_error"
	case "unauthorized":
		return "authentication"
	}
	var about map[string]struct {
		Status anyInt `json:"http_status_code"`
	}
	if json.Unmarshal(info, &about) == nil {
		for _, a := range about {
			if name := FailureOf(a.Status.int(), ""); name != "" {
				return name
			}
		}
	}
	if strings.Contains(text, "context window") {
		return "context"
	}
	return FailureOf(0, text)
}
