package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"custos/internal/fleet"
	"custos/internal/view"
)

// pulse is when passes were made, as they are known without asking anybody: a
// ledger that hangs must not keep health from being told.
type pulse struct {
	beats chan struct{} // one token: a pass succeeded since it was taken

	mu        sync.Mutex
	at        fleet.Instant // the last whole pass ended
	patrolled fleet.Instant // the last whole patrol
}

// passed notes a whole pass that was committed.
func (p *pulse) passed(patrol bool, at fleet.Instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = at
	if patrol {
		p.patrolled = at
	}
	select {
	case p.beats <- struct{}{}:
	default:
	}
}

func (p *pulse) last() (pass, patrol fleet.Instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at, p.patrolled
}

// selfNotes are what is wrong with Custos' own file, socket and memory.
func (s *system) selfNotes() (notes []string) {
	if why := s.world.ConfigTrouble(); why != "" {
		notes = append(notes, why)
	}
	if why := s.world.SocketTrouble(); why != "" {
		notes = append(notes, "the socket was replaced: "+why)
	}
	if _, why := s.page.Where(); why != "" {
		notes = append(notes, why)
	}
	seen := s.board.Snapshot().Self.Value
	if lost := seen.Lost.Or(""); lost != "" {
		notes = append(notes, "what was done before is lost: "+lost+"; nothing is done until a person acknowledges the alert of rule "+amnesiaRule)
	}
	if moved := seen.Moved.Or(""); moved != "" {
		notes = append(notes, moved+" under Custos; what it held was written to a new file")
	}
	return notes
}

// vitals says whether passes are made. Without a daemon the ledger says when the
// last patrol was.
func (s *system) vitals(isDaemon bool) func(context.Context) view.Vitals {
	return func(ctx context.Context) view.Vitals {
		if !isDaemon {
			past, err := s.recall(ctx)
			v := view.Vitals{Patrolled: past.PatrolAt}
			if err != nil {
				v.Trouble = err.Error()
			}
			return v
		}
		pass, patrol := s.pulse.last()
		return view.Vitals{Daemon: true, Passed: pass, Patrolled: patrol, Every: s.loop.Interval(), Trouble: s.loop.Trouble(), Full: s.full(), Receivers: s.report.Receivers(), Hung: s.hung(), Notes: append(s.selfNotes(), terminalNotes(s.board.Snapshot())...)}
	}
}

// terminalNotes are the terminal servers that are stopped by a signal, as the rule
// terminal-server-stopped has it, and who is not seen for that.
func terminalNotes(seen fleet.Snapshot) (notes []string) {
	behind := map[int][]string{}
	if own := seen.Self.Value.TerminalStopped; own != 0 {
		behind[own] = nil // nobody may be in it: none can be started there
	}
	for _, a := range seen.Agents.Value {
		if a.TerminalStopped != 0 {
			behind[a.TerminalStopped] = append(behind[a.TerminalStopped], a.Name)
		}
	}
	for _, server := range slices.Sorted(maps.Keys(behind)) {
		if len(behind[server]) == 0 {
			notes = append(notes, fmt.Sprintf("the terminal server of Custos (process %d) is stopped by a signal, and no agent can be started in it; to have it go on: kill -CONT %d", server, server))
			continue
		}
		notes = append(notes, fmt.Sprintf("the terminal server (process %d) is stopped by a signal, and it cannot be seen what %d agent(s) do: %s; to have it go on: kill -CONT %d",
			server, len(behind[server]), strings.Join(behind[server], ", "), server))
	}
	return notes
}

// hung lists the parts whose probe did not answer by its deadline.
func (s *system) hung() (out []string) {
	snap := s.board.Snapshot()
	for _, name := range fleet.PartNames() {
		if sight := snap.Sight(name); sight.Hung {
			out = append(out, string(name)+" ("+sight.Probe+")")
		}
	}
	return out
}
