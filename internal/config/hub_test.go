package config

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestJoined: what a daemon begins anew for is which hub was joined, and not who else has.
func TestJoined(t *testing.T) {
	c := Config{StateDir: t.TempDir()}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if Joined(c.StateDir) != nil {
		t.Error("a hub was joined that was not")
	}
	write(c.HubHosts(), `{"hosts":["a"]}`)
	if Joined(c.StateDir) != nil {
		t.Error("hosts are no hub")
	}
	write(filepath.Join(c.HubDir(), "hub.json"), "one")
	one := Joined(c.StateDir)
	write(c.HubHosts(), `{"hosts":["a","b"]}`)
	if one == nil || !bytes.Equal(Joined(c.StateDir), one) {
		t.Error("another host is another hub")
	}
	write(filepath.Join(c.HubDir(), "hub.creds"), "another key")
	if anew := Joined(c.StateDir); bytes.Equal(anew, one) || bytes.Contains(anew, []byte("another key")) {
		t.Errorf("joined anew it is the same, or shows the key: %q", anew)
	}
	write(filepath.Join(c.HubDir(), "hub.json"), "other")
	if c.HubHost() != "" {
		t.Errorf("it is %q by a file that cannot be read", c.HubHost())
	}
	if bytes.Equal(Joined(c.StateDir), one) {
		t.Error("another hub is none")
	}
	write(filepath.Join(c.HubDir(), "hub.json"), `{"version":1,"host":"box1"}`)
	if c.HubHost() != "box1" {
		t.Errorf("it is %q", c.HubHost())
	}
}

func TestLeaseFile(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"": "", "[hub]\nremote = \"act\"\n": "", "[hub]\nfile = \"/srv/l\"\n": "/srv/l"} {
		file := filepath.Join(dir, "custos.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Options{File: file, Sections: []string{"hub"}, Getenv: func(string) string { return dir }})
		if err != nil || c.LeaseFile() != want {
			t.Errorf("%q: %q, %v; want %q", text, c.LeaseFile(), err, want)
		}
	}
}
