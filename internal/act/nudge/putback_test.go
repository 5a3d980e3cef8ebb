package nudge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/session"
)

// line is a terminal of Qwen Code with one line that can be typed into.
type line struct {
	session.Provider
	typed string
	stays bool // its keys take nothing away
	sent  []string
	keys  []session.Key
}

func (l *line) Panes(context.Context) ([]fleet.Pane, error) { return []fleet.Pane{{}}, nil }

func (l *line) Screen(context.Context, fleet.PaneID, int) (string, error) {
	rule := strings.Repeat("─", 40)
	if l.typed == "" {
		return rule + "\n>   Type your message or @path/to/file\n" + rule + "\n  ? for shortcuts", nil
	}
	return rule + "\n> " + l.typed + "\n" + rule + "\n  ? for shortcuts", nil
}

func (l *line) Type(_ context.Context, _ fleet.PaneID, in session.Input) error {
	switch {
	case in.Text != "":
		l.typed += in.Text
	case in.Key == session.KeyEnter:
		l.sent, l.typed = append(l.sent, l.typed), ""
	default:
		l.keys = append(l.keys, in.Key)
		if !l.stays {
			l.typed = ""
		}
	}
	return nil
}

// TestAPromptThatWasPutBackIsTakenAwayBeforeANudge: what its CLI put back at an interrupt is not
// a person's; everything else that stands there is.
func TestAPromptThatWasPutBackIsTakenAwayBeforeANudge(t *testing.T) {
	for name, c := range map[string]struct {
		stands, told string
		stays        bool
		refused      string
	}{
		"its last prompt":            {"think first", "think first", false, ""},
		"a person's":                 {"think first", "think", false, "half-written"},
		"nothing was told":           {"think first", "", false, "half-written"},
		"its keys take nothing away": {"think first", "think first", true, "took nothing away"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kinds, err := agent.Parse()
				if err != nil {
					t.Fatal(err)
				}
				k, _ := kinds.Get("qwen")
				p := &line{typed: c.stands, stays: c.stays}
				world := agentrun.World{Providers: map[fleet.Where]session.Provider{fleet.WhereTmux: p}, Now: func() fleet.Instant { return fleet.Instant{Wall: time.Now(), Boot: "b"} },
					Hooks: func(context.Context, string, fleet.Instant) ([]fleet.HookEvent, error) {
						return []fleet.HookEvent{{Event: fleet.HookPrompt, Text: conversation.PromptLine(c.told)}}, nil
					}}
				r := &run{Live: &agentrun.Live{Kind: k, Provider: p, World: world, Agent: fleet.Agent{State: fleet.StateIdle, Instance: "i"}},
					x: &Action{World: world, echo: time.Second}, text: "go on", typed: "go on"}
				if err := r.clear(t.Context()); c.refused != "half-written" && (err != nil || len(p.keys) > 0) {
					t.Fatalf("before it is done: %v, %v", err, p.keys)
				}
				err = r.Do(t.Context())
				switch {
				case c.refused == "" && (err != nil || len(p.sent) != 1 || p.sent[0] != "go on"):
					t.Errorf("%v, sent %q, keys %v", err, p.sent, p.keys)
				case c.refused != "" && (!errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), c.refused) || len(p.sent) > 0 || p.typed != c.stands):
					t.Errorf("%v, sent %q; want it refused: %s", err, p.sent, c.refused)
				}
			})
		})
	}
}
