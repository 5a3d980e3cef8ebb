package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"custos/internal/api"
)

// Answer is what one host answered, or why it did not.
type Answer[T any] struct {
	Host Host
	V    T
	Cut  string // why not all is in V; "": it is
	Err  error
}

// Each asks all hosts at once, and returns their answers in the order of the hosts. A silent
// one keeps nobody waiting for longer than the way to it may take, and an answer of its own.
func Each[T any](ctx context.Context, hosts []Host, who WhoAsks, ask func(context.Context, *api.Client) (T, error)) []Answer[T] {
	ctx, cancel := context.WithTimeout(ctx, answersWithin+time.Second)
	defer cancel()
	out := make([]Answer[T], len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			c := h.Client(who)
			defer c.Close()
			v, err := ask(ctx, c)
			out[i] = Answer[T]{Host: h, V: v, Err: err}
		})
	}
	all.Wait()
	return out
}

// Seen says how the hosts were seen; a silent one is unknown, and so is all that it has.
func Seen[T any](list []Answer[T]) (out []api.HostSeen) {
	for _, a := range list {
		s := api.HostSeen{Name: a.Host.Name, Status: "ok", Cut: a.Cut}
		switch {
		case errors.Is(a.Err, context.DeadlineExceeded):
			s.Status, s.Why = "unknown", fmt.Sprintf("no answer within %s", answersWithin+time.Second)
		case a.Err != nil:
			s.Status, s.Why = "unknown", api.ErrorOf(a.Err).Message
		}
		out = append(out, s)
	}
	return out
}

// EachTold is Each for hosts of the hub: all that they told comes with one question to the daemon of this
// machine. A host that is not known now has no answer, whatever it told before.
func EachTold[T any](ctx context.Context, hosts []Host, of func(api.HostLook) T) []Answer[T] {
	if len(hosts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hubWithin)
	defer cancel()
	told, err := Told(ctx, hosts[0], 0)
	by := map[string]api.HostLook{}
	for _, look := range told.Hosts {
		by[look.Name] = look
	}
	out := make([]Answer[T], len(hosts))
	for i, h := range hosts {
		out[i] = Answer[T]{Host: h, Err: err}
		look, is := by[h.Name]
		switch {
		case err != nil:
		case !is:
			out[i].Err = errors.New("it is not at the hub any more")
		case look.Status != "ok":
			out[i].Err = errors.New(cmp.Or(look.Why, "it is being asked"))
		default:
			out[i].V, out[i].Cut = of(look), look.Cut
		}
	}
	return out
}
