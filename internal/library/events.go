package library

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// EventLog is what is read of the log of events.
type EventLog interface {
	Past(ctx context.Context, now fleet.Instant) (fleet.Past, error)
	// NewestEvent is the ID of the newest event; 0 when there is none, or it cannot be read.
	NewestEvent(ctx context.Context) int64
	// EventsAfter lists events after one, oldest first.
	EventsAfter(ctx context.Context, after int64) ([]fleet.Event, error)
}

// Events reads the log for schedules that are due on what is in it. How far a
// schedule is stands in its newest run (Run.Event), so that what happened while
// Custos was down is found; here is only how far the log was read in vain.
type Events struct {
	log EventLog

	mu   sync.Mutex
	read map[string]int64 // by schedule
}

// NewEvents reads a log.
func NewEvents(log EventLog) *Events { return &Events{log: log, read: map[string]int64{}} }

// Fill sets Event of schedules that are due on events of the log: of one that has
// a run, the newest event after it that it means; of one without, the newest of
// all. When the log cannot be read, nothing is due.
func (e *Events) Fill(ctx context.Context, list []fleet.Schedule, now fleet.Instant) {
	var due []*fleet.Schedule
	for i := range list {
		if _, is := ledger.LogKind(list[i]); is && list[i].Enabled {
			due = append(due, &list[i])
		}
	}
	if len(due) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	past, err := e.log.Past(ctx, now)
	if err != nil {
		return
	}
	for _, s := range due {
		e.follow(ctx, s, past.Runs)
	}
}

func (e *Events) follow(ctx context.Context, s *fleet.Schedule, runs []fleet.Run) {
	last := LastRun(runs, s.Name)
	if last == nil {
		s.Event = e.log.NewestEvent(ctx)
		return
	}
	s.Event = last.Event
	kind, _ := ledger.LogKind(*s)
	from := max(last.Event, e.read[s.Name])
	for {
		page, err := e.log.EventsAfter(ctx, from)
		if err != nil || len(page) == 0 {
			break
		}
		for _, event := range page {
			from = event.ID
			if ledger.IsKind(event.Kind, kind) && !isOwn(event, runs, s.Run.Formula) {
				standsFor(s, event)
			}
		}
	}
	if s.Event == last.Event { // what was found is found again until a run stands for it
		e.read[s.Name] = from
	}
}

// isOwn says whether an event is about a run of the formula itself, or its agent:
// it would bring itself about.
func isOwn(e fleet.Event, runs []fleet.Run, formula string) bool {
	return slices.ContainsFunc(runs, func(r fleet.Run) bool {
		about := e.Subject.Name
		return r.Formula == formula && (about == r.ID || strings.HasPrefix(about, r.ID+"/") || r.Session != nil && about == r.Session.Agent)
	})
}

// standsFor has the next run of a schedule stand for an event, and know of it.
func standsFor(s *fleet.Schedule, e fleet.Event) {
	s.Event = e.ID
	vars := maps.Clone(s.Run.Vars)
	if vars == nil {
		vars = map[string]string{}
	}
	vars["event"], vars["event_id"], vars["event_subject"] = e.Kind, strconv.FormatInt(e.ID, 10), ""
	if e.Subject != (fleet.Subject{}) {
		vars["event_subject"] = e.Subject.String()
	}
	s.Run.Vars = vars
}
