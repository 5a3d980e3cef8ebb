package git_test

import (
	"strings"
	"testing"

	"custos/internal/sys/git"
)

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("# branch.oid abc\x00# branch.head main\x00# branch.ab +1 -2\x001 .M N... 100644 100644 100644 a b README\x00? x\x00! y/\x00"))
	f.Add([]byte("2 R. N... 100644 100644 100644 a b R100 new\x00old\x00"))
	f.Add([]byte("u UU N... 1 2 3 4 a b c path\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := git.ParseStatus(raw)
		if err != nil {
			return
		}
		n := len(c.Dirty) + len(c.Untracked) + len(c.Ignored)
		if entries := strings.Count("\x00"+string(raw), "\x001 ") + strings.Count("\x00"+string(raw), "\x00? "); n < entries-len(c.Gone) {
			t.Errorf("%q: %d entries became %d", raw, entries, n)
		}
	})
}

func FuzzParseWorktrees(f *testing.F) {
	f.Add([]byte("worktree /a b\nc\x00HEAD 123\x00branch refs/heads/main\x00\x00worktree /x\x00HEAD 1\x00detached\x00locked\x00prunable why\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := git.ParseWorktrees(raw)
		if n := strings.Count("\x00"+string(raw), "\x00worktree "); err == nil && len(list) < n {
			t.Errorf("%q: %d worktrees became %d", raw, n, len(list))
		}
	})
}

func FuzzParseStashes(f *testing.F) {
	f.Add([]byte("a b\nWIP on main: 123 On x: y\x00a b\nOn x/y: WIP on z: w\x00a\nWIP on (no branch): 1 2\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, s := range git.ParseStashes(raw) {
			if s.Branch == "(no branch)" || strings.Contains(s.Branch, ": ") {
				t.Errorf("%q: branch %q", raw, s.Branch)
			}
		}
	})
}

func TestParseStatus(t *testing.T) {
	for _, bad := range []string{"1 .M N...", "2 R. N... 1 2 3 a b R100 new", "x y", "1", "# branch.ab x y"} {
		if _, err := git.ParseStatus([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	s := git.ParseStashes([]byte("a b\nOn x/y: WIP on z: w\x00"))
	if len(s) != 1 || s[0].Branch != "x/y" || s[0].Base != "a" {
		t.Errorf("stashes %+v", s)
	}
}

func TestPreciousNames(t *testing.T) {
	for name, want := range map[string]bool{".env": true, ".ENV.production": true, ".env.example": false, "id_ed25519": true,
		"server.key": true, "app.sqlite3": true, "app.db-wal": true, "settings.local.json": true, "credentials.json": true,
		"main.go": false, "index.js": false, ".x.swp": true} {
		if git.LooksPrecious(name) != want {
			t.Errorf("LooksPrecious(%q) = %v", name, !want)
		}
	}
}
