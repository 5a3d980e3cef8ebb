package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session"
)

// drawing is a terminal whose screen is another one at each look; the last one stays.
type drawing struct {
	session.Provider
	screens []string
	typed   []session.Key
}

func (d *drawing) Panes(context.Context) ([]fleet.Pane, error) { return []fleet.Pane{{}}, nil }

func (d *drawing) Screen(context.Context, fleet.PaneID, int) (string, error) {
	text := d.screens[0]
	if len(d.screens) > 1 {
		d.screens = d.screens[1:]
	}
	return text, nil
}

func (d *drawing) Type(_ context.Context, _ fleet.PaneID, in session.Input) error {
	d.typed = append(d.typed, in.Key)
	return nil
}

func asks(command string) string {
	return fmt.Sprintf("────────────\n Bash command\n   %s\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel", command)
}

const bare = "────────────\n❯ \n────────────\n  ? for shortcuts"

// answering is a run of the answer yes to the dialog that a screen shows.
func answering(t *testing.T, to string, screens ...string) (*run, *drawing) {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	k, _ := kinds.Get("claude")
	d, ok := agent.ReadDialog(k, to, "")
	if !ok {
		t.Fatalf("no dialog in %q", to)
	}
	p := &drawing{screens: screens}
	live := &agentrun.Live{Kind: k, Provider: p, World: agentrun.World{Providers: map[fleet.Where]session.Provider{fleet.WhereTmux: p}}}
	return &run{Live: live, x: &Action{gone: 5 * time.Second}, action: fleet.Action{Text: "yes", Dialog: d.Hash, By: "eve"}}, p
}

// TestTheDialogIsWaitedForWhileItIsDrawn: at the instant of answering a CLI may be drawing its
// dialog once more; nothing is pressed but in the very one that was answered.
func TestTheDialogIsWaitedForWhileItIsDrawn(t *testing.T) {
	whole, half := asks("touch a b"), asks("touch a")
	for name, c := range map[string]struct {
		screens []string
		refused string
	}{
		"it stands":         {[]string{whole}, ""},
		"it is half drawn":  {[]string{half, half, whole}, ""},
		"its screen is off": {[]string{bare, bare, whole}, ""},
		"another one":       {[]string{half}, "another one now"},
		"gone":              {[]string{bare}, "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, p := answering(t, whole, c.screens...)
				err := r.Do(t.Context())
				switch {
				case c.refused == "" && (err != nil || len(p.typed) != 1 || p.typed[0] != "1"):
					t.Errorf("%v, typed %v", err, p.typed)
				case c.refused != "" && (!errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), c.refused) || len(p.typed) > 0):
					t.Errorf("%v, typed %v; want it refused: %s", err, p.typed, c.refused)
				}
			})
		})
	}
}

// TestADialogThatIsOffForOneLookIsNotGone: while a CLI draws, its screen may show none.
func TestADialogThatIsOffForOneLookIsNotGone(t *testing.T) {
	whole := asks("touch a b")
	for name, c := range map[string]struct {
		screens []string
		gone    bool
	}{
		"off for one look": {[]string{whole, bare, whole}, false},
		"gone":             {[]string{whole, bare}, true},
		"another one":      {[]string{whole, asks("touch c")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := answering(t, whole, c.screens...)
				if err := r.Do(t.Context()); err != nil {
					t.Fatal(err)
				}
				if said, err := r.Verify(t.Context()); (err == nil) != c.gone || r.Arrived() == nil || (r.Arrived().Outcome == fleet.OutcomeDelivered) != c.gone {
					t.Errorf("%q, %v, %+v", said, err, r.Arrived())
				}
			})
		})
	}
}
