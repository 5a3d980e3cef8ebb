package docgraph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"custos/internal/sys/docgraph"
)

func build(t testing.TB, o docgraph.Options) docgraph.Graph {
	t.Helper()
	g, err := docgraph.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCases draws the projects in testdata: -- issues.json -- is what the forge
// says, -- want -- is the section without its fence, -- edges -- (may be left out)
// are edges that must be there, or not with a ! before them.
func TestCases(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, c := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(c), ".txtar"), func(t *testing.T) { one(t, c) })
	}
}

func one(t *testing.T, name string) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	o := docgraph.Options{Dir: t.TempDir()}
	var want, edges string
	for _, f := range a.Files {
		switch f.Name {
		case "issues.json":
			if err := json.Unmarshal(f.Data, &o.Issues); err != nil {
				t.Fatal(err)
			}
		case "want":
			want = string(f.Data)
		case "edges":
			edges = string(f.Data)
		default:
			write(t, o.Dir, f.Name, string(f.Data))
		}
	}
	g := build(t, o)
	got := strings.TrimSuffix(strings.TrimPrefix(g.Section(32<<10), "```json\n"), "```\n")
	if os.Getenv("UPDATE") != "" {
		update(t, name, a, got)
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, e := range strings.FieldsFunc(edges, func(r rune) bool { return r == '\n' }) {
		line, no := strings.CutPrefix(e, "!")
		f := strings.Fields(line)
		if has := slices.Contains(g.Edges, docgraph.Edge{From: f[0], Relation: docgraph.Relation(f[1]), To: f[2]}); has == no {
			t.Errorf("edge %s: there is %v", line, has)
		}
	}
	if t.Failed() {
		for _, e := range g.Edges {
			t.Log(e.From, e.Relation, e.To)
		}
	}
}

func update(t *testing.T, name string, a *txtar.Archive, got string) {
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
	if err := os.WriteFile(name, txtar.Format(a), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBuildRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	write(t, dir, "a.md", "# A\n")
	write(t, dir, "file", "")
	if _, err := docgraph.Build(t.Context(), docgraph.Options{Dir: filepath.Join(dir, "file")}); err == nil {
		t.Error("a file was taken for a folder")
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		dir  string
		want error
	}{
		"no folder":       {t.Context(), filepath.Join(dir, "none"), os.ErrNotExist},
		"the context end": {ended, dir, context.Canceled},
	} {
		g, err := docgraph.Build(c.ctx, docgraph.Options{Dir: c.dir})
		if !errors.Is(err, c.want) || g.Section(1<<20) != "" {
			t.Errorf("%s: %v, want %v; %d nodes", name, err, c.want, len(g.Nodes))
		}
	}
}

// TestBuildNeverLeaves: links, pipes and long, binary or unreadable files are
// never read, and what was left out is said.
func TestBuildNeverLeaves(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, "secret.md", "# Secret\n")
	write(t, dir, "README.md", "[in](in.md) [link](link.md) [up](../x.md)\n")
	write(t, dir, "in.md", "# In\n")
	write(t, dir, "long.md", strings.Repeat("x", docgraph.MaxFile+1))
	write(t, dir, "binary.md", "a\x00b")
	write(t, dir, "other/.git", "gitdir: elsewhere\n")
	write(t, dir, "other/theirs.md", "# Theirs\n")
	for from, to := range map[string]string{"link.md": outside + "/secret.md", "folder": outside, "loop": "."} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := build(t, docgraph.Options{Dir: dir})
	if g.Stats.Documents != 2 || len(g.Missing) != 0 {
		t.Errorf("%d documents, missing %v", g.Stats.Documents, g.Missing)
	}
	want := []docgraph.LeftOut{{What: "binary.md", Why: "no text"}, {What: "long.md", Why: "longer than 1024 KiB"}}
	if diff := cmp.Diff(want, g.LeftOut); diff != "" {
		t.Error(diff)
	}
}

func TestBuildIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range docgraph.MaxFiles + 10 {
		write(t, dir, fmt.Sprintf("d%d/%04d.md", i%10, i), "# X\n")
	}
	write(t, dir, "top.md", "# Top\n")
	g := build(t, docgraph.Options{Dir: dir})
	if g.Stats.Documents != docgraph.MaxFiles || len(g.LeftOut) != 1 || g.LeftOut[0].What != "files" {
		t.Errorf("%+v %v", g.Stats, g.LeftOut)
	}
	if !slices.ContainsFunc(g.Nodes, func(n docgraph.Node) bool { return n.ID == "doc:top.md" }) {
		t.Error("the shallow document was left out for deep ones")
	}
}

func TestSectionFits(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		write(t, dir, fmt.Sprintf("docs/file%d\u202e\n```x.md", i), "[x](none.md) # X\n")
	}
	g := build(t, docgraph.Options{Dir: dir})
	whole := g.Section(1 << 20)
	for _, most := range []int{1 << 20, 8 << 10, 4 << 10, 2 << 10, 1 << 10, 100, 0, -1} {
		s := g.Section(most)
		if len(s) > max(most, 0) || most >= 2<<10 && s == "" {
			t.Errorf("%d bytes of %d", len(s), most)
		}
		if s == "" {
			continue
		}
		body := strings.TrimSuffix(strings.TrimPrefix(s, "```json\n"), "```\n")
		var r struct {
			docgraph.Report
			Cut map[string]int
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Orphans)+r.Cut["orphans"] != 300 || len(r.Missing)+r.Cut["missing"] != 300 {
			t.Errorf("%d orphans and %d cut", len(r.Orphans), r.Cut["orphans"])
		}
		for l := range strings.Lines(body) {
			if strings.HasPrefix(strings.TrimSpace(l), "```") || strings.ContainsRune(l, '\u202e') {
				t.Fatalf("a file name got out of its place: %q", l)
			}
		}
	}
	if again := build(t, docgraph.Options{Dir: dir}).Section(1 << 20); again != whole {
		t.Error("the same folder gave another section")
	}
}

// TestOwnDocuments: Custos's own documents have no link that leads nowhere.
func TestOwnDocuments(t *testing.T) {
	g := build(t, docgraph.Options{Dir: "../../.."})
	if len(g.Missing) > 0 || len(g.Cycles) > 0 || g.Stats.Documents < 10 {
		t.Errorf("%+v: missing %v, cycles %v", g.Stats, g.Missing, g.Cycles)
	}
	t.Log(g.Section(32 << 10))
}

func BenchmarkOwnDocuments(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		g := build(b, docgraph.Options{Dir: "../../.."})
		b.ReportMetric(float64(len(g.Nodes)), "nodes")
	}
}

// BenchmarkHuge is the worst that is read: 5000 documents, 50 links in each.
func BenchmarkHuge(b *testing.B) {
	dir := b.TempDir()
	for i := range docgraph.MaxFiles {
		var s strings.Builder
		for k := range 50 {
			if k%7 == 0 {
				fmt.Fprintf(&s, "## Section %d\n", k)
			}
			fmt.Fprintf(&s, "see [x](%04d.md#section-%d)\n", (i*7+k*k*31)%docgraph.MaxFiles, k/7*7)
		}
		write(b, dir, fmt.Sprintf("%04d.md", i), s.String())
	}
	b.ReportAllocs()
	for b.Loop() {
		g := build(b, docgraph.Options{Dir: dir})
		b.ReportMetric(float64(len(g.Nodes)), "nodes")
		b.ReportMetric(float64(len(g.Edges)), "edges")
	}
}
