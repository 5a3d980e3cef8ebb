package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

// pollAgent is how often wait looks.
const pollAgent = 250 * time.Millisecond

func (a *app) waitCommand() *cobra.Command {
	var states []string
	timeout := "10m"
	c := &cobra.Command{
		Use:   "wait NAME --for STATE",
		Short: "Wait until an agent is in a state",
		Long: strings.Join(wrap(`wait returns when an agent is in one of the states: `+strings.Join(api.AgentStates(), ", ")+
			`; or "gone", when nothing of it runs any more. After --timeout it gives up, with exit code 3.`, 80), "\n"),
		Example: "  custos wait builder --for idle\n  custos wait builder --for finished,crashed --timeout 2h",
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := waitFor(states, timeout)
			if err != nil {
				return err
			}
			d, err := a.waitUntil(cmd.Context(), args[0], states, limit)
			if err != nil {
				return err
			}
			return a.show(d.Agent, func(p *page) {
				p.line("%s is %s: %s", flat(d.Agent.Name), p.state(flat(d.Agent.State)), flat(d.Agent.Reason))
			})
		},
	}
	c.Flags().StringSliceVar(&states, "for", nil, "the `STATE`, or several")
	c.Flags().StringVar(&timeout, "timeout", timeout, "the longest `DURATION` to wait")
	return c
}

// waitFor reads the flags.
func waitFor(states []string, timeout string) (time.Duration, error) {
	known := append(api.AgentStates(), "gone")
	if len(states) == 0 {
		return 0, usage("cannot wait: name a state with --for: %s", strings.Join(known, ", "))
	}
	for _, s := range states {
		if !slices.Contains(known, s) {
			return 0, usage("cannot wait for %q: the states are %s", flat(s), strings.Join(known, ", "))
		}
	}
	d, err := config.Duration(timeout)
	if err != nil {
		return 0, usage("cannot read --timeout: %v", err)
	}
	return d, nil
}

func (a *app) waitUntil(ctx context.Context, name string, states []string, limit time.Duration) (api.AgentDetail, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+patience)
	defer cancel()
	c, closer, err := a.client(ctx)
	if err != nil {
		return api.AgentDetail{}, err
	}
	defer closer()
	at := a.progress("waiting")
	defer at.end()
	for until := time.Now().Add(limit); ; {
		d, err := c.Agent(ctx, name)
		if err != nil || isIn(d, states) {
			return d, err
		}
		at.now("waiting: " + flat(d.Agent.Name) + " is " + flat(d.Agent.State))
		if !time.Now().Add(pollAgent).Before(until) {
			return d, &api.Error{Kind: api.CannotLook, Hint: shell([]string{"custos", "why", name}),
				Message: fmt.Sprintf("cannot wait any longer: after %s %s is %s: %s", limit, flat(name), flat(d.Agent.State), flat(d.Agent.Reason))}
		}
		if err := sleep(ctx, pollAgent); err != nil {
			return d, err
		}
	}
}

func isIn(d api.AgentDetail, states []string) bool {
	gone := slices.Contains([]string{"crashed", "finished", "stopped"}, d.Agent.State) && d.Agent.PID == 0
	return slices.Contains(states, d.Agent.State) || gone && slices.Contains(states, "gone")
}
