package installation

import (
	"context"
	"debug/buildinfo"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"custos/internal/agent"
	"custos/internal/config"
	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/store"
	"custos/internal/sys/program"
	"custos/internal/sys/shim"
)

// Look finds out what the installation is like; what takes long, only where it
// is asked for. It changes nothing, and of secrets it reads only the tokens of the
// chats, which it asks who Custos is.
func (o Options) Look(ctx context.Context, asked func(category string) bool) doctor.Installation {
	i := Without(ctx, o.Getenv)
	i.Config, i.Kinds, i.Hooks, i.People, i.Listeners = o.configFacts(), KindPrograms(o.Kinds), o.hookFacts(), o.people(), o.Listeners
	i.Places, i.Store = o.places(), o.storeFacts(ctx, asked("databases"))
	if asked("logs") {
		i.Lines = logLines(o.Logs())
	}
	if asked("service") {
		i.Services = services(ctx, o.Getenv)
	}
	if asked("chat") {
		i.Chats = askChats(ctx, o.Chats)
	}
	return i
}

// Without is what can be found out without a configuration.
func Without(ctx context.Context, getenv func(string) string) doctor.Installation {
	own, _ := os.Executable() // where that is not known, neither is what it was built from
	return doctor.Installation{UID: os.Getuid(), Programs: programs(ctx, getenv), Built: builtFrom(own)}
}

// configFacts compares the file with what was read of it.
func (o Options) configFacts() doctor.ConfigFacts {
	f := doctor.ConfigFacts{File: fleet.Path(o.Config.File), Found: o.Config.Found, Aside: o.Aside}
	now, err := config.ReadFile(o.Config.File, config.LargestFile)
	switch {
	case errors.Is(err, os.ErrNotExist) && o.Config.Found:
		f.Changed = "it is gone since"
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		f.Changed = fleet.Line(err.Error(), 200)
	case !o.Config.Found:
		f.Changed = "it was written since"
		f.Broken = o.brokenSince(now)
	case string(now) != string(o.Config.Text):
		f.Changed = "it was changed since"
		f.Broken = o.brokenSince(now)
	}
	return f
}

// brokenSince says what is wrong with a file that was changed since it was read; "" for
// nothing that can be found without putting a second Custos together.
func (o Options) brokenSince(text []byte) string {
	_, err := config.Load(config.Options{File: o.Config.File, Sections: o.Sections, ReadFile: func(string) ([]byte, error) { return text, nil }})
	if err != nil {
		return err.Error()
	}
	return o.Trouble()
}

// versionWait is how long a program may take to say its version.
const versionWait = 5 * time.Second

// programs looks for what Custos calls: tmux and git, which are asked for their versions,
// and ours, which were built with this one and lie beside each other.
func programs(ctx context.Context, getenv func(string) string) []doctor.Program {
	binary, err := shim.Find("")
	hook, noHook := filepath.Join(filepath.Dir(binary), "custos-hook"), errors.New("it belongs beside custos-shim")
	if err == nil {
		_, noHook = os.Stat(hook)
	}
	return []doctor.Program{asked(ctx, getenv, "tmux", "-V"), asked(ctx, getenv, "git", "--version"), ours(shim.Program, binary, err), ours("custos-hook", hook, noHook)}
}

func ours(name, path string, err error) doctor.Program {
	if err != nil {
		return doctor.Program{Name: name, Err: fleet.Line(err.Error(), 200)}
	}
	return doctor.Program{Name: name, Path: fleet.Path(path), Built: builtFrom(path)}
}

// builtFrom is the commit that Go noted in a program when it was built, with a +
// when there was more than that commit; "" when it did not.
func builtFrom(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	var commit, more string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			more = "+"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + more
}

// asked finds a program and has it say its version.
func asked(ctx context.Context, getenv func(string) string, name, flag string) doctor.Program {
	p := doctor.Program{Name: name}
	path, err := exec.LookPath(name)
	if err == nil {
		p.Path = fleet.Path(path)
		p.Version, err = says(ctx, getenv, path, flag)
	}
	if err != nil {
		p.Err = fleet.Line(err.Error(), 200)
	}
	return p
}

func says(ctx context.Context, getenv func(string) string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	said, err := program.Run(ctx, program.Call{Argv: argv, Env: program.Environ(getenv), Max: 4 << 10})
	return fleet.Line(string(said), 80), err
}

// KindPrograms looks for the CLI of each kind on PATH; of any command there is none.
func KindPrograms(kinds *agent.Kinds) []doctor.Program {
	var out []doctor.Program
	for _, k := range kinds.All() {
		p := doctor.Program{Name: k.Name}
		for _, name := range append([]string{k.Launch.Program}, k.Names...) {
			if path, err := exec.LookPath(name); name != "" && err == nil {
				p.Path = fleet.Path(path)
				break
			}
		}
		out = append(out, p)
	}
	return out
}

// storeFacts opens the database to read, as any look does; with pages it reads all
// of it.
func (o Options) storeFacts(ctx context.Context, pages bool) doctor.StoreFacts {
	file := o.Database
	f := doctor.StoreFacts{Path: fleet.Path(file), Aside: asideFiles(file)}
	st, err := store.OpenReadOnly(ctx, store.Options{Path: file, StartedAt: o.StartedAt})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return f
	case err != nil:
		f.There, f.Err = true, fleet.Line(err.Error(), 200)
		f.Damaged, f.Newer = errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrNewer)
		return f
	}
	defer st.Close()
	f.There = true
	if pages {
		if f.Faults, err = st.Check(ctx); err != nil {
			f.PagesErr = fleet.Line(err.Error(), 200)
		}
	}
	return f
}

// people lists the notifiers of custos.toml with their types, never their places.
func (o Options) people() []string {
	given := map[string]map[string]any{}
	if o.Config.Section("notifier", &given) != nil { // it was read before: it is well
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		kind, _ := given[name]["type"].(string)
		out = append(out, fleet.Line(name, 60)+" ("+fleet.Line(kind, 20)+")")
	}
	return out
}
