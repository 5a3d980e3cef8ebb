package containers

import (
	"cmp"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/engine"
)

// The states that the probe itself tells apart.
const (
	running    = "running"
	restarting = "restarting"
	created    = "created"
	exited     = "exited"
	dead       = "dead"
)

// states and healths are the words that rules know.
func states() []string {
	return []string{created, running, "paused", restarting, "removing", exited, dead}
}

func healths() []string { return []string{"none", "starting", "healthy", "unhealthy"} }

func (p *Probe) owner(name string) fleet.Owner {
	if p.o.isOurs(name) {
		return fleet.OwnerConfigured
	}
	return fleet.OwnerForeign
}

// base is what the list alone tells.
func (p *Probe) base(row engine.Container) fleet.Container {
	label := func(names ...string) string {
		for _, n := range names {
			if v := row.Labels[n]; v != "" {
				return fleet.Line(clip(v), 100)
			}
		}
		return ""
	}
	return fleet.Container{ID: fleet.Line(clip(row.ID), 64), Name: fleet.Line(clip(row.Name), 128), Image: clean(row.Image),
		Owner: p.owner(row.Name), Project: label("com.docker.compose.project", "io.podman.compose.project"),
		Service: label("com.docker.compose.service", "io.podman.compose.service"), State: word(row.State, states())}
}

// unknown is a container that could not be inspected.
func (p *Probe) unknown(row engine.Container, err error) fleet.Container {
	c, why := p.base(row), plain(err)
	c.Wanted = p.o.isWanted(row.Name)
	c.Since, c.Health, c.Exit = fleet.Unknown[fleet.Duration](why), fleet.Unknown[string](why), fleet.Unknown[int](why)
	c.OOM, c.Restarts, c.Lately = fleet.Unknown[bool](why), fleet.Unknown[int](why), fleet.Unknown[int](why)
	c.Limit = fleet.Unknown[int64](why)
	return c
}

// facts turns what the engine says into the words of the fleet.
func (p *Probe) facts(row engine.Container, d engine.Detail) fleet.Container {
	c := p.base(row)
	now, told := p.o.Engine.Now()
	c.Image, c.Run = clean(cmp.Or(d.Image, row.Image)), fleet.Line(clip(d.Run), 64)
	c.Wanted = p.o.isWanted(row.Name) || wants(d)
	c.State, c.Health = word(d.State, states()), word(d.Health, healths())
	c.Since = since(d, now, told)
	c.Error = clean(d.Error)
	switch {
	case isStill(d): // the engine remembers what the check of the last run said
		c.Health = fleet.Known("none")
	case d.Health != "healthy":
		c.Said = clean(d.Said)
	}
	c.Exit, c.OOM, c.Restarts = fleet.Known(d.Exit), fleet.Known(d.OOM), fleet.Known(d.Restarts)
	c.Limit = fleet.Known(d.Limit)
	c.Lately = p.lately(row.ID, d, now, told)
	return c
}

// wants says whether the restart policy has a container run. The engine itself
// starts again what ends while it is to run; so one that stands still was stopped
// by somebody, unless the engine could not start it or has given up.
func wants(d engine.Detail) bool {
	still := isStill(d)
	switch d.Policy {
	case "always", "unless-stopped":
		return !still || d.Error != ""
	case "on-failure":
		return !still || d.Error != "" || d.State == exited && d.Exit != 0 && d.Retries > 0 && d.Restarts >= d.Retries
	}
	return false
}

// isStill says that nothing of the container runs or is about to.
func isStill(d engine.Detail) bool {
	return slices.Contains([]string{created, exited, dead, "removing"}, d.State)
}

// since is the time in the state, by the engine's own clock.
func since(d engine.Detail, now time.Time, told bool) fleet.Leaf[fleet.Duration] {
	at := time.Time{}
	switch d.State {
	case running:
		at = d.Started
	case restarting, exited, dead:
		at = d.Finished
	case created:
		at = d.Created
	}
	switch {
	case at.IsZero():
		return fleet.Unknown[fleet.Duration]("the engine does not say since when")
	case !told:
		return fleet.Unknown[fleet.Duration]("the engine does not say what time it is")
	}
	return age(now, at)
}

// slack is how far a moment may lie ahead of the engine's clock: that is told to
// the second.
const slack = 2 * time.Second

func age(now, then time.Time) fleet.Leaf[fleet.Duration] {
	d := now.Sub(then)
	if d < -slack {
		return fleet.Unknown[fleet.Duration]("it lies ahead of the engine's own clock")
	}
	return fleet.Known(fleet.Duration(max(d, 0)))
}

// word is one of the words that rules know, or unknown.
func word(w string, known []string) fleet.Leaf[string] {
	if slices.Contains(known, w) {
		return fleet.Known(w)
	}
	return fleet.Unknown[string](clean("the engine says " + w + ", which Custos does not know"))
}
