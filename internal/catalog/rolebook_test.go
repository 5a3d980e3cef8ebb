package catalog

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// What is shown of standing instructions is what a start reads, by the paths that custos.toml says.
func TestRoleContext(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("House rules.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := loaded(t, "[role.x]\nkind = 'claude'\ncontext = ['docs/a.md', '~/b.md', '"+dir+"/a.md']\n")
	roles, err := Roles(cfg, kindsOfTest(t))
	if err != nil || len(roles) != 1 {
		t.Fatal(err)
	}
	want := []string{filepath.Join(filepath.Dir(cfg.File), "docs/a.md"), filepath.Join(cfg.Home, "b.md"), filepath.Join(dir, "a.md")}
	if got := roles[0].Context; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	b := RoleBook{Config: cfg, Kinds: kindsOfTest(t)}
	if _, _, _, err := b.Context(roles[0], "do"); err == nil || !strings.Contains(err.Error(), "docs/a.md") {
		t.Errorf("a file that is not there: %v", err)
	}
	for kind, with := range map[string]string{"claude": "do", "codex": "House rules.\n\ndo"} {
		text, args, prompt, err := b.Context(fleet.Role{Kind: kind, Context: want[2:]}, "do")
		if err != nil || text != "House rules." || prompt != with || (len(args) > 0) != (kind == "claude") {
			t.Errorf("%s: %q, %q, %q, %v", kind, text, args, prompt, err)
		}
	}
	of, err := contexts(cfg, kindsOfTest(t))
	if err != nil || !slices.Equal(of("x"), want) || of("y") != nil || of("") != nil {
		t.Errorf("%q, %q, %v", of("x"), of("y"), err)
	}
}
