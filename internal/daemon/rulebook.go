package daemon

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"custos/internal/agent"
	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/observe/agents"
	"custos/internal/observe/installation"
	"custos/internal/rules"
	"custos/internal/server"
)

// rulebook is the rule table as the server's port wants it.
type rulebook struct{ set *rules.Set }

var _ control.Rules = rulebook{}

// TOML is the table in force.
func (b rulebook) TOML() string { return b.set.TOML() }

// Rules lists the rules in force.
func (b rulebook) Rules() []api.Rule {
	out := make([]api.Rule, 0, len(b.set.Rules()))
	for _, r := range b.set.Rules() {
		out = append(out, api.Rule{Name: r.Name, Priority: string(r.Priority), Over: string(r.Over), Expr: r.Expr,
			For: span(r.For), KeepFiringFor: span(r.KeepFiringFor), ForPatrols: r.ForPatrols, TellAfter: r.TellAfter, Summary: r.Summary,
			Actions: wants(r), Mode: string(r.Mode), Cooldown: span(r.Cooldown), Attempts: attempts(r.Attempts), Spacing: string(r.Spacing),
			CausedBy: r.CausedBy, Runbook: r.Runbook, Category: r.Category, Enabled: r.Enabled, Doc: r.What, Parts: parts(r)})
	}
	return out
}

// parts names what a rule reads.
func parts(r *rules.Rule) (out []string) {
	for _, p := range r.Parts() {
		out = append(out, string(p))
	}
	return out
}

func span(d fleet.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func attempts(a fleet.Attempts) string {
	if a.Max == 0 {
		return ""
	}
	return fmt.Sprintf("%d in %s", a.Max, a.In)
}

// wants says what a rule asks for, one line an action.
func wants(r *rules.Rule) []string {
	out := []string{}
	for _, a := range r.Actions {
		words := []string{a.Do}
		for _, w := range []struct{ word, value string }{{"on every", string(a.Targets)}, {"where", a.Where}, {"by", a.Order}, {"saying", a.Text}} {
			if w.value != "" {
				words = append(words, w.word, w.value)
			}
		}
		if a.Limit > 0 {
			words = append(words, "at most", strconv.Itoa(a.Limit))
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// reader explains screens.
type reader struct {
	kinds *agent.Kinds
	aside []error
}

var _ server.Explainer = reader{}

// Kinds lists them, with the files of kinds that are not used.
func (r reader) Kinds() api.Kinds {
	out := api.Kinds{Kinds: []api.Kind{}, Aside: []string{}}
	there := map[string]string{}
	for _, p := range installation.KindPrograms(r.kinds) {
		there[p.Name] = p.Path
	}
	for _, k := range r.kinds.All() {
		row := api.Kind{Name: k.Name, From: append([]string{}, k.From...), Proven: append([]string{}, k.Proven...), Disabled: k.Disabled, Never: append([]string{}, k.Never...)}
		if row.Path = there[k.Name]; row.Path != "" {
			row.Version = agents.Packaged(fleet.RawPath(row.Path), time.Now())
			row.Outgrown = k.Outgrown(row.Version)
		}
		out.Kinds = append(out.Kinds, row)
	}
	for _, err := range r.aside {
		out.Aside = append(out.Aside, strings.Split(err.Error(), "\n")...)
	}
	return out
}

// Explain says how a screen and a title are read; with no kind, by every kind.
func (r reader) Explain(kind, title, screen string) (api.Explanation, error) {
	kinds := r.kinds.All()
	if kind != "" {
		k, ok := r.kinds.Get(kind)
		if !ok {
			return api.Explanation{}, fmt.Errorf("cannot explain: there is no kind %q; there are %s", kind, strings.Join(r.kinds.Names(), ", "))
		}
		kinds = []agent.Kind{k}
	}
	out := api.Explanation{Kind: kind, State: string(fleet.StateUnknown), Reason: "no mark of any kind was found", Source: "screen", Signals: []api.Signal{},
		Warnings: []string{"A screen is a hint: agents print such words in normal work. Alone it never justifies an action."}}
	for _, k := range kinds {
		signals := agent.ReadScreen(k, screen, title)
		for _, s := range signals {
			out.Signals = append(out.Signals, api.Signal{Kind: k.Name, Source: s.Source, Says: s.Says, Hint: string(s.Hint)})
		}
		if len(signals) > 0 && out.State == string(fleet.StateUnknown) {
			v := agent.State(agent.Signals{Kind: k, Title: fleet.Known(title), Screen: fleet.Known(screen)})
			out.Kind, out.State, out.Reason, out.Source = k.Name, string(v.State), v.Reason, v.Source
		}
	}
	return out, nil
}
