package git_test

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/sys/git"
)

// version is what a branch holds: path to the lines of the file, each a token
// that occurs once in a file.
type version map[string][]string

func (v version) copy() version {
	c := version{}
	for p, lines := range v {
		c[p] = slices.Clone(lines)
	}
	return c
}

// change draws one edit: a token comes or goes, or a file goes.
func change(t *rapid.T, v version) {
	path := rapid.SampledFrom([]string{"a", "b", "d/c"}).Draw(t, "path")
	token := rapid.SampledFrom([]string{"t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"}).Draw(t, "token")
	switch lines := v[path]; {
	case rapid.IntRange(0, 9).Draw(t, "how") == 0:
		delete(v, path)
	case slices.Contains(lines, token):
		v[path] = slices.DeleteFunc(lines, func(l string) bool { return l == token })
	default:
		v[path] = append(lines, token)
		slices.Sort(v[path])
	}
}

// bring brings into main what the branch changed since the fork, line by line, as a
// squash merge does; with loss, one token is forgotten.
func bring(main, base, head version, loss bool) {
	for _, path := range union(base, head) {
		if slices.Equal(base[path], head[path]) {
			continue
		}
		lines := main[path]
		for _, l := range head[path] {
			if !slices.Contains(base[path], l) && !slices.Contains(lines, l) {
				if loss {
					loss = false
					continue
				}
				lines = append(lines, l)
			}
		}
		lines = slices.DeleteFunc(lines, func(l string) bool {
			return slices.Contains(base[path], l) && !slices.Contains(head[path], l)
		})
		slices.Sort(lines)
		if main[path] = lines; len(lines) == 0 {
			delete(main, path)
		}
	}
}

func union(a, b version) []string {
	all := a.copy()
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// holds says whether a version has all that the branch brought: every line it
// added is there, every line it took away is not. It is the judge of the test,
// and knows nothing of trees or merges.
func holds(in, base, head version) bool {
	for _, path := range union(base, head) {
		for _, l := range head[path] {
			if !slices.Contains(base[path], l) && !slices.Contains(in[path], l) {
				return false
			}
		}
		for _, l := range base[path] {
			if !slices.Contains(head[path], l) && slices.Contains(in[path], l) {
				return false
			}
		}
	}
	return true
}

// history writes commits in git's fast-import format: one process for all.
type history struct {
	strings.Builder
	mark int
}

func (h *history) commit(branch string, from, merge int, v version) int {
	h.mark++
	fmt.Fprintf(h, "commit refs/heads/%s\nmark :%d\ncommitter T <t@x> %d +0000\ndata 1\nm\n", branch, h.mark, 1000+h.mark)
	if from > 0 {
		fmt.Fprintf(h, "from :%d\n", from)
	}
	if merge > 0 {
		fmt.Fprintf(h, "merge :%d\n", merge)
	}
	fmt.Fprint(h, "deleteall\n")
	for _, path := range slices.Sorted(maps.Keys(v)) {
		content := strings.Join(append(slices.Clone(v[path]), ""), "\n")
		fmt.Fprintf(h, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	return h.mark
}

func TestNeverFalselyMerged(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "--bare", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	place := git.Place{Top: dir, GitDir: dir, Common: dir, Bare: true}
	reader := git.New(git.Options{})
	count := map[string]int{}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		main, head := fmt.Sprintf("main%d", n), fmt.Sprintf("head%d", n)
		h := &history{}
		base := version{"a": {"t1", "t5"}, "b": {"t3"}}
		m, b := base.copy(), base.copy()
		mainMark := h.commit(main, 0, 0, base)
		headMark := h.commit(head, mainMark, 0, base)
		var line []version // what main was, since the fork
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				change(t, b)
				headMark = h.commit(head, headMark, 0, b)
			case 2:
				change(t, m)
				mainMark = h.commit(main, mainMark, 0, m)
				line = append(line, m.copy())
			case 3:
				bring(m, base, b, rapid.Bool().Draw(t, "loss"))
				mainMark = h.commit(main, mainMark, 0, m)
				line = append(line, m.copy())
			case 4:
				m = base.copy() // everything reverted
				mainMark = h.commit(main, mainMark, 0, m)
				line = append(line, m.copy())
			}
		}
		load(t, dir, h.String())
		got, err := reader.Merged(t.Context(), place, commitOf(t, dir, head), []string{"refs/heads/" + main})
		if err != nil {
			t.Fatal(err)
		}
		truth := holds(base, base, b) || slices.ContainsFunc(line, func(v version) bool { return holds(v, base, b) })
		if got.Yes && !truth {
			t.Fatalf("merged by %s, but no commit of main ever held it\nbase %v\nhead %v\nmain %v", got.By, base, b, line)
		}
		count[fmt.Sprintf("%v/%v", got.Yes, truth)]++
	})
	t.Logf("answered/true: %v", count)
	if count["true/true"] == 0 || count["false/false"] == 0 {
		t.Errorf("the histories prove nothing: %v", count)
	}
}

func load(t *rapid.T, dir, stream string) {
	cmd := exec.Command("git", "fast-import", "--quiet", "--force")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stream)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fast-import: %v: %s", err, out)
	}
}

func commitOf(t *rapid.T, dir, branch string) string {
	cmd := exec.Command("git", "rev-parse", "refs/heads/"+branch)
	cmd.Dir = filepath.Clean(dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
