package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

// silences are added by a person.
func silences() Noun {
	return Noun{"silences", []Verb{{Name: "add", Access: Person, Do: given((*Control).silence)}}}
}

// longestSilence keeps a slip of the keyboard from silencing an alert for good.
const longestSilence = 90 * 24 * time.Hour

func (c *Control) silence(ctx context.Context, call Call, order api.SilenceOrder) (api.Silenced, error) {
	made, err := c.silenceOf(order, call)
	if err != nil {
		return api.Silenced{}, api.AsBadInput(err)
	}
	if err := c.Alerts.Silence(ctx, made); err != nil {
		return api.Silenced{}, err
	}
	return api.Silenced{Rule: made.Rule, Subject: view.SubjectText(made.Subject), By: made.By, Until: made.Until.Wall.UTC(), Note: c.nobodyThere(ctx, made.Subject)}, nil
}

// nobodyThere says that there is no such subject now, where that is known: a silence
// may be for what is still to come, and a slip of the keyboard is to be seen.
func (c *Control) nobodyThere(ctx context.Context, of fleet.Subject) string {
	if of == (fleet.Subject{}) {
		return ""
	}
	pass, err := c.Look(ctx, Glance)
	if err != nil || slices.Contains(view.Subjects(&pass.Snapshot), of) {
		return ""
	}
	if seen := pass.Snapshot.Sight(fleet.PartOf(of.Kind)); seen == nil || !seen.Tells() {
		return ""
	}
	return fmt.Sprintf("there is no %s now", of)
}

func (c *Control) silenceOf(o api.SilenceOrder, call Call) (fleet.Silence, error) {
	d, err := time.ParseDuration(o.For)
	if err != nil || d <= 0 || d > longestSilence {
		return fleet.Silence{}, fmt.Errorf("cannot silence for %q: want a time up to 90 days, like 2h", o.For)
	}
	out := fleet.Silence{Rule: o.Rule, By: called(o.By, call), Why: fleet.Line(o.Why, 200), From: c.Now()}
	out.Until = out.From.Add(d)
	if o.Rule == "" && o.Subject == "" {
		return out, fmt.Errorf("cannot silence everything: name a rule or a subject")
	}
	if o.Rule != "" && c.Rules != nil && !slices.Contains(c.ruleNames(), o.Rule) {
		return out, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot silence rule %q: there is no such rule", o.Rule), Hint: "custos rules"}
	}
	if o.Subject != "" {
		var ok bool
		if out.Subject, ok = fleet.ParseSubject(o.Subject); !ok || fleet.PartOf(out.Subject.Kind) == fleet.PartSelf && !selfish(out.Subject.Kind) {
			return out, fmt.Errorf("cannot silence %q: want kind/name, like agent/builder", o.Subject)
		}
	}
	return out, nil
}

// selfish are the kinds that do belong to the part "self", to which PartOf sends
// unknown kinds too.
func selfish(k fleet.Kind) bool { return k == fleet.KindSelf || k == fleet.KindPart }

// ignored are the silences that an ignore asks for: of the alerts it is about. By
// a rule's name the whole rule is meant.
func ignored(r ledger.Reply, alerts []fleet.Alert, by string, at fleet.Instant, patrol time.Duration) (out []fleet.Silence) {
	d := time.Duration(r.For)
	if d <= 0 {
		d = patrol
	}
	for _, a := range alerts {
		s := fleet.Silence{Rule: a.Rule, Subject: a.Subject, By: by, Why: "ignore, by a reply", From: at, Until: at.Add(d)}
		switch {
		case r.Name != "" && r.Name == a.Rule:
			s.Subject = fleet.Subject{}
		case r.Name != "":
			s.Rule = ""
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
