package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// told is what came of a question.
type told[T any] struct {
	v    T
	err  error
	at   time.Time
	took time.Duration
}

// asking is a command that puts one question to a machine ("" is this one), and makes a message
// of what came of it.
func asking[T any](o Options, host string, question func(context.Context, *api.Client) (T, error), message func(told[T]) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		began := time.Now()
		v, err := put(o, host, patience, question)
		now := time.Now()
		return message(told[T]{v, err, now, now.Sub(began)})
	}
}

// put puts one question, to who answers on a machine now.
func put[T any](o Options, host string, within time.Duration, question func(context.Context, *api.Client) (T, error)) (v T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c, done, err := o.Ask(ctx, host)
	if err != nil {
		return v, err
	}
	defer done()
	return question(ctx, c)
}

type lookMsg told[glance]

func (msg lookMsg) tell(m Model) (Model, tea.Cmd) {
	m.look.is(told[glance](msg))
	return m, nil
}

func (m Model) askLook() tea.Cmd {
	return asking(m.o, "", func(ctx context.Context, c *api.Client) (g glance, err error) {
		if g.look, err = c.FirstLook(ctx); err == nil {
			g.status, err = c.Status(ctx)
		}
		return g, err
	}, func(t told[glance]) tea.Msg { return lookMsg(t) })
}
