package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// How urgent what a parent is told is. That nothing more is tried needs it to do
// something; the rest it only has to know.
const (
	toKnow = fleet.P3
	toAct  = fleet.P1
)

// afterStart is for how long a Custos that has just begun tells the results of
// the one before it: that may have ended between a result and its telling.
const afterStart = time.Minute

// News drafts the mail that agents get of others: of those that change the same
// lines as they do (overlaps), and as parents of each recovery that begins, of what
// came of it, and once, urgently, that none is tried any more. An
// agent without a parent has no one to notify: people are notified by its alert. The same
// news has the same key whenever it is drafted again.
func News(p fleet.Pass, done []fleet.Result) (out []fleet.Mail) {
	crew := crewOf(p)
	for _, a := range p.Plan.Actions {
		if a.Do == fleet.OrderRecover.Action() {
			out = append(out, crew.attempt(a)...)
		}
	}
	for _, r := range append(earlier(p), done...) {
		if r.Do == fleet.OrderRecover.Action() {
			out = append(out, crew.result(r)...)
		}
	}
	for _, f := range p.Plan.Failed {
		out = append(out, crew.exhausted(f)...)
	}
	return append(append(out, crew.silent()...), crew.overlaps()...)
}

// silences are the rules by which an agent that should be at work says and does nothing.
func silences() []string {
	return []string{"agent-idle-long", "agent-stuck", "agent-unresponsive-long"}
}

// silent tells of agents of which one of these has begun to say so: a parent that waits for one waits in vain. Just after
// Custos has begun it is told of all of them: the one before may have ended before it was.
func (c crew) silent() (out []fleet.Mail) {
	for _, f := range c.p.Assessment.Findings {
		if !f.Firing || f.Subject.Kind != fleet.KindAgent || !slices.Contains(silences(), f.Rule) || c.isTold(f.AlertKey) {
			continue
		}
		m := c.mail(fleet.MessageSilent, f.Rule+"/"+f.Subject.Name+"/"+stamp(f.Since), f.Subject.Name)
		m.Subject = name(f.Subject.Name) + " is silent"
		m.Body = lines(f.Summary)
		out = append(out, c.sent(m)...)
	}
	return out
}

// isTold says whether an alert was firing before this pass, and was told then.
func (c crew) isTold(key fleet.AlertKey) bool {
	return c.p.Snapshot.At.Since(c.p.Past.StartedAt) > afterStart && slices.ContainsFunc(c.p.Past.Alerts, func(a fleet.Alert) bool {
		return a.AlertKey == key && a.Status == fleet.AlertFiring
	})
}

// earlier lists the results that an earlier Custos has written down, and may not
// have told.
func earlier(p fleet.Pass) (out []fleet.Result) {
	if p.Snapshot.At.Since(p.Past.StartedAt) > afterStart {
		return nil
	}
	for _, rec := range p.Past.Actions {
		if rec.Result != nil && rec.Result.Ended.Before(p.Past.StartedAt) {
			out = append(out, *rec.Result)
		}
	}
	return out
}

// crew is what is known of agents in a pass, by name, and of the tries of actions.
type crew struct {
	p        fleet.Pass
	parents  map[string]string // of all that are registered
	signals  map[string][]fleet.Signal
	attempts map[string]int // by ID of the action
}

func crewOf(p fleet.Pass) crew {
	c := crew{p, map[string]string{}, map[string][]fleet.Signal{}, map[string]int{}}
	for _, r := range p.Past.Registrations {
		c.parents[r.Name] = r.Parent
	}
	if p.Snapshot.Agents.Usable() {
		for _, a := range p.Snapshot.Agents.Value {
			c.signals[a.Name] = a.Signals
		}
	}
	for _, rec := range p.Past.Actions {
		c.attempts[rec.ID] = rec.Attempt
	}
	return c
}

func (c crew) attempt(a fleet.Action) []fleet.Mail {
	about := a.Subject.Name
	m := c.mail(fleet.MessageRecoveryAttempt, a.ID, about)
	m.Subject = fmt.Sprintf("%s is being recovered%s", name(about), c.try(a.Attempt, a.For, a.Order))
	m.Body = lines(a.Why, c.lastWords(about))
	return c.sent(m)
}

func (c crew) result(r fleet.Result) []fleet.Mail {
	about, kind, word := r.Subject.Name, fleet.MessageRecoveryFailed, "could not be recovered"
	if r.Status == fleet.ResultDone || r.Status == fleet.ResultUnneeded {
		kind, word = fleet.MessageRecoverySuccess, "is recovered"
	}
	m := c.mail(kind, r.ActionID, about)
	m.Subject = fmt.Sprintf("%s %s%s", name(about), word, c.try(c.attempts[r.ActionID], r.For, ""))
	m.Body = lines(strings.Trim(fmt.Sprintf("%s: %s %s", r.Status, r.Effect, r.Why), ": "))
	if kind == fleet.MessageRecoveryFailed {
		m.Body = lines(m.Body, c.lastWords(about))
	}
	return c.sent(m)
}

// exhausted: a plan names an agent once when it is given up, so the moment tells
// one time from the next.
func (c crew) exhausted(f fleet.Failing) []fleet.Mail {
	m := c.mail(fleet.MessageRecoveryExhausted, f.Agent+"/"+stamp(c.p.Snapshot.At), f.Agent)
	m.Priority = toAct
	m.Subject = name(f.Agent) + " is not recovered any more"
	until := ""
	if !f.Until.IsZero() {
		until = "the next try by itself is possible after " + f.Until.Wall.UTC().Format("2006-01-02 15:04 UTC")
	}
	m.Body = lines(f.Why, until, c.lastWords(f.Agent))
	return c.sent(m)
}

func (c crew) mail(kind fleet.MessageKind, what, about string) fleet.Mail {
	return fleet.Mail{Head: fleet.Head{Key: string(kind) + "/" + what}, Type: fleet.MailNews, From: fleet.ByCustos, To: []string{c.parents[about]},
		About: about, At: c.p.Snapshot.At, Priority: toKnow}
}

// sent keeps a mail that has a reader. An agent that stands above
// itself, which no lawful record says, tells itself nothing.
func (c crew) sent(m fleet.Mail) []fleet.Mail {
	if m.To[0] == "" || m.To[0] == m.About {
		return nil
	}
	return []fleet.Mail{m}
}

// try says which try it is, of how many where that is known: a rule that does
// not fire any more is not in the pass.
func (c crew) try(n int, alert fleet.AlertKey, order string) string {
	most := c.p.Assessment.Rules[alert.Rule].Attempts.Max
	if order != "" {
		most = c.p.Policy.Agents.Orders.Attempts.Max
	}
	switch {
	case n <= 0:
		return ""
	case most <= 0:
		return fmt.Sprintf(" (attempt %d)", n)
	}
	return fmt.Sprintf(" (attempt %d of %d)", n, most)
}

// lastWords is what the agent printed before it ended, where that was kept.
func (c crew) lastWords(about string) string {
	for _, s := range c.signals[about] {
		if s.Source == fleet.SourceOutput {
			return s.Says
		}
	}
	return ""
}

func name(agent string) string { return "agent " + fleet.Line(agent, 80) }

// lines joins what is not empty, each on a line of its own.
func lines(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, fleet.Redact(fleet.Line(p, 800)))
		}
	}
	return strings.Join(out, "\n")
}
