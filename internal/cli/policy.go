package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/policy"
)

// errAgainst is a verdict that keeps a call from being made by itself.
var errAgainst = fmt.Errorf("the policy speaks against it: %w", errAlarm)

func (a *app) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "What agents' calls of tools are judged by: try it, and see why",
		Long: `policy shows and tries the policies of custos.toml ([policy.NAME]) and those that come
with Custos. A policy says deny, ask or warn, and never that something is allowed.
It is advice, which stops accidents: custos help policy.md says what it cannot do.`,
		Example: "  custos policy test 'git push --force origin main'\n  custos policy list",
	}
	c.AddCommand(a.policyList(), a.policyLint(),
		a.policyJudge("test", "What a policy says of a command; exit code 1 when it denies or asks", "test judges a command as the hook of an agent does that works in the folder --cwd.", a.writeVerdict),
		a.policyJudge("explain", "What a command would do, as a policy sees it, and each rule that speaks against it", "explain shows each program that a command would run, what it touches, and what\ncannot be told.", a.writeDeeds))
	return c
}

// policyFlags say whose call is judged.
type policyFlags struct{ name, role, cwd, tool string }

func (a *app) policyJudge(use, short, long string, write func(*page, policy.Explanation)) *cobra.Command {
	f := policyFlags{tool: "Bash"}
	c := &cobra.Command{
		Use: use + " [COMMAND]", Short: short,
		Long:    long + "\nWithout a command, or for -, the standard input is read. For another tool than a shell\nit is the JSON of the tool's input.",
		Example: "  custos policy " + use + " 'rm -rf ~/old'\n  custos policy " + use + " --tool Write '{\"file_path\": \".git/hooks/pre-commit\"}'",
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.judged(f, cmp.Or(only(args), "-"))
			if err != nil {
				return err
			}
			if err := a.show(v, func(p *page) { write(p, v) }); err != nil {
				return err
			}
			if v.Verdict == string(policy.Deny) || v.Verdict == string(policy.Ask) {
				return errAgainst
			}
			return nil
		},
	}
	c.Flags().StringVar(&f.name, "policy", "", "the `POLICY` (default: that of --role, else that of [agents], else default)")
	c.Flags().StringVar(&f.role, "role", "", "judge as for an agent of this `ROLE`")
	c.Flags().StringVar(&f.cwd, "cwd", "", "the `FOLDER` that the agent stands in (default: this one)")
	c.Flags().StringVar(&f.tool, "tool", f.tool, "the `NAME` of the tool, as the CLI calls it")
	return c
}

// judged judges a call.
func (a *app) judged(f policyFlags, text string) (policy.Explanation, error) {
	p, err := a.policyOf(f.name, f.role)
	if err != nil {
		return policy.Explanation{}, err
	}
	conf, err := a.config()
	if err != nil {
		return policy.Explanation{}, err
	}
	if text, err = a.textOf(text); err != nil {
		return policy.Explanation{}, err
	}
	cwd, err := filepath.Abs(f.cwd)
	if err != nil {
		return policy.Explanation{}, usage("cannot read --cwd: %v", err)
	}
	input := json.RawMessage(text)
	if !json.Valid(input) || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		if input, err = json.Marshal(map[string]string{"command": text}); err != nil {
			return policy.Explanation{}, usage("cannot read the command: %v", err)
		}
	}
	return p.Explain(policy.Reading(f.tool, cwd, input, a.Daemon.PolicyPlaces(conf, a.Getenv("HOME"), cwd))), nil
}

// policyOf is the policy that is meant.
func (a *app) policyOf(name, role string) (policy.Policy, error) {
	all, of, err := a.policies(role)
	if err != nil {
		return policy.Policy{}, err
	}
	name = cmp.Or(name, of, "default")
	p, ok := all[name]
	if !ok {
		return p, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("there is no policy %q; there are %s", flat(name), strings.Join(slices.Sorted(maps.Keys(all)), ", ")), Hint: "custos policy list"}
	}
	return p, nil
}

func (a *app) policies(role string) (map[string]policy.Policy, string, error) {
	c, err := a.config()
	if err != nil {
		return nil, "", err
	}
	if a.Daemon.Policies == nil {
		return nil, "", usage("policies are read where agents are watched: this machine is a client")
	}
	all, of, err := a.Daemon.Policies(c, role)
	if err != nil {
		return nil, "", localError(err)
	}
	return all, of, nil
}

func (a *app) writeVerdict(p *page, v policy.Explanation) {
	if v.Verdict == "none" {
		p.line("Policy %s has nothing against it.", v.Policy)
		return
	}
	p.text(0, v.Verdict+": "+flat(v.Told))
}

func (a *app) writeDeeds(p *page, v policy.Explanation) {
	for _, d := range v.Deeds {
		p.text(0, flat(d.Deed))
		if d.Opaque != "" {
			p.text(2, "opaque: "+d.Opaque)
		}
		for _, t := range d.Touches {
			p.text(2, flat(t))
		}
	}
	for _, h := range v.Hits {
		p.text(0, fmt.Sprintf("%s by %s: %s", h.Verdict, h.Rule, flat(h.Deed)))
	}
	a.writeVerdict(p, v)
}

// policyRow is one policy in the list.
type policyRow struct {
	Name  string   `json:"name"`
	Rules []string `json:"rules"`
}

func (a *app) policyRows() ([]policyRow, error) {
	all, _, err := a.policies("")
	rows := []policyRow{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, policyRow{Name: name, Rules: all[name].Said()})
	}
	return rows, err
}

func (a *app) policyList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "The policies there are, and their rules", Example: "  custos policy list",
		RunE: func(*cobra.Command, []string) error {
			rows, err := a.policyRows()
			if err != nil {
				return err
			}
			return a.show(map[string]any{"policies": rows}, func(p *page) {
				for _, r := range rows {
					p.line("%s", flat(r.Name))
					p.text(2, strings.Join(r.Rules, ", "))
				}
			})
		},
	}
}

func (a *app) policyLint() *cobra.Command {
	return &cobra.Command{
		Use: "lint", Short: "Read the policies of custos.toml strictly; exit code 2 when something is wrong", Example: "  custos policy lint\n  custos --config new.toml policy lint",
		RunE: func(*cobra.Command, []string) error {
			rows, err := a.policyRows()
			if err != nil {
				return err
			}
			return a.show(map[string]any{"ok": true, "policies": len(rows)}, func(p *page) { p.line("%d policies are good.", len(rows)) })
		},
	}
}
