package config

import (
	"slices"
	"strings"
	"testing"
)

// What is in force is shown with its line, by default where the file does not say it.
func TestShownSaysWhatIsInForceAndWhere(t *testing.T) {
	c, err := Load(Options{File: "/c.toml", Getenv: func(k string) string { return map[string]string{"HOME": "/h"}[k] }, Sections: []string{"forge", "locks", "pool"},
		ReadFile: func(string) ([]byte, error) {
			return []byte("mode = \"ask\"\ngrace = \"5m\"\n\n[forge.shop]\nurl = \"https://git.example/api?x=1\"\ntoken_file = \"/t\"\n\n[locks]\nglobs = [\"/a/*.lock\", \"/b\"]\n\n[[pool.dev.steps]]\nname = \"x\"\n"), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Shown()
	for _, want := range []Entry{
		{Key: "mode", Value: `"ask"`, Line: 1}, {Key: "grace", Value: `"5m0s"`, Line: 2}, {Key: "workers", Value: "8"}, {Key: "action_budget", Value: `"20 in 1h0m0s"`},
		{Key: "forge.shop.url", Value: `"https://git.example/…"`, Line: 5}, {Key: "forge.shop.token_file", Value: `"/t"`, Line: 6},
		{Key: "locks.globs", Value: `["/a/*.lock", "/b"]`, Line: 9}, {Key: "pool.dev.steps[0].name", Value: `"x"`, Line: 12},
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %+v in %+v", want, got)
		}
	}
}

// No secret that a file may hold is shown, wherever in it it stands.
func TestShownHidesSecrets(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2"
	for _, text := range []string{
		"[kind.mine]\nenv = { A = \"" + secret + "\" }", "[kind.mine.env]\nA = \"" + secret + "\"", "[notify.x]\ntoken = \"" + secret + "\"", "[notify.x]\npassword = \"" + secret + "\"",
		"[notify.x]\nurl = \"https://hooks.example/" + secret + "\"", "[notify.x]\nurl = \"https://u:" + secret + "@example\"", "[notify.x]\nurl = \"https://example?k=" + secret + "\"", "[notify.x]\ntopic = \"" + secret + "\"",
		"[notify.x]\nheaders = [\"X: " + secret + "\"]", "[notify.x]\napi_key = \"" + secret + "\"", "[[notify.x]]\ncookie = \"" + secret + "\"", "[notify.x]\ntoken_command = [\"echo\", \"--token\", \"" + secret + "\"]",
		"[notify.x]\ncommand = [\"sh\", \"-c\", \"TOKEN=" + secret + " run\"]", "[notify.x]\nurls = [\"https://hooks.example/" + secret + "\"]",
	} {
		c := Config{Text: []byte("mode = \"ask\"\n" + text), sections: map[string]bool{"notify": true}}
		if err := c.read(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		shown := 0
		for _, e := range c.Shown() {
			if strings.Contains(e.Key+e.Value, secret) {
				t.Errorf("%s: shown as %+v", text, e)
			}
			if e.Line > 1 {
				shown++
			}
		}
		if shown == 0 {
			t.Errorf("%s: nothing of it is shown", text)
		}
	}
}
