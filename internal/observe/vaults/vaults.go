// Package vaults is the probe of vaults: folders in which agents ask for what they may not
// do by themselves, a file each, that people answer by moving it. It reads what an item is
// called and which secrets it asks for by name, keeps nothing else of it, and changes nothing.
package vaults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/files"
)

// What one look takes in of one folder.
const (
	mostFiles = 5000               // files of any kind
	mostItems = 500                // items that wait; when there are more, the part is cut
	lately    = 7 * 24 * time.Hour // how long an item that is over is shown
)

// Section is a section [vault.NAME] of custos.toml.
type Section struct {
	// Folder holds pending, approved, fired, rejected and actions, each if it is there.
	Folder string `toml:"folder" is:"path"`
	// Secrets is a file that lists secrets that are missing, a name a line.
	Secrets string `toml:"secrets" is:"path"`
	// WatchOnly: what lies there is looked at, and nothing is moved.
	WatchOnly bool `toml:"watch_only"`
	// Every is the time between two looks. Default "30s"; the shortest of all counts.
	Every string `toml:"every" is:"duration 1s.."`
}

// Options are what the probe is made of.
type Options struct {
	Vaults map[string]Section                // by name
	Expand func(path string) (string, error) // ~/ in paths
	Now    func() time.Time                  // wall clock; default time.Now
}

// Probe fills the part "vaults".
type Probe struct {
	vaults []vault
	now    func() time.Time
	every  time.Duration
	known  map[string]kept // by path: what was read of a file, until it changes
}

type vault struct {
	name, folder, secrets string
	owner                 fleet.Owner
}

// New checks the options.
func New(o Options) (*Probe, error) {
	p := &Probe{now: o.Now, known: map[string]kept{}}
	if p.now == nil {
		p.now = time.Now
	}
	for _, name := range slices.Sorted(maps.Keys(o.Vaults)) {
		every, err := p.add(name, o.Vaults[name], o.Expand)
		if err != nil {
			return nil, fmt.Errorf("vault %s: %w", fleet.Line(name, 60), err)
		}
		if p.every == 0 || every < p.every {
			p.every = every
		}
	}
	return p, nil
}

func (p *Probe) add(name string, s Section, expand func(string) (string, error)) (every time.Duration, err error) {
	v := vault{name: name, owner: fleet.OwnerConfigured}
	if s.WatchOnly {
		v.owner = fleet.OwnerForeign
	}
	switch {
	case name == "" || fleet.Line(name, 60) != name || strings.ContainsAny(name, "#!/ "):
		return 0, errors.New("that is no name for a vault: want letters, digits, dots, - and _")
	case s.Folder == "" && s.Secrets == "":
		return 0, errors.New("it needs a folder, or a file of secrets")
	}
	if v.folder, err = expanded(s.Folder, expand); err != nil {
		return 0, err
	}
	if v.secrets, err = expanded(s.Secrets, expand); err != nil {
		return 0, err
	}
	p.vaults = append(p.vaults, v)
	return observe.Interval("every", s.Every, often)
}

func expanded(path string, expand func(string) (string, error)) (string, error) {
	if path == "" {
		return "", nil
	}
	path, err := expand(path)
	return filepath.Clean(path), err
}

// often is the time between two looks unless a section says.
const often = 30 * time.Second

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "vaults", Part: fleet.PartVaults, Every: cmp.Or(p.every, often), Deadline: 10 * time.Second}
}

// Look implements observe.Probe. A vault that cannot be seen hides no other.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if len(p.vaults) == 0 {
		return nil, fmt.Errorf("cannot look at vaults: none is configured: %w", observe.ErrAbsent)
	}
	l := look{ctx: ctx, now: p.now(), before: p.known, known: map[string]kept{}}
	blind := 0
	for _, v := range p.vaults {
		if !l.vault(v) {
			blind++
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("cannot look at all of the vaults: %w", ctx.Err())
	}
	p.known = l.known
	if blind == len(p.vaults) {
		return nil, errors.Join(l.errs...)
	}
	return func(s *fleet.Snapshot) { s.Vaults.Value = observe.Beside(s.Vaults.Value, l.items) }, observe.WithCut(strings.Join(l.cuts, "; "), errors.Join(l.errs...))
}

// look is one look.
type look struct {
	ctx           context.Context
	now           time.Time
	items         []fleet.VaultItem
	before, known map[string]kept
	cuts          []string
	errs          []error
}

func (l *look) fail(v vault, what string, err error) {
	l.errs = append(l.errs, fmt.Errorf("cannot look at %s of vault %s: %s", fleet.Path(what), v.name, fleet.Line(fleet.Path(err.Error()), 200)))
}

// vault looks at one vault, and says whether anything of it could be seen.
func (l *look) vault(v vault) bool {
	listed := v.secrets != "" && l.secrets(v)
	if v.folder == "" {
		return listed
	}
	root, err := files.OpenFolder(v.folder)
	if err != nil {
		l.fail(v, v.folder, err)
		return listed
	}
	defer root.Close()
	for _, k := range folders() {
		l.folder(v, root, k)
	}
	return true
}

// kind is what the files of a folder of a vault are.
type kind struct {
	name  string
	state fleet.VaultState
}

// folders are those of a vault. What lies in actions is approved, and dispatched once a
// result lies beside it.
func folders() []kind {
	return []kind{{"pending", fleet.VaultPending}, {"approved", fleet.VaultApproved}, {"actions", fleet.VaultApproved}, {"fired", fleet.VaultDispatched}, {"rejected", fleet.VaultRejected}}
}

// mayMove says whether what is approved of can be moved.
func mayMove(v vault, root files.Folder) bool {
	to, err := root.Folder(string(fleet.VaultApproved))
	if err == nil {
		to.Close()
	}
	return err == nil && v.owner.MayTouch()
}

// folder looks at one folder of a vault. One that is not there holds nothing: git keeps no
// empty folders.
func (l *look) folder(v vault, root files.Folder, k kind) {
	in, err := root.Folder(k.name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.fail(v, k.name, err)
		return
	}
	defer in.Close()
	names, more, err := in.Names(mostFiles)
	if err != nil {
		l.fail(v, k.name, err)
	}
	if more {
		l.cuts = append(l.cuts, fmt.Sprintf("of %s/%s %d files are looked at, and there are more", v.name, k.name, mostFiles))
	}
	waiting, movable := 0, k.state == fleet.VaultPending && mayMove(v, root)
	for _, name := range names {
		it, result := v.item(k, name, names)
		switch {
		case l.ctx.Err() != nil || it.Name == "":
		case it.State == fleet.VaultDispatched || it.State == fleet.VaultRejected:
			l.over(it, in, result)
		default:
			if waiting++; waiting <= mostItems {
				l.open(it, in, name, movable)
			}
		}
	}
	if waiting > mostItems {
		l.cuts = append(l.cuts, fmt.Sprintf("of %s/%s %d wait, and %d are looked at", v.name, k.name, waiting, mostItems))
	}
}

// resultEnding is of what lies beside an action that was dispatched.
const resultEnding = ".result.json"

// item is the item that a file of a folder is, among the others there, and the file whose
// time tells since when it is so; without a name it is none.
func (v vault) item(k kind, name string, all []string) (it fleet.VaultItem, since string) {
	ending := filepath.Ext(name)
	if !slices.Contains([]string{".md", ".toml", ".json"}, ending) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, resultEnding) {
		return it, ""
	}
	id := strings.TrimSuffix(name, ending)
	it = fleet.VaultItem{Vault: v.name, Name: fleet.Path(v.name + "/" + k.name + "/" + name), ID: fleet.Path(id), Path: fleet.Path(filepath.Join(v.folder, k.name, name)),
		Owner: v.owner, State: k.state, Movable: fleet.Known(false)}
	if _, done := slices.BinarySearch(all, id+resultEnding); done && k.name == "actions" {
		it.State, name = fleet.VaultDispatched, id+resultEnding
	}
	return it, name
}

// over takes an item that is over, for as long as it is news: of it only the name is of
// interest.
func (l *look) over(it fleet.VaultItem, in files.Folder, since string) {
	info, err := in.Lstat(since)
	if err != nil { // it went away meanwhile, or is no file
		return
	}
	it.File, it.Age = fleet.FileID(info.Identity), l.age(info)
	if time.Duration(it.Age.Or(0)) <= lately {
		l.items = append(l.items, it)
	}
}

// open takes an item that waits, with what it says that it is. What cannot be read waits
// all the same.
func (l *look) open(it fleet.VaultItem, in files.Folder, file string, movable bool) {
	info, err := in.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
		return
	}
	var said kept
	if it.Age = fleet.Unknown[fleet.Duration]("its time cannot be read"); err == nil {
		it.File, it.Age = fleet.FileID(info.Identity), l.age(info)
		said, err = l.read(it.Path, info, gistOf(filepath.Ext(file)), func() (*os.File, files.Info, error) { return in.OpenRegular(file) })
	}
	it.Title, it.Secrets = said.title, said.secrets
	if it.State == fleet.VaultPending {
		it.Digest, it.Movable = said.digest, answerable(said, err, movable)
	}
	l.items = append(l.items, it)
}

// answerable says whether a pending item can be moved by a person's word.
func answerable(said kept, err error, movable bool) fleet.Leaf[bool] {
	switch {
	case !movable:
		return fleet.Known(false)
	case err != nil:
		return fleet.Unknown[bool](fleet.Line("it cannot be read: "+fleet.Path(err.Error()), 200))
	case said.digest == "":
		return fleet.Unknown[bool](tooLarge)
	}
	return fleet.Known(true)
}

// secrets looks at the list of secrets that are missing. One that is not there, or is empty,
// lists none.
func (l *look) secrets(v vault) bool {
	info, err := files.Lstat(v.secrets)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	var said kept
	if err == nil {
		said, err = l.read(v.secrets, info, ofList, func() (*os.File, files.Info, error) { return files.OpenRegular(v.secrets, os.O_RDONLY) })
	}
	if err == nil && said.digest == "" {
		err = errors.New(tooLarge)
	}
	if err != nil {
		l.fail(v, v.secrets, err)
		return false
	}
	if base := filepath.Base(v.secrets); len(said.secrets) > 0 {
		l.items = append(l.items, fleet.VaultItem{Vault: v.name, Name: fleet.Path(v.name + "/" + base), ID: fleet.Path(strings.TrimSuffix(base, filepath.Ext(base))), Path: fleet.Path(v.secrets),
			Owner: v.owner, File: fleet.FileID(info.Identity), State: fleet.VaultMissing, Secrets: said.secrets, Age: l.age(info), Movable: fleet.Known(false)})
	}
	return true
}

// age is unknown for a file whose time lies in the future. It counts from when the file was
// put where it is, by the kernel: what was moved keeps the time at which it was written.
func (l *look) age(info files.Info) fleet.Leaf[fleet.Duration] {
	d, err := files.Age(l.now, time.Unix(0, info.Changed))
	if err != nil {
		return fleet.Unknown[fleet.Duration](err.Error())
	}
	return fleet.Known(fleet.Duration(d))
}
