package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custos/internal/fleet"
)

// judgement is the end of a triage of agent x, at that instant.
func judgement(id, evidence string, when fleet.Instant) fleet.Result {
	k := fleet.AlertKey{Rule: "agent-stuck", Subject: agentSubject("x")}
	return fleet.Result{ActionID: id, Do: "triage", Subject: agentSubject("x"), For: k, Status: fleet.ResultDone, Began: when, Ended: when,
		Verdict: &fleet.Verdict{Evidence: evidence, Word: fleet.VerdictExtend, Confidence: 0.8, Reason: "it\ncompiles", Judge: "anthropic m",
			Tokens: 100, MicroUSD: 2000, Priced: true}}
}

func TestVerdictIsKeptOnce(t *testing.T) {
	s := fresh(t)
	a := fleet.Action{ID: "t1", Do: "triage", Subject: agentSubject("x"), For: judgement("t1", "h1", at(0)).For}
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Plan: fleet.Plan{Actions: []fleet.Action{a}}}))
	for range 2 {
		ok(t, s.Finish(t.Context(), judgement("t1", "h1", at(time.Minute))))
	}
	second := judgement("t2", "h1", at(time.Hour))
	second.Verdict.Free = true
	ok(t, s.Finish(t.Context(), second))
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "t3", Status: fleet.ResultFailed, Ended: at(time.Hour)}))
	v := *judgement("t1", "h1", at(0)).Verdict
	v.ID, v.Alert, v.At = "t1", a.For, at(time.Minute)
	list, err := list[fleet.Verdict](t.Context(), s, "list verdicts", source{table: "verdicts", key: "id", where: "ORDER BY seq"})
	ok(t, err)
	if len(list) != 2 || list[1].ID != "t2" {
		t.Fatalf("verdicts %s", asJSON(list))
	}
	if d := cmp.Diff(asJSON(v), asJSON(list[0])); d != "" {
		t.Errorf("verdict:\n%s", d)
	}
	newest, known, err := s.VerdictOf(t.Context(), "h1")
	ok(t, err)
	if !known || newest.ID != "t2" {
		t.Errorf("newest %v %s", known, asJSON(newest))
	}
	if _, known, err := s.VerdictOf(t.Context(), "h9"); err != nil || known {
		t.Errorf("a verdict on what was never asked: %v", err)
	}
	events, err := s.Events(t.Context(), 0, 0, EventFilter{Rule: "agent-stuck", Action: "t1"})
	ok(t, err)
	if last := events[len(events)-1]; last.Kind != "verdict" || last.Text != "extend, 80 % sure, by anthropic m: "+fleet.Line("it\ncompiles", 99) {
		t.Errorf("event %s", asJSON(last))
	}
}

func TestVerdictsFade(t *testing.T) {
	s := fresh(t)
	day := 24 * time.Hour
	ok(t, s.Finish(t.Context(), judgement("t1", "h1", at(0))))
	if p := past(t, s, at(23*time.Hour)); len(p.Verdicts) != 1 {
		t.Errorf("forgotten within a day: %s", asJSON(p.Verdicts))
	}
	if p := past(t, s, at(25*time.Hour)); len(p.Verdicts) != 0 {
		t.Errorf("remembered after a day: %s", asJSON(p.Verdicts))
	}
	ok(t, s.Trim(t.Context(), at(89*day)))
	if _, known, err := s.VerdictOf(t.Context(), "h1"); err != nil || !known {
		t.Errorf("the receipt is gone after 89 days: %v", err)
	}
	ok(t, s.Trim(t.Context(), at(91*day)))
	if _, known, err := s.VerdictOf(t.Context(), "h1"); err != nil || known {
		t.Errorf("the receipt is there after 91 days: %v", err)
	}
}

func TestDamagedVerdictIsSetAside(t *testing.T) {
	s := fresh(t)
	ok(t, s.Finish(t.Context(), judgement("t1", "h1", at(0))))
	ok(t, s.Finish(t.Context(), judgement("t2", "h1", at(0))))
	_, err := s.w.Exec("UPDATE verdicts SET json = '{' WHERE id = 't2'")
	ok(t, err)
	if list, err := s.Costs(t.Context(), at(0), "day"); err != nil || len(list) != 1 || list[0].Calls != 1 {
		t.Errorf("costs %s, %v", asJSON(list), err)
	}
	if p := past(t, s, at(1)); len(p.Verdicts) != 1 {
		t.Errorf("past %s", asJSON(p.Verdicts))
	}
	aside, err := s.SetAside(t.Context())
	ok(t, err)
	if len(aside) != 1 || aside[0].What != "verdicts" || aside[0].Key != "t2" {
		t.Errorf("set aside %s", asJSON(aside))
	}
}

func TestCosts(t *testing.T) {
	s := fresh(t)
	day := 24 * time.Hour
	spend := func(id, alert string, when fleet.Instant, change func(*fleet.Verdict)) {
		r := judgement(id, "h", when)
		r.For.Subject.Name = alert
		change(r.Verdict)
		ok(t, s.Finish(t.Context(), r))
	}
	as := func(*fleet.Verdict) {}
	spend("t0", "x", at(-day), as)
	spend("t1", "x", at(0), as)
	spend("t2", "x", at(time.Hour), func(v *fleet.Verdict) { v.Priced, v.MicroUSD = false, 0 })
	spend("t3", "x", at(time.Hour), func(v *fleet.Verdict) { v.Free = true })
	spend("t4", "y", at(time.Hour), as)
	spend("t5", "x", at(day), as)
	r := runOf("r1", "deploy")
	r.Session, r.Tokens, r.MicroUSD = &fleet.RunSession{Agent: "r1", Starts: 2}, 5000, 70_000
	taken(t, s, r)
	taken(t, s, runOf("r2", "no session"))
	unpriced := runOf("r3", "mute")
	unpriced.Session = &fleet.RunSession{Agent: "r3", Starts: 1}
	taken(t, s, unpriced)
	seen := runOf("r4", "watched") // its responses are rows: what it tells itself counts no more
	seen.Session, seen.Tokens, seen.MicroUSD = &fleet.RunSession{Agent: "r4", Starts: 1}, 9999, 9999
	taken(t, s, seen)
	response := func(id string, when time.Duration, change func(*fleet.Usage)) fleet.Usage {
		u := response(id, when, 10, 1)
		change(&u)
		return u
	}
	ok(t, s.AddUsage(t.Context(), []fleet.Usage{
		response("old", -25*time.Hour, func(*fleet.Usage) {}),
		response("early", -10*time.Hour+time.Second, func(*fleet.Usage) {}), // of the 19th, at 23:00
		response("r4", 0, func(u *fleet.Usage) { u.Run, u.Agent, u.Tokens.CacheRead = "r4", "r4", 1000 }),
		response("told", 0, func(u *fleet.Usage) { u.Pricing, u.MicroUSD, u.Model = fleet.PricedByCLI, 9, "gpt-5" }),
		response("unpriced", 0, func(u *fleet.Usage) { u.Pricing, u.Model, u.Agent = fleet.Unpriced, "new", "bob" }),
	}, nil))
	for by, want := range map[string][]fleet.Cost{
		"day": {{Key: "2026-11-19", Calls: 1, Tokens: 11, Output: 1, Table: 75}, {Key: "2026-11-20", Calls: 9, Tokens: 6333, Cached: 1000, Output: 3, Told: 74_009, Table: 75, Unpriced: 3},
			{Key: "2026-11-21", Calls: 1, Tokens: 100, Told: 2000}},
		"alert": {{Key: "(agents)", Calls: 7, Tokens: 6044, Cached: 1000, Output: 4, Told: 70_009, Table: 150, Unpriced: 2}, {Key: "agent-stuck agent/x", Calls: 3, Tokens: 300, Told: 4000, Unpriced: 1},
			{Key: "agent-stuck agent/y", Calls: 1, Tokens: 100, Told: 2000}},
		"agent": {{Key: "", Calls: 2, Tokens: 22, Output: 2, Told: 9, Table: 75}, {Key: "(judge)", Calls: 4, Tokens: 400, Told: 6000, Unpriced: 1}, {Key: "bob", Calls: 1, Tokens: 11, Output: 1, Unpriced: 1},
			{Key: "r1", Calls: 2, Tokens: 5000, Told: 70_000}, {Key: "r3", Calls: 1, Unpriced: 1}, {Key: "r4", Calls: 1, Tokens: 1011, Cached: 1000, Output: 1, Table: 75}},
		"formula": {{Key: "", Calls: 3, Tokens: 33, Output: 3, Told: 9, Table: 75, Unpriced: 1}, {Key: "(judge)", Calls: 4, Tokens: 400, Told: 6000, Unpriced: 1},
			{Key: "deploy", Calls: 2, Tokens: 5000, Told: 70_000}, {Key: "mute", Calls: 1, Unpriced: 1}, {Key: "watched", Calls: 1, Tokens: 1011, Cached: 1000, Output: 1, Table: 75}},
	} {
		list, err := s.Costs(t.Context(), at(-10*time.Hour), by)
		ok(t, err)
		if d := cmp.Diff(want, list); d != "" {
			t.Errorf("costs by %s (- want, + got):\n%s", by, d)
		}
	}
	for _, by := range fleet.CostBys() {
		list, err := s.Costs(t.Context(), at(-10*time.Hour), by)
		ok(t, err)
		var sum fleet.Cost
		for _, c := range list {
			sum.Add(c)
		}
		if want := (fleet.Cost{Calls: 11, Tokens: 6444, Cached: 1000, Output: 4, Told: 76_009, Table: 150, Unpriced: 3}); sum != want {
			t.Errorf("all by %s: %+v; want %+v", by, sum, want)
		}
	}
	if _, err := s.Costs(t.Context(), at(0), "1; DROP TABLE runs"); err == nil {
		t.Error("by anything")
	}
}

// A model's word that an agent is to be ended is a failure of that agent, of the
// second tier, once: of one that we started and of one that was adopted.
func TestAVerdictIsAFailure(t *testing.T) {
	for word, fails := range map[fleet.VerdictWord]bool{fleet.VerdictStop: true, fleet.VerdictRestart: true, fleet.VerdictExtend: false, fleet.VerdictAsk: false, fleet.VerdictRetry: false} {
		for _, owner := range []fleet.Owner{fleet.OwnerCustos, fleet.OwnerAdopted} {
			t.Run(string(word)+" "+string(owner), func(t *testing.T) {
				s := fresh(t)
				r := registered("a")
				r.Owner = owner
				register(t, s, r)
				says(t, s, "a", "x1", fleet.Verdict{Evidence: "e1", Word: word, Confidence: 0.9, Reason: "it goes\nround and round", Judge: "anthropic m"})
				says(t, s, "a", "x2", fleet.Verdict{Evidence: "e1", Word: word, Confidence: 0.9, Reason: "it goes\nround and round", Judge: "anthropic m", Free: true})
				list, err := s.Failures(t.Context(), FailureFilter{Agent: "a"})
				ok(t, err)
				if !fails {
					if len(list) != 0 {
						t.Errorf("%s", asJSON(list))
					}
					return
				}
				if len(list) != 1 || list[0].Tier != 1 || list[0].Verdict != string(word) || list[0].Role != "dev" || list[0].Task != "t-1" ||
					list[0].Reason != string(word)+", 90 % sure, by anthropic m: "+fleet.Line("it goes\nround and round", 99) {
					t.Errorf("%s", asJSON(list))
				}
			})
		}
	}
}

// says has a judgement of an agent end with a verdict.
func says(t *testing.T, s *Store, agent, id string, v fleet.Verdict) {
	t.Helper()
	a := agentAction(id, "triage")
	a.Subject = agentSubject(agent)
	a.For = fleet.AlertKey{Rule: "agent-stuck", Subject: a.Subject}
	v.Alert, v.At = a.For, at(time.Second)
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(1), Plan: fleet.Plan{Actions: []fleet.Action{a}}}))
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: id, Do: "triage", Status: fleet.ResultDone, Ended: at(2 * time.Second), For: a.For, Subject: a.Subject, Verdict: &v}))
}
