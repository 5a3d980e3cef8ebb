// Package alertmanager shows Prometheus' Alertmanager which alerts fire, by its
// API v2, as Prometheus itself does: again and again, and the end of each.
//
// What is sent is postableAlert of prometheus/alertmanager, api/v2/openapi.yaml (8046cfb);
// what becomes of it, postAlertsHandler of api/v2/api.go (014ea47): an alert whose endsAt
// lies ahead fires, any other has ended; labels that are empty are dropped; startsAt must
// not be after endsAt. How it is sent is prometheus/prometheus, rules/alerting.go
// sendAlerts (four times the longer of interval and delay) and notifier/sendloop.go
// (336d2aa: any 2xx is taken for yes).
package alertmanager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/httpjson"
)

const (
	defaultEvery = time.Minute
	// lapse is how many intervals an alert holds without being shown again. With
	// fewer, one lost showing would look like its end; Prometheus takes as many.
	lapse = 4
	// batch is how many alerts go into one request; Prometheus sends up to 256 (notifier,
	// DefaultMaxBatchSize).
	batch = 64
	// bearable is how far its clock may be from ours before we speak in its time.
	bearable  = 30 * time.Second
	maxAnswer = 64 << 10 // bytes
	maxText   = 400      // runes of an annotation
)

// Options say where the Alertmanager is.
type Options struct {
	Name   string
	Server string                                // URL, to which /api/v2/alerts is added
	Token  func(context.Context) (string, error) // nil: it wants none
	Every  time.Duration                         // between two showings; default 1 min
	Host   string                                // whose alerts they are
	HTTP   *http.Client                          // nil: one that follows no redirect
}

// Mirror posts alerts.
type Mirror struct {
	o    Options
	skew atomic.Int64 // its clock minus ours, in nanoseconds, when that is not bearable
}

var _ report.Mirror = (*Mirror)(nil)

// New returns the mirror, or what is wrong with its options.
func New(o Options) (*Mirror, error) {
	u, err := url.Parse(o.Server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, errors.New(`server: want a URL, like "http://127.0.0.1:9093", without a password in it`)
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Every < time.Second || o.Every > time.Hour {
		return nil, errors.New("every: want a second to an hour")
	}
	return &Mirror{o: o}, nil
}

// Name is the name of its section.
func (m *Mirror) Name() string { return m.o.Name }

// Every is the time between two showings.
func (m *Mirror) Every() time.Duration { return m.o.Every }

// Show posts every alert. When the answer tells that the other clock is far from
// ours, all of it is posted once more, in the other's time: an end that lies in
// the past of the other would be the end of an alert that fires.
func (m *Mirror) Show(ctx context.Context, at fleet.Instant, alerts []fleet.Alert) error {
	was := m.skew.Load()
	if err := m.post(ctx, at, alerts); err != nil {
		return err
	}
	if m.skew.Load() == was {
		return nil
	}
	return m.post(ctx, at, alerts)
}

func (m *Mirror) post(ctx context.Context, at fleet.Instant, alerts []fleet.Alert) error {
	token := ""
	if m.o.Token != nil {
		var err error
		if token, err = m.o.Token(ctx); err != nil {
			return err
		}
	}
	skew := time.Duration(m.skew.Load())
	var refused error
	for part := range slices.Chunk(alerts, batch) {
		out := make([]postable, 0, len(part))
		for _, a := range part {
			out = append(out, m.postable(a, at, skew))
		}
		err := m.send(ctx, out, token)
		if err != nil && !errors.Is(err, errInvalid) {
			return err
		}
		refused = cmp.Or(refused, err)
	}
	return refused
}

// errInvalid is the refusal of some alerts of a request: it has stored those beside them,
// and says nothing about those of other requests.
var errInvalid = errors.New("it answered 400")

// postable is an alert in the words of the API.
type postable struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

func (m *Mirror) postable(a fleet.Alert, at fleet.Instant, skew time.Duration) postable {
	p := postable{Labels: labels(a, m.o.Host), Annotations: annotations(a), StartsAt: a.FiredAt.Wall.Add(skew).UTC()}
	p.EndsAt = at.Wall.Add(skew + lapse*m.o.Every).UTC()
	if a.Status == fleet.AlertResolved {
		p.EndsAt = a.EndedAt.Wall.Add(skew).UTC()
	}
	if p.EndsAt.Before(p.StartsAt) { // a clock was set back between them
		p.StartsAt = p.EndsAt
	}
	return p
}

// labels name the alert: what changes while it fires must not be among them.
func labels(a fleet.Alert, host string) map[string]string {
	out := map[string]string{"alertname": a.Rule, "kind": string(a.Subject.Kind), "subject": a.Subject.Name,
		"priority": string(a.Priority), "severity": severity(a.Priority), "source": "custos", "host": host}
	for k, v := range out {
		if out[k] = fleet.Line(v, maxText); out[k] == "" {
			delete(out, k)
		}
	}
	return out
}

// severity is the usual word of Prometheus' rules for a priority.
func severity(p fleet.Priority) string {
	switch {
	case p.AtLeast(fleet.P1):
		return "critical"
	case p.AtLeast(fleet.P2):
		return "warning"
	}
	return "info"
}

func annotations(a fleet.Alert) map[string]string {
	out := map[string]string{}
	put := func(k, v string) {
		if v = fleet.Redact(fleet.Line(v, maxText)); v != "" {
			out[k] = v
		}
	}
	put("summary", a.Summary)
	put("runbook", a.Runbook)
	put("acknowledged_by", a.AckedBy)
	var causes []string
	for _, c := range a.CausedBy {
		causes = append(causes, c.String())
	}
	put("caused_by", strings.Join(causes, ", "))
	if a.Number > 0 {
		put("command", "custos why "+strconv.FormatInt(a.Number, 10))
	}
	return out
}

func (m *Mirror) send(ctx context.Context, list []postable, token string) error {
	req, err := httpjson.Request(ctx, http.MethodPost, strings.TrimRight(m.o.Server, "/")+"/api/v2/alerts", list)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	sent := time.Now()
	resp, text, err := httpjson.Ask(m.o.HTTP, req, maxAnswer)
	if resp == nil {
		return err
	}
	if resp.StatusCode == http.StatusBadRequest {
		return fmt.Errorf("%w: %s", errInvalid, fleet.Redact(fleet.Line(string(text), 200)))
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d: %s", resp.StatusCode, fleet.Redact(fleet.Line(string(text), 200)))
	}
	m.hearClock(resp.Header.Get("Date"), sent)
	return nil
}

// hearClock notes by how much the other clock differs, to the second: the header
// tells no more.
func (m *Mirror) hearClock(date string, sent time.Time) {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return
	}
	skew := theirs.Sub(sent)
	if skew.Abs() < bearable {
		skew = 0
	}
	if was := time.Duration(m.skew.Load()); (skew-was).Abs() >= bearable || skew == 0 {
		m.skew.Store(int64(skew))
	}
}
