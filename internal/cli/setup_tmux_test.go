package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/setup"
)

// A real tmux takes the lines, twice too, and has the segment once and the key.
func TestTmuxTakesTheLines(t *testing.T) {
	a := &app{Env: Env{Getenv: func(string) string { return "" }}}
	lines, err := a.tmuxLines("u")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf, socket := filepath.Join(dir, "tmux.conf"), filepath.Join(dir, "s")
	if err := os.WriteFile(conf, []byte(setup.WithTmux("set -g status-right 'mine'", lines)), 0o600); err != nil {
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
	forgets(t, tmux, conf)
}

// forgets does in a tmux what an undo says takes our lines out of it: with the file as it was
// before, and with one that is gone.
func forgets(t *testing.T, tmux func(...string) string, conf string) {
	was, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	before, err := setup.WithoutTmux(string(was))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	key := setup.TmuxKey(string(was))
	for _, file := range []string{conf, ""} {
		tmux(setup.TmuxForgets(key, file)[1:]...)
		right, keys := tmux("show-options", "-gv", "status-right"), tmux("list-keys", "-T", "prefix")
		if strings.Contains(right, "custos") || strings.Contains(keys, "display-popup -E") || (strings.TrimSpace(right) == "mine") != (file != "") {
			t.Errorf("with %q status-right is %q, and the keys are\n%s", file, right, keys)
		}
	}
	if length := strings.TrimSpace(tmux("show-options", "-gv", "status-right-length")); length != "40" {
		t.Errorf("its length is %s", length)
	}
}
