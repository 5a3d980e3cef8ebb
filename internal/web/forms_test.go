package web

import (
	"net/http/httptest"
	"slices"
	"testing"

	"golang.org/x/net/html"

	"custos/internal/api"
)

// formIDs are the IDs of the forms of an answer.
func formIDs(t *testing.T, rec *httptest.ResponseRecorder) (ids []string) {
	t.Helper()
	for _, n := range all(parsed(t, rec), func(n *html.Node) bool { return n.Data == "input" && attr(n, "name") == "id" }) {
		ids = append(ids, attr(n, "value"))
	}
	return ids
}

// Each form has an ID of its own, also of one page, and also of a page that is made once for two
// windows that load it in the same moment: what is sent by one is not taken for what was sent by
// the other.
func TestEachFormHasAnIDOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.Newest = func() int64 { return 1 }
	w.answers["GET /v1/agents/builder"] = api.AgentDetail{Agent: api.AgentRow{Name: "builder", Owner: "custos"}}
	w.answers["GET /v1/mail"] = filledAs[api.MailList]("x")
	w.held = w.made(t)
	for path, want := range map[string]int{"/agents/builder": 2, "/mail/m1": 1, "/agents/builder/stop": 1} {
		asked := len(w.asked)
		first := formIDs(t, w.get(t, path))
		after := len(w.asked)
		second := formIDs(t, w.get(t, path))
		if asked == after || after != len(w.asked) {
			t.Errorf("%s is made anew: nothing is shared", path)
		}
		both := append(slices.Clone(first), second...)
		slices.Sort(both)
		if len(first) != want || len(second) != want || len(slices.Compact(both)) != 2*want || slices.Contains(both, "") {
			t.Errorf("%s: %q and %q", path, first, second)
		}
	}
}
