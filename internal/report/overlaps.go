package report

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// sameLines is the rule by which people are told what the agents are written of here.
const sameLines = "agents-edit-same-lines"

// overlaps writes to the agents of two worktrees that change the same lines, each of the other, so
// that they agree before either commits: once when it begins, and again when twice as many files are met.
// What a person has silenced is meant so.
func (c crew) overlaps() (out []fleet.Mail) {
	fires := map[string]fleet.Alert{}
	for _, a := range c.p.Assessment.Alerts {
		silenced := !a.SilencedUntil.IsZero() && c.p.Snapshot.At.Before(a.SilencedUntil)
		if a.Rule == sameLines && a.Status == fleet.AlertFiring && !silenced {
			fires[a.Subject.Name] = a
		}
	}
	if len(fires) == 0 || !c.p.Snapshot.Agents.Fresh() || !c.p.Snapshot.Overlaps.Fresh() {
		return nil
	}
	for _, o := range c.p.Snapshot.Overlaps.Value {
		alert, is := fires[o.Name]
		if !is {
			continue
		}
		one, other := o.Agents(c.p.Snapshot.Agents.Value)
		out = append(out, c.warn(o, alert, one, other)...)
		out = append(out, c.warn(o, alert, other, one)...)
	}
	return out
}

// warn tells each of some agents of the others. One that is not registered cannot be written to; people are told.
func (c crew) warn(o fleet.Overlap, alert fleet.Alert, readers, others []*fleet.Agent) (out []fleet.Mail) {
	var names []string
	for _, a := range others {
		names = append(names, fleet.Line(a.Name, 80))
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	files := slices.Concat(o.Hot, o.Conflicts.Or(nil))
	who := strings.Join(names, ", ")
	for _, a := range readers {
		if _, registered := c.parents[a.Name]; !registered {
			continue
		}
		out = append(out, fleet.Mail{
			Head: fleet.Head{Key: fmt.Sprintf("%s/%s/%d/%d", sameLines, a.Name, alert.Number, bits.Len(uint(len(files))))},
			Type: fleet.MailNews, From: fleet.ByCustos, To: []string{a.Name}, About: others[0].Name, At: c.p.Snapshot.At, Priority: toKnow,
			Subject: who + " and you change the same lines",
			Body:    lines("In "+strings.Join(files, "; "), "It works in "+folder(o, others[0]), "Before you commit, agree with it who changes them: custos mail send "+names[0]+" \"…\""),
		})
	}
	return out
}

func folder(o fleet.Overlap, a *fleet.Agent) string {
	if one, _ := o.Agents([]fleet.Agent{*a}); len(one) > 0 {
		return o.One
	}
	return o.Other
}
