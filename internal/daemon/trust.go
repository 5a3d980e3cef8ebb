package daemon

import (
	"context"
	"path/filepath"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/store"
)

// pins lists what people said may be run.
func (s *system) pins(ctx context.Context) ([]fleet.Pins, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Pins, error) { return st.Pins(ctx) })
}

// pin writes down that somebody trusts a folder (raw) as it was shown.
func (s *system) pin(ctx context.Context, dir, digest, by string) error {
	p, err := s.library.Code.Offered(dir, digest)
	if err != nil {
		return err
	}
	return s.keep(ctx, p, by)
}

func (s *system) keep(ctx context.Context, p fleet.Pins, by string) error {
	st, err := s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	p.By, p.At = fleet.Line(by, 80), s.world.Now()
	if err := st.Pin(ctx, p); err != nil {
		return err
	}
	s.library.Code.Again()
	s.board.Touched(fleet.PartSelf)
	s.loop.Wake("trust")
	return nil
}

// codePort is the folders of code as the server's port wants them.
type codePort struct{ s *system }

var _ control.Code = codePort{}

// Code lists the folders in which there is anything.
func (d codePort) Code(ctx context.Context) ([]fleet.CodeFacts, error) {
	d.s.library.Plugins.All(ctx) // which reads its folders, and has them known
	return d.s.library.Code.All(), nil
}

// Trust writes down that a folder is trusted as it was shown; without a digest, not any more.
func (d codePort) Trust(ctx context.Context, dir, digest, by string) error {
	if err := d.s.begin(ctx); err != nil {
		return err
	}
	dir = filepath.Clean(fleet.RawPath(dir))
	if digest == "" {
		return d.s.keep(ctx, fleet.Pins{Dir: fleet.Path(dir)}, by)
	}
	return d.s.pin(ctx, dir, digest, by)
}
