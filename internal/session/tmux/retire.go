package tmux

import (
	"context"
	"fmt"
	"strings"
	"time"

	"custos/internal/fleet"
)

// retireWithin is how long a server may take to end once nothing is in it.
const retireWithin = 5 * time.Second

// Strangers lists the sessions of the server that are neither our own post nor known to ours.
// None is there without a server.
func (p *Provider) Strangers(ctx context.Context, ours func(name string) bool) (out []string, err error) {
	all, err := p.sessions(ctx)
	for _, s := range all {
		if s.name != postName && !ours(s.name) {
			out = append(out, s.name)
		}
	}
	return out, err
}

// Retire has the server end, as soon as nothing is in it: sessions of ours in which nothing
// runs go, and none else. It returns the names of those that stay, and with the last of them
// the server ends by itself.
func (p *Provider) Retire(ctx context.Context, ours func(name string) bool) (guests []string, err error) {
	all, err := p.sessions(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.lives || s.name != postName && !ours(s.name) {
			guests = append(guests, s.name)
			continue
		}
		// Whether it is dead is asked again by the server itself, as it does it.
		if _, err := p.tell(ctx, "", "if-shell", "-F", "-t", s.id+":", "#{pane_dead}", "kill-session -t '"+s.id+"'"); err != nil && !notFound(err) {
			return guests, err
		}
	}
	_, err = p.tell(ctx, "", "set-option", "-s", "exit-empty", "on")
	if isOver(err) {
		return nil, nil
	}
	if err != nil || len(guests) > 0 {
		return guests, err
	}
	return nil, p.awaitEnd(ctx)
}

func (p *Provider) awaitEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, retireWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !isGone(p.socket) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot end tmux server %s: nothing is in it, and it is still there: %w", fleet.Path(p.socket), ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// lodging is a session of the server.
type lodging struct {
	id, name string
	lives    bool // a program runs in one of its panes
}

func (p *Provider) sessions(ctx context.Context) (all []lodging, err error) {
	out, err := p.every(ctx, "#{session_id} #{pane_dead} #{session_name}")
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) != 3 || !strings.HasPrefix(f[0], "$") {
			return nil, fmt.Errorf("cannot use what tmux server %s says: %q", fleet.Path(p.socket), fleet.Line(line, 80))
		}
		i, known := at[f[0]]
		if !known {
			i = len(all)
			at[f[0]], all = i, append(all, lodging{id: f[0], name: f[2]})
		}
		all[i].lives = all[i].lives || f[1] != "1"
	}
	return all, nil
}
