package rules

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

func workWords() *structure {
	type T = fleet.WorkFacts
	return define("work", "One piece of work of the ledger that is not closed, or work of another tracker that waits for something.",
		text("ref", "how other work names it: w12, PROJECT#12, PROJECT!7, bd:ID", func(w *T) fleet.Ref { return w.Ref }),
		text("tracker", "custos, issue, pr or beads", func(w *T) fleet.Tracker { return w.Tracker }),
		text("title", "somebody's words", func(w *T) string { return w.Title }),
		text("project", "its project", func(w *T) string { return w.Project }),
		text("priority", "P0 to P4, where it has one", func(w *T) fleet.Priority { return w.Priority }),
		text("agent", "who works on it; empty when nobody is known to", func(w *T) string { return w.Agent }),
		leafOf("state", types.StringType, "open, in progress or closed", func(w *T) *fleet.Leaf[fleet.WorkState] { return &w.State },
			func(s fleet.WorkState) ref.Val { return types.String(s) }),
		texts("blocked_by", "what it waits for, and is not closed", func(w *T) []string { return refs(w.BlockedBy) }),
		texts("unseen", "of that, what no tracker shows", func(w *T) []string { return refs(w.Unseen) }),
		leafTruth("ready", "whether somebody may take it up", func(w *T) *fleet.Leaf[bool] { return &w.Ready }),
		texts("cycle", "the cycle of dependencies that it is the first of", func(w *T) []string { return refs(w.Cycle) }),
		span("age", "time since it was written down; 0s for work of other trackers", func(w *T) fleet.Duration { return w.Age }),
		span("since", "time since its state began; 0s for work of other trackers", func(w *T) fleet.Duration { return w.Since }),
		span("waits", "time for which it has waited for other work", func(w *T) fleet.Duration { return w.Waits }),
		leafTruth("alive", "whether the agent that works on it lives; true when nobody works on it", func(w *T) *fleet.Leaf[bool] { return &w.Alive }),
		text("held", "why its tracker says that it waits, though nothing is left that it waits for; empty when it does not", func(w *T) string { return w.Held }),
	)
}

func refs(list []fleet.Ref) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = string(r)
	}
	return out
}

func gateWords() *structure {
	type T = fleet.GateFacts
	return define("gate", "One gate that is open, or was closed within a day.",
		text("id", "its ID", func(g *T) string { return g.ID }),
		text("type", "timer, event, condition, gh:run, gh:pr, human or mail", func(g *T) fleet.GateType { return g.Type }),
		text("title", "somebody's words", func(g *T) string { return g.Title }),
		text("project", "its project", func(g *T) string { return g.Project }),
		text("state", "open or closed", func(g *T) fleet.GateState { return g.State }),
		text("outcome", "passed, failed or cancelled; empty while it is open", func(g *T) string { return g.Outcome }),
		text("why", "why it is closed, or what keeps it from being judged", func(g *T) string { return g.Why }),
		texts("waiters", "who is told when it closes", func(g *T) []string { return g.Waiters }),
		span("age", "time since it was made", func(g *T) fleet.Duration { return g.Age }),
		span("overdue", "time past its due; 0s while it is not", func(g *T) fleet.Duration { return g.Overdue }),
		truth("blind", "whether what it waits for cannot be seen", func(g *T) bool { return g.Blind }),
	)
}

func convoyWords() *structure {
	type T = fleet.ConvoyFacts
	return define("convoy", "One convoy that is open, or was done within a day.",
		text("id", "its ID", func(c *T) string { return c.ID }),
		text("title", "somebody's words", func(c *T) string { return c.Title }),
		text("state", "open, done or closed", func(c *T) fleet.ConvoyState { return c.State }),
		number("members", "how many it has", func(c *T) int { return c.Members }),
		number("closed", "members that are closed", func(c *T) int { return c.Closed }),
		leafNumber("ready", "members that somebody may take up", func(c *T) *fleet.Leaf[int] { return &c.Ready }),
		leafNumber("taken", "members that a live agent, or a person, works on", func(c *T) *fleet.Leaf[int] { return &c.Taken }),
		number("unseen", "members that no tracker shows", func(c *T) int { return c.Unseen }),
		span("age", "time since it was made", func(c *T) fleet.Duration { return c.Age }),
		span("still", "time since any member changed", func(c *T) fleet.Duration { return c.Still }),
		span("overdue", "time past its due; 0s while it is not", func(c *T) fleet.Duration { return c.Overdue }),
	)
}

func mailWords() *structure {
	type T = fleet.MailFacts
	return define("mail", "One mail that somebody has not read yet, or that waits for an answer.",
		text("id", "its ID", func(m *T) string { return m.ID }),
		text("from", "who wrote it", func(m *T) string { return m.From }),
		text("type", "HELP, question, …; empty for free text", func(m *T) fleet.MailType { return m.Type }),
		text("priority", "P0 to P4", func(m *T) fleet.Priority { return m.Priority }),
		text("subject", "somebody's words", func(m *T) string { return m.Subject }),
		number("readers", "whom it is for", func(m *T) int { return m.Readers }),
		number("unread", "who has not acknowledged it", func(m *T) int { return m.Unread }),
		number("bounced", "who will never read it", func(m *T) int { return m.Bounced }),
		span("age", "time since it was written", func(m *T) fleet.Duration { return m.Age }),
		truth("answered", "whether somebody answered it", func(m *T) bool { return m.Answered }),
		truth("raised", "whether it was escalated, for want of an answer", func(m *T) bool { return m.Raised }),
		text("grade", "P0 to P4, as the words of a HELP were sorted; empty for other mail", func(m *T) fleet.Priority { return m.Grade }),
		text("stopped", "why no more of its kind is taken; empty while it is", func(m *T) string { return m.Stopped }),
	)
}
