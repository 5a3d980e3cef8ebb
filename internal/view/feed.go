package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

func Event(e fleet.Event) api.Event {
	return api.Event{ID: e.ID, At: e.At.Wall.UTC(), Kind: e.Kind, Rule: e.Alert.Rule,
		Subject: SubjectText(eventSubject(e)), Action: e.Action, Text: e.Text}
}

// eventSubject is what an event is about: itself says, or its alert does.
func eventSubject(e fleet.Event) fleet.Subject {
	if e.Subject != (fleet.Subject{}) {
		return e.Subject
	}
	return e.Alert.Subject
}

// FeedOf is the agents a feed is about; the zero one is all.
type FeedOf struct {
	Names []string
	Procs map[fleet.ProcessID]string // of agents that carry no marker
}

// Only is the one subject the feed is about, if it is one.
func (c FeedOf) Only() fleet.Subject {
	if len(c.Names) == 1 {
		return fleet.Subject{Kind: fleet.KindAgent, Name: c.Names[0]}
	}
	return fleet.Subject{}
}

func (c FeedOf) has(agent string) bool { return len(c.Names) == 0 || slices.Contains(c.Names, agent) }

// Feed puts both logs into the order of time.
func Feed(q api.FeedQuery, of FeedOf, events []fleet.Event, hooks []fleet.HookEvent) api.Feed {
	out := api.Feed{Of: append([]string{}, of.Names...), Entries: []api.FeedEntry{}}
	for _, e := range events {
		if entry := eventEntry(e); of.has(entry.Agent) {
			out.Entries = append(out.Entries, entry)
		}
	}
	for _, entry := range hookEntries(hooks, of.Procs) {
		if of.has(entry.Agent) {
			out.Entries = append(out.Entries, entry)
		}
	}
	out.Entries = slices.DeleteFunc(out.Entries, func(e api.FeedEntry) bool {
		return e.At.Before(q.Since) || !q.Until.IsZero() && !e.At.Before(q.Until) || q.View == api.FeedErrors && !e.Bad || !isOfKind(e.Kind, q.Kind)
	})
	slices.SortStableFunc(out.Entries, func(a, b api.FeedEntry) int { return a.At.Compare(b.At) })
	out.Entries = out.Entries[max(0, len(out.Entries)-q.Limit):]
	return out
}

// isOfKind says whether a kind is the one that is wanted, or begins with its words:
// alert.firing is of alert, tool-begin is of tool.
func isOfKind(kind, want string) bool {
	rest, begins := strings.CutPrefix(kind, want)
	return begins && (want == "" || rest == "" || strings.ContainsAny(rest[:1], "._-"))
}

func eventEntry(e fleet.Event) api.FeedEntry {
	out := api.FeedEntry{ID: "e" + strconv.FormatInt(e.ID, 10), At: e.At.Wall.UTC(), Source: "custos", Kind: e.Kind, Action: e.Action,
		About: e.Alert.Rule, Text: fleet.Line(e.Text, 400), Bad: isBad(e)}
	if of := eventSubject(e); of.Kind == fleet.KindAgent {
		out.Agent = of.Name
	} else if of != (fleet.Subject{}) {
		out.About = of.String()
	}
	return out
}

// isBad says whether an event says that something went wrong.
func isBad(e fleet.Event) bool {
	switch e.Kind {
	case "alert.firing", "agent.failed", "recovery_failed", "recovery_exhausted", "order.refused", "order.expired", "amnesia":
		return true
	case "agent.ended":
		return e.Text != "ended with status 0" && !strings.Contains(e.Text, "asked by")
	case "action.ended": // do: status: effect: why
		_, rest, _ := strings.Cut(e.Text, ": ")
		status, _, _ := strings.Cut(rest, ": ")
		return slices.Contains([]fleet.ResultStatus{fleet.ResultFailed, fleet.ResultUnverified, fleet.ResultInDoubt}, fleet.ResultStatus(status))
	}
	return false
}

// hookEntries puts into words what agents reported. The end of a tool call says how
// long it took, where its begin is known too.
func hookEntries(hooks []fleet.HookEvent, procs map[fleet.ProcessID]string) []api.FeedEntry {
	began := map[string]fleet.Instant{}
	out := make([]api.FeedEntry, 0, len(hooks))
	for _, h := range hooks {
		entry := api.FeedEntry{ID: "h" + h.ID, At: h.At.Wall.UTC(), Source: "agent", Kind: string(h.Event), Agent: hookAgent(h, procs),
			Text: hookText(h), Bad: h.Event == fleet.HookFailure || h.Event == fleet.HookToolEnd && h.Text == "failed" || h.DeniedBy() != ""}
		call := h.Key() + " " + h.CallID
		switch {
		case h.CallID == "":
		case h.Event == fleet.HookToolBegin:
			began[call] = h.At
		case h.Event == fleet.HookToolEnd:
			if from, ok := began[call]; ok {
				entry.Took = max(h.At.Since(from), 0).Round(time.Millisecond).String()
				delete(began, call)
			}
		}
		out = append(out, entry)
	}
	return out
}

func hookAgent(h fleet.HookEvent, procs map[fleet.ProcessID]string) string {
	if h.Agent != "" {
		return h.Agent
	}
	if name := procs[h.Process]; name != "" {
		return name
	}
	if h.Process.PID != 0 {
		return fmt.Sprintf("%s (pid %d)", h.Kind, h.Process.PID)
	}
	return h.Kind
}

func hookText(h fleet.HookEvent) string {
	words := []string{}
	add := func(list ...string) {
		for _, w := range list {
			if w != "" {
				words = append(words, w)
			}
		}
	}
	if h.DeniedBy() != "" { // what came of the call, before the end of a line is cut off
		add(h.Tool, h.Text, h.Args)
	} else {
		add(h.Tool, h.Args, h.Text)
	}
	if used, ok := h.Context.Get(); ok {
		add(fmt.Sprintf("context %.0f %%", used))
	}
	if !h.Until.IsZero() {
		add("until " + h.Until.Wall.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return fleet.Line(fleet.Redact(strings.Join(words, " ")), 400)
}
