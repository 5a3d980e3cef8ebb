package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Ask is what a person, or an agent, asks of Custos at a moment: a verb of a noun.
type Ask struct {
	Line
	Agent      string // "": a person asks
	Noun, Verb string
	ID         string // of what is meant; "": none
	body       string
}

// readAsk reads ask [agent/NAME] NOUN VERB [ID] {…}.
func readAsk(l Line) (Ask, error) {
	a := Ask{Line: l}
	words, body, found := strings.Cut(l.Rest, "{")
	list := strings.Fields(words)
	if len(list) > 0 && strings.HasPrefix(list[0], "agent/") {
		a.Agent, list = strings.TrimPrefix(list[0], "agent/"), list[1:]
	}
	if !found || len(list) < 2 || len(list) > 3 {
		return a, l.Errorf("ask takes a noun, a verb, perhaps an ID, and {…}, such as ask gates close g1 {\"why\": \"approved\"}, not %q", l.Rest)
	}
	a.Noun, a.Verb, a.body = list[0], list[1], "{"+body
	if len(list) == 3 {
		a.ID = list[2]
	}
	return a, nil
}

// Given reads what is given with it. A field that is not there is refused. Its
// error does not say the place.
func (a Ask) Given(into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", a.body, err)
	}
	return nil
}
