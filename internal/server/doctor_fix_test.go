package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// healer is a Mender over plans by hand: each alert leads to one action of its own.
type healer struct {
	asked []fleet.AlertKey
	did   []string
	blind error // why it cannot look
}

func (h *healer) actions(of []fleet.AlertKey) (out []fleet.Action) {
	for _, k := range of {
		out = append(out, fleet.Action{ID: k.Rule, Do: "mend", Subject: k.Subject, For: k})
	}
	return out
}

func (h *healer) Mending(_ context.Context, of []fleet.AlertKey) (fleet.Plan, error) {
	h.asked = of
	return fleet.Plan{Actions: h.actions(of)}, h.blind
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

// ward is a server whose patients are ill in the given ways.
func ward(t *testing.T, change func(*Options), ill ...sick) (http.Handler, *healer) {
	t.Helper()
	e := wellInstalled()
	for _, k := range ill {
		k.spoil(patient{e, &e.Pass.Snapshot, &e.Pass.Past})
	}
	w := newWorld()
	o := w.options()
	h := &healer{}
	o.Cycle, o.Mender, o.InProcess, o.Rules = seeing{w, *e.Pass}, h, true, ruleList(e.Rules)
	o.Examine = func(context.Context, func(string) bool) Installation { return e.Installation }
	if change != nil {
		change(&o)
	}
	return New(o), h
}

type seeing struct {
	Cycle
	pass fleet.Pass
}

func (s seeing) Look(context.Context, time.Duration) (fleet.Pass, error) { return s.pass, nil }

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
	s, h := ward(t, nil, foundBy("lock-dead"), foundBy("landmark-open"), foundBy("disk-pressure"))
	_, d := call(t, s, http.MethodGet, "/v1/doctor?category=locks&category=security", nil)
	if len(d.Fix.Actions) != 2 || d.Fix.Actions[0].Subject != "lock//l/lock" || d.Fix.Actions[1].Subject != "landmark//s" || len(d.Fix.Done) != 0 {
		t.Errorf("%+v", d.Fix)
	}
	if len(h.asked) != 2 || len(h.did) != 0 {
		t.Errorf("asked for %v, did %v", h.asked, h.did)
	}
	h.blind = errors.New("no world")
	if _, d := call(t, s, http.MethodGet, "/v1/doctor?category=locks", nil); len(d.Fix.Actions) != 0 || d.Fix.Cannot != "no world" {
		t.Errorf("where nobody can look: %+v", d.Fix)
	}
	well, none := ward(t, nil)
	if _, d := call(t, well, http.MethodGet, "/v1/doctor", nil); len(d.Fix.Actions) != 0 || none.asked != nil {
		t.Errorf("with nothing wrong: %+v", d.Fix)
	}
}

// Only what a person was shown is done, and what became of it is told with a new look.
func TestDoctorMend(t *testing.T) {
	s, h := ward(t, nil, foundBy("lock-dead"), foundBy("landmark-open"))
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
	}, foundBy("lock-dead"))
	order := api.DoctorOrder{Actions: []api.DoctorDeed{{Do: "mend", Subject: "lock//l/lock", Rule: "lock-dead"}}}
	if code, _ := call(t, s, http.MethodPost, "/v1/doctor/fix", order); code == http.StatusOK || len(h.did) != 0 {
		t.Errorf("status %d, did %v", code, h.did)
	}
}

// A damaged database is set aside by whoever opens it to write, where nobody has it open.
func TestDoctorSetsAside(t *testing.T) {
	damaged := sick{spoil: func(x patient) {
		x.Installation.Store = StoreFacts{Path: "/s/db", There: true, Damaged: true, Err: "no database"}
	}}
	s, _ := ward(t, nil, damaged)
	if _, d := call(t, s, http.MethodGet, "/v1/doctor?category=databases", nil); len(d.Fix.Actions) != 1 || d.Fix.Actions[0].Do != doSetAside {
		t.Errorf("%+v", d.Fix)
	}
	if _, d := call(t, s, http.MethodGet, "/v1/doctor?category=disk", nil); len(d.Fix.Actions) != 0 {
		t.Errorf("of the disk: %+v", d.Fix)
	}
	other := api.DoctorOrder{Actions: []api.DoctorDeed{{Do: "mend", Subject: "lock//l/lock", Rule: "lock-dead"}}}
	if code, _ := call(t, s, http.MethodPost, "/v1/doctor/fix", other); code != http.StatusBadRequest {
		t.Errorf("something else was meant: status %d", code)
	}
	s, _ = ward(t, func(o *Options) { o.InProcess = false; o.AgentOf = nil }, damaged)
	if _, d := call(t, s, http.MethodGet, "/v1/doctor?category=databases", nil); len(d.Fix.Actions) != 0 {
		t.Errorf("beside a daemon: %+v", d.Fix)
	}
	after := Examination{Installation: Installation{Store: StoreFacts{There: true, Aside: []string{"/s/db.corrupt-1"}}}}
	before := Examination{Installation: Installation{Store: StoreFacts{There: true, Damaged: true}}}
	if out := began(before, after); len(out) != 1 || out[0].Status != "done" || out[0].Effect != "set aside as /s/db.corrupt-1" {
		t.Errorf("%+v", out)
	}
	if out := began(before, before); len(out) != 1 || out[0].Status != "failed" {
		t.Errorf("when it did not work: %+v", out)
	}
}
