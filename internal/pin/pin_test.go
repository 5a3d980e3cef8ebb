package pin

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

func file(path, digest string, exec bool) fleet.CodeFile {
	return fleet.CodeFile{Path: path, Digest: digest, Exec: exec}
}

// Whatever an agent may do to a file makes it another one: its bytes, its name, its
// right to be executed, one beside it.
func TestJudge(t *testing.T) {
	pinned := []fleet.CodeFile{file("formulas/a.toml", "1", false), file("plugins/x/plugin.md", "2", false), file("plugins/x/run.sh", "3", true)}
	for name, c := range map[string]struct {
		files []fleet.CodeFile
		want  string // changes
		whole bool   // plugins/x
	}{
		"as it was":  {pinned, "", true},
		"bytes":      {[]fleet.CodeFile{pinned[0], pinned[1], file("plugins/x/run.sh", "4", true)}, "~ plugins/x/run.sh", false},
		"mode":       {[]fleet.CodeFile{pinned[0], pinned[1], file("plugins/x/run.sh", "3", false)}, "~ plugins/x/run.sh", false},
		"renamed":    {[]fleet.CodeFile{pinned[0], pinned[1], file("plugins/x/run2.sh", "3", true)}, "- plugins/x/run.sh, + plugins/x/run2.sh", false},
		"beside":     {append(pinned[:3:3], file("plugins/x/lib.sh", "5", false)), "+ plugins/x/lib.sh", false},
		"elsewhere":  {append(pinned[:3:3], file("plugins/xy/run.sh", "5", true)), "+ plugins/xy/run.sh", true},
		"gone":       {pinned[:1], "- plugins/x/plugin.md, - plugins/x/run.sh", false},
		"all of it":  {nil, "- formulas/a.toml, - plugins/x/plugin.md, - plugins/x/run.sh", false},
		"not pinned": {[]fleet.CodeFile{file("b", "1", false)}, "+ b, - formulas/a.toml, - plugins/x/plugin.md, - plugins/x/run.sh", false},
	} {
		v := Judge(c.files, pinned)
		if got := strings.Join(v.Changes, ", "); got != c.want || v.Whole("plugins/x") != c.whole {
			t.Errorf("%s: %q, whole %v", name, got, v.Whole("plugins/x"))
		}
	}
}

// Nothing is trusted that is not, byte for byte and by its name, among the pins.
func TestNothingUnpinnedIsTrusted(t *testing.T) {
	files := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) fleet.CodeFile {
		return file(rapid.SampledFrom([]string{"a", "b", "c/d", "c/e"}).Draw(t, "path"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "digest"), rapid.Bool().Draw(t, "exec"))
	}), 0, 4, func(f fleet.CodeFile) string { return f.Path })
	rapid.Check(t, func(t *rapid.T) {
		is, was := files.Draw(t, "is"), files.Draw(t, "was")
		v := Judge(is, was)
		for _, f := range is {
			pinned := false
			for _, p := range was {
				pinned = pinned || reflect.DeepEqual(f, p)
			}
			if v.Trusted[f.Path] != pinned {
				t.Fatalf("%v: trusted %v, pinned %v", f, v.Trusted[f.Path], pinned)
			}
		}
		if (len(v.Changes) == 0) != (fleet.CodeDigest(sorted(is)) == fleet.CodeDigest(sorted(was))) {
			t.Fatalf("changes %v", v.Changes)
		}
	})
}

func sorted(files []fleet.CodeFile) (out []fleet.CodeFile) {
	for _, path := range []string{"a", "b", "c/d", "c/e"} {
		for _, f := range files {
			if f.Path == path {
				out = append(out, f)
			}
		}
	}
	return out
}
