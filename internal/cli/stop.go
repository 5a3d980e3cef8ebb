package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

func (a *app) stopCommand() *cobra.Command {
	f := orderFlags{held: true}
	var all bool
	var why string
	c := a.brake(&cobra.Command{
		Use:   "stop NAME | --all",
		Short: "Stop an agent, and leave nothing of it running",
		Long: `stop ends an agent of ours: it is asked to end, then interrupted, then its whole
tree is asked to end, then killed, and it is verified that nothing is left. Its
work stays where it is. It stays stopped until a person starts it again.
Another agent that was begun from within it runs on, and so do sessions of people
on a tmux server that it began: all that a person ever looked at, or that were made
outside its folder. What another user runs and you may not end (sudo -b) runs on, too.
What is left alone is said, with what ends it.

--all stops every agent of ours that runs, those deepest below their parents
first, and before them those that are to run and do not: one that has crashed is not
recovered, and one whose start waits is not started.

Where no order can be given, because the daemon hangs or nothing can be written,
this command ends the agent itself, in the same way, and says so.`,
		Example: "  custos stop builder --why 'wrong branch'\n  custos stop --all",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.instance != "" && !all && len(args) == 1: // who ends it without the daemon asks for no instance
				return a.order(cmd, api.OrderRequest{Do: "stop", Agent: args[0], Text: why}, f)
			case all && len(args) == 0 && f.instance == "":
				return a.orDirectly(cmd.Context(), "", why, func() error { return a.stopAll(cmd, why, f) })
			case !all && len(args) == 1:
				return a.orDirectly(cmd.Context(), args[0], why, func() error {
					return a.order(cmd, api.OrderRequest{Do: "stop", Agent: args[0], Text: why}, f)
				})
			}
			return &api.Error{Kind: api.BadInput, Message: "cannot stop: name an agent, or all with --all", Hint: "custos ps"}
		},
	})
	f.add(c)
	f.addInstance(c)
	c.Flags().BoolVar(&all, "all", false, "every agent of ours that runs or is to run, the deepest first")
	c.Flags().StringVar(&why, "why", "", "the `REASON`, for the record")
	return c
}

// orDirectly gives the order; where a daemon hangs, or the order cannot be taken for
// a reason that is not the order's own, this process ends the agent.
func (a *app) orDirectly(ctx context.Context, agent, why string, order func() error) error {
	conf, err := a.config()
	if err != nil {
		return err
	}
	if a.Daemon.Stop != nil && a.hasLostSight(ctx) {
		return a.stopForgotten(ctx, conf, agent, why, order)
	}
	if a.mute == "" || !a.runs() {
		cause := order()
		if cause == nil || ctx.Err() != nil || a.Daemon.Stop == nil {
			return cause
		}
		if a.hasLostSight(ctx) { // since it was asked first
			return a.stopForgotten(ctx, conf, agent, why, order)
		}
		if !isBroken(cause) && !a.isSightless(cause) {
			return cause
		}
		a.complain(notGiven(cause), "")
		return a.stopDirectly(ctx, conf, agent, why, cause)
	}
	return a.stopDirectly(ctx, conf, agent, why, nil)
}

// stopDirectly ends the agent itself. Where none runs whose order may have been taken, that
// is all there is to say.
func (a *app) stopDirectly(ctx context.Context, conf config.Config, agent, why string, cause error) error {
	at := a.progress("stopping")
	how, err := a.Daemon.Stop(ctx, conf, agent, a.user(), why)
	at.end()
	switch {
	case isLost(cause) && isNotFound(err):
		return cause
	case agent != "" && isNotFound(err):
		return a.stoppedBefore(conf, agent)
	}
	if err != nil {
		return localError(err)
	}
	return a.showStopped(agent, how, "")
}

// stoppedBefore says of an agent that does not run whether it stays so: by the note of who
// stopped it that lies beside its shim's record, which the next daemon reads.
func (a *app) stoppedBefore(conf config.Config, agent string) error {
	if a.Daemon.StoppedBy == nil {
		return unheld(agent)
	}
	by := a.Daemon.StoppedBy(conf, agent)
	if by == "" {
		return unheld(agent)
	}
	how := agent + ": it is stopped already, by " + by + ", and stays so"
	return a.show(map[string]any{"stopped": agent, "all": false, "how": how}, func(p *page) { p.text(0, flat(how)) })
}

// unheld says of an agent that does not run, and whose stop could not be written down, that
// nothing keeps it stopped.
func unheld(agent string) error {
	return &api.Error{Kind: api.CannotLook, Hint: "custos freeze",
		Message: fmt.Sprintf("cannot stop %s: no agent of that name runs now, and that it is to stay stopped could not be written down: freeze Custos, or it may start it again", flat(agent))}
}

// stopForgotten ends what the ledger has forgotten, and shims of ours have started; an
// order is given where that is not all that was asked for, or nothing of it runs.
func (a *app) stopForgotten(ctx context.Context, conf config.Config, agent, why string, order func() error) error {
	at := a.progress("stopping")
	how, err := a.Daemon.Stop(ctx, conf, agent, a.user(), why)
	at.end()
	if isNotFound(err) {
		return order()
	}
	if err != nil {
		return localError(err)
	}
	err = a.showStopped(agent, how, "What was known of agents is lost: the records of the shims that started them said what to stop.")
	if err != nil || agent != "" {
		return err
	}
	return order() // those of which there are new records
}

func (a *app) showStopped(agent, how, note string) error {
	return a.show(map[string]any{"stopped": agent, "all": agent == "", "how": how}, func(p *page) {
		for _, one := range strings.Split(how, "\n") {
			p.text(0, "Stopped without an order: "+one)
		}
		if note != "" {
			p.text(0, note)
		}
	})
}

// hasLostSight says whether the ledger has forgotten who is ours. It finds out, too,
// whether there is a daemon that does not answer.
func (a *app) hasLostSight(ctx context.Context) bool {
	c, closer, err := a.client(ctx)
	if err != nil {
		return false
	}
	defer closer()
	ctx, cancel := context.WithTimeout(ctx, feel)
	defer cancel()
	s, err := c.Status(ctx)
	return err == nil && s.Amnesia
}

// notGiven says why an agent is ended without an order.
func notGiven(cause error) string {
	if isLost(cause) {
		return cause.Error()
	}
	return "no order could be given: " + cause.Error()
}

// isSightless says whether an order was refused because no agent can be seen without what
// the ledger knows. Who asks is then told by who began this process (Daemon.Stop). Where a
// daemon runs it is asked again: its next look may see.
func (a *app) isSightless(err error) bool {
	return isKind(err, api.Unseen) && !a.runs()
}

func isNotFound(err error) bool { return isKind(err, api.NotFound) }

// isBroken says whether an order came to nothing through no fault of its own.
func isBroken(err error) bool {
	return isKind(err, api.Internal, api.CannotLook, api.Unreachable, api.Lost, api.Held)
}

// stopAll stops one level of the tree of parents after the other, the deepest
// first: an agent may not miss its child and start it again.
func (a *app) stopAll(cmd *cobra.Command, why string, f orderFlags) error {
	levels, err := a.levels(cmd.Context())
	if err != nil {
		return notOrdered(err)
	}
	stopped := []api.Order{}
	for _, names := range levels {
		list := make([]api.OrderRequest, 0, len(names))
		for _, name := range names {
			list = append(list, api.OrderRequest{Do: "stop", Agent: name, Text: why})
		}
		took, err := a.give(cmd, list, f)
		stopped = append(stopped, took...)
		if err != nil {
			return err
		}
	}
	err = a.show(map[string][]api.Order{"orders": stopped}, func(p *page) {
		for _, o := range stopped {
			o.Next = nil
			writeOrder(p, o)
		}
		if len(stopped) == 0 {
			p.line("No agent of ours runs, and none is to run.")
		}
	})
	if err != nil {
		return err
	}
	return cameToNothing(stopped)
}

// levels lists the agents of ours that run, those of the greatest depth first, and before
// all of these the ones that are to run and do not: the room that one leaves starts another.
func (a *app) levels(ctx context.Context) ([][]string, error) {
	v, err := put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.Agents, error) { return c.Agents(ctx) })
	if err != nil {
		return nil, err
	}
	if v.Seen.Status != "ok" && v.Seen.Status != "stale" && v.Seen.Status != "absent" {
		return nil, &api.Error{Kind: api.CannotLook, Message: "cannot tell which agents run: agents " + flat(v.Seen.Status+", "+v.Seen.Why), Hint: "custos status"}
	}
	byDepth := map[int][]string{}
	deepest := 0
	for _, g := range v.Agents {
		if ours(g) && runs(g) {
			byDepth[g.Depth] = append(byDepth[g.Depth], g.Name)
			deepest = max(deepest, g.Depth)
		}
	}
	var out [][]string
	for d := deepest; d >= 0; d-- {
		names := byDepth[d]
		slices.Sort(names)
		if d == deepest { // which do not wait for the others' ends
			names = append(toRun(v), names...)
		}
		if len(names) > 0 {
			out = append(out, names)
		}
	}
	return out, nil
}

// toRun lists the agents of ours that do not run and may yet be started without another
// word of a person: those that are wanted and did not end well, and those whose start waits.
func toRun(v api.Agents) []string {
	var out []string
	known := map[string]bool{} // they run, or are not ours
	for _, g := range v.Agents {
		known[g.Name] = !ours(g) || runs(g)
		wanted := g.Desired == "running" && g.State != "finished" || g.Desired == "paused" || slices.Contains(v.Kept, g.Name)
		if wanted && !known[g.Name] {
			out = append(out, g.Name)
		}
	}
	for _, w := range v.Pending {
		if starts := w.What == "spawn" || w.What == "start" || w.What == "recover"; starts && !known[w.Agent] {
			out = append(out, w.Agent)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func ours(g api.AgentRow) bool { return g.Owner == "custos" || g.Owner == "adopted" }

// runs says whether something of the agent is there that can be stopped: an
// agent that is being started has no process yet, a zombie has its pane, and one that has
// ended may have left something running.
func runs(g api.AgentRow) bool {
	return g.PID != 0 || g.State == "starting" || g.State == "zombie" || g.Left != ""
}
