package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/observe/agents"
	"custos/internal/session"
	"custos/internal/session/process"
	"custos/internal/session/tmux"
	"custos/internal/sys/judge"
	"custos/internal/sys/shim"
	"custos/internal/sys/systemd"
)

// Own is where the agents run that Custos starts itself.
type Own struct {
	Socket    string // of the private tmux server
	Shims     string // folder of all instances
	Run       string // the run folder: what hooks post to is in it
	Hook      string // the executable agents' hooks call; "" when it is not there
	Program   string // custos itself, beside it; "" when it is not there
	Missing   string // why agents cannot be started here; "" when they can
	Providers map[fleet.Where]session.Provider
}

// ownSocketName is how that of the private tmux server is called in the run folder.
const ownSocketName = "tmux.sock"

// OwnSocket is the socket of the private tmux server.
func OwnSocket(cfg config.Config) string { return filepath.Join(cfg.RuntimeDir, ownSocketName) }

// newOwn makes the providers. A program that is missing is said when an agent
// is to be started: looking needs none of it.
func newOwn(w *World) (*Own, error) {
	run := w.Config.RuntimeDir
	o := &Own{Socket: OwnSocket(w.Config), Shims: filepath.Join(run, "agents"), Run: run}
	binary, err := shim.Find("")
	if err != nil {
		o.Missing = err.Error()
	}
	if hook := filepath.Join(filepath.Dir(binary), "custos-hook"); binary != "" && isFile(hook) {
		o.Hook = hook
	}
	if program := filepath.Join(filepath.Dir(binary), "custos"); binary != "" && isFile(program) {
		o.Program = program
	}
	panes, err := tmux.NewProvider(tmux.ProviderOptions{Socket: o.Socket, Shim: binary, Boot: w.From.Boot, Scope: w.scope()})
	if err != nil {
		return nil, fmt.Errorf("cannot set up the private tmux server: %w", err)
	}
	headless, err := process.New(process.Options{Root: o.Shims, Shim: binary, Boot: w.From.Boot})
	if err != nil {
		return nil, fmt.Errorf("cannot set up headless agents: %w", err)
	}
	o.Providers = map[fleet.Where]session.Provider{fleet.WhereTmux: panes, fleet.WhereHeadless: headless}
	return o, nil
}

// scope is where the private tmux server begins, where this process is a service of systemd: its
// variable alone is not enough, for what a service has started inherits it.
func (w *World) scope() tmux.Scope {
	text, err := os.ReadFile("/proc/self/cgroup")
	unit, user := systemd.InService(string(text), os.Getuid())
	if err != nil || unit == "" || w.Getenv("INVOCATION_ID") == "" {
		return tmux.Scope{}
	}
	return tmux.Scope{Before: func(name string) [][]string { return systemd.InScope(user, name) },
		Env: systemd.NewReader(systemd.Options{User: user, Getenv: w.Getenv, UID: os.Getuid()}).Environ(), Warn: func(text string) {
			if w.Warn != nil {
				w.Warn(text)
			}
		}}
}

// Exit returns how an instance ended, as its shim wrote it down; nil while that
// is not known.
func (o *Own) Exit(instance string) *fleet.Exit {
	if !shim.IsKey(instance) {
		return nil
	}
	x := shim.ReadExit(shim.Dir(o.Shims, instance))
	if x == nil {
		return nil
	}
	out := &fleet.Exit{Instance: instance, Process: fleet.ProcessID{PID: x.Agent.PID, Start: x.Agent.Start, Boot: x.At.Boot},
		Status: seen(x.Status, "it was ended by a signal"), Signal: seen(x.Signal, "it was ended by no signal"),
		At: fleet.Instant{Wall: x.At.Wall, Up: fleet.Duration(x.At.Up), Boot: x.At.Boot}, Source: "shim"}
	out.OOM, out.Hangup, out.Asked = x.OOM != nil && *x.OOM, x.Hangup, o.Asked(instance, out.At)
	return out
}

// ShimGone says whether the shim of an instance is gone for certain, and has written
// down no end.
func (o *Own) ShimGone(instance string) bool {
	return shim.IsKey(instance) && shim.IsGone(shim.Dir(o.Shims, instance))
}

// shimOf returns the agent of an instance and its shim, as that has claimed it.
func (o *Own) shimOf(instance string) (name string, of fleet.ProcessID) {
	if !shim.IsKey(instance) {
		return "", of
	}
	c, err := shim.ReadClaim(shim.Dir(o.Shims, instance))
	if err != nil {
		return "", of
	}
	return c.Name, fleet.ProcessID{PID: c.Shim.PID, Start: c.Shim.Start, Boot: c.At.Boot}
}

// HasLeft says whether anything of an instance that has ended runs on.
func (o *Own) HasLeft(ctx context.Context, s shim.Started) (bool, error) {
	return agentrun.Leaves(ctx, o.Shims, s)
}

// OthersRunOn says what of an instance another user runs still, and what ends it.
func (o *Own) OthersRunOn(ctx context.Context, s shim.Started) ([]string, error) {
	return agentrun.OthersRunOn(ctx, o.Shims, s)
}

// launches returns the instances that were claimed and whose end is not written down.
func (o *Own) launches() ([]agents.Launch, error) {
	open, err := shim.Open(o.Shims)
	var out []agents.Launch
	for _, s := range open {
		process := func(p shim.ID) fleet.ProcessID { return fleet.ProcessID{PID: p.PID, Start: p.Start, Boot: s.At.Boot} }
		out = append(out, agents.Launch{Name: s.Name, Instance: s.Key, Process: process(s.Agent), Shim: process(s.Shim),
			At: fleet.Instant{Wall: s.At.Wall, Up: fleet.Duration(s.At.Up), Boot: s.At.Boot}})
	}
	return out, err
}

// Asked returns who asked for the end of an instance that came at a moment, as it was
// written beside its shim's record; "" for nobody.
func (o *Own) Asked(instance string, ended fleet.Instant) string {
	if !shim.IsKey(instance) {
		return ""
	}
	return fleet.Line(shim.AskedBy(shim.Dir(o.Shims, instance), ended.Wall), 80)
}

// said is how much of the end of a log is read: some lines.
const said = 4 << 10

// said returns what an instance without a terminal printed last: its errors, else
// its output; "" where nothing is kept.
func (o *Own) said(instance string) string {
	if !shim.IsKey(instance) {
		return ""
	}
	dir := shim.Dir(o.Shims, instance)
	if text, err := shim.TailErrors(dir, said); err == nil && len(bytes.TrimSpace(text)) > 0 {
		return string(text)
	}
	text, err := shim.Tail(dir, said)
	if err != nil {
		return ""
	}
	return string(text)
}

// streamed is how much of the end of an output is read: the last turn, with its
// cost, and what led to it.
const streamed = 256 << 10

// stream returns the end of what an instance without a terminal printed, when it
// has printed since a moment.
func (o *Own) stream(instance string, after time.Time) ([]byte, time.Time, error) {
	if !shim.IsKey(instance) {
		return nil, after, nil
	}
	dir := shim.Dir(o.Shims, instance)
	at, err := shim.Printed(dir)
	if err != nil || !at.After(after) {
		return nil, after, err
	}
	text, err := shim.Tail(dir, streamed)
	return text, at, err
}

// Outputs lists the folders in which agents print of which their output alone tells.
func (w *World) Outputs() (dirs []string) {
	if w.Agents == nil {
		return nil
	}
	for _, instance := range w.Agents.Listens() {
		if shim.IsKey(instance) {
			dirs = append(dirs, shim.Dir(w.Own.Shims, instance))
		}
	}
	slices.Sort(dirs)
	return dirs
}

// Watched lists the folders whose changes tell something of agents.
func (w *World) Watched() []string {
	dirs := []string{w.Own.Shims}
	for _, k := range w.Kinds.All() {
		if k.Registry != "" {
			dirs = append(dirs, filepath.Join(w.Config.Home, k.Registry))
		}
	}
	return dirs
}

func seen(v *int, why string) fleet.Leaf[int] {
	if v == nil {
		return fleet.Unknown[int](why)
	}
	return fleet.Known(*v)
}

// marker returns Custos' own marker in the environment of a process.
func (w *World) marker(pid int) (string, bool) {
	value, ok, err := w.Procs.Env(pid, "CUSTOS_AGENT")
	return value, ok && err == nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// judges says whether a process wears the mark of sys/judge.
func (w *World) judges(pid int) bool {
	_, ok, err := w.Procs.Env(pid, judge.Marker)
	return ok && err == nil
}

// control is the session of our own server in which its listener stands.
const control = "~custos"

// orphans says which sessions of our own server belong to no agent that is
// registered. A retired agent has none any more, so what is left of it is one. Whose a
// session is that an agent has while it is being started is written down later than
// the session begins, so until then that is not known. Registrations and starts are read
// as of one moment: a start that has ended is on record.
func (w *World) orphans(ctx context.Context) (func(fleet.Pane) fleet.Leaf[bool], error) {
	if w.Judged.Past == nil {
		return nil, errors.New("the ledger is not at hand")
	}
	past, err := w.Judged.Past(ctx)
	if err != nil {
		return nil, err
	}
	if past.Amnesia {
		return nil, errors.New("what was known of agents is lost")
	}
	owned, starting := map[string]bool{control: true}, map[string]bool{}
	for _, r := range past.Registrations {
		if r.Desired != fleet.DesiredRetired && r.Instance != "" {
			owned[tmux.SessionName(r.Name, r.Instance)] = true
		}
	}
	for _, name := range ledger.Starting(past) {
		starting[tmux.SessionName(name, "")] = true
	}
	socket := fleet.Path(w.Own.Socket)
	return func(p fleet.Pane) fleet.Leaf[bool] {
		if p.ID.Socket != socket || owned[p.Session] {
			return fleet.Known(false)
		}
		if name, _, ok := strings.Cut(p.Session, "~"); ok && starting[name+"~"] {
			return fleet.Unknown[bool]("its agent is being started")
		}
		return fleet.Known(true)
	}, nil
}

// ownServer is the private tmux server, and which of its sessions are agents' of ours, by
// the records of their shims. It is nil where there never was one.
func ownServer(cfg config.Config) (*tmux.Provider, func(string) bool, error) {
	if _, err := os.Lstat(OwnSocket(cfg)); errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	p, err := tmux.NewProvider(tmux.ProviderOptions{Socket: OwnSocket(cfg)})
	if err != nil {
		return nil, nil, err
	}
	all, err := shim.List(filepath.Join(cfg.RuntimeDir, "agents"))
	if err != nil {
		return nil, nil, err
	}
	ours := map[string]bool{}
	for _, r := range all {
		ours[tmux.SessionName(r.Started.Name, r.Started.Key)] = r.Started.Name != ""
	}
	return p, func(name string) bool { return ours[name] }, nil
}

// Strangers lists the sessions of the private tmux server that are no agents' of ours.
func Strangers(ctx context.Context, cfg config.Config) ([]string, error) {
	p, ours, err := ownServer(cfg)
	if err != nil || p == nil {
		return nil, err
	}
	return p.Strangers(ctx, ours)
}

// EndServer has the private tmux server end. Sessions in which something runs stay, and the
// server with them: it returns their names.
func EndServer(ctx context.Context, cfg config.Config) ([]string, error) {
	p, ours, err := ownServer(cfg)
	if err != nil || p == nil {
		return nil, err
	}
	return p.Retire(ctx, ours)
}
