//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestPrepareKeepsWhatWasGiven(t *testing.T) {
	l, err := prepare(options{key: "k", name: "a:b", argv: []string{"x"}}, []string{"A=1", "CUSTOS_AGENT=other:o", "TMUX=/s,1,0"}, "/w")
	if err != nil || l.dir != "/w" || !slices.Equal(l.env, []string{"A=1", "TMUX=/s,1,0", "CUSTOS_AGENT=a:b:k"}) {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestPaneAddsOnlyWhatItMay(t *testing.T) {
	got := fromPane([]string{"A=1", "COLORTERM=mine"}, []string{"TERM=screen", "COLORTERM=truecolor", "TMUX=/s,1,0", "TMUX_PANE=%1", "PATH=/p"})
	if !slices.Equal(got, []string{"A=1", "COLORTERM=mine", "TERM=screen"}) {
		t.Errorf("%q", got)
	}
}

// FuzzParseLaunch: whatever the file holds, it is either refused or read as
// arguments and variables that an exec can take.
func FuzzParseLaunch(f *testing.F) {
	f.Add([]byte("custos-launch 1\x00/d\x002\x00a\x00b\x00K=v\x00"))
	f.Add([]byte("custos-launch 1\x00/d\x001\x00\x00"))
	f.Add([]byte("custos-launch 1\x00/d\x009\x00a\x00"))
	f.Add([]byte("custos-launch 1\x00/d\x001\x00a\x00NOVALUE\x00"))
	f.Add([]byte("custos-launch 2\x00/d\x001\x00a\x00"))
	f.Add([]byte("custos-launch 1\x00/d\x001\x00a\x00K=v"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseLaunch(text)
		if err != nil {
			return
		}
		if len(l.argv) == 0 {
			t.Error("no command line")
		}
		all := append(append([]string{launchHead, l.dir, ""}, l.argv...), l.env...)
		if len(strings.Join(all, "\x00")) > len(text) {
			t.Errorf("%q became more: %q", text, all)
		}
		for _, kv := range l.env {
			if !strings.Contains(kv, "=") {
				t.Errorf("variable %q", kv)
			}
		}
	})
}

func TestOOM(t *testing.T) {
	if n, ok := oomKillOf("low 0\noom 3\noom_kill 2\noom_group_kill 1\n"); n != 2 || !ok {
		t.Errorf("memory.events: %d, %v", n, ok)
	}
	if _, ok := oomKillOf("nr_free_pages 1\n"); ok {
		t.Error("found what is not there")
	}
	now, ok := (&place{cap: "none"}).oomKills()
	if !ok {
		t.Skip("this kernel does not count OOM kills")
	}
	for _, c := range []struct {
		p      place
		signal int
		want   string
	}{
		{place{cap: "none", ooms: now, oomsOK: true}, 9, "no"},
		{place{cap: "none", ooms: now + 1, oomsOK: true}, 9, "unknown"}, // one came in between
		{place{cap: "none", ooms: now, oomsOK: false}, 9, "unknown"},
		{place{cap: "none", ooms: now + 1, oomsOK: true}, 15, "no"},
		{place{cap: "none", ooms: now + 1, oomsOK: true}, 0, "no"},
	} {
		got := "unknown"
		if b := c.p.oom(c.signal); b != nil {
			got = map[bool]string{true: "yes", false: "no"}[*b]
		}
		if got != c.want {
			t.Errorf("%+v, signal %d: %s, want %s", c.p, c.signal, got, c.want)
		}
	}
}
