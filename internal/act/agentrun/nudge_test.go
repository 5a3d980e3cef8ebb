package agentrun_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/nudge"
	"custos/internal/agent"
	"custos/internal/fleet"
)

// taught is a small world whose claude is the one that the text describes.
func taught(t *testing.T, composer string) *ground {
	t.Helper()
	g := newGround(t)
	kinds, err := agent.Parse(agent.Source{Name: "custos.toml", Text: []byte("[kind.claude.composer]\n" + composer)})
	if err != nil {
		t.Fatal(err)
	}
	g.world.Kinds = kinds
	return g
}

const clears = `
clear   = ["C-u"]
pasted  = ['^\[Pasted text #\d+(?: \+(?P<lines>\d+) lines)?\]$']
`

const special = clears + `
special = [
  { says = "a shell command", match = '^!', prefix = " " },
  { says = "a command of its own", match = '^\s*/[a-z-]+(?:\s|$)', prefix = "> " },
  { says = "a file's name to complete", match = '@\S+$', suffix = " " },
  { says = "a note to itself", match = '^#', refuse = true },
]
`

// nudged is a nudge, and what is said of its arrival.
func (g *ground) nudged(name, text string, o nudge.Options) (string, *fleet.Arrival, error) {
	g.t.Helper()
	o.World = g.world
	x, err := nudge.New(o)
	if err != nil {
		g.t.Fatal(err)
	}
	a := fleet.Action{Target: fleet.Target{Agent: g.seen(name, fleet.StateIdle)}, Text: text, By: "eve"}
	g.arrived = nil
	effect, err := g.perform(x, a)
	return effect, g.arrived, err
}

// What the CLI takes for a shell command, a command of its own, or a name to complete
// arrives as the prompt that it is; and what nothing makes one is refused for good.
func TestNudgeOfWhatIsSpecial(t *testing.T) {
	g := taught(t, special)
	g.ready("picky", "--fake", "special")
	texts := []string{"!important: look", "/compact is no order", "look at @main"}
	for _, text := range texts {
		effect, arrived, err := g.nudged("picky", text, nudge.Options{})
		if err != nil || arrived == nil || arrived.Outcome != fleet.OutcomeDelivered || arrived.Proof != fleet.ProofHook || !strings.Contains(effect, "typed between \"") {
			t.Errorf("%q: %q, %+v, %v", text, effect, arrived, err)
		}
		g.awaitReady("picky")
	}
	got := g.noted("prompt")
	if len(got) != len(texts) || len(g.noted("command")) > 0 {
		t.Fatalf("it took %q for prompts, and %q for commands", got, g.noted("command"))
	}
	for i, text := range texts {
		if !strings.Contains(got[i], text) {
			t.Errorf("%q arrived as %q", text, got[i])
		}
	}
	_, arrived, err := g.nudged("picky", "# remember", nudge.Options{})
	wantNever(t, err, "claude would take it for a note to itself")
	if arrived != nil {
		t.Errorf("nothing was typed, and it is said %+v", arrived)
	}
}

// A text that the agent does not take is taken away again, short or long: the next one is
// not kept out by it.
func TestNudgeTakesItsOwnTextBack(t *testing.T) {
	g := taught(t, clears)
	g.ready("deaf", "--fake", "deaf")
	for _, text := range []string{"do it now", strings.Repeat("a line of many\n", 60), strings.Repeat("word ", 30)} {
		_, arrived, err := g.nudged("deaf", text, nudge.Options{Acknowledge: "1s", Again: "200ms"})
		if err == nil || errors.Is(err, act.ErrRefused) || arrived == nil || arrived.Outcome != fleet.OutcomeNot || !strings.Contains(arrived.Why, "removed from there") {
			t.Fatalf("%.20q: %+v, %v", text, arrived, err)
		}
		if !strings.HasPrefix(err.Error(), "not delivered: ") {
			t.Errorf("it says %q", err)
		}
	}
	if got := g.noted("prompt"); len(got) > 0 {
		t.Errorf("it got %q", got)
	}
	k, _ := g.world.Kinds.Get("claude")
	if empty, known := agent.ComposerEmpty(k, g.screen("deaf")).Get(); !known || !empty {
		t.Errorf("its prompt is not empty:\n%s", g.screen("deaf"))
	}
}

// One that has told nothing yet, and whose kind does not tell that it began, may be starting
// still: it has longer to take its first text. opencode, whose text was taken away from its
// input line before it had read that line, sent an empty prompt.
func TestTheFirstTextHasLonger(t *testing.T) {
	g := taught(t, clears+"\n[kind.claude.hooks]\ntells_start = false\n")
	g.ready("deaf", "--fake", "deaf")
	for told, want := range map[bool]string{false: "not within 900ms", true: "not within 300ms"} {
		g.world.Hooks = func(context.Context, string, fleet.Instant) (events []fleet.HookEvent, err error) {
			if told {
				events = append(events, fleet.HookEvent{Event: fleet.HookSessionStart})
			}
			return events, nil
		}
		_, arrived, err := g.nudged("deaf", "do it now", nudge.Options{Acknowledge: "300ms", Again: "100ms"})
		if err == nil || arrived == nil || !strings.Contains(arrived.Why, want) {
			t.Errorf("told something before: %v: %+v, %v", told, arrived, err)
		}
	}
}

// Who is held up by an error is told to go on, and one whose conversation is too long to make
// it shorter: by the very command of its CLI, which is typed as it is.
func TestNudgeOfOneThatIsHeldUp(t *testing.T) {
	g := taught(t, special+"\n[kind.claude]\ncompact_command = \"/compact\"\n")
	g.ready("full", "--fake", "special")
	for text, c := range map[string]struct {
		state   fleet.AgentState
		failure string
		says    string
	}{
		nudge.Compact: {fleet.StateContextHigh, "context", ""},
		"go on":       {fleet.StateAuthLost, "authentication", ""},
		"wait":        {fleet.StateRateLimited, "", "it is rate_limited, not idle"},
	} {
		x, err := nudge.New(nudge.Options{World: g.world})
		if err != nil {
			t.Fatal(err)
		}
		a := g.seen("full", c.state)
		a.Failure = c.failure
		_, err = g.perform(x, fleet.Action{Target: fleet.Target{Agent: a}, Text: text})
		if c.says != "" {
			wantRefused(t, err, c.says)
			continue
		}
		if err != nil || g.arrived == nil || g.arrived.Outcome != fleet.OutcomeDelivered {
			t.Errorf("%q: %+v, %v", text, g.arrived, err)
		}
		g.awaitReady("full")
	}
	if prompts, commands := g.noted("prompt"), g.noted("command"); !slices.Equal(prompts, []string{"go on"}) || !slices.Equal(commands, []string{"/compact"}) {
		t.Errorf("it took %q for prompts, and %q for commands", prompts, commands)
	}
	x, err := nudge.New(nudge.Options{World: g.world})
	if err != nil {
		t.Fatal(err)
	}
	a := fleet.Action{Target: fleet.Target{Agent: g.seen("full", fleet.StateIdle)}, Text: "/review all", Command: true, By: "eve"}
	if _, err := g.perform(x, a); err != nil || !slices.Contains(g.noted("command"), "/review all") {
		t.Errorf("what a person means as a command: %v; %q", err, g.noted("command"))
	}
	g.world.Kinds, _ = agent.Parse(agent.Source{Name: "custos.toml", Text: []byte("[kind.claude]\ncompact_command = \"\"\n")})
	_, _, err = g.nudged("full", nudge.Compact, nudge.Options{})
	wantNever(t, err, "it is not known how claude makes its conversation shorter")
}

// meddling is a nudge during which something else happens, once the text is typed.
type meddling struct {
	act.Action
	done func()
}

type meddled struct {
	act.Run
	done func()
}

func (m meddling) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	run, err := m.Action.Prepare(ctx, a)
	return meddled{run, m.done}, err
}

func (m meddled) Verify(ctx context.Context) (string, error) {
	m.done()
	return m.Run.Verify(ctx)
}

func (m meddled) Arrived() *fleet.Arrival {
	return m.Run.(interface{ Arrived() *fleet.Arrival }).Arrived()
}

// What a person has added to it, or written instead, stays as it is, letter by letter; so
// does a text of a kind whose keys are not known.
func TestNudgeTakesNothingOfAPersonsAway(t *testing.T) {
	for name, c := range map[string]struct {
		composer, writes, says string
	}{
		"added":   {clears, "half do it now, please", "something else"},
		"instead": {clears, "half my own words", "something else"},
		"no keys": {"clear = []", "", "not known which keys"},
		"no help": {`clear = ["Left"]`, "", "took nothing away"},
	} {
		t.Run(name, func(t *testing.T) {
			g := taught(t, c.composer)
			control := t.TempDir() + "/control"
			g.ready("deaf", "--control", control, "--fake", "deaf")
			x, err := nudge.New(nudge.Options{World: g.world, Acknowledge: "2s"})
			if err != nil {
				t.Fatal(err)
			}
			meddled := meddling{Action: x, done: func() {
				if c.writes == "" {
					return
				}
				if err := os.WriteFile(control, []byte(c.writes+"\n"), 0o600); err != nil {
					t.Error(err)
				}
				g.await("a person's words", func() bool {
					return strings.Contains(g.screen("deaf"), strings.TrimPrefix(c.writes, "half "))
				})
			}}
			g.arrived = nil
			_, err = g.perform(meddled, fleet.Action{Target: fleet.Target{Agent: g.seen("deaf", fleet.StateIdle)}, Text: "do it now", By: "eve"})
			if err == nil || g.arrived == nil || c.writes == "" && (g.arrived.Outcome != fleet.OutcomeNot || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%+v, %v", g.arrived, err)
			}
			if c.writes != "" && g.arrived.Outcome != fleet.OutcomeUnknown {
				t.Errorf("somebody wrote there, and it is said %+v", g.arrived)
			}
			want := strings.TrimPrefix(c.writes, "half ")
			if c.writes == "" {
				want = "do it now"
			}
			if !slices.ContainsFunc(strings.Split(g.screen("deaf"), "\n"), func(l string) bool {
				return strings.TrimSpace(strings.ReplaceAll(l, "❯", " ")) == want
			}) {
				t.Errorf("%q is gone:\n%s", want, g.screen("deaf"))
			}
		})
	}
}
