package conversation

import (
	"errors"
	json "github.com/go-json-experiment/json/v1"
)

// piPrinted is a line of pi with --mode json. Seen with 0.73.1.
type piPrinted struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Message piMessage       `json:"message"`
	CallID  string          `json:"toolCallId"`
	Tool    string          `json:"toolName"`
	Args    json.RawMessage `json:"args"`
	Failed  bool            `json:"isError"`
	Said    []piMessage     `json:"messages"`
	Error   string          `json:"errorMessage"`
}

func piOutput(line []byte) ([]Event, error) {
	var l piPrinted
	if err := unmarshal(line, &l); err != nil {
		return nil, err
	}
	e := newEvent("", "")
	switch l.Type {
	case "":
		return nil, errors.New("it has no type")
	case "session":
		return []Event{newEvent(Session, l.ID)}, nil
	case "agent_start":
		e.What = Turn
	case "message_end":
		return l.Message.used(), nil
	case "tool_execution_start":
		e.What, e.Tool, e.CallID, e.Args = ToolBegin, shortID(l.Tool), shortID(l.CallID), shownLine(string(l.Args))
	case "tool_execution_end":
		e.What, e.Tool, e.CallID, e.OK = ToolEnd, shortID(l.Tool), shortID(l.CallID), !l.Failed
	case "auto_retry_start":
		e.What, e.Error, e.Text = Retry, FailureOf(leadingStatus(l.Error), l.Error), shownLine(l.Error)
	case "agent_end":
		return []Event{piResult(l.Said)}, nil
	default:
		return nil, nil
	}
	return []Event{e}, nil
}

// used is what an answer used, in pi's own prices where it has any.
func (m piMessage) used() []Event {
	e := newEvent(Response, "")
	if e.Tokens = told(m.Usage.tokens()); m.Role != "assistant" || !e.Tokens.IsKnown() {
		return nil
	}
	e.Key, e.Model, e.Cost = m.key(), m.model(), ownPrice(m.Usage.Cost.Total)
	return []Event{e}
}

// piResult is the end of a turn: as its last answer ended.
func piResult(said []piMessage) Event {
	e := newEvent(Result, "")
	e.OK = true
	if len(said) == 0 || said[len(said)-1].Stop != "error" {
		return e
	}
	text := said[len(said)-1].Error
	e.OK, e.Text, e.Error = false, shownLine(text), FailureOf(leadingStatus(text), text)
	return e
}
