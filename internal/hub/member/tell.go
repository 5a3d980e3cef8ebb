package member

import (
	"context"
	"sync"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/hub/looks"
	"custos/internal/hub/rows"
)

const (
	// tellApart is between two tellings of what this host shows of itself, however often it changes; where a look at
	// itself takes long it is that many times as long as the look, and mostApart at most.
	tellApart, tellSlower, mostApart = 2 * time.Second, 500, 5 * time.Second
	// tellLatest is after which it is told anew though nobody said that it has changed.
	tellLatest = time.Minute
	// wholeWithin is how long who looks waits for all that hosts have told.
	wholeWithin = 5 * time.Second
)

// Stir has what this host shows of itself be told anew, soon.
func (m *Member) Stir() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// tell has p tell what this host shows of itself, until ctx ends.
func (k *link) tell(ctx context.Context, p *rows.Publisher) {
	var t looks.Teller
	for ctx.Err() == nil {
		at, began := k.m.o.Now().Wall, time.Now()
		told, err := k.m.o.Tell(ctx)
		all, wrong := t.Rows(told, at)
		if err != nil {
			all, wrong = t.Blind(fleet.Line(fleet.Redact(err.Error()), 200), told.Workers, at)
		}
		if wrong != nil {
			k.m.o.Log.Error("Cannot tell other hosts of this one", "err", wrong)
		} else if ctx.Err() == nil {
			p.Set(all)
		}
		rest(ctx, min(max(tellApart, tellSlower*time.Since(began)), mostApart))
		late := time.NewTimer(tellLatest)
		select {
		case <-ctx.Done():
		case <-k.m.news:
		case <-late.C:
		}
		late.Stop()
	}
}

// shown is what other hosts show of themselves, for who looks.
type shown struct {
	board *rows.Attended
	mu    sync.Mutex
	read  *looks.Reader
}

func newShown(ctx context.Context, k *link) (*shown, error) {
	// Nobody is told that it changes: it is for who looks, and moves nothing that this host does.
	b, err := rows.NewBoard(k.js, rows.BoardOptions{Own: k.m.me.Host, Now: func() time.Duration { return time.Duration(k.m.o.Now().Up) }, Log: k.m.o.Log})
	if err != nil {
		return nil, err
	}
	return &shown{board: rows.Attend(ctx, b, rows.Everything), read: looks.NewReader(k.m.o.Now().Wall.UnixMilli())}, nil
}

// Looks are the other hosts of the hub as they tell of themselves; of those that told nothing newer since the
// number only how they were heard. The first who looks waits for all of it, for some seconds at most.
func (m *Member) Looks(ctx context.Context, since int64) api.HubLooks {
	_, k, cut := m.now()
	if k == nil || k.shown == nil {
		return m.unseen(cut)
	}
	ctx, cancel := context.WithTimeout(ctx, wholeWithin)
	defer cancel()
	s := k.shown.board.Look()
	for !s.Whole && ctx.Err() == nil {
		rest(ctx, 50*time.Millisecond)
		s = k.shown.board.Look()
	}
	if cut != "" {
		s.Blind = cut
	}
	k.shown.mu.Lock()
	defer k.shown.mu.Unlock()
	return k.shown.read.Looks(m.Names(), s, m.o.Now().Wall, since)
}

// unseen are the other hosts, by the names that were kept, where this one is at no hub now.
func (m *Member) unseen(cut string) (out api.HubLooks) {
	out.Hosts = []api.HostLook{}
	for _, name := range m.kept() {
		out.Hosts = append(out.Hosts, api.HostLook{HostSeen: api.HostSeen{Name: name, Status: "unknown", Why: cut}})
	}
	return out
}

// Doubled says whether another daemon has told under the name of this host in the last 15 s.
func (m *Member) Doubled() bool {
	_, k, _ := m.now()
	return k != nil && k.rows.Doubled()
}
