package forge_test

import (
	"net/http"
	"testing"
	"time"

	"custos/internal/sys/forgetest"
)

// TestRequiredContextsThatAreNotKnown: without them nobody can say that a pull request's
// checks went well: a required one may not even have begun.
func TestRequiredContextsThatAreNotKnown(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		if kind == "gitlab" {
			t.Skip("it requires pipelines, and none of their jobs")
		}
		w, repos := newWorld(t, kind, "shop")
		shop := repos["shop"]
		shop.Required["main"] = []string{"ci/test"}
		shop.Propose(7, time.Hour, forgetest.Pull{Base: "main", Branch: "x", Head: commit(1),
			Checks: []forgetest.Check{{Context: "style", State: "success", At: w.Now().Add(-time.Hour)}}})
		mend := w.Break(forgetest.Fault{Path: "/branches/", Status: http.StatusForbidden, Body: "{}"})
		if got := w.must(t).Pulls[0].Checks; got.IsKnown() {
			t.Errorf("checks are %v", got)
		}
		mend()
	})
}
