package web

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"custos/internal/api"
)

// Each setting has its value and where it is said; what is hidden has none, whatever the
// daemon tells. Nothing can be changed.
func TestSettingsAreShownAndNotChanged(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/settings"] = api.Settings{File: "/c.toml", Found: true, Trouble: "line 3: no such key", Settings: []api.Setting{{Key: "mode", Value: `"ask"`, File: "/c.toml", Line: 7}, {Key: "workers", Value: "8"}, {Key: "notify.x.token", Value: "hunter2", Hidden: true, File: "/c.toml", Line: 9}}}
	rec := w.get(t, "/settings")
	doc := parsed(t, rec)
	settings := byID(t, doc, "settings")
	if got := text(settings); has(settings, "data-setting") != 3 || !strings.HasPrefix(got, "3 settings 2 of them by the file, the others by default; of 1 the value is not shown") ||
		!strings.Contains(got, `mode "ask" /c.toml, line 7`) || !strings.Contains(got, "workers 8 default") || !strings.Contains(got, "notify.x.token not shown") {
		t.Errorf("shown: %q", got)
	}
	if strings.Contains(rec.Body.String(), "hunter2") || !strings.Contains(text(byID(t, doc, "file")), "not in force: line 3: no such key") {
		t.Errorf("it says %s", rec.Body)
	}
	for _, f := range all(doc, func(n *html.Node) bool { return n.Data == "form" }) {
		if attr(f, "action") != "/leave" {
			t.Errorf("there is a form: %s", attr(f, "action"))
		}
	}
}

// Each receiver has its button, which tries that one; what came of it is told; whoever was led
// here by a link has no button.
func TestAReceiverIsTried(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/settings"] = api.Settings{}
	w.answers["GET /v1/receivers"] = api.Receivers{Receivers: []api.Receiver{{Name: "phone", Proof: "2h0m0s"}, {Name: "a/<b>", Barred: "no member", Waiting: "3m0s", Why: "403"}}}
	w.answers["POST /v1/receivers/phone/try"] = api.Tried{To: "phone", Took: "1s"}
	w.answers["POST /v1/receivers/a/<b>/try"] = &api.Error{Kind: api.Unreachable, Message: "receiver a/<b> did not take the test message: 403"}
	doc := parsed(t, w.get(t, "/settings"))
	list := byID(t, doc, "receivers")
	if got := text(list); has(list, "data-receiver") != 2 || !strings.HasPrefix(got, "2 receivers") || !strings.Contains(got, "phone 2h ago") || !strings.Contains(got, "a/<b> unknown: nothing yet no member not delivered for 3m: 403") {
		t.Errorf("shown: %q", got)
	}
	var actions []string
	for _, f := range all(list, func(n *html.Node) bool { return n.Data == "form" }) {
		actions = append(actions, attr(f, "action"))
	}
	if strings.Join(actions, " ") != "/settings/receivers/phone/try /settings/receivers/a%2F%3Cb%3E/try" {
		t.Errorf("forms: %q", actions)
	}
	rec := w.post(t, actions[0], nil)
	if to := leads(rec); rec.Code != 303 || to != "/settings?done=try#receivers" {
		t.Fatalf("%s", describe(rec))
	}
	if got := text(byID(t, parsed(t, w.get(t, "/settings?done=try&tried=phone")), "receivers")); !strings.Contains(got, "phone has taken the test message") {
		t.Errorf("it does not say so: %s", got)
	}
	if got := text(byID(t, parsed(t, w.ask(t, request(http.MethodGet, "/settings?done=try&tried=phone", nil))), "receivers")); strings.Contains(got, "has taken") {
		t.Errorf("it says what an address says: %s", got)
	}
	if rec := w.post(t, actions[1], nil); rec.Code != 503 || !strings.Contains(text(parsed(t, rec)), "did not take the test message: 403") {
		t.Errorf("%s", describe(rec))
	}
	if rec := w.get(t, "/settings", cookie("page")); strings.Contains(rec.Body.String(), "receivers/phone/try") {
		t.Errorf("a link has the button: %s", describe(rec))
	}
}
