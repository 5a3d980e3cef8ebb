package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"custos/internal/api"
)

// glancing is how long a status line may take: it is drawn each few seconds.
const glancing = time.Second

// statusLine writes one line of what the daemon saw last. Nothing stands in for a daemon:
// a look of this process takes too long for a line.
func (a *app) statusLine(ctx context.Context, tmux bool) error {
	ctx, cancel := context.WithTimeout(ctx, glancing)
	defer cancel()
	l, err := a.glance(ctx)
	line := lineOf(l, tmux)
	if err != nil {
		line = "custos: " + lineTrouble(err)
	}
	if err := a.show(map[string]string{"line": line}, func(p *page) { p.line("%s", line) }); err != nil {
		return err
	}
	if err != nil {
		return errUnanswered
	}
	return nil
}

// glance asks the daemon for a look.
func (a *app) glance(ctx context.Context) (api.FirstLook, error) {
	if !a.runs() {
		return api.FirstLook{}, errNoDaemon
	}
	c, err := a.dial(ctx)
	if err != nil {
		return api.FirstLook{}, err
	}
	defer c.Close()
	return c.FirstLook(ctx)
}

var errNoDaemon = errors.New("no daemon")

// lineTrouble is why there is no line, in a few words.
func lineTrouble(err error) string {
	switch {
	case errors.Is(err, errNoDaemon):
		return "no daemon"
	case isImpostor(err):
		return "who answers is no Custos"
	}
	return "the daemon does not answer"
}

// lineOf is a look in a few words: what is unknown has a number of its own.
func lineOf(l api.FirstLook, tmux bool) string {
	paint := func(colour, s string) string {
		if !tmux {
			return s
		}
		return "#[fg=" + colour + "]" + s + "#[default]"
	}
	out := []string{lineNeeds(l, paint)}
	if l.Frozen != "" {
		out = append(out, paint("yellow", "FROZEN"))
	}
	switch s := partSeen(l.Seen, "agents"); {
	case isUnseen(s):
		return strings.Join(append(out, paint("yellow", "agents not seen")), " · ")
	case s.Status == "stale":
		out = append(out, paint("yellow", "as they were"))
	}
	count := map[string]int{}
	for _, g := range l.Agents {
		count[lineState(g.State)]++
	}
	for _, state := range []string{"waiting", "working", "idle", "other", "unknown"} {
		if n := count[state]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(out, " · ")
}

// lineNeeds is how many things wait for a person.
func lineNeeds(l api.FirstLook, paint func(colour, s string) string) string {
	switch n := len(l.NeedsYou); {
	case n == 0:
		return "0 need you"
	case l.NeedsYou[0].Priority < "P2": // they are sorted
		return paint("red", needs(n))
	default:
		return paint("yellow", needs(n))
	}
}

func needs(n int) string {
	if n == 1 {
		return "1 needs you"
	}
	return fmt.Sprintf("%d need you", n)
}

// lineState is a state as one of five.
func lineState(state string) string {
	switch state {
	case "working", "idle", "unknown":
		return state
	case "waiting", "dialog":
		return "waiting"
	}
	return "other"
}

// partSeen is how one part was seen; an empty one where nothing is said of it.
func partSeen(parts []api.PartSeen, name string) api.PartSeen {
	for _, s := range parts {
		if s.Part == name {
			return s
		}
	}
	return api.PartSeen{}
}
