package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custos/internal/service/unit"
	"custos/internal/sys/systemdtest"
)

// world is a machine with systemd and a person who types custos service.
type world struct {
	*systemdtest.Machine
	t    *testing.T
	home string
	env  map[string]string
	uid  int
	exe  string
	well func() bool
}

func newWorld(t *testing.T) *world {
	home := t.TempDir()
	w := &world{Machine: systemdtest.New(t, filepath.Join(home, ".config")), t: t, home: home, uid: 1000, exe: "/bin/true", well: func() bool { return true }}
	exe, err := filepath.EvalSymlinks(w.exe)
	if err != nil {
		t.Fatal(err)
	}
	w.exe, w.env = exe, map[string]string{"HOME": home, "PATH": "/tmp/x:mine:/usr/bin:/bin:/usr/bin"}
	return w
}

func (w *world) service(o Options) *Service {
	w.t.Helper()
	s, err := w.try(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) try(o Options) (*Service, error) {
	if o.Health == nil {
		o.Health = w.health
	}
	return New(Machine{Root: w.Root, Getenv: func(k string) string { return w.env[k] }, UID: func() int { return w.uid }, Exe: func() (string, error) { return w.exe, nil },
		Passwd: func(int) (string, string, error) {
			return map[int]string{0: "root"}[w.uid] + "me"[:min(2, w.uid)], w.home, nil
		}, Every: time.Millisecond, Within: time.Second}, o)
}

// health is the daemon that systemd runs, which is well where the test says so.
func (w *world) health(context.Context) Health {
	for _, m := range []string{"user", "system"} {
		if pid, err := strconv.Atoi(strings.TrimSpace(w.Text(m + "/active"))); err == nil {
			return Health{Well: w.well(), Says: "well: the last pass ended 1s ago", PID: pid}
		}
	}
	return Health{Says: "none: no daemon runs"}
}

func (w *world) path() string { return w.home + "/.config/systemd/user/" + unit.Name }

func (w *world) text() string {
	b, _ := os.ReadFile(w.path()) // what is not there is empty
	return string(b)
}

func (w *world) write(text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path()), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// stops are the KillModes that a unit had when it was stopped: any other one would end agents.
func (w *world) stopsAreGentle() {
	w.t.Helper()
	for mode := range strings.Lines(w.Text("user/stopped")) {
		if mode != "process\n" {
			w.t.Errorf("the unit was stopped with KillMode %q", mode)
		}
	}
}

func TestInstallsOnce(t *testing.T) {
	w := newWorld(t)
	w.Put("linger", "no\n")
	w.env["XDG_STATE_HOME"], w.env["AWS_SECRET_ACCESS_KEY"], w.env["LOUD"] = "/data/state", "hunter2hunter2", "1"
	d, err := w.service(Options{Config: "/etc/c.toml"}).Install(t.Context())
	if err != nil || d.Did != "installed" || d.Linger != "no" || !strings.HasPrefix(d.Health, "well") {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, want := range []string{"ExecStart=" + w.exe + " --config /etc/c.toml up\n", `Environment="PATH=/usr/bin:/bin"`, `Environment="XDG_STATE_HOME=/data/state"`} {
		if !strings.Contains(w.text(), want) {
			t.Errorf("no %q in\n%s", want, w.text())
		}
	}
	if strings.Contains(w.text(), "hunter2") || strings.Contains(w.text(), "LOUD") {
		t.Errorf("it has what nobody named:\n%s", w.text())
	}
	if diff := cmp.Diff([]string{"systemctl --user daemon-reload", "systemctl --user --no-block enable --now custos.service"}, w.Asked()); diff != "" {
		t.Error(diff)
	}
	before := w.Asked()
	d, err = w.service(Options{Config: "/etc/c.toml"}).Install(t.Context())
	if err != nil || d.Did != "nothing" || len(w.Asked()) != len(before) {
		t.Errorf("again: %+v, %v, %q", d, err, w.Asked())
	}
}

// A new text is taken up by a restart, which ends no agent.
func TestReplacesItsOwn(t *testing.T) {
	w := newWorld(t)
	if _, err := w.service(Options{}).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := w.service(Options{Config: "/etc/c.toml"}).Install(t.Context())
	if err != nil || d.Did != "replaced" || !strings.Contains(w.text(), "/etc/c.toml") || !slices.Contains(w.Asked(), "systemctl --user --no-block restart custos.service") {
		t.Errorf("%+v, %v, %q", d, err, w.Asked())
	}
}

func TestLeavesWhatSomebodyWrote(t *testing.T) {
	for name, text := range map[string]string{"edited": unit.Marked("[Service]\n") + "Nice=5\n", "another": "[Service]\nExecStart=/bin/true\nKillMode=process\nType=notify\n"} {
		w := newWorld(t)
		w.write(text)
		_, err := w.service(Options{}).Install(t.Context())
		if !errors.Is(err, ErrRefused) || w.text() != text || len(w.Asked()) > 0 {
			t.Errorf("%s: %v, %q", name, err, w.Asked())
		}
		if _, err := w.service(Options{}).Uninstall(t.Context()); !errors.Is(err, ErrRefused) || w.text() != text {
			t.Errorf("%s: %v", name, err)
		}
		if d, err := w.service(Options{Replace: true}).Install(t.Context()); err != nil || d.Did != "replaced" || d.Was != text {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// Whatever goes wrong on the way, the machine is as before, and no unit is stopped that would
// end agents by it.
func TestUndoesItself(t *testing.T) {
	mine := unit.Marked("[Service]\nExecStart=/bin/false up\nKillMode=control-group\nType=notify\n")
	for name, arrange := range map[string]func(w *world){
		"never well":          func(w *world) { w.well = func() bool { return false } },
		"ends at once":        func(w *world) { w.Put("user/starts", "ends") },
		"no reload":           func(w *world) { w.Put("user/refuses-daemon-reload", "Access denied") },
		"not enabled":         func(w *world) { w.Put("user/refuses-enable", "Failed to enable unit: disk full") },
		"a drop-in":           func(w *world) { w.Put("user/set-KillMode", "control-group") },
		"a drop-in of Type":   func(w *world) { w.Put("user/set-Type", "simple") },
		"another daemon runs": func(w *world) {},
	} {
		for _, before := range []string{"", mine} {
			w := newWorld(t)
			if before != "" {
				w.write(before)
				w.Put("user/loaded", before)
				w.Put("user/enabled", "")
				w.Put("user/active", "77")
			}
			arrange(w)
			o := Options{}
			if name == "another daemon runs" {
				o.Health = func(context.Context) Health { return Health{Well: true, PID: 4242} }
			}
			_, err := w.service(o).Install(t.Context())
			if err == nil || w.text() != before || w.Is("user/enabled") != (before != "") {
				t.Errorf("%s: %v; the unit is %q, enabled %v", name, err, w.text(), w.Is("user/enabled"))
			}
			if name != "ends at once" && w.Is("user/active") != (before != "") {
				t.Errorf("%s: it runs: %v", name, w.Is("user/active"))
			}
			if name != "no reload" && w.Text("user/loaded") != before {
				t.Errorf("%s: systemd has %q", name, w.Text("user/loaded"))
			}
			w.stopsAreGentle()
		}
	}
}

// Who interrupts it while it waits gets back what was.
func TestAnInterruptUndoes(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	w.well = func() bool { stop(); return false }
	if _, err := w.service(Options{}).Install(ctx); !errors.Is(err, ErrUndone) || w.text() != "" || w.Is("user/active") || w.Is("user/enabled") {
		t.Errorf("%v; there is %q", err, w.text())
	}
}

func TestUninstall(t *testing.T) {
	w := newWorld(t)
	if out, err := w.service(Options{}).Uninstall(t.Context()); err != nil || out.Did {
		t.Errorf("where nothing is: %+v, %v", out, err)
	}
	if _, err := w.service(Options{}).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Put("user/set-KillMode", "mixed")
	if _, err := w.service(Options{}).Uninstall(t.Context()); !errors.Is(err, ErrRefused) || !w.Is("user/active") {
		t.Errorf("its stop would end agents, and it is stopped: %v", err)
	}
	w.Put("user/set-KillMode", "process")
	out, err := w.service(Options{}).Uninstall(t.Context())
	if err != nil || !out.Did || !out.Stopped || out.Unit != w.path() || w.text() != "" || w.Is("user/active") || w.Is("user/enabled") || w.Is("user/loaded") {
		t.Errorf("%+v, %v", out, err)
	}
	w.stopsAreGentle()
}

func TestStatus(t *testing.T) {
	w := newWorld(t)
	st, err := w.service(Options{}).Status(t.Context())
	if err != nil || !st.Known || st.Unit != "" || len(st.Drift) > 0 {
		t.Errorf("where nothing is: %+v, %v", st, err)
	}
	if _, err := w.service(Options{}).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, err = w.service(Options{}).Status(t.Context())
	if err != nil || !st.Enabled || st.Active != "active" || st.Program != w.exe || st.Origin != unit.Ours || st.Linger != "unknown" || len(st.Drift) > 0 {
		t.Errorf("%+v, %v", st, err)
	}
	w.env["PATH"] = "/usr/bin"
	if st, err := w.service(Options{}).Status(t.Context()); err != nil || len(st.Drift) > 0 {
		t.Errorf("typed in another shell: %+v, %v", st, err)
	}
	w.env["LANG"] = "C"
	if st, err := w.service(Options{}).Status(t.Context()); err != nil || len(st.Drift) != 1 {
		t.Errorf("with another variable: %+v, %v", st, err)
	}
	w.Put("user/set-KillMode", "control-group")
	w.Put("user/set-DropInPaths", "/x/custos.service.d/a.conf")
	w.write(strings.Replace(w.text(), w.exe, "/nowhere/custos", 1))
	st, err = w.service(Options{}).Status(t.Context())
	said := strings.Join(append(st.Broken, st.Drift...), "\n")
	for _, want := range []string{"edited since", "changed since systemd read it", "a.conf change it", "its stop ends agents"} {
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("not said: %s; %v, %s", want, err, said)
		}
	}
}

// Without systemd nothing is written, and what would be can be printed.
func TestNoSystemd(t *testing.T) {
	w := newWorld(t)
	for _, arrange := range []func(){
		func() { w.Put("user/refuses", "Failed to connect to bus: No medium found") },
		func() {
			if err := os.Remove(w.Root + "/run/systemd/system"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		arrange()
		if _, err := w.service(Options{}).Install(t.Context()); !errors.Is(err, ErrNoSystemd) || w.text() != "" {
			t.Errorf("%v, and there is %q", err, w.text())
		}
		if _, err := w.service(Options{}).Uninstall(t.Context()); !errors.Is(err, ErrNoSystemd) {
			t.Error(err)
		}
		if st, err := w.service(Options{}).Status(t.Context()); err != nil || st.Known || st.Why == "" {
			t.Errorf("%+v, %v", st, err)
		}
	}
	if p, err := w.service(Options{}).Compose(); err != nil || !strings.Contains(p.Text, "KillMode=process") {
		t.Error(p, err)
	}
}

func TestRefuses(t *testing.T) {
	for name, arrange := range map[string]func(w *world, o *Options){
		"a temporary program":    func(w *world, _ *Options) { w.exe = "/tmp/go-build1/b001/exe/custos" },
		"a store":                func(w *world, _ *Options) { w.exe = "/nix/store/abc-custos/bin/custos" },
		"a removed one":          func(w *world, _ *Options) { w.exe = "/usr/bin/custos (deleted)" },
		"one that is not there":  func(w *world, _ *Options) { w.exe = "/usr/bin/no-such-custos" },
		"another home":           func(w *world, _ *Options) { w.env["HOME"] = "/root" },
		"the system's by a user": func(_ *world, o *Options) { o.System = true },
		"no variable":            func(_ *world, o *Options) { o.Env = []string{"NOT_SET"} },
		"a name that is none":    func(_ *world, o *Options) { o.Env = []string{"A=b"} },
		"a secret":               func(w *world, o *Options) { w.env["FORGE_TOKEN"], o.Env = "hunter2hunter2", []string{"FORGE_TOKEN"} },
		"two lines":              func(w *world, o *Options) { w.env["X"], o.Env = "a\nUser=root", []string{"X"} },
		"a mask": func(w *world, _ *Options) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(w.path()), 0o755), os.Symlink("/dev/null", w.path())); err != nil {
				t.Fatal(err)
			}
		},
	} {
		w, o := newWorld(t), Options{}
		arrange(w, &o)
		s, err := w.try(o)
		if err == nil {
			_, err = s.Install(t.Context())
		}
		if !errors.Is(err, ErrRefused) || w.text() != "" || len(w.Asked()) > 0 || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %q", name, err, w.Asked())
		}
	}
}

// A user has one daemon: where the system's unit starts it already, the user's own would not start.
func TestNotTwice(t *testing.T) {
	w := newWorld(t)
	w.Put("system/loaded", "[Service]\nUser=me\nType=notify\nKillMode=process\n")
	w.Put("system/enabled", "")
	if _, err := w.service(Options{}).Install(t.Context()); !errors.Is(err, ErrRefused) || w.text() != "" {
		t.Error(err)
	}
	w.Put("system/loaded", "[Service]\nUser=other\nType=notify\nKillMode=process\n")
	if _, err := w.service(Options{}).Install(t.Context()); err != nil {
		t.Errorf("another user's: %v", err)
	}
}

// A program that others could exchange is started by no unit.
func TestWhatOthersCouldExchange(t *testing.T) {
	uid, dir := os.Getuid(), t.TempDir()
	program := filepath.Join(dir, "bin", "custos")
	if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o755), os.WriteFile(program, nil, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := trusted(program, uid); err != nil {
		t.Errorf("well: %v", err)
	}
	for _, open := range []string{program, filepath.Dir(program)} {
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := trusted(program, uid); err == nil {
			t.Errorf("everybody writes %s", open)
		}
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := trusted(program, uid+1); uid != 0 && err == nil {
		t.Error("it belongs to somebody else")
	}
}

// Where a program does not last, a link that does is taken.
func TestLasting(t *testing.T) {
	if got, err := Lasting("/usr/lib/custos/custos", ""); err != nil || got != "/usr/lib/custos/custos" {
		t.Error(got, err)
	}
	for exe, want := range map[string]string{"/home/me/.cache/x/custos": "a cache", "/home/me/.cache/go-build/x/custos": "go run", "/opt/homebrew/Cellar/custos/1/bin/custos": "Homebrew", "/home/me/src/tmp/custos": "", "/home/me/snap/custos": "", "/snap/custos/3/custos": "snap"} {
		if _, err := Lasting(exe, "/usr/bin"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", exe, err)
		}
	}
}

// What doctor looks at are the units that start this user's daemon; two of them are one too many.
func TestLook(t *testing.T) {
	w := newWorld(t)
	look := func() []Status {
		t.Helper()
		all, err := Look(t.Context(), w.service(Options{}).m)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := look(); len(all) != 0 {
		t.Errorf("where nothing is: %+v", all)
	}
	w.Put("system/loaded", "[Service]\nUser=other\nKillMode=process\nType=notify\nOOMPolicy=continue\n")
	w.Put("system/enabled", "")
	if _, err := w.service(Options{}).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := look(); len(all) != 1 || all[0].Manager != "user" || len(all[0].Broken)+len(all[0].Drift) > 0 {
		t.Errorf("beside another user's: %+v", all)
	}
	w.Put("system/loaded", "[Service]\nUser=me\nKillMode=process\nType=notify\nOOMPolicy=continue\n")
	if all := look(); len(all) != 2 || !strings.Contains(strings.Join(all[0].Broken, ""), "the manager of the system has one, too") {
		t.Errorf("two of this user's: %+v", all)
	}
	w.Put("user/refuses", "Failed to connect to bus: No medium found")
	if all := look(); len(all) != 2 || all[0].Known || all[0].Unit != w.path() || all[0].Why == "" {
		t.Errorf("a unit of which systemd says nothing: %+v", all)
	}
}
