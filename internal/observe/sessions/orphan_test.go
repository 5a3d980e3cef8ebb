package sessions_test

import (
	"context"
	"errors"
	"testing"

	"custos/internal/fleet"
	"custos/internal/observe/sessions"
	"custos/internal/session/sessiontest"
)

// Whose a session is may not be known: then it is neither an orphan nor none.
func TestOrphans(t *testing.T) {
	f := &sessiontest.Fake{}
	f.Set([]fleet.Pane{{Session: "ours"}, {Session: "stray"}}, nil)
	look := func(orphan func(context.Context) (func(fleet.Pane) fleet.Leaf[bool], error)) []fleet.Pane {
		p, err := sessions.New(sessions.Options{Viewer: f, Orphan: orphan})
		if err != nil {
			t.Fatal(err)
		}
		put, err := p.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var s fleet.Snapshot
		put(&s)
		return s.Sessions.Value
	}
	got := look(func(context.Context) (func(fleet.Pane) fleet.Leaf[bool], error) {
		return func(p fleet.Pane) fleet.Leaf[bool] { return fleet.Known(p.Session == "stray") }, nil
	})
	if a, known := got[0].Orphan.Get(); !known || a || !got[1].Orphan.Or(false) {
		t.Errorf("%+v", got)
	}
	for name, ask := range map[string]func(context.Context) (func(fleet.Pane) fleet.Leaf[bool], error){
		"nobody told": nil,
		"it failed":   func(context.Context) (func(fleet.Pane) fleet.Leaf[bool], error) { return nil, errors.New("locked") },
	} {
		if got := look(ask); got[0].Orphan.IsKnown() || got[1].Orphan.IsKnown() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
