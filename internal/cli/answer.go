package cli

import (
	"strings"

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
custos show NAME lists them. It goes to that very dialog: when another one stands
there at the instant of answering, nothing is pressed. With --dialog it is the one
with this hash; without, the one that is there now, which is shown.`,
		Example: "  custos answer builder yes\n  custos answer builder no --dialog 3f2a9c",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := api.OrderRequest{Do: "answer", Agent: args[0], Text: args[1], Dialog: hash}
			if hash == "" {
				d, err := a.dialog(cmd, args[0], args[1])
				if err != nil {
					return err
				}
				o.Dialog = d.Hash
			}
			return a.order(cmd, o, f)
		},
	}
	f.add(c)
	c.Flags().StringVar(&hash, "dialog", "", "only the dialog with this `HASH`")
	return c
}

// dialog finds the dialog an agent shows now, and checks that it has the choice.
func (a *app) dialog(cmd *cobra.Command, name, choice string) (api.AgentDialog, error) {
	v, err := a.agent(cmd.Context(), name)
	if err != nil {
		return api.AgentDialog{}, err
	}
	if v.Dialog == nil {
		return api.AgentDialog{}, &api.Error{Kind: api.BadInput, Message: "cannot answer " + flat(name) + ": it shows no dialog that can be read", Hint: shell([]string{"custos", "peek", name})}
	}
	var names []string
	for _, ch := range v.Dialog.Choices {
		if ch.Name == choice {
			if !a.json {
				p := a.page()
				writeDialog(p, *v.Dialog)
				return *v.Dialog, p.flush()
			}
			return *v.Dialog, nil
		}
		names = append(names, flat(ch.Name))
	}
	return api.AgentDialog{}, usage("cannot answer %q: the choices are %s", flat(choice), strings.Join(names, ", "))
}
