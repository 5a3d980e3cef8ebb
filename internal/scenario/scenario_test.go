package scenario_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/scenario"
	"custos/internal/view"
)

func kinds(t testing.TB) *agent.Kinds {
	t.Helper()
	k, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestMistakesNameTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "it has no story",
		"-- a --\n":                            `cannot read f:2: story "a" has no moment`,
		"note\n-- a --\nat soon\n":             `cannot read f:3: at takes a duration since the start, such as 0s or 1h30m, not "soon"`,
		"-- a --\nat -1s\n":                    `cannot read f:2: at takes a duration`,
		"-- a --\nat 1m\nat 0s\n":              `cannot read f:3: 0s comes after 1m0s`,
		"-- a --\nat 0s sometimes\n":           `cannot read f:2: after the duration comes nothing, or patrol, not "sometimes"`,
		"-- a --\nwant firing\n":               `cannot read f:2: "want" comes before the first moment`,
		"-- a --\nat 0s\nclock back x\n":       `cannot read f:3: clock back takes a duration such as 10m, not "back x"`,
		"-- a --\nat 0s\nsett agent {}\n":      `cannot read f:3: no line begins with "sett", did you mean "set"?`,
		"-- a --\nat 0s\n-- b --\nat 0s\nx\n":  `cannot read f:5: no line begins with "x"`,
		"-- screen s --\nx\n-- b --\nat 0s\nx": `cannot read f:5: no line begins with "x"`,
	} {
		if _, err := scenario.Read("f", []byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestMistakesOfAMoment(t *testing.T) {
	for line, want := range map[string]string{
		`set agnt {}`:                            `there is no "agnt" to set, did you mean "agent"?`,
		`set agent {"state": "crahsed"}`:         `state: "crahsed" is none of starting, `,
		`set agent {"sate": "idle"}`:             `unknown field "sate"`,
		`set agent {"state": "idle"} {}`:         `something stands behind it`,
		`set agent {`:                            `unexpected EOF`,
		`part agnets {}`:                         `there is no part "agnets", did you mean "agents"?`,
		`part agents {"status": "fine"}`:         `status: "fine" is none of ok, `,
		`gone host`:                              `"host" cannot be gone`,
		`signals lock {}`:                        `only an agent has signals`,
		`signals agent/worker {"screen": "@no"}`: `there is no section -- screen no --`,
		`signals agent/worker {"colour": "red"}`: `unknown field "colour"`,
		`signals agent/worker {"hooks": [{"event": "tool-begn"}]}`: `there is no event "tool-begn", did you mean "tool-begin"?`,
		`gone agent/nobody`:                                 `there is no agent "nobody" to be gone`,
		`agents worker worker`:                              `agent "worker" stands there twice`,
		`signals agent/worker {"ended": {"signal": 99999}}`: `a signal from 1 to 64`,
	} {
		f, err := scenario.Read("f", []byte("-- a --\nat 0s\n"+line+"\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = f.Stories[0].Steps[0].Snapshot(kinds(t)); err == nil || !strings.Contains(err.Error(), "cannot read f:3: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestAMomentBeginsFromTheHealthyWorld: what was changed at one moment is not at the next,
// but for what stands before the first.
func TestAMomentBeginsFromTheHealthyWorld(t *testing.T) {
	f, err := scenario.Read("f", []byte("-- a --\nagents one two\nat 0s\nset agent/one {\"state\": \"idle\"}\ngone lock\nat 90s patrol\ngone agent/two\nset agent/three {\"rss\": 5}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	steps := f.Stories[0].Steps
	first, err := steps[0].Snapshot(kinds(t))
	if err != nil || len(first.Agents.Value) != 2 || first.Agents.Value[0].State != fleet.StateIdle || len(first.Locks.Value) != 0 {
		t.Errorf("%v: %+v", err, first.Agents.Value)
	}
	second, err := steps[1].Snapshot(kinds(t))
	if err != nil || second.At.Since(first.At) != 90*time.Second || len(second.Locks.Value) != 1 || !steps[1].Patrol {
		t.Errorf("%v: %+v", err, second)
	}
	if a := second.Agents.Value; len(a) != 2 || a[0].Name != "one" || a[0].State != fleet.StateWorking || a[1].Name != "three" || a[1].RSS.Or(0) != 5 {
		t.Errorf("%+v", a)
	}
}

// TestStatesThatThereAre: no state that a record can be in is refused.
func TestStatesThatThereAre(t *testing.T) {
	for _, line := range []string{"move work/w1 in progress", "move work/w1 <- w2 resolved", "move work/w1 <- shop#12 dropped", "move convoy/c1 done", "move mail/m1 bounced",
		"move mail/m1 new", "move gate/g1 closed", "move agent/a wanted running, given up", "move trigger/t happened", "move run/r/1 running, being ended"} {
		f, err := scenario.Read("f", []byte("-- a --\nat 0s\n"+line+"\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		if missed, err := f.Stories[0].Steps[0].Check(fleet.Pass{}, known); err != nil || len(missed) != 1 {
			t.Errorf("%s: %v, missed %v", line, err, missed)
		}
	}
}

// TestWhatIsOnlyNotedIsNoMove: a record that is written as it stood has not moved.
func TestWhatIsOnlyNotedIsNoMove(t *testing.T) {
	f, err := scenario.Read("f", []byte("-- a --\nat 0s\nno moves\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	var p fleet.Pass
	p.Plan.Moves = []fleet.Move{{Record: fleet.Subject{Kind: fleet.KindMail, Name: "m1"}, From: "known", To: "known"}}
	if missed, err := f.Stories[0].Steps[0].Check(p, known); err != nil || len(missed) > 0 {
		t.Errorf("%v, missed %v", err, missed)
	}
	if shown := view.Simulated(p, 3, 0); len(shown.Moves) > 0 {
		t.Errorf("shown is %+v", shown.Moves)
	}
}

var known = scenario.Known{Rules: []string{"disk-pressure", "r"}, Actions: []string{"stop", "recover"}}

// TestWantsAreMissed: each want is missed by a world that has nothing to say, or met.
func TestWantsAreMissed(t *testing.T) {
	for line, met := range map[string]bool{
		"want none": true, "want firing": false, "want held": false, "want cannot-tell": false, "want fresh": false, "want P2": false, "want causes x": false,
		"want summary full": false, "wish stop agent/worker": false, "no wishes": true, "state agent/worker working": true, "state agent/worker idle": false,
		"state agent/other idle": false, "do stop agent/worker": false, "skip stop agent/worker mode": false, "move gate/g closed": false,
		"no actions": true, "no alerts": true, "no moves": true,
	} {
		f, err := scenario.Read("f", []byte("-- a --\nat 0s\n"+line+"\n"), "disk-pressure")
		if err != nil {
			t.Fatal(err)
		}
		missed, err := f.Stories[0].Steps[0].Check(fleet.Pass{Snapshot: scenario.Healthy(scenario.Start())}, known)
		if err != nil || (len(missed) == 0) != met {
			t.Errorf("%s: %v, missed %+v", line, err, missed)
		}
	}
	for _, line := range []string{"want fring", "no alarms", "rule disk-presure\nwant none", "rule nonsuch\nno wishes", "state agent/worker sleepy", "state agent/worker",
		"do stpo agent/worker", "skip stop agent/worker gatee", "wish recovr agent/worker"} {
		f, err := scenario.Read("f", []byte("-- a --\nat 0s\n"+line+"\n"), "disk-pressure")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Stories[0].Steps[0].Check(fleet.Pass{}, known); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("cannot read f:%d: ", 3+strings.Count(line, "\n"))) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// FuzzRead: no text breaks the reader, and what can be read can be seen or is refused.
func FuzzRead(f *testing.F) {
	f.Add("-- custos.toml --\nx\n-- a --\nagents b c\nat 0s\nset agent/b {\"state\":\"idle\"}\nsignals agent/c {\"ended\":{\"signal\":9}}\nrule r\nwant firing\nno actions\n")
	f.Add("-- a --\nat 1m patrol\nclock back 1h\ngone lock\npart agents {\"status\":\"stale\"}\nwish? stop agent/b\n-- screen s --\n> \n")
	all := kinds(f)
	f.Fuzz(func(_ *testing.T, text string) {
		file, err := scenario.Read("f", []byte(text), "r")
		if err != nil {
			return
		}
		for _, s := range file.Stories {
			for _, step := range s.Steps {
				if seen, err := step.Snapshot(all); err == nil {
					_, _ = step.Check(fleet.Pass{Snapshot: seen}, known)
				}
			}
		}
	})
}
