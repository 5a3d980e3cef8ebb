package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/api"
	"custos/internal/fleet"
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
	Others  []int    `json:"others,omitempty"` // processes of more daemons of the same programs, which go on as they are
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
func (w World) Do(ctx context.Context, version string, o Order, say func(string)) (r Report, err error) {
	r = Report{Version: version, Dir: filepath.Dir(w.Own), Backups: []string{}, Others: others(w.Own, presence.Find(w.Config.StateDir))}
	if o.Settle && (o.From != "" || o.Check || o.DryRun) {
		return r, refused(errors.New("--settle puts right what was cut off, and goes with nothing else"))
	}
	if err = w.fill(ctx, &r); err != nil {
		return r, err
	}
	if o.From == "" && !o.Settle {
		r.Owner, _, err = Owner(ctx, w.Getenv, w.Own, "")
		return r, err
	}
	d, err := Find(ctx, w)
	switch {
	case err != nil:
		return r, refused(err)
	case o.Settle:
		return r, w.settle(ctx, version, d, &r, say)
	}
	return r, w.exchange(ctx, version, d, o, &r, say)
}

// fill finds out how it stands.
func (w World) fill(ctx context.Context, r *Report) error {
	last, err := ReadState(w.Config.StateDir)
	if err != nil {
		return fmt.Errorf("%w: remove it, where the three programs in %s are of one version", err, r.Dir)
	}
	if r.Open = last.Words(); last.Phase != "" {
		r.Last = &last
	}
	all, err := backups.List(LedgerFile(w.Config))
	if err != nil {
		return err
	}
	for _, b := range all {
		r.Backups = append(r.Backups, b.Path)
	}
	if w.Runs() {
		s, _ := w.status(ctx) // one that does not answer is of no version
		r.Daemon = s.Version
	}
	return nil
}

// mayExchange refuses a daemon of which it could not be told how it becomes another one. What
// none runs is not refused. It returns the socket of that one; "" for none.
func (w World) mayExchange(ctx context.Context, r Report, d Daemon) (socket string, err error) {
	if !w.Runs() {
		return "", nil
	}
	s, err := w.status(ctx)
	switch own := fleet.Path(w.Own); {
	case err != nil:
		return "", err
	case s.Version != r.Version:
		return "", &api.Error{Kind: api.BadInput, Hint: "custos down && custos up", Message: fmt.Sprintf("cannot upgrade: the daemon is %s, and this program %s: have the daemon begin anew as this one, or ask the program of the daemon", s.Version, r.Version)}
	case s.Program != "" && s.Program != own:
		return "", &api.Error{Kind: api.BadInput, Hint: s.Program + " upgrade", Message: fmt.Sprintf("cannot upgrade: the daemon is %s, and this program %s: each has its own place", s.Program, own)}
	case s.PID == 1:
		return "", errors.New("the daemon is process 1 of a container: start one of a newer image")
	}
	if _, err := d.Well(ctx); err != nil {
		return "", fmt.Errorf("the daemon is not well, so that nothing would tell whether the new one is (%w): custos health says more; without a daemon (custos down) no proof is asked for", err)
	}
	// Who may not have it done is told before anything is.
	return s.Socket, w.ask(ctx, func(ctx context.Context, c *api.Client) error { return c.MayBecome(ctx) })
}

// refused is an error of what was asked for: nothing was changed. nil stays nil.
func refused(err error) error {
	if err == nil {
		return nil
	}
	e := api.Found(err)
	switch {
	case e == nil:
		e = &api.Error{Message: err.Error()}
	case e.Kind == api.BadInput || e.Kind == api.Forbidden: // it says so itself
		return e
	}
	return &api.Error{Kind: api.BadInput, Hint: e.Hint, Message: "cannot upgrade: " + e.Message + "; nothing was changed"}
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
	say("verify the release")
	v, err := w.verify(o)
	if err != nil {
		return refused(err)
	}
	if r.To, r.Signed = v.Version, !o.Unsigned; r.To == version {
		return nil
	}
	if err := w.mayChange(ctx, v); err != nil {
		return refused(err)
	}
	socket, err := w.mayExchange(ctx, *r, d)
	if err != nil {
		return refused(err)
	}
	r.Plan = plan(v, r.Dir, LedgerFile(w.Config), socket)
	if o.Check || o.DryRun {
		return nil
	}
	config := ""
	if w.Config.Found {
		config = w.Config.File
	}
	s, err := w.upgrade(version, d, config, say).Run(ctx, v.Version, v.Unpack)
	r.Last, r.Plan, r.Done = &s, nil, s.Phase == Done
	return err
}

func (w World) verify(o Order) (Verified, error) {
	file, err := filepath.Abs(o.From)
	if err != nil {
		return Verified{}, err
	}
	key, err := w.key(o)
	if err != nil {
		return Verified{}, err
	}
	return Verify(file, key)
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
	text, err := files.ReadOthers(file, largestSums)
	if errors.Is(err, fs.ErrNotExist) && o.Key == "" {
		return nil, fmt.Errorf("no key is there to verify the release with: --key FILE names the public key, or put it at %s; --unsigned takes a release that nobody vouches for", file)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the key: %w", err)
	}
	return text, nil
}

// mayChange refuses a folder of programs that is not ours to change, or has no room.
func (w World) mayChange(ctx context.Context, v Verified) error {
	dir := filepath.Dir(w.Own)
	who, command, err := Owner(ctx, w.Getenv, w.Own, v.Version)
	if err != nil {
		return err
	}
	if who != "" {
		return &api.Error{Kind: api.BadInput, Hint: command, Message: fmt.Sprintf("cannot upgrade: %s was put there by %s, which has to exchange it; have the daemon begin anew then", w.Own, who)}
	}
	if info, err := os.Stat(w.Config.StateDir); err == nil && int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user, who is to upgrade: what is written there now, that user's daemon could not read", w.Config.StateDir)
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
	}{{dir, v.file, 5}, {w.Config.StateDir, LedgerFile(w.Config), 3}} { // unpacked; and copied, once more by a migration
		info, err := os.Stat(need.of)
		room, bad := files.Room(need.in)
		if err == nil && bad == nil && room < need.times*info.Size() {
			return fmt.Errorf("there is no room for it: %s has %d MB, and it takes %d", need.in, room>>20, need.times*info.Size()>>20)
		}
	}
	return nil
}

// plan says what would be done; socket is the daemon's.
func plan(v Verified, dir, ledger, socket string) []Stage {
	p := programs{dir: dir}
	var members, keep, swap []string
	for _, name := range release.Programs() {
		members = append(members, v.Folder()+"/"+name)
		keep = append(keep, api.Typed("ln", p.now(name), p.old(name)))
		swap = append(swap, api.Typed("mv", p.next(name), p.now(name)))
	}
	out := []Stage{
		{"unpack the new programs", []string{api.Typed("mkdir", "-p", p.next(""), p.old(""), backups.Dir(ledger)), api.Typed(append([]string{"tar", "-xzf", v.file, "--strip-components=1", "-C", p.next("")}, members...)...)}},
		{"try the new programs", []string{api.Typed(p.next("custos"), "version", "--json"), api.Typed(p.next("custos"), "config", "check")}},
		{"back the ledger up", []string{api.Typed("sqlite3", ledger, ".backup '"+backups.Dir(ledger)+"/custos-vSCHEMA-TIME.db'")}},
		{"keep the old programs", keep},
		{"exchange the programs", swap},
	}
	if socket != "" {
		ask := api.Typed("curl", "--fail", "--unix-socket", socket, "-d", fmt.Sprintf(`{"program":%q}`, p.now("custos")), "http://custos/v1/become")
		out = append(out, Stage{"have the daemon go on as the new one", []string{ask}}, Stage{"wait until the new daemon is well", []string{"custos health"}})
	}
	return append(out, Stage{"remove what lies beside", []string{api.Typed("rm", "-r", p.path())}})
}
