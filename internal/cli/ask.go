package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var zero T
	c, closer, err := a.client(ctx)
	if err != nil {
		return zero, err
	}
	defer closer()
	done := a.progress()
	v, err := question(ctx, c)
	done()
	if err != nil {
		return zero, err
	}
	return v, a.show(v, func(p *page) { write(p, v) })
}

// client finds who answers: the daemon at its socket, else the handlers of this
// process.
func (a *app) client(ctx context.Context) (*api.Client, func(), error) {
	conf, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	if c, err := a.reach(ctx); err == nil {
		return c, c.Close, nil
	}
	h, closer, err := a.Daemon.Local(ctx, conf)
	if err != nil {
		return nil, nil, localError(err)
	}
	return api.NewClient(api.InProcess(h)), func() {
		if err := closer(); err != nil {
			fmt.Fprintln(a.Stderr, "custos: "+clean(err.Error()))
		}
	}, nil
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

// reach dials the daemon. One that was just started has the lock before it has
// the socket: it is waited for, or a question would be answered as if there were
// none, and an order refused because another one writes.
func (a *app) reach(ctx context.Context) (*api.Client, error) {
	c, err := a.dial(ctx)
	if err == nil || !a.runs() {
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

func (a *app) dial(ctx context.Context) (*api.Client, error) {
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, knock)
	defer cancel()
	return api.Dial(ctx, a.Daemon.Socket(conf))
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
	_, err = fmt.Fprintf(a.Stdout, "%s\n", addressed(a.file, b))
	return err
}

// progress says on a terminal that something takes its time, after a second,
// and wipes it away when the returned function is called.
func (a *app) progress() func() {
	if !a.Progress {
		return func() {}
	}
	said := make(chan bool, 1)
	said <- false
	timer := time.AfterFunc(time.Second, func() {
		<-said
		fmt.Fprint(a.Stderr, "looking …")
		said <- true
	})
	return func() {
		timer.Stop()
		if <-said {
			fmt.Fprint(a.Stderr, "\r\x1b[K")
		}
	}
}
