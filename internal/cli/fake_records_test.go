package cli_test

import (
	"context"
	"os"
	"path/filepath"

	"custos/internal/decide/follow"
	"custos/internal/fleet"
	"custos/internal/store"
)

// ledgerBook is the records of a world: in a real database below its state folder,
// so that one command finds what another one wrote. Each change is followed by what
// a pass makes of it.
type ledgerBook struct{ w *world }

// open opens the database for one thing.
func (b ledgerBook) open(ctx context.Context, do func(*store.Store) error) error {
	if err := os.MkdirAll(b.w.state, 0o700); err != nil {
		return err
	}
	at := b.w.pass.Snapshot.At
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(b.w.state, "records.db"), StartedAt: at})
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

func (b ledgerBook) past(ctx context.Context) (past fleet.Past, err error) {
	err = b.open(ctx, func(s *store.Store) error {
		past, err = s.Past(ctx, b.w.pass.Snapshot.At)
		past.Registrations = b.w.pass.Past.Registrations
		return err
	})
	return past, err
}

func (b ledgerBook) Seen(ctx context.Context) (fleet.Past, fleet.Snapshot, error) {
	past, err := b.past(ctx)
	return past, b.w.pass.Snapshot, err
}

func (b ledgerBook) Edit(ctx context.Context, edit func(fleet.Records) (fleet.Records, error)) (out fleet.Records, err error) {
	err = b.open(ctx, func(s *store.Store) error {
		if out, err = s.EditRecords(ctx, b.w.pass.Snapshot.At, edit); err != nil {
			return err
		}
		return b.pass(ctx, s)
	})
	return out, err
}

// pass is what one pass does about the records.
func (b ledgerBook) pass(ctx context.Context, s *store.Store) error {
	at := b.w.pass.Snapshot.At
	past, err := s.Past(ctx, at)
	if err != nil {
		return err
	}
	past.Registrations = b.w.pass.Past.Registrations
	pass := b.w.pass
	pass.Past = past
	then := follow.Follow(pass)
	_, err = s.EditRecords(ctx, at, func(fleet.Records) (fleet.Records, error) { return then.Records, nil })
	return err
}
