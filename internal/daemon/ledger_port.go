package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/report/journal"
	"custos/internal/store"
)

// ledgerPort is the ledger as the server's ports want it.
type ledgerPort struct {
	l   *ledgerFile
	now func() fleet.Instant
}

var (
	_ control.Alerts = ledgerPort{}
)

// Alerts lists the alerts of the ledger; none when there is no ledger yet.
func (b ledgerPort) Alerts(ctx context.Context, all bool) ([]fleet.Alert, error) {
	list, err := recall(ctx, b.l, func(st *store.Store) ([]fleet.Alert, error) { return st.Alerts(ctx, all) })
	if err != nil || len(list) == 0 {
		return list, err
	}
	past, err := b.l.Past(ctx, b.now())
	return fleet.Held(list, past.Silences), err
}

// amnesiaRule is the alert whose acknowledgement confirms an amnesia.
const amnesiaRule = "self-amnesia"

// Acknowledge writes down that a person has taken up an alert, unless that is over. Taking
// up the alert of the amnesia is how a person confirms that Custos may act again.
func (b ledgerPort) Acknowledge(ctx context.Context, number int64, by string) (fleet.Alert, error) {
	st, err := b.l.writer(ctx)
	if err != nil {
		return fleet.Alert{}, err
	}
	a, err := st.Acknowledge(ctx, number, by, b.now())
	switch {
	case errors.Is(err, store.ErrEnded), errors.Is(err, store.ErrNotFound):
		err = fmt.Errorf("cannot acknowledge alert %d: %w: it is over", number, ledger.ErrIllegal)
	case err == nil && a.Rule == amnesiaRule:
		err = st.ConfirmAmnesia(ctx, by, b.now())
	}
	return a, err
}

// Silence writes down a silence.
func (b ledgerPort) Silence(ctx context.Context, s fleet.Silence) error {
	st, err := b.l.writer(ctx)
	if err != nil {
		return err
	}
	return st.Silence(ctx, s)
}

// Events lists events of the log.
func (b ledgerPort) Events(ctx context.Context, f control.EventFilter) ([]fleet.Event, error) {
	which := store.EventFilter{Subject: f.Subject, Rule: f.Rule, Action: f.Action, Kind: f.Kind}
	return recall(ctx, b.l, func(st *store.Store) ([]fleet.Event, error) {
		if f.After == 0 {
			return st.LastEvents(ctx, f.Limit, which)
		}
		return st.Events(ctx, f.After, f.Limit, which)
	})
}

// journalPort is the journal as control wants it.
type journalPort struct{ dir journal.Dir }

// Journal returns one day.
func (d journalPort) Journal(_ context.Context, day string) (api.Journal, error) {
	text, of, err := d.dir.Read(day)
	if err != nil {
		return api.Journal{}, err
	}
	if of == "" {
		return api.Journal{}, fs.ErrNotExist
	}
	return api.Journal{Day: of, Path: fleet.Path(filepath.Join(string(d.dir), of+".md")), Text: text}, nil
}

// eventsAtOnce is how many events are read with one question.
const eventsAtOnce = 1000

// NewestEvent is the ID of the newest event.
func (l *ledgerFile) NewestEvent(ctx context.Context) int64 {
	found, err := recall(ctx, l, func(st *store.Store) ([]fleet.Event, error) { return st.LastEvents(ctx, 1, store.EventFilter{}) })
	if err != nil || len(found) == 0 {
		return 0
	}
	return found[0].ID
}

// EventsAfter lists events after one.
func (l *ledgerFile) EventsAfter(ctx context.Context, after int64) ([]fleet.Event, error) {
	return recall(ctx, l, func(st *store.Store) ([]fleet.Event, error) {
		return st.Events(ctx, after, eventsAtOnce, store.EventFilter{})
	})
}
