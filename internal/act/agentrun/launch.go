package agentrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"custos/internal/act"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/policy"
	"custos/internal/session"
	"custos/internal/sys/files"
	"custos/internal/sys/shim"
)

// LauncherOptions is the section [launch] of custos.toml, and what the
// composition root knows.
type LauncherOptions struct {
	// PassEnv are names of variables that every agent gets from the environment of
	// Custos, besides PATH, HOME, USER, LOGNAME, SHELL, TMPDIR, TZ, LANG, LC_*,
	// XDG_*, SSH_AUTH_SOCK and the proxies. Keys of an API belong here, or into the
	// agent's own list.
	PassEnv []string `toml:"pass_env" is:"name"`
	// MinFree is how much room a start needs on the file systems it writes to.
	// Default "200MiB".
	MinFree string `toml:"min_free" is:"size"`
	// LogMax is how much is kept of each log of a headless agent. Default "10MiB".
	LogMax string `toml:"log_max" is:"size"`
	// Cgroup is a delegated cgroup v2 folder that memory caps are made in. Default
	// none: no memory cap is in force, and a start that asks for one says so.
	Cgroup string `toml:"cgroup" is:"path"`
	// MCP are the kinds whose agents are offered the tools of custos mcp. Default none: they
	// take a piece of each agent's context.
	MCP []string `toml:"mcp" is:"name"`
	// Boundary names what agents are kept within whose role is in no other. Default none.
	Boundary string `toml:"boundary"`
	// GitAuthor is who commits what an agent commits, as "NAME <MAIL>" with {name}, {role} and
	// {host}. Default "": whoever git's own configuration says.
	GitAuthor string `toml:"git_author"`

	World World `toml:"-"`
	// Policy is what calls of agents of a role are judged by; nil, and false: nothing judges them.
	Policy func(role string) (policy.Policy, bool) `toml:"-"`
	Own    []string                                `toml:"-"` // folders of Custos, for policies
	// Context are the files (shown paths) with the standing instructions of a role; nil, and none: it has none.
	Context func(role string) []string `toml:"-"`
	// Accounts are those that agents may be started with. Without any, accounts are mere names.
	Accounts fleet.Accounts `toml:"-"`
	Bounds   []Bounds       `toml:"-"` // what agents may be kept within
	// Credentials are secrets that agents of their roles are given.
	Credentials []Credential `toml:"-"`
	// HookSocket is what hooks post to, which agents reach from within; empty: nothing.
	HookSocket string `toml:"-"`
	// Spared are folders and files of Custos, besides Run and Shims, that no boundary opens.
	Spared  []string        `toml:"-"`
	Run     string          `toml:"-"` // folder of the hooks' socket and files; absolute
	Tools   string          `toml:"-"` // folder that comes first in the PATH of agents of runs; empty: none does
	Hook    string          `toml:"-"` // custos-hook's executable; empty: agents are started without hooks
	Program string          `toml:"-"` // custos's own executable; empty: no tools are offered
	Host    string          `toml:"-"` // name of this machine
	Environ func() []string `toml:"-"` // default os.Environ
}

// Launcher starts agents.
type Launcher struct {
	World
	o       LauncherOptions
	minFree int64
	logMax  int64
}

// NewLauncher checks the options.
func NewLauncher(o LauncherOptions) (*Launcher, error) {
	l := &Launcher{o: o}
	var errs [8]error
	l.World, errs[0] = o.World.Check()
	l.minFree, errs[1] = bytesOf("min_free", o.MinFree, 200<<20)
	l.logMax, errs[2] = bytesOf("log_max", o.LogMax, 10<<20)
	if o.Hook != "" && !filepath.IsAbs(o.Run) {
		errs[3] = fmt.Errorf("cannot use run folder %q: want an absolute path", o.Run)
	}
	errs[4] = l.checkOffers()
	if !slices.ContainsFunc(o.Bounds, func(b Bounds) bool { return b.Name == o.Boundary }) && o.Boundary != "" {
		errs[5] = fmt.Errorf("boundary: there is no [boundary.%s]", fleet.Line(o.Boundary, 40))
	}
	errs[6], errs[7] = checkAuthor(o.GitAuthor), checkCredentials(o.Credentials, o.PassEnv)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if l.o.Environ == nil {
		l.o.Environ = os.Environ
	}
	return l, nil
}

// checkOffers refuses kinds that do not take tools.
func (l *Launcher) checkOffers() error {
	for _, kind := range l.o.MCP {
		if l.World.Kinds == nil {
			return nil // said elsewhere
		}
		if _, _, _, err := l.World.Kinds.LaunchHooks(kind, "/custos-hook", "/", "/custos"); err != nil {
			return fmt.Errorf("cannot use launch mcp %q: %w", fleet.Line(kind, 40), err)
		}
	}
	return nil
}

// offered is the program that offers tools to agents of a kind; "" for none.
func (l *Launcher) offered(kind string) string {
	if slices.Contains(l.o.MCP, kind) {
		return l.o.Program
	}
	return ""
}

// Begin is a start, ready to be done.
type Begin struct {
	Where   fleet.Where
	Launch  session.Launch
	Command agent.Command
	Files   map[string][]byte // that the hooks need
	Input   string            // to write to its input at once
	End     bool              // and then to end the input
	Missing []string          // variables that were to be passed on and are not set
	// ConfigDir is the folder of the CLI's own that it is given; "" for none.
	ConfigDir string
	// Policy is what its calls are to be judged by; "" for nothing.
	Policy string
	// Grants is the folder in which its hook looks for what a person granted it; "" for none.
	Grants string
	// Bounds is what it is kept within; nil for nothing. Boundary is what came of it.
	Bounds   *Bounds
	Boundary *fleet.Boundary

	kind        agent.Kind
	context     string           // file with its standing instructions; "" for none
	judged      *policy.Compiled // what is written down of Policy; nil for nothing
	credentials []Credential
}

// How says how an instance begins its conversation.
type How struct {
	Prompt   string
	Resume   string // a conversation to go on with
	Continue bool   // the newest one of the folder
	// Planned: it is shown and not done, so standing instructions are named, and not read.
	Planned bool
}

// Plan works out how a registration is started as an instance in a folder (raw).
// An error wraps act.ErrRefused when it cannot be.
func (l *Launcher) Plan(r fleet.Registration, instance, dir string, how How) (Begin, error) {
	kind, known := l.Kinds.Get(r.Kind)
	if !known {
		return Begin{}, Never("there is no kind %q", fleet.Line(r.Kind, 40))
	}
	if l.Providers[r.Where] == nil {
		return Begin{}, Never("there is no place %q for agents", fleet.Line(string(r.Where), 40))
	}
	headless := r.Where == fleet.WhereHeadless
	o := agent.LaunchOptions{Headless: headless, Prompt: how.Prompt, Resume: how.Resume, Continue: how.Continue, Session: Session(instance)}
	if len(r.Argv) > 0 {
		o.Program, o.Extra = r.Argv[0], r.Argv[1:]
	}
	b := Begin{Where: r.Where}
	env, err := l.hooks(r.Kind, &o, &b)
	if err != nil {
		return b, err
	}
	judged, err := l.policy(r, instance, dir, &b)
	if err != nil {
		return b, err
	}
	env = append(env, judged...)
	if err := l.context(r, how, &o, shim.Dir(l.Shims, instance)); err != nil {
		return b, err
	}
	if b.Command, err = agent.Launch(kind, o); err != nil {
		return b, Never("%w", err)
	}
	b.keep(o)
	if err := l.input(kind, r, &b); err != nil {
		return b, err
	}
	b.Launch = session.Launch{
		Name: r.Name, Instance: instance, Argv: b.Command.Argv, Dir: dir, Shim: shim.Dir(l.Shims, instance),
		Input: b.Input != "", LogMax: l.logMax, MemoryMax: r.MemoryMax, Cgroup: l.o.Cgroup,
	}
	if err := checkSet(r.Set); err != nil {
		return b, err
	}
	b.kind = kind
	if b.credentials, err = l.credentials(r); err != nil {
		return b, err
	}
	if bounds, ok := l.boundsOf(r.Role); ok {
		b.Bounds = &bounds
	}
	if b.ConfigDir, err = l.configDir(r, kind, how); err != nil {
		return b, err
	}
	if b.ConfigDir != "" {
		env = append(env, kind.Transcripts.Env+"="+fleet.RawPath(b.ConfigDir))
	}
	b.Launch.Env, b.Missing = l.environment(r, b.Command, env)
	return b, b.Launch.Check()
}

// hooks adds what makes the agent tell of itself; a kind without hooks is started
// without.
func (l *Launcher) hooks(kind string, o *agent.LaunchOptions, b *Begin) (env []string, err error) {
	if l.o.Hook == "" || !l.Kinds.Hooked(kind) {
		return nil, nil
	}
	o.Hooks, env, b.Files, err = l.Kinds.LaunchHooks(kind, l.o.Hook, l.o.Run, l.offered(kind))
	return env, err
}

// input works out what a headless agent reads.
func (l *Launcher) input(k agent.Kind, r fleet.Registration, b *Begin) error {
	if b.Command.Stdin == "" {
		return nil
	}
	b.Input, b.End = b.Command.Stdin, true
	if Converses(k, r) {
		text, err := Message(b.Command.Stdin)
		if err != nil {
			return err
		}
		b.Input, b.End = text, false
	}
	return (session.Input{Text: b.Input}).Check()
}

// Converses says whether a headless agent reads one message a line for as long
// as it runs: it was told so on its command line.
func Converses(k agent.Kind, r fleet.Registration) bool {
	if r.Where != fleet.WhereHeadless || k.Headless.Stream != "claude" {
		return false
	}
	for i, arg := range r.Argv {
		if arg == "--input-format=stream-json" || arg == "--input-format" && i+1 < len(r.Argv) && r.Argv[i+1] == "stream-json" {
			return true
		}
	}
	return false
}

// Message is a text as a line of the stream that a conversing agent reads.
func Message(text string) (string, error) {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	m := map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []part{{"text", session.Typed(text)}}}}
	line, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("cannot write a message: %w", err)
	}
	return string(line) + "\n", nil
}

// passed says whether a variable is passed on without being asked for. None of
// them holds a secret by its nature.
func passed(name string) bool {
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY":
		return true
	}
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "COLORTERM", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") && name != "XDG_SESSION_ID"
}

// own are variables that say something of Custos' own place, and nothing of the
// agent's.
var own = []string{"TMUX", "TMUX_PANE", "STY", shim.Marker, "CUSTOS_RUN"}

// environment is the whole environment of an agent, and which of the variables
// that were named for it are not set.
func (l *Launcher) environment(r fleet.Registration, c agent.Command, hooks []string) (env, missing []string) {
	wanted := slices.Concat(l.o.PassEnv, r.Env)
	values := map[string]string{}
	for _, kv := range l.o.Environ() {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && !slices.Contains(own, name) && (passed(name) || slices.Contains(wanted, name)) {
			values[name] = value
		}
	}
	for _, name := range r.Env {
		if _, set := values[name]; !set {
			missing = append(missing, fleet.Line(name, 60))
		}
	}
	if l.o.Tools != "" && r.Run != "" {
		values["PATH"] = strings.TrimSuffix(strings.Join(append(fleet.ToolDirs(l.o.Tools, r.Town), values["PATH"]), string(filepath.ListSeparator)), string(filepath.ListSeparator))
	}
	for _, kv := range l.identity(r) {
		if name, value, _ := strings.Cut(kv, "="); !slices.Contains(wanted, name) {
			values[name] = value
		}
	}
	for _, name := range c.Unset {
		delete(values, name)
	}
	for _, kv := range slices.Concat(r.Set, c.Env, hooks, l.runEnv()) {
		name, value, _ := strings.Cut(kv, "=")
		values[name] = value
	}
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, missing
}

// settable is the name of a variable that a registration may give a value to.
var settable = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// steers says whether a variable says how programs are found and run.
func steers(name string) bool {
	return passed(name) || slices.Contains(own, name) || strings.HasPrefix(name, "LD_")
}

// secretive are parts of the names of variables that hold secrets: their values
// are written down nowhere, so they are named in Env, and passed on.
var secretive = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE", "API_KEY", "ACCESS_KEY"}

// checkSet refuses values that are not to be written down, or that would change
// how programs are found and run.
func checkSet(set []string) error {
	for _, kv := range set {
		name, value, ok := strings.Cut(kv, "=")
		is := func(part string) bool { return strings.Contains(name, part) }
		switch {
		case !ok || !settable.MatchString(name):
			return Never("%q is no variable: want NAME=value, of A-Z, 0-9 and _", fleet.Line(name, 80))
		case slices.ContainsFunc(secretive, is):
			return Never("the variable %s looks like a secret: its name belongs into env, its value nowhere", name)
		case steers(name):
			return Never("the variable %s is not to be set", name)
		case strings.ContainsRune(value, 0):
			return Never("the value of the variable %s holds a NUL byte", name)
		}
	}
	return nil
}

func (l *Launcher) runEnv() []string {
	if l.o.Run == "" {
		return nil
	}
	return []string{"CUSTOS_RUN=" + l.o.Run}
}

// Room refuses a start where the disk is nearly full. Folders that do not exist
// yet count as their nearest parent.
func (l *Launcher) Room(dirs ...string) error {
	for _, dir := range append(dirs, l.Shims) {
		for !exists(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		free, err := files.Room(dir)
		if err != nil {
			return err
		}
		if free < l.minFree {
			return Refused("only %d MiB are free where %s lies, and %d are needed", free>>20, fleet.Path(dir), l.minFree>>20)
		}
	}
	return nil
}

// Free refuses a second agent of the same name: whatever the ledger says, the
// shims know who lives. Instances that the asking action made itself do not count.
func (w World) Free(r fleet.Registration, mine ...string) error {
	if !slices.Contains(mine, r.Instance) || r.Instance == "" {
		if err := w.ended(r.Process); err != nil {
			return err
		}
	}
	all, err := shim.List(w.Shims)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Err != nil || s.Exit != nil || s.Started.Name != r.Name || slices.Contains(mine, s.Started.Key) {
			continue
		}
		if err := w.ended(fleet.ProcessID{PID: s.Started.Agent.PID, Start: s.Started.Agent.Start, Boot: s.Started.At.Boot}); err != nil {
			return err
		}
	}
	return nil
}

func (w World) ended(p fleet.ProcessID) error {
	alive, err := w.Lives(p)
	if err == nil && alive {
		err = Refused("an agent of this name runs as process %d", p.PID)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Start starts the agent, or finds what was started before under the same
// instance, without a place where that has ended and was closed; since is when it
// cannot have told anything yet. After an error that is not act.ErrInDoubt nothing runs.
func (l *Launcher) Start(ctx context.Context, b *Begin) (got session.Launched, since fleet.Instant, err error) {
	since = l.Now()
	defer func() { err = b.unkeep(err) }()
	if err := l.place(b, b.Launch.Dir); err != nil {
		return got, since, err
	}
	if err := writeAll(b.Files); err != nil {
		return got, since, err
	}
	for _, dir := range []string{l.Shims, b.Grants} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return got, since, fmt.Errorf("cannot make a folder that the start needs: %w", err)
		}
	}
	if err := l.bound(b); err != nil {
		return got, since, err
	}
	if err := b.give(ctx); err != nil {
		return got, since, err
	}
	got, err = l.Providers[b.Where].Launch(ctx, b.Launch)
	s, _, unread := shim.Read(b.Launch.Shim)
	b.Boundary = held(s.Boundary)
	if errors.Is(err, session.ErrInDoubt) || unread != nil && errors.Is(err, session.ErrGone) {
		err = fmt.Errorf("cannot tell whether the agent was started (%s): %w", strings.TrimPrefix(err.Error(), session.ErrInDoubt.Error()+": "), act.ErrInDoubt)
	}
	if unread != nil {
		return got, since, err
	}
	since = began(b.Launch.Shim, s, since)
	if errors.Is(err, session.ErrGone) {
		got, err = session.Launched{Agent: fleet.ProcessID{PID: s.Agent.PID, Start: s.Agent.Start, Boot: s.At.Boot}}, nil
	}
	return got, since, err
}

// began is when an instance that was started before now cannot have told anything yet:
// when it was claimed. That it runs is written down later than it may tell of itself.
func began(dir string, s shim.Started, now fleet.Instant) fleet.Instant {
	at := At(s.At)
	if c, err := shim.ReadClaim(dir); err == nil {
		at = At(c.At)
	}
	if at.Before(now) {
		return at
	}
	return now
}

// Give writes what an agent without a terminal reads first, at most once: that it is
// about to be given is written down first. A Custos that takes up the start of one that
// was killed gives what was not given yet, and ends the input either way.
func (l *Launcher) Give(ctx context.Context, b Begin, got session.Launched) error {
	if b.Input == "" {
		return nil
	}
	first, err := shim.Giving(b.Launch.Shim)
	if err != nil {
		return fmt.Errorf("cannot give the agent its prompt: %w", err)
	}
	p := l.Providers[b.Where]
	if first {
		if err := p.Type(ctx, got.Pane, session.Input{Text: b.Input, Agent: got.Agent}); err != nil {
			return fmt.Errorf("cannot give the agent its prompt: %w", err)
		}
	}
	if !b.End {
		return nil
	}
	err = p.Type(ctx, got.Pane, session.Input{Key: session.KeyEnd, Agent: got.Agent})
	if err != nil && (first || !errors.Is(err, session.ErrGone)) {
		return fmt.Errorf("cannot end the agent's input: %w", err)
	}
	return nil
}

// writeAll writes files whole, for our user alone; one that is there as it should
// be is left alone, because running agents read it.
func writeAll(all map[string][]byte) error {
	for path, text := range all {
		if is, err := files.Read(path, int64(len(text))); err == nil && string(is) == string(text) {
			continue
		}
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = files.Replace(path, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("cannot write what the hooks need: %w", err)
		}
	}
	return nil
}

// Learned is a registration with what a start has brought.
func Learned(r fleet.Registration, b Begin, got session.Launched, at fleet.Instant) fleet.Registration {
	r.Instance, r.Process, r.StartedAt, r.Server = b.Launch.Instance, got.Agent, at, ""
	if b.Where == fleet.WhereTmux {
		r.Server = got.Pane.Socket
	}
	if b.Command.Session != "" {
		r.SessionID = b.Command.Session
	}
	r.Exit, r.Failed, r.Unresumed, r.ConfigDir = nil, "", nil, b.ConfigDir
	r.Boundary, r.Policy, r.Given = b.Boundary, b.Policy, given(b.Files)
	return r
}
