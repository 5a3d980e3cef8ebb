package agents

// judges says whether a process is a judge that Custos asks, which is an agent
// CLI like any other and nobody's agent.
func (l *look) judges(pid int) bool {
	if l.o.Judge == nil || l.o.Self == 0 {
		return false
	}
	for p := range l.upwards(pid) {
		if p.ID.PID == l.o.Self {
			return l.o.Judge(pid)
		}
	}
	return false
}
