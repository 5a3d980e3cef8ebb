package rules

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

func runWords() *structure {
	type T = fleet.RunFacts
	return define("run", "One run of a formula: those that are open, and those that ended within a day.",
		text("id", "its name", func(r *T) string { return r.ID }),
		text("formula", "what is run", func(r *T) string { return r.Formula }),
		text("project", "for which project", func(r *T) string { return r.Project }),
		text("state", "running, needs a person, done, failed, skipped or cancelled", func(r *T) fleet.RunState { return r.State }),
		text("why", "why it is so", func(r *T) string { return r.Why }),
		text("waits", "the steps that wait for a person", func(r *T) string { return r.Waits }),
		text("agent", "the agent that works on its prose", func(r *T) string { return r.Agent }),
		text("kept", "the worktree that is kept of it, and why", func(r *T) string { return r.Kept }),
		span("age", "time since it began", func(r *T) fleet.Duration { return r.Age }),
		span("ended", "time since it ended; 0s while it has not", func(r *T) fleet.Duration { return r.Ended }),
		text("later", "the state of the newest run of this formula and project that began after it; empty when there is none", func(r *T) fleet.RunState { return r.Later }),
		truth("ready", "whether its folder and its prompt are there", func(r *T) bool { return r.Ready }),
		leafOf("phase", objectType("phrase"), "what its agent wrote into its phase file", func(r *T) *fleet.Leaf[fleet.Phrase] { return &r.Phase },
			func(p fleet.Phrase) ref.Val { return object{"phrase", &p} }),
		leafText("locked", "who else holds the factory's own lock; empty when nobody does", func(r *T) *leafString { return &r.Locked }),
		leafOf("held", types.StringType, "whether the factory's own lock is held for it: ours, left (by a Custos that has ended), or empty", func(r *T) *fleet.Leaf[fleet.Hold] { return &r.Held },
			func(h fleet.Hold) ref.Val { return types.String(h) }),
		leafTruth("lives", "whether the agent of its session runs", func(r *T) *fleet.Leaf[bool] { return &r.Lives }),
		leafTruth("reply", "whether a person's reply to an escalation waits", func(r *T) *fleet.Leaf[bool] { return &r.Reply }),
		children("steps", "step", "the commands of its open steps, as they are seen", func(r *T) []fleet.StepFacts { return r.Steps }),
	)
}

func phraseWords() *structure {
	type T = fleet.Phrase
	return define("phrase", "What an agent of a run wrote into its phase file.",
		text("word", "done, failed, escalate, …; empty when nothing was written in this run", func(p *T) string { return p.Word }),
		text("reason", "the rest of that line, or the second line", func(p *T) string { return p.Reason }),
		moment("at", "when it was written", func(p *T) fleet.Instant { return p.At }),
	)
}

func stepWords() *structure {
	type T = fleet.StepFacts
	return define("step", "One attempt at a step of a run that is a command.",
		text("step", "the step's name", func(s *T) string { return s.Step }),
		number("attempt", "which attempt, from 1", func(s *T) int { return s.Attempt }),
		of("state", types.StringType, "none, running, ended, failed (nothing ran) or in doubt", func(s *T) ref.Val { return procState(s) }),
		text("why", "what is to be said of that", func(s *T) string { return s.Why }),
		child("process", "process", "its process; pid 0 when there never was one", func(s *T) *fleet.ProcessID { return &s.Process }),
		leafNumber("status", "its exit status", func(s *T) *fleet.Leaf[int] { return &s.Status }),
		leafNumber("signal", "the signal that ended it", func(s *T) *fleet.Leaf[int] { return &s.Signal }),
		moment("at", "when it ended", func(s *T) fleet.Instant { return s.At }),
		children("left", "process", "processes that it left behind", func(s *T) []fleet.ProcessID { return s.Left }),
		text("output", "the file that holds what it printed", func(s *T) string { return s.Output }),
	)
}

// procState is not known when it could not be told.
func procState(s *fleet.StepFacts) ref.Val {
	if s.State == fleet.ProcUnknown || s.State == "" {
		return lack{why: s.Why}
	}
	return types.String(s.State)
}
