package cli

import (
	"cmp"
	"context"
	"errors"

	"custos/internal/api"
)

// listener is who answers: the daemon, or this very process. When it is gone in the
// middle, it becomes the one that is there then.
type listener struct {
	a      *app
	c      *api.Client
	close  func()
	daemon bool // it is the daemon of this machine
}

// mostListeners is how many are asked one and the same thing, one after the other.
const mostListeners = 3

func (a *app) listener(ctx context.Context) (*listener, error) {
	l := &listener{a: a, close: func() {}}
	if err := l.change(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// change looks for who answers now.
func (l *listener) change(ctx context.Context) error {
	l.close()
	l.close = func() {}
	conf, err := l.a.config()
	if err != nil {
		return err
	}
	c, err := l.a.reach(ctx)
	if err == nil {
		l.c, l.close, l.daemon = c, c.Close, l.a.host == nil
		return nil
	}
	if lost := ctx.Err(); lost != nil || l.a.host != nil { // nobody stands in for another machine
		return cmp.Or(lost, err)
	}
	h, closer, err := l.a.local(ctx, conf)
	if err != nil {
		return localError(err)
	}
	l.c, l.daemon = api.NewClient(api.InProcess(h)), false
	l.close = func() {
		if err := closer(); err != nil {
			l.a.complain(err.Error(), "")
		}
	}
	return nil
}

// present is a client that gives a daemon up that is gone and leaves its place free: it
// is not waited for whether another one comes.
func (l *listener) present() *api.Client {
	if !l.daemon || l.a.brakes { // see attended
		return l.c
	}
	return l.c.Attended(func(context.Context) error { return l.a.left() })
}

// left says that a daemon that was reached is not there any more.
func (a *app) left() error {
	if a.runs() {
		return nil
	}
	return &api.Error{Kind: api.Unreachable, Message: "the daemon is gone", Hint: "custos up"}
}

// answer is the answer to a question, by the one there is: where again says so of an
// error, the next one is asked.
func answer[T any](ctx context.Context, l *listener, again func(error) bool, question func(context.Context, *api.Client) (T, error)) (T, error) {
	v, err := question(ctx, l.present())
	for lost, n := err, 1; n < mostListeners && again(err) && ctx.Err() == nil; n++ {
		if err = l.change(ctx); err == nil {
			v, err = question(ctx, l.present())
		}
		err = stillLost(lost, err)
	}
	return v, err
}

// stillLost is what a second asking came to. Where it was not answered either, what
// became of the first one is as little known as before.
func stillLost(first, err error) error {
	var e *api.Error
	if !isLost(first) || err == nil || isLost(err) || !isBroken(err) && !isImpostor(err) {
		return err
	}
	_ = errors.As(first, &e)
	still := *e
	still.Message += "; asked again: " + err.Error()
	return &still
}

// goesOn says whether what was asked is to be asked of the next one: nothing was done
// with it, or asking again does nothing twice.
func (a *app) goesOn(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) || a.host != nil {
		return false
	}
	switch e.Kind {
	case api.Held: // a daemon was started since none was found
		return a.runs()
	case api.Unreachable: // who was asked is gone, or hangs
		return a.mute == "" || a.runs()
	case api.Lost:
		return e.Again
	}
	return false
}

// isLost says whether what was asked may have been done, and its answer was lost.
func isLost(err error) bool { return isKind(err, api.Lost) }
