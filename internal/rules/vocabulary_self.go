package rules

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

func selfWords() *structure {
	type T = fleet.Self
	return define("self", "Custos itself.",
		moment("started_at", "when it began", func(s *T) fleet.Instant { return s.StartedAt }),
		leafSpan("last_patrol_age", "time since the last whole patrol ended", func(s *T) *leafDuration { return &s.LastPatrolAge }),
		span("patrol_every", "time between patrols; 0s when no daemon runs", func(s *T) fleet.Duration { return s.PatrolEvery }),
		leafTruth("journal_writable", "whether the journal can be written", func(s *T) *fleet.Leaf[bool] { return &s.JournalWritable }),
		leafTruth("store_writable", "whether the database can be written", func(s *T) *fleet.Leaf[bool] { return &s.StoreWritable }),
		leafBytes("store_bytes", "bytes the database takes", func(s *T) *leafInt { return &s.StoreBytes }),
		leafTruth("amnesia", "whether what was known before is lost, and nobody has confirmed it", func(s *T) *fleet.Leaf[bool] { return &s.Amnesia }),
		leafText("lost", "what became of what was known before; empty when it is there", func(s *T) *leafString { return &s.Lost }),
		leafTruth("clock_behind", "whether the wall clock is behind the newest record", func(s *T) *fleet.Leaf[bool] { return &s.ClockBehind }),
		leafText("memory_differs", "how what is in memory differed from the database when they were last compared, which is as often as a patrol is due, once an hour at least; empty when it did not", func(s *T) *leafString { return &s.MemoryDiffers }),
		leafNumber("rows_aside", "rows of the database that could not be read and were set aside within a day", func(s *T) *fleet.Leaf[int] { return &s.RowsAside }),
		leafText("moved", "which file of the database was deleted or replaced under Custos within a day, though nothing of it is lost; empty when none was", func(s *T) *leafString { return &s.Moved }),
		text("config", "why what custos.toml says is not in force; empty when it is", func(s *T) string { return s.Config }),
		text("socket", "what became of the daemon's socket; empty while it is where it was made", func(s *T) string { return s.Socket }),
		children("code", "code", "folders of formulas and plugins that agents may write to", func(s *T) []fleet.CodeFacts { return s.Code }),
		number("terminal_stopped", "process of the terminal server that Custos starts agents in, while that is stopped by a signal; else 0", func(s *T) int { return s.TerminalStopped }),
		text("unwatched", "what is not followed by event, and why; empty when all is", func(s *T) string { return s.Unwatched }),
		leafSpan("clock_step", "how far the wall clock was set within an hour; below 0s when back", func(s *T) *leafDuration { return &s.ClockStep }),
		text("search_path", "which folders of the PATH of Custos others may put programs into; empty when none", func(s *T) string { return s.SearchPath }),
		children("landmarks", "landmark", "its folders and files, and settings of agent CLIs with hooks of its own", func(s *T) []fleet.Landmark { return s.Landmarks }),
		text("schedules", "which schedules of formulas cannot run, and why; empty when all can", func(s *T) string { return s.Schedules }),
	)
}

func receiverWords() *structure {
	type T = fleet.Receiver
	return define("receiver", "One notifier: somebody, or a place, that is told.",
		text("name", "its name in custos.toml", func(r *T) string { return r.Name }),
		span("waiting", "how long the oldest of what did not arrive has been tried; 0s when all did", func(r *T) fleet.Duration { return r.Waiting }),
		number("tries", "how many tries in a row failed", func(r *T) int { return r.Tries }),
		text("why", "why the last of them failed", func(r *T) string { return r.Why }),
		text("barred", "why nothing told there is heard, as the place itself says; empty when nothing is known against it", func(r *T) string { return r.Barred }),
		leafSpan("proof", "since something arrived there, or the place said that it would", func(r *T) *leafDuration { return &r.Proof }),
	)
}

// Part is one part of the snapshot as a subject of rules: its name and how it
// was seen. A part is always known: being blind is a fact about it.
type Part struct {
	Name fleet.PartName
	fleet.Sight
}

func partWords() *structure {
	type T = Part
	return define("part", "One part of the snapshot, and how it was seen.",
		text("name", "host, processes, sessions, agents, repos, locks, phases, logs, self, extra or runs", func(p *T) fleet.PartName { return p.Name }),
		text("status", "ok, stale, pending, unknown or absent", func(p *T) fleet.Status { return p.Status }),
		moment("at", "the last good look", func(p *T) fleet.Instant { return p.At }),
		text("why", "why it is not ok", func(p *T) string { return p.Why }),
		span("blind", "how long it has not been ok", func(p *T) fleet.Duration { return p.Blind }),
		span("took", "how long the last look took", func(p *T) fleet.Duration { return p.Took }),
		text("cut", "what of it is not looked at, because there is too much; empty when all is", func(p *T) string { return p.Cut }),
		truth("hung", "whether the last look did not answer by its deadline", func(p *T) bool { return p.Hung }),
		text("probe", "which probe fills it", func(p *T) string { return p.Probe }),
		text("source", "where it looked", func(p *T) string { return p.Source }),
	)
}

func extraWords() *structure {
	type T = fleet.Extra
	return define("extra", "One fact of a probe of your own: numbers and texts under a name. A name it did not report is not known.",
		text("name", "its name", func(e *T) string { return e.Name }),
		text("probe", "which probe told it", func(e *T) string { return e.Probe }),
		of("numbers", types.NewMapType(types.StringType, types.DoubleType), "its numbers by name",
			func(e *T) ref.Val { return leafMap(e.Numbers, func(x float64) ref.Val { return types.Double(x) }) }),
		of("texts", types.NewMapType(types.StringType, types.StringType), "its texts by name",
			func(e *T) ref.Val { return leafMap(e.Texts, func(s string) ref.Val { return types.String(s) }) }),
	)
}

func landmarkWords() *structure {
	type T = fleet.Landmark
	return define("landmark", "One folder, file or socket of Custos itself, or settings of an agent CLI with hooks of its own.",
		text("path", "where it is", func(l *T) string { return l.Path }),
		text("what", "what it is for: state, run, ledger, …; hooks of claude", func(l *T) string { return l.What }),
		text("is", "dir, file or socket", func(l *T) string { return l.Is }),
		text("owner", "custos, or foreign when it belongs to another user", func(l *T) fleet.Owner { return l.Owner }),
		child("file", "file", "its identity", func(l *T) *fleet.FileID { return &l.File }),
		number("mode", "its permission bits", func(l *T) uint64 { return l.Mode }),
		leafTruth("open", "whether others may change it, or read what is not theirs to read", func(l *T) *fleet.Leaf[bool] { return &l.Open }),
		text("kind", "of agent, where it is settings", func(l *T) string { return l.Kind }),
		leafText("hooks", "what is wrong with our hooks in it; empty when nothing is", func(l *T) *leafString { return &l.Hooks }),
	)
}
