package ledger

// stepGates makes the gates that steps await and that there are not yet. It returns
// the keys of all that are awaited.
func (c *coordinate) stepGates() map[string]bool {
	known := map[string]bool{}
	for i := range c.past.Records.Gates {
		known[c.past.Records.Gates[i].Key] = true
	}
	awaited := map[string]bool{}
	for i := range c.past.Runs {
		r := &c.past.Runs[i]
		for j := range r.Steps {
			s := &r.Steps[j]
			if r.IsOver() || r.Cancel != "" || !IsHeld(s) || s.Awaits == "" {
				continue
			}
			awaited[s.Awaits] = true
			if !known[s.Awaits] {
				c.out.Records.Gates = append(c.out.Records.Gates, stepGate(r, s, c.at))
			}
		}
	}
	return awaited
}
