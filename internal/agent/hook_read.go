package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// readHook fills in an event from a payload, as the kind's marks say.
func (m HooksMark) readHook(event string, p payload, e *fleet.HookEvent) {
	mark := m.event(event)
	f := mark.Fields.over(m.Fields).over(claudeFields())
	e.Session, e.Text = fleet.Line(conversation.Scalar(p.at(f.Session)), 128), p.words(mark.Text)
	switch means := mark.meaning(e.Text); fleet.HookName(means) {
	case fleet.HookPrompt:
		prompt(e, conversation.Scalar(p.at(f.Prompt)))
	case fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookPermission, fleet.HookQuestion, fleet.HookAnswered:
		e.Event = fleet.HookName(means)
		m.readCall(mark, f, p, e)
	case fleet.HookFailure, fleet.HookName(meansTrouble):
		readFailure(means, f, p, e)
	case fleet.HookStatus:
		claudeStatus(p, e)
	default:
		e.Event = fleet.HookName(means)
	}
}

// meaning is what an event means whose text is this.
func (mark HookEventMark) meaning(text string) HookMeans {
	for _, c := range mark.Case {
		if c.Match.match(text) {
			return c.Means
		}
	}
	return mark.Means
}

// readCall reads what is told of the call of a tool.
func (m HooksMark) readCall(mark HookEventMark, f HookFields, p payload, e *fleet.HookEvent) {
	tool := conversation.Scalar(p.at(f.Tool))
	e.Tool, e.CallID = fleet.Line(tool, 100), fleet.Line(conversation.Scalar(p.at(f.Call)), 128)
	if e.Event != fleet.HookAnswered {
		e.Args = conversation.Args(tool, p.at(f.Args))
	}
	broken := strings.TrimSpace(string(p.at(f.Broken)))
	switch {
	case e.Event == fleet.HookToolEnd && string(p["is_interrupt"]) == "true":
		e.Text = "interrupted"
	case e.Event == fleet.HookToolEnd && (mark.Failed || broken != "" && broken != "null" && broken != "false"):
		e.Text = "failed"
	case e.Event != fleet.HookToolEnd && e.Event != fleet.HookAnswered && slices.Contains(m.Questions, tool):
		e.Event = fleet.HookQuestion
	}
}

// readFailure tells why a turn ended. A person's interrupt ends it too, and is no
// failure; and of a wait before another try only a limit and a login are.
func readFailure(means HookMeans, f HookFields, p payload, e *fleet.HookEvent) {
	var details []string
	for _, path := range f.Details {
		details = append(details, conversation.Scalar(p.at(path)))
	}
	cause := conversation.FailureName(conversation.Scalar(p.at(f.Error)), strings.Join(details, " "))
	switch {
	case means == meansTrouble && cause != "rate_limit" && cause != "authentication":
		e.Event = fleet.HookNotice
		return
	case cause == "interrupted":
		e.Event = fleet.HookStop
	default:
		e.Event = fleet.HookFailure
	}
	e.Text = cause
	var until *float64
	if json.Unmarshal(p.at(f.Until), &until) == nil {
		e.Until = fleet.Instant{Wall: conversation.Epoch(until)}
	}
}

// at is the value at a path of keys with points between them; nil when there is none.
func (p payload) at(path string) json.RawMessage {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		p = p.object(key)
	}
	return p[keys[len(keys)-1]]
}

// words are those of some fields. "=X" in the place of a field
// is the word X itself.
func (p payload) words(fields []string) string {
	var words []string
	for _, field := range fields {
		word, ok := strings.CutPrefix(field, "=")
		if !ok {
			word = conversation.Scalar(p.at(field))
		}
		words = append(words, fleet.Line(word, 64))
	}
	return strings.TrimSpace(strings.Join(words, " "))
}
