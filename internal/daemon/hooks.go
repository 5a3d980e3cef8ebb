package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/hookwire"
	"custos/internal/server"
	"custos/internal/store"
)

// hookReceiver takes what agents tell of themselves: each event is written down once,
// and has the agents looked at again.
type hookReceiver struct {
	s *system

	mu    sync.Mutex
	batch *store.HookBatch
	of    *store.Store
	// status is the last of each agent's status line that was written down; forgotten as a
	// whole when it grows, which costs a row each.
	status map[string]fleet.HookEvent
	twins  hookwire.Twins
}

// mostStatuses is of how many agents the last status line is remembered.
const mostStatuses = 2000

// isNews says whether an event is to be written down: a status line is called several times
// a second.
func (e *hookReceiver) isNews(event fleet.HookEvent) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return event.Event != fleet.HookStatus || agent.StatusNews(e.status[event.Key()], event)
}

// written remembers a status line that was written down.
func (e *hookReceiver) written(event fleet.HookEvent) {
	if event.Event != fleet.HookStatus {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.status == nil || len(e.status) > mostStatuses {
		e.status = map[string]fleet.HookEvent{}
	}
	e.status[event.Key()] = event
}

var _ server.Hooks = (*hookReceiver)(nil)

// Take writes one event down.
func (e *hookReceiver) Take(ctx context.Context, p hookwire.Post) (output string, err error) {
	if p.Used != "" {
		return "", e.s.grantUsed(p.Agent, p.Used)
	}
	parsed, err := e.s.world.Kinds.ParseHook(p.Kind, p.Event, p.Payload)
	if err != nil {
		return "", server.Unusable(fmt.Errorf("cannot read a hook event: %w", err))
	}
	if e.twins.Has(p) {
		return "", nil
	}
	batch, err := e.writer(ctx)
	if err != nil {
		return "", err
	}
	event := server.HookEvent(p, parsed)
	if !e.isNews(event) {
		return "", nil
	}
	refused := e.refused(ctx, &event, p.Event)
	fresh, err := batch.TakeHook(ctx, event)
	if err == nil {
		e.written(event)
	}
	if err == nil && fresh {
		e.s.loop.Stir()
		e.s.told(event)
		if event.Event != fleet.HookToolBegin && event.Event != fleet.HookToolEnd {
			time.AfterFunc(drawn, func() { e.s.board.LookNow(fleet.PartAgents) })
		}
	}
	if err == nil && event.Event == fleet.HookToolEnd && e.s.world.Kinds.EndsTurns(p.Kind, p.Event) {
		refused = e.s.spentOut(ctx, event, fresh)
	}
	if refused != "" {
		return e.s.world.Kinds.HookEnd(p.Kind, p.Event, refused), nil
	}
	if err != nil || !e.s.world.Kinds.TakesContext(p.Kind, p.Event) {
		return "", err
	}
	return e.s.world.Kinds.HookContext(p.Kind, p.Event, e.context(ctx, event, fresh)), nil
}

// refused says why a prompt begins no turn: a budget is used up. It is no prompt then: the turn of the agent stays ended.
func (e *hookReceiver) refused(ctx context.Context, event *fleet.HookEvent, hook string) (why string) {
	if event.Event == fleet.HookPrompt && e.s.world.Kinds.EndsTurns(event.Kind, hook) {
		if why = e.s.spentOut(ctx, *event, false); why != "" {
			event.Event, event.Text = fleet.HookStop, ""
		}
	}
	return why
}

// context is what an agent is told by the answer to one of its hooks: what its run is
// about, when its context was compacted, and of mail that waits for it.
func (e *hookReceiver) context(ctx context.Context, event fleet.HookEvent, fresh bool) string {
	var parts []string
	if event.Event == fleet.HookSessionStart && event.Text == "compact" {
		parts = append(parts, e.s.reminder(ctx, event.Agent))
	}
	if fresh {
		parts = append(parts, e.s.mailFor(ctx, event))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// drawn is how long after a hook the screen is looked at again: CLIs call the
// hook first and draw then.
const drawn = 700 * time.Millisecond

// listen has a Custos of one command receive hooks while it lives: what it types is
// then acknowledged as it is under a daemon. Without it they would wait in the
// spool for the next one.
func (s *system) listen() {
	if s.daemon {
		return
	}
	s.hearing.Do(func() {
		h, err := server.ListenHooks(server.HookOptions{Run: s.cfg.RuntimeDir, Hooks: s.hookReceiver, Whose: s.hookReceiver.whose, Log: s.o.Log})
		if err != nil {
			s.o.Log.Warn("Cannot receive hooks", "err", err)
			return
		}
		s.hookListener.Store(h)
		ctx, stop := context.WithCancel(context.Background())
		var parts sync.WaitGroup
		parts.Go(func() { _ = h.Serve(ctx) })
		parts.Go(func() { _ = s.keepPlace(ctx) })
		s.deafen = func() { stop(); parts.Wait() }
	})
}

// writer returns the batch of the store that is open for writing.
func (e *hookReceiver) writer(ctx context.Context) (*store.HookBatch, error) {
	st, err := e.s.ledger.writer(ctx)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of != st {
		e.of, e.batch = st, store.NewHookBatch(st)
	}
	return e.batch, nil
}

// loops is how far back tool calls count as one loop.
const loops = 2 * time.Hour

// afresh is when hook events are read again though nothing was told: what is older than loops drops out.
const afresh = 5 * time.Minute

// hookEvents returns what lists recent events: the newest of each name of each agent, and all
// of the last two hours. They are read again when something was told since. The slice is shared: the
// caller must not change it.
func (s *system) hookEvents() func(context.Context) ([]fleet.HookEvent, error) {
	var (
		mu     sync.Mutex
		of     *store.Store
		newest int64
		at     fleet.Instant
		kept   []fleet.HookEvent
	)
	return func(ctx context.Context) ([]fleet.HookEvent, error) {
		mu.Lock()
		defer mu.Unlock()
		return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.HookEvent, error) {
			now := s.world.Now()
			mark, err := st.NewestHook(ctx)
			if err != nil {
				return nil, err
			}
			if st == of && mark == newest && now.Since(at) < afresh {
				return kept, nil
			}
			events, err := recent(ctx, st, now)
			if err == nil {
				of, newest, at, kept = st, mark, now, events
			}
			return events, err
		})
	}
}

// hookEventsOf returns what one agent told since a moment.
func (s *system) hookEventsOf(ctx context.Context, key string, since fleet.Instant) ([]fleet.HookEvent, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.HookEvent, error) {
		return st.HooksSince(ctx, since, store.HookFilter{Key: key})
	})
}

func recent(ctx context.Context, st *store.Store, now fleet.Instant) ([]fleet.HookEvent, error) {
	last, err := st.LastHooks(ctx)
	if err != nil {
		return nil, err
	}
	out, err := st.HooksSince(ctx, now.Add(-loops), store.HookFilter{Limit: 8000})
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(out))
	for _, e := range out {
		known[e.ID] = true
	}
	for _, events := range last {
		for _, e := range events {
			if !known[e.ID] {
				out = append(out, e)
			}
		}
	}
	return out, nil
}
