package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// How long a look may take: the first look is for a person who waits (two
// seconds at most, with half a second for what has to be cut short); the others
// are for somebody who wants the whole picture.
const (
	glance = 1500 * time.Millisecond
	stare  = 90 * time.Second
)

func (s *server) look(req *http.Request, _ Caller) (any, error) {
	pass, err := s.Cycle.Look(req.Context(), glance)
	if err != nil {
		return nil, cannotLook(err)
	}
	return firstLook(pass, s.Teller, hints{daemon: !s.InProcess, configured: s.Configured}), nil
}

func (s *server) patrol(req *http.Request, c Caller) (any, error) {
	var order api.PatrolOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	if order.Apply {
		if err := s.personOnly(req.Context(), c); err != nil {
			return nil, err
		}
	}
	pass, err := s.Cycle.Patrol(req.Context(), fleet.PatrolOrder{Apply: order.Apply, By: c.Name()})
	if err != nil && (pass.Snapshot.At.IsZero() || req.Context().Err() != nil) {
		return nil, cannotLook(err)
	}
	report := patrolReport(pass, order.Apply, s.Teller)
	if err != nil { // what was seen is worth telling, all the more when the disk is what is wrong
		report.Unkept = fleet.Line(err.Error(), 500)
	}
	return report, nil
}

func (s *server) preflight(req *http.Request, _ Caller) (any, error) {
	pass, err := s.Cycle.Look(req.Context(), stare)
	if err != nil {
		return nil, cannotLook(err)
	}
	var places []Listening
	if s.Places != nil {
		places = s.Places()
	}
	return preflight(pass.Snapshot, places), nil
}

func (s *server) plan(req *http.Request, _ Caller) (any, error) {
	pass, err := s.Cycle.Look(req.Context(), stare)
	if err != nil {
		return nil, cannotLook(err)
	}
	return plan(pass, s.Teller), nil
}

func (s *server) judge(req *http.Request, _ Caller) (any, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, api.AsBadInput(fmt.Errorf("cannot read the recording: %w", err))
	}
	r, err := fleet.DecodeRecording(body)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	pass, err := s.Cycle.Judge(req.Context(), r)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	return plan(pass, s.Teller), nil
}

func (s *server) record(req *http.Request, _ Caller) (any, error) {
	pass, err := s.Cycle.Look(req.Context(), stare)
	if err != nil {
		return nil, cannotLook(err)
	}
	return fleet.EncodeRecording(fleet.Recording{
		Version: fleet.RecordingVersion, Custos: s.Version,
		Snapshot: pass.Snapshot, Past: pass.Past, Policy: pass.Policy, Rules: s.Rules.TOML(),
	})
}

func (s *server) rules(*http.Request, Caller) (any, error) {
	return api.Rules{Rules: s.Rules.Rules(), TOML: s.Rules.TOML()}, nil
}

func (s *server) alerts(req *http.Request, _ Caller) (any, error) {
	all := req.URL.Query().Get("all") == "true"
	list, err := s.Alerts.Alerts(req.Context(), all)
	if err != nil {
		return nil, err
	}
	trouble := s.Vitals(req.Context()).Trouble
	if trouble != "" { // what is written down is old
		list = s.unwritten(req.Context(), list, all)
	}
	return api.Alerts{Alerts: alertViews(list, s.Now()), Trouble: trouble}, nil
}

// unwritten is what a look finds, with what of the alerts that are written down it does
// not tell of; without a look, only these.
func (s *server) unwritten(ctx context.Context, written []fleet.Alert, all bool) []fleet.Alert {
	pass, err := s.Cycle.Look(ctx, glance)
	if err != nil {
		return written
	}
	return slices.DeleteFunc(merged(pass.Assessment.Alerts, written), func(a fleet.Alert) bool { return !all && a.Status == fleet.AlertResolved })
}

func (s *server) acknowledge(req *http.Request, c Caller) (any, error) {
	number, err := strconv.ParseInt(req.PathValue("number"), 10, 64)
	if err != nil {
		return nil, api.AsBadInput(fmt.Errorf("cannot acknowledge %q: it is no alert's number", req.PathValue("number")))
	}
	var order api.AckOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	known, err := s.Alerts.Alerts(req.Context(), true)
	if err != nil {
		return nil, err
	}
	if !hasAlert(known, number) {
		return nil, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot acknowledge alert %d: there is no such alert", number), Hint: "custos alerts"}
	}
	a, err := s.Alerts.Acknowledge(req.Context(), number, by(order.By, c))
	if err != nil {
		return nil, err
	}
	out := alertView(a, s.Now())
	if a.Rule == ruleAmnesia {
		out.Next = s.takenUp(req.Context())
	}
	return out, nil
}

// ruleAmnesia is the rule of the alert that is acknowledged when it is known that the
// past is lost.
const ruleAmnesia = "self-amnesia"

// takenUp proposes what to do with what the lost past has left. Where nobody can look
// now, custos ps does, later.
func (s *server) takenUp(ctx context.Context) []api.Hint {
	pass, err := s.Cycle.Look(ctx, glance)
	if err != nil {
		return []api.Hint{{Command: "custos ps", What: "whether agents of before run: custos adopt NAME has them cared for again"}}
	}
	return adoptions(&pass.Snapshot)
}

func hasAlert(list []fleet.Alert, number int64) bool {
	for _, a := range list {
		if a.Number == number {
			return true
		}
	}
	return false
}

// by is who does something: the name given, made safe to show, or the caller's.
func by(given string, c Caller) string {
	if name := fleet.Line(given, 60); name != "" {
		return name
	}
	return c.Name()
}

// longestSilence keeps a slip of the keyboard from silencing an alert for good.
const longestSilence = 90 * 24 * time.Hour

func (s *server) silence(req *http.Request, c Caller) (any, error) {
	var order api.SilenceOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	made, err := s.silenceOf(order, c)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	if err := s.Alerts.Silence(req.Context(), made); err != nil {
		return nil, err
	}
	return api.Silenced{Rule: made.Rule, Subject: subjectText(made.Subject), By: made.By, Until: made.Until.Wall.UTC(), Note: s.nobodyThere(req.Context(), made.Subject)}, nil
}

// nobodyThere says that there is no such subject now, where that is known: a silence
// may be for what is still to come, and a slip of the keyboard is to be seen.
func (s *server) nobodyThere(ctx context.Context, of fleet.Subject) string {
	if of == (fleet.Subject{}) {
		return ""
	}
	pass, err := s.Cycle.Look(ctx, glance)
	if err != nil || slices.Contains(subjects(&pass.Snapshot), of) {
		return ""
	}
	if seen := pass.Snapshot.Sight(fleet.PartOf(of.Kind)); seen == nil || !seen.Tells() {
		return ""
	}
	return fmt.Sprintf("there is no %s now", of)
}

func (s *server) silenceOf(o api.SilenceOrder, c Caller) (fleet.Silence, error) {
	d, err := time.ParseDuration(o.For)
	if err != nil || d <= 0 || d > longestSilence {
		return fleet.Silence{}, fmt.Errorf("cannot silence for %q: want a time up to 90 days, like 2h", o.For)
	}
	out := fleet.Silence{Rule: o.Rule, By: by(o.By, c), Why: fleet.Line(o.Why, 200), From: s.Now()}
	out.Until = out.From.Add(d)
	if o.Rule == "" && o.Subject == "" {
		return out, fmt.Errorf("cannot silence everything: name a rule or a subject")
	}
	if o.Rule != "" && !s.knowsRule(o.Rule) {
		return out, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot silence rule %q: there is no such rule", o.Rule), Hint: "custos rules"}
	}
	if o.Subject != "" {
		var ok bool
		if out.Subject, ok = fleet.ParseSubject(o.Subject); !ok || fleet.PartOf(out.Subject.Kind) == fleet.PartSelf && !selfish(out.Subject.Kind) {
			return out, fmt.Errorf("cannot silence %q: want kind/name, like agent/builder", o.Subject)
		}
	}
	return out, nil
}

// selfish are the kinds that do belong to the part "self", to which PartOf sends
// unknown kinds too.
func selfish(k fleet.Kind) bool { return k == fleet.KindSelf || k == fleet.KindPart }

func (s *server) knowsRule(name string) bool {
	for _, r := range s.Rules.Rules() {
		if r.Name == name {
			return true
		}
	}
	return false
}

func (s *server) explain(req *http.Request, _ Caller) (any, error) {
	var order api.ExplainOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	if strings.TrimSpace(order.Screen) == "" && order.Title == "" {
		return nil, api.AsBadInput(fmt.Errorf("cannot explain an empty screen"))
	}
	e, err := s.Explainer.Explain(order.Kind, order.Title, order.Screen)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	return e, nil
}

var day = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)

func (s *server) journal(req *http.Request, _ Caller) (any, error) {
	want := req.URL.Query().Get("day")
	if want != "" && !day.MatchString(want) {
		return nil, api.AsBadInput(fmt.Errorf("cannot read the journal of %q: want a day like 2006-01-02", want))
	}
	return s.Journal.Journal(req.Context(), want)
}

func (s *server) status(req *http.Request, _ Caller) (any, error) {
	out := s.Status(req.Context())
	return out, s.addFailed(req.Context(), &out)
}

func (s *server) down(*http.Request, Caller) (any, error) {
	if s.Down == nil {
		return nil, &api.Error{Kind: api.BadInput, Message: "cannot stop the daemon: none is running"}
	}
	s.Down()
	return struct{}{}, nil
}

func (s *server) schemas(*http.Request, Caller) (any, error) { return schemaNames(), nil }

func (s *server) schema(req *http.Request, _ Caller) (any, error) {
	name := req.PathValue("name")
	schema, ok := schemaOf(name)
	if !ok {
		return nil, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find a schema named %q: there are %s", name, strings.Join(schemaNames(), ", "))}
	}
	return json.MarshalIndent(schema, "", "  ")
}
