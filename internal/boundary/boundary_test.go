package boundary_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/boundary"
)

var linked = boundary.Places{
	Name: "b", By: boundary.Bwrap, Missing: boundary.Refuse, Network: boundary.NetOpen, Home: "/home/u", Tmp: "/tmp/x",
	Git:    boundary.Git{Top: "/w/mine", Dir: "/r/.git/worktrees/mine", Common: "/r/.git"},
	State:  []string{"/home/u/.claude"},
	Config: []string{"/home/u/.claude/settings.json"},
	Caches: []string{"go"},
}

func TestWhatIsWritten(t *testing.T) {
	clone := linked
	clone.Git = boundary.Git{Top: "/w/c", Dir: "/w/c/.git", Common: "/w/c/.git"}
	lock := linked
	lock.Git.Lock = true
	plain := linked
	plain.Git, plain.Dir = boundary.Git{}, "/w/d"
	for name, c := range map[string]struct {
		places boundary.Places
		write  string
		keep   string
		steers string
	}{
		"worktree": {linked, "/r/.git/logs /r/.git/objects /r/.git/refs /r/.git/worktrees/mine /w/mine",
			"/home/u/.claude/settings.json /r/.git/worktrees/mine/commondir /r/.git/worktrees/mine/gitdir /w/mine/.git", ""},
		"clone": {clone, "/w/c", "/home/u/.claude/settings.json /w/c/.git/config /w/c/.git/hooks /w/c/.git/info", "/w/c/.git"},
		"with the lock of references": {lock, "/r/.git /r/.git/worktrees/mine /w/mine",
			"/home/u/.claude/settings.json /r/.git/HEAD /r/.git/config /r/.git/hooks /r/.git/info /r/.git/worktrees /r/.git/worktrees/mine/commondir /r/.git/worktrees/mine/gitdir /w/mine/.git", "/r/.git"},
		"no worktree": {plain, "/w/d", "/home/u/.claude/settings.json", ""},
	} {
		s := boundary.Compose(c.places)
		write := slices.DeleteFunc(s.Write, func(p string) bool { return strings.HasPrefix(p, "/home/u/") || p == "/tmp/x" })
		if got := strings.Join(write, " "); got != c.write {
			t.Errorf("%s writes %s, want %s", name, got, c.write)
		}
		if got := strings.Join(s.Keep, " "); got != c.keep || s.Steers != c.steers {
			t.Errorf("%s keeps %s (%s), want %s (%s)", name, got, s.Steers, c.keep, c.steers)
		}
	}
}

// What is composed can be written down and read again as the same; cut anywhere it is nothing.
func TestWrittenDown(t *testing.T) {
	text, err := boundary.Compose(linked).Text()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := boundary.Parse(text); err != nil || s.Tmp != "/tmp/x" {
		t.Fatalf("%+v, %v", s, err)
	}
	for i := range text {
		if s, err := boundary.Parse(text[:i]); err == nil {
			t.Fatalf("%q is read: %+v", text[:i], s)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, err := boundary.Compose(linked).Text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{\"v\":1}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := boundary.Parse(text)
		if err != nil {
			return
		}
		for _, p := range slices.Concat(s.Read, s.Write, s.Keep, s.Sockets) {
			if !strings.HasPrefix(p, "/") || len(p) < 2 || strings.Contains(p, "/../") {
				t.Errorf("%q is taken for a path", p)
			}
		}
		if _, err := s.Text(); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

// Nothing that is to be kept lies in the open: whatever is configured, another worktree's entry and
// the repository's own files are neither written nor in a tree that is, unless somebody asked for it.
func TestNothingIsWrittenUnasked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := linked
		p.By = rapid.SampledFrom([]string{boundary.Landlock, boundary.Bwrap}).Draw(t, "by")
		p.Write = rapid.SliceOf(rapid.SampledFrom([]string{"/srv/a", "/w/minefield", "/r/.github", "/r/.git/worktrees/mine2"})).Draw(t, "write")
		p.Caches = rapid.SliceOf(rapid.SampledFrom([]string{"go", "npm", "pip", "cargo"})).Draw(t, "caches")
		s := boundary.Compose(p)
		for _, kept := range []string{"/r/.git/config", "/r/.git/hooks/pre-commit", "/r/.git/worktrees/other/HEAD", "/r/file", "/w/other", "/home/u/.ssh/id", "/r/.git/commondir"} {
			for _, tree := range s.Write {
				if boundary.Inside(kept, tree) {
					t.Fatalf("%s is written by %s", kept, tree)
				}
			}
		}
		if _, err := s.Text(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhatIsOpen(t *testing.T) {
	s := boundary.Compose(linked)
	ports := s
	ports.Network, ports.Ports = boundary.NetPorts, []int{443}
	land := linked
	land.By = boundary.Landlock
	for name, c := range map[string]struct {
		spec   boundary.Spec
		abi    int
		absent []string
		want   []string
	}{
		"bwrap holds what is asked":     {s, 7, nil, nil},
		"bwrap without Landlock":        {s, 0, nil, []string{"links among git", "signals to other", "abstract"}},
		"what is not there can be made": {s, 7, []string{"/home/u/.claude/settings.json"}, []string{"making of /home/u/.claude/settings.json"}},
		"ports":                         {ports, 7, nil, []string{"UDP"}},
		"ports before TCP was known":    {ports, 3, nil, []string{"TCP", "signals", "abstract", "UDP"}},
		"Landlock 7":                    {boundary.Compose(land), 7, nil, []string{"unix sockets", "settings.json, /r/.git/worktrees/mine/commondir"}},
		"Landlock 9":                    {boundary.Compose(land), 9, nil, []string{"settings.json, /r/.git/worktrees/mine/commondir"}},
		"Landlock 2":                    {boundary.Compose(land), 2, nil, []string{"cutting short", "ioctl", "signals", "abstract", "unix sockets", "settings.json, /r/.git/worktrees/mine/commondir"}},
	} {
		open := c.spec.Open(c.abi, c.absent)
		ok := len(open) == len(c.want)
		for i := range min(len(open), len(c.want)) {
			ok = ok && strings.Contains(open[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: %q, want %q", name, open, c.want)
		}
	}
}
