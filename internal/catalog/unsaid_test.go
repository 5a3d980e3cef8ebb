package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"custos/internal/config"
)

// TestAgentsElsewhere: in a pid namespace of its own Custos does not see all agents, until
// custos.toml says that there are none outside.
func TestAgentsElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		text         string
		nested, want bool
	}{
		"on the machine":       {"", false, false},
		"in a container":       {"", true, true},
		"there are none":       {"[agents]\nforeign_namespace = false\n", true, false},
		"others in containers": {"[agents]\nforeign_namespace = true\n", false, true},
	} {
		if got := agentsElsewhere(loaded(t, c.text), c.nested); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// loaded is a custos.toml that was read.
func loaded(t *testing.T, text string) config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "custos.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{File: file, Getenv: func(string) string { return "/home" }, Sections: Sections()})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

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
		if got := unsaid(loaded(t, c.text), c.nested); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
