package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/doctor"
	"custos/internal/fleet"
)

// healer is a Mender over plans by hand: each alert leads to one action of its own.
type healer struct {
	asked []fleet.AlertKey
	did   []string
}

func (h *healer) actions(of []fleet.AlertKey) (out []fleet.Action) {
	for _, k := range of {
		out = append(out, fleet.Action{ID: k.Rule, Do: "mend", Subject: k.Subject, For: k})
	}
	return out
}

func (h *healer) Mending(_ fleet.Pass, of []fleet.AlertKey) fleet.Plan {
	h.asked = of
	return fleet.Plan{Actions: h.actions(of)}
}

func (h *healer) Mend(_ context.Context, by string, of []fleet.AlertKey, meant func(fleet.Action) bool) (p fleet.Pass, _ error) {
	for _, a := range h.actions(of) {
		if meant(a) {
			h.did = append(h.did, by+" "+a.Subject.String())
			p.Results = append(p.Results, fleet.Result{ActionID: a.ID, Do: a.Do, Subject: a.Subject, For: a.For, Status: fleet.ResultDone})
		}
	}
	return p, nil
}

// ruleList is a rule table by hand.
type ruleList []api.Rule

func (l ruleList) Rules() []api.Rule { return l }
func (ruleList) TOML() string        { return "" }

// mendingRules are rules that are checks, and have actions.
func mendingRules() ruleList {
	return ruleList{
		{Name: "disk-pressure", Category: "disk", Priority: "P1", Actions: []string{"rotate-log"}, Enabled: true},
		{Name: "landmark-open", Category: "security", Priority: "P3", Actions: []string{"close-landmark"}, Enabled: true},
		{Name: "lock-dead", Category: "locks", Priority: "P2", Actions: []string{"remove-lock"}, Enabled: true, Parts: []string{"locks", "processes"}},
	}
}

func findingOf(rule string, kind fleet.Kind, name string) fleet.Finding {
	return fleet.Finding{AlertKey: fleet.AlertKey{Rule: rule, Subject: fleet.Subject{Kind: kind, Name: name}}, Priority: fleet.P2, Firing: true, Summary: rule}
}

var (
	deadLock = findingOf("lock-dead", fleet.KindLock, "/l/lock")
	openMark = findingOf("landmark-open", fleet.KindLandmark, "/s")
	fullDisk = findingOf("disk-pressure", fleet.KindMount, "/")
)

// ward is a server that finds what is given.
func ward(t *testing.T, change func(*Options), findings ...fleet.Finding) (http.Handler, *healer) {
	t.Helper()
	w := newWorld()
	w.pass.Assessment.Findings = findings
	o := w.options()
	h := &healer{}
	o.Control.Mender, o.Control.Rules = h, mendingRules()
	if change != nil {
		change(&o)
	}
	return New(o), h
}

func call(t *testing.T, h http.Handler, method, path string, order any) (int, api.Doctor) {
	t.Helper()
	body, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest(method, path, bytes.NewReader(body)))
	var d api.Doctor
	_ = json.Unmarshal(r.Body.Bytes(), &d) // an error has no checks
	return r.Code, d
}

// The plan is for what the chosen categories found, and for nothing else.
func TestDoctorFixPlan(t *testing.T) {
	s, h := ward(t, nil, deadLock, openMark, fullDisk)
	_, d := call(t, s, http.MethodGet, "/v1/doctor?category=locks&category=security", nil)
	if len(d.Fix.Actions) != 2 || d.Fix.Actions[0].Subject != "lock//l/lock" || d.Fix.Actions[1].Subject != "landmark//s" || len(d.Fix.Done) != 0 {
		t.Errorf("%+v", d.Fix)
	}
	if len(h.asked) != 2 || len(h.did) != 0 {
		t.Errorf("asked for %v, did %v", h.asked, h.did)
	}
	well, none := ward(t, nil)
	if _, d := call(t, well, http.MethodGet, "/v1/doctor", nil); len(d.Fix.Actions) != 0 || none.asked != nil {
		t.Errorf("with nothing wrong: %+v", d.Fix)
	}
}

// Only what a person was shown is done, and what became of it is told with a new look.
func TestDoctorMend(t *testing.T) {
	s, h := ward(t, nil, deadLock, openMark)
	shown := api.DoctorOrder{Categories: []string{"locks", "security"}, Actions: []api.DoctorDeed{{Do: "mend", Subject: "lock//l/lock", Rule: "lock-dead"}}}
	code, d := call(t, s, http.MethodPost, "/v1/doctor/fix", shown)
	if code != http.StatusOK || len(h.did) != 1 || len(d.Fix.Done) != 1 || d.Fix.Done[0].Subject != "lock//l/lock" || len(d.Checks) == 0 {
		t.Errorf("status %d, did %v, %+v", code, h.did, d.Fix)
	}
	for name, order := range map[string]api.DoctorOrder{
		"nothing":      {},
		"no category":  {Categories: []string{"dsk"}, Actions: shown.Actions},
		"not the rule": {Actions: []api.DoctorDeed{{Do: "mend", Subject: "lock//l/lock", Rule: "lock-dead-idle"}}},
		"not found":    {Categories: []string{"security"}, Actions: shown.Actions},
	} {
		h.did = nil
		if call(t, s, http.MethodPost, "/v1/doctor/fix", order); len(h.did) != 0 {
			t.Errorf("%s: did %v", name, h.did)
		}
	}
}

// An agent may not have anything mended: it is a person's word.
func TestDoctorMendIsForPeople(t *testing.T) {
	s, h := ward(t, func(o *Options) {
		o.AgentOf = func(context.Context, Caller) (string, error) { return "worker", nil }
	}, deadLock)
	order := api.DoctorOrder{Actions: []api.DoctorDeed{{Do: "mend", Subject: "lock//l/lock", Rule: "lock-dead"}}}
	if code, _ := call(t, s, http.MethodPost, "/v1/doctor/fix", order); code == http.StatusOK || len(h.did) != 0 {
		t.Errorf("status %d, did %v", code, h.did)
	}
}

// A damaged database is set aside by whoever opens it to write, where nobody has it open.
func TestDoctorSetsAside(t *testing.T) {
	damaged := func(o *Options) {
		o.Control.Examine = func(context.Context, func(string) bool) (i doctor.Installation) {
			i.Store = doctor.StoreFacts{Path: "/s/db", There: true, Damaged: true, Err: "no database"}
			return i
		}
	}
	s, _ := ward(t, damaged)
	if _, d := call(t, s, http.MethodGet, "/v1/doctor?category=databases", nil); len(d.Fix.Actions) != 1 || d.Fix.Actions[0].Do != "set-database-aside" {
		t.Errorf("%+v", d.Fix)
	}
	if _, d := call(t, s, http.MethodGet, "/v1/doctor?category=disk", nil); len(d.Fix.Actions) != 0 {
		t.Errorf("of the disk: %+v", d.Fix)
	}
	other := api.DoctorOrder{Actions: []api.DoctorDeed{{Do: "mend", Subject: "lock//l/lock", Rule: "lock-dead"}}}
	if code, _ := call(t, s, http.MethodPost, "/v1/doctor/fix", other); code != http.StatusBadRequest {
		t.Errorf("something else was meant: status %d", code)
	}
	s, _ = ward(t, func(o *Options) { damaged(o); o.InProcess = false; o.AgentOf = nil })
	if _, d := call(t, s, http.MethodGet, "/v1/doctor?category=databases", nil); len(d.Fix.Actions) != 0 {
		t.Errorf("beside a daemon: %+v", d.Fix)
	}
}

func TestDoctorRoute(t *testing.T) {
	w := newWorld()
	o := w.options()
	looked := 0
	o.Control.Rules = mendingRules()
	o.Control.Look = counting{w, &looked}.Look
	ask := func(path string) (int, api.Doctor) {
		r := httptest.NewRecorder()
		New(o).ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
		var d api.Doctor
		_ = json.Unmarshal(r.Body.Bytes(), &d) // an error has no checks
		return r.Code, d
	}
	if status, _ := ask("/v1/doctor?category=dsk"); status != http.StatusBadRequest || looked != 0 {
		t.Errorf("a category that is none: status %d, %d looks", status, looked)
	}
	if _, d := ask("/v1/doctor?category=structure"); looked != 0 || d.Counts.OK != 2 {
		t.Errorf("structure: %d looks, %+v", looked, d.Checks)
	}
	full := []fleet.Finding{findingOf("disk-pressure", fleet.KindMount, "/")}
	o.Control.Anew = func(context.Context) { w.pass.Assessment.Findings = full } // it filled up since it was looked at
	if _, d := ask("/v1/doctor?category=disk"); d.Counts.Bad != 1 {
		t.Errorf("a disk that has been full for a moment: %+v", d.Checks)
	}
	looked = 0
	w.lookErr = errors.New("cannot look: no world")
	if _, d := ask("/v1/doctor?category=disk"); looked != 1 || d.Counts.Cannot != 1 || !strings.Contains(d.Checks[0].Why, "no world") {
		t.Errorf("disk: %d looks, %+v", looked, d.Checks)
	}
}

// counting counts looks.
type counting struct {
	*world
	n *int
}

func (c counting) Look(ctx context.Context, within time.Duration) (fleet.Pass, error) {
	*c.n++
	return c.world.Look(ctx, within)
}

// What has not fired yet is no nothing: it is held back until then.
func TestDoctorFixTellsWhatHasNotFired(t *testing.T) {
	young := deadLock
	young.Firing = false
	s, h := ward(t, nil, young)
	_, d := call(t, s, http.MethodGet, "/v1/doctor?category=locks", nil)
	if len(d.Fix.Skipped) != 1 || d.Fix.Skipped[0].Do != "remove-lock" || d.Fix.Skipped[0].Guard != "pending" || len(h.did) != 0 {
		t.Errorf("%+v", d.Fix)
	}
}
