package daemon

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"custos/internal/catalog"
	"custos/internal/fleet"
	"custos/internal/server"
)

// gauges is what is measured of this process, and where it can be read.
type gauges struct {
	meter  *server.Meter
	passed atomic.Pointer[fleet.Instant] // end of the last whole pass
	listen server.MetricsListener        // no address: only the socket
}

func newGauges(w *catalog.World) (*gauges, error) {
	g := &gauges{meter: server.NewMeter()}
	var err error
	g.listen.Address, g.listen.Token, err = catalog.Metrics(w, server.Loopback)
	return g, err
}

// pass notes that a pass which began at from has succeeded.
func (g *gauges) pass(from, now fleet.Instant) {
	g.meter.Passed(now.Since(from))
	g.passed.Store(&now)
}

// metricsPage is the page of metrics; nil for one command, which has measured nothing.
func (s *system) metricsPage() http.Handler {
	if !s.daemon {
		return nil
	}
	return server.MetricsPage(s.gauges.meter, s.measures)
}

// measures gathers what is on the page: the ledger, the board and what this process
// has counted.
func (s *system) measures(ctx context.Context) server.Metrics {
	now := s.world.Now()
	past, err := s.ledger.Past(ctx, now)
	out := server.Metrics{At: now, Version: s.o.Version, Started: s.world.StartedAt, Frozen: Frozen(s.cfg) != "", Patrols: past.Patrol,
		PatrolAt: past.PatrolAt, Snapshot: s.board.Snapshot(), Alerts: past.Alerts, Blind: err != nil || past.Blind != "" || past.Amnesia}
	if p := s.gauges.passed.Load(); p != nil {
		out.PassAt = *p
	}
	if costs, err := s.costs(ctx, s.world.StartedAt, "formula"); err == nil {
		out.Costs = costs
	}
	return out
}

// metricsAgain is how long is waited before an address that is taken is tried again.
const metricsAgain = 10 * time.Second

// serveMetrics serves the page at the configured address until ctx ends. An address
// that is taken is no reason not to watch: it is said, and tried again.
func (s *system) serveMetrics(ctx context.Context) {
	o := s.gauges.listen
	if o.Address == "" {
		return
	}
	s.repeat(ctx, metricsAgain, "serve metrics", func(ctx context.Context) error {
		l, err := server.ListenMetrics(o)
		if err != nil {
			return err
		}
		return server.Serve(ctx, l, server.GuardMetrics(o, s.metricsPage()))
	})
}
