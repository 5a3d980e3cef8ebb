package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// Metrics is what a page of metrics is made of.
type Metrics struct {
	At       fleet.Instant
	Version  string
	Started  fleet.Instant
	Frozen   bool
	Patrols  int64
	PatrolAt fleet.Instant
	PassAt   fleet.Instant // end of the last whole pass; zero before the first
	Snapshot fleet.Snapshot
	Alerts   []fleet.Alert // as the ledger has them
	Blind    bool          // the ledger cannot be read: no alert is listed, which does not mean that there is none
	Costs    []fleet.Cost  // since Started, by formula
}

// Measures gathers the metrics of now. It waits for no look.
type Measures func(ctx context.Context) Metrics

const (
	// mostAlerts is how many alerts have a line of their own; how many more there
	// are is said.
	mostAlerts  = 5000
	longestWord = 400             // runes of a label's value
	scrapeIn    = 5 * time.Second // a page is gathered in
)

// MetricsPage answers with the metrics in Prometheus' text format. Its registry is
// its own: nothing of the libraries that Custos is made of gets onto the page.
func MetricsPage(m *Meter, now Measures) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{now})
	if m != nil {
		r.MustRegister(m.passes, m.results)
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 2 * scrapeIn})
}

// metrics answers at the socket.
func (s *server) metrics(w http.ResponseWriter, req *http.Request) {
	if s.Metrics == nil {
		s.fail(w, req, &api.Error{Kind: api.NotFound, Message: "cannot show metrics: no daemon runs", Hint: "custos up"})
		return
	}
	s.Metrics.ServeHTTP(w, req)
}

// collector makes the page anew whenever it is asked for.
type collector struct{ now Measures }

// Describe describes nothing: which series there are depends on the fleet.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends every series.
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeIn)
	defer cancel()
	p := sheet{out: out, m: c.now(ctx)}
	p.self()
	p.alerts()
	p.receivers()
	p.parts()
	p.agents()
	p.models()
}

// sheet is one page in the making.
type sheet struct {
	out chan<- prometheus.Metric
	m   Metrics
}

// labels are names and values by turns.
func (p sheet) put(kind prometheus.ValueType, name, help string, v float64, labels ...string) {
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, label(labels[i+1]))
	}
	p.out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
}

func (p sheet) gauge(name, help string, v float64, labels ...string) {
	p.put(prometheus.GaugeValue, name, help, v, labels...)
}

// label makes a text fit to be a label: one line, short, valid.
func label(s string) string { return strings.ToValidUTF8(fleet.Line(s, longestWord), "") }

func (p sheet) self() {
	p.gauge("custos_build_info", "Which Custos this is.", 1, "version", p.m.Version)
	p.gauge("custos_start_time_seconds", "When this Custos began, since 1970.", seconds(p.m.Started))
	p.gauge("custos_frozen", "1 while a freeze holds every action.", one(p.m.Frozen))
	p.gauge("custos_ledger_readable", "0 when the ledger cannot be read: then no alert is listed, whatever is wrong.", one(!p.m.Blind))
	p.gauge("custos_patrols", "Number of the last patrol.", float64(p.m.Patrols))
	if !p.m.PatrolAt.IsZero() {
		p.gauge("custos_last_patrol_time_seconds", "When the last patrol was, since 1970.", seconds(p.m.PatrolAt))
	}
	if !p.m.PassAt.IsZero() {
		p.gauge("custos_last_pass_age_seconds", "Time since the last whole pass ended.", max(p.m.At.Since(p.m.PassAt), 0).Seconds())
	}
}

func seconds(i fleet.Instant) float64 { return float64(i.Wall.UnixMilli()) / 1000 }

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// alerts has a line for each alert that is not over.
func (p sheet) alerts() {
	const name, help = "custos_alert", "1 for each alert that is not over."
	listed, left := map[string]bool{}, 0
	for _, a := range p.m.Alerts {
		state := alertState(a, p.m.At)
		if p.m.Blind || state == "" {
			continue
		}
		labels := []string{"rule", a.Rule, "kind", string(a.Subject.Kind), "subject", a.Subject.Name, "priority", string(a.Priority), "state", state}
		// Two that differ only past the longest word are one series.
		if key := label(a.Rule) + "\x00" + label(a.Subject.String()); listed[key] || len(listed) >= mostAlerts {
			left++
		} else {
			listed[key] = true
			p.gauge(name, help, 1, labels...)
		}
	}
	p.gauge("custos_alerts_unlisted", "Alerts that have no line of their own, because there are too many.", float64(left))
}

// alertState is what a person would call it; "" for one that is over.
func alertState(a fleet.Alert, at fleet.Instant) string {
	switch {
	case a.Status == fleet.AlertPending:
		return "pending"
	case a.Status != fleet.AlertFiring:
		return ""
	case view.SilencedUntil(a, at) != nil:
		return "silenced"
	case a.AckedBy != "":
		return "acknowledged"
	}
	return "firing"
}

// receivers says whether messages arrive.
func (p sheet) receivers() {
	for _, r := range p.m.Snapshot.Self.Value.Receivers {
		p.gauge("custos_receiver_barred", "1 for a notifier that says itself that no message arrives there.", one(r.Barred != ""), "receiver", r.Name)
		p.gauge("custos_receiver_waiting_seconds", "How long the oldest of what did not arrive has been tried; 0 when all did.", time.Duration(r.Waiting).Seconds(), "receiver", r.Name)
	}
}

// parts says how well each part of the world is seen.
func (p sheet) parts() {
	for _, name := range fleet.PartNames() {
		s := p.m.Snapshot.Sight(name)
		p.gauge("custos_part_status", "1 for the status of each part of the world.", 1, "part", string(name), "status", string(s.Status))
		if !s.At.IsZero() {
			p.gauge("custos_part_age_seconds", "Time since the last good look at a part.", max(p.m.At.Since(s.At), 0).Seconds(), "part", string(name))
		}
		if s.Took > 0 {
			p.gauge("custos_part_look_seconds", "How long the last look at a part took.", time.Duration(s.Took).Seconds(), "part", string(name))
		}
	}
}

func (p sheet) agents() {
	if !p.m.Snapshot.Agents.Usable() {
		return
	}
	count := map[fleet.AgentState]int{}
	for _, a := range p.m.Snapshot.Agents.Value {
		count[a.State]++
	}
	for state, n := range count {
		p.gauge("custos_agents", "Agents that are seen, by state.", float64(n), "state", string(state))
	}
}

func (p sheet) models() {
	sum := view.Cost(view.OfCustos(p.m.Costs))
	counter := func(name, help string, v float64) { p.put(prometheus.CounterValue, name, help, v) }
	counter("custos_model_calls_total", "Calls of models on behalf of Custos since it began: questions to the judge, and sessions of formulas.", float64(sum.Calls))
	counter("custos_model_tokens_total", "Tokens of those calls, as reported.", float64(sum.Tokens))
	counter("custos_model_cost_dollars_total", "Dollars of those calls whose price is known.", sum.Dollars)
}
