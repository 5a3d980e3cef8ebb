package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Decision is one of the six things a judge may say.
type Decision string

// What a judge may say of an ambiguous alert.
const (
	Retry     Decision = "retry"     // do the alert's remedy once more
	Extend    Decision = "extend"    // leave it alone until a moment
	Interrupt Decision = "interrupt" // interrupt the agent
	Restart   Decision = "restart"   // stop it and start it again
	Stop      Decision = "stop"      // stop it
	Ask       Decision = "ask"       // ask a person
)

// decisions lists them all.
func decisions() []Decision { return []Decision{Retry, Extend, Interrupt, Restart, Stop, Ask} }

// What a verdict may hold.
const (
	MaxExtension = 24 * time.Hour
	maxReason    = 500      // characters
	maxVerdict   = 16 << 10 // bytes of JSON
)

// Verdict is what a judge's answer comes to.
type Verdict struct {
	Decision   Decision
	Until      time.Time // with Extend: after now, by at most MaxExtension; else zero
	Confidence float64   // 0 to 1, by its own account
	Reason     string    // one line without control characters, at most maxReason of them; not ours, never an instruction
	Unusable   bool      // the answer was no verdict: Decision is Ask, and Reason says why
}

// VerdictSchema is the JSON schema of a verdict, within what every provider's
// strict mode takes: each property required, none besides.
func VerdictSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","additionalProperties":false,"required":["verdict","until","confidence","reason"],"properties":{` +
		`"verdict":{"type":"string","enum":["retry","extend","interrupt","restart","stop","ask"],"description":"retry: do the remedy once more. extend: it is working, leave it alone until a moment. interrupt: interrupt what it is doing. restart: stop it and start it again. stop: stop it. ask: a person must decide; also when unsure."},` +
		`"until":{"type":["string","null"],"description":"with extend: RFC 3339 with a zone, at most 24 hours from the moment of the evidence. Otherwise null."},` +
		`"confidence":{"type":"number","description":"from 0 to 1"},` +
		`"reason":{"type":"string","description":"at most 500 characters, for a person"}}}`)
}

// ParseVerdict makes a verdict of what a judge said, seen from now. Whatever is
// not exactly one verdict is Ask, with Unusable: prose around it, a key twice or
// unknown, a word that is none of the six, a confidence that is no share, an
// extension without an end or beyond MaxExtension.
func ParseVerdict(text string, now time.Time) Verdict {
	v, err := parseVerdict(text, now)
	if err != nil {
		return Verdict{Decision: Ask, Reason: oneLine("the judge's answer cannot be used: "+err.Error(), maxReason), Unusable: true}
	}
	return v
}

func parseVerdict(text string, now time.Time) (Verdict, error) {
	if len(text) > maxVerdict {
		return Verdict{}, fmt.Errorf("it has %d bytes, %d are the most", len(text), maxVerdict)
	}
	fields, err := flat(text, "verdict", "until", "confidence", "reason")
	if err != nil {
		return Verdict{}, err
	}
	var v Verdict
	var until *string
	for _, f := range []struct {
		name string
		into any
	}{{"verdict", &v.Decision}, {"confidence", &v.Confidence}, {"reason", &v.Reason}} {
		if raw := fields[f.name]; raw == nil || string(raw) == "null" || json.Unmarshal(raw, f.into) != nil {
			return v, fmt.Errorf("it has no %s of the right kind", f.name)
		}
	}
	if raw := fields["until"]; raw != nil && json.Unmarshal(raw, &until) != nil {
		return v, errors.New("its until is no text")
	}
	return v.check(until, now)
}

func (v Verdict) check(until *string, now time.Time) (Verdict, error) {
	v.Reason = oneLine(v.Reason, maxReason)
	switch {
	case !slices.Contains(decisions(), v.Decision):
		return v, fmt.Errorf("its verdict is %q, which is none of %v", oneLine(string(v.Decision), 40), decisions())
	case !(v.Confidence >= 0 && v.Confidence <= 1):
		return v, fmt.Errorf("its confidence is %v, which is not from 0 to 1", v.Confidence)
	case v.Reason == "":
		return v, errors.New("it gives no reason")
	case v.Decision != Extend:
		return v, nil // a moment is no part of it
	case until == nil:
		return v, errors.New("it extends without saying until when")
	}
	end, err := time.Parse(time.RFC3339, *until)
	switch {
	case err != nil:
		return v, fmt.Errorf("it extends until %q, which is no moment in RFC 3339", oneLine(*until, 40))
	case !end.After(now):
		return v, errors.New("it extends until a moment that has passed")
	case end.Sub(now) > MaxExtension:
		return v, fmt.Errorf("it extends beyond %v", MaxExtension)
	}
	v.Until = end.UTC()
	return v, nil
}

// flat reads one JSON object that has no keys but these, each once, and nothing
// around it. The standard decoder would let the last of two keys win, and take
// "Verdict" for "verdict".
func flat(text string, keys ...string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		key, _ := t.(string)
		switch {
		case err != nil:
			return nil, errors.New("it is no whole JSON object")
		case !slices.Contains(keys, key):
			return nil, fmt.Errorf("it has %q, which no verdict has", oneLine(key, 40))
		case fields[key] != nil:
			return nil, fmt.Errorf("it has %q twice", key)
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil, errors.New("it is no whole JSON object")
		}
		fields[key] = raw
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("it is no whole JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON object in it")
	}
	return fields, nil
}

// oneLine is line, in a name of its own: this file is to move where fleet.Line is.
func oneLine(s string, n int) string { return line(strings.TrimSpace(s), n) }
