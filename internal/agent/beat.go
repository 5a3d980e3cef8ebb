package agent

import (
	"slices"

	"custos/internal/fleet"
)

// WithoutBeats returns what hooks told, and when the agent last said of itself
// that it is at work (custos heartbeat); zero for never. What it does is not told
// by that.
func WithoutBeats(events []fleet.HookEvent) (others []fleet.HookEvent, last fleet.Instant) {
	isBeat := func(e fleet.HookEvent) bool { return e.Event == fleet.HookBeat }
	if !slices.ContainsFunc(events, isBeat) {
		return events, last
	}
	for _, e := range events {
		if !isBeat(e) {
			others = append(others, e)
		} else if last.IsZero() || last.Before(e.At) {
			last = e.At
		}
	}
	return others, last
}

// Beat returns how long ago an agent last showed that it is at work: by what it
// told of itself (its hooks, its protocol, a heartbeat), and where it tells
// nothing, by anything of it that moved (quiet). While a tool runs that may, it is
// at work. One that tells nothing, and cannot be seen not to have moved, may have
// been at work: then an answer beyond what is allowed is not known.
func Beat(told Reported, beat fleet.Instant, quiet fleet.Leaf[fleet.Duration], allowed fleet.Duration, now fleet.Instant) fleet.Leaf[fleet.Duration] {
	if told.Tool != nil && !told.Tool.Over() {
		return fleet.Known(fleet.Duration(0))
	}
	newest := told.Last
	if newest.IsZero() || newest.Before(beat) {
		newest = beat
	}
	age := fleet.Duration(max(0, now.Since(newest)))
	switch {
	case newest.IsZero():
		return quiet
	case !told.Last.IsZero() || age <= allowed:
		return fleet.Known(age)
	}
	if moved, ok := quiet.Get(); ok {
		return fleet.Known(min(age, moved))
	}
	return quiet
}
