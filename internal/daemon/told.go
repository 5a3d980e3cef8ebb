package daemon

import (
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe/agents"
)

// told has the agents looked at for what one of them told, and lays that over the board
// until then, where it is certain by itself.
func (s *system) told(event fleet.HookEvent) {
	if news, ok := s.world.Agents.Told(event); ok {
		s.heard.add(news)
		return
	}
	s.board.LookNow(fleet.PartAgents)
}

// heard is what agents told a moment ago: what many of them tell at once is laid over the
// board at once.
type heard struct {
	lay func([]agents.Told)

	mu   sync.Mutex
	last time.Time // something was laid
	all  []agents.Told
}

// together is how far apart two layings are at least.
const together = 20 * time.Millisecond

// add lays news at once, or with those that come until it may.
func (h *heard) add(news agents.Told) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, news)
	switch wait := together - time.Since(h.last); {
	case len(h.all) > 1: // it is coming
	case wait <= 0:
		h.layAll()
	default:
		time.AfterFunc(wait, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.layAll()
		})
	}
}

// layAll is called with mu held.
func (h *heard) layAll() {
	all := h.all
	h.all, h.last = nil, time.Now()
	h.lay(all)
}

// layTold lays what agents told over the board, and has them looked at.
func (s *system) layTold(news []agents.Told) {
	s.board.Overlay(fleet.PartAgents, func(snap *fleet.Snapshot) {
		snap.Agents.Value = agents.WithTold(snap.Agents.Value, news, snap.At)
	}, "what agents told")
	s.board.LookNow(fleet.PartAgents)
}
