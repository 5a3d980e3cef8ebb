package web

import (
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
