package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"

	"custos/internal/fleet"
)

// Beat writes down that an agent said it is at work, among what its hooks tell:
// it is kept, and forgotten, like that.
func (a agentPort) Beat(ctx context.Context, name string) (fleet.Instant, error) {
	s := a.s
	s.board.Await(ctx, fleet.PartAgents)
	agents := s.board.Snapshot().Agents.Value
	i := slices.IndexFunc(agents, func(a fleet.Agent) bool { return a.Name == name && a.Process.PID != 0 })
	if i < 0 {
		return fleet.Instant{}, fmt.Errorf("cannot note a heartbeat of %s: it is not seen to run: %w", name, fs.ErrNotExist)
	}
	batch, err := s.hookReceiver.writer(ctx)
	if err != nil {
		return fleet.Instant{}, err
	}
	e := beatOf(agents[i], s.world.Now())
	if _, err := batch.TakeHook(ctx, e); err != nil {
		return fleet.Instant{}, err
	}
	s.loop.Stir()
	s.board.LookNow(fleet.PartAgents)
	return e.At, nil
}

func beatOf(a fleet.Agent, at fleet.Instant) fleet.HookEvent {
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	return fleet.HookEvent{ID: "beat-" + hex.EncodeToString(id[:]), At: at, Agent: a.Name, Instance: a.Instance, Process: a.Process, Kind: a.Kind,
		Event: fleet.HookBeat, Context: fleet.Unknown[float64]("not told")}
}
