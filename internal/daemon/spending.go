package daemon

import (
	"cmp"
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
	if s.daemon && len(s.budgets) > 0 { // one command reads no conversations
		if read, err := st.UsageRead(ctx); err != nil || read.IsZero() {
			return nil, cmp.Or(err, errNotRead)
		}
	}
	return st, nil
}

// errNotRead: a ledger that is new knows nothing of what was spent before.
var errNotRead = errors.New("conversations are being read for the first time")
