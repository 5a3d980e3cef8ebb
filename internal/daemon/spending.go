package daemon

import (
	"context"
	"errors"
	"io/fs"

	"custos/internal/observe/spending"
)

// usage is the ledger of what models used; nil where there is none yet.
func (s *system) usage(ctx context.Context) (spending.Ledger, error) {
	st, err := s.ledger.reader(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return st, nil
}
