package scenario

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// Missed is a want that is not met.
type Missed struct {
	Line Line
	Says string
}

// Known is what there is to want something of.
type Known struct {
	Rules, Actions []string // names
}

// Check holds the wants of a moment against what was thought of it. Its error is about a
// line that cannot be read: one that names what there is not would be met by nothing.
func (s Step) Check(p fleet.Pass, known Known) (missed []Missed, err error) {
	wishes := map[string][]Want{}
	for _, w := range s.Wants {
		if err := w.names(known); err != nil {
			return nil, err
		}
		switch w.Word {
		case "wish", "wish?":
			wishes[w.Rule] = append(wishes[w.Rule], w)
			continue
		case "no":
			if w.Rest == "wishes" {
				wishes[w.Rule] = append(wishes[w.Rule], w)
				continue
			}
		}
		says, err := w.miss(p)
		if err != nil {
			return nil, err
		}
		if says != "" {
			missed = append(missed, Missed{w.Line, says})
		}
	}
	for rule, list := range wishes {
		if says := missWishes(p, rule, list); says != "" {
			missed = append(missed, Missed{list[0].Line, says})
		}
	}
	slices.SortFunc(missed, func(a, b Missed) int { return a.Line.Number - b.Line.Number })
	return missed, nil
}

// names refuses a rule, an action, a guard or a state that there is not.
func (w Want) names(known Known) error {
	words := strings.Fields(w.Rest)
	at := func(i int, what string, all []string) error {
		if i >= len(words) {
			return w.Errorf("%s needs a %s", w.Word, what)
		}
		if !slices.Contains(all, words[i]) {
			return w.Errorf("there is no %s %q%s", what, words[i], nearest.Hint(words[i], all))
		}
		return nil
	}
	switch w.Word {
	case "state":
		if len(words) > 2 {
			return w.Errorf("after the state comes nothing, not %q", strings.Join(words[2:], " "))
		}
		return at(1, "state", fleet.Words(reflect.TypeFor[fleet.AgentState]()))
	case "move", "record":
		return w.recordState()
	case "do":
		return at(0, "action", known.Actions)
	case "skip":
		return cmp.Or(at(0, "action", known.Actions), at(2, "guard", fleet.Words(reflect.TypeFor[fleet.Guard]())))
	case "want", "wish", "wish?":
		return w.ofRule(known, at)
	case "no":
		if w.Rest == "wishes" {
			return w.ofRule(known, nil)
		}
	}
	return nil
}

// ofRule refuses what is wanted of no rule, or of one that there is not; of a wish, an
// action that there is not.
func (w Want) ofRule(known Known, at func(int, string, []string) error) error {
	switch {
	case w.Rule == "":
		return w.Errorf("of which rule? Say it above: rule NAME")
	case !slices.Contains(known.Rules, w.Rule):
		return w.Errorf("there is no rule %q%s", w.Rule, nearest.Hint(w.Rule, known.Rules))
	case strings.HasPrefix(w.Word, "wish"):
		return at(0, "action", known.Actions)
	}
	return nil
}

// miss says in what a want is not met; "": it is.
func (w Want) miss(p fleet.Pass) (says string, err error) {
	switch w.Word {
	case "want":
		return w.missRule(p)
	case "state":
		return w.missState(p), nil
	case "do":
		return missing(w.Rest, planned(p), "planned is"), nil
	case "skip":
		return missing(w.Rest, skipped(p), "held back is"), nil
	case "move":
		return missing(w.Rest, moved(p), "moved is"), nil
	case "record":
		return w.missRecord(p)
	case "no":
		return w.missNone(p)
	}
	return "", w.Errorf("%q wants nothing", w.Word)
}

func missing(want string, got []string, what string) string {
	if slices.Contains(got, want) {
		return ""
	}
	return fmt.Sprintf("%s %s", what, listed(got))
}

func listed(got []string) string {
	if len(got) == 0 {
		return "nothing"
	}
	return strings.Join(got, ", ")
}

func planned(p fleet.Pass) (out []string) {
	for _, a := range p.Plan.Actions {
		out = append(out, a.Do+" "+a.Subject.String())
	}
	return out
}

func skipped(p fleet.Pass) (out []string) {
	for _, s := range p.Plan.Skipped {
		out = append(out, s.Do+" "+s.Subject.String()+" "+string(s.Guard))
	}
	return out
}

func moved(p fleet.Pass) (out []string) {
	for _, m := range p.Plan.Moves {
		if !m.Noted() {
			out = append(out, m.Record.String()+" "+m.To)
		}
	}
	return out
}

// missNone: no actions, no alerts, no moves.
func (w Want) missNone(p fleet.Pass) (string, error) {
	var got []string
	switch w.Rest {
	case "actions":
		got = planned(p)
	case "moves":
		got = moved(p)
	case "alerts":
		for _, a := range p.Assessment.Alerts {
			if a.Status != fleet.AlertResolved {
				got = append(got, a.Rule+" "+a.Subject.String())
			}
		}
	default:
		return "", w.Errorf("no %s: there is no wishes, no actions, no alerts and no moves", w.Rest)
	}
	if len(got) == 0 {
		return "", nil
	}
	return "there is " + listed(got), nil
}

// missState: state agent/NAME STATE.
func (w Want) missState(p fleet.Pass) string {
	subject, want, _ := strings.Cut(w.Rest, " ")
	for _, a := range p.Snapshot.Agents.Value {
		if "agent/"+a.Name == subject && string(a.State) == want {
			return ""
		} else if "agent/"+a.Name == subject {
			return fmt.Sprintf("it is %s: %s (%s)", a.State, a.Reason, a.Source)
		}
	}
	return "there is no such agent"
}

// missRule: what a rule says.
func (w Want) missRule(p fleet.Pass) (string, error) {
	word, rest, _ := strings.Cut(w.Rest, " ")
	f, a := finding(p, w.Rule), alert(p, w.Rule)
	switch word {
	case "none", "pending", "firing", "resolved":
		return missAlert(p, w.Rule, word, f, a), nil
	case "held":
		return unless(a != nil && a.Blind != "" && a.Status != fleet.AlertResolved && f == nil, "alert %+v, finding %+v", a, f), nil
	case "cannot-tell":
		return unless(isBlind(p, w.Rule) && f == nil, "it can tell: finding %+v", f), nil
	case "fresh", "stale":
		return unless(f != nil && f.Fresh == (word == "fresh"), "finding %+v", f), nil
	case "P0", "P1", "P2", "P3", "P4":
		return unless(f != nil && string(f.Priority) == word, "finding %+v", f), nil
	case "causes":
		return missCauses(f, rest), nil
	case "summary":
		said := summaries(p, w.Rule)
		return unless(slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, rest) }), "it says %s", listed(said)), nil
	}
	known := []string{"none", "pending", "firing", "resolved", "held", "cannot-tell", "fresh", "stale", "P0", "P1", "P2", "P3", "P4", "causes", "summary"}
	return "", w.Errorf("want %q%s", word, nearest.Hint(word, known))
}

func unless(is bool, format string, args ...any) string {
	if is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// summaries are what a rule says of each subject.
func summaries(p fleet.Pass, rule string) (out []string) {
	for _, f := range p.Assessment.Findings {
		if f.Rule == rule {
			out = append(out, f.Summary)
		}
	}
	return out
}

func summary(f *fleet.Finding) string {
	if f == nil {
		return "nothing"
	}
	return f.Summary
}

func missAlert(p fleet.Pass, rule, want string, f *fleet.Finding, a *fleet.Alert) string {
	status := "none"
	if a != nil {
		status = string(a.Status)
	}
	fits := f == nil || f.Firing == (want == "firing") && want != "none" && want != "resolved"
	return unless(status == want && fits, "the alert of %s is %s, %s%s", rule, status, summary(f), cannotTell(p, rule))
}

// cannotTell says why a rule cannot.
func cannotTell(p fleet.Pass, rule string) string {
	for _, c := range p.Assessment.Blind {
		if c.Rule == rule {
			return "; it cannot tell: " + c.Why
		}
	}
	return ""
}

func missCauses(f *fleet.Finding, want string) string {
	var got []string
	if f != nil {
		for _, k := range f.CausedBy {
			got = append(got, k.Rule)
		}
	}
	return unless(strings.Join(got, " ") == want, "it is explained by %s", listed(got))
}

// missWishes compares all that a rule wishes, in its order.
func missWishes(p fleet.Pass, rule string, wants []Want) string {
	want, got := []string{}, []string{}
	for _, w := range wants {
		if w.Word != "no" {
			want = append(want, w.Word+" "+w.Rest)
		}
	}
	if f := finding(p, rule); f != nil {
		for _, w := range f.Wishes {
			word := "wish "
			if w.Unknown != "" {
				word = "wish? "
			}
			got = append(got, word+w.Do+" "+w.Subject.String())
		}
	}
	return unless(slices.Equal(got, want), "it wishes %s", listed(got))
}

func alert(p fleet.Pass, rule string) *fleet.Alert {
	if i := slices.IndexFunc(p.Assessment.Alerts, func(a fleet.Alert) bool { return a.Rule == rule }); i >= 0 {
		return &p.Assessment.Alerts[i]
	}
	return nil
}

func finding(p fleet.Pass, rule string) *fleet.Finding {
	if i := slices.IndexFunc(p.Assessment.Findings, func(f fleet.Finding) bool { return f.Rule == rule }); i >= 0 {
		return &p.Assessment.Findings[i]
	}
	return nil
}

func isBlind(p fleet.Pass, rule string) bool {
	return slices.ContainsFunc(p.Assessment.Blind, func(c fleet.CannotTell) bool { return c.Rule == rule })
}
