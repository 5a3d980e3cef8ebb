package catalog

import (
	"strings"
	"testing"

	"custos/internal/config"
)

// TestLayoutExamples: what a layout shows in comments is good when it is uncommented.
func TestLayoutExamples(t *testing.T) {
	text, err := config.Layout("disinto")
	if err != nil {
		t.Fatal(err)
	}
	w, err := world(t, examples(string(text), "[forge.", "[ci."))
	if err != nil {
		t.Fatal(err)
	}
	forges, err := w.forges()
	if err != nil || len(forges) != 1 {
		t.Fatalf("%d forges, %v", len(forges), err)
	}
	watched, key, err := w.watched("product", forges["product"])
	if err != nil || watched.Switch == "" || watched.Path == "" {
		t.Errorf("%s: %v, %+v", key, err, watched)
	}
	cis, err := w.cis()
	if at := cis["product"]; err != nil || at.system.Project != watched.Name || at.system.Workers["agent-1"] != "disinto-woodpecker-agent" {
		t.Errorf("%+v, %v", at.system, err)
	}
}

// examples are the sections in comments that begin like one of these.
func examples(text string, begins ...string) string {
	var out strings.Builder
	on := false
	for line := range strings.Lines(text) {
		code, comment := strings.CutPrefix(line, "# ")
		for _, b := range begins {
			on = on || strings.HasPrefix(code, b)
		}
		if on = on && comment; on {
			out.WriteString(code)
		}
	}
	return out.String()
}
