package mail

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// nudgeFor is how long a nudge may take: it is only ordered for an agent that is
// idle now, and one that is not any more is told at its next hook.
const nudgeFor = 2 * time.Minute

// people tells the overseer of a mail, once: what it says goes the way of all
// that people are told.
func (p *post) people(m *fleet.Mail, c *fleet.MailCopy) {
	if c.State != fleet.CopyNew {
		return
	}
	c.State, c.Since, c.Told, c.ToldAt = fleet.CopyTold, p.at, 1, p.at
	agent, _ := fleet.AgentOf(m.From)
	out := fleet.Message{ID: "mail/" + m.ID, Kind: fleet.MessageTold, About: agent, At: p.at, Priority: loudness(*m),
		Subject: fleet.Line("mail from "+ledger.ShownWriter(m.From)+": "+m.Subject, ledger.LongestSubject), Body: m.Body}
	if m.From != fleet.ByCustos {
		out.Body += "\ncustos mail reply " + m.ID + " TEXT"
	}
	p.out.Messages = append(p.out.Messages, out)
}

// loudness is at which priority people are told of a mail: an agent's own word
// makes nothing worse than P2, only what Custos reads in a call for help does.
func loudness(m fleet.Mail) fleet.Priority {
	if m.Grade != "" {
		return m.Grade
	}
	if _, isAgent := fleet.AgentOf(m.From); isAgent && m.Priority.AtLeast(fleet.P1) {
		return fleet.P2
	}
	return m.Priority
}

// giveUp leaves a copy unread that was told as often as it is told. Its writer is
// told, once, where it was meant by name.
func (p *post) giveUp(m *fleet.Mail, c *fleet.MailCopy) {
	if !ledger.IsLast(c) || c.Order != "" || !p.out.Due(p.at, ledger.DueAt(m, c)) {
		return
	}
	quiet := c.Why == ledger.OfGroup || m.From == fleet.ByCustos || c.To == fleet.Overseer
	c.State, c.Since, c.Why = fleet.CopyUnread, p.at, fmt.Sprintf("told %d times", c.Told)
	if !quiet {
		p.out.Tell(ledger.News("mail-unread/"+m.ID+"/"+c.To, []string{ledger.WriterOf(m.From)}, fleet.Mail{Type: fleet.MailNews, About: c.To, Answers: m.ID, Thread: threadOf(*m),
			Subject: fmt.Sprintf("%s was told %d times of %s and has not read it: %s", fleet.Line(c.To, 60), c.Told, m.ID, m.Subject)}, p.at))
	}
}

// settleNudge reads what became of the nudge that tells of a copy; what holds back one
// that waits holds the telling. One that may have
// arrived counts as told: the text is not typed twice.
func (p *post) settleNudge(m *fleet.Mail, c *fleet.MailCopy) {
	o, open := p.orders[c.Order]
	rec := p.answers[c.Order]
	switch {
	case open && o.State == fleet.OrderQueued:
		held := fleet.HeldMove{Guard: o.Guard, Held: o.Why, Until: o.Until, Hint: o.Hint}
		p.hold(held, c.To, []*fleet.Mail{m})
		return
	case c.Order == "", open && !o.IsOver(), rec != nil && rec.Open():
		return
	case rec != nil && rec.Result != nil && ledger.MayHaveArrived(rec.Result.Status):
		if c.Order = ""; c.State == fleet.CopyNew {
			c.State, c.Since = fleet.CopyTold, p.at
		}
	default:
		c.Order, c.Told = "", max(0, c.Told-1)
	}
}

// nudges has agents told that stand idle and have mail. Guards decide whether it is
// typed at the instant of typing; here only what would be in vain is not tried, and
// what holds it back is told.
func (p *post) nudges() {
	due := p.readersDue()
	for _, name := range slices.Sorted(maps.Keys(due)) {
		held := p.whyNot(name)
		if held.Guard == "" {
			held = p.nudge(name)
		}
		if held.Guard != "" {
			p.hold(held, name, due[name])
		}
	}
}

// readersDue are the agents that are to be told now, with the mail that they are told of.
// What only a hook tells of, the least of all, calls nobody.
func (p *post) readersDue() map[string][]*fleet.Mail {
	due := map[string][]*fleet.Mail{}
	for i := range p.mails {
		m := &p.mails[i]
		for j := range m.Copies {
			c := &m.Copies[j]
			if c.Over() || c.To == fleet.Overseer || c.Order != "" || ledger.IsLast(c) || m.Priority == fleet.P4 {
				continue
			}
			if p.out.Due(p.at, ledger.DueAt(m, c)) {
				due[c.To] = append(due[c.To], m)
			}
		}
	}
	return due
}

// hold notes mail of which its reader is not told now.
func (p *post) hold(held fleet.HeldMove, name string, list []*fleet.Mail) {
	for _, m := range list {
		held.Move = fleet.Move{Record: fleet.Subject{Kind: fleet.KindMail, Name: m.ID}, From: string(ledger.CopyOf(m, name).State), To: string(fleet.CopyTold), Why: string(m.Type), Told: []string{name}}
		p.out.Hold(held)
	}
}

// whyNot is what holds a nudge of an agent back: only one that is seen to be idle, with
// nothing in its input line, is told. The zero value: nothing does.
func (p *post) whyNot(name string) fleet.HeldMove {
	a, r := p.agents[name], p.addresses.At[name]
	held := func(g fleet.Guard, why, hint string) fleet.HeldMove {
		return fleet.HeldMove{Guard: g, Held: fleet.Line(why, 300), Hint: hint}
	}
	switch {
	case p.policy.Frozen != "":
		return held(fleet.GuardFrozen, p.policy.Frozen, "custos thaw")
	case r == nil:
		return held(fleet.GuardEvidence, name+" is not on record", "")
	case r.Desired == fleet.DesiredPaused:
		return held(fleet.GuardPaused, name+" is to be paused", "custos resume "+r.Name)
	case r.Desired != fleet.DesiredRunning:
		return held(fleet.GuardPerson, name+" is to be "+string(r.Desired), "")
	case !p.snap.Agents.Fresh():
		return held(fleet.GuardEvidence, strings.TrimSuffix("agents are not seen now: "+p.snap.Agents.Why, ": "), "custos preflight")
	case a == nil:
		return held(fleet.GuardEvidence, name+" is not seen now", "")
	case a.State == fleet.StateUnknown:
		return held(fleet.GuardEvidence, "the state of "+name+" is not known", "")
	case a.State != fleet.StateIdle:
		return held(fleet.GuardState, name+" is "+string(a.State), "")
	case r.PromptState == fleet.DeliveryPending || r.PromptState == fleet.DeliverySent:
		return held(fleet.GuardInFlight, name+" was not seen to have its first prompt yet", "")
	case p.nudged[name]:
		return held(fleet.GuardInFlight, name+" is being told something else", "")
	}
	return fullLine(a)
}

// fullLine is what a nudge is held back by while something stands in the input line of an
// agent, or may.
func fullLine(a *fleet.Agent) (held fleet.HeldMove) {
	if a.Pane == nil {
		return held
	}
	empty, known := a.ComposerEmpty.Get()
	switch {
	case !known:
		held.Guard, held.Held = fleet.GuardEvidence, fleet.Line("whether something stands in the input line of "+a.Name+" cannot be told: "+a.ComposerEmpty.Why(), 300)
	case !empty:
		held.Guard, held.Held = fleet.GuardState, "something stands in the input line of "+a.Name
	}
	return held
}

// nudge gives the order to tell an agent of all its mail, or says what holds it back.
func (p *post) nudge(name string) (held fleet.HeldMove) {
	var list []*fleet.Mail
	by := ""
	for i := range p.mails {
		m := &p.mails[i]
		if c := ledger.CopyOf(m, name); c != nil && ledger.TellsNow(m, c, p.at) {
			list = append(list, m)
			if fleet.IsPerson(m.From) {
				by = m.From
			}
		}
	}
	if by == "" && !p.mayActAlone() {
		held.Guard, held.Hint = fleet.GuardMode, "custos patrol --apply"
		held.Held = "the mode is " + string(p.policy.Mode) + ": of agents' mail and of its own Custos tells only in mode auto"
		return held
	}
	if by == "" {
		by = fleet.ByCustos
	}
	o := fleet.Order{ID: nudgeID(list[0], name, p.at), Do: fleet.OrderNudge, Agent: p.addresses.At[name].Name, By: by, Text: ledger.MailText(values(list), name),
		At: p.at, State: fleet.OrderOpen, Expires: p.at.Add(nudgeFor)}
	p.out.Given = append(p.out.Given, o)
	for _, m := range list {
		c := ledger.CopyOf(m, name)
		c.Order, c.Told, c.ToldAt = o.ID, c.Told+1, p.at
	}
	return held
}

// mayActAlone says whether Custos may type by itself. A mail by a person is that
// person's word; of agents and of Custos it takes the mode auto.
func (p *post) mayActAlone() bool {
	return p.policy.Mode == fleet.ModeAuto || p.policy.ApprovedBy != ""
}

// nudgeID names the one nudge that a pass gives to an agent.
func nudgeID(first *fleet.Mail, name string, at fleet.Instant) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("mail-%s-%08x-%d", first.ID, h.Sum32(), at.Wall.UnixMilli())
}

func values(list []*fleet.Mail) (out []fleet.Mail) {
	for _, m := range list {
		out = append(out, *m)
	}
	return out
}
