package catalog

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// What says a key is its line, and what is said of a place is what lies there.
func TestRoleBook(t *testing.T) {
	cfg := loaded(t, "[role.x]\nkind = 'claude'\nargv = ['claude', '--model', 'opus']\n[role.x2]\nprompt = 'y'\n")
	b := RoleBook{Config: cfg, Kinds: kindsOfTest(t)}
	for key, want := range map[string]string{"kind": "custos.toml:2", "argv": "custos.toml:3", "prompt": "", "nothing": ""} {
		if got := b.Line("x", key); got != want {
			t.Errorf("%s is said at %q, want %q", key, got, want)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, "repo")
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for _, c := range []struct {
		r    fleet.Role
		want string
	}{{fleet.Role{}, ""}, {fleet.Role{Dir: dir}, ""}, {fleet.Role{Dir: file}, "is no folder"}, {fleet.Role{Dir: dir + "/gone"}, "no such file"}, {fleet.Role{Repo: repo}, ""}, {fleet.Role{Repo: dir + "/gone"}, "no such file"}} {
		if got := b.Gone(c.r); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.r, got, c.want)
		}
	}
	for _, c := range []struct {
		r    fleet.Role
		want string
	}{{fleet.Role{Kind: "claude"}, ""}, {fleet.Role{Kind: "claude", Headless: true}, ""}, {fleet.Role{Kind: "generic"}, "how this command takes a prompt"}} {
		if got := b.Untold(c.r); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.r, got, c.want)
		}
	}
}
