package watch

import (
	"context"
	"errors"
	"time"

	"custos/internal/agent"
	"custos/internal/session"
)

// panesEvery is how soon after a change is told the next may be; changes that
// come together are told once.
const panesEvery = 200 * time.Millisecond

// Panes calls changed, with why, when something happens where an announcer's
// agents run that a look would find something of; until ctx ends. It is called
// for the last of changes that come together too, and one call at a time; nothing
// waits for it. A title counts only when it comes to mean something else to a kind
// of agent: the spinners that most of them turn there do not; and what is written in a
// window only as that begins and is at rest again. It fails without an
// announcer or kinds.
func Panes(ctx context.Context, from session.Announcer, kinds *agent.Kinds, changed func(why string)) error {
	if from == nil || kinds == nil {
		return errors.New("cannot watch panes: an announcer and kinds are needed")
	}
	news := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		spread(ctx, news, changed)
	}()
	looks := newLooks(kinds)
	err := from.Announce(ctx, func(n session.Notice) {
		why := n.What
		if n.Panes != nil {
			why = looks.news(n.Panes, time.Now().Unix())
		}
		if why == "" {
			return
		}
		select {
		case news <- why:
		default: // somebody who comes later looks at this too
		}
	})
	close(news)
	<-ended
	return err
}

// spread tells of news with pauses in between, until ctx ends.
func spread(ctx context.Context, news <-chan string, changed func(why string)) {
	pause := time.NewTicker(panesEvery)
	defer pause.Stop()
	for why := range news {
		if ctx.Err() != nil {
			continue
		}
		changed(why)
		pause.Reset(panesEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}
