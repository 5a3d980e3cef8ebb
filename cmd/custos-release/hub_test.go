package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/release"
)

// hubStaged is a stage of the hub, with a program that is a script.
func hubStaged(t *testing.T) stage {
	t.Helper()
	s := stage{of: hubProduct(), archive: release.Archive{Version: "0.1.0", OS: "linux", Arch: "amd64"}, dir: t.TempDir(), at: commitTime}
	put(t, s.path(hubName), "#!/bin/sh\n", 0o700)
	put(t, s.path("NOTICE"), "nothing\n", 0o600)
	if err := s.texts(source{dir: "../..", at: commitTime}); err != nil {
		t.Fatal(err)
	}
	return s
}

// The hub is in packages and an archive of its own, for Linux alone, and in none of custos.
func TestTheHubIsPackedByItself(t *testing.T) {
	s := hubStaged(t)
	names, err := s.contents()
	if err != nil || !slices.Equal(names, []string{"custos-hub", "LICENSE", "NOTICE", "custos-hub.service", "custos-hub.8"}) || s.folder() != "custos-hub_0.1.0_linux_amd64" {
		t.Errorf("%s: %q, %v", s.folder(), names, err)
	}
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		c, err := s.nfpmConfig(k)
		if err != nil {
			t.Fatal(err)
		}
		placed := map[string]int{}
		for _, f := range c["contents"].([]content) {
			placed[f.Dst] = f.Info.Mode
			if _, err := os.Stat(s.path(f.Src)); err != nil || !f.Info.MTime.Equal(commitTime) {
				t.Errorf("%s: %+v: %v", k.name, f, err)
			}
		}
		for path, mode := range map[string]int{"/usr/bin/custos-hub": 0o755, "/usr/lib/systemd/system/custos-hub.service": 0o644,
			"/usr/share/man/man8/custos-hub.8.gz": 0o644, "/usr/share/doc/custos-hub/NOTICE.gz": 0o644} {
			if placed[path] != mode {
				t.Errorf("%s: %s has mode %o", k.name, path, placed[path])
			}
		}
		if name := k.file(s.of, s.archive); c["name"] != "custos-hub" || !strings.HasPrefix(name, "custos-hub"+k.separator+"0.1.0") {
			t.Errorf("%s is called %s", c["name"], name)
		}
		own, err := staged(t).nfpmConfig(k)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range own["contents"].([]content) {
			if _, both := placed[f.Dst]; both || strings.HasSuffix(f.Dst, "/bin/custos-hub") {
				t.Errorf("%s: %s is in both, or the hub in that of custos", k.name, f.Dst)
			}
		}
	}
	for _, machine := range machines() {
		s.archive = archiveFor("0.1.0", machine)
		if is := len(s.programs()) > 0; is == s.isClient() {
			t.Errorf("for %s there are %q", machine, s.programs())
		}
	}
	if _, err := release.ParseName(s.folder() + ".tar.gz"); err == nil {
		t.Error("custos upgrade would take the archive of the hub for its own")
	}
}

// The unit runs the program from the folder that the page says, as a user that can do nothing else.
func TestTheUnitOfTheHub(t *testing.T) {
	for _, line := range []string{"ExecStart=/usr/bin/custos-hub --dir /var/lib/custos-hub/hub", "ConditionPathExists=/var/lib/custos-hub/hub/hub.toml", "User=custos-hub",
		"Restart=on-failure", "ProtectSystem=strict", "NoNewPrivileges=true", "CapabilityBoundingSet=", "WantedBy=multi-user.target"} {
		if !strings.Contains("\n"+hubUnit, "\n"+line+"\n") {
			t.Errorf("no line %q in:\n%s", line, hubUnit)
		}
	}
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, hubUnitName), strings.ReplaceAll(hubUnit, "/usr/bin/custos-hub", "/bin/true"), 0o600)
	if out, err := exec.Command(program, "verify", "--man=no", filepath.Join(dir, hubUnitName)).CombinedOutput(); err != nil || strings.Contains(string(out), dir) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// The scripts of the hub's packages: installing makes user and folder and starts nothing, an upgrade stops nothing, removal
// stops the unit, and the folder stays.
func TestScriptsOfTheHub(t *testing.T) {
	fakes := t.TempDir()
	asked := filepath.Join(fakes, "asked")
	for _, name := range []string{"systemctl", "useradd", "install", "id"} {
		text := "#!/bin/sh\necho " + name + " \"$*\" >>" + asked + "\n"
		if name == "id" {
			text += "exit 1\n" // there is no such user
		}
		put(t, filepath.Join(fakes, name), text, 0o700)
	}
	for _, c := range []struct{ name, script, args, does, not string }{
		{"postinst", hubPostInstall, "configure", "useradd --system --user-group", "start"},
		{"postinst", hubPostInstall, "configure 0.0.9", "useradd --system", "restart"},
		{"postinst", hubPostInstall, "abort-upgrade 0.1.0", "", "useradd"},
		{"prerm", hubPreRemove, "upgrade 0.2.0", "", "systemctl"},
		{"prerm", hubPreRemove, "1", "", "systemctl"},
		{"postrm", hubPostRemove, "purge", "", "systemctl"},
	} {
		put(t, asked, "", 0o600)
		cmd := exec.Command("sh", append([]string{"-c", c.script, c.name}, strings.Fields(c.args)...)...)
		cmd.Env = []string{"PATH=" + fakes + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		text, _ := os.ReadFile(asked)
		if err != nil || !strings.Contains(string(text), c.does) || strings.Contains(string(text), c.not) {
			t.Errorf("%s %s: %v, %s: it did\n%s", c.name, c.args, err, out, text)
		}
	}
}

// Each module that is linked into the hub is there with a licence.
func TestNoLicenceOfTheHubIsMissing(t *testing.T) {
	text, err := notice(t.Context(), "../..", hubProduct())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\ngithub.com/nats-io/nats-server/v2 v") || strings.Contains(string(text), "\nmodernc.org/sqlite v") || strings.Contains(string(text), "GNU GENERAL PUBLIC LICENSE") {
		t.Error("the modules are not those of the hub")
	}
}
