package rules

import "custos/internal/fleet"

type leafInt = fleet.Leaf[int64]
type leafFloat = fleet.Leaf[float64]
type leafDuration = fleet.Leaf[fleet.Duration]
type leafString = fleet.Leaf[string]

func hostWords() *structure {
	type T = fleet.Host
	return define("host", "The machine Custos runs on.",
		text("name", "its name", func(h *T) string { return h.Name }),
		number("cpus", "how many processors it has", func(h *T) int { return h.CPUs }),
		child("memory", "memory", "main memory", func(h *T) *fleet.Memory { return &h.Memory }),
		child("swap", "swap", "swap space", func(h *T) *fleet.Swap { return &h.Swap }),
		child("load", "load", "the load averages", func(h *T) *fleet.Load { return &h.Load }),
		child("pressure", "pressure", "time lost to waiting, from the kernel", func(h *T) *fleet.Pressure { return &h.Pressure }),
		leafNumber("oom_kills", "processes the kernel killed for lack of memory since boot", func(h *T) *leafInt { return &h.OOMKills }),
		leafNumber("oom_recent", "the same, since the previous look", func(h *T) *leafInt { return &h.OOMRecent }),
		leafSpan("clock_jump", "how far the wall clock jumped since the previous look", func(h *T) *leafDuration { return &h.ClockJump }),
		leafSpan("uptime", "time since boot", func(h *T) *leafDuration { return &h.Uptime }),
		children("mounts", "mount", "its file systems", func(h *T) []fleet.Mount { return h.Mounts }),
	)
}

func memoryWords() *structure {
	type T = fleet.Memory
	return define("memory", "Main memory.",
		leafBytes("total", "bytes there are", func(m *T) *leafInt { return &m.Total }),
		leafBytes("available", "bytes a new program could still have", func(m *T) *leafInt { return &m.Available }),
	)
}

func swapWords() *structure {
	type T = fleet.Swap
	return define("swap", "Swap space.",
		leafBytes("total", "bytes there are", func(s *T) *leafInt { return &s.Total }),
		leafBytes("used", "bytes in use", func(s *T) *leafInt { return &s.Used }),
	)
}

func loadWords() *structure {
	type T = fleet.Load
	return define("load", "Load averages.",
		leafReal("one", "over one minute", func(l *T) *leafFloat { return &l.One }),
		leafReal("five", "over five minutes", func(l *T) *leafFloat { return &l.Five }),
		leafReal("fifteen", "over fifteen minutes", func(l *T) *leafFloat { return &l.Fifteen }),
	)
}

func pressureWords() *structure {
	type T = fleet.Pressure
	return define("pressure", "Percent of the last ten seconds in which something waited (PSI, some avg10).",
		leafPercent("cpu", "for a processor", func(p *T) *leafFloat { return &p.CPU }),
		leafPercent("memory", "for memory", func(p *T) *leafFloat { return &p.Memory }),
		leafPercent("io", "for a disk", func(p *T) *leafFloat { return &p.IO }),
	)
}

func mountWords() *structure {
	type T = fleet.Mount
	return define("mount", "One file system.",
		text("path", "where it is mounted", func(m *T) string { return m.Path }),
		text("device", "what is mounted", func(m *T) string { return m.Device }),
		text("type", "its type: ext4, xfs, …", func(m *T) string { return m.Type }),
		leafBytes("total", "bytes it holds", func(m *T) *leafInt { return &m.Total }),
		leafBytes("available", "bytes an ordinary user can still write", func(m *T) *leafInt { return &m.Available }),
		leafPercent("used_percent", "percent used, as df prints it", func(m *T) *leafFloat { return &m.UsedPercent }),
		leafPercent("inodes_percent", "percent of inodes used; 0 where there are none", func(m *T) *leafFloat { return &m.InodesPercent }),
		leafSpan("time_to_full", "when it will be full at the present rate; not known until two looks differ", func(m *T) *leafDuration { return &m.TimeToFull }),
	)
}
