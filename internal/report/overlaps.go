package report

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// The rules by which people are told what the agents are written of here.
const (
	sameLines     = "agents-edit-same-lines"
	assignedFiles = "agent-edits-assigned-files"
)

// notice is what agents in one worktree are told of those in another.
type notice struct {
	key     string // of two that one alert has for the same agent
	subject string // with %s for the others
	files   []string
	advice  string // a command follows
}

// overlaps writes to the agents of two worktrees of which one changes what the other does, or was
// started for, each of the other, so that they agree before either commits: once when it begins, and again when
// twice as many files are met. What a person has silenced is meant so.
func (c crew) overlaps() (out []fleet.Mail) {
	fires := map[string]map[string]fleet.Alert{sameLines: {}, assignedFiles: {}}
	for _, a := range c.p.Assessment.Alerts {
		silenced := !a.SilencedUntil.IsZero() && c.p.Snapshot.At.Before(a.SilencedUntil)
		if byName := fires[a.Rule]; byName != nil && a.Status == fleet.AlertFiring && !silenced {
			byName[a.Subject.Name] = a
		}
	}
	if len(fires[sameLines])+len(fires[assignedFiles]) == 0 || !c.p.Snapshot.Agents.Fresh() || !c.p.Snapshot.Overlaps.Fresh() {
		return nil
	}
	for _, o := range c.p.Snapshot.Overlaps.Value {
		one, other := o.Agents(c.p.Snapshot.Agents.Value)
		if alert, is := fires[sameLines][o.Name]; is {
			n := notice{"", "%s and you change the same lines", slices.Concat(o.Hot, o.Conflicts.Or(nil)), "Before you commit, agree with it who changes them"}
			out = append(append(out, c.warn(o, alert, n, one, other)...), c.warn(o, alert, n, other, one)...)
		}
		if alert, is := fires[assignedFiles][o.Name]; is {
			out = append(append(out, c.assigned(o, alert, o.OfOne, one, other)...), c.assigned(o, alert, o.OfOther, other, one)...)
		}
	}
	return out
}

// assigned tells of files that some were started for and others change.
func (c crew) assigned(o fleet.Overlap, alert fleet.Alert, files []string, owners, others []*fleet.Agent) []fleet.Mail {
	mine := notice{"/own", "%s changes files that you were started for", files, "Before you commit, agree with it who changes them"}
	theirs := notice{"", "You change files that %s was started for", files, "Leave them to it, or agree with it before you commit"}
	return append(c.warn(o, alert, mine, owners, others), c.warn(o, alert, theirs, others, owners)...)
}

// warn tells each of some agents of the others. One that is not registered cannot be written to; people are told.
func (c crew) warn(o fleet.Overlap, alert fleet.Alert, n notice, readers, others []*fleet.Agent) (out []fleet.Mail) {
	var names []string
	for _, a := range others {
		names = append(names, fleet.Line(a.Name, 80))
	}
	if len(names)*len(n.files) == 0 {
		return nil
	}
	slices.Sort(names)
	for _, a := range readers {
		if _, registered := c.parents[a.Name]; !registered {
			continue
		}
		out = append(out, fleet.Mail{
			Head: fleet.Head{Key: fmt.Sprintf("%s/%s/%d/%d%s", alert.Rule, a.Name, alert.Number, bits.Len(uint(len(n.files))), n.key)},
			Type: fleet.MailNews, From: fleet.ByCustos, To: []string{a.Name}, About: others[0].Name, At: c.p.Snapshot.At, Priority: toKnow,
			Subject: fmt.Sprintf(n.subject, strings.Join(names, ", ")),
			Body:    lines("In "+strings.Join(n.files, "; "), "It works in "+folder(o, others[0]), n.advice+": custos mail send "+names[0]+" \"…\""),
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
