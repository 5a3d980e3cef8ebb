package formula

import (
	"fmt"
	"strings"
	"testing"
)

// Ten thousand steps, in a row and in a fan, are read, checked, rendered and drawn:
// the test would run out of time if the work grew with their square.
func TestTenThousandSteps(t *testing.T) {
	for name, need := range map[string]func(i int) string{"chain": func(i int) string { return fmt.Sprintf("s%d", i-1) }, "fan": func(int) string { return "s0" }} {
		text := &strings.Builder{}
		fmt.Fprintf(text, "name = \"n\"\n[[steps]]\nid = \"s0\"\ndescription = \"x\"\n")
		for i := 1; i < maxSteps; i++ {
			fmt.Fprintf(text, "[[steps]]\nid = \"s%d\"\nneeds = [%q]\ndescription = \"x\"\n", i, need(i))
		}
		f, problems := Parse("x", []byte(text.String()))
		problems = append(problems, Check(f, Checks{})...)
		out, more := Render(f, nil)
		if problems = append(problems, more...); len(problems) > 0 || len(out.Steps) != maxSteps {
			t.Fatalf("%s: %v, %d steps", name, problems[:min(3, len(problems))], len(out.Steps))
		}
		if lines := strings.Count(Text(out), "\n"); lines < maxSteps || len(Waves(out)) == 0 || DOT(out) == "" {
			t.Errorf("%s: %d lines", name, lines)
		}
	}
}

// What is in braces in prose, and no variable, is the agent's; in what is run it is
// refused as ever.
func TestUndefinedInProse(t *testing.T) {
	read := func(step string) (Formula, []Problem) {
		f, problems := Parse("x", []byte("name = \"n\"\ndescription = \"of {{ rig-name }}\"\nvars = { a = \"1\" }\n[[steps]]\nid = \"s\"\n"+step))
		problems = append(problems, Check(f, Checks{})...)
		out, more := Render(f, nil)
		return out, append(problems, more...)
	}
	out, problems := read("title = \"T {{x}}\"\ndescription = \"Put {{a}}, {{bead}} and {{ b }}.\"")
	if Refused(problems) || len(problems) != 3 || out.Steps[0].Description != "Put 1, {{bead}} and {{ b }}." || out.Steps[0].Title != "T {{x}}" || out.Description != "of {{ rig-name }}" {
		t.Errorf("%v, %+v, %q", problems, out.Steps, out.Description)
	}
	for _, step := range []string{`run = ["echo", "{{bead}}"]`, "uses = \"tell\"\nwith = { text = \"{{bead}}\" }", "description = \"x\"\ndir = \"{{bead}}\""} {
		if _, problems := read(step); !Refused(problems) {
			t.Errorf("%s: %v", step, problems)
		}
	}
}
