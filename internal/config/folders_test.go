package config

import (
	"strings"
	"testing"
)

// TestOwnFoldersAreNobodyElses: a folder that is also another's is refused as Custos' own,
// with its line and a better name; whatever is beside those is taken.
func TestOwnFoldersAreNobodyElses(t *testing.T) {
	load := func(text string) error {
		getenv := func(k string) string {
			return map[string]string{"HOME": "/home/me", "XDG_RUNTIME_DIR": "/run/user/7"}[k]
		}
		_, err := Load(Options{File: "/home/me/all/custos.toml", Getenv: getenv, ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
		return err
	}
	for _, dir := range []string{"~", "~/", "/home/me/", "/home", "/", "/tmp", "/tmp/", "/var/tmp", "/run/user/7", "~/all", "~/x/../all"} {
		for key, better := range map[string]string{"state_dir": "/custos", "runtime_dir": "/custos-run"} {
			err := load("mode = \"ask\"\n" + key + " = \"" + dir + "\"\n")
			if err == nil || !strings.Contains(err.Error(), "custos.toml:2: "+key+": ") || !strings.Contains(err.Error(), "like /") || !strings.HasSuffix(err.Error(), better) {
				t.Errorf("%s = %q: %v", key, dir, err)
			}
		}
	}
	for _, dir := range []string{"~/custos", "/tmp/custos", "/home/me2", "/run/user/7/custos", "~/all/state", "/x"} {
		if err := load("state_dir = \"" + dir + "\"\n"); err != nil {
			t.Errorf("state_dir = %q: %v", dir, err)
		}
	}
}
