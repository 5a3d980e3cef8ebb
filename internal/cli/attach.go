package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

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
Detach with Ctrl-b d: the agent runs on. In a pane of your own tmux it switches to the
agent's session when that is on the same server; one of another server is shown in that
pane, whose own tmux takes the first Ctrl-b: Ctrl-b Ctrl-b d leads back. It says which.`,
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
				return a.Exec(a.fromHere(cmd.Context(), d))
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

// fromHere is the command that shows an agent from where this program runs.
func (a *app) fromHere(ctx context.Context, d api.AgentDetail) []string {
	return fromTmux(a.Getenv("TMUX"), a.Getenv("TMUX_PANE"), d, prefixOf(ctx))
}

// fromTmux turns the command that shows an agent into the one that does so from where it is
// typed: TMUX is "socket,pid,session" inside of tmux, and there is no pane in a window above all
// others, which stays when its client is switched. A tmux with TMUX set refuses to be shown.
func fromTmux(tmux, pane string, d api.AgentDetail, prefix func(tmux []string) string) []string {
	socket, _, _ := strings.Cut(tmux, ",")
	at := slices.Index(d.Attach, "attach")
	switch {
	case socket == "" || at < 0 || d.Attach[0] != "tmux":
		return d.Attach
	case pane != "" && sameFile(socket, d.Agent.Socket):
		argv := slices.Clone(d.Attach)
		argv[at] = "switch-client"
		return argv
	}
	theirs, outer := prefix(d.Attach[:at]), ""
	if pane != "" { // a window above all others leaves every key to what it shows
		outer = prefix([]string{"tmux", "-S", socket})
	}
	return nested(d, wayBack(theirs, outer))
}

// nested shows an agent inside another tmux, and how to come back from there. A tmux before 3.2
// has no message that stays, and says nothing.
func nested(d api.AgentDetail, back string) []string {
	says := "display-message -d 8000 '" + back + " leads back; the agent runs on'"
	return append(append([]string{"env", "-u", "TMUX", "-u", "TMUX_PANE"}, d.Attach...), ";", "if-shell", "-F", "#{>=:#{version},3.2}", says)
}

// wayBack are the keys that leave an agent's tmux, when the one around it has such a prefix.
func wayBack(theirs, outer string) string {
	if theirs == outer {
		return theirs + " " + theirs + " d"
	}
	return theirs + " d"
}

// prefixKey is what a tmux calls a key that can be said in its own language as it is.
var prefixKey = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// prefixOf asks a tmux for its prefix; one that does not answer has the usual one.
func prefixOf(ctx context.Context) func(tmux []string) string {
	return func(tmux []string) string {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		asks := append(append([]string{"-u", "TMUX"}, tmux...), "show-options", "-gv", "prefix")
		out, err := exec.CommandContext(ctx, "env", asks...).Output()
		if key := strings.TrimSpace(string(out)); err == nil && prefixKey.MatchString(key) {
			return key
		}
		return "C-b"
	}
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
