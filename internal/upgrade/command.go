package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/api"
	"custos/internal/release"
	"custos/internal/store/backups"
	"custos/internal/sys/files"
	"custos/internal/sys/presence"
)

// Order is what a person asks for.
type Order struct {
	From     string // an archive of a release; "" for none
	Key      string // a file with the public key; "": release.pub beside custos.toml
	Unsigned bool   // a person has said that nobody is to vouch for it
	Check    bool   // says what would be refused, and changes nothing
	DryRun   bool   // says each step, and changes nothing
	Settle   bool   // puts right what was cut off, and no more
}

// Report is how it stands with the programs, and what was done.
type Report struct {
	Version string   `json:"version"`          // of the program that was asked
	Daemon  string   `json:"daemon,omitempty"` // version of the daemon; "" where none runs
	Dir     string   `json:"dir"`              // of the programs
	Owner   string   `json:"owner,omitempty"`  // the package manager that put them there
	To      string   `json:"to,omitempty"`     // version of the archive
	Signed  bool     `json:"signed"`           // by the key
	Open    string   `json:"open,omitempty"`   // what was cut off
	Last    *State   `json:"last,omitempty"`   // upgrade there was
	Backups []string `json:"backups"`          // of the ledger, oldest first
	Plan    []Stage  `json:"plan,omitempty"`   // what would be done
	Done    bool     `json:"done"`             // the new programs are in their places
}

// Stage is a step that would be taken, with the commands that come closest to it.
type Stage struct {
	Do       string   `json:"do"`
	Commands []string `json:"commands"`
}

// within is how long the new daemon has to be well.
const within = time.Minute

// Do does what a person asks for. say is told what is done now.
func (w World) Do(ctx context.Context, version string, o Order, say func(string)) (Report, error) {
	r := Report{Version: version, Dir: filepath.Dir(w.Own), Backups: []string{}}
	r.Owner, _ = Owner(ctx, w.Getenv, w.Own)
	last, err := ReadState(w.Config.StateDir)
	if err != nil {
		return r, err
	}
	if r.Open = last.Words(); last.Phase != "" {
		r.Last = &last
	}
	all, err := backups.List(LedgerFile(w.Config))
	if err != nil {
		return r, err
	}
	for _, b := range all {
		r.Backups = append(r.Backups, b.Path)
	}
	daemon, err := w.daemon(ctx, &r, o)
	switch {
	case err != nil:
		return r, err
	case o.Settle:
		return r, w.settle(ctx, version, daemon, &r, say)
	case o.From == "":
		return r, nil
	}
	return r, w.exchange(ctx, version, daemon, o, &r, say)
}

// daemon finds the one there is, and refuses one that cannot be exchanged.
func (w World) daemon(ctx context.Context, r *Report, o Order) (Daemon, error) {
	d, err := Find(ctx, w)
	if err != nil || !w.Runs() {
		return d, refused(err)
	}
	c, err := w.Dial(ctx)
	if err == nil {
		defer c.Close()
		var s api.Status
		if s, err = c.Status(ctx); err == nil {
			r.Daemon = s.Version
		}
	}
	switch {
	case o.From == "" || o.Check:
		return d, nil
	case err != nil:
		return d, err
	case r.Daemon != r.Version:
		return d, &api.Error{Kind: api.BadInput, Hint: "custos down && custos up", Message: fmt.Sprintf("cannot upgrade: the daemon is %s, and this program %s: have the daemon begin anew as this one, or ask the program of the daemon", r.Daemon, r.Version)}
	case presence.Find(w.Config.StateDir) == 1:
		return d, refused(errors.New("the daemon is process 1 of a container: start one of a newer image"))
	}
	return d, nil
}

// refused is an error of what was asked for: nothing was changed. nil stays nil.
func refused(err error) error {
	var said *api.Error
	if err == nil || errors.As(err, &said) {
		return err
	}
	return &api.Error{Kind: api.BadInput, Message: "cannot upgrade: " + err.Error()}
}

func (w World) settle(ctx context.Context, version string, d Daemon, r *Report, say func(string)) error {
	u := w.upgrade(version, d, "", say)
	s, err := u.Settle(ctx)
	if s.Phase != "" {
		r.Last, r.Open = &s, s.Words()
	}
	return err
}

func (w World) upgrade(version string, d Daemon, config string, say func(string)) *Upgrade {
	return &Upgrade{Folder: w.Config.StateDir, Dir: filepath.Dir(w.Own), From: version, Ledger: LedgerOf(w.Config), Daemon: d, Within: within, Say: say,
		Prove: Proof(LedgerFile(w.Config), config, w.Getenv)}
}

func (w World) exchange(ctx context.Context, version string, d Daemon, o Order, r *Report, say func(string)) error {
	file, err := filepath.Abs(o.From)
	if err != nil {
		return refused(err)
	}
	key, err := w.key(o)
	if err != nil {
		return refused(err)
	}
	say("verify the release")
	a, err := Verify(file, key)
	if err != nil {
		return refused(err)
	}
	r.To, r.Signed = a.Version, key != nil
	if err := w.mayChange(ctx, file); err != nil {
		return refused(err)
	}
	r.Plan = plan(file, r.Dir, LedgerFile(w.Config), r.Daemon != "")
	if o.Check || o.DryRun || a.Version == version {
		return nil
	}
	config := ""
	if w.Config.Found {
		config = w.Config.File
	}
	s, err := w.upgrade(version, d, config, say).Run(ctx, a.Version, From(file, a))
	r.Last, r.Plan, r.Done = &s, nil, s.Phase == Done
	return err
}

// key reads the key that is to vouch for a release; nil where a person has said that none is to.
func (w World) key(o Order) ([]byte, error) {
	if o.Unsigned {
		return nil, nil
	}
	file := o.Key
	if file == "" {
		file = filepath.Join(filepath.Dir(w.Config.File), "release.pub")
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && o.Key == "" {
		return nil, fmt.Errorf("no key is there to verify the release with: --key FILE names the public key, or put it at %s; --unsigned takes a release that nobody vouches for", file)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the key: %w", err)
	}
	return text, nil
}

// mayChange refuses a folder of programs that is not ours to change, or has no room.
func (w World) mayChange(ctx context.Context, archive string) error {
	dir := filepath.Dir(w.Own)
	if who, command := Owner(ctx, w.Getenv, w.Own); who != "" {
		return &api.Error{Kind: api.BadInput, Hint: command, Message: fmt.Sprintf("cannot upgrade: %s was put there by %s, which has to exchange it; have the daemon begin anew then", w.Own, who)}
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return fmt.Errorf("the folder of the programs, %s, cannot be written to: %w", dir, err)
	}
	for _, name := range release.Programs() {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file in %s: the three programs belong together", name, dir)
		}
	}
	for _, need := range []struct {
		in, of string
		times  int64
	}{{dir, archive, 5}, {w.Config.StateDir, LedgerFile(w.Config), 3}} { // unpacked; and copied, once more by a migration
		info, err := os.Stat(need.of)
		room, bad := files.Room(need.in)
		if err == nil && bad == nil && room < need.times*info.Size() {
			return fmt.Errorf("there is no room for it: %s has %d MB, and it takes %d", need.in, room>>20, need.times*info.Size()>>20)
		}
	}
	return nil
}

// plan says what would be done.
func plan(file, dir, ledger string, daemon bool) []Stage {
	beside := filepath.Join(dir, besides)
	var keep, swap []string
	for _, name := range release.Programs() {
		keep = append(keep, fmt.Sprintf("ln %s/%s %s/old/%s", dir, name, beside, name))
		swap = append(swap, fmt.Sprintf("mv %s/new/%s %s/%s", beside, name, dir, name))
	}
	out := []Stage{
		{"unpack the new programs", []string{fmt.Sprintf("tar -xzf %s --strip-components=1 -C %s/new %s", file, beside, strings.Join(release.Programs(), " "))}},
		{"try the new programs", []string{beside + "/new/custos version --json", beside + "/new/custos config check"}},
		{"back the ledger up", []string{fmt.Sprintf("sqlite3 %s \".backup %s/custos-vSCHEMA-TIME.db\"", ledger, backups.Dir(ledger))}},
		{"keep the old programs", keep},
		{"exchange the programs", swap},
	}
	if daemon {
		out = append(out, Stage{"have the daemon go on as the new one", []string{"POST /v1/become"}}, Stage{"wait until the new daemon is well", []string{"custos health"}})
	}
	return append(out, Stage{"remove what lies beside", []string{"rm -r " + beside}})
}
