package server

import (
	"errors"
	"slices"
	"testing"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// Work that another tracker keeps is moved there, by whoever asks, and the answer
// says what was begun.
func TestMoveWork(t *testing.T) {
	w := newWorld()
	w.pass.Snapshot.Forge.Status = fleet.StatusOK
	issue := &fleet.Issue{Name: "shop#12", Project: "shop", Number: 12, Owner: fleet.OwnerConfigured, Open: fleet.Known(true)}
	c, ctx := client(w), t.Context()
	for _, r := range []api.WorkChange{{Do: "close", Outcome: "completed", Why: "merged"}, {Do: "close", Outcome: "wontfix", Why: "too dear"}, {Do: "close", Outcome: "wontfix"}, {Do: "reopen", Why: "it is back"}} {
		issue.Open = fleet.Known(r.Do == "close")
		w.pass.Snapshot.Forge.Value.Issues = []fleet.Issue{*issue}
		got, err := c.ChangeWork(ctx, "shop#12", r)
		if err != nil || got.Begun == nil || got.Begun.Do != r.Do+"-issue" || got.Begun.ID != "a1" || got.Ref != "shop#12" {
			t.Errorf("%+v: %+v, %v", r, got, err)
		}
	}
	who := w.approved[0][len("close-issue merged by "):]
	if want := []string{"close-issue merged by " + who, "close-issue wontfix: too dear by " + who, "close-issue wontfix by " + who, "reopen-issue it is back by " + who}; who == "" || !slices.Equal(w.approved, want) {
		t.Errorf("asked %q, want %q", w.approved, want)
	}
	_, err := c.ChangeWork(ctx, "bd:hq-a1", api.WorkChange{Do: "close"})
	wantError(t, err, api.BadInput, "bd:hq-a1 is not seen now")
	w.askErr = control.Refusal{Why: errors.New("nothing that is offered would do it")}
	_, err = c.ChangeWork(ctx, "shop#12", api.WorkChange{Do: "reopen"})
	wantError(t, err, api.BadInput, "cannot reopen shop#12: nothing that is offered would do it")
	w.agent = "dev"
	_, err = c.ChangeWork(ctx, "shop#12", api.WorkChange{Do: "close"})
	wantError(t, err, api.BadInput, "shop#12 is not dev's")
	if _, err := c.ChangeWork(ctx, "shop#12", api.WorkChange{Do: "needs", Needs: "shop#13"}); err != nil {
		t.Errorf("a dependency is kept here: %v", err)
	}
	if n := len(w.approved); n != 4 {
		t.Errorf("%d were asked for", n)
	}
}
