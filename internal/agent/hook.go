package agent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// ParseHook normalises what a hook of an agent CLI was told: event is the CLI's own
// name of the event, payload its JSON. Out come the fields of the event that the
// payload tells; who, when and ID are the caller's to fill in.
//
// A payload that was cut off is read as far as it goes, and none at all leaves
// the bare event. An event that is not known is a notice with its name, so that
// a newer CLI loses nothing. A kind without hooks, and a payload that is no JSON
// object, are errors.
func (k *Kinds) ParseHook(kind, event string, payload []byte) (fleet.HookEvent, error) {
	of, _ := k.Get(kind)
	if !of.Hooks.has() {
		return fleet.HookEvent{}, fmt.Errorf("cannot read hook event: kind %q has no hooks that are known", fleet.Line(kind, 40))
	}
	p, err := parsePayload(payload)
	if err != nil {
		return fleet.HookEvent{}, fmt.Errorf("cannot read hook event %s of %s: %w", fleet.Line(event, 40), kind, err)
	}
	if event == "" {
		event = p.text("hook_event_name")
	}
	e := fleet.HookEvent{Kind: kind, Event: fleet.HookNotice, Context: fleet.Unknown[float64]("not told")}
	of.Hooks.readHook(event, p, &e)
	if e.Event == fleet.HookNotice && e.Text == "" {
		e.Text = fleet.Line(event, 64)
	}
	return e, nil
}

// payload is one JSON object, whose values are read when they are asked for.
type payload map[string]json.RawMessage

// parsePayload reads an object, or what there is of one that was cut off.
func parsePayload(b []byte) (payload, error) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return payload{}, nil
	}
	var p payload
	if json.Unmarshal(b, &p) == nil && p != nil {
		return p, nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("its payload is no JSON object")
	}
	p = payload{}
	for d.More() {
		key, err := d.Token()
		name, isName := key.(string)
		var v json.RawMessage
		if err != nil || !isName || d.Decode(&v) != nil {
			break
		}
		p[name] = v
	}
	return p, nil
}

// text returns a string or a number as text; "" for anything else.
func (p payload) text(key string) string { return conversation.Scalar(p[key]) }

// object returns an object; an empty one for anything else.
func (p payload) object(key string) payload {
	var o payload
	if json.Unmarshal(p[key], &o) != nil {
		return payload{}
	}
	return o
}

// number returns a number, and whether there is one.
func (p payload) number(key string) (float64, bool) {
	var n *float64
	if json.Unmarshal(p[key], &n) != nil || n == nil {
		return 0, false
	}
	return *n, true
}

// id returns an identifier of the CLI, made safe.
func (p payload) id(key string) string { return fleet.Line(p.text(key), 128) }

// word returns a word of the CLI's own vocabulary, made safe.
func (p payload) word(key string) string { return fleet.Line(p.text(key), 64) }

// prompt tells of a prompt without keeping it.
func prompt(e *fleet.HookEvent, text string) {
	e.Event = fleet.HookPrompt
	e.Text = conversation.PromptLine(text)
}
