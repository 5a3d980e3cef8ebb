package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) attachCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "attach NAME",
		Example: "  custos attach builder",
		Short:   "Go to the terminal of an agent",
		Long: `attach becomes the tmux that shows an agent's terminal, when it is typed on a
terminal itself; otherwise it prints the command, and so it does with --json.
Detach with Ctrl-b d: the agent runs on. Inside tmux it switches to the agent's
session when that is on the same server; an agent on another server is never shown
inside of yours: attach then says how to get there.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.attachable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			argv := d.Attach
			if a.json {
				return a.print(map[string][]string{"attach": argv})
			}
			if a.Exec != nil {
				argv, err := insideTmux(a.Getenv("TMUX"), d)
				if err != nil {
					return err
				}
				return a.Exec(argv)
			}
			p := a.page()
			p.line("%s", clean(shell(argv)))
			return p.flush()
		},
	}
}

// attachable finds an agent that has a terminal. That of another machine is shown there.
func (a *app) attachable(ctx context.Context, name string) (api.AgentDetail, error) {
	d, err := a.agent(ctx, name)
	if err == nil {
		err = unattachable(name, d)
	}
	if err != nil || a.host == nil {
		return d, err
	}
	d.Agent.Socket = "" // of that machine: here it is nothing
	d.Attach, err = a.host.Attach(name)
	return d, err
}

// agent is everything known about one agent.
func (a *app) agent(ctx context.Context, name string) (api.AgentDetail, error) {
	return put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.AgentDetail, error) { return c.Agent(ctx, name) })
}

// unattachable says why there is no terminal to go to; nil when there is one.
func unattachable(name string, d api.AgentDetail) error {
	says, hint := "it has no terminal that is seen", []string{"custos", "peek", name}
	switch pid := d.TerminalStopped; {
	case pid != 0:
		says, hint = fmt.Sprintf("its terminal server (process %d) is stopped by a signal", pid), []string{"kill", "-CONT", strconv.Itoa(pid)}
	case len(d.Attach) > 0:
		return nil
	}
	return &api.Error{Kind: api.BadInput, Message: "cannot attach to " + flat(name) + ": " + says, Hint: shell(hint)}
}

// insideTmux turns the command that shows an agent into the one that does so from
// where it is typed: TMUX is "socket,pid,session" inside of tmux. A tmux that is
// shown inside another takes the keys of neither.
func insideTmux(tmux string, d api.AgentDetail) ([]string, error) {
	socket, _, _ := strings.Cut(tmux, ",")
	at := slices.Index(d.Attach, "attach")
	switch {
	case socket == "" || at < 0:
		return d.Attach, nil
	case sameFile(socket, d.Agent.Socket):
		argv := slices.Clone(d.Attach)
		argv[at] = "switch-client"
		return argv, nil
	}
	name := flat(d.Agent.Name)
	return nil, &api.Error{Kind: api.BadInput,
		Message: "cannot attach to " + name + " inside this tmux: its terminal is on another tmux server; open a terminal outside of tmux, or leave this one for it",
		Hint:    shell([]string{"tmux", "detach-client", "-E", "exec " + shell(d.Attach)})}
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || errX == nil && errY == nil && os.SameFile(x, y)
}

// become replaces this process by another program.
func become(argv []string) error {
	file, err := exec.LookPath(argv[0])
	if err != nil {
		return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot attach: %v", err)}
	}
	return fmt.Errorf("cannot attach: %w", syscall.Exec(file, argv, os.Environ()))
}
