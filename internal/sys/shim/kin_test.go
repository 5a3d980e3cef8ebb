package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Of an agent are the instance that is asked for, and those before it where they are
// wanted; a later one, another agent's, and one of another boot are not.
func TestReadKin(t *testing.T) {
	root := t.TempDir()
	claim := func(key, name, boot string, pid, up int) {
		fill(t, filepath.Join(root, key, "claim"), fmt.Sprintf(`{"v":1,"key":%q,"name":%q,"shim":{"pid":%d,"start":1},"at":{"up_ns":%d,"boot":%q}}`, key, name, pid, up, boot))
	}
	claim("old", "a", "now", 11, 1)
	claim("is", "a", "now", 12, 2)
	claim("new", "a", "now", 13, 3)
	claim("kid", "b", "now", 14, 3)
	claim("gone", "a", "before", 15, 1)
	fill(t, filepath.Join(root, "old", "left.json"), `{"v":1,"key":"old","procs":[{"pid":21,"start":1,"name":"x"}]}`)
	for _, c := range []struct {
		former                Former
		markers               string
		shims, left, othersOf []int
	}{
		{OfOne, "is", []int{12}, nil, []int{11, 13, 14}},
		{OfAll, "is old", []int{11, 12}, []int{21}, []int{13, 14}},
	} {
		k, err := ReadKin(root, "a", "is", "now", c.former)
		var markers []string
		for _, m := range k.Markers {
			markers = append(markers, strings.TrimPrefix(m, Marker+"=a:"))
		}
		slices.Sort(markers)
		if got := strings.Join(slices.Compact(markers), " "); err != nil || got != c.markers {
			t.Errorf("%v: markers %q, %v", c.former, got, err)
		}
		for what, is := range map[string][2][]int{"shims": {pids(k.Shims), c.shims}, "left": {pids(k.Left), c.left}, "others": {pids(k.Others), c.othersOf}} {
			if !slices.Equal(is[0], is[1]) {
				t.Errorf("%v: %s %v, want %v", c.former, what, is[0], is[1])
			}
		}
	}
	fill(t, filepath.Join(root, "kid", "claim"), "{")
	if k, err := ReadKin(root, "a", "is", "now", OfAll); err == nil || len(k.Shims) > 0 || len(k.Markers) == 0 {
		t.Errorf("a claim that cannot be read: %+v, %v", k, err)
	}
}

func fill(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pids(of []ID) (out []int) {
	for _, id := range of {
		out = append(out, id.PID)
	}
	slices.Sort(out)
	return out
}
