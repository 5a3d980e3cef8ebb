package nudge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session"
)

// completer is a terminal of Qwen Code. Enter ends the completion of the last word where it has
// one, and leaves it there; else it sends what is typed, or is lost. A person may come at a look,
// type, and go at a later one.
type completer struct {
	session.Provider
	typed            string // what stands there, a person's letters in capitals
	makes            map[string]string
	late             int // looks after Enter until it is completed
	deaf             bool
	looks, due       int
	come, types, go_ int
	words            string
	taken            string // of a person's, by keys of ours
	sent             []string
}

func (c *completer) Panes(context.Context) ([]fleet.Pane, error) {
	c.looks++
	if c.looks == c.types {
		c.typed += c.words
	}
	if c.looks == c.due {
		c.complete()
	}
	here := c.words != "" && c.looks >= c.come && c.looks < c.go_
	p := fleet.Pane{Activity: fleet.Known(fleet.Duration(time.Hour))}
	if here {
		p.Attached = 1
	}
	return []fleet.Pane{p}, nil
}

func (c *completer) complete() {
	for word, made := range c.makes {
		if before, ok := strings.CutSuffix(c.typed, word); ok {
			c.typed = before + made
			return
		}
	}
}

func (c *completer) Screen(ctx context.Context, id fleet.PaneID, n int) (string, error) {
	return (&line{typed: c.typed}).Screen(ctx, id, n)
}

func (c *completer) Type(_ context.Context, _ fleet.PaneID, in session.Input) error {
	was := c.typed
	switch {
	case in.Text != "":
		c.typed += in.Text
		return nil
	case in.Key == session.KeyEnter:
		c.enter()
		return nil
	case in.Key == "BSpace":
		c.typed = was[:max(0, len(was)-1)]
	default:
		c.typed = ""
	}
	for _, r := range was[len(c.typed):] {
		if r >= 'A' && r <= 'Z' {
			c.taken += string(r)
		}
	}
	return nil
}

func (c *completer) enter() {
	for word := range c.makes {
		if strings.HasSuffix(c.typed, word) {
			c.due = c.looks + c.late
			if c.late == 0 {
				c.complete()
			}
			return
		}
	}
	if !c.deaf {
		c.sent, c.typed = append(c.sent, c.typed), ""
	}
}

// nudges types a text there, and says what became of it.
func (c *completer) nudges(t *testing.T, k agent.Kind, text string) (arrival *fleet.Arrival, err error) {
	synctest.Test(t, func(t *testing.T) {
		world := agentrun.World{Providers: map[fleet.Where]session.Provider{fleet.WhereTmux: c},
			Now: func() fleet.Instant { return fleet.Instant{Wall: time.Now(), Boot: "b"} }}
		r := &run{Live: &agentrun.Live{Kind: k, Provider: c, World: world, Agent: fleet.Agent{State: fleet.StateIdle, Instance: "i"}},
			x: &Action{World: world, echo: time.Second, acknowledge: 3 * time.Second, again: time.Second}, text: text, typed: text, talks: true}
		if err = r.Do(t.Context()); err == nil {
			_, err = r.Verify(t.Context())
			arrival = r.Arrived()
		}
	})
	return arrival, err
}

func qwen(t *testing.T) agent.Kind {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	k, _ := kinds.Get("qwen")
	return k
}

var made = map[string]string{"/comp": "/compress ", "@read": "@readme.md ", "$sk": "skill-creator ", "/": "/model"}

// What the CLI's completion made of a text is taken away again, too: it would keep out every
// later one.
func TestWhatACompletionMadeIsTakenBack(t *testing.T) {
	k := qwen(t)
	for _, late := range []int{0, 1, 5} {
		for _, text := range []string{"/comp", "look at @read", "use $sk", "/"} {
			c := &completer{makes: made, late: late}
			arrival, err := c.nudges(t, k, text)
			if err == nil || arrival == nil || arrival.Outcome != fleet.OutcomeNot || !strings.Contains(arrival.Why, "end of a completion") || c.typed != "" || len(c.sent) > 0 {
				t.Errorf("%q, %d looks late: %+v, %v; there stands %q, sent %q", text, late, arrival, err, c.typed, c.sent)
			}
		}
	}
}

// A person may come at any moment, type, and go: nothing that they typed is taken away. With
// nobody there, nothing of ours stays.
func TestNothingOfAPersonsIsTakenForACompletion(t *testing.T) {
	k := qwen(t)
	rapid.Check(t, func(rt *rapid.T) {
		c := &completer{makes: made, late: rapid.IntRange(0, 30).Draw(rt, "late"), deaf: rapid.Bool().Draw(rt, "deaf")}
		text := rapid.SampledFrom([]string{"/comp", "look at @read", "use $sk", "/", "go on with it"}).Draw(rt, "text")
		c.words = rapid.SampledFrom([]string{"", "X", " PLEASE", "\n  X", "/X", "@X", " "}).Draw(rt, "a person's words")
		c.come = rapid.IntRange(1, 90).Draw(rt, "come")
		c.types = c.come + rapid.IntRange(0, 10).Draw(rt, "and type")
		c.go_ = c.types + rapid.IntRange(1, 10).Draw(rt, "and go")
		arrival, err := c.nudges(t, k, text)
		if c.taken != "" {
			rt.Errorf("%q of a person's is gone", c.taken)
		}
		if c.words == "" && c.typed != "" {
			rt.Errorf("%q stays: %s", c.typed, fmt.Sprint(arrival, err))
		}
	})
}
