package docgraph

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
	markdown "github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		titles []string
		links  []string
		code   []string
		issues []int
	}{
		"headings":         {"# A #\n### B `c`\n#no\n####### no\n", []string{"A", "B c"}, nil, []string{"c"}, nil},
		"underlined":       {"A\n===\nB\n---\n\n---\n- x\n---\n", []string{"A", "B"}, nil, nil, nil},
		"heading links":    {"# A [b](c.md) (#7)\n", []string{"A b (#7)"}, []string{"c.md"}, nil, []int{7}},
		"front matter":     {"---\n# no\n---\n# A\n", []string{"A"}, nil, nil, nil},
		"a rule only":      {"---\n# A\n", []string{"A"}, nil, nil, nil},
		"links":            {"[a](b.md) ![i](c.png \"t\") [d](<e f.md>) [g](h(1).md) [x] (no.md) [y](\n", nil, []string{"b.md", "c.png", "e f.md", "h(1).md"}, nil, nil},
		"defined":          {"[a]: b.md\n <a href='c.md'>", nil, []string{"b.md", "c.md"}, nil, nil},
		"over a line":      {"[a\nb](c.md)", nil, []string{"c.md"}, nil, nil},
		"code hides":       {"`[a](b.md) #3` ``c ` d`` `open [e](f.md) #4", nil, []string{"f.md"}, []string{"[a](b.md) #3", "c ` d"}, []int{4}},
		"fences hide":      {"```sh\n# no\n``` no\n[a](b)\n```\n~~~\n```\n# no\n~~~\n- ```\n  # no\n  ```\n# A\n", []string{"A"}, nil, nil, nil},
		"an open fence":    {"# A\n````\n# no\n```\n", []string{"A"}, nil, nil, nil},
		"indented code":    {"a\n\n    [b](c.md) #3\n", nil, nil, nil, nil},
		"code over a line": {"`a\n[b](c.md) #3`", nil, nil, []string{"a [b](c.md) #3"}, nil},
		"defined and used": {"[a]: b.md\n\n[c][a]", nil, []string{"b.md"}, nil, nil},
		"tags in a block":  {"<div>\n<!-- <a href='b.md'> -->\n<a href='c.md'>#3\n</div>", nil, []string{"c.md"}, nil, nil},
		"comments hide":    {"a <!-- # no\n[b](c)\n--> [d](e)\n", nil, []string{"e"}, nil, nil},
		"numbers":          {"#1, (#2) x#3 &#4; a/#5 ##6 #7a #0 #99999999999 [z](y.md#8) #9.", nil, []string{"y.md#8"}, nil, []int{1, 2, 9}},
		"windows' lines":   {"# A\r\n[b](c)\r\n", []string{"A"}, []string{"c"}, nil, nil},
		"nothing":          {"", nil, nil, nil, nil},
		"too long a link":  {"[a](" + strings.Repeat("x", 2*maxLink) + ")", nil, nil, nil, nil},
		"too long a line":  {strings.Repeat("x ", maxLine) + "[a](b)", nil, nil, nil, nil},
		"many parentheses": {strings.Repeat("](", 5000), nil, nil, nil, nil},
	} {
		var titles, links, code []string
		var issues []int
		for n, s := range parse(c.text).sections {
			if n > 0 {
				titles = append(titles, s.title)
			}
			for _, l := range s.links {
				links = append(links, l.to)
			}
			code, issues = append(code, s.code...), append(issues, s.issues...)
		}
		if diff := cmp.Diff([]any{c.titles, c.links, c.code, c.issues}, []any{titles, links, code, issues}); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestAnchors(t *testing.T) {
	d := parse("# A & B\n# A & B\n## It's `x.y`, über_Ort\n<a id=\"Own\"></a>\n")
	want := map[string]bool{"a--b": true, "a--b-1": true, "its-xy-über_ort": true, "own": true}
	if diff := cmp.Diff(want, d.anchors); diff != "" {
		t.Error(diff)
	}
}

func TestItems(t *testing.T) {
	d := parse("- [x] done (#1)\n  * [ ] not\n1. plain\n+ [X] so\nStatus: **READY** — now\n**Status:** done\n")
	want := []item{{text: "done (#1)", box: true, done: true, issues: []int{1}}, {text: "not", box: true, depth: 2}, {text: "plain"}, {text: "so", box: true, done: true}}
	if s := d.sections[0]; !reflect.DeepEqual(want, s.items) || s.status != "READY" {
		t.Errorf("%+v %q", s.items, s.status)
	}
}

// TestParseTakesNoTime: the worst texts, of a sixteenth of the largest size, take a tenth of a second at most
// on a quiet machine. The deadline is generous, for -race and busy machines; what
// is not linear takes minutes. None has a paragraph or a depth that would take long.
func TestParseTakesNoTime(t *testing.T) {
	runs := ""
	for n := range 180 {
		runs += strings.Repeat("`", n+1) + " "
	}
	for name, s := range map[string]string{"links": "[](", "targets": "](<", "tags": "<a ", "attributes": "<a href='", "code": runs, "code lines": runs + "\n",
		"comments": "<!--", "numbers": "#1 ", "items": "- [ ] #1 `a`\n", "headings": "# a\n", "underlines": "a\n-\n", "fences": "~~~\n", "marks": "> - * ", "status": "*_>-",
		"quotes": "> ", "deep": "1. ", "titles": "[a](b \"\n", "open links": "[a](\n", "used": "[a][b]\n", "split links": "[a\n](\n", "open titles": "[a]: b \"\n", "emphasis": "*_ a\n",
		"blocked": "blocked by #1, ", "definitions": "[a]: b\n", "anchors": "<a name='"} {
		s = strings.Repeat(s, MaxFile/16/len(s))
		began := time.Now()
		d := parse(s)
		_, _ = needs(d), envisioned("a", d)
		took := time.Since(began)
		t.Log(name, took)
		if took > 30*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if size, depth := worst(commonMark.Parse(markdown.NewReader(bounded(s)))); size > max(maxBlock, maxLine+1) || depth > 300 {
			t.Errorf("%s: a paragraph of %d bytes, %d deep", name, size, depth)
		}
	}
}

// worst is the size of the largest paragraph below a node, and how deep the deepest lies.
func worst(n ast.Node) (size, depth int) {
	if n.Kind() == ast.KindParagraph || n.Kind() == ast.KindTextBlock {
		return n.Lines().At(n.Lines().Len()-1).Stop - n.Lines().At(0).Start, 1
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		s, d := worst(c)
		size, depth = max(size, s), max(depth, d+1)
	}
	return size, depth
}

// FuzzMarkdown: no text breaks the reader, takes long, or makes it find more than
// there is.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# A\n[b](c#d)\n", "```\n~~~\n", "<!-- `x -->`", "](](](<", "---\n---\n- [ ] #1\nStatus: x", "[a]: <b\n=\n-\n", "## Objective: \xff (#1)\n- [ ] x (#1)\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := parse(s)
		lines, links := strings.Count(s, "\n")+1, 0
		if len(d.sections) > lines+1 {
			t.Fatalf("%d sections in %d lines", len(d.sections), lines)
		}
		for _, sec := range d.sections[1:] {
			if sec.level < 1 || sec.level > 6 || sec.anchor != "" && !d.anchors[sec.anchor] {
				t.Fatalf("section %+v", sec)
			}
			for _, l := range sec.links {
				if links++; l.line < 1 || l.line > lines || len(l.to) > maxLink {
					t.Fatalf("link %+v of %d lines", l, lines)
				}
			}
		}
		if links > len(s) {
			t.Fatal("more links than characters")
		}
		for _, o := range append(stated("a.md", d), envisioned("a.md", d)...) {
			_ = o.id()
		}
		_ = needs(d)
	})
}

func randomNet(t *rapid.T) [][]int {
	n := rapid.IntRange(1, 9).Draw(t, "nodes")
	next := make([][]int, n)
	for i := range next {
		next[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 4, rapid.ID).Draw(t, "next")
		slices.Sort(next[i])
	}
	return next
}

// reach says what can be reached from each node, by one step or more.
func reach(next [][]int) [][]bool {
	r := make([][]bool, len(next))
	for i := range r {
		r[i] = make([]bool, len(next))
		for _, j := range next[i] {
			r[i][j] = true
		}
	}
	for k := range r {
		for i := range r {
			for j := range r {
				r[i][j] = r[i][j] || r[i][k] && r[k][j]
			}
		}
	}
	return r
}

// TestKnots against what reaches itself, and each circle is one.
func TestKnots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := randomNet(t)
		r := reach(next)
		var want [][]int
		for i := range next {
			var part []int
			for j := range next {
				if r[i][j] && r[j][i] {
					part = append(part, j)
				}
			}
			if len(part) > 0 && part[0] == i {
				want = append(want, part)
			}
		}
		got := knots(next)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		for _, part := range got {
			c := circle(next, part[0])
			for i, v := range c {
				if !slices.Contains(next[v], c[(i+1)%len(c)]) || c[0] != part[0] {
					t.Fatalf("%v is no circle of %v", c, next)
				}
			}
		}
	})
}

// TestKnotsOfLongChains: no recursion, no square.
func TestKnotsOfLongChains(t *testing.T) {
	next := make([][]int, maxNodes)
	for i := range next {
		next[i] = []int{(i + 1) % len(next)}
	}
	if k := knots(next); len(k) != 1 || len(k[0]) != maxNodes || len(circle(next, 0)) != maxNodes {
		t.Error(len(k))
	}
}

// TestBetweenness against all shortest ways, counted one by one.
func TestBetweenness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := randomNet(t)
		got, starts, err := betweenness(context.Background(), next, maxWork)
		if err != nil || starts != len(next) {
			t.Fatal(starts, err)
		}
		for v, want := range naive(next) {
			if math.Abs(want-got[v]) > 1e-9 {
				t.Fatalf("node %d of %v: %g, want %g", v, next, got[v], want)
			}
		}
	})
}

func naive(next [][]int) []float64 {
	n := len(next)
	out := make([]float64, n)
	for s := range n {
		for e := range n {
			ways := shortest(next, s, e)
			for _, w := range ways {
				for _, v := range w[1 : len(w)-1] {
					out[v] += 1 / float64(len(ways)) / math.Max(1, float64((n-1)*(n-2)))
				}
			}
		}
	}
	return out
}

// shortest lists all shortest ways from s to another node e.
func shortest(next [][]int, s, e int) (out [][]int) {
	if s == e {
		return nil
	}
	ways := [][]int{{s}}
	for range next {
		var longer [][]int
		for _, w := range ways {
			for _, v := range next[w[len(w)-1]] {
				if v == e {
					out = append(out, append(slices.Clone(w), v))
				} else if !slices.Contains(w, v) {
					longer = append(longer, append(slices.Clone(w), v))
				}
			}
		}
		if out != nil {
			return out
		}
		ways = longer
	}
	return nil
}

func TestBetweennessEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := betweenness(ctx, make([][]int, 5), maxWork); err == nil {
		t.Error("it went on though its context had ended")
	}
	next := make([][]int, 20_000) // a star with many rays, sampled
	for i := 1; i < len(next); i++ {
		next[0] = append(next[0], i)
		next[i] = []int{0}
	}
	score, starts, err := betweenness(t.Context(), next, maxWork/5)
	if err != nil || starts >= len(next) || math.Abs(score[0]-1) > 0.01 {
		t.Error(fmt.Sprint(score[0], starts, err))
	}
}
