package setup

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is taken out leaves a tmux.conf as it was, byte for byte; to put it in twice is to
// put it in once.
func TestTmuxLinesAreUndone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"set -g mouse on", "\n", "#", "\r\n", "\t", "ä", "bind u x"})).Draw(t, "text"), "")
		with := WithTmux(text, "lines\n")
		if got, err := WithoutTmux(with); err != nil || got != text {
			t.Fatalf("%q is now %q, %v", text, got, err)
		}
		after := rapid.SampledFrom([]string{"", "more\n", "more"}).Draw(t, "after")
		got, err := WithoutTmux(with + after)
		if want := text + after; err != nil || got != want && got != text+"\n"+after {
			t.Fatalf("with what was written after it: %q, want %q, %v", got, want, err)
		}
	})
	for _, half := range []string{"a\n" + tmuxBegins + "x\n", tmuxJoins, tmuxBegins + tmuxEnds + tmuxBegins} {
		if got, err := WithoutTmux(half); err == nil {
			t.Errorf("%q: %q", half, got)
		}
	}
}

// A key that the person has bound is not taken.
func TestBoundKeys(t *testing.T) {
	for line, bound := range map[string]bool{
		"bind u new-window": true, "bind-key -r u x": true, "  bind -N 'a note' u x": true, `bind "u" x`: true,
		"bind -n u x": false, "bind U x": false, "# bind u x": false, "bind -T root u x": false, "bind C-u x": false, "unbind u": false,
	} {
		if got := BoundAt("set -g mouse on\n"+line+"\n", "u") == 2; got != bound {
			t.Errorf("%q binds u: %v", line, got)
		}
	}
}
