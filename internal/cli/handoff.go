package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) handoffCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "handoff [NAME]",
		Short: "For agents: hand over to a fresh agent in your place",
		Long: `handoff --file takes what the agent that takes your place must know: the task,
what is done, what is not, what to do next; at most 64 KiB. An agent hands over for
itself, and need not be named; a person may for any agent. Where [handoff] of
custos.toml names the agent, its work is then backed up, it is ended when its turn is
over, and started afresh in the same folder with this text in its first prompt.
Elsewhere the text is kept beside its next checkpoint, and nothing follows.
Without --file it is said how far the hand-off of NAME is.`,
		Example: "  custos handoff --file - < notes.md\n  custos handoff builder",
		RunE: func(cmd *cobra.Command, args []string) error {
			name := only(args)
			if file == "" {
				return a.showHandoff(cmd, name)
			}
			text, err := a.input(file, "hand-off", largestText)
			if err != nil {
				return err
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Handoff, error) {
				return c.HandOver(ctx, api.HandoffRequest{Agent: name, Text: string(text)})
			}, writeHandedOver)
		},
	}
	c.Flags().StringVar(&file, "file", "", "what is handed over: a `FILE`, or - for standard input")
	return c
}

func writeHandedOver(p *page, h api.Handoff) {
	if h.Replaced {
		p.line("Taken: a fresh agent takes the place of %s when its turn is over.", flat(h.Agent))
		return
	}
	p.line("Kept with the work of %s. It is not replaced: [handoff] of custos.toml does not name it.", flat(h.Agent))
}

func (a *app) showHandoff(cmd *cobra.Command, name string) error {
	if name == "" {
		return usage("cannot hand over: name an agent, or give what is handed over: custos handoff --file -")
	}
	return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Handoff, error) { return c.Handoff(ctx, name) }, writeHandoff)
}

func writeHandoff(p *page, h api.Handoff) {
	switch {
	case h.Stage == "":
		p.line("%s has not handed over.", flat(h.Agent))
	case h.Why != "":
		p.line("%s: %s since %s: %s", flat(h.Agent), flat(h.Stage), h.Since.Format("2006-01-02 15:04:05Z"), flat(h.Why))
	default:
		p.line("%s: %s since %s", flat(h.Agent), flat(h.Stage), h.Since.Format("2006-01-02 15:04:05Z"))
	}
	if h.Text != "" {
		p.line("")
		p.line("%s", clean(h.Text))
	}
}
