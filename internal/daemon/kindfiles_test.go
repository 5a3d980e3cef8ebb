package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKindFilesComeIntoForceByThemselves: a file of a kind is read as it is written, and
// without custos.toml being touched; one that is wrong is told of, and stops nothing.
func TestKindFilesComeIntoForceByThemselves(t *testing.T) {
	w := foundTown(t, "[limits]\nspawn_memory = \"0\"\n")
	if err := os.Mkdir(filepath.Join(w.dir, "kinds"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(w.dir, "kinds", "mine.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("\nnmes = [\"mine\"]\n")
	w.start()
	said := func() string { return w.mode() + w.said.String() }
	explains := func() string {
		out, _ := w.says("explain", "--kind", "mine", "--screen", filepath.Join(w.dir, "custos.toml"))
		return out
	}
	await(t, said, func() bool { return w.fires("self-config") })
	if out, code := w.says("health"); code != 0 || !strings.Contains(strings.Join(strings.Fields(out), ""), `kinds/mine.toml:2:unknownkey"nmes"`) {
		t.Errorf("health ended with %d and said %s", code, out)
	}
	if out := explains(); !strings.Contains(out, `no kind "mine"`) {
		t.Errorf("of a kind whose file is wrong: %s", out)
	}
	write("names = [\"mine\"]\n[[screen]]\nstate = \"idle\"\nsays = \"it is a file of ours\"\nends = \".*\"\n")
	await(t, said, func() bool { return strings.Contains(explains(), "it is a file of ours") })
	await(t, said, func() bool { return !w.fires("self-config") })
}
