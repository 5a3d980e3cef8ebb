// Package systemd asks and tells systemd, by its own commands: systemctl and loginctl, as
// version 252 documents them. It knows nothing of Custos.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"custos/internal/sys/program"
)

// ErrAbsent says that systemd is not what runs this machine, or container.
var ErrAbsent = errors.New("systemd does not run here")

// Options say which manager is spoken to.
type Options struct {
	User   bool                // that of this user, not that of the system
	Root   string              // where the machine's files are; "" is /
	Getenv func(string) string // nil is the process's environment
	UID    int                 // of this user
}

// Reader asks. Writer can change, too.
type Reader struct{ o Options }

// NewReader makes a reader. It asks nothing.
func NewReader(o Options) *Reader {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Reader{o}
}

// Runs says whether systemd runs this machine, as sd_booted(3) finds out.
func (r *Reader) Runs() bool {
	info, err := os.Lstat(filepath.Join("/", r.o.Root, "run/systemd/system"))
	return err == nil && info.IsDir()
}

// Folder is where the units lie that an administrator, or a user with this home, writes.
func (r *Reader) Folder(configHome string) string {
	if r.o.User {
		return filepath.Join(configHome, "systemd/user")
	}
	return filepath.Join("/", r.o.Root, "etc/systemd/system")
}

// Unit is what a manager says of a unit of services. The zero values of what it did not say
// are empty.
type Unit struct {
	Load     string // loaded, not-found, masked, bad-setting, error
	File     string // enabled, disabled, static, …
	Active   string // active, inactive, activating, deactivating, failed
	Sub      string // running, auto-restart, dead, …
	Result   string // success, exit-code, …
	PID      int    // of its main process; 0 for none
	Fragment string // its file
	DropIns  string // files that change it, with spaces between
	KillMode string
	OOM      string // its policy
	Type     string
	RunsAs   string // its User
	Program  string // what ExecStart names
	Outdated bool   // the file changed since the manager read it
	Restarts int
}

var asked = []string{"LoadState", "UnitFileState", "ActiveState", "SubState", "Result", "MainPID", "FragmentPath", "DropInPaths", "KillMode", "OOMPolicy", "Type", "User", "ExecStart", "NeedDaemonReload", "NRestarts"}

// Show asks for a unit. One that is not there has Load not-found.
func (r *Reader) Show(ctx context.Context, name string) (Unit, error) {
	out, err := r.systemctl(ctx, "show", "--property="+strings.Join(asked, ","), name)
	if err != nil {
		return Unit{}, err
	}
	v := map[string]string{}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		v[key] = value
	}
	if v["LoadState"] == "" {
		return Unit{}, fmt.Errorf("cannot use what systemctl says of %s: no LoadState in it", name)
	}
	u := Unit{Load: v["LoadState"], File: v["UnitFileState"], Active: v["ActiveState"], Sub: v["SubState"], Result: v["Result"], Fragment: v["FragmentPath"],
		DropIns: v["DropInPaths"], KillMode: v["KillMode"], OOM: v["OOMPolicy"], Type: v["Type"], RunsAs: v["User"], Program: programOf(v["ExecStart"]), Outdated: v["NeedDaemonReload"] == "yes"}
	u.PID, _ = strconv.Atoi(v["MainPID"]) // what is no number is none
	u.Restarts, _ = strconv.Atoi(v["NRestarts"])
	return u, nil
}

// programOf reads ExecStart as show prints it: { path=/usr/bin/x ; argv[]=/usr/bin/x up ; … }.
func programOf(text string) string {
	_, rest, _ := strings.Cut(text, "path=")
	path, _, _ := strings.Cut(rest, " ; argv[]=")
	return path
}

// Lingers says whether a user's manager runs while the user is not logged in. logind tells
// that only of who is logged in or lingers.
func (r *Reader) Lingers(ctx context.Context, user string) (bool, error) {
	out, err := r.run(ctx, "loginctl", "show-user", "--property=Linger", "--value", "--", user)
	said := strings.TrimSpace(out)
	if err == nil && said != "yes" && said != "no" {
		err = fmt.Errorf("cannot use what loginctl says of lingering: %q", said)
	}
	return said == "yes", err
}

func (r *Reader) systemctl(ctx context.Context, args ...string) (string, error) {
	if !r.Runs() {
		return "", ErrAbsent
	}
	manager := "--system"
	if r.o.User {
		manager = "--user"
	}
	return r.run(ctx, "systemctl", append([]string{manager, "--no-pager", "--no-ask-password"}, args...)...)
}

// How long a command may take, how much it may print, and say of what went wrong.
const (
	patience = 6 * time.Minute // a unit may take five to stop
	most     = 64 << 10
	heard    = 600
)

func (r *Reader) run(ctx context.Context, argv0 string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := program.Run(ctx, program.Call{Argv: append([]string{argv0}, args...), Env: r.environ(), Max: most, Heard: heard})
	if err == nil {
		return string(out), nil
	}
	if said, ok := errors.AsType[*program.Complaint](err); ok {
		err = errors.New(strings.Join(strings.Fields(said.Says), " "))
	}
	return string(out), fmt.Errorf("cannot run %s %s: %w", argv0, strings.Join(args, " "), err)
}

// environ is what the commands need to find the manager of a user. Who came by su or cron has no
// XDG_RUNTIME_DIR, though the manager may be there.
func (r *Reader) environ() []string {
	env := append(program.Environ(r.o.Getenv, "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"), "SYSTEMD_COLORS=0")
	usual := filepath.Join("/", r.o.Root, "run/user", strconv.Itoa(r.o.UID))
	if info, err := os.Stat(usual); r.o.User && r.o.Getenv("XDG_RUNTIME_DIR") == "" && err == nil && info.IsDir() {
		env = append(env, "XDG_RUNTIME_DIR="+usual)
	}
	return env
}
