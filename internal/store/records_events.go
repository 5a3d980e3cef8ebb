package store

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// recordEvent is what the log tells of a record that is new or changed, when that
// is worth a line. old is a nil pointer for a new one.
func recordEvent(d drawer, is, old any) (fleet.Event, bool) {
	e := fleet.Event{Kind: d.event}
	what, name := "", ""
	switch v := is.(type) {
	case *fleet.WorkItem:
		name, what = v.ID, stateOf(old.(*fleet.WorkItem) == nil, string(v.State), func() string { return string(old.(*fleet.WorkItem).State) })
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindWork, Name: name}, v.Title+reason(v.Outcome, v.Why)
	case *fleet.Dependency:
		what = stateOf(old.(*fleet.Dependency) == nil, string(v.State), func() string { return string(old.(*fleet.Dependency).State) })
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindWork, Name: string(v.Of)}, fmt.Sprintf("%s needs %s%s", v.Of, v.Needs, reason("", v.Why))
	case *fleet.Gate:
		what = stateOf(old.(*fleet.Gate) == nil, string(v.State), func() string { return string(old.(*fleet.Gate).State) })
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindGate, Name: v.ID}, v.Title+reason(v.Outcome, v.Why)
	case *fleet.Convoy:
		what = stateOf(old.(*fleet.Convoy) == nil, string(v.State), func() string { return string(old.(*fleet.Convoy).State) })
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindConvoy, Name: v.ID}, v.Title+reason("", v.Why)
	case *fleet.Mail:
		if old.(*fleet.Mail) == nil {
			if news, is := newsEvent(v); is {
				return news, true
			}
			what = mailWord(v.Type)
		}
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindMail, Name: v.ID}, fmt.Sprintf("from %s: %s", v.From, v.Subject)
	case *fleet.Trigger:
		what = "came"
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindSelf, Name: "custos"}, v.Name+reason("", v.Text)
	}
	e.Kind, e.Text = d.event+"."+what, fleet.Line(e.Text, 400)
	return e, what != ""
}

// mailWord is what the log calls new mail: by its type, so that a schedule can be due
// on one type alone.
func mailWord(t fleet.MailType) string {
	if t == fleet.MailFree {
		return "sent"
	}
	return strings.ToLower(string(t))
}

// newsEvent is the event of what the parent of an agent is told of it: in the story
// of both, under the name of the news.
func newsEvent(m *fleet.Mail) (fleet.Event, bool) {
	kind, _, _ := strings.Cut(m.Key, "/")
	if m.Type != fleet.MailNews || !strings.HasPrefix(kind, "recovery_") || len(m.To) != 1 {
		return fleet.Event{}, false
	}
	return fleet.Event{Kind: kind, Subject: agentSubject(m.To[0]), Text: fleet.Line(strings.TrimSuffix(m.Subject+": "+m.Body, ": "), 400),
		Alert: fleet.AlertKey{Subject: agentSubject(m.About)}}, true
}

// stateOf is the state when it is new or another one, and "" otherwise.
func stateOf(isNew bool, state string, old func() string) string {
	if state == string(fleet.WorkTaken) {
		state = "taken"
	}
	if was := ""; !isNew {
		if was = old(); was == string(fleet.WorkTaken) {
			was = "taken"
		}
		if was == state {
			return ""
		}
	}
	return state
}

func reason(outcome, why string) string {
	text := ""
	for _, more := range []string{outcome, why} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}
