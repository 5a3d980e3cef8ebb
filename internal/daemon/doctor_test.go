package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
)

// clinic is a home that others might get into, with a configuration that names
// tokens; everything Custos needs for one patrol.
func clinic(t *testing.T) (dir string, cfg config.Config) {
	t.Helper()
	dir, err := os.MkdirTemp("", "doctor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	setMode(t, 0o755, dir)
	for up := dir; up != "/"; up = filepath.Dir(up) {
		if info, err := os.Stat(up); err != nil || info.Mode().Perm()&0o011 == 0 {
			t.Skip("temporary files are kept from everybody else here: ", up)
		}
	}
	t.Setenv("HOME", dir)
	layFile(t, filepath.Join(dir, "token"), clinicSecret, 0o600)
	layFile(t, filepath.Join(dir, "custos.toml"), `state_dir = "`+dir+`/state"
[forge.shop]
kind = "forgejo"
url = "http://127.0.0.1:9"
repo = "acme/shop"
token_file = "~/token"
[notifier.ops]
type = "telegram"
server = "http://127.0.0.1:9"
chat = "-100"
token_file = "~/token"
`, 0o600)
	return dir, load(t, dir)
}

const clinicSecret = "glpat-0123456789abcdefghij"

func layFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func setMode(t *testing.T, mode os.FileMode, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// examined asks the doctor for some categories, or all; no secret is in what it tells.
func examined(t *testing.T, cfg config.Config, categories ...string) map[string]api.DoctorCheck {
	t.Helper()
	var d api.Doctor
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		var err error
		if d, err = c.Doctor(ctx, categories, "test"); err != nil {
			t.Fatal(err)
		}
	})
	if b, err := json.Marshal(d); err != nil || strings.Contains(string(b), clinicSecret) {
		t.Errorf("a secret is told: %s, %v", b, err)
	}
	out := map[string]api.DoctorCheck{}
	for _, c := range d.Checks {
		out[c.Category+" "+c.Name] = c
	}
	return out
}

func wantCheck(t *testing.T, all map[string]api.DoctorCheck, name, state, why string) {
	t.Helper()
	if c := all[name]; c.State != state || !strings.Contains(c.Why, why) {
		t.Errorf("%s is %s: %s → %s; want %s: %s", name, c.State, c.Why, c.Command, state, why)
	}
}

// Real folders, files and a real database: what is well is told so, and each thing
// that is then spoiled is found.
func TestDoctorOfFiles(t *testing.T) {
	dir, cfg := clinic(t)
	before := examined(t, cfg, "structure", "databases")
	wantCheck(t, before, "structure folders", "ok", "nothing was written yet")
	wantCheck(t, before, "databases open", "ok", "there is none yet")
	if _, err := os.Stat(cfg.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the doctor made the state folder: %v", err)
	}
	patrol(t, cfg)
	all := examined(t, cfg)
	for _, name := range []string{"dependencies git", "structure folders", "structure files", "structure self-journal", "databases self-store", "config read", "config in-force", "databases open",
		"databases self-rows-aside", "security landmark-open", "security sockets", "security secrets", "security listening", "chat configured", "version daemon"} {
		wantCheck(t, all, name, "ok", "")
	}
	wantCheck(t, all, "forge reachable", "cannot tell", "shop at ")

	db := filepath.Join(cfg.StateDir, "custos.db")
	setMode(t, 0o644, filepath.Join(dir, "token"), db)
	setMode(t, 0o777, cfg.StateDir)
	layFile(t, db+".corrupt-20260101T000000Z", "", 0o600)
	layFile(t, db+".corrupt-20260101T000000Z-wal", "", 0o600)
	layFile(t, db+".replaced-20251231T000000Z-2", "", 0o600)
	layFile(t, db+".backup-of-mine", "", 0o600)
	layFile(t, cfg.File, string(cfg.Text)+"\n# more\n", 0o600)
	all = examined(t, cfg, "structure", "config", "databases", "security")
	wantCheck(t, all, "security landmark-open", "warn", "others get at "+cfg.StateDir)
	wantCheck(t, all, "security landmark-open", "warn", "others get at "+db)
	wantCheck(t, all, "security landmark-open", "warn", "others get at "+dir+"/token ([forge.shop])")
	wantCheck(t, all, "databases damaged", "warn", "2 databases set aside, damaged, replaced or newer: "+db+".replaced-20251231T000000Z-2; "+db+".corrupt-20260101T000000Z")
	wantCheck(t, all, "config in-force", "cannot tell", "changed since")

	noise := strings.Repeat("no database. ", 1000)
	layFile(t, db, noise, 0o600)
	all = examined(t, cfg, "databases")
	wantCheck(t, all, "databases open", "bad", "the next patrol sets it aside")
	if b, err := os.ReadFile(db); err != nil || string(b) != noise {
		t.Errorf("the doctor changed the database: %d bytes, %v", len(b), err)
	}
}

// A closed folder above keeps others out, whatever the modes below say.
func TestDoctorOfAClosedHome(t *testing.T) {
	dir, cfg := clinic(t)
	patrol(t, cfg)
	setMode(t, 0o777, cfg.StateDir)
	setMode(t, 0o700, dir)
	wantCheck(t, examined(t, cfg, "security"), "security landmark-open", "ok", "")
}

// Hooks of ours are found in the settings of an agent CLI, and whether uninstall
// would leave them as they were.
func TestDoctorOfHooks(t *testing.T) {
	dir, cfg := clinic(t)
	file := filepath.Join(dir, ".claude/settings.json")
	const mine = "{\n  \"model\": \"opus\"\n}\n"
	layFile(t, file, mine, 0o600)
	wantCheck(t, examined(t, cfg, "hooks"), "hooks installed", "ok", "in no settings")
	with, err := builtKinds(t).InstallHooks("claude", []byte(mine), "/gone/custos-hook", cfg.RuntimeDir)
	if err != nil {
		t.Fatal(err)
	}
	layFile(t, file, string(with), 0o600)
	layFile(t, file+".before-custos", mine, 0o600)
	all := examined(t, cfg, "hooks")
	if c := all["hooks hooks-broken"]; c.State == "ok" || c.Command == "" { // the program they call is gone
		t.Errorf("hooks that call nothing are %s: %s → %s", c.State, c.Why, c.Command)
	}
	wantCheck(t, all, "hooks undone", "ok", "")
	layFile(t, file, strings.Replace(string(with), "opus", "sonnet", 1), 0o600)
	wantCheck(t, examined(t, cfg, "hooks"), "hooks undone", "warn", "was changed since install")
	layFile(t, file, mine, 0o600)
	wantCheck(t, examined(t, cfg, "hooks"), "hooks undone", "warn", "still lies beside it")
	layFile(t, file, "{ no json", 0o600)
	wantCheck(t, examined(t, cfg, "hooks"), "hooks installed", "cannot tell", "the settings of claude cannot be read")
}

// Without a configuration the programs are still looked for, and a category that
// is none is refused.
func TestDoctorWithoutConfig(t *testing.T) {
	d, err := daemon.DoctorOf(t.Context(), "test", errors.New("custos.toml:3: no"), []string{"dependencies", "disk"})
	if err != nil || d.Counts.Bad == 0 || d.Counts.Cannot < 3 || d.Checks[1].Name != "git" || d.Checks[1].State != "ok" {
		t.Errorf("%+v, %v", d, err)
	}
	var said *api.Error
	if _, err := daemon.DoctorOf(t.Context(), "test", errors.New("no"), []string{"dsk"}); !errors.As(err, &said) || said.Kind != api.BadInput {
		t.Errorf("a category that is none: %v", err)
	}
}

// A daemon looks itself, by its socket; the version of who asks is compared with its own.
func TestDoctorOfADaemon(t *testing.T) {
	dir, cfg := clinic(t)
	_, said := up(t, dir, cfg)
	await(t, said.String, func() bool { _, err := status(t.Context(), cfg); return err == nil })
	c, err := api.Dial(t.Context(), daemon.Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d, err := c.Doctor(t.Context(), []string{"version", "security"}, "another")
	if err != nil || !d.Daemon {
		t.Fatalf("%+v, %v", d, err)
	}
	all := map[string]api.DoctorCheck{}
	for _, c := range d.Checks {
		all[c.Category+" "+c.Name] = c
	}
	wantCheck(t, all, "version daemon", "warn", "and this program another")
	wantCheck(t, all, "security sockets", "ok", "this user's")
}
