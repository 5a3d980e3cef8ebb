package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"custos/internal/config"
	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/hookwire"
	"custos/internal/store"
	"custos/internal/sys/files"
	"custos/internal/sys/settings"
)

// places looks at the folders and files of Custos, at its sockets, and at the
// files of tokens that custos.toml names.
func (o Options) places() (out []doctor.Place) {
	c := o.Config
	for _, p := range slices.Concat([]place{
		{"state", c.StateDir, "dir"}, {"run", c.RuntimeDir, "dir"}, {"journal", c.JournalDir, "dir"}, {"agents", o.Shims, "dir"},
		{"spool", hookwire.SpoolDir(c.RuntimeDir), "dir"},
		{"ledger", o.Database, "file"}, {"lock", filepath.Join(c.StateDir, "lock"), "file"}, {"config", c.File, "file"},
		{"daemon", o.Socket, "socket"}, {"hooks", hookwire.Socket(c.RuntimeDir), "socket"}, {"tmux", o.Tmux, "socket"},
	}, o.tokens()) {
		out = append(out, lookAt(p))
	}
	return out
}

// place is where something of a kind should be.
type place struct{ what, path, want string }

// lookAt says what lies at a path. Links are followed: what counts is where they lead.
func lookAt(at place) doctor.Place {
	p := doctor.Place{What: at.what, Path: fleet.Path(at.path), Want: at.want}
	info, err := os.Stat(at.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p
	case err != nil:
		p.Err = fmt.Sprintf("cannot look at %s: %v", p.Path, errors.Unwrap(err))
		return p
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		p.Is = "dir"
	case mode.IsRegular():
		p.Is = "file"
	case mode&os.ModeSocket != 0:
		p.Is = "socket"
	default:
		p.Is = "other"
	}
	p.Mode = uint32(info.Mode().Perm())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		p.UID, p.File = int(st.Uid), fleet.FileID{Device: uint64(st.Dev), Inode: st.Ino, MTime: st.Mtim.Nano(), Size: st.Size}
	}
	p.Own = unix.Access(at.path, unix.W_OK) == nil
	p.Shut = shut(at.path)
	return p
}

// shut says whether a folder above the path keeps all others out.
func shut(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o011 == 0 {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// tokens lists the files that sections of custos.toml name under token_file or
// secret_file, the keys that name such a file in every section.
func (o Options) tokens() (out []place) {
	for _, section := range o.Sections {
		table := map[string]any{}
		if o.Config.Section(section, &table) == nil { // what is wrong with it was said when it was read
			out = append(out, o.namedIn(section, table)...)
		}
	}
	slices.SortFunc(out, func(a, b place) int { return strings.Compare(a.what, b.what) })
	return out
}

func (o Options) namedIn(at string, table map[string]any) (out []place) {
	for key, v := range table {
		switch v := v.(type) {
		case map[string]any:
			out = append(out, o.namedIn(at+"."+key, v)...)
		case string:
			if path, err := o.Config.Expand(v); (key == "token_file" || key == "secret_file") && err == nil {
				out = append(out, place{"[" + fleet.Line(at, 100) + "]", path, "file"})
			}
		}
	}
	return out
}

// asideFiles lists the databases that were set aside, oldest first.
func asideFiles(db string) (out []string) {
	all, err := store.AsideFiles(db)
	if err != nil {
		return nil
	}
	for _, file := range all {
		out = append(out, fleet.Path(file))
	}
	return out
}

// hookFacts reads the settings of every kind of agent CLI that has hooks.
func (o Options) hookFacts() []doctor.HookFacts {
	var out []doctor.HookFacts
	for _, kind := range o.Kinds.Names() {
		below := o.Kinds.HookSettings(kind)
		if below == "" {
			continue
		}
		f := o.hooksIn(kind, filepath.Join(o.Config.Home, below))
		if file := o.Kinds.RootOnlyHooks(kind, o.Config.RuntimeDir); file != "" {
			f.Deaf = files.NotRoots(file)
		}
		out = append(out, f)
		for _, file := range o.Kinds.HookSettingsOf(kind, o.Accounts) {
			if _, err := os.Stat(filepath.Dir(file)); errors.Is(err, fs.ErrNotExist) {
				continue // nobody has logged in there yet
			}
			of := o.hooksIn(kind, file)
			of.Account = true
			out = append(out, of)
		}
	}
	return out
}

// hooksIn says which hooks of ours are in a settings file, and whether uninstall
// would make of it what it was.
func (o Options) hooksIn(kind, file string) doctor.HookFacts {
	f := doctor.HookFacts{Kind: kind, File: fleet.Path(file), Hook: o.Hook}
	text, err := config.ReadFile(file, settings.Largest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f
	case err != nil:
		f.Err = fleet.Line(err.Error(), 200)
		return f
	}
	state, err := o.Kinds.HookStatus(kind, text)
	if err != nil {
		f.Err = fleet.Line(err.Error(), 200)
		return f
	}
	f.Events, f.Missing, f.Command = state.Events, state.Missing, fleet.Line(state.Command, 300)
	before, err := config.ReadFile(file+settings.Kept, settings.Largest)
	if f.Kept = err == nil; f.Kept {
		after, err := o.Kinds.UninstallHooks(kind, text)
		f.Exact = err == nil && string(after) == string(before)
	}
	return f
}
