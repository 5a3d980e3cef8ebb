package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/nearest"
	"custos/internal/scenario"
)

// storied are the nouns that a story may ask for: records, which rest on nothing of
// this machine.
var storied = []string{"work", "convoys", "gates", "triggers", "mail"}

// asked does what a story asks for at a moment, by the same verbs as anybody's.
func (t *player) asked(ctx context.Context, asks []scenario.Ask, seen fleet.Snapshot) error {
	r := storyRecords{t, seen}
	c := &control.Control{Records: r, Asker: r, Registry: t.st.Registrations, Rules: knownRules(t.Known.Rules), Now: func() fleet.Instant { return seen.At }}
	for _, a := range asks {
		do, err := verbOf(a)
		if err != nil {
			return &config.Mistake{Err: err}
		}
		call := control.Call{By: "person", ID: a.ID, Ask: func(string) string { return "" }, Read: a.Given}
		if a.Agent != "" {
			if !isThere(seen, a.Agent) {
				return &config.Mistake{Err: a.Errorf("there is no agent %q to ask", a.Agent)}
			}
			call.By = fleet.ByAgent(a.Agent)
			call.Barred = fmt.Errorf("agent %s may not: it takes a person", a.Agent)
		}
		if _, err := do(c, ctx, call); err != nil {
			return &config.Mistake{Err: a.Errorf("%v", err)}
		}
	}
	return nil
}

func isThere(seen fleet.Snapshot, name string) bool {
	return slices.ContainsFunc(seen.Agents.Value, func(a fleet.Agent) bool { return a.Name == name })
}

// verbOf finds what is asked for: a verb that changes something.
func verbOf(a scenario.Ask) (func(*control.Control, context.Context, control.Call) (any, error), error) {
	var verbs []string
	for _, n := range control.Nouns() {
		for _, v := range n.Verbs {
			if n.Name != a.Noun || !slices.Contains(storied, n.Name) || v.Name == "list" || v.Name == "show" {
				continue
			}
			if verbs = append(verbs, v.Name); v.Name == a.Verb {
				return v.Do, nil
			}
		}
	}
	if verbs == nil {
		return nil, a.Errorf("there is no noun %q to ask for%s", a.Noun, nearest.Hint(a.Noun, storied))
	}
	return nil, a.Errorf("there is no %q of %s to ask for%s", a.Verb, a.Noun, nearest.Hint(a.Verb, verbs))
}

// knownRules are the names of the rules of a story: its verbs ask for no more of them.
type knownRules []string

func (k knownRules) Rules() (list []api.Rule) {
	for _, name := range k {
		list = append(list, api.Rule{Name: name})
	}
	return list
}

func (knownRules) TOML() string { return "" }

// storyRecords are the records of a story, as of one moment.
type storyRecords struct {
	t    *player
	seen fleet.Snapshot
}

func (r storyRecords) Seen(ctx context.Context) (fleet.Past, fleet.Snapshot, error) {
	past, err := r.t.st.Past(ctx, r.seen.At)
	return past, r.seen, err
}

func (r storyRecords) Edit(ctx context.Context, edit func(fleet.Records) (fleet.Records, error)) (fleet.Records, error) {
	return r.t.st.EditRecords(ctx, r.seen.At, edit)
}

// Ask begins nothing.
func (r storyRecords) Ask(context.Context, string, func(fleet.Past, fleet.Snapshot) (*fleet.Finding, error), ...fleet.PartName) (*fleet.Action, error) {
	return nil, errors.New("a story closes no work of other trackers: say how it is seen, with set issue or set pr")
}

var _ control.Records = storyRecords{}
