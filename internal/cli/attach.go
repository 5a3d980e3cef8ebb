package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) attachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "attach NAME",
		Short: "Go to the terminal of an agent",
		Long: `attach becomes the tmux that shows an agent's terminal, when it is typed on a
terminal itself; otherwise it prints the command, and so it does with --json.
Detach with Ctrl-b d: the agent runs on.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			argv, err := a.attachArgv(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.print(map[string][]string{"attach": argv})
			}
			if a.Exec != nil {
				return a.Exec(argv)
			}
			p := a.page()
			p.line("%s", clean(shell(argv)))
			return p.flush()
		},
	}
}

func (a *app) attachArgv(ctx context.Context, name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, closer, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	defer closer()
	d, err := c.Agent(ctx, name)
	if err == nil && len(d.Attach) == 0 {
		err = &api.Error{Kind: api.BadInput, Message: "cannot attach to " + flat(name) + ": it has no terminal that is seen", Hint: shell([]string{"custos", "peek", name})}
	}
	return d.Attach, err
}

// become replaces this process by another program. TMUX is taken away: tmux
// refuses to run inside itself, which a person may well want.
func become(argv []string) error {
	file, err := exec.LookPath(argv[0])
	if err != nil {
		return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot attach: %v", err)}
	}
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TMUX=") {
			env = append(env, e)
		}
	}
	return fmt.Errorf("cannot attach: %w", syscall.Exec(file, argv, env))
}
