package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"custos/internal/fleet"
)

// Meter counts what passes by and is kept nowhere else: how long passes take, and
// what actions come to. It begins anew with every process, as counters may.
type Meter struct {
	passes  prometheus.Histogram
	results *prometheus.CounterVec
}

// NewMeter returns a Meter that has counted nothing.
func NewMeter() *Meter {
	return &Meter{
		passes: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "custos_pass_duration_seconds",
			Help:    "How long whole passes took, from the copy of the facts to the commit of the plan.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}), // 1 ms to 65 s
		results: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "custos_actions_total",
			Help: "Actions that ended, by what became of them, since Custos began."}, []string{"action", "result"}),
	}
}

// Passed counts a whole pass.
func (m *Meter) Passed(took time.Duration) { m.passes.Observe(max(took, 0).Seconds()) }

// Ended counts an action that ended.
func (m *Meter) Ended(r fleet.Result) {
	m.results.WithLabelValues(label(r.Do), label(string(r.Status))).Inc()
}
