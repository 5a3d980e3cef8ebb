package rules

import "custos/internal/fleet"

func agentWords() *structure {
	type T = fleet.Agent
	return define("agent", "One run of an agent CLI, whoever started it.",
		text("name", "its stable name", func(a *T) string { return a.Name }),
		text("kind", "which CLI: claude, codex, …", func(a *T) string { return a.Kind }),
		text("owner", "custos, adopted, configured or foreign", func(a *T) fleet.Owner { return a.Owner }),
		said("state", "starting, dialog, working, idle, waiting, rate_limited, auth_lost, context_high, stuck, looping, zombie, crashed, finished or stopped", func(a *T) fleet.AgentState { return a.State }),
		text("reason", "why this state", func(a *T) string { return a.Reason }),
		text("source", "what told the state: registry, cpu, title, screen, …", func(a *T) string { return a.Source }),
		leafSpan("dwell", "how long it has been in this state", func(a *T) *leafDuration { return &a.Dwell }),
		child("process", "process", "its process; pid 0 when that is gone", func(a *T) *fleet.ProcessID { return &a.Process }),
		children("procs", "process", "the processes below it, itself first", func(a *T) []fleet.ProcessID { return a.Procs }),
		child("pane", "session", "the tmux pane it runs in; not known where it runs in none", func(a *T) *fleet.Pane { return a.Pane }),
		text("tty", "its terminal", func(a *T) string { return a.TTY }),
		leafText("cwd", "its working directory", func(a *T) *leafString { return &a.CWD }),
		texts("args", "its command line, secrets redacted", func(a *T) []string { return a.Args }),
		truth("oneshot", "whether it answers one prompt and ends (claude -p)", func(a *T) bool { return a.OneShot }),
		leafSpan("age", "time since it began", func(a *T) *leafDuration { return &a.Age }),
		leafPercent("cpu", "percent of one processor, its whole tree", func(a *T) *leafFloat { return &a.CPU }),
		leafBytes("rss", "bytes of memory, its whole tree", func(a *T) *leafInt { return &a.RSS }),
		said("progress", "some, or none: every signal was seen and none of them moved", func(a *T) fleet.Progress { return a.Progress }),
		leafSpan("quiet", "time since any life signal moved", func(a *T) *leafDuration { return &a.Quiet }),
		text("session_id", "the CLI's own session, which changes on /clear", func(a *T) string { return a.SessionID }),
		leafNumber("exit_status", "known only for one that ended", func(a *T) *fleet.Leaf[int] { return &a.ExitStatus }),
		leafNumber("exit_signal", "known only for one that a signal ended", func(a *T) *fleet.Leaf[int] { return &a.ExitSignal }),
		number("attached", "people looking at its pane", func(a *T) int { return a.Attached }),
		children("signals", "signal", "the evidence its state rests on", func(a *T) []fleet.Signal { return a.Signals }),
	)
}

func signalWords() *structure {
	type T = fleet.Signal
	return define("signal", "One piece of evidence about an agent.",
		text("source", "process, registry, cpu, activity, title or screen", func(s *T) string { return s.Source }),
		text("says", "what it says, in plain words", func(s *T) string { return s.Says }),
		text("hint", "the state it points to, if any", func(s *T) fleet.AgentState { return s.Hint }),
		leafSpan("age", "how old it is", func(s *T) *leafDuration { return &s.Age }),
	)
}

func processIDWords() *structure {
	type T = fleet.ProcessID
	return define("process", "The identity of one process.",
		number("pid", "its number", func(p *T) int { return p.PID }),
		number("start", "when it began, in clock ticks since boot", func(p *T) uint64 { return p.Start }),
		text("boot", "in which boot", func(p *T) string { return p.Boot }),
	)
}

func paneWords() *structure {
	type T = fleet.Pane
	return define("session", "One place where a program can be seen running: a tmux pane.",
		child("id", "pane_id", "its identity", func(p *T) *fleet.PaneID { return &p.ID }),
		text("session", "the session's name", func(p *T) string { return p.Session }),
		text("session_id", "tmux's number for the session: $1", func(p *T) string { return p.SessionID }),
		text("window", "the window's name", func(p *T) string { return p.Window }),
		number("window_index", "the window's number", func(p *T) int { return p.WindowIndex }),
		number("pane_index", "the pane's number in its window", func(p *T) int { return p.PaneIndex }),
		text("command", "the program in front", func(p *T) string { return p.Command }),
		text("start_command", "what the pane was opened with", func(p *T) string { return p.StartCommand }),
		text("title", "the title its program set", func(p *T) string { return p.Title }),
		text("cwd", "its working directory", func(p *T) string { return p.CWD }),
		truth("dead", "whether its program has ended", func(p *T) bool { return p.Dead }),
		leafNumber("exit_status", "known only for a dead pane, and not always then", func(p *T) *fleet.Leaf[int] { return &p.ExitStatus }),
		leafNumber("exit_signal", "known only for a dead pane, and not always then", func(p *T) *fleet.Leaf[int] { return &p.ExitSignal }),
		leafSpan("activity", "time since its window last printed something", func(p *T) *leafDuration { return &p.Activity }),
		leafSpan("age", "time since its session was made", func(p *T) *leafDuration { return &p.Age }),
		number("attached", "people looking", func(p *T) int { return p.Attached }),
		truth("in_mode", "whether it is in copy mode or the like", func(p *T) bool { return p.InMode }),
	)
}

func paneIDWords() *structure {
	type T = fleet.PaneID
	return define("pane_id", "The identity of one pane.",
		text("socket", "path of its server's socket", func(p *T) string { return p.Socket }),
		child("server", "process", "its tmux server", func(p *T) *fleet.ProcessID { return &p.Server }),
		text("pane", "tmux's number for it: %3", func(p *T) string { return p.Pane }),
		child("root", "process", "its first process", func(p *T) *fleet.ProcessID { return &p.Root }),
	)
}
