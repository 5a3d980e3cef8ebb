package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) roleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "role",
		Short: "What agents of one kind of work have in common",
		Long: `A role says how agents of one kind of work are started: which CLI, where, with which first
prompt, how many, and whom they may start themselves. It is a section [role.NAME] of custos.toml;
some come as presets. custos help roles.md`,
		Example: "  custos role list\n  custos role render builder --work w12\n  custos sling w12 --role builder",
	}
	var work string
	render := &cobra.Command{
		Use: "render ROLE", Short: "What an agent of a role would be started with: command line, place, first prompt", Args: cobra.ExactArgs(1),
		Example: "  custos role render builder --work w12",
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.RoleDraft, error) {
			return c.DraftRole(ctx, args[0], work)
		}, writeDraft),
	}
	render.Flags().StringVar(&work, "work", "", "`REF` of the work that it would have")
	c.AddCommand(render, &cobra.Command{
		Use: "list", Short: "The roles there are, and who has them", Args: cobra.NoArgs, Example: "  custos role list",
		RunE: asksFor(a, (*api.Client).Roles, writeRoles),
	}, &cobra.Command{
		Use: "show ROLE", Short: "One role: each key with what says it, what holds for its agents, and who has it", Args: cobra.ExactArgs(1),
		Long: `show prints what a role is after its preset, each key with the line of custos.toml or the preset that says it, the
policy and the budgets that hold for its agents, and of each agent that has it whether it was started with
what the role says now. A role that was changed is applied to an agent by its next spawn only; a changed
policy by each start.`,
		Example: "  custos role show builder\n  custos role show builder --json",
		RunE:    asksOne(a, (*api.Client).Role, writeRole),
	}, a.roleLint())
	return c
}

// errDoubtful ends role lint with code 1.
var errDoubtful = fmt.Errorf("something is wrong with a role: %w", errAlarm)

func (a *app) roleLint() *cobra.Command {
	return &cobra.Command{
		Use: "lint [ROLE]", Short: "What is wrong or doubtful with a role, or with all, that config check takes; exit code 1 when something is wrong", Args: cobra.MaximumNArgs(1),
		Long: `lint reads the roles of custos.toml beside the queues, teams and kinds that they are used with, and
looks whether their places are there. A note may be meant so, and does not count for the exit code.

Exit codes: 0 nothing is wrong · 1 something is · 2 there is no such role.`,
		Example: "  custos role lint\n  custos role lint builder",
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := put(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.RoleFindings, error) {
				return c.LintRoles(ctx, only(args))
			})
			if err != nil {
				return err
			}
			if err := a.show(v, func(p *page) { writeRoleFindings(p, v) }); err != nil {
				return err
			}
			if slices.ContainsFunc(v.Findings, func(f api.RoleFinding) bool { return !f.Note }) {
				return errDoubtful
			}
			return nil
		},
	}
}

func writeRoleFindings(p *page, v api.RoleFindings) {
	if len(v.Findings) == 0 {
		p.line("Nothing is doubtful with %s.", plural(v.Roles, "role"))
	}
	for _, f := range v.Findings {
		grade := "wrong"
		if f.Note {
			grade = "note"
		}
		where := "[role." + f.Role + "] " + f.Key
		if f.Line != "" {
			where = f.Line + ": " + where
		}
		p.text(0, flat(grade+": "+where+": "+f.What))
	}
	p.next(v.Next)
}

func writeRoles(p *page, v api.RoleList) {
	list(p, "No role.", v.Roles, []column{{head: "ROLE"}, {head: "KIND"}, {head: "AGENTS", shorten: cut}, {head: "WHAT", shorten: cut}}, func(r api.Role) []string {
		kind := r.Kind
		if !r.Configured {
			kind = "(preset)"
		}
		return []string{flat(r.Name), flat(kind), flat(strings.Join(r.Agents, " ")), flat(r.What)}
	}, v.Next)
}

func writeRole(p *page, r api.Role) {
	state := "preset: custos.toml has no [role." + r.Name + "]"
	if r.Configured {
		state = "configured"
	}
	p.head(flat(r.Name), flat(state))
	from := func(key, value string) string { return withKey(value, r.From[key]) }
	p.known([][2]string{{"What", from("what", r.What)}, {"Preset", from("preset", r.Preset)}, {"Kind", from("kind", r.Kind)}, {"Command", from("argv", strings.Join(r.Argv, " "))}, {"Worktree of", from("repo", r.Repo)}, {"Folder", from("dir", r.Dir)},
		{"Project", from("project", r.Project)}, {"Account", from("account", r.Account)}, {"Variables", from("env", strings.Join(r.Env, ", "))}, {"May start", from("may_spawn", strings.Join(r.MaySpawn, ", "))}, {"Reports to", from("reports_to", r.ReportsTo)}, {"May send", from("mails", strings.Join(r.Mails, ", "))}, {"At most", from("max", number(r.Max))},
		{"Its work ends", from("ends", r.Ends)}, {"Policy", withKey(r.Policy, r.PolicyFrom)}, {"Context", from("context", strings.Join(r.Context, ", "))}})
	for _, b := range r.Budgets {
		p.line("  Budget %s: %s of %s, %s", flat(b.Name), flat(b.Limits), flat(strings.TrimSpace(b.Scope+" "+b.Of)), flat(b.Window))
	}
	writeHaving(p, r)
	p.text(0, r.Prompt)
	p.next(r.Next)
}

// writeHaving says who has a role, and who was started with another one.
func writeHaving(p *page, r api.Role) {
	if len(r.Having) == 0 {
		p.known([][2]string{{"Agents", strings.Join(r.Agents, ", ")}})
	}
	for _, a := range r.Having {
		switch a.State {
		case "drift":
			p.line("  Agent %s: was started with another %s; its next spawn has what stands here", flat(a.Agent), flat(strings.Join(a.Drift, " and ")))
		case "unknown":
			p.line("  Agent %s: it is not on record what the role said when it was started", flat(a.Agent))
		default:
			p.line("  Agent %s: as the role says", flat(a.Agent))
		}
	}
}

// withKey is a value with the key of custos.toml that says it; "" where there is none.
func withKey(value, key string) string {
	if value == "" {
		return ""
	}
	return value + " (" + key + ")"
}

func writeDraft(p *page, d api.RoleDraft) {
	s := d.Spawn
	p.head(flat(d.Agent), "an agent of role "+flat(d.Role))
	p.known([][2]string{{"Kind", s.Kind}, {"Command", strings.Join(s.Argv, " ")}, {"Worktree of", s.Repo}, {"Branch", d.Branch}, {"Folder", s.Dir}, {"Project", s.Project}, {"Task", s.Task}, {"Account", s.Account},
		{"Variables", strings.Join(s.Env, ", ")}, {"Policy", withKey(d.Policy, d.PolicyFrom)}, {"Context by", strings.Join(d.ContextArgs, " ")}})
	if len(d.ContextArgs) > 0 {
		p.text(0, d.Context)
	}
	p.text(0, d.Prompt)
}

func (a *app) slingCommand() *cobra.Command {
	var r api.SlingRequest
	var wait string
	c := &cobra.Command{
		Use: "sling REF", Short: "Hand work out: claim it, and have an agent begin with it", Args: cobra.ExactArgs(1),
		Long: `sling takes work of the ledger for an agent and has that begin, both or neither: a new agent of a role, in a
worktree of its own where the role says so, or with --to one that there is. When the start comes to
nothing, the work is given back, and those who watch its project are told. The same twice is once.`,
		Example: "  custos sling w12 --role builder\n  custos sling w12 --to builder-w9",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := r
			r.Work, r.Files = args[0], api.SplitFiles(r.Files)
			wait, err := waitOf(wait)
			if err != nil {
				return err
			}
			s, err := put(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Slung, error) { return c.Sling(ctx, r) })
			if err == nil {
				err = a.begins(cmd.Context(), &s, wait)
			}
			if err != nil {
				return err
			}
			if err := a.show(s, func(p *page) { writeSlung(p, s) }); err != nil || s.Order == nil {
				return err
			}
			return cameToNothing([]api.Order{*s.Order})
		},
	}
	c.Flags().StringVar(&wait, "wait", "30s", "how long to wait for it to begin, a `DURATION`; 0s: not at all")
	f := c.Flags()
	f.StringVar(&r.Role, "role", "", "the `ROLE` of a new agent (default: that of the work)")
	f.StringVar(&r.To, "to", "", "an `AGENT` that there is")
	f.StringArrayVar(&r.Files, "files", nil, "a `FILE`, folder or pattern that it is for, as of spawn")
	return c
}

// begins waits until the agent of work that was handed out has begun, or will not. Where no daemon watches
// there is nothing to wait for.
func (a *app) begins(ctx context.Context, s *api.Slung, wait time.Duration) error {
	defer a.progress("waiting for " + s.Agent).end()
	for end := time.Now().Add(wait); s.Order != nil && !s.Order.Over && s.Order.Watched && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(slingPause):
		}
		o, err := put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.Order, error) { return c.OrderState(ctx, s.Order.ID) })
		if err != nil {
			return err
		}
		s.Order = &o
	}
	return nil
}

// slingPause is between two looks at an order.
const slingPause = 300 * time.Millisecond

func writeSlung(p *page, s api.Slung) {
	if o := s.Order; o != nil && o.Over && o.State != "done" {
		return // it is said as what came to nothing
	}
	p.line("%s: %s has it", flat(s.Work.Ref), flat(s.Agent))
	if o := s.Order; o != nil && !o.Over {
		p.text(0, orderLine(*o))
		p.next(o.Next)
		return
	}
	p.next([]api.Hint{{Command: "custos why agent/" + s.Agent, What: "how it goes"}})
}
