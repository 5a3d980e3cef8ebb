package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"custos/internal/config"
)

// TestWhatIsToBeSaidOfOtherNamespaces: in a pid namespace of its own Custos removes
// nothing until custos.toml says that nobody outside works there; which sections
// would have to say so is known, and nothing is asked where nothing hangs on it.
func TestWhatIsToBeSaidOfOtherNamespaces(t *testing.T) {
	const git, locks = "[git]\nrepos = [\"/r\"]\n", "[locks]\nglobs = [\"/l/*\"]\n"
	for name, c := range map[string]struct {
		text   string
		nested bool
		want   []string
	}{
		"both":            {git + locks, true, []string{"git", "locks"}},
		"on the machine":  {git + locks, false, nil},
		"nothing named":   {"", true, nil},
		"git says no":     {git + "foreign_namespace = false\n" + locks, true, []string{"locks"}},
		"locks says yes":  {git + locks + "foreign_namespace = true\n", true, []string{"git"}},
		"worktrees alone": {"[git]\nworktrees = [\"/w/*\"]\n", true, []string{"git"}},
	} {
		file := filepath.Join(t.TempDir(), "custos.toml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.Options{File: file, Getenv: func(string) string { return "/home" }, Sections: Sections()})
		if err != nil {
			t.Fatal(err)
		}
		if got := unsaid(cfg, c.nested); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
