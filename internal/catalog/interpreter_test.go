package catalog

import (
	"strings"
	"testing"
)

// TestInterpreter: nobody is asked what people may have meant unless it is said, and
// who is to be asked.
func TestInterpreter(t *testing.T) {
	const judge = "[triage.judge]\nkind = \"anthropic\"\nmodel = \"m\"\nkey.env = \"K\"\n"
	for text, want := range map[string]string{
		judge:                               "none",
		"[replies]\njudge = false\n":        "none",
		"[replies]\njudge = true\n":         "custos.toml:2: [replies] judge: there is no [triage.judge] to ask",
		"[replies]\njudge = \"yes\"\n":      "custos.toml:2: [replies]",
		"[replies]\njudge = true\n" + judge: "anthropic",
	} {
		w, err := world(t, text)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Interpreter(w.Config)
		got := "none"
		switch {
		case err != nil:
			got = err.Error()
		case c != nil:
			got = c.Kind()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}
