package config_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"custos/internal/config"
)

// What is left of a file that is refused: its folders, or a plain no.
func TestSalvage(t *testing.T) {
	for _, c := range []struct{ name, text, state, run, err string }{
		{"an unknown key", "state_dir = \"/x\"\nmodus = 1\n[locks]\nfiles = 3\n", "/x", "/x/run", ""},
		{"a wrong value elsewhere", "mode = \"sometimes\"\nstate_dir = \"/x\"\nruntime_dir = \"/r\"\n", "/x", "/r", ""},
		{"no TOML at all", "mode = auto\nstate_dir = \"/x\" # here\nwhat\n[git]\nstate_dir = \"/no\"\n", "/x", "/x/run", ""},
		{"no TOML, and no folder", "mode = auto\n", "/home/me/.local/state/custos", "/home/me/.local/state/custos/run", ""},
		{"no TOML in the folder's own line", "mode = auto\nstate_dir = \"/x\n", "", "", "c.toml:2: "},
		{"a folder that is relative", "state_dir = \"x\"\n", "", "", "relative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := config.Options{File: "c.toml", Getenv: home, ReadFile: func(string) ([]byte, error) { return []byte(c.text), nil }}
			got, err := config.Salvage(o)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || got.StateDir != c.state || got.RuntimeDir != c.run || got.Mode != "observe" || len(got.Text) != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A file that cannot be read says nothing of its folders: for the default file they
// are the default ones, for another one they cannot be told.
func TestSalvageOfWhatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		file string
		err  error
		ok   bool
	}{{"", fs.ErrPermission, true}, {"c.toml", fs.ErrPermission, false}, {"c.toml", fs.ErrNotExist, false}} {
		_, err := config.Salvage(config.Options{File: c.file, Getenv: home, ReadFile: func(string) ([]byte, error) { return nil, c.err }})
		var mistake *config.Mistake
		if (err == nil) != c.ok || err != nil && !errors.As(err, &mistake) {
			t.Errorf("%q, %v: %v", c.file, c.err, err)
		}
	}
}

func home(name string) string {
	if name == "HOME" {
		return "/home/me"
	}
	return ""
}
