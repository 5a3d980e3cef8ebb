package daemon

import (
	"context"
	"debug/buildinfo"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"custos/internal/agent"
	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/rules"
	"custos/internal/server"
	"custos/internal/store"
	"custos/internal/sys/program"
	"custos/internal/sys/shim"
)

// DoctorOf examines what can be examined when the configuration cannot be used:
// broken says what is wrong with it. Most checks then say that they cannot tell.
func DoctorOf(ctx context.Context, version string, broken error, categories []string) (api.Doctor, error) {
	if err := server.CheckCategories(categories); err != nil {
		return api.Doctor{}, err
	}
	set, err := parseRules(config.Config{}, string(rules.Builtin()))
	if err != nil {
		return api.Doctor{}, err
	}
	e := server.Examination{At: fleet.Instant{Wall: time.Now()}, Version: version, Asker: version, Rules: rulebook{set}.Rules(),
		Installation: server.Installation{UID: os.Getuid(), Programs: programs(ctx, os.Getenv), Built: builtFrom(ownProgram()), Config: server.ConfigFacts{Err: broken.Error()}}}
	return server.Diagnose(e, categories), nil
}

// examine finds out what the installation is like; what takes long, only where it
// is asked for. It changes nothing, and of secrets it reads only the tokens of the
// chats, which it asks who Custos is.
func (s *system) examine(ctx context.Context, asked func(category string) bool) server.Installation {
	places, sockets, secrets := s.landmarks()
	i := server.Installation{UID: os.Getuid(), Mute: !s.daemon && Runs(s.cfg), Config: s.configFacts(), Programs: programs(ctx, s.world.Getenv), Kinds: kindPrograms(s.world.Kinds),
		Places: places, Sockets: sockets, Secrets: secrets, Store: s.storeFacts(ctx, asked("databases")), Hooks: s.hookFacts(), People: s.people()}
	if !s.daemon {
		i.Untold = Untold(s.cfg)
	}
	i.Built = builtFrom(ownProgram())
	if asked("logs") {
		i.Lines = s.logLines()
	}
	if asked("chat") {
		i.Chats = s.askChats(ctx)
	}
	i.Listen = s.gauges.listen.Address
	i.Loopback, i.Guarded = server.Loopback(i.Listen), s.gauges.listen.Token != nil
	i.Webhook, i.WebhookLoopback = s.hooked.Address, server.Loopback(s.hooked.Address)
	return i
}

// anewFor is how long a diagnosis waits for new looks.
const anewFor = 20 * time.Second

// anew looks again at what is near: repositories, forges and containers take longer
// than somebody who asks for a diagnosis waits.
func (s *system) anew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, anewFor)
	defer cancel()
	s.board.Anew(ctx, fleet.PartHost, fleet.PartSelf, fleet.PartProcesses, fleet.PartSessions, fleet.PartAgents, fleet.PartLocks, fleet.PartLogs)
}

// configFacts compares the file with what was read of it.
func (s *system) configFacts() server.ConfigFacts {
	f := server.ConfigFacts{File: fleet.Path(s.cfg.File), Found: s.cfg.Found}
	now, err := config.ReadFile(s.cfg.File, config.LargestFile)
	switch {
	case errors.Is(err, os.ErrNotExist) && s.cfg.Found:
		f.Changed = "it is gone since"
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		f.Changed = fleet.Line(err.Error(), 200)
	case !s.cfg.Found:
		f.Changed = "it was written since"
		f.Broken = s.brokenSince(now)
	case string(now) != string(s.cfg.Text):
		f.Changed = "it was changed since"
		f.Broken = s.brokenSince(now)
	}
	return f
}

// brokenSince says what is wrong with a file that was changed since it was read; "" for
// nothing that can be told without putting a second Custos together.
func (s *system) brokenSince(text []byte) string {
	_, err := config.Load(config.Options{File: s.cfg.File, Sections: Sections(), ReadFile: func(string) ([]byte, error) { return text, nil }})
	if err != nil {
		return err.Error()
	}
	return s.configTrouble()
}

// versionWait is how long a program may take to say its version.
const versionWait = 5 * time.Second

// programs looks for what Custos calls. tmux and git are asked for their versions.
func programs(ctx context.Context, getenv func(string) string) []server.Program {
	out := []server.Program{asked(ctx, getenv, "tmux", "-V"), asked(ctx, getenv, "git", "--version")}
	binary, err := shim.Find("")
	out = append(out, ours(shim.Program, binary, err))
	hook, err := hookBinary(binary)
	return append(out, ours("custos-hook", hook, err))
}

// hookBinary is custos-hook, which lies beside the shim.
func hookBinary(shim string) (string, error) {
	if shim == "" {
		return "", errors.New("it belongs beside custos-shim")
	}
	hook := shim[:strings.LastIndexByte(shim, '/')+1] + "custos-hook"
	_, err := os.Stat(hook)
	return hook, err
}

func found(name, path string, err error) server.Program {
	if err != nil {
		return server.Program{Name: name, Err: fleet.Line(err.Error(), 200)}
	}
	return server.Program{Name: name, Path: fleet.Path(path)}
}

// ours is a program that was built with this one.
func ours(name, path string, err error) server.Program {
	p := found(name, path, err)
	if err == nil {
		p.Built = builtFrom(path)
	}
	return p
}

// ownProgram is where this very program lies; "" when that cannot be told.
func ownProgram() string {
	path, _ := os.Executable()
	return path
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
func asked(ctx context.Context, getenv func(string) string, name, flag string) server.Program {
	path, err := exec.LookPath(name)
	p := found(name, path, err)
	if err != nil {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	said, err := program.Run(ctx, program.Call{Argv: []string{path, flag}, Env: program.Environ(getenv), Max: 4 << 10})
	if err != nil {
		p.Err = fleet.Line(err.Error(), 200)
		return p
	}
	p.Version = fleet.Line(string(said), 80)
	return p
}

// kindPrograms looks for the CLI of each kind on PATH; of any command there is none.
func kindPrograms(kinds *agent.Kinds) []server.Program {
	var out []server.Program
	for _, k := range kinds.All() {
		p := server.Program{Name: k.Name}
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
func (s *system) storeFacts(ctx context.Context, pages bool) server.StoreFacts {
	file := storeFile(s.cfg)
	f := server.StoreFacts{Path: fleet.Path(file), Aside: asideFiles(file)}
	st, err := store.OpenReadOnly(ctx, store.Options{Path: file, StartedAt: s.world.StartedAt})
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
func (s *system) people() []string {
	given := map[string]map[string]any{}
	if s.cfg.Section("notifier", &given) != nil { // it was read before: it is well
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		kind, _ := given[name]["type"].(string)
		out = append(out, fleet.Line(name, 60)+" ("+fleet.Line(kind, 20)+")")
	}
	return out
}
