package formula

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

// corpus is every formula of the cases and seeds.
func corpus(t testing.TB) (out [][]byte) {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".toml") {
				out = append(out, f.Data)
			}
		}
	}
	for _, file := range []string{"testdata/seed-supervisor.toml", "testdata/seed-deacon.toml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	return out
}

// TestParseNeverPanics cuts, joins and damages formulas.
func TestParseNeverPanics(t *testing.T) {
	all := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		text := slices.Clone(rapid.SampledFrom(all).Draw(t, "formula"))
		for range rapid.IntRange(0, 4).Draw(t, "damages") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			to := rapid.IntRange(at, min(len(text), at+20)).Draw(t, "to")
			put := rapid.SampledFrom([]string{"", "\\", `"`, `"""`, "'", "[", "]", "{{", "}}", "{", "=", "\n", "\x00", "é", "[[steps]]\n", "{i}"}).Draw(t, "put")
			text = slices.Concat(text[:at], []byte(put), text[to:])
		}
		throughAll("x", text, map[string]string{"name": "v"})
	})
}

// written is a random formula that is right.
type written struct {
	text  strings.Builder
	kinds map[string]string
	vars  map[string]string
}

func drawFormula(t *rapid.T) *written {
	w := &written{kinds: map[string]string{}, vars: map[string]string{}}
	w.text.WriteString("name = \"random\"\n")
	for i := range rapid.IntRange(1, 3).Draw(t, "vars") {
		name := fmt.Sprintf("v%d", i)
		fmt.Fprintf(&w.text, "[vars.%s]\ndefault = \"\"\n", name)
		// A value holds no braces here, so that one left over is the formula's.
		w.vars[name] = rapid.StringMatching(`[a-z $;'"|&<>]{0,8}`).Draw(t, name)
	}
	var before []string
	for i := range rapid.IntRange(1, 7).Draw(t, "steps") {
		id := fmt.Sprintf("s%d", i)
		fmt.Fprintf(&w.text, "[[steps]]\nid = %q\ntitle = \"{{v0}}\"\nneeds = %s\n", id, tomlList(some(t, before)))
		w.body(t, id)
		before = append(before, id)
	}
	return w
}

func some(t *rapid.T, of []string) []string {
	if len(of) == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, min(3, len(of)), rapid.ID[string]).Draw(t, "needs")
}

func tomlList(list []string) string {
	return strings.ReplaceAll(fmt.Sprintf("%q", list), " ", ", ")
}

func (w *written) body(t *rapid.T, id string) {
	kind := rapid.SampledFrom([]string{"prose", "script", "argv", "loop", "children", "condition"}).Draw(t, "kind")
	w.kinds[id] = kind
	switch kind {
	case "prose":
		w.text.WriteString("description = \"{{v0}} {{#if v0}}{{v0}}{{else}}-{{/if}} {{#each v0}}{{.}}{{/each}}\"\n")
	case "script":
		w.text.WriteString("run = 'echo \"$CUSTOS_VAR_v0\"'\n")
	case "argv":
		w.text.WriteString("run = ['echo', '--', 'a{{v0}}b']\n")
	case "loop":
		n := rapid.IntRange(0, 3).Draw(t, "rounds")
		fmt.Fprintf(&w.text, "loop = { range = '1..%d', var = 'i', body = [ { id = 'x{i}', title = '{i}{{v0}}' }, { id = 'y', needs = ['x{i}'] } ] }\n", n)
	case "children":
		fmt.Fprintf(&w.text, "children = [ { id = '%s-a' }, { id = '%s-b', needs = ['%s-a'] } ]\n", id, id, id)
	case "condition":
		w.text.WriteString("condition = \"{{v0}} == 'a'\"\n")
	}
}

func render(t *rapid.T, w *written) Formula {
	f, found := Parse("x", []byte(w.text.String()))
	all := found
	f, found = Resolve(f, none)
	all = append(append(all, found...), Check(f, Checks{})...)
	out, found := Render(f, w.vars)
	for _, p := range append(all, found...) {
		if p.Severity == Error {
			t.Fatalf("%s\n%s", p, w.text.String())
		}
	}
	return out
}

func TestRenderLeavesNoPlaceholder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawFormula(t)
		for _, s := range render(t, w).Steps {
			if s.Loop != nil || s.Children != nil || s.Condition != "" || s.WaitsFor.Steps != nil {
				t.Fatalf("not plain: %+v", s)
			}
			s.mapTexts(func(key, text string) string {
				if strings.Contains(text, "{{") || strings.Contains(text, "{i}") {
					t.Fatalf("step %s, %s: %q", s.ID, key, text)
				}
				return text
			})
			if s.Run != nil && s.Run.Argv == nil && s.Run.Script != `echo "$CUSTOS_VAR_v0"` {
				t.Fatalf("a script was changed: %q", s.Run.Script)
			}
			if s.Run != nil && s.Run.Argv != nil && s.Run.Argv[2] != "a"+w.vars["v0"]+"b" {
				t.Fatalf("an argument was changed: %q", s.Run.Argv)
			}
		}
	})
}

// TestOrderRespectsNeeds: every step is in one wave, after all it needs, and
// what was before in the formula is before in what is run.
func TestOrderRespectsNeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawFormula(t)
		f := render(t, w)
		wave := map[string]int{}
		for i, steps := range Waves(f) {
			for _, s := range steps {
				wave[s.ID] = i + 1
			}
		}
		for _, s := range f.Steps {
			for _, n := range s.Needs {
				if wave[n] == 0 || wave[n] >= wave[s.ID] {
					t.Fatalf("%s (wave %d) needs %s (wave %d)", s.ID, wave[s.ID], n, wave[n])
				}
			}
		}
		if len(wave) != len(f.Steps) {
			t.Fatalf("%d of %d steps are in a wave", len(wave), len(f.Steps))
		}
		w.ordered(t, f)
	})
}

// ordered: whatever a step became comes after whatever its needs became.
func (w *written) ordered(t *rapid.T, f Formula) {
	raw, _ := Parse("x", []byte(w.text.String()))
	after := map[string][]string{} // all that a rendered step comes after
	for _, wave := range Waves(f) {
		for _, s := range wave {
			for _, n := range s.Needs {
				after[s.ID] = append(append(after[s.ID], n), after[n]...)
			}
		}
	}
	for _, s := range raw.Steps {
		for _, n := range s.Needs {
			for _, mine := range became(f, s.ID) {
				for _, its := range became(f, n) {
					if !slices.Contains(after[mine], its) {
						t.Fatalf("%s does not come after %s\n%s\n%s", mine, its, w.text.String(), Text(f))
					}
				}
			}
		}
	}
}

func became(f Formula, id string) (out []string) {
	for _, s := range f.Steps {
		if s.ID == id || strings.HasPrefix(s.ID, id+".") || strings.HasPrefix(s.ID, id+"-") {
			out = append(out, s.ID)
		}
	}
	return out
}

// TestRenderIsDeterministic: same formula, same values, same bytes.
func TestRenderIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawFormula(t)
		a, b := render(t, w), render(t, w)
		c := PromptContext{Run: "7"}
		if Text(a) != Text(b) || DOT(a) != DOT(b) || Prompt(a, c) != Prompt(b, c) {
			t.Fatal("two renderings differ")
		}
	})
}
