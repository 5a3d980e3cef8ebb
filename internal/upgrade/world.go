package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
	"custos/internal/store"
	"custos/internal/sys/files"
	"custos/internal/sys/presence"
	"custos/internal/sys/procstat"
	"custos/internal/sys/systemd"
)

// LedgerFile is the database of a configuration.
func LedgerFile(cfg config.Config) string { return filepath.Join(cfg.StateDir, "custos.db") }

// Schema is the version of the ledger's schema that this program reads and writes.
func Schema() int { return store.Schema() }

// LedgerOf copies and puts back the ledger of a configuration.
func LedgerOf(cfg config.Config) Ledger {
	file := LedgerFile(cfg)
	return Ledger{
		Backup: func(ctx context.Context) (string, error) {
			at, err := store.Backup(ctx, file, time.Now())
			if errors.Is(err, fs.ErrNotExist) {
				return "", nil
			}
			return at, err
		},
		Schema: store.Schema(),
		Restore: func(ctx context.Context, known int) (from string, err error) {
			held, err := onewriter.Take(ctx, cfg, "custos upgrade", onewriter.Patience)
			if err != nil {
				return "", err
			}
			from, _, err = store.Restore(ctx, file, known, time.Now())
			return from, errors.Join(err, held.Release())
		},
	}
}

// Mend is Upgrade.Mend for a daemon of a configuration that begins as a version.
func Mend(ctx context.Context, cfg config.Config, version string) (said string, again bool, err error) {
	own, err := os.Executable()
	if err != nil {
		return "", false, nil // then none of its programs was exchanged by name
	}
	u := Upgrade{Folder: cfg.StateDir, Dir: filepath.Dir(own), From: version, Ledger: LedgerOf(cfg)}
	said, again, err = u.Mend(ctx)
	if again && isItself(own) { // an upgrade that runs has yet to put the other one back
		return said, false, fmt.Errorf("%s, and it is %s still that lies at %s", said, version, own)
	}
	return said, again, err
}

// isItself says whether what lies at a path is the program that runs here.
func isItself(path string) bool {
	lies, err := os.Stat(path)
	runs, bad := os.Stat("/proc/self/exe")
	return err == nil && bad == nil && os.SameFile(lies, runs)
}

// World is what it takes to find the daemon and to talk to it.
type World struct {
	Config  config.Config
	Own     string        // the program, as a path
	Root    string        // where the machine's files are; "" is /
	Answers time.Duration // how long the daemon has to answer; 0 is five seconds
	Getenv  func(string) string
	Dial    func(ctx context.Context) (*api.Client, error)
	Runs    func() bool
	End     func(ctx context.Context) error // ends a daemon that may not answer
}

// ask asks the daemon there is something; one that hangs is not waited for.
func (w World) ask(ctx context.Context, what func(ctx context.Context, c *api.Client) error) error {
	within := cmp.Or(w.Answers, 5*time.Second)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := w.Dial(ctx)
	if err == nil {
		defer c.Close()
		err = what(ctx, c)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &api.Error{Kind: api.Unreachable, Hint: "custos health", Message: "cannot ask the daemon: it does not answer within " + within.String()}
	}
	return err
}

// status is that of the daemon there is.
func (w World) status(ctx context.Context) (api.Status, error) { return statusBy(ctx, w.ask) }

func statusBy(ctx context.Context, ask func(context.Context, func(context.Context, *api.Client) error) error) (s api.Status, err error) {
	err = ask(ctx, func(ctx context.Context, c *api.Client) (err error) {
		s, err = c.Status(ctx)
		return err
	})
	return s, err
}

// others are the daemons that run a program, but for one: those of other users, and of other
// state folders. Only root sees which program a daemon runs.
func others(own string, not int) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		exe, _ := os.Readlink(dir + "/exe")
		line, _ := os.ReadFile(dir + "/cmdline")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if strings.TrimSuffix(exe, " (deleted)") == own && pid != not && slices.Contains(strings.Split(string(line), "\x00"), "up") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// watcher is a daemon that was found, and what becomes of it.
type watcher struct {
	World
	argv    []string        // that starts it anew
	manager *systemd.Writer // of its unit, if it has one
	unit    string
	pid     int
	start   uint64
}

// Find says how the daemon there is can be exchanged, or why it cannot be.
func Find(ctx context.Context, w World) (Daemon, error) {
	d := &watcher{World: w, argv: argv(w.Own, w.Config, nil)}
	if w.Runs() {
		if err := d.find(ctx); err != nil {
			return Daemon{}, err
		}
	}
	return Daemon{Runs: w.Runs, Become: d.become, Renew: d.renew, Well: d.well, Alive: d.alive, Wait: wait}, nil
}

// argv starts a daemon with a configuration, in the manner of one that was started by line.
func argv(own string, cfg config.Config, line []string) []string {
	out := []string{own}
	if cfg.Found {
		out = append(out, "--config", cfg.File)
	}
	if slices.Contains(line, "--json") {
		out = append(out, "--json")
	}
	return append(out, "up")
}

func (d *watcher) find(ctx context.Context) error {
	pid := presence.Find(d.Config.StateDir)
	if !d.follow(pid) {
		return errors.New("a daemon runs, and its process is not known")
	}
	if s, err := d.status(ctx); err == nil && s.Config != "" {
		d.Config.File, d.Config.Found = fleet.RawPath(s.Config), true
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	d.argv = argv(d.Own, d.Config, strings.Split(string(line), "\x00"))
	cgroup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)) // where there is none, there is no systemd
	return d.findUnit(ctx, string(cgroup))
}

// findUnit finds the unit of systemd that has the daemon as its main process, by its cgroup.
func (d *watcher) findUnit(ctx context.Context, cgroup string) error {
	name, user := systemd.InService(cgroup, os.Geteuid())
	if name == "" {
		return nil
	}
	manager := systemd.NewWriter(systemd.Options{User: user, Root: d.Root, Getenv: d.Getenv, UID: os.Geteuid()})
	u, err := manager.Show(ctx, name)
	switch {
	case errors.Is(err, systemd.ErrAbsent) || err == nil && u.PID != d.pid:
		return nil // it was started by hand, out of something that a unit has started
	case err != nil:
		return fmt.Errorf("cannot tell whether %s is to start the daemon: %w", name, err)
	case u.KillMode != "process":
		return fmt.Errorf("the unit %s is not of KillMode=process, so that every agent would end with its daemon", name)
	case !user && os.Geteuid() != 0:
		return fmt.Errorf("only root can have %s, a unit of the system, begin anew if the new daemon is not well: have root stop it, upgrade, and have root start it", name)
	}
	d.manager, d.unit = manager, name
	return nil
}

// follow notes which process is looked after.
func (d *watcher) follow(pid int) bool {
	s, is := procstat.Living(pid)
	d.pid, d.start = pid, s.Start
	return is
}

func (d *watcher) alive() bool {
	s, is := procstat.Living(d.pid)
	return is && s.Start == d.start
}

// ask asks it. The client tries again and again where a daemon goes on as another program; one
// that has ended meanwhile is not waited for.
func (d *watcher) ask(ctx context.Context, what func(ctx context.Context, c *api.Client) error) error {
	if !d.alive() {
		return d.World.ask(ctx, what)
	}
	living, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	one := watcher{pid: d.pid, start: d.start}
	go func() {
		for wait(living, every) == nil {
			if !one.alive() {
				cancel(errEnded)
			}
		}
	}()
	err := d.World.ask(living, what)
	if err != nil && errors.Is(context.Cause(living), errEnded) {
		return errEnded
	}
	return err
}

func (d *watcher) status(ctx context.Context) (api.Status, error) { return statusBy(ctx, d.ask) }

// quiet is a bit more than a daemon waits for what it does just now before it goes on as
// another program.
const quiet = 2*time.Minute + 15*time.Second

// become asks the daemon, and waits until it does: it finishes first what it does just now.
func (d *watcher) become(ctx context.Context) error {
	was, err := d.status(ctx)
	if err != nil {
		return err
	}
	err = d.ask(ctx, func(ctx context.Context, c *api.Client) error { return c.Become(ctx, d.Own) })
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	for wait(within, every) == nil {
		is, err := d.status(within)
		if err != nil || !sameTime(is.Started, was.Started) {
			return ctx.Err()
		}
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return fmt.Errorf("the daemon has not gone on as it within %s: it still does what it had begun", quiet)
}

func sameTime(a, b *time.Time) bool { return a != nil && b != nil && a.Equal(*b) }

func (d *watcher) well(ctx context.Context) (version string, err error) {
	err = d.ask(ctx, func(ctx context.Context, c *api.Client) error {
		s, err := c.Status(ctx)
		if err != nil {
			return err
		}
		h, err := c.Health(ctx, 0)
		if err == nil && h.State != api.HealthWell {
			err = fmt.Errorf("%s: %s", h.State, h.Why)
		}
		version = s.Version
		return err
	})
	return version, err
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// renew ends the daemon there is, and starts what lies in its place: by its unit, else in the
// background with what this process has for its surroundings.
func (d *watcher) renew(ctx context.Context) error {
	if d.Runs() {
		if err := d.End(ctx); err != nil {
			return err
		}
	}
	if d.unit == "" {
		return d.begin()
	}
	_ = d.manager.Forget(ctx, d.unit) // it matters only where starts were too many
	if err := d.manager.Start(ctx, d.unit); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for !d.follow(presence.Find(d.Config.StateDir)) {
		if wait(within, every) != nil {
			return fmt.Errorf("the unit %s was started, and no daemon runs", d.unit)
		}
	}
	return nil
}

func (d *watcher) begin() error {
	log, err := files.OpenToWrite(filepath.Join(d.Config.StateDir, "upgrade.log"), os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(d.argv[0], d.argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	if !d.follow(cmd.Process.Pid) {
		return fmt.Errorf("the daemon ended at once: %s says why", log.Name())
	}
	return nil
}
