// Package formulas holds the formulas that come with Custos, one file each.
// They run what Custos does by itself, and are read to learn what that is.
package formulas

import (
	"embed"
	"strings"
)

//go:embed *.toml
var files embed.FS

// Lookup returns the text of a shipped formula by its name, and how problems
// name it. It has the shape that formula.Resolve asks for.
func Lookup(name string) (text []byte, file string, ok bool) {
	file = "formulas/" + name + ".toml"
	text, err := files.ReadFile(name + ".toml")
	return text, file, err == nil
}

// Names lists the shipped formulas, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // an embedded folder can be read
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}
