package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// places are the folders of the XDG base directory specification.
type places struct{ home, configFile, stateDir string }

func placesOf(getenv func(string) string) (places, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return places{}, errors.New("cannot tell where the configuration and the state belong: HOME is not set to an absolute path")
	}
	home = filepath.Clean(home)
	base := func(variable, otherwise string) string {
		// The specification: a relative path is invalid and must be ignored.
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
		return filepath.Join(home, otherwise)
	}
	return places{
		home:       home,
		configFile: filepath.Join(base("XDG_CONFIG_HOME", ".config"), "custos", "custos.toml"),
		stateDir:   filepath.Join(base("XDG_STATE_HOME", ".local/state"), "custos"),
	}, nil
}

// Expand turns "~" and "~/x" into paths below the home, and refuses what is
// then still relative: a daemon has no working folder of meaning.
func (c Config) Expand(path string) (string, error) {
	switch {
	case path == "~":
		path = c.Home
	case strings.HasPrefix(path, "~/"):
		path = filepath.Join(c.Home, path[2:])
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("path %q is relative: begin it with / or ~/", path)
	}
	return filepath.Clean(path), nil
}
