package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// lookAt returns a look of one Follower of at most 4 files of a folder, by name.
func lookAt(t *testing.T, dir string) func() []string {
	patterns, err := CompileAll([]string{dir + "/*.lock"}, "")
	if err != nil {
		t.Fatal(err)
	}
	f := Follow(patterns, 4)
	return func() []string {
		paths, _, _ := f.Find(context.Background())
		for i := range paths {
			paths[i] = filepath.Base(paths[i])
		}
		return paths
	}
}

// What is followed of a folder that holds too much is followed at the next look
// too, whatever came before it by name, and also when all was followed until then; a
// place that comes free is taken by the first.
func TestTheSameFilesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		write(t, fmt.Sprintf("%s/m%d.lock", dir, i), "1")
	}
	look := lookAt(t, dir)
	want := func(names ...string) {
		t.Helper()
		if got := look(); !slices.Equal(got, names) {
			t.Errorf("followed are %v, want %v", got, names)
		}
	}
	want("m0.lock", "m1.lock", "m2.lock", "m3.lock")
	for i := range 20 {
		write(t, fmt.Sprintf("%s/a%02d.lock", dir, i), "1")
	}
	want("m0.lock", "m1.lock", "m2.lock", "m3.lock")
	if err := os.Remove(dir + "/m1.lock"); err != nil {
		t.Fatal(err)
	}
	want("a00.lock", "m0.lock", "m2.lock", "m3.lock")
	want("a00.lock", "m0.lock", "m2.lock", "m3.lock")
}

// Whatever comes and goes: what is followed keeps its place while it matches, and no
// place stays free while something waits for it.
func TestChoiceIsSteady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Choice
		name := []string{"/*"}
		total := rapid.IntRange(0, 6).Draw(t, "total")
		var last []string
		for range rapid.IntRange(1, 5).Draw(t, "looks") {
			all := rapid.SliceOfNDistinct(rapid.StringMatching("[a-k]"), 0, 8, rapid.ID).Draw(t, "files")
			chosen, cut := c.Of(name, []Found{{Paths: InOrder(all, c.Before(name[0])), Total: len(all)}}, total)
			if len(chosen[0]) != min(total, len(all)) || (cut != "") != (len(all) > total) {
				t.Fatalf("of %v at most %d: %v, cut %q", all, total, chosen, cut)
			}
			for _, p := range last {
				if slices.Contains(all, p) && !slices.Contains(chosen[0], p) {
					t.Fatalf("%s lost its place: %v", p, chosen[0])
				}
			}
			last = chosen[0]
		}
	})
}
