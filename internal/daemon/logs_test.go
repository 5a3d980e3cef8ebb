package daemon_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// What a headless agent wrote is told after its end, too, and then what its next
// instance writes.
func TestLogsOfAgents(t *testing.T) {
	w := newTown(t, "")
	c := w.client()
	w.spawn("well", "reply all is done", true)
	w.awaitState("well", "finished")
	all, err := c.Log(t.Context(), "well", api.LogQuery{Lines: 50})
	if err != nil || !strings.Contains(all.Text, "all is done") || !all.Ended || all.Rest != "" {
		t.Errorf("%+v, %v", all, err)
	}
	if more, err := c.Log(t.Context(), "well", api.LogQuery{Lines: 50, After: all.Next}); err != nil || more.Text != "" || more.Gap || more.Next != all.Next {
		t.Errorf("told twice: %+v, %v", more, err)
	}
	w.spawn("busy", "work 1h", true)
	pid := w.awaitState("busy", "working", "idle", "starting").PID
	first, err := c.Log(t.Context(), "busy", api.LogQuery{Lines: 50})
	if err != nil || first.Ended {
		t.Errorf("%+v, %v", first, err)
	}
	if _, err := c.Log(t.Context(), "busy", api.LogQuery{Lines: 50, After: all.Next}); !isKind(err, api.BadInput) {
		t.Errorf("another agent's log was gone on with: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	next := first
	await(t, w.said.String, func() bool {
		if next, err = c.Log(t.Context(), "busy", api.LogQuery{Lines: 50, After: next.Next}); err != nil {
			t.Fatal(err)
		}
		return next.Instance != first.Instance && next.Text != ""
	})
}

func TestNothingIsKeptOfATerminal(t *testing.T) {
	w := newTown(t, "")
	w.spawn("seen", "reply hello", false)
	w.awaitState("seen", "idle")
	_, err := w.client().Log(t.Context(), "seen", api.LogQuery{Lines: 50})
	if e := (*api.Error)(nil); !errors.As(err, &e) || e.Kind != api.NotFound || e.Hint != "custos peek seen" {
		t.Errorf("%v", err)
	}
}

func isKind(err error, kind string) bool {
	e := (*api.Error)(nil)
	return errors.As(err, &e) && e.Kind == kind
}
