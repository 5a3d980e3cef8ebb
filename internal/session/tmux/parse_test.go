package tmux

import (
	"os"
	"strings"
	"testing"
)

// FuzzParse: whatever a server answers, reading it ends in panes or an error.
func FuzzParse(f *testing.F) {
	const sep = "SEP"
	good := sep + "P" + sep + strings.Join([]string{"1", "%0", "2", "$0", "a", "0", "w", "0", "sh", "sh", "t", "/", "0", "", "", "1", "1", "0"}, sep) + sep + ".\n"
	f.Add(good)
	f.Add(good + sep + "C" + sep + "$0" + sep + "0" + sep + "focused" + sep + ".\n")
	f.Add(sep + "C" + sep)
	f.Add("no server running")
	v, err := New(Options{Proc: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, out string) {
		panes, err := v.parse("/s", out, sep)
		if err != nil && panes != nil {
			t.Error("panes and an error")
		}
	})
}

func TestStatOfHostileName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "7", "7 (a) b (c)) S "+strings.Repeat("0 ", 18)+"4711 0")
	if comm, start, err := stat(dir, 7); comm != "a) b (c)" || start != 4711 || err != nil {
		t.Errorf("%q %d %v", comm, start, err)
	}
	for _, bad := range []string{"", "7", "7 (x", "7 )x(", "7 (x) S 1 2"} {
		write(t, dir, "7", bad)
		if _, _, err := stat(dir, 7); err == nil {
			t.Errorf("%q gave no error", bad)
		}
	}
}

func write(t *testing.T, proc, pid, text string) {
	t.Helper()
	if err := os.MkdirAll(proc+"/"+pid, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(proc+"/"+pid+"/stat", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
