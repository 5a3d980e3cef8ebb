package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The whole way by the command line: what a project has is listed, shown, trusted by
// its digest, and run from a copy; and not any more when that is taken back.
func TestTrustByHand(t *testing.T) {
	dir := t.TempDir()
	app := filepath.Join(dir, "app")
	put := func(file, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, file)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", app, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	wants := func(want string, code int, args ...string) string {
		t.Helper()
		out, got := says(t, dir, args...)
		if !strings.Contains(out, want) || got != code {
			t.Fatalf("custos %v: %d, want %d and %q:\n%s", args, got, code, want, out)
		}
		return out
	}
	put("custos.toml", "state_dir = "+`"`+dir+`/state"`+"\n[formulas]\nprojects = { app = \""+app+"\" }\n[plugins]\nprojects = [\"app\"]\n", 0o600)
	put("app/.custos/plugins/x/plugin.md", "---\nname: x\ngate: {type: manual}\n---\n", 0o644)
	put("app/.custos/plugins/x/run.sh", "#!/bin/sh\necho \"ran with <$FORGE_TOKEN>\" > \"$CUSTOS_VAR_project_dir/ran\"\n", 0o755)
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "x")
	wants("is not in the primary branch", 2, "plugin", "run", "x")
	git("add", ".")
	git("commit", "-q", "-m", "y")
	wants("is not trusted: custos trust "+app+"/.custos", 2, "plugin", "run", "x")
	wants("+ plugins/x/run.sh", 0, "trust")
	shown := wants("+echo \"ran with", 0, "trust", app)
	digest := regexp.MustCompile(`--digest ([0-9a-f]{12})`).FindStringSubmatch(shown)
	if digest == nil {
		t.Fatalf("no digest:\n%s", shown)
	}
	wants("not what has the digest", 2, "trust", app, "--digest", strings.Repeat("0", 12))
	wants("2 files are trusted", 0, "trust", app, "--digest", digest[1])
	put("app/.custos/plugins/x/run.sh", "#!/bin/sh\necho evil > \"$CUSTOS_VAR_project_dir/ran\"\n", 0o755)
	run := regexp.MustCompile(`/\S+/trusted/\S+/plugins/x/run.sh`).FindString(wants("/state/trusted/", 0, "plugin", "show", "x"))
	if text, err := os.ReadFile(run); err != nil || !strings.HasPrefix(string(text), "#!/bin/sh\necho \"ran with") {
		t.Errorf("%s: %q, %v", run, text, err)
	}
	wants("never run: ~ plugins/x/run.sh", 0, "trust")
	wants("0 files are trusted", 0, "trust", app, "--revoke")
	wants("is not trusted", 2, "plugin", "run", "x")
}
