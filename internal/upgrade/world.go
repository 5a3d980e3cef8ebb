package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/onewriter"
	"custos/internal/store"
	"custos/internal/sys/files"
	"custos/internal/sys/presence"
	"custos/internal/sys/procstat"
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
		Restore: func(ctx context.Context) (from string, err error) {
			held, err := onewriter.Take(ctx, cfg, "custos upgrade", onewriter.Patience)
			if err != nil {
				return "", err
			}
			from, _, err = store.Restore(ctx, file, time.Now())
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
	return u.Mend(ctx)
}

// World is what it takes to find the daemon and to talk to it.
type World struct {
	Config config.Config
	Own    string // the program, as a path
	Getenv func(string) string
	Dial   func(ctx context.Context) (*api.Client, error)
	Runs   func() bool
	End    func(ctx context.Context) error // ends a daemon that may not answer
}

// watcher is a daemon that was found, and what becomes of it.
type watcher struct {
	World
	argv    []string // by which it was started
	service []string // systemctl with its flags, when a unit runs it
	unit    string
	pid     int
	start   uint64
}

// Find says how the daemon there is can be exchanged, or why it cannot be.
func Find(ctx context.Context, w World) (Daemon, error) {
	d := &watcher{World: w, argv: []string{w.Own, "up"}}
	if w.Runs() {
		if err := d.find(ctx); err != nil {
			return Daemon{}, err
		}
	}
	return Daemon{Runs: w.Runs, Become: d.become, Renew: d.renew, Well: d.well, Alive: d.alive, Wait: wait}, nil
}

func (d *watcher) find(ctx context.Context) error {
	pid := presence.Find(d.Config.StateDir)
	if !d.follow(pid) {
		return errors.New("a daemon runs, and its process is not known")
	}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		if argv := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"); len(argv) > 1 {
			d.argv = append([]string{d.Own}, argv[1:]...)
		}
	}
	return d.findUnit(ctx, pid)
}

// findUnit finds the unit of systemd that has the daemon as its main process.
func (d *watcher) findUnit(ctx context.Context, pid int) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		at := strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:])
		if path.Ext(at) != ".service" {
			continue
		}
		ctl, unit := []string{"systemctl"}, path.Base(at)
		if strings.Contains(at, "/user@") {
			ctl = append(ctl, "--user")
		}
		said, err := run(ctx, d.Getenv, ctl[0], append(ctl[1:], "show", "--property", "MainPID,KillMode", unit)...)
		if err != nil || !strings.Contains(string(said), fmt.Sprintf("MainPID=%d\n", pid)) {
			continue
		}
		if !strings.Contains(string(said), "KillMode=process\n") {
			return fmt.Errorf("the unit %s is not of KillMode=process, so that every agent would end with its daemon", unit)
		}
		d.service, d.unit = ctl, unit
		return nil
	}
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

func (d *watcher) become(ctx context.Context) error {
	c, err := d.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Become(ctx, d.Own)
}

func (d *watcher) well(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := d.Dial(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	s, err := c.Status(ctx)
	if err != nil {
		return "", err
	}
	h, err := c.Health(ctx, 0)
	if err == nil && h.State != api.HealthWell {
		err = fmt.Errorf("%s: %s", h.State, h.Why)
	}
	return s.Version, err
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
	if _, err := run(ctx, d.Getenv, d.service[0], append(d.service[1:], "start", d.unit)...); err != nil {
		return fmt.Errorf("cannot start the unit %s: %w", d.unit, err)
	}
	if d.follow(presence.Find(d.Config.StateDir)) {
		return nil
	}
	return fmt.Errorf("the unit %s was started, and no daemon runs", d.unit)
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
