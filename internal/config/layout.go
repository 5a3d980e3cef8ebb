package config

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"custos/internal/nearest"
)

//go:embed layouts/*.toml
var layouts embed.FS

// Layouts lists the names Layout takes.
func Layouts() []string {
	entries, err := fs.ReadDir(layouts, "layouts")
	if err != nil {
		return nil // cannot be: the folder is in the binary
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = strings.TrimSuffix(e.Name(), ".toml")
	}
	return out
}

// Layout returns a commented custos.toml for a known way of running a fleet:
// where its repositories, worktrees, locks, phase files and logs lie.
func Layout(name string) ([]byte, error) {
	text, err := layouts.ReadFile("layouts/" + name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("cannot find layout %q%s the layouts are %s",
			name, orColon(nearest.Hint(name, Layouts())), strings.Join(Layouts(), ", "))
	}
	return text, nil
}

func orColon(suggestion string) string {
	if suggestion == "" {
		return ":"
	}
	return suggestion
}
