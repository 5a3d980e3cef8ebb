package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) rulesCommand() *cobra.Command {
	var asTOML bool
	c := &cobra.Command{
		Use:     "rules [NAME]",
		Example: "  custos rules\n  custos rules disk-pressure",
		Short:   "The rules in force, or one of them in full",
		RunE: func(cmd *cobra.Command, args []string) error {
			if asTOML && len(args) == 1 {
				return usage("cannot print one rule as TOML: --toml prints the whole table")
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Rules, error) {
				r, err := c.Rules(ctx)
				if err == nil && len(args) == 1 {
					return oneRule(r, args[0])
				}
				return r, err
			}, func(p *page, r api.Rules) {
				switch {
				case asTOML:
					p.buf.WriteString(clean(r.TOML))
				case len(args) == 1:
					writeRule(p, r.Rules[0])
				default:
					writeRules(p, r)
				}
			})
		},
	}
	c.Flags().BoolVar(&asTOML, "toml", false, "print the whole table as TOML")
	return c
}

func oneRule(r api.Rules, name string) (api.Rules, error) {
	var like []string
	for _, rule := range r.Rules {
		if rule.Name == name {
			return api.Rules{Rules: []api.Rule{rule}}, nil
		}
		if strings.Contains(rule.Name, name) {
			like = append(like, rule.Name)
		}
	}
	e := &api.Error{Kind: api.NotFound, Message: "cannot find rule \"" + flat(name) + "\"", Hint: "custos rules"}
	if len(like) > 0 {
		e.Message += ": there are " + strings.Join(like, ", ")
	}
	return r, e
}

func writeRules(p *page, r api.Rules) {
	p.table([]column{{paint: p.priority}, {head: "RULE"}, {head: "OVER"}, {head: "MODE"}, {head: "ACTIONS", shorten: cut}, {head: "FIRES WHEN", shorten: cut}}, each(r.Rules, func(rule api.Rule) []string {
		mode := flat(rule.Mode)
		if !rule.Enabled {
			mode = "off"
		}
		actions := flat(strings.Join(rule.Actions, ", "))
		if actions == "" {
			actions = "–"
		}
		return []string{flat(rule.Priority), flat(rule.Name), flat(rule.Over), mode, actions, flat(rule.Expr)}
	}))
}

// patrols says of a count of patrols that they are in a row; nothing of none.
func patrols(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("after %d in a row", n)
}

func writeRule(p *page, r api.Rule) {
	p.line("%s  %s over %s", p.priority(r.Priority), p.paint(bold, flat(r.Name)), flat(r.Over))
	if r.Doc != "" {
		p.text(0, r.Doc)
	}
	rows := [][]string{
		{"fires when", flat(r.Expr)}, {"for", flat(r.For)}, {"keeps firing for", flat(r.KeepFiringFor)},
		{"for patrols", patrols(r.ForPatrols)}, {"people notified", patrols(r.TellAfter)},
		{"says", flat(r.Summary)}, {"asks for", flat(strings.Join(r.Actions, ", "))}, {"mode", flat(r.Mode)},
		{"cooldown", flat(r.Cooldown)}, {"attempts", flat(r.Attempts)}, {"spacing", flat(r.Spacing)},
		{"caused by", flat(strings.Join(r.CausedBy, ", "))}, {"runbook", flat(r.Runbook)}, {"from", flat(r.Source)},
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		for i, l := range wrap(row[1], p.width-20) {
			if i > 0 {
				row[0] = ""
			}
			p.line("  %s  %s", p.dim(pad(row[0], 16, false)), l)
		}
	}
	if !r.Enabled {
		p.line("  %s", p.paint(yellow, "switched off"))
	}
}
