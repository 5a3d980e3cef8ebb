package server

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/ledger"
)

// pausing is a book of paused projects that knows the project shop.
type pausing struct{ said []string }

func (p *pausing) Pause(_ context.Context, project string, resume bool, by, why string) error {
	if project != "shop" {
		return fmt.Errorf("cannot pause: %w: no project %q is known", ledger.ErrIllegal, project)
	}
	p.said = append(p.said, fmt.Sprint(project, " ", resume, " ", why))
	return nil
}

// TestPauseProject: a person pauses and resumes; an agent, and whoever may be one,
// does not.
func TestPauseProject(t *testing.T) {
	w, book := newWorld(), &pausing{}
	o := w.options()
	o.Control.Pauses = book
	c := api.NewClient(api.InProcess(New(o)))
	got, err := c.Pause(t.Context(), api.PauseRequest{Project: "shop", Why: "token=abcdefghijklmnop\nnext"})
	if err != nil || !got.Paused || got.By == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = c.Pause(t.Context(), api.PauseRequest{Project: "shop", Resume: true}); err != nil || got.Paused {
		t.Errorf("%+v, %v", got, err)
	}
	if len(book.said) != 2 || book.said[0] != "shop false token=*** next" || book.said[1] != "shop true " {
		t.Errorf("%q", book.said)
	}
	_, err = c.Pause(t.Context(), api.PauseRequest{Project: "shpo"})
	wantError(t, err, api.BadInput, `no project "shpo"`)
	w.agent = "builder"
	_, err = c.Pause(t.Context(), api.PauseRequest{Project: "shop"})
	wantError(t, err, api.Forbidden, "agent builder")
	w.agent, w.agentErr = "", errors.New("its parent is gone")
	_, err = c.Pause(t.Context(), api.PauseRequest{Project: "shop"})
	wantError(t, err, api.Forbidden, "no agent")
	if len(book.said) != 2 {
		t.Errorf("%q", book.said)
	}
}

// braking is a brake that remembers who pulled it.
type braking struct{ by string }

func (b *braking) Freeze(by, _ string) error   { b.by = by; return nil }
func (b *braking) Thaw() (string, error)       { was := b.by; b.by = ""; return was, nil }
func (b *braking) Frozen() (string, time.Time) { return b.by, time.Time{} }
