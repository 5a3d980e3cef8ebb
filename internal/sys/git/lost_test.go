package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/gittest"
	"pgregory.net/rapid"
)

func TestCountLines(t *testing.T) {
	head := "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n"
	for name, c := range map[string]struct {
		diff string
		want map[string]tally // nil: it cannot be read
	}{
		"nothing":          {"", map[string]tally{}},
		"one of each":      {head + "@@ -1 +1 @@\n-a\n+b\n", map[string]tally{"a": {0, 1}, "b": {1, 0}}},
		"with a function":  {head + "@@ -3,2 +2,0 @@ func @@ -9 +9 @@\n-a\n-a\n", map[string]tally{"a": {0, 2}}},
		"moved":            {head + "@@ -1 +0,0 @@\n-a\n@@ -9,0 +9 @@\n+a\n", map[string]tally{"a": {1, 1}}},
		"no newline":       {head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", map[string]tally{"a": {1, 1}}},
		"white space":      {head + "@@ -1,2 +0,0 @@\n- \t\n-\n", map[string]tally{}},
		"CR":               {head + "@@ -1 +1 @@\n-a\r\n+a\n", map[string]tally{"a\r": {0, 1}, "a": {1, 0}}},
		"binary":           {"diff --git a/f b/f\nBinary files a/f and b/f differ\n", map[string]tally{}},
		"like heads":       {head + "@@ -1,3 +1,3 @@\n--- a/x\n-@@ -1 +1 @@\n-\\ No newline\n+++ b/x\n+diff --git a/x b/x\n+@@ -1,9 +1,9 @@\n" + head + "@@ -1 +0,0 @@\n-z\n", map[string]tally{"-- a/x": {0, 1}, "@@ -1 +1 @@": {0, 1}, "\\ No newline": {0, 1}, "++ b/x": {1, 0}, "diff --git a/x b/x": {1, 0}, "@@ -1,9 +1,9 @@": {1, 0}, "z": {0, 1}}},
		"too short":        {head + "@@ -1,2 +0,0 @@\n-a\n", nil},
		"another line":     {head + "@@ -1,2 +0,0 @@\n-a\n a\n", nil},
		"too many added":   {head + "@@ -1 +0,0 @@\n+a\n", nil},
		"a broken head":    {head + "@@ -1 @@\n-a\n", nil},
		"an endless count": {head + "@@ -1,99999999999999999999 +1 @@\n-a\n", nil},
	} {
		got, err := countLines([]byte(c.diff))
		if (err != nil) != (c.want == nil) || err == nil && fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}

// diffOf writes a difference of lines that were added ("+a") and taken away ("-a").
func diffOf(lines ...string) []byte {
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(b[:1], a[:1]) }) // "-" first
	added := strings.Count("\n"+strings.Join(lines, "\n"), "\n+")
	return fmt.Appendf(nil, "@@ -1,%d +1,%d @@\n%s\n", len(lines)-added, added, strings.Join(lines, "\n"))
}

func TestLost(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct{ ours, theirs, merged, want []string }{
		"both are there":      {[]string{"+a"}, []string{"+b"}, []string{"+a", "+b"}, nil},
		"ours is not":         {[]string{"+a"}, []string{"+b"}, []string{"+b"}, []string{"a"}},
		"theirs is not":       {[]string{"+a"}, []string{"+b"}, []string{"+a"}, []string{"b"}},
		"neither":             {[]string{"+b", "+a"}, []string{"+c"}, []string{"+d"}, []string{"a", "b", "c"}},
		"the same, once":      {[]string{"+a"}, []string{"+a"}, []string{"+a"}, nil},
		"the same, not there": {[]string{"+a"}, []string{"+a"}, []string{"+b"}, []string{"a"}},
		"more of one":         {[]string{"+a", "+a"}, []string{"+a"}, []string{"+a"}, []string{"a"}},
		"more than there was": {[]string{"+a"}, []string{"+b"}, []string{"+a", "+a", "+b"}, nil},
		"gone from one":       {[]string{"-a"}, []string{"+b"}, []string{"-a", "+b"}, nil},
		"gone, and stayed":    {[]string{"-a"}, []string{"+b"}, []string{"+b"}, nil},
		"gone from both":      {[]string{"-a"}, []string{"-a"}, []string{"-a", "-a"}, nil},
		"more gone than both": {[]string{"-a"}, []string{"-a"}, []string{"-a", "-a", "-a"}, []string{"a"}},
		"added and gone":      {[]string{"+a"}, []string{"-a"}, []string{"+c", "-c"}, nil},
		"added, and gone too": {[]string{"+a"}, []string{"-a"}, []string{"-a"}, []string{"a"}},
		// Both added it in one place, and theirs took it away in another: as many are there as before.
		"alike, and elsewhere": {[]string{"+a"}, []string{"+a", "-a"}, []string{"+c"}, nil},
		"long":                 {[]string{"+" + long}, []string{"+b"}, []string{"+b"}, []string{long[:mostLostLine]}},
	} {
		got, err := Lost(diffOf(c.ours...), diffOf(c.theirs...), diffOf(c.merged...))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("+%02d", i))
	}
	if got, err := Lost(diffOf(many...), nil, nil); err != nil || len(got) != mostLost || got[0] != "00" {
		t.Errorf("of many: %q, %v", got, err)
	}
	for i := range 3 {
		diffs := [3][]byte{}
		diffs[i] = []byte("@@ -1 +1 @@\n")
		if _, err := Lost(diffs[0], diffs[1], diffs[2]); err == nil {
			t.Errorf("difference %d was read", i)
		}
	}
}

func FuzzCountLines(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("+++ b/f\n--- a/f\n@@ -1 +1 @@\n"))
	f.Add([]byte("diff --git a/a b/a\n"), []byte("\\ No newline at end of file"))
	f.Add([]byte("@@ -1,9 +1,9 @@\n-x"), []byte("Binary files a/f and b/f differ\n\r\n"))
	f.Fuzz(func(t *testing.T, old, now []byte) {
		_, _ = countLines(old) // it may fail, and nothing else
		_, _ = countLines(now)
		o, n := nonEmpty(old), nonEmpty(now)
		var diff strings.Builder
		for range 2 { // the one hunk does not reach into the other
			fmt.Fprintf(&diff, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,%d +1,%d @@ %s\n", len(o), len(n), strings.Join(append(o, n...), " "))
			for _, l := range o {
				diff.WriteString("-" + l + "\n")
			}
			diff.WriteString("\\ No newline at end of file\n")
			for _, l := range n {
				diff.WriteString("+" + l + "\n")
			}
		}
		got, err := countLines([]byte(diff.String()))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]tally{}
		for range 2 {
			for _, l := range o {
				count(want, []byte(l), tally{removed: 1})
			}
			for _, l := range n {
				count(want, []byte(l), tally{added: 1})
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q is %v, want %v", diff.String(), got, want)
		}
	})
}

func nonEmpty(text []byte) []string {
	return strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' })
}

// edited changes some lines: few words, so that many are alike.
func edited(t *rapid.T, lines []string, own string) []string {
	lines = slices.Clone(lines)
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		word := rapid.SampledFrom([]string{"a", "b", "}", "", "-- a", own}).Draw(t, "word")
		if rapid.Bool().Draw(t, "add") || at == len(lines) {
			lines = slices.Insert(lines, at, word)
		} else {
			lines = slices.Delete(lines, at, at+1)
		}
	}
	return lines
}

// store makes a commit of one file.
func store(t rapid.TB, a *apart, lines []string, parents ...string) string {
	t.Helper()
	run := func(stdin string, args ...string) string {
		out, err := a.line(context.Background(), stdin, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	blob := run(strings.Join(append(lines, ""), "\n"), "hash-object", "-w", "--stdin")
	tree := run("100644 blob "+blob+"\tf\n", "mktree")
	args := []string{"commit-tree", "-m", "c"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return run("", append(args, tree)...)
}

// newApart is a repository of its own for a test.
func newApart(t testing.TB) (*gittest.Repo, *apart) {
	t.Helper()
	r := gittest.New(t)
	a, err := New(Options{}).apartFrom(t.Context(), r.Top)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return r, a
}

// Whatever two sides do, a merge that git makes has lost nothing; and a line that one side alone has is missed
// where it is taken out of the merge.
func TestNoMergeOfGitsIsLost(t *testing.T) {
	_, a := newApart(t)
	ctx, clean := t.Context(), 0
	attributes := filepath.Join(a.dir, "tree", ".gitattributes")
	rapid.Check(t, func(t *rapid.T) {
		_ = os.Remove(attributes)
		if rapid.Bool().Draw(t, "union") {
			if err := os.WriteFile(attributes, []byte("* -diff merge=union\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "}", "", "x1", "x2", "x3", "x4"}), 0, 14).Draw(t, "base")
		base := store(t, a, words)
		ours, theirs := store(t, a, edited(t, words, "ours"), base), store(t, a, edited(t, words, "theirs"), base)
		m, err := a.mergeTree(ctx, MergePlan{Ours: ours, Theirs: theirs})
		if err != nil {
			t.Fatal(err)
		}
		if len(m.conflicts) > 0 {
			return
		}
		clean++
		lost, err := a.lost(ctx, []string{base}, ours, theirs, m.tree)
		if err != nil || lost != nil {
			t.Fatalf("lost %q, %v", lost, err)
		}
		text, err := a.run(ctx, "", "cat-file", "blob", m.tree+":f")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for _, own := range []string{"ours", "theirs"} {
			if i := slices.Index(lines, own); i >= 0 {
				without := store(t, a, slices.Delete(slices.Clone(lines), i, i+1))
				if lost, err := a.lost(ctx, []string{base}, ours, theirs, without); err != nil || !slices.Equal(lost, []string{own}) {
					t.Fatalf("without a line of %s: lost %q, %v", own, lost, err)
				}
			}
		}
	})
	if clean == 0 {
		t.Error("no two sides merged")
	}
}

// Where two sides forked more than once, there is nothing to compare with.
func TestLostOfACrissCross(t *testing.T) {
	_, a := newApart(t)
	base := store(t, a, []string{"1", "2", "3", "4", "5"})
	x, y := store(t, a, []string{"x", "1", "2", "3", "4", "5"}, base), store(t, a, []string{"1", "2", "3", "4", "5", "y"}, base)
	both := []string{"x", "1", "2", "3", "4", "5", "y"}
	p := MergePlan{Ours: store(t, a, both, x, y), Theirs: store(t, a, append(both, "z"), y, x)}
	bases, err := a.bases(t.Context(), p)
	if err != nil || len(bases) != 2 {
		t.Fatalf("%q, %v", bases, err)
	}
	if lost, err := a.lost(t.Context(), bases, p.Ours, p.Theirs, p.Ours); err != nil || lost != nil {
		t.Errorf("%q, %v", lost, err)
	}
	if m, err := a.merge(t.Context(), p); err != nil || m.conflicts != nil {
		t.Errorf("%+v, %v", m, err)
	}
}

// What is too much to look through is merged, and said not to be looked through.
func TestLostOfTooMuch(t *testing.T) {
	r, a := newApart(t)
	base := r.Git(r.Top, "rev-parse", "HEAD")
	r.Git(r.Top, "switch", "-q", "-c", "big")
	big := r.Commit(r.Top, "big", strings.Repeat("a line of some length\n", mostDiff/20))
	r.Git(r.Top, "switch", "-q", "main")
	p := MergePlan{Ours: r.Commit(r.Top, "small", "small\n"), Theirs: big, Message: "m", Name: "Q", Email: "q", At: time.Unix(1, 0)}
	if _, err := a.lost(t.Context(), []string{base}, p.Ours, p.Theirs, p.Theirs); !errors.Is(err, ErrTooMuch) {
		t.Error("it was looked through")
	}
	got, err := NewWriter(a.r, WriterOptions{}).MergeCommits(t.Context(), r.Top, p)
	if err == nil || got.Commit == "" || !errors.Is(err, ErrTooMuch) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseMergeTree(t *testing.T) {
	oid := strings.Repeat("1", 40)
	for out, want := range map[string]*mergeTree{
		oid + "\x00\x00":                                                             {tree: oid},
		oid + "\x00b\x00a\x00a\x00\x00":                                              {tree: oid, conflicts: []string{"a", "b"}},
		oid + "\x00\x001\x00f\x00Auto-merging\x00text\n\x00":                         {tree: oid, content: []string{"f"}},
		oid + "\x00\x002\x00f\x00g\x00CONFLICT (x)\x00text\n\x00":                    {tree: oid, told: []string{"f", "g"}, kinds: []kind{{"CONFLICT (x)", []string{"f", "g"}}}},
		oid + "\x00m\x00\x001\x00m\x00CONFLICT (submodule)\x00text\n\x00 - advice\n": {tree: oid, conflicts: []string{"m"}, told: []string{"m"}, kinds: []kind{{"CONFLICT (submodule)", []string{"m"}}}},
		"": nil, "x\x00\x00": nil, oid: nil, oid + "\x00a": nil, oid + "\x00\x00x\x00": nil, oid + "\x00\x00-1\x00a\x00b\x00c\x00": nil,
		oid + "\x00\x009\x00a\x00b\x00c\x00": nil,
	} {
		got, err := parseMergeTree(out)
		if (err != nil) != (want == nil) || want != nil && fmt.Sprint(got) != fmt.Sprint(*want) {
			t.Errorf("%q: %+v, %v; want %+v", out, got, err, want)
		}
	}
}

func FuzzParseMergeTree(f *testing.F) {
	f.Add(strings.Repeat("1", 40) + "\x00f\x00\x001\x00f\x00Auto-merging\x00text\n\x00")
	f.Fuzz(func(t *testing.T, out string) {
		if m, err := parseMergeTree(out); err == nil && (!isOID(m.tree) || !slices.IsSorted(m.conflicts)) {
			t.Errorf("%q is %+v", out, m)
		}
	})
}

func FuzzAnswered(f *testing.F) {
	f.Add("t:a\nb missing\n", "t:a\nb")
	f.Add("1111 blob 3\nabc\n", "t:a")
	f.Fuzz(func(t *testing.T, out, name string) {
		if content, _, rest, err := answered(out, name); err == nil && len(content)+len(rest) > len(out) {
			t.Errorf("%q and %q of %q", content, rest, out)
		}
	})
}
