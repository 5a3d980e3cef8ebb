package store

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// recordEvent is what the log says of a record that is new or changed, when that is
// worth a line. old is nil for a new one.
func recordEvent(d recordKind, is, old any) (e fleet.Event, worth bool) {
	what := stateOf(is)
	switch v := is.(type) {
	case *fleet.WorkItem:
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindWork, Name: v.ID}, withWhy(v.Title, v.Outcome, v.Why)
	case *fleet.Dependency:
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindWork, Name: string(v.Of)}, withWhy(fmt.Sprintf("%s needs %s", v.Of, v.Needs), v.Why)
	case *fleet.Gate:
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindGate, Name: v.ID}, withWhy(v.Title, v.Outcome, v.Why)
	case *fleet.Convoy:
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindConvoy, Name: v.ID}, withWhy(v.Title, v.Why)
	case *fleet.Mail:
		if news, is := newsEvent(v); is && old == nil {
			return news, true
		}
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindMail, Name: v.ID}, fmt.Sprintf("from %s: %s", v.From, v.Subject)
	case *fleet.MergeItem:
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindMerge, Name: v.ID}, withWhy(v.Source+" into "+v.Queue, v.Merged, v.Why)
	case *fleet.MergeGroup:
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindMerge, Name: v.ID}, withWhy(fleet.MergeNames(v.Items), v.Commit, v.Why)
	case *fleet.MergeHold:
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindMerge, Name: v.Queue}, withWhy("by "+v.By, v.Why)
	case *fleet.Trigger:
		e.Subject, e.Text = fleet.Subject{Kind: fleet.KindSelf, Name: "custos"}, withWhy(v.Name, v.Text)
	}
	e.Kind, e.Text = d.event+"."+what, fleet.Line(e.Text, 400)
	return e, what != stateOf(old)
}

// stateOf is the state of a record in one word, as the log has it; "" for none.
func stateOf(record any) string {
	switch v := record.(type) {
	case *fleet.WorkItem:
		if v.State == fleet.WorkTaken {
			return "taken"
		}
		return string(v.State)
	case *fleet.Dependency:
		return string(v.State)
	case *fleet.Gate:
		return string(v.State)
	case *fleet.Convoy:
		return string(v.State)
	case *fleet.Mail:
		return mailWord(v.Type)
	case *fleet.MergeItem:
		return string(v.State)
	case *fleet.MergeGroup:
		return string(v.State)
	case *fleet.MergeHold:
		if v.Held {
			return "held"
		}
		return "released"
	case *fleet.Trigger:
		return "came"
	}
	return ""
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
