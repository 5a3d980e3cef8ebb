package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) answerCommand() *cobra.Command {
	f := orderFlags{}
	var hash string
	c := &cobra.Command{
		Use:   "answer NAME CHOICE",
		Short: "Answer the question that an agent shows",
		Long: `answer presses the key for one of the choices of the dialog that an agent shows:
custos show NAME lists them. CHOICE is the name of one, or, without --dialog, what just
one of them says. It goes to that very dialog: when another one stands
there at the instant of answering, nothing is pressed. With --dialog it is the one
with this hash; without, the one that is there now, which is shown. One that asks
and has not drawn its dialog yet is given a moment; with --wait, any agent that runs
is given that long to show one.`,
		Example: "  custos answer builder yes\n  custos answer builder no --dialog 3f2a9c",
		RunE: func(cmd *cobra.Command, args []string) error {
			o := api.OrderRequest{Do: "answer", Agent: args[0], Text: args[1], Dialog: hash}
			if err := api.CheckUTF8("answer", o.Text); err != nil { // before the dialog is waited for
				return err
			}
			if hash == "" {
				d, choice, err := a.dialog(cmd, args[0], args[1], f)
				if err != nil {
					return err
				}
				o.Dialog, o.Text = d.Hash, choice
			}
			return a.order(cmd, o, f)
		},
	}
	f.add(c)
	f.addInstance(c)
	c.Flags().StringVar(&hash, "dialog", "", "only the dialog with this `HASH`")
	return c
}

// drawing is how long an agent that asks may take to draw what it asks: its hooks tell of it
// before its screen does.
const drawing = 5 * time.Second

// drawn looks at an agent until it shows a dialog, for so long at most, while one may come.
func drawn(ctx context.Context, wait time.Duration, may func(api.AgentDetail) bool, look func(context.Context) (api.AgentDetail, error)) (api.AgentDetail, error) {
	for until := time.Now().Add(wait); ; {
		v, err := look(ctx)
		if err != nil || v.Dialog != nil {
			return v, err
		}
		if !may(v) || !time.Now().Add(pollAgent).Before(until) {
			return v, nil
		}
		if err := sleep(ctx, pollAgent); err != nil {
			return v, err
		}
	}
}

// isAsking says whether an agent shows that it asks something.
func isAsking(v api.AgentDetail) bool { return v.Agent.State == "waiting" || v.Agent.State == "dialog" }

// mayAsk says whether an agent may come to show a dialog: one that was asked for, any that runs,
// else one that asks. One look may not have seen it, as on a busy machine.
func mayAsk(asked bool) func(api.AgentDetail) bool {
	return func(v api.AgentDetail) bool {
		return v.Agent.State == "unknown" || v.Agent.PID != 0 && (asked || isAsking(v))
	}
}

// beginsToAsk says whether an agent asks since a moment ago only, so that the look which reads
// its dialog is to come.
func beginsToAsk(v api.AgentDetail) bool {
	since, err := time.ParseDuration(v.Agent.Since)
	return err == nil && isAsking(v) && v.Agent.PID != 0 && v.Dialog == nil && since < 2*drawing
}

// dialog finds the dialog an agent shows now, and which of its choices is meant: by its name, or by what
// it says.
func (a *app) dialog(cmd *cobra.Command, name, choice string, f orderFlags) (api.AgentDialog, string, error) {
	wait, err := waitOf(f.wait)
	if err != nil {
		return api.AgentDialog{}, "", err
	}
	asked := cmd.Flags().Changed("wait")
	if !asked {
		wait = drawing
	}
	v, err := drawn(cmd.Context(), wait, mayAsk(asked), func(ctx context.Context) (api.AgentDetail, error) { return a.agent(ctx, name) })
	if err != nil {
		return api.AgentDialog{}, "", err
	}
	if v.Dialog == nil {
		return api.AgentDialog{}, "", &api.Error{Kind: api.BadInput, Message: "cannot answer " + flat(name) + ": it shows no dialog that can be read", Hint: shell([]string{"custos", "peek", name})}
	}
	means, err := choiceOf(v.Dialog.Choices, choice)
	if err != nil || a.json {
		return *v.Dialog, means, err
	}
	p := a.page()
	writeDialog(p, *v.Dialog)
	return *v.Dialog, means, p.flush()
}

// choiceOf is the name of the choice that a word means: its name, else what just one says.
func choiceOf(choices []api.AgentChoice, word string) (name string, err error) {
	var names, says []string
	for _, c := range choices {
		if c.Name == word {
			return c.Name, nil
		}
		if strings.EqualFold(c.Label, word) {
			says = append(says, c.Name)
		}
		if strings.EqualFold(c.Label, c.Name) {
			c.Label = ""
		}
		names = append(names, flat(strings.TrimSpace(c.Name+" "+c.Label)))
	}
	if len(says) == 1 {
		return says[0], nil
	}
	return "", usage("cannot answer %q: the choices are %s", flat(word), strings.Join(names, ", "))
}
