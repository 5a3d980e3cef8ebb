package agent

import (
	"testing"
)

// The folders that the shipped layouts adopt are matched as a shell matches them.
func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"/tmp/action-*-[0-9]*", "/tmp/action-run-supervisor-1733", true},
		{"/tmp/action-*-[0-9]*", "/tmp/action-run-supervisor-1733/src", true},
		{"/tmp/action-*-[0-9]*", "/tmp/action-run-supervisor", false},
		{"/tmp/[!a-c]x", "/tmp/dx", true},
		{"/tmp/[!a-c]x", "/tmp/ax", false},
		{"/tmp/[^a-c]x", "/tmp/ax", false},
		{"/tmp/w?", "/tmp/w1", true},
		{"/tmp/w?", "/tmp/w", false},
		{"/a.b/*", "/a.b/c/d", true},
		{"/a.b/*", "/axb/c", false},
		{"/a/*", "/a/line\nfeed", true},
		{`/a/[\d]`, "/a/7", false},
		{`/a/[[]`, "/a/[", true},
	} {
		var g Glob
		if err := g.UnmarshalText([]byte(c.glob)); err != nil {
			t.Fatal(err)
		}
		if got := g.Match(c.path); got != c.want {
			t.Errorf("%s, %q: %v", c.glob, c.path, got)
		}
	}
	for _, bad := range []string{"/tmp/[", "/tmp/[]", "/tmp/[a-", "/tmp/[z-a]"} {
		if err := new(Glob).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
