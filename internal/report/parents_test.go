package report

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

func child(name string) fleet.Subject { return fleet.Subject{Kind: fleet.KindAgent, Name: name} }

// family is a pass with a lead, a worker of it that crashed, and a loner.
func family() fleet.Pass {
	p := pass(nil, nil)
	p.Past.StartedAt = at(0)
	p.Past.Registrations = []fleet.Registration{{Name: "lead"}, {Name: "loner"}, {Name: "self", Parent: "self"}, {Name: "worker", Parent: "lead"}}
	p.Snapshot.Agents = fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: []fleet.Agent{
		{Name: "worker", Signals: []fleet.Signal{{Source: "shim", Says: "x"}, {Source: fleet.SourceOutput, Says: "panic: no disk"}}}}}
	p.Assessment.Rules = map[string]fleet.Remedy{"agent-crashed": {Attempts: fleet.Attempts{Max: 3}}}
	p.Policy.Agents.Orders.Attempts.Max = 7
	return p
}

func crash(name string) fleet.AlertKey {
	return fleet.AlertKey{Rule: "agent-crashed", Subject: child(name)}
}

func recovery(name string, attempt int) fleet.Action {
	return fleet.Action{ID: "a-" + name, Do: "recover", Subject: child(name), For: crash(name), Why: "it crashed", Attempt: attempt}
}

func ended(name string, status fleet.ResultStatus) fleet.Result {
	return fleet.Result{ActionID: "a-" + name, Do: "recover", Subject: child(name), For: crash(name), Status: status, Why: "it was started and has ended again", Ended: at(4)}
}

func only[T any](t *testing.T, list []T) T {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("%d messages: %+v", len(list), list)
	}
	return list[0]
}

// A parent is told of each try, of what came of it, and urgently that none is
// made any more; with the try, of how many, and what the agent printed last.
func TestParents(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fleet.Pass) []fleet.Result
		want   fleet.Mail
	}{
		"attempt": {func(p *fleet.Pass) []fleet.Result {
			p.Plan.Actions = []fleet.Action{recovery("worker", 2)}
			return nil
		}, fleet.Mail{Head: fleet.Head{Key: "recovery_attempt/a-worker"}, Priority: fleet.P3,
			Subject: "agent worker is being recovered (attempt 2 of 3)", Body: "it crashed\npanic: no disk"}},
		"ordered": {func(p *fleet.Pass) []fleet.Result {
			a := recovery("worker", 1)
			a.Order, a.For = "o1", fleet.AlertKey{}
			p.Plan.Actions = []fleet.Action{a}
			return nil
		}, fleet.Mail{Head: fleet.Head{Key: "recovery_attempt/a-worker"}, Priority: fleet.P3,
			Subject: "agent worker is being recovered (attempt 1 of 7)", Body: "it crashed\npanic: no disk"}},
		"success": {func(p *fleet.Pass) []fleet.Result {
			p.Past.Actions = []fleet.ActionRecord{{Action: recovery("worker", 2)}}
			r := ended("worker", fleet.ResultDone)
			r.Effect, r.Why = "runs as process 7", ""
			return []fleet.Result{r}
		}, fleet.Mail{Head: fleet.Head{Key: "recovery_success/a-worker"}, Priority: fleet.P3,
			Subject: "agent worker is recovered (attempt 2 of 3)", Body: "done: runs as process 7"}},
		"failure": {func(p *fleet.Pass) []fleet.Result {
			p.Assessment.Rules = nil
			p.Past.Actions = []fleet.ActionRecord{{Action: recovery("worker", 2)}}
			return []fleet.Result{ended("worker", fleet.ResultFailed)}
		}, fleet.Mail{Head: fleet.Head{Key: "recovery_failed/a-worker"}, Priority: fleet.P3,
			Subject: "agent worker could not be recovered (attempt 2)", Body: "failed: it was started and has ended again\npanic: no disk"}},
		"exhaustion": {func(p *fleet.Pass) []fleet.Result {
			p.Plan.Failed = []fleet.Failing{{Agent: "worker", Why: "3 attempts in 1h", Until: at(59)}}
			return nil
		}, fleet.Mail{Head: fleet.Head{Key: "recovery_exhausted/worker/2026-11-20T09:05:00Z"}, Priority: fleet.P1,
			Subject: "agent worker is not recovered any more",
			Body:    "3 attempts in 1h\nthe next try by itself is possible after 2026-11-20 09:59 UTC\npanic: no disk"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := family()
			m := only(t, News(p, c.change(&p)))
			got := only(t, News(p, c.change(&p)))
			if !reflect.DeepEqual(m, got) {
				t.Errorf("drafted again it is another: %+v, %+v", m, got)
			}
			if got.To[0] != "lead" || got.From != fleet.ByCustos || got.Type != fleet.MailNews || got.About != "worker" || got.At != p.Snapshot.At {
				t.Errorf("it is for %q, about %q, at %v", got.To, got.About, got.At)
			}
			got.To, got.From, got.Type, got.About, got.At = nil, "", "", "", fleet.Instant{}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("told %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// Nobody is told of what is not a recovery, or of an agent that has no parent.
func TestParentsAreToldOfTheirOwn(t *testing.T) {
	p := family()
	stop := recovery("worker", 1)
	stop.Do = "stop"
	p.Plan.Actions = []fleet.Action{stop, recovery("loner", 1), recovery("self", 1), recovery("stranger", 1)}
	p.Plan.Failed = []fleet.Failing{{Agent: "loner", Why: "x"}}
	other := ended("worker", fleet.ResultFailed)
	other.Do = "nudge"
	if got := News(p, []fleet.Result{other, ended("loner", fleet.ResultFailed)}); len(got) != 0 {
		t.Errorf("told %+v", got)
	}
}

// What an earlier Custos wrote down and may not have told is told by the next, in
// its first minute; what this one did comes as a result.
func TestParentsAfterARestart(t *testing.T) {
	p := family()
	early, own := ended("worker", fleet.ResultDone), ended("loner", fleet.ResultDone)
	early.Ended, own.Ended = at(3), at(5)
	p.Past.StartedAt = at(4)
	p.Past.Actions = []fleet.ActionRecord{{Action: recovery("worker", 1), Result: &early}, {Action: recovery("loner", 1), Result: &own}}
	if m := only(t, News(p, nil)); m.Key != "recovery_success/a-worker" {
		t.Errorf("told %+v", m)
	}
	p.Snapshot.At = at(30)
	if got := News(p, nil); len(got) != 0 {
		t.Errorf("much later it is told again: %+v", got)
	}
}

// Whatever happens, mail for a parent is no message for people, has a key of
// its own, and holds no line that its agent could have made up as a header.
func TestParentsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := family()
		words := rapid.StringN(0, 60, 2000).Draw(t, "words")
		p.Snapshot.Agents.Value[0].Signals[1].Says = words
		var done []fleet.Result
		for _, s := range rapid.SliceOf(rapid.SampledFrom([]fleet.ResultStatus{fleet.ResultDone, fleet.ResultFailed, fleet.ResultInDoubt, fleet.ResultRefused})).Draw(t, "results") {
			r := ended("worker", s)
			r.ActionID, r.Why = rapid.StringMatching(`[a-z0-9]{12}`).Draw(t, "id"), words
			done = append(done, r)
		}
		seen := map[string]bool{}
		for _, m := range News(p, done) {
			if m.To[0] == "" || m.Key == "" || seen[m.Key] && len(done) < 2 || strings.Count(m.Body, "\n") > 2 || strings.Contains(m.Subject, "\n") {
				t.Fatalf("%+v", m)
			}
			seen[m.Key] = true
		}
		if n := len(News(p, done)); n != len(done) || len(Draft(p, done)) != 0 {
			t.Fatalf("%d results, %d mails; people are told %+v", len(done), n, Draft(p, done))
		}
	})
}

// A parent is told once that its child is silent: when that begins, and not of what is told already, unless Custos has just
// begun.
func TestParentsHearOfSilence(t *testing.T) {
	finding := func(rule, agent string) fleet.Finding {
		return fleet.Finding{AlertKey: fleet.AlertKey{Rule: rule, Subject: child(agent)}, Firing: true, Since: at(3), Summary: agent + " is idle for 2h"}
	}
	p := family()
	p.Assessment.Findings = []fleet.Finding{finding("agent-idle-long", "worker"), finding("agent-idle-long", "loner"), finding("agent-memory-high", "worker")}
	m := only(t, News(p, nil))
	if m.To[0] != "lead" || m.Subject != "agent worker is silent" || m.Body != "worker is idle for 2h" || m.Key != only(t, News(p, nil)).Key {
		t.Errorf("%+v", m)
	}
	p.Past.Alerts = []fleet.Alert{{AlertKey: p.Assessment.Findings[0].AlertKey, Status: fleet.AlertFiring}}
	p.Past.StartedAt = p.Snapshot.At.Add(-2 * afterStart)
	if again := News(p, nil); len(again) != 0 {
		t.Errorf("%+v", again)
	}
	p.Past.StartedAt = p.Snapshot.At
	if m2 := only(t, News(p, nil)); m2.Key != m.Key {
		t.Errorf("%+v", m2)
	}
}
