package sessions_test

import (
	"errors"
	"testing"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
	"custos/internal/observe/sessions"
	"custos/internal/session/sessiontest"
)

func probe(t *testing.T, f *sessiontest.Fake) *sessions.Probe {
	t.Helper()
	p, err := sessions.New(sessions.Options{Viewer: f})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSuite(t *testing.T) {
	f := &sessiontest.Fake{}
	f.Open(t, "one", "hello")
	observetest.Test(t, func() observe.Probe { return probe(t, f) })
}

func TestNoServerIsAbsent(t *testing.T) {
	if _, err := probe(t, &sessiontest.Fake{}).Look(t.Context()); !errors.Is(err, observe.ErrAbsent) {
		t.Errorf("%v, want ErrAbsent", err)
	}
}

func TestSilentServerHidesNoOther(t *testing.T) {
	f := &sessiontest.Fake{}
	silent := errors.New("cannot ask tmux server /tmp/x")
	f.Set([]fleet.Pane{{Session: "one"}}, silent)
	put, err := probe(t, f).Look(t.Context())
	if !errors.Is(err, silent) {
		t.Errorf("error %v", err)
	}
	var s fleet.Snapshot
	put(&s)
	if len(s.Sessions.Value) != 1 {
		t.Errorf("%d panes, want 1", len(s.Sessions.Value))
	}
	f.Set(nil, silent)
	if put, err := probe(t, f).Look(t.Context()); put != nil || err == nil || errors.Is(err, observe.ErrAbsent) {
		t.Errorf("only silent servers: %v; want a blindness", err)
	}
}

func TestViewerIsNeeded(t *testing.T) {
	if _, err := sessions.New(sessions.Options{}); err == nil {
		t.Error("no viewer, no error")
	}
}
