package agentrun

import (
	"context"
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// minTraffic is how many bytes read or written count as life: less is the
// housekeeping of an event loop.
const minTraffic = 4096

// step is what the kernel tells of processor time in: one alone may be what was used before.
const step = 10 * time.Millisecond

// Rest says how still an agent has to be before a rule may disturb it.
type Rest struct {
	Watch  time.Duration // how long it is watched
	MaxCPU float64       // percent of one core that its tree may use meanwhile
}

// AtRest watches an agent for a moment and refuses one that works.
func (l *Live) AtRest(ctx context.Context, rest Rest) error {
	if l.Agent.Progress != fleet.ProgressNone && l.Agent.State != fleet.StateIdle && !l.Agent.TurnOver() {
		return Refused("its progress was %q, not none", l.Agent.Progress)
	}
	if t := l.Agent.Tool; t != nil && !t.Over() {
		return Refused("it runs %s, which may take %s", fleet.Line(t.Name, 40), t.Deadline)
	}
	t := &Tree{Also: Also(&l.Agent), Marker: Marker(l.Agent.Name, l.Agent.Instance), Hosted: l.World.Hosted, Folder: FolderOf(&l.Agent)}
	if shim.IsKey(l.Agent.Instance) {
		t.Kin, t.Doubt = shim.ReadKin(l.Shims, l.Agent.Name, l.Agent.Instance, l.Boot, shim.OfOne)
	}
	t.Take(l.Handle) // which stays the agent's own to let go of
	_, err := t.AtRest(ctx, rest)
	return err
}

// AtRest watches a tree for a moment and refuses one that works: it used the
// processor, moved data, began or ended a process. It returns the tree as it was
// at the end of that.
func (t *Tree) AtRest(ctx context.Context, rest Rest) ([]proc.Member, error) {
	before, err := t.Look(ctx)
	if err != nil {
		return nil, err
	}
	began, moved := time.Now(), traffic(before)
	if err := t.pause(ctx, rest.Watch); err != nil {
		return nil, err
	}
	after, err := t.Look(ctx)
	if err != nil {
		return nil, err
	}
	if err := still(before, after, time.Since(began), rest.MaxCPU); err != nil {
		return nil, err
	}
	if now := traffic(after); now > moved+minTraffic {
		return nil, Refused("it works: it moved %d bytes in the last moment", now-moved)
	}
	return after, nil
}

// pause waits for the watch to pass, and refuses when the root ends meanwhile.
func (t *Tree) pause(ctx context.Context, d time.Duration) error {
	watch, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if err := t.root.Wait(watch); err == nil {
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
			return begun(m)
		}
		used += m.CPU - was
	}
	if len(after) < len(before) {
		return Refused("it works: %d of its processes have just ended", len(before)-len(after))
	}
	if percent := 100 * float64(used) / float64(took); percent > maxCPU && used > step {
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
