package formula

import "testing"

// TestGateValues: values are put into the words of a gate, each a text by itself.
func TestGateValues(t *testing.T) {
	f, problems := Parse("f.toml", []byte(`
name = "f"
[vars.pr]
[[steps]]
id = "a"
gate = { type = "gh:pr", id = "shop!{{pr}}", from = "{{pr}}" }
run = "true"
`))
	out, more := Render(f, map[string]string{"pr": "7 {{pr}}"})
	if len(problems)+len(more) > 0 {
		t.Fatalf("%+v, %+v", problems, more)
	}
	if g := out.Steps[0].Gate; g == nil || g.ID != "shop!7 {{pr}}" || g.From != "7 {{pr}}" {
		t.Errorf("got %+v", g)
	}
}
