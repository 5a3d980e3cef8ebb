package agent

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestOnlyNewsOfAStatusLineIsKept(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC), Boot: "b", Up: fleet.Duration(time.Hour)}
	base := fleet.HookEvent{Event: fleet.HookStatus, At: at, Session: "s", Context: fleet.Known(40.2), Status: &fleet.StatusReport{Model: "m", Used: fleet.Known[int64](100), Window: fleet.Known[int64](200000)}}
	with := func(change func(*fleet.HookEvent)) fleet.HookEvent {
		e := base
		s := *base.Status
		e.Status, e.At = &s, at.Add(time.Second)
		change(&e)
		return e
	}
	for name, c := range map[string]struct {
		now  fleet.HookEvent
		news bool
	}{
		"the same":         {with(func(*fleet.HookEvent) {}), false},
		"a few tokens":     {with(func(e *fleet.HookEvent) { e.Context, e.Status.Used = fleet.Known(40.9), fleet.Known[int64](104) }), false},
		"half a minute":    {with(func(e *fleet.HookEvent) { e.At = at.Add(30 * time.Second) }), true},
		"a per cent":       {with(func(e *fleet.HookEvent) { e.Context = fleet.Known(41.0) }), true},
		"not known now":    {with(func(e *fleet.HookEvent) { e.Context = fleet.Unknown[float64]("not told") }), true},
		"a limit":          {with(func(e *fleet.HookEvent) { e.Text = "rate_limit" }), true},
		"another model":    {with(func(e *fleet.HookEvent) { e.Status.Model = "n" }), true},
		"another window":   {with(func(e *fleet.HookEvent) { e.Status.Window = fleet.Known[int64](1000000) }), true},
		"another session":  {with(func(e *fleet.HookEvent) { e.Session = "t" }), true},
		"nothing of it is": {with(func(e *fleet.HookEvent) { e.Status = nil }), true},
	} {
		if got := StatusNews(base, c.now); got != c.news {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !StatusNews(fleet.HookEvent{}, base) {
		t.Error("the first is no news")
	}
}
