package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
)

// command is a process of the binary.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"--config", filepath.Join(dir, "custos.toml")}, args...)...)
	cmd.Env = append(os.Environ(), "CUSTOS_AS_COMMAND=1", "HOME="+filepath.Join(dir, "home"))
	return cmd
}

// says runs a command to its end and returns what it printed and its exit code.
func says(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	out, err := command(t, dir, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

// writer is a buffer that a process and a test may use at once.
type writer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *writer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// up starts a daemon and waits until it answers.
func up(t *testing.T, dir string, cfg config.Config) (*exec.Cmd, *writer) {
	t.Helper()
	said := &writer{}
	cmd := command(t, dir, "up")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ends(t, cmd, said) })
	await(t, said.String, func() bool {
		_, err := status(t.Context(), cfg)
		return err == nil
	})
	return cmd, said
}

// ends ends a daemon that still runs, and demands that what it had in memory was
// what it wrote.
func ends(t *testing.T, cmd *exec.Cmd, said *writer) {
	t.Helper()
	if cmd.ProcessState != nil {
		return
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	late.Stop()
	if strings.Contains(said.String(), daemon.MemoryDiffers) {
		t.Errorf("%s", said)
	}
}

func status(ctx context.Context, cfg config.Config) (api.Status, error) {
	c, err := api.Dial(ctx, daemon.Socket(cfg))
	if err != nil {
		return api.Status{}, err
	}
	defer c.Close()
	return c.Status(ctx)
}

// longest is for how long the real world may take to catch up: no verdict hangs on how
// busy the machine is. Only what never comes about takes as long.
const longest = 5 * time.Minute

// lastWords is how long before the limit of its run (-timeout) a test gives up what it waits
// for: at the limit itself all ends, and nothing is said of what was awaited.
const lastWords = 5 * time.Second

// patient is for how long a test that ends at a moment, zero for never, may still wait.
func patient(now, ends time.Time) time.Duration {
	if ends.IsZero() {
		return longest
	}
	return min(longest, ends.Add(-lastWords).Sub(now))
}

// endOf is when the run of a test ends at its limit; zero where it has none.
func endOf(t testing.TB) (ends time.Time) {
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		ends, _ = limited.Deadline()
	}
	return ends
}

// await waits for the real world to catch up. It asks often at first, then ever less often:
// who asks all the time keeps a machine busy that has something else to do.
func await(t testing.TB, what func() string, is func() bool) {
	t.Helper()
	begun := time.Now()
	for longest := patient(begun, endOf(t)); !is(); {
		waited := time.Since(begun)
		if waited > longest {
			t.Fatalf("it did not come about within %v:\n%s", longest, what())
		}
		time.Sleep(min(max(waited/20, 5*time.Millisecond), 100*time.Millisecond))
	}
}

func TestOneDaemonAtATime(t *testing.T) {
	dir, cfg := scratch(t)
	first, said := up(t, dir, cfg)
	out, code := says(t, dir, "up")
	if code == 0 || !strings.Contains(out, "custos up, pid ") {
		t.Errorf("a second daemon ended with %d and said %q; want who holds the lock", code, out)
	}
	if out, code := says(t, dir, "uninstall", "--yes"); code == 0 {
		t.Errorf("uninstall went ahead under a daemon: %s", out)
	}
	if out, code := says(t, dir, "down"); code != 0 {
		t.Fatalf("down ended with %d: %s", code, out)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, said)
	}
	if _, err := os.Stat(daemon.Socket(cfg)); err == nil {
		t.Error("the socket was left behind")
	}
}

func TestTermEndsTheDaemonWell(t *testing.T) {
	dir, cfg := scratch(t)
	d, said := up(t, dir, cfg)
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(); err != nil {
		t.Errorf("SIGTERM ended it with %v:\n%s", err, said)
	}
}

// TestDaemonObservesAndRemembers kills the daemon without warning: the next one
// knows the alerts, their numbers and the acknowledgement.
func TestDaemonObservesAndRemembers(t *testing.T) {
	dir, cfg := scratch(t)
	before := fingerprint(t, dir, "state", "journal", "home")
	d, said := up(t, dir, cfg)
	await(t, said.String, func() bool { s, err := status(t.Context(), cfg); return err == nil && s.Patrols > 0 })
	if out, code := says(t, dir, "ack", "1"); code != 0 {
		t.Fatalf("ack: %s", out)
	}
	was, _ := says(t, dir, "alerts", "--json")
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.Wait()
	_, said = up(t, dir, cfg)
	await(t, said.String, func() bool { s, err := status(t.Context(), cfg); return err == nil && s.Patrols > 1 })
	is, _ := says(t, dir, "alerts", "--json")
	if count(was, `"number"`) != count(is, `"number"`) || !strings.Contains(is, `"acked_by"`) && !strings.Contains(is, "acked") {
		t.Errorf("before the kill: %s\nafter: %s", was, is)
	}
	if diff := fingerprint(t, dir, "state", "journal", "home"); len(diff) != len(before) {
		t.Error("a daemon in mode observe changed the tree")
	}
}

func count(s, what string) int { return strings.Count(s, what) }

func TestFreezeNeedsNoDaemonAndStopsOne(t *testing.T) {
	dir, cfg := scratch(t)
	if out, code := says(t, dir, "freeze", "because"); code != 0 {
		t.Fatal(out)
	}
	r := patrol(t, cfg)
	if len(r.Done) != 0 || len(r.Skipped) == 0 || r.Skipped[0].Guard != "frozen" {
		t.Errorf("frozen, it did %v and skipped %v", r.Done, r.Skipped)
	}
	if out, code := says(t, dir, "thaw"); code != 0 {
		t.Fatal(out)
	}
	if r := patrol(t, cfg); len(r.Done) != len(safe) {
		t.Errorf("thawed, it did %d things, want %d", len(r.Done), len(safe))
	}
}

// TestAmnesia: a database that cannot be read is set aside, and nothing is done
// until a person says so.
func TestAmnesia(t *testing.T) {
	dir, cfg := scratch(t)
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.StateDir, "custos.db"), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, code := says(t, dir); code != 0 {
		t.Errorf("the first look ended with %d over a broken database", code)
	}
	r := patrol(t, cfg)
	if len(r.Done) != 0 {
		t.Errorf("with amnesia it did %v", r.Done)
	}
	aside, _ := filepath.Glob(filepath.Join(cfg.StateDir, "custos.db.corrupt-*"))
	if len(aside) == 0 {
		t.Error("the broken database was not set aside")
	}
	confirms(t, dir, cfg, r)
}

// TestLostDatabase: one that is deleted or emptied is no first start.
func TestLostDatabase(t *testing.T) {
	for name, lose := range map[string]func(path string) error{"deleted": os.Remove, "emptied": func(p string) error { return os.Truncate(p, 0) }} {
		t.Run(name, func(t *testing.T) {
			dir, cfg := scratch(t)
			if out, code := says(t, dir, "freeze", "because"); code != 0 {
				t.Fatal(out)
			}
			patrol(t, cfg)
			if out, code := says(t, dir, "thaw"); code != 0 {
				t.Fatal(out)
			}
			files, err := filepath.Glob(filepath.Join(cfg.StateDir, "custos.db*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, f := range files {
				if err := lose(f); err != nil {
					t.Fatal(err)
				}
			}
			if _, code := says(t, dir); code != 0 {
				t.Errorf("the first look ended with %d", code)
			}
			r := patrol(t, cfg)
			if len(r.Done) != 0 {
				t.Errorf("without its past it did %v", r.Done)
			}
			confirms(t, dir, cfg, r)
		})
	}
}

// confirms acknowledges the alert of the lost past; then what is safe is done.
func confirms(t *testing.T, dir string, cfg config.Config, r api.PatrolReport) {
	t.Helper()
	number := ""
	for _, a := range r.Alerts {
		if a.Rule == "self-amnesia" {
			number = strconv.FormatInt(a.Number, 10)
		}
	}
	if out, code := says(t, dir, "ack", number); code != 0 {
		t.Fatalf("ack %s: %s", number, out)
	}
	if r := patrol(t, cfg); len(r.Done) != len(safe) {
		t.Errorf("after a person confirmed it did %d things, want %d; skipped %v; done %+v", len(r.Done), len(safe), r.Skipped, r.Done)
	}
}

func TestBadInputSaysWhereAndEndsWithTwo(t *testing.T) {
	dir, _ := scratch(t)
	good, err := os.ReadFile(filepath.Join(dir, "custos.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ add, want string }{
		"key":     {"[rule.x]\npriorty = \"P1\"\n", `unknown key "priorty", did you mean "priority"?`},
		"rule":    {"[rule.log-large]\nexpr = \"log.bites > 1\"\n", `bytes`},
		"section": {"[lokcs]\nglobs = []\n", "locks"},
		"option":  {"[stop_tree]\nwatch = \"soon\"\n", "watch"},
		"kind":    {"[kind.claude]\nnmaes = []\n", "names"},
		"mode":    {"", "observe"},
	} {
		t.Run(name, func(t *testing.T) {
			text := string(good) + "\n" + c.add
			if name == "mode" {
				text = "mode = \"yolo\"\n" + string(good)
			}
			if err := os.WriteFile(filepath.Join(dir, "custos.toml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{nil, {"patrol", "--apply"}, {"config", "check"}, {"up"}} {
				out, code := says(t, dir, args...)
				if code != 2 || !strings.Contains(out, c.want) {
					t.Errorf("custos %v ended with %d and said %q; want 2 and %q", args, code, out, c.want)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
				t.Error("something was written all the same")
			}
		})
	}
}
