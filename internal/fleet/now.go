package fleet

import "slices"

// Now is an agent as it is at the moment of the snapshot. What had lasted when agents
// were looked at has lasted longer by then, all of it by the same time: taken one by
// one, a state would be older than the process that is in it.
func (s *Snapshot) Now(a Agent) Agent {
	if s.Agents.At.IsZero() {
		return a
	}
	later := Duration(max(0, s.At.Since(s.Agents.At)))
	for _, d := range []*Leaf[Duration]{&a.Dwell, &a.Age, &a.Quiet, &a.LastHealthy, &a.HeartbeatAge, &a.CheckpointAge} {
		*d = longer(*d, later)
	}
	if a.Tool != nil {
		t := *a.Tool
		t.Age += later
		a.Tool = &t
	}
	a.Signals = slices.Clone(a.Signals)
	for i := range a.Signals {
		a.Signals[i].Age = longer(a.Signals[i].Age, later)
	}
	return a
}

func longer(d Leaf[Duration], by Duration) Leaf[Duration] {
	if known, ok := d.Get(); ok {
		return Known(known + by)
	}
	return d
}
