package tmux

import (
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
