package agentrun

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

// minTraffic is how many bytes read or written count as life: less is the
// housekeeping of an event loop.
const minTraffic = 4096

// Rest says how still an agent has to be before a rule may disturb it.
type Rest struct {
	Watch  time.Duration // how long it is watched
	MaxCPU float64       // percent of one core that its tree may use meanwhile
}

// AtRest watches a tree for a moment and refuses one that works: it used the
// processor, moved data, began or ended a process.
func (l *Live) AtRest(ctx context.Context, rest Rest) error {
	if l.Agent.Progress != fleet.ProgressNone {
		return Refused("its progress was %q, not none", l.Agent.Progress)
	}
	if t := l.Agent.Tool; t != nil && !t.Over() {
		return Refused("it runs %s, which may take %s", fleet.Line(t.Name, 40), t.Deadline)
	}
	before, err := l.Tree(ctx)
	if err != nil {
		return err
	}
	began, moved := time.Now(), traffic(before)
	if err := l.pause(ctx, rest.Watch); err != nil {
		return err
	}
	after, err := l.Tree(ctx)
	if err != nil {
		return err
	}
	if err := still(before, after, time.Since(began), rest.MaxCPU); err != nil {
		return err
	}
	if now := traffic(after); now > moved+minTraffic {
		return Refused("it works: it moved %d bytes in the last moment", now-moved)
	}
	return nil
}

func (l *Live) pause(ctx context.Context, d time.Duration) error {
	watch, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if err := l.Handle.Wait(watch); err == nil {
		return Refused("it has just ended by itself")
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot watch the agent: %w", err)
	}
	return nil
}

func still(before, after []proc.Member, took time.Duration, maxCPU float64) error {
	cpu := map[proc.ID]time.Duration{}
	for _, m := range before {
		cpu[m.ID] = m.CPU
	}
	var used time.Duration
	for _, m := range after {
		was, known := cpu[m.ID]
		if !known {
			return Refused("it works: it has just begun process %d (%s)", m.PID, fleet.Line(m.Name, 20))
		}
		used += m.CPU - was
	}
	if len(after) < len(before) {
		return Refused("it works: %d of its processes have just ended", len(before)-len(after))
	}
	if percent := 100 * float64(used) / float64(took); percent > maxCPU {
		return Refused("it works: it used %.0f %% of a core in the last moment", percent)
	}
	return nil
}

func traffic(tree []proc.Member) (sum uint64) {
	for _, m := range tree {
		if n, ok := proc.Traffic(m.PID); ok {
			sum += n
		}
	}
	return sum
}

// Tree lists what belongs to the agent: whatever descends from it, was seen in
// its tree, or carries its marker. It refuses a tree that Custos itself runs in.
func (l *Live) Tree(ctx context.Context) ([]proc.Member, error) {
	tree, err := l.Handle.Tree(ctx, proc.TreeOptions{Also: Also(&l.Agent), Marker: Marker(l.Agent.Name, l.Agent.Instance)})
	if err != nil {
		return nil, err
	}
	lineage, err := proc.Lineage()
	if err != nil {
		return nil, err
	}
	for _, m := range tree {
		if err := Allowed(m, lineage); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// Also lists the tree as the plan knew it, the agent itself first.
func Also(a *fleet.Agent) []proc.ID {
	var out []proc.ID
	for _, p := range append([]fleet.ProcessID{a.Process}, a.Procs...) {
		id := proc.ID{PID: p.PID, Start: p.Start}
		if p.PID > 1 && p.Boot == a.Process.Boot && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Allowed refuses a process that must never be signalled.
func Allowed(m proc.Member, lineage []proc.ID) error {
	switch {
	case m.PID == 1 || slices.Contains(lineage, m.ID):
		return Refused("Custos itself runs in it (process %d)", m.PID)
	case m.UID != os.Getuid():
		return Refused("process %d (%s) in it is another user's", m.PID, fleet.Line(m.Name, 20))
	}
	return nil
}

// Pause waits, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
