package config

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// places are the folders of the XDG base directory specification.
type places struct{ home, configFile, stateDir string }

func placesOf(getenv func(string) string, passwd func() (string, error)) (places, error) {
	home, err := Home(getenv, passwd)
	if err != nil {
		return places{}, err
	}
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

// Home is the folder everything stays below: HOME, or, when it is not set (as in
// a unit of systemd or a cron job), what the password file says of this user.
// passwd reads that; nil is the machine's own.
func Home(getenv func(string) string, passwd func() (string, error)) (string, error) {
	home, why := getenv("HOME"), "HOME is not an absolute path"
	if home == "" {
		if passwd == nil {
			passwd = passwdHome
		}
		why = "HOME is not set, and the password file names no home for this user"
		var err error
		if home, err = passwd(); err != nil {
			why += " (" + err.Error() + ")"
		}
	}
	if !filepath.IsAbs(home) {
		return "", errors.New("cannot find where the configuration and the state belong: " + why + ": set it, like HOME=/home/me custos")
	}
	return filepath.Clean(home), nil
}

func passwdHome() (string, error) {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return "", err
	}
	return u.HomeDir, nil
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
