package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"rsc.io/qr"

	"custos/internal/api"
	"custos/internal/config"
)

func (a *app) webCommand() *cobra.Command {
	var code bool
	c := &cobra.Command{
		Use: "web", Short: "Open the page in a browser, on this machine or on a phone", Args: cobra.NoArgs,
		Long: `web prints an address of the page that is good once, and for a minute. Whoever opens it
may do by the page what you may do here, for a week or until custos web revoke. Where
custos.toml does not have the page served, the daemon serves it to this machine from now
on, until it ends or custos web stop. How a phone gets there: custos help web.md.`,
		Example: "  custos web\n  custos web --qr\n  custos web link --agent builder --for 2h\n  custos web sessions",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.WebAddress, error) {
				return c.WebAddress(ctx, api.WebRequest{})
			}, func(p *page, v api.WebAddress) { writeWebAddress(p, v, code) })
		},
	}
	c.Flags().BoolVar(&code, "qr", false, "draw the address as a QR code, for a phone")
	c.AddCommand(a.webLink(), a.webSessions(), a.webRevoke(), a.webStop())
	return c
}

func writeWebAddress(p *page, v api.WebAddress, code bool) {
	fmt.Fprintln(&p.buf, flat(v.URL)) // whole: it is to be copied
	if code {
		writeQR(p, v.URL)
	}
	if v.Once {
		p.line("It is good once, until %s. Whoever opens it may do what you may do.", v.Until.UTC().Format("15:04:05 UTC"))
		return
	}
	p.line("It is good until %s, for looking only. To end it: %s", v.Until.UTC().Format("2006-01-02 15:04 UTC"), p.command("custos web revoke "+flat(v.ID)))
}

// writeQR draws two rows of the code as one line: dark on light, as a camera wants it, where
// colours may be set, and else as it is on a dark terminal.
func writeQR(p *page, text string) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		p.line("It cannot be drawn as a QR code: %v", err)
		return
	}
	const quiet = 2 // the white frame that readers need
	for y := -quiet; y < code.Size+quiet; y += 2 {
		var b strings.Builder
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(map[[2]bool]string{{false, false}: "█", {false, true}: "▀", {true, false}: "▄", {true, true}: " "}[[2]bool{code.Black(x, y), code.Black(x, y+1)}])
		}
		line := b.String()
		if p.colour {
			line = "\x1b[97;40m" + line + "\x1b[0m"
		}
		fmt.Fprintln(&p.buf, line)
	}
}

func (a *app) webLink() *cobra.Command {
	r := api.WebRequest{For: "2h"}
	c := &cobra.Command{
		Use: "link", Short: "An address that shows one thing for a while, and does nothing", Args: cobra.NoArgs,
		Long: `link prints an address that shows one agent, the agents of one project, or one page to
whoever has it, until its time is over or custos web revoke. Nothing can be done with it,
and it shows no terminal unless you say so.`,
		Example: "  custos web link --agent builder --for 2h\n  custos web link --project shop --terminal\n  custos web link --page /alerts --for 30m",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := config.Duration(r.For)
			if err != nil {
				return usage("cannot read --for: %v", err)
			}
			order := r
			order.For = d.String()
			var note string
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (v api.WebAddress, err error) {
				if note, err = seenToLink(ctx, c, order); err != nil {
					return v, err
				}
				return c.WebAddress(ctx, order)
			}, func(p *page, v api.WebAddress) {
				writeWebAddress(p, v, false)
				if note != "" {
					p.line("%s", note)
				}
			})
		},
	}
	c.Flags().StringVar(&r.Agent, "agent", "", "the agent, by its `NAME`")
	c.Flags().StringVar(&r.Project, "project", "", "the agents of the project of this `NAME`")
	c.Flags().StringVar(&r.Page, "page", "", "the page, by its `PATH`: /, /agents, /alerts, /alerts/3")
	c.Flags().StringVar(&r.For, "for", r.For, "the `DURATION`: 30m, 2h, 1d")
	c.Flags().BoolVar(&r.Terminal, "terminal", false, "show terminals, too: whatever they show")
	return c
}

func (a *app) webSessions() *cobra.Command {
	return &cobra.Command{
		Use: "sessions", Short: "Who may see the page, and where it is", Args: cobra.NoArgs, Example: "  custos web sessions",
		RunE: asksFor(a, (*api.Client).Web, func(p *page, v api.Web) {
			switch {
			case v.URL != "":
				p.line("The page is at %s", flat(v.URL))
			case v.Trouble != "":
				p.line("The page is off: %s", flat(v.Trouble))
			default:
				p.line("The page is off.")
			}
			if len(v.Sessions) == 0 {
				p.line("Nobody is let in.")
			}
			p.table([]column{{}, {}, {}, {}, {shorten: cut}}, each(v.Sessions, func(s api.WebSession) []string {
				return []string{flat(s.ID), flat(s.Kind), flat(s.By), "until " + s.Until.UTC().Format("2006-01-02 15:04"), flat(s.Shows + s.Browser + terminals(s))}
			}))
		}),
	}
}

// terminals says that a link shows them.
func terminals(s api.WebSession) string {
	if s.Kind == "link" && s.Terminal {
		return ", with terminals"
	}
	return ""
}

// seenToLink looks for what a link is to show: one that is misspelt shows nothing, and says so
// only to who opens it. Of a project there may be no agent now, which is told.
func seenToLink(ctx context.Context, c *api.Client, r api.WebRequest) (note string, err error) {
	if r.Agent != "" {
		_, err = c.Agent(ctx, r.Agent)
	}
	if r.Project == "" || err != nil {
		return "", err
	}
	v, err := c.Agents(ctx)
	if err != nil || slices.ContainsFunc(v.Agents, func(a api.AgentRow) bool { return a.Project == r.Project }) {
		return "", err
	}
	return fmt.Sprintf("No agent is of project %s now: the link shows none until one is.", flat(r.Project)), nil
}

func (a *app) webRevoke() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "revoke [ID]", Short: "End a session or a link of the page, at once", Args: cobra.MaximumNArgs(1),
		Example: "  custos web revoke abcd2345\n  custos web revoke --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return &api.Error{Kind: api.BadInput, Message: "cannot revoke: name a session or a link, or all with --all", Hint: "custos web sessions"}
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.WebEnded, error) {
				if all {
					return c.WebRevokeAll(ctx)
				}
				return c.WebRevoke(ctx, args[0])
			}, func(p *page, v api.WebEnded) { p.line("Ended: %d.", v.Ended) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every session, link and address that is not used yet")
	return c
}

func (a *app) webStop() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "Turn the page off, until the daemon begins anew or it is asked for", Args: cobra.NoArgs, Example: "  custos web stop",
		RunE: asksFor(a, (*api.Client).WebStop, func(p *page, _ api.WebEnded) {
			p.line("The page is off. Sessions stay: %s ends them.", p.command("custos web revoke --all"))
		}),
	}
}
