package upgrade

import (
	"archive/tar"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/release"
	"custos/internal/release/releasetest"
)

// machine is one without a daemon, on which programs lie that are scripts.
type machine struct {
	*testing.T
	World
	dir string
}

// script is what one of the three does as a version that reads a schema of the ledger.
func script(name, version string, schema int) string {
	if name != "custos" {
		return "#!/bin/sh\necho " + version + "\n"
	}
	return fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\nversion*) echo '{\"version\":%q,\"schema\":%d}' ;;\n*check) [ ! -e %s ] || { echo 'custos.toml:1: no' >&2; exit 2; } ;;\n*) exit 9 ;;\nesac\n", version, schema, "\"$HOME/refuses\"")
}

func scripts(t testing.TB, dir, version string, schema int) string {
	t.Helper()
	for _, name := range release.Programs() {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(script(name, version, schema)), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	home := t.TempDir()
	m := &machine{T: t, dir: scripts(t, filepath.Join(home, "my bin"), old, 1)}
	m.World = World{Config: config.Config{StateDir: filepath.Join(home, "state"), File: filepath.Join(home, "custos.toml")}, Own: filepath.Join(m.dir, "custos"),
		Getenv: func(name string) string {
			return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
		},
		Runs: func() bool { return false },
		Dial: func(context.Context) (*api.Client, error) { return nil, errors.New("no daemon") },
		End:  func(context.Context) error { return errors.New("no daemon") },
	}
	return m
}

// do is custos upgrade with an order.
func (m *machine) do(o Order) (Report, error) {
	m.Helper()
	return m.World.Do(m.Context(), old, o, func(string) {})
}

func (m *machine) version() string {
	m.Helper()
	var all []string
	for _, name := range release.Programs() {
		text, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			m.Fatal(err)
		}
		for _, v := range []string{old, new} {
			if strings.Contains(string(text), v) {
				all = append(all, v)
			}
		}
	}
	if len(all) != 3 || all[0] != all[1] || all[1] != all[2] {
		m.Fatalf("the programs are of %v", all)
	}
	return all[0]
}

func next() release.Archive {
	return release.Archive{Version: new, OS: runtime.GOOS, Arch: runtime.GOARCH}
}

// made is a release of the newer version, and its key.
func made(t *testing.T, schema int) Order {
	t.Helper()
	at := releasetest.Make(t, next(), scripts(t, t.TempDir(), new, schema))
	return Order{From: at, Key: filepath.Join(filepath.Dir(at), releasetest.KeyName)}
}

func beside(o Order, name string) string { return filepath.Join(filepath.Dir(o.From), name) }

// Without a daemon, and where none ever ran: checked, said, done, done already.
func TestPrograms(t *testing.T) {
	m, o := newMachine(t), made(t, 1)
	for _, only := range []func(*Order){func(o *Order) { o.Check = true }, func(o *Order) { o.DryRun = true }} {
		o := o
		only(&o)
		r, err := m.do(o)
		if err != nil || r.To != new || !r.Signed || len(r.Plan) < 6 || r.Done || m.version() != old {
			t.Fatalf("%+v, %v", r, err)
		}
		if all, err := os.ReadDir(m.dir); err != nil || len(all) != 3 {
			t.Errorf("something lies beside the programs: %v, %v", all, err)
		}
	}
	link := filepath.Join(t.TempDir(), "latest") // as a browser or a person names it
	if err := os.Symlink(o.From, link); err != nil {
		t.Fatal(err)
	}
	o.From = link
	if r, err := m.do(o); err != nil || !r.Done || m.version() != new || strings.Join(r.Lines(), "\n") != "Upgraded from 0.1.0 to 0.2.0. No daemon runs: custos up" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := m.World.Do(t.Context(), new, o, func(string) {}); err != nil || r.Done || strings.Join(r.Lines(), "\n") != "Nothing to do: this is 0.2.0." {
		t.Errorf("again: %+v, %v", r.Lines(), err)
	}
}

// What is refused changes nothing, is bad input, and says why; --check says the same.
func TestWhatIsRefused(t *testing.T) {
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sealed := func(a release.Archive, kind byte, name func(string) string) func(t *testing.T, m *machine, o *Order) {
		return func(t *testing.T, _ *machine, o *Order) {
			var all []releasetest.Entry
			for _, p := range release.Programs() {
				all = append(all, releasetest.Entry{Name: name(a.Folder() + "/" + p), Kind: kind, Text: script(p, a.Version, 1)})
			}
			o.From = releasetest.Sealed(t, a, releasetest.Packed(t, all...))
			o.Key = beside(*o, releasetest.KeyName)
		}
	}
	same := func(s string) string { return s }
	for name, c := range map[string]struct {
		spoil func(t *testing.T, m *machine, o *Order)
		says  string
		late  bool // only what unpacks it finds it
	}{
		"no such archive": {func(_ *testing.T, _ *machine, o *Order) { o.From += ".gz" }, "no such file", false},
		"a folder":        {func(_ *testing.T, _ *machine, o *Order) { o.From = filepath.Dir(o.From) }, "not a regular file", false},
		"no sums":         {func(t *testing.T, _ *machine, o *Order) { _ = os.Remove(beside(*o, release.SumsName)) }, "SHA256SUMS belongs beside it", false},
		"no signature":    {func(t *testing.T, _ *machine, o *Order) { _ = os.Remove(beside(*o, release.SignatureName)) }, "it is not signed", false},
		"no key":          {func(_ *testing.T, _ *machine, o *Order) { o.Key = "" }, "no key is there", false},
		"another's key": {func(t *testing.T, _ *machine, o *Order) {
			o.Key = beside(made(t, 1), releasetest.KeyName)
		}, "signed by key", false},
		"half an archive": {func(t *testing.T, _ *machine, o *Order) {
			if err := os.Truncate(o.From, 200); err != nil {
				t.Fatal(err)
			}
		}, "not the file that was released", false},
		"a changed byte": {func(t *testing.T, _ *machine, o *Order) {
			text, err := os.ReadFile(o.From)
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)/2] ^= 1
			write(t, o.From, string(text))
		}, "not the file that was released", false},
		"half an archive, unsigned": {func(t *testing.T, _ *machine, o *Order) {
			if o.Unsigned, o.Key = true, ""; os.Truncate(o.From, 200) != nil {
				t.Fatal("cannot cut it off")
			}
		}, "not the file that was released", false},
		"another machine": {sealed(release.Archive{Version: new, OS: "linux", Arch: "mips64"}, tar.TypeReg, same), "it is for linux on mips64", false},
		"another system":  {sealed(release.Archive{Version: new, OS: "plan9", Arch: runtime.GOARCH}, tar.TypeReg, same), "it is for plan9 on", false},
		"links":           {sealed(next(), tar.TypeSymlink, same), "is no plain file", true},
		"hard links":      {sealed(next(), tar.TypeLink, same), "is no plain file", true},
		"dots":            {sealed(next(), tar.TypeReg, func(s string) string { return "../" + s }), "custos is not in it", true},
		"an absolute one": {sealed(next(), tar.TypeReg, func(s string) string { return "/" + s }), "custos is not in it", true},
		"what is another version": {func(t *testing.T, _ *machine, o *Order) {
			o.From = releasetest.Make(t, next(), scripts(t, t.TempDir(), "0.3.0", 1))
			o.Key = beside(*o, releasetest.KeyName)
		}, `says that it is of version "0.3.0"`, true},
		"what does not run": {func(t *testing.T, _ *machine, o *Order) {
			dir := scripts(t, t.TempDir(), new, 1)
			write(t, filepath.Join(dir, "custos"), "\x7fELF of another machine")
			o.From = releasetest.Make(t, next(), dir)
			o.Key = beside(*o, releasetest.KeyName)
		}, "exec format error", true},
		"a configuration that it does not read": {func(t *testing.T, m *machine, _ *Order) {
			write(t, filepath.Join(m.Getenv("HOME"), "refuses"), "")
		}, "custos.toml:1: no", true},
		"a ledger that is too new": {func(t *testing.T, m *machine, _ *Order) {
			m.ledger(7)
		}, "its schema is of version 7, and that one knows up to 1; there is no backup that it can read", true},
		"a ledger that is too new, with a backup": {func(t *testing.T, m *machine, _ *Order) {
			m.ledger(1)
			if _, err := LedgerOf(m.Config).Backup(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.ledger(7)
		}, "the newest backup that it can read is " /* … */, true},
		"no room": {func(t *testing.T, m *machine, _ *Order) {
			file := LedgerFile(m.Config)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<42)); err != nil {
				t.Skip(err) // a file system that has no such files
			}
		}, "there is no room for it", false},
		"the state of another user": {func(t *testing.T, m *machine, _ *Order) {
			if os.Getuid() != 0 {
				t.Skip("it takes root")
			}
			if err := errors.Join(os.MkdirAll(m.Config.StateDir, 0o700), os.Chown(m.Config.StateDir, 1, 1)); err != nil {
				t.Skip(err) // a namespace that knows no other user
			}
		}, "belongs to another user, who is to upgrade", false},
		"a folder that nobody writes": {func(t *testing.T, m *machine, _ *Order) {
			if os.Getuid() == 0 {
				t.Skip("root may write everywhere")
			}
			if err := os.Chmod(m.dir, 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(m.dir, 0o755) })
		}, "cannot be written to", false},
		"a program that is missing": {func(t *testing.T, m *machine, _ *Order) {
			if err := os.Rename(filepath.Join(m.dir, "custos-shim"), filepath.Join(m.dir, "shim")); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Rename(filepath.Join(m.dir, "shim"), filepath.Join(m.dir, "custos-shim")) })
		}, "custos-shim is not a file in", false},
	} {
		t.Run(name, func(t *testing.T) {
			m, o := newMachine(t), made(t, 1)
			t.Setenv("PATH", t.TempDir()) // no package manager is asked
			c.spoil(t, m, &o)
			check := o
			check.Check = true
			for _, o := range []Order{check, o} {
				r, err := m.do(o)
				var said *api.Error
				if c.late && o.Check {
					if err != nil {
						t.Errorf("--check: %v", err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "remove it") || r.Done {
					t.Errorf("it says %v, want %s", err, c.says)
				}
				if !c.late && (!errors.As(err, &said) || said.Kind != api.BadInput) {
					t.Errorf("it is no refusal: %v", err)
				}
				if _, err := os.Lstat(filepath.Join(m.dir, besides)); err == nil {
					t.Error("something lies beside the programs")
				}
			}
			if name != "a program that is missing" && m.version() != old {
				t.Error("the programs were exchanged")
			}
		})
	}
}

// ledger makes one of a schema.
func (m *machine) ledger(schema int) {
	m.Helper()
	file := LedgerFile(m.Config)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		m.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err == nil {
		_, err = db.Exec(fmt.Sprintf("PRAGMA user_version=%d; CREATE TABLE IF NOT EXISTS t (x)", schema))
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		m.Fatal(err)
	}
}

// What is said would be done is what a shell can do: the commands of the plan exchange the programs.
func TestThePlanCanBeTyped(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("sqlite3 is not here")
	}
	m, o := newMachine(t), made(t, 1)
	m.ledger(1)
	o.DryRun = true
	r, err := m.do(o)
	if err != nil {
		t.Fatal(err)
	}
	var script string
	for _, s := range r.Plan {
		script += strings.Join(s.Commands, "\n") + "\n"
	}
	cmd := exec.Command("sh", "-exc", script)
	cmd.Env = []string{"HOME=" + m.Getenv("HOME"), "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil || m.version() != new {
		t.Errorf("%v\n%s", err, out)
	}
	if all, err := os.ReadDir(m.dir); err != nil || len(all) != 3 {
		t.Errorf("something lies beside the programs: %v, %v", all, err)
	}
	if all, err := os.ReadDir(filepath.Join(m.Config.StateDir, "backups")); err != nil || len(all) != 1 {
		t.Errorf("the backups are %v, %v", all, err)
	}
}

// Whoever exchanges the archive between the look at it and its unpacking gets nothing into place.
func TestAnArchiveThatIsExchanged(t *testing.T) {
	m, o := newMachine(t), made(t, 1)
	other := made(t, 2)
	_, err := m.World.Do(t.Context(), old, o, func(doing string) {
		if doing == "unpack the new programs" {
			if err := os.Rename(other.From, o.From); err != nil {
				t.Error(err)
			}
		}
	})
	if !errors.Is(err, release.ErrDiffers) || m.version() != old {
		t.Errorf("programs of %s, %v", m.version(), err)
	}
}

// The packages are exchanged by who brought them, whom the refusal names with the command.
func TestWhoBroughtThePrograms(t *testing.T) {
	linux := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	says := func(text string, code int) string { return fmt.Sprintf("#!/bin/sh\n%s\nexit %d\n", text, code) }
	for name, c := range map[string]struct {
		managers map[string]string
		part     string // of the path
		says     string
		hint     string
	}{
		"dpkg":                 {map[string]string{"dpkg": says("echo custos: $2", 0)}, "", "was put there by dpkg", "sudo apt install ./custos_0.2.0_" + runtime.GOARCH + ".deb"},
		"rpm beside dpkg":      {map[string]string{"dpkg": says("", 1), "rpm": says("", 0)}, "", "was put there by rpm", "sudo dnf install ./custos-0.2.0-" + linux + ".rpm"},
		"apk":                  {map[string]string{"apk": says("", 0)}, "", "was put there by apk", "sudo apk add --allow-untrusted ./custos_0.2.0_" + linux + ".apk"},
		"Homebrew":             {nil, "/Cellar/custos/0.1.0/", "was put there by Homebrew", ""},
		"one that is not sure": {map[string]string{"dpkg": says("echo locked >&2", 2)}, "", "cannot tell whether dpkg has put", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getuid() != 0 && c.managers != nil {
				t.Skip("what a package manager brings belongs to root")
			}
			m, o, bin := newMachine(t), made(t, 1), t.TempDir()
			for p, text := range c.managers {
				if err := os.WriteFile(filepath.Join(bin, p), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if c.part != "" {
				m.dir = scripts(t, filepath.Join(t.TempDir(), c.part), old, 1)
				m.Own = filepath.Join(m.dir, "custos")
			}
			t.Setenv("PATH", bin+":/usr/bin:/bin")
			for _, check := range []bool{true, false} {
				o.Check = check
				_, err := m.do(o)
				var said *api.Error
				if !errors.As(err, &said) || said.Kind != api.BadInput || !strings.Contains(said.Message, c.says) || said.Hint != c.hint || m.version() != old {
					t.Errorf("%v: %+v", err, said)
				}
			}
			r, err := m.do(Order{})
			says := strings.Join(r.Lines(), "\n")
			if _, who, is := strings.Cut(c.says, "was put there by "); is && (err != nil || !strings.Contains(says, who+" has put it there, and exchanges it")) {
				t.Errorf("how it stands: %s, %v", says, err)
			}
		})
	}
}
