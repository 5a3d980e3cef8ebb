package daemon

import (
	"context"
	"io"
	"net/http"
	"time"

	"custos/internal/config"
	"custos/internal/onewriter"
)

// Local is Custos within the process of one command, when no daemon runs: the
// same handlers over the same parts.
type Local struct {
	s       *system
	handler http.Handler
}

// Ephemeral puts Custos together for one command. Nothing is written until a
// handler that writes is asked; then the lock of the one writer is waited for,
// for a few seconds.
func Ephemeral(ctx context.Context, cfg config.Config, o Options) (*Local, error) {
	s, err := build(cfg, o, as{what: "custos (one command)", wait: onewriter.Patience, tell: io.Discard})
	if err != nil {
		return nil, err
	}
	return &Local{s: s, handler: s.handler(ctx, nil)}, nil
}

// Handler answers the API.
func (l *Local) Handler() http.Handler { return l.handler }

// deliverIn is how long a command waits for its messages to be told.
const deliverIn = 5 * time.Second

// Close tells what is still to be told, waits for what runs, and closes the ledger.
func (l *Local) Close() error {
	if l.s.ledger.writing() {
		ctx, cancel := context.WithTimeout(context.Background(), deliverIn)
		defer cancel()
		if err := l.s.report.Deliver(ctx); err != nil {
			l.s.o.Log.Warn("Cannot deliver", "err", err)
		}
	}
	l.s.flushJournal()
	return l.s.Close()
}
