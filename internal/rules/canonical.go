package rules

import (
	"fmt"
	"strconv"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/fleet"
)

// written is a rule as the table writes it.
type written struct {
	What          string          `toml:"what,omitempty"`
	Priority      string          `toml:"priority"`
	Over          string          `toml:"over"`
	Expr          string          `toml:"expr"`
	For           string          `toml:"for,omitempty"`
	KeepFiringFor string          `toml:"keep_firing_for,omitempty"`
	ForPatrols    int             `toml:"for_patrols,omitempty"`
	TellAfter     int             `toml:"tell_after,omitempty"`
	Summary       string          `toml:"summary"`
	Mode          string          `toml:"mode"`
	Cooldown      string          `toml:"cooldown,omitempty"`
	Attempts      string          `toml:"attempts,omitempty"`
	Spacing       string          `toml:"spacing,omitempty"`
	CausedBy      []string        `toml:"caused_by,omitempty"`
	Runbook       string          `toml:"runbook,omitempty"`
	Lists         string          `toml:"lists,omitempty"`
	Category      string          `toml:"category,omitempty"`
	Enabled       *bool           `toml:"enabled,omitempty"`
	Actions       []writtenAction `toml:"actions,omitempty"`
}

type writtenAction struct {
	Do      string `toml:"do"`
	Targets string `toml:"targets,omitempty"`
	Where   string `toml:"where,omitempty"`
	Order   string `toml:"order,omitempty"`
	Limit   int    `toml:"limit,omitempty"`
	Text    string `toml:"text,omitempty"`
}

// TOML returns the table in force as text: sorted by name, defaults left out.
// Parsing it gives an equal Set, and the same text again.
func (s *Set) TOML() string {
	table := map[string]map[string]written{"rule": {}}
	for _, r := range s.rules {
		table["rule"][r.Name] = r.written()
	}
	text, err := toml.Marshal(table)
	if err != nil {
		// Texts and numbers can always be written.
		panic(fmt.Sprintf("cannot write the rule table: %v", err))
	}
	return string(text)
}

func (r *Rule) written() written {
	w := written{What: r.What, Priority: string(r.Priority), Over: string(r.Over), Expr: r.Expr,
		For: spanText(r.For), KeepFiringFor: spanText(r.KeepFiringFor), ForPatrols: r.ForPatrols, TellAfter: r.TellAfter, Summary: r.Summary,
		Mode: string(r.Mode), Cooldown: spanText(r.Cooldown), Attempts: attemptsText(r.Attempts), Spacing: string(r.Spacing),
		CausedBy: r.CausedBy, Runbook: r.Runbook, Lists: r.Lists, Category: r.Category}
	if !r.Enabled {
		w.Enabled = &r.Enabled
	}
	for _, a := range r.Actions {
		w.Actions = append(w.Actions, writtenAction{a.Do, string(a.Targets), a.Where, a.Order, a.Limit, a.Text})
	}
	return w
}

// spanText writes a duration shortly: 5m, not 5m0s; nothing for none.
func spanText(d fleet.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Short()
}

func attemptsText(a fleet.Attempts) string {
	if a.Max == 0 {
		return ""
	}
	return strconv.Itoa(a.Max) + " in " + spanText(a.In)
}
