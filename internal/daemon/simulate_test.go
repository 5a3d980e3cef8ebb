package daemon_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
)

func simulate(t *testing.T, text string) (api.Simulation, error) {
	t.Helper()
	home := t.TempDir()
	cfg, err := config.Load(config.Options{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }, Sections: daemon.Sections()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := daemon.Simulate(t.Context(), cfg, daemon.Options{Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, "night.txtar", []byte(text))
	if left, _ := filepath.Glob(filepath.Join(home, "*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	return s, err
}

// TestStoriesOfThePage: each file that docs/simulate.md shows comes to what it wants.
func TestStoriesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?s)```txtar\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(files) < 2 {
		t.Fatalf("the page shows %d files", len(files))
	}
	for _, f := range files {
		s, err := simulate(t, f[1])
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Wants == 0 || len(s.Missed) > 0 {
			t.Errorf("%d wants; missed: %+v", s.Wants, s.Missed)
		}
	}
}

// TestStoriesOfTheRules: the cases of the built-in rules are such files.
func TestStoriesOfTheRules(t *testing.T) {
	section := regexp.MustCompile(`(?m)^-- .* --$`)
	for _, rule := range []string{"disk-pressure", "agent-crashed", "lock-dead"} {
		text, err := os.ReadFile(filepath.Join("../assess/testdata", rule+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		told := section.ReplaceAllString(string(text), "$0\nrule "+rule)
		if s, err := simulate(t, told); err != nil || s.Wants < 10 || len(s.Missed) > 0 {
			t.Errorf("%s: %v: %d wants, missed %+v", rule, err, s.Wants, s.Missed)
		}
	}
}

// TestAStoryIsRemembered: attempts are spent from moment to moment.
func TestAStoryIsRemembered(t *testing.T) {
	const dies = "signals agent/worker {\"ended\": {\"signal\": 9, \"ago\": \"5m\"}}\n"
	text := "-- custos.toml --\nmode = \"auto\"\n[rule.agent-crashed]\nattempts = \"1 in 1h\"\n-- again --\nat 0s\n" + dies + "at 10m\n" + dies + "at 20m\nat 30m\n" + dies +
		"do recover agent/worker\n"
	s, err := simulate(t, text)
	if err != nil || len(s.Missed) != 1 || !strings.Contains(s.Missed[0].Says, "planned is nothing") || s.Missed[0].Line != 13 {
		t.Fatalf("%v: %+v", err, s)
	}
	did := 0
	for _, m := range s.Stories[0].Moments {
		did += len(m.Actions)
	}
	if last := s.Stories[0].Moments[3]; did != 1 || len(last.Skipped) != 1 || last.Skipped[0].Guard != "attempts" {
		t.Errorf("%d actions; at last %+v", did, last.Skipped)
	}
}

func TestAMistakeInAStory(t *testing.T) {
	for text, want := range map[string]string{
		"-- a --\nat 0s\nset agent {\"state\": \"crahsed\"}\n":                      `cannot read night.txtar:3: state: "crahsed" is none of starting, `,
		"-- custos.toml --\nmode = \"autoo\"\n-- a --\nat 0s\n":                     `cannot read night.txtar:2: mode: "autoo" is none of observe, ask, auto`,
		"-- custos.toml --\n\n[rule.disk-pressure]\nwhen = \"(\"\n-- a --\nat 0s\n": `night.txtar:4`,
		"-- a --\nat 0s\nwant firing\n":                                             `cannot read night.txtar:3: of which rule?`,
	} {
		if _, err := simulate(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestIdleWithWorkGetsLouder: an agent that does nothing though it has a task is nudged
// after ten minutes, again a quarter of an hour later, and once more a quarter of an hour
// after that. A person is told after the third, and within the hour whatever holds the
// next one back. Nothing is typed where a person types, or a draft stands.
func TestIdleWithWorkGetsLouder(t *testing.T) {
	const story = `
-- custos.toml --
mode = "auto"

-- three nudges and a person --
rule agent-idle-with-work
at 9m
set agent/worker {"state": "idle", "dwell": "9m", "task": "issue 7"}
want none
at 11m
set agent/worker {"state": "idle", "dwell": "11m", "task": "issue 7"}
want P3
do nudge agent/worker
at 25m
set agent/worker {"state": "idle", "dwell": "25m", "task": "issue 7"}
skip nudge agent/worker cooldown
at 27m
set agent/worker {"state": "idle", "dwell": "27m", "task": "issue 7"}
do nudge agent/worker
rule agent-idle-long
want none
at 41m
set agent/worker {"state": "idle", "dwell": "41m", "task": "issue 7"}
skip nudge agent/worker cooldown
want none
at 43m
set agent/worker {"state": "idle", "dwell": "43m", "task": "issue 7"}
do nudge agent/worker
want none
at 44m
set agent/worker {"state": "idle", "dwell": "44m", "task": "issue 7"}
no actions
want firing
want P2
want summary worker is idle for 44m, was nudged 3 times, and its task waits: issue 7

-- it answers each, and goes on with nothing --
at 11m
set agent/worker {"state": "idle", "dwell": "11m", "task": "issue 7"}
do nudge agent/worker
at 27m
set agent/worker {"state": "idle", "dwell": "15m", "task": "issue 7"}
do nudge agent/worker
at 43m
set agent/worker {"state": "idle", "dwell": "15m", "task": "issue 7"}
do nudge agent/worker
at 54m
set agent/worker {"state": "idle", "dwell": "10m30s", "task": "issue 7"}
rule agent-idle-long
want P2

-- a person types, or a draft stands --
rule agent-idle-with-work
at 0s
set agent/worker {"state": "idle", "dwell": "11m", "task": "issue 7", "pane": {"attached": 1, "activity": "5s"}}
skip nudge agent/worker state
at 20m
set agent/worker {"state": "idle", "dwell": "31m", "task": "issue 7", "pane": {"attached": 0, "activity": "20m"}, "composer_empty": false}
skip nudge agent/worker state
at 51m
set agent/worker {"state": "idle", "dwell": "62m", "task": "issue 7", "pane": {"attached": 0, "activity": "20m"}, "composer_empty": false}
rule agent-idle-long
want P2
want summary worker is idle for 1h2m, and its task waits: issue 7

-- a draft stands in the input line of which nothing else is said --
rule agent-idle-with-work
at 0s
set agent/worker {"state": "idle", "dwell": "11m", "task": "issue 7", "composer_empty": false}
skip nudge agent/worker state
at 1m
set agent/worker {"state": "idle", "dwell": "12m", "task": "issue 7", "composer_empty": {"unknown": "not looked at"}}
skip nudge agent/worker state
`
	s, err := simulate(t, story)
	if err != nil || s.Wants < 20 || len(s.Missed) > 0 {
		t.Errorf("%v: %d wants, missed %+v", err, s.Wants, s.Missed)
	}
}

// TestTheHealthScanRestartsWhoWasAdopted: the restart of who is unresponsive for three
// patrols, or stuck for three minutes, is a stop and what follows from it. It holds for an
// adopted agent with a command to start it by as for ours; of one without, a person is told.
func TestTheHealthScanRestartsWhoWasAdopted(t *testing.T) {
	const story = `
-- custos.toml --
mode = "auto"
[rule.agent-stuck]
mode = "auto"

-- unresponsive --
rule agent-unresponsive
at 0s
set agent/worker {"owner":"OWNER","state":"idle","progress":"none","cycles":3,"dwell":"5m"}
do stop agent/worker
at 1m
signals agent/worker {"ended": {"signal": 15, "ago": "2m", "asked": "@custos"}}
set agent/worker {"owner":"OWNER"}
do recover agent/worker

-- stuck --
rule agent-stuck
at 0s
set agent/worker {"owner":"OWNER","state":"stuck","progress":"none","dwell":"90s"}
do nudge agent/worker
at 3m
set agent/worker {"owner":"OWNER","state":"stuck","progress":"none","dwell":"4m"}
do triage agent/worker
at 6m
set agent/worker {"owner":"OWNER","state":"stuck","progress":"none","dwell":"7m"}
do stop agent/worker
at 9m
signals agent/worker {"ended": {"signal": 15, "ago": "2m", "asked": "@custos"}}
set agent/worker {"owner":"OWNER"}
do recover agent/worker

-- nothing starts it --
at 0s
set agent/worker {"owner":"adopted","restart":"never","state":"stuck","progress":"none","cycles":5,"dwell":"1h"}
do nudge agent/worker
rule agent-unresponsive-long
want P1
at 10m
set agent/worker {"owner":"adopted","restart":"never","state":"stuck","progress":"none","cycles":5,"dwell":"1h10m"}
no actions
`
	for _, owner := range []string{"custos", "adopted"} {
		s, err := simulate(t, strings.ReplaceAll(story, "OWNER", owner))
		if err != nil || s.Wants < 9 || len(s.Missed) > 0 {
			t.Errorf("%s: %v: %d wants, missed %+v", owner, err, s.Wants, s.Missed)
		}
	}
}

// TestAStoryWritesRecords: what people and agents write in it goes the way of theirs, and
// what follows from it by itself is moved, planned and remembered.
func TestAStoryWritesRecords(t *testing.T) {
	const story = `
-- custos.toml --
mode = "auto"

-- a gate is closed when its time comes --
set agent/worker {"state": "idle"}
at 0s
ask gates add {"type": "timer", "title": "The limit is over", "for": "2h", "waiters": ["worker"]}
record gate/g1 open
at 1h
no moves
at 2h
move gate/g1 closed
record gate/g1 closed
at 2h0m5s
at 2h0m10s
do nudge agent/worker
at 2h0m15s
record mail/m1 told
at 2h1m
ask agent/worker mail change m1 {"do": "read"}
record mail/m1 read
at 3h
no moves

-- a gate with an expression --
at 0s
ask gates add {"type": "condition", "title": "There is room", "when": "host.memory.available > gib(9)"}
no moves
at 1m
set host {"memory": {"total": 17179869184, "available": 10737418240}}
move gate/g1 closed

-- a convoy is done with its last member --
at 0s
ask work add {"title": "Mend the uploader"}
ask work add {"title": "Release", "needs": ["w1"]}
ask convoys add {"title": "1.2", "members": ["w1", "w2"], "notify": ["worker"]}
record work/w1 open
at 1m
ask agent/worker work change w1 {"do": "take"}
record work/w1 in progress
at 2m
ask agent/worker work change w1 {"do": "close"}
ask work change w2 {"do": "close"}
move convoy/c1 done
at 3m
record convoy/c1 done
record work/w2 closed

-- an agent asks a person --
at 0s
ask agent/worker mail add {"to": ["overseer"], "subject": "Which port?", "type": "question"}
record mail/m1 told
`
	s, err := simulate(t, story)
	if err != nil || s.Wants < 12 || len(s.Missed) > 0 {
		t.Fatalf("%v: %d wants, missed %+v", err, s.Wants, s.Missed)
	}
}

// TestAStoryHasPools: what a daemon would have started is ordered. A story's host is box1 of a hub, and workers of such
// a host have its name in theirs.
func TestAStoryHasPools(t *testing.T) {
	const story = `
-- custos.toml --
mode = "auto"
[pool.reviewers]
role = "reviewer"
kind = "claude"
min = 1
max = 1
prompt = "Review what waits."
argv = ["claude"]
dir = "/"
-- one is wanted --
at 0s
agents
at 1m
agents
do spawn agent/reviewers-box1-261120-0900-1
`
	s, err := simulate(t, story)
	if err != nil || len(s.Missed) > 0 {
		t.Fatalf("%v: missed %+v in %+v", err, s.Missed, s.Stories)
	}
}

func TestAMistakeInWhatIsAsked(t *testing.T) {
	for ask, want := range map[string]string{
		"ask gate add {}":                             `there is no noun "gate" to ask for, did you mean "gates"?`,
		"ask gates ad {}":                             `there is no "ad" of gates to ask for, did you mean "add"?`,
		"ask gates list {}":                           `there is no "list" of gates to ask for`,
		"ask gates add {\"sort\": 1}":                 `unknown field "sort"`,
		"ask gates add {\"type\": \"timer\"}":         "cannot add a gate",
		"ask gates close g7 {\"why\": \"x\"}":         `cannot find gate "g7"`,
		"ask gates":                                   "ask takes a noun, a verb, perhaps an ID, and {…}",
		"ask work change shop#12 {\"do\": \"close\"}": "a story closes no work of other trackers",
		"ask agent/nobody mail add {}":                `there is no agent "nobody" to ask`,
		"rule disk-presure":                           `there is no rule "disk-presure", did you mean "disk-pressure"?`,
		"state agent/worker working or idle":          `after the state comes nothing, not "or idle"`,
		"move gate/g1 clossed":                        `there is no state "clossed" of a gate, did you mean "closed"?`,
		"record gate/g1 opne":                         `there is no state "opne" of a gate, did you mean "open"?`,
		"record gates/g1 open":                        `there is no record "gates/g1"`,
	} {
		if _, err := simulate(t, "-- a --\nat 0s\n"+ask+"\n"); err == nil || strings.Count(err.Error(), "night.txtar:3: ") != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ask, err, want)
		}
	}
}
