package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sibling puts a program of ours that tells this version beside others.
func sibling(t *testing.T, dir, name, version string) {
	t.Helper()
	script := "#!/bin/sh\n[ \"$*\" = --version ] && echo '" + version + "'\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A daemon begins only beside programs of its own version, or of one that is not told.
func TestNoDaemonBesideProgramsOfAnotherVersion(t *testing.T) {
	for _, c := range []struct{ name, hook, shim, wrong string }{
		{"the shim is older", "test", "0.1.0", "custos-shim"},
		{"the hook is newer", "99.0.0", "test", "custos-hook"},
		{"all are of one version", "test", "test", ""},
		{"none tells", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, bin := t.TempDir(), t.TempDir()
			sibling(t, bin, "custos-hook", c.hook)
			sibling(t, bin, "custos-shim", c.shim)
			own, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Link(own, filepath.Join(bin, "custos")); err != nil {
				copied(t, own, filepath.Join(bin, "custos"))
			}
			// A configuration that cannot be used is what ends the daemon that would begin.
			toml := "state_dir = \"" + dir + "/s\"\nruntime_dir = \"/dev/null/none\"\n"
			if err := os.WriteFile(filepath.Join(dir, "custos.toml"), []byte(toml), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(filepath.Join(bin, "custos"), "--config", filepath.Join(dir, "custos.toml"), "up")
			cmd.Env = append(os.Environ(), "CUSTOS_AS_COMMAND=1", "HOME="+dir)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("it ran:\n%s", out)
			}
			refused := strings.Contains(string(out), "the three programs belong together")
			if refused != (c.wrong != "") || refused && !strings.Contains(string(out), filepath.Join(bin, c.wrong)+" is of version") {
				t.Errorf("it said:\n%s", out)
			}
			if _, err := os.Stat(filepath.Join(dir, "s")); refused && err == nil {
				t.Error("something was written before it was refused")
			}
		})
	}
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}
