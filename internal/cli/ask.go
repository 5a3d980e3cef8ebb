package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

const (
	knock    = time.Second      // to reach the daemon's socket
	rising   = 2 * time.Second  // for a daemon that was just started to answer
	patience = 2 * time.Minute  // for an answer
	labour   = 30 * time.Minute // for a patrol, which waits for what it does
)

// ask puts a question to the daemon, or in this very process when there is none,
// and prints the answer with write, or as JSON.
func ask[T any](ctx context.Context, a *app, wait time.Duration, question func(context.Context, *api.Client) (T, error), write func(*page, T)) (T, error) {
	v, err := put(ctx, a, wait, question)
	if err != nil {
		return v, err
	}
	return v, a.show(v, func(p *page) { write(p, v) })
}

// put puts a question as ask does, and prints nothing.
func put[T any](ctx context.Context, a *app, wait time.Duration, question func(context.Context, *api.Client) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	l, err := a.listener(ctx)
	if err != nil {
		var zero T
		return zero, err
	}
	defer func() { l.close() }()
	doing := "looking"
	if wait == labour {
		doing = "at work"
	}
	defer a.progress(doing).end()
	return answer(ctx, l, a.goesOn, question)
}

// isKind says whether an error is one of these kinds of the API.
func isKind(err error, kinds ...string) bool {
	var e *api.Error
	return errors.As(err, &e) && slices.Contains(kinds, e.Kind)
}

// client finds who answers: the daemon at its socket, else the handlers of this
// process.
func (a *app) client(ctx context.Context) (*api.Client, func(), error) {
	l, err := a.listener(ctx)
	if err != nil {
		return nil, nil, err
	}
	return l.c, l.close, nil
}

// localError keeps what says itself what it is; anything else kept Custos from
// looking.
func localError(err error) error {
	var mistake *config.Mistake
	var said *api.Error
	if errors.As(err, &mistake) || errors.As(err, &said) {
		return err
	}
	return &api.Error{Kind: api.CannotLook, Message: err.Error()}
}

// reach finds the daemon, and that it answers. One that was just started has the
// lock before it has the socket: it is waited for, or a question would be answered as
// if there were none, and an order refused because another one writes.
func (a *app) reach(ctx context.Context) (*api.Client, error) {
	if a.host != nil {
		return a.host.Reach(ctx, a.whoAsks)
	}
	if a.mute != "" && a.runs() {
		return nil, &api.Error{Kind: api.Unreachable, Message: a.mute, Hint: "custos health"}
	}
	c, err := a.rise(ctx)
	if err == nil {
		if err = a.hello(ctx, c); err == nil {
			return a.attended(c), nil
		}
		c.Close()
	}
	a.unanswered(ctx, err)
	return nil, err
}

// hello has the daemon say that it is there, which it does from memory: a daemon that
// hangs is found out before anything is asked of it that takes time.
func (a *app) hello(ctx context.Context, c *api.Client) error {
	within, cancel := context.WithTimeout(ctx, feel)
	defer cancel()
	_, err := c.Health(within, 0)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return &api.Error{Kind: api.Unreachable, Message: "cannot ask the daemon: it does not answer within " + feel.String(), Hint: "custos health"}
	}
	if isKind(err, api.Unreachable) {
		return err
	}
	return nil // whatever it says, it lives
}

// attended has a brake find out that the daemon hangs, though it began to answer: there
// is another way then.
func (a *app) attended(c *api.Client) *api.Client {
	if !a.brakes {
		return c
	}
	return c.Attended(func(ctx context.Context) error {
		if err := a.left(); err != nil {
			return err
		}
		err := a.hello(ctx, c)
		a.unanswered(ctx, err)
		return err
	})
}

// unanswered says once why the daemon there is is not asked.
func (a *app) unanswered(ctx context.Context, err error) {
	var e *api.Error
	if a.mute != "" || ctx.Err() != nil || !errors.As(err, &e) || e.Kind != api.Impostor && !a.runs() {
		return
	}
	a.mute = "a daemon runs" + a.holder() + ", and does not answer"
	if e.Kind == api.Impostor {
		a.mute = e.Message
	}
	a.complain(a.mute+": this goes on without it", "")
}

// isImpostor says whether a process listens that is no Custos.
func isImpostor(err error) bool { return isKind(err, api.Impostor) }

// holder names the process of the daemon, where it is known.
func (a *app) holder() string {
	conf, err := a.config()
	if err != nil || a.Daemon.Holder == nil {
		return ""
	}
	if pid := a.Daemon.Holder(conf); pid != 0 {
		return fmt.Sprintf(" (process %d)", pid)
	}
	return ""
}

// rise dials the daemon, and waits for one that was just started.
func (a *app) rise(ctx context.Context) (*api.Client, error) {
	c, err := a.dial(ctx)
	if err == nil || isImpostor(err) || !a.runs() {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, rising)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
		if c, err = a.dial(ctx); err == nil || !a.runs() {
			return c, err
		}
	}
}

// runs says whether there is a daemon, though it may not answer.
func (a *app) runs() bool {
	conf, err := a.config()
	return err == nil && a.Daemon.Runs(conf)
}

// untold is why it is not known whether there is a daemon; "" when it is.
func (a *app) untold() string {
	conf, err := a.config()
	if err != nil || a.Daemon.Untold == nil {
		return ""
	}
	return a.Daemon.Untold(conf)
}

func (a *app) dial(ctx context.Context) (*api.Client, error) {
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, knock)
	defer cancel()
	if a.Daemon.Verify == nil {
		return api.Dial(ctx, a.Daemon.Socket(conf))
	}
	return api.Dial(ctx, a.Daemon.Socket(conf), func(conn net.Conn) error { return a.Daemon.Verify(conf, conn) })
}

// show prints an answer in words, or as JSON.
func (a *app) show(v any, write func(*page)) error {
	if a.json {
		return a.print(v)
	}
	p := a.page()
	write(p)
	return p.flush()
}

// print writes v as indented JSON.
func (a *app) print(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write JSON: %w", err)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s\n", addressed(a.flags(), a.host != nil, b))
	return err
}

// say asks, for who needs nothing of the answer but to see it.
func say[T any](ctx context.Context, a *app, wait time.Duration, question func(context.Context, *api.Client) (T, error), write func(*page, T)) error {
	_, err := ask(ctx, a, wait, question, write)
	return err
}

// asks is what a command does that puts one question, of its arguments.
func asks[T any](a *app, question func(context.Context, *api.Client, []string) (T, error), write func(*page, T)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (T, error) { return question(ctx, c, args) }, write)
	}
}

// asksFor is that of a command without arguments.
func asksFor[T any](a *app, question func(*api.Client, context.Context) (T, error), write func(*page, T)) func(*cobra.Command, []string) error {
	return asks(a, func(ctx context.Context, c *api.Client, _ []string) (T, error) { return question(c, ctx) }, write)
}

// only is the one argument of a command that may have one; "" where it was not given.
func only(args []string) string { return strings.Join(args, "") }

// asksOne is that of a command about the one thing that it names.
func asksOne[T any](a *app, question func(*api.Client, context.Context, string) (T, error), write func(*page, T)) func(*cobra.Command, []string) error {
	return asks(a, func(ctx context.Context, c *api.Client, args []string) (T, error) { return question(c, ctx, args[0]) }, write)
}
