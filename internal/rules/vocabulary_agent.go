package rules

import "custos/internal/fleet"

func agentWords() *structure {
	type T = fleet.Agent
	return define("agent", "One run of an agent CLI, whoever started it; or an agent that is registered, and does not run.",
		text("name", "its stable name", func(a *T) string { return a.Name }),
		text("kind", "which CLI: claude, codex, …", func(a *T) string { return a.Kind }),
		text("owner", "custos, adopted, configured or foreign", func(a *T) fleet.Owner { return a.Owner }),
		said("state", "starting, dialog, working, idle, waiting, rate_limited, auth_lost, context_high, stuck, looping, zombie, crashed, finished or stopped", func(a *T) fleet.AgentState { return a.State }),
		text("reason", "why this state", func(a *T) string { return a.Reason }),
		text("source", "what told the state: hook, registry, cpu, title, screen, …", func(a *T) string { return a.Source }),
		leafSpan("dwell", "how long it has been in this state", func(a *T) *leafDuration { return &a.Dwell }),
		child("process", "process", "its process; pid 0 when that is gone", func(a *T) *fleet.ProcessID { return &a.Process }),
		children("procs", "process", "the processes below it, itself first", func(a *T) []fleet.ProcessID { return a.Procs }),
		atMostOne("pane", "session", "the tmux pane it runs in; empty where it runs in none", func(a *T) *fleet.Pane { return a.Pane }),
		leafTruth("pane_lost", "whether it runs, and the pane it was in is gone; only for one that runs", func(a *T) *fleet.Leaf[bool] { return &a.PaneLost }),
		leafTruth("shim_lost", "whether it runs, and the shim of ours that started it is gone; only for one that runs", func(a *T) *fleet.Leaf[bool] { return &a.ShimLost }),
		number("terminal_stopped", "process of the terminal server that it runs in, while that is stopped by a signal; else 0", func(a *T) int { return a.TerminalStopped }),
		text("tty", "its terminal", func(a *T) string { return a.TTY }),
		leafText("cwd", "its working directory", func(a *T) *leafString { return &a.CWD }),
		leafTruth("folder_gone", "whether it runs, and its working directory was removed or moved below it; only for one that runs", func(a *T) *fleet.Leaf[bool] { return &a.FolderGone }),
		text("folder_moved", "where its folder is now, when it was moved below it", func(a *T) string { return a.FolderMoved }),
		text("folder_lost", "why it cannot come back to its folder, for one that does not run: it is not there, or another one is; empty also where that is not known", func(a *T) string { return a.FolderLost }),
		leafTexts("beside", "names of the other agents that work in the same folder, the first 20", func(a *T) *fleet.Leaf[[]string] { return &a.Beside }),
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
		leafSpan("cpu_time", "processor time of its tree so far", func(a *T) *leafDuration { return &a.CPUTime }),
		span("still", "for how long nothing was seen to move, as far as it was watched", func(a *T) fleet.Duration { return a.Still }),
		leafPercent("context_percent", "percent of its context used, as it told itself", func(a *T) *leafFloat { return &a.ContextPercent }),
		atMostOne("tool", "tool", "the tool it has begun and not ended; empty for none", func(a *T) *fleet.ToolCall { return a.Tool }),
		atMostOne("dialog", "dialog", "the question it shows; empty where none can be read", func(a *T) *fleet.Dialog { return a.Dialog }),
		leafTruth("composer_empty", "whether nothing is half-written in its input line", func(a *T) *fleet.Leaf[bool] { return &a.ComposerEmpty }),
		moment("rate_limited_until", "when its limit is reset; not known when it is not limited, or that is not told", func(a *T) fleet.Instant { return a.RateLimitedUntil }),
		leafSpan("last_healthy", "time since it was last seen in order", func(a *T) *leafDuration { return &a.LastHealthy }),
		number("cycles", "patrols in a row that found it unresponsive", func(a *T) int { return a.Cycles }),
		number("nudges", "how often it was nudged by a rule in the last six hours", func(a *T) int { return a.Nudges }),
		truth("orphan", "whether it is a process without terminal, living parent and owner, or was left running by an agent of ours that ended", func(a *T) bool { return a.Orphan }),
		children("left", "process", "what instances of it that have ended left running, below the shims that started them", func(a *T) []fleet.ProcessID { return a.Left }),
		text("left_says", "what that is, and since when", func(a *T) string { return a.LeftSays }),
	).with(registeredWords()...)
}

// registeredWords are what the ledger knows of an agent: empty for one that is
// not registered.
func registeredWords() []*field {
	type T = fleet.Agent
	return []*field{
		truth("registered", "whether the ledger knows it; what follows is empty for one that it does not", func(a *T) bool { return a.Registered }),
		text("role", "what it is for", func(a *T) string { return a.Role }),
		text("project", "the project it works on", func(a *T) string { return a.Project }),
		text("parent", "the agent it works for", func(a *T) string { return a.Parent }),
		number("depth", "how many agents are above it", func(a *T) int { return a.Depth }),
		text("run", "the run it belongs to", func(a *T) string { return a.Run }),
		text("task", "its task", func(a *T) string { return a.Task }),
		text("worktree", "its worktree", func(a *T) string { return a.Worktree }),
		text("account", "whose rate limit it shares", func(a *T) string { return a.Account }),
		text("desired", "running, stopped, paused, draining or retired", func(a *T) fleet.Desired { return a.Desired }),
		text("restart", "always, on-failure or never", func(a *T) fleet.Restart { return a.Restart }),
		truth("standing", "whether its role is persistent: exempt from idle rules", func(a *T) bool { return a.Standing }),
		text("where", "tmux or headless", func(a *T) fleet.Where { return a.Where }),
		text("instance", "the key of its newest instance", func(a *T) string { return a.Instance }),
		text("failed", "why it is not started again by itself; empty when it is", func(a *T) string { return a.Failed }),
		text("handoff", "how far its newest instance is on its way to a fresh one in its place: asked, late, written, saving, stopping, starting or failed; empty when it is not", func(a *T) fleet.HandoffStage { return a.Handoff }),
		text("pool", "the pool whose worker it is; empty for none", func(a *T) string { return a.Pool }),
		text("prompt_state", "how far its first prompt got: pending, sent, acknowledged or undelivered; empty when it had none", func(a *T) fleet.Delivery { return a.PromptState }),
		span("heartbeat_every", "how often it has promised to show that it is at work; 0s when it has not", func(a *T) fleet.Duration { return a.HeartbeatEvery }),
		span("heartbeat_grace", "how much later than that it may be", func(a *T) fleet.Duration { return a.HeartbeatGrace }),
		leafSpan("heartbeat_age", "time since it last showed that it is at work; only for one that has promised to", func(a *T) *leafDuration { return &a.HeartbeatAge }),
		leafSpan("checkpoint_age", "time since its work was last written down", func(a *T) *leafDuration { return &a.CheckpointAge }),
		leafNumber("cost", "what it cost so far, in millionths of a dollar, as it told itself; only agents without a terminal tell", func(a *T) *leafInt { return &a.Cost }),
		leafNumber("tokens", "the tokens it used so far, as it told itself; only agents without a terminal tell", func(a *T) *leafInt { return &a.Tokens }),
		text("recorded", "the state its record says; what is observed wins", func(a *T) fleet.AgentState { return a.Recorded }),
		text("conflict", "how record and observation disagree; empty when they do not", func(a *T) string { return a.Conflict }),
		number("deaths", "how often it ended in the last hour though nobody asked", func(a *T) int { return a.Deaths }),
		span("deaths_in", "since the first of those deaths", func(a *T) fleet.Duration { return a.DeathsIn }),
		atMostOne("exit", "exit", "how its newest instance ended; empty until it has", func(a *T) *fleet.Exit { return a.Exit }),
	}
}

func toolWords() *structure {
	type T = fleet.ToolCall
	return define("tool", "A tool that an agent has begun and not ended.",
		text("name", "its name", func(c *T) string { return c.Name }),
		text("call_id", "what pairs its begin and its end", func(c *T) string { return c.CallID }),
		text("args", "its arguments, filtered and redacted", func(c *T) string { return c.Args }),
		moment("since", "when it began", func(c *T) fleet.Instant { return c.Since }),
		span("age", "time since it began", func(c *T) fleet.Duration { return c.Age }),
		span("deadline", "how long it may take before silence counts", func(c *T) fleet.Duration { return c.Deadline }),
	)
}

func dialogWords() *structure {
	type T = fleet.Dialog
	return define("dialog", "A question an agent shows in its terminal. All its words were written by a program: good for a message, never for an action.",
		text("id", "which dialog of its kind: permission, trust, …", func(d *T) string { return d.ID }),
		text("says", "what kind of question it is", func(d *T) string { return d.Says }),
		text("question", "the question", func(d *T) string { return d.Question }),
		text("tool", "the tool it asks about", func(d *T) string { return d.Tool }),
		text("args", "what the tool would do, redacted", func(d *T) string { return d.Args }),
		children("choices", "choice", "how it can be answered", func(d *T) []fleet.Choice { return d.Choices }),
		truth("person", "whether only a person may answer", func(d *T) bool { return d.Person }),
		text("default", "the harmless choice, if it has one", func(d *T) string { return d.Default }),
		text("hash", "the same for the very same dialog", func(d *T) string { return d.Hash }),
	)
}

func choiceWords() *structure {
	type T = fleet.Choice
	return define("choice", "One way to answer a dialog.",
		text("name", "what a person types: yes, always, no, or a number", func(c *T) string { return c.Name }),
		text("label", "what the dialog calls it", func(c *T) string { return c.Label }),
		texts("keys", "what is pressed for it", func(c *T) []string { return c.Keys }),
		truth("selected", "whether Enter alone would take it", func(c *T) bool { return c.Selected }),
	)
}

func exitWords() *structure {
	type T = fleet.Exit
	return define("exit", "How an instance of an agent ended.",
		text("instance", "which instance", func(e *T) string { return e.Instance }),
		child("process", "process", "its process", func(e *T) *fleet.ProcessID { return &e.Process }),
		leafNumber("status", "its exit status; not known when a signal ended it", func(e *T) *fleet.Leaf[int] { return &e.Status }),
		leafNumber("signal", "the signal that ended it", func(e *T) *fleet.Leaf[int] { return &e.Signal }),
		truth("oom", "whether it was killed for lack of memory", func(e *T) bool { return e.OOM }),
		truth("hangup", "whether its terminal had been closed before it ended", func(e *T) bool { return e.Hangup }),
		truth("shim_gone", "whether its shim was gone when it ended, and had written down no end", func(e *T) bool { return e.ShimGone }),
		truth("early", "whether it ended before it had taken what it was started for, or while its recovery was proved", func(e *T) bool { return e.Early }),
		moment("at", "when", func(e *T) fleet.Instant { return e.At }),
		text("source", "what told it: shim, pidfd or tmux", func(e *T) string { return e.Source }),
		text("asked", "who asked Custos for it; empty when nobody did", func(e *T) string { return e.Asked }),
		text("quit", "how a person was seen to end it at its own terminal; empty when none was", func(e *T) string { return e.Quit }),
		text("server", "the terminal server that ended with it; empty when none did", func(e *T) string { return e.Server }),
		text("ender", "who ended it: person, machinery or unknown", func(e *T) fleet.Ender { return e.Ender() }),
	)
}

func signalWords() *structure {
	type T = fleet.Signal
	return define("signal", "One piece of evidence about an agent.",
		text("source", "process, hook, registry, cpu, activity, title, screen, …", func(s *T) string { return s.Source }),
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
		leafSpan("typed", "time since somebody who looks last pressed a key; only while somebody does", func(p *T) *leafDuration { return &p.Typed }),
		truth("in_mode", "whether it is in copy mode or the like", func(p *T) bool { return p.InMode }),
		leafTruth("orphan", "whether it is on our own server, and belongs to no agent that is registered", func(p *T) *fleet.Leaf[bool] { return &p.Orphan }),
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
