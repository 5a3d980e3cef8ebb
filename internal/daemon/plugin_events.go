package daemon

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/library"
	"custos/internal/store"
)

// eventReader reads the log for schedules that are due on what is in it. How far a
// schedule is stands in its newest run (Run.Event), so that what happened while
// Custos was down is found; here is only how far the log was read in vain.
type eventReader struct {
	l *ledgerFile

	mu   sync.Mutex
	read map[string]int64 // by schedule
}

// eventsAtOnce is how many events are read with one question.
const eventsAtOnce = 1000

// fill sets Event of schedules that are due on events of the log: of one that has
// a run, the newest event after it that it means; of one without, the newest of
// all. When the log cannot be read, nothing is due.
func (e *eventReader) fill(ctx context.Context, list []fleet.Schedule, now fleet.Instant) {
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
	past, err := e.l.Past(ctx, now)
	if err != nil {
		return
	}
	for _, s := range due {
		e.follow(ctx, s, past.Runs)
	}
}

func (e *eventReader) follow(ctx context.Context, s *fleet.Schedule, runs []fleet.Run) {
	last := library.LastRun(runs, s.Name)
	if last == nil {
		s.Event = e.newest(ctx)
		return
	}
	s.Event = last.Event
	kind, _ := ledger.LogKind(*s)
	from := max(last.Event, e.read[s.Name])
	for {
		page, err := e.page(ctx, from)
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

// newest is the ID of the newest event.
func (e *eventReader) newest(ctx context.Context) int64 {
	found, err := recall(ctx, e.l, func(st *store.Store) ([]fleet.Event, error) { return st.LastEvents(ctx, 1, store.EventFilter{}) })
	if err != nil || len(found) == 0 {
		return 0
	}
	return found[0].ID
}

func (e *eventReader) page(ctx context.Context, after int64) ([]fleet.Event, error) {
	return recall(ctx, e.l, func(st *store.Store) ([]fleet.Event, error) {
		return st.Events(ctx, after, eventsAtOnce, store.EventFilter{})
	})
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
