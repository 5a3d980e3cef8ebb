package containers

import (
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/engine"
)

// window is over how long restarts are counted.
const window = 10 * time.Minute

// past is what the probe remembers of one container.
type past struct {
	first    time.Time // when it was first looked at, by our monotonic clock
	restarts int       // the engine's count at the newest look
	grew     []growth  // within the window, oldest first

	run   string // of the newest measure
	usage engine.Usage
}

// growth is how many restarts a look found that the look before had not.
type growth struct {
	at time.Time
	by int
}

// lately counts the restarts of the last ten minutes. The engine tells how many
// there were, not when; so a count needs looks over all that time, or a container
// or a run of it that is younger or older than that.
func (p *Probe) lately(id string, d engine.Detail, now time.Time, told bool) fleet.Leaf[int] {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.o.Now()
	m, ok := p.memory[id]
	if !ok {
		m = &past{first: at, restarts: d.Restarts}
		p.memory[id] = m
	}
	m.count(at, d.Restarts)
	young := told && !d.Created.IsZero() && now.Sub(d.Created) < window
	steady := told && d.State == running && !d.Started.IsZero() && now.Sub(d.Started) >= window
	switch {
	case d.Restarts == 0, steady:
		return fleet.Known(0)
	case young:
		return fleet.Known(d.Restarts)
	case at.Sub(m.first) >= window:
		return fleet.Known(m.sum())
	}
	return fleet.Unknown[int]("it has not been watched for ten minutes yet")
}

// count notes how the engine's count grew. It begins anew when somebody starts
// the container.
func (m *past) count(at time.Time, restarts int) {
	by := restarts - m.restarts
	if by < 0 {
		by = restarts
	}
	m.restarts = restarts
	for len(m.grew) > 0 && at.Sub(m.grew[0].at) >= window {
		m.grew = m.grew[1:]
	}
	if by > 0 {
		m.grew = append(m.grew, growth{at, by})
	}
}

func (m *past) sum() (n int) {
	for _, g := range m.grew {
		n += g.by
	}
	return n
}

// cpu is what a container used of one core between this measure and the last one
// of the same run, in percent.
func (p *Probe) cpu(id, run string, u engine.Usage) fleet.Leaf[float64] {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.memory[id]
	if m == nil {
		return fleet.Unknown[float64]("it was not looked at")
	}
	was, same := m.usage, m.run == run && !m.usage.At.IsZero()
	m.run, m.usage = run, u
	passed, used := u.At.Sub(was.At), u.CPU-was.CPU
	if !same || passed <= 0 || used < 0 {
		return fleet.Unknown[float64]("it takes two measures")
	}
	return fleet.Known(100 * float64(used) / float64(passed))
}

// forget drops what is remembered of containers that there are no more.
func (p *Probe) forget(rows []engine.Container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	still := map[string]bool{}
	for _, row := range rows {
		still[row.ID] = true
	}
	for id := range p.memory {
		if !still[id] {
			delete(p.memory, id)
		}
	}
}
