package daemon_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"custos/internal/config"
	"custos/internal/daemon"
	"custos/internal/hookwire"
)

// carrying is one command that carries a run on, without a daemon, until it is let go.
type carrying struct {
	*testing.T
	dir  string
	cfg  config.Config
	said *writer
	cmd  *exec.Cmd
}

func newCarrying(t *testing.T) *carrying {
	t.Helper()
	w := foundTown(t, quickLimits)
	dir, cfg := w.dir, w.cfg
	c := &carrying{T: t, dir: dir, cfg: cfg, said: &writer{}}
	formula := "name = \"slow\"\n[[steps]]\nid = \"wait\"\nrun = [\"sh\", \"-c\", \"touch " + dir + "/began; while [ ! -e " + dir + "/go ]; do sleep 0.05; done\"]\n"
	file := filepath.Join(dir, "slow.toml")
	if err := os.WriteFile(file, []byte(formula), 0o600); err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(dir, "custos.toml"), "formula", "run", file)
	c.cmd.Env = append(os.Environ(), "HOME="+dir)
	c.cmd.Stdout, c.cmd.Stderr = c.said, c.said
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); _ = c.cmd.Wait() })
	await(t, c.said.String, func() bool {
		for _, path := range []string{filepath.Join(dir, "began"), daemon.Socket(cfg), hookwire.Socket(cfg.RuntimeDir)} {
			if _, err := os.Stat(path); err != nil {
				return false
			}
		}
		return true
	})
	return c
}

// letGo has the run end, and the command with it.
func (c *carrying) letGo() {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600); err != nil {
		c.Fatal(err)
	}
	_ = c.cmd.Wait()
}

// another listens at a socket of its own, which it puts in the place of one.
func (c *carrying) another(path string) os.FileInfo {
	c.Helper()
	l, err := net.Listen("unix", path+"2")
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { l.Close() })
	if err := os.Rename(path+"2", path); err != nil {
		c.Fatal(err)
	}
	is, err := os.Lstat(path)
	if err != nil {
		c.Fatal(err)
	}
	return is
}

func (c *carrying) lies(path string, was os.FileInfo) {
	c.Helper()
	if is, err := os.Lstat(path); err != nil || !os.SameFile(is, was) {
		c.Errorf("%s of another was taken away: %v\n%s", path, err, c.said)
	}
}

// TestOneCommandLeavesTheSocketOfAnother: what lies at its end where its socket was, and is
// not its own, stays.
func TestOneCommandLeavesTheSocketOfAnother(t *testing.T) {
	c := newCarrying(t)
	is := c.another(daemon.Socket(c.cfg))
	c.letGo()
	c.lies(daemon.Socket(c.cfg), is)
}

// TestOneCommandTakesItsSocketAway: and its own it does remove.
func TestOneCommandTakesItsSocketAway(t *testing.T) {
	c := newCarrying(t)
	c.letGo()
	if _, err := os.Lstat(daemon.Socket(c.cfg)); err == nil {
		t.Errorf("its socket is still there:\n%s", c.said)
	}
}

// TestTheSocketOfHooksBelongsToWhoHoldsTheLock: a Custos whose lock another one holds takes
// neither socket back.
func TestTheSocketOfHooksBelongsToWhoHoldsTheLock(t *testing.T) {
	c := newCarrying(t)
	for _, dir := range []string{c.cfg.StateDir, c.cfg.RuntimeDir} {
		other, err := os.Create(filepath.Join(dir, "other"))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(other.Name(), filepath.Join(dir, "lock")); err != nil {
			t.Fatal(err)
		}
	}
	hooks, is := c.another(hookwire.Socket(c.cfg.RuntimeDir)), c.another(daemon.Socket(c.cfg))
	await(t, c.said.String, func() bool { return strings.Contains(c.said.String(), "another one has taken its place") })
	c.lies(hookwire.Socket(c.cfg.RuntimeDir), hooks)
	c.letGo()
	c.lies(hookwire.Socket(c.cfg.RuntimeDir), hooks)
	c.lies(daemon.Socket(c.cfg), is)
}

// TestSocketsThatWereRemovedAreMadeAnew: both, by a daemon and by one command.
func TestSocketsThatWereRemovedAreMadeAnew(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T) (config.Config, *writer){
		"a daemon":    func(t *testing.T) (config.Config, *writer) { w := newTown(t, quickLimits); return w.cfg, w.said },
		"one command": func(t *testing.T) (config.Config, *writer) { c := newCarrying(t); return c.cfg, c.said },
	} {
		t.Run(name, func(t *testing.T) {
			cfg, said := begin(t)
			for _, path := range []string{daemon.Socket(cfg), hookwire.Socket(cfg.RuntimeDir)} {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				await(t, said.String, func() bool {
					c, err := net.Dial("unix", path)
					if err == nil {
						c.Close()
					}
					return err == nil
				})
			}
		})
	}
}
