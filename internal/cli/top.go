package cli

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/client"
	"custos/internal/config"
	"custos/internal/remote"
	"custos/internal/top"
)

func (a *app) topCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "top",
		Example: "  custos top",
		Short:   "A live screen: who needs you, what every agent does; go there with one key",
		Long: `top shows what needs you and what every agent does, and goes on showing it: custos help top.md
has its keys, and so has the key ?. With a daemon it is a second old at most; without
one this program looks by itself, more seldom. Where there is no terminal, or TERM is
dumb, it prints what custos status prints.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json || a.Exec == nil || a.Getenv("TERM") == "dumb" {
				return a.statusInstead(cmd, args)
			}
			o, err := a.screen(cmd.Context())
			if err != nil {
				return err
			}
			open, err := top.Run(cmd.Context(), o, tea.WithInput(a.Stdin), tea.WithOutput(a.Stdout), tea.WithoutSignalHandler())
			for _, o := range open {
				a.complain(o, "custos orders")
			}
			return err
		},
	}
}

// statusInstead is for who cannot see a screen.
func (a *app) statusInstead(cmd *cobra.Command, args []string) error {
	if !a.json && !a.isBlind() {
		a.complain("this is no terminal for a screen: what follows is custos status", "")
	}
	return a.wholeStatus(cmd, args)
}

// screen is what top is given: who is asked, on this machine and on the others until ctx ends,
// and in which words it tells.
func (a *app) screen(ctx context.Context) (top.Options, error) {
	list, err := a.hosts()
	if err != nil {
		return top.Options{}, err
	}
	if a.isBlind() && len(list) == 0 {
		return top.Options{}, client.Error()
	}
	o := a.screenHere()
	if len(list) > 0 && a.host == nil {
		all := func() []remote.Host { list, _ := a.hosts(); return list } // which was read before
		o = a.screenOfAll(o, remote.NewWatch(ctx, all, a.whoAsks, func() {}))
	}
	return o, nil
}

// screenOfAll has a screen of this machine show the others, too.
func (a *app) screenOfAll(here top.Options, w *remote.Watch) top.Options {
	o := here
	o.Hosts = w.Looks
	o.Ask = func(ctx context.Context, host string) (*api.Client, func(), error) {
		if host == "" {
			return here.Ask(ctx, host)
		}
		c, ok := w.Client(host)
		if !ok {
			return nil, nil, usage("cannot find host %q", flat(host))
		}
		return c, func() {}, nil
	}
	return o
}

// screenHere is that of one machine: this one, or the one that was named.
func (a *app) screenHere() top.Options {
	var met atomic.Bool
	return top.Options{
		Ask: func(ctx context.Context, _ string) (*api.Client, func(), error) {
			return a.quiet().forScreen(ctx, &met)
		},
		Watch: func(ctx context.Context, changed func()) error { return a.quiet().watch(ctx, changed) },
		Goto:  func(ctx context.Context, host, name string) (*exec.Cmd, error) { return a.goTo(ctx, host, name) },
		Words: top.Words{
			Tokens: api.Tokens, Dollars: api.Dollars, Order: orderWords,
			Story: func(s api.Story, wide int) string { return a.written(wide, func(p *page) { writeStory(p, s) }) },
			Offer: func(o api.Offer, wide int) string { return a.written(wide, func(p *page) { writeOffer(p, o) }) },
			Duration: func(s string) (time.Duration, error) {
				d, err := config.Duration(s)
				if err != nil {
					err = usage("cannot read for how long: %v", err)
				}
				return d, err
			},
			Command: func(s string) string { return a.page().proposed(s) },
			Error: func(host string, err error) (string, string) {
				_, e := classify(err)
				if h, _ := a.hostNamed(host); host != "" && e.Hint != "" && !h.IsWay(e.Hint) {
					e = &api.Error{Kind: e.Kind, Message: e.Message, Hint: api.CommandOn(host, e.Hint)}
				}
				return e.Message, a.wayOut(e.Hint)
			},
		},
		Colour: a.page().colour,
		Home:   a.home(),
	}
}

// quiet is for one question of a screen: nothing but the screen is written, and what was
// found out of the daemon before does not count.
func (a *app) quiet() *app {
	b := &app{Env: a.Env, file: a.file, host: a.host, conf: a.conf, interrupted: a.interrupted}
	b.Stderr, b.Stdout, b.Progress = io.Discard, io.Discard, false
	return b
}

// forScreen finds who answers. Where a daemon answered before, nobody stands in for it:
// what is shown is old until it is back.
func (a *app) forScreen(ctx context.Context, met *atomic.Bool) (*api.Client, func(), error) {
	if met.Load() {
		c, err := a.rise(ctx)
		if err != nil {
			return nil, nil, err
		}
		return c.Attended(func(context.Context) error { return a.left() }), c.Close, nil
	}
	l, err := a.listener(ctx)
	if err != nil {
		return nil, nil, err
	}
	met.Store(l.daemon)
	return l.present(), l.close, nil
}

// watch follows what a daemon says of changes. Where there is none, that is the error.
func (a *app) watch(ctx context.Context, changed func()) error {
	c, err := a.reach(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Changes(ctx, func(int64) error { changed(); return nil })
}

// goTo is the command that shows the terminal of an agent, on whichever machine.
func (a *app) goTo(ctx context.Context, host, name string) (*exec.Cmd, error) {
	b := a.quiet()
	if host != "" {
		h, err := b.hostNamed(host)
		if err != nil {
			return nil, err
		}
		b.host = &h
	}
	return b.way(ctx, name)
}

// way is the command that shows an agent's terminal from here.
func (a *app) way(ctx context.Context, name string) (*exec.Cmd, error) {
	d, err := a.attachable(ctx, name)
	if err != nil {
		return nil, err
	}
	argv := a.fromHere(ctx, d)
	return exec.Command(argv[0], argv[1:]...), nil
}

// written is what a command writes of an answer, without colours, so wide.
func (a *app) written(wide int, write func(*page)) string {
	var out bytes.Buffer
	p := &page{out: &out, width: max(wide, narrowest), home: a.home(), flags: a.flags(), foreign: a.host != nil}
	write(p)
	_ = p.flush() // to memory
	return out.String()
}

// writeOffer is what an approval would begin, or why that is nothing.
func writeOffer(p *page, o api.Offer) {
	if o.Refused != "" {
		p.text(0, "Nothing may be done, even with your approval: "+flat(o.Refused))
	}
	for _, d := range o.Deeds {
		writeDeed(p, d, o.At)
	}
}

// orderWords is what became of an order, in one sentence.
func orderWords(o api.Order) string {
	if o.Over && o.State != "done" {
		return failureOf(o)
	}
	return orderLine(o)
}
