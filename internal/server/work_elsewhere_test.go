package server

import (
	"slices"
	"testing"

	"custos/internal/api"
)

// Work that another tracker keeps is moved there, by whoever asks, and the answer
// says what was begun.
func TestMoveWork(t *testing.T) {
	w := newWorld()
	c, ctx := client(w), t.Context()
	for _, r := range []api.WorkChange{{Do: "close", Outcome: "completed", Why: "merged"}, {Do: "close", Outcome: "wontfix", Why: "too dear"}, {Do: "close", Outcome: "wontfix"}, {Do: "reopen", Why: "it is back"}} {
		got, err := c.ChangeWork(ctx, "shop#12", r)
		if err != nil || got.Begun == nil || got.Begun.Do != r.Do+"-issue" || got.Begun.ID != "a1" || got.Ref != "shop#12" {
			t.Errorf("%+v: %+v, %v", r, got, err)
		}
	}
	who := w.approved[0][len("close merged by "):]
	if want := []string{"close merged by " + who, "close wontfix: too dear by " + who, "close wontfix by " + who, "reopen it is back by " + who}; who == "" || !slices.Equal(w.approved, want) {
		t.Errorf("asked %q, want %q", w.approved, want)
	}
	_, err := c.ChangeWork(ctx, "bd:hq-a1", api.WorkChange{Do: "close"})
	wantError(t, err, api.BadInput, "bd:hq-a1 is not seen now")
	w.agent = "dev"
	_, err = c.ChangeWork(ctx, "shop#12", api.WorkChange{Do: "close"})
	wantError(t, err, api.BadInput, "is not seen now")
	if _, err := c.ChangeWork(ctx, "shop#12", api.WorkChange{Do: "needs", Needs: "shop#13"}); err != nil {
		t.Errorf("a dependency is kept here: %v", err)
	}
	if n := len(w.approved); n != 4 {
		t.Errorf("%d were asked for", n)
	}
}
