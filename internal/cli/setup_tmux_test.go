package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is taken out leaves a tmux.conf as it was, byte for byte; to put it in twice is to
// put it in once.
func TestTmuxLinesAreUndone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"set -g mouse on", "\n", "#", "\r\n", "\t", "ä", "bind u x"})).Draw(t, "text"), "")
		with := withTmux(text, "lines\n")
		if got, err := withoutTmux(with); err != nil || got != text {
			t.Fatalf("%q is now %q, %v", text, got, err)
		}
		after := rapid.SampledFrom([]string{"", "more\n", "more"}).Draw(t, "after")
		got, err := withoutTmux(with + after)
		if want := text + after; err != nil || got != want && got != text+"\n"+after {
			t.Fatalf("with what was written after it: %q, want %q, %v", got, want, err)
		}
	})
	for _, half := range []string{"a\n" + tmuxBegins + "x\n", tmuxJoins, tmuxBegins + tmuxEnds + tmuxBegins} {
		if got, err := withoutTmux(half); err == nil {
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
		if got := boundAt("set -g mouse on\n"+line+"\n", "u") == 2; got != bound {
			t.Errorf("%q binds u: %v", line, got)
		}
	}
}

// A real tmux takes the lines, twice too, and has the segment once and the key.
func TestTmuxTakesTheLines(t *testing.T) {
	a := &app{Env: Env{Getenv: func(string) string { return "" }}}
	lines, err := a.tmuxLines("u")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf, socket := filepath.Join(dir, "tmux.conf"), filepath.Join(dir, "s")
	if err := os.WriteFile(conf, []byte(withTmux("set -g status-right 'mine'", lines)), 0o600); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-S", socket}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tmux("-f", conf, "new-session", "-d", "cat")
	t.Cleanup(func() { tmux("kill-server") })
	tmux("source-file", conf)
	tmux("source-file", conf)
	right := tmux("show-options", "-gv", "status-right")
	if !strings.HasPrefix(right, "mine #(") || strings.Count(right, "status --tmux") != 1 {
		t.Errorf("status-right is %q", right)
	}
	if length := strings.TrimSpace(tmux("show-options", "-gv", "status-right-length")); length != "120" {
		t.Errorf("its length is %s", length)
	}
	if key := tmux("list-keys", "-T", "prefix", "u"); !strings.Contains(key, "display-popup") || !strings.Contains(key, " top") {
		t.Errorf("the key is %q", key)
	}
}
