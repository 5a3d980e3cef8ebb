package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
)

func human(title string) api.GateRequest { return api.GateRequest{Type: "human", Title: title} }

// TestGateOfAnAgent: an agent waits, and takes back what it made. It gives no
// command, closes no gate, and passes for nobody else.
func TestGateOfAnAgent(t *testing.T) {
	w := newWorld()
	c := client(w)
	mine, err := c.AddGate(t.Context(), human("of a person"))
	if err != nil {
		t.Fatal(err)
	}
	w.agent = "builder"
	own, err := c.AddGate(t.Context(), human("of an agent"))
	if err != nil || own.By != "agent/builder" || len(own.Waiters) != 1 || own.Waiters[0] != "builder" {
		t.Fatalf("%+v, %v", own, err)
	}
	_, err = c.AddGate(t.Context(), api.GateRequest{Type: "condition", Title: "x", Check: []string{"/bin/true"}})
	wantError(t, err, api.BadInput, "only a person may give a command")
	for _, as := range []string{"", "passed", "failed"} {
		_, err = c.CloseGate(t.Context(), own.ID, api.GateClosing{As: as, Why: "it is fine"})
		wantError(t, err, api.BadInput, "takes a person")
	}
	_, err = c.CloseGate(t.Context(), mine.ID, api.GateClosing{As: "cancelled", Why: "it is fine"})
	wantError(t, err, api.BadInput, "takes a person")
	if g, err := c.CloseGate(t.Context(), own.ID, api.GateClosing{As: "cancelled", Why: "not needed"}); err != nil || g.Outcome != "cancelled" || g.ClosedBy != "agent/builder" {
		t.Errorf("%+v, %v", g, err)
	}
	w.agent, w.agentErr = "", errors.New("its parent is gone")
	_, err = c.CloseGate(t.Context(), mine.ID, api.GateClosing{Why: "it is fine"})
	wantError(t, err, api.BadInput, "takes a person")
}

// TestKeysAreNotCustos: by its keys Custos finds the gates of steps, and tells
// once. Nobody else may give such a key.
func TestKeysAreNotCustos(t *testing.T) {
	w := newWorld()
	c := client(w)
	r := human("mine")
	r.Key = "run/r1/ship/1"
	g, err := c.AddGate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := c.AddGate(t.Context(), r); err != nil || same.ID != g.ID {
		t.Errorf("%+v, %v", same, err)
	}
	if _, err := c.Trigger(t.Context(), api.TriggerRequest{Name: "x", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	all := w.records.all
	if key := all.Gates[0].Key; !strings.HasPrefix(key, "asked/") {
		t.Errorf("its key is %q", key)
	}
	if key := all.Triggers[0].Key; !strings.HasPrefix(key, "asked/") {
		t.Errorf("its key is %q", key)
	}
}

func TestGateMoments(t *testing.T) {
	w := newWorld()
	c := client(w)
	now := instant(0).Wall
	g, err := c.AddGate(t.Context(), api.GateRequest{Type: "timer", Title: "x", For: "2h0m0s", DueIn: "3h0m0s"})
	if err != nil || !g.Until.Equal(now.Add(2*time.Hour)) || !g.Due.Equal(now.Add(3*time.Hour)) {
		t.Errorf("%+v, %v", g, err)
	}
	g, err = c.AddGate(t.Context(), api.GateRequest{Type: "timer", Title: "x", Until: now.Add(time.Minute)})
	if err != nil || !g.Until.Equal(now.Add(time.Minute)) || !g.Due.IsZero() {
		t.Errorf("%+v, %v", g, err)
	}
	for want, r := range map[string]api.GateRequest{
		"either a moment":    {Type: "timer", Title: "x", For: "1h", Until: now.Add(time.Hour)},
		"is no duration":     {Type: "timer", Title: "x", For: "soon"},
		"more than nothing":  {Type: "timer", Title: "x", For: "-1h"},
		"more than ten":      {Type: "timer", Title: "x", Until: now.Add(99 * 365 * 24 * time.Hour)},
		"timeout":            {Type: "condition", Title: "x", Check: []string{"x"}, Timeout: "long"},
		"did you mean":       {Type: "tmer", Title: "x"},
		"there is no rule":   {Type: "event", Title: "x", On: "alert:nothing"},
		"a timer needs a mo": {Type: "timer", Title: "x"},
	} {
		_, err := c.AddGate(t.Context(), r)
		wantError(t, err, api.BadInput, want)
	}
	_, err = c.Gate(t.Context(), "g99")
	wantError(t, err, api.NotFound, `cannot find gate "g99"`)
	_, err = c.CloseGate(t.Context(), "g99", api.GateClosing{Why: "x"})
	wantError(t, err, api.NotFound, `cannot find gate "g99"`)
	_, err = c.Trigger(t.Context(), api.TriggerRequest{Name: "a b"})
	wantError(t, err, api.BadInput, "name of a trigger")
}
