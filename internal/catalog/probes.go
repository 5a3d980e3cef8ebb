package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/agents"
	"custos/internal/observe/checks"
	"custos/internal/observe/extra"
	gitprobe "custos/internal/observe/git"
	"custos/internal/observe/host"
	"custos/internal/observe/locks"
	"custos/internal/observe/logs"
	"custos/internal/observe/overlap"
	"custos/internal/observe/plugins"
	"custos/internal/observe/self"
	"custos/internal/observe/sessions"
	"custos/internal/observe/spending"
	"custos/internal/observe/vaults"
	"custos/internal/session"
	"custos/internal/sys/files"
	"custos/internal/sys/git"
	"custos/internal/sys/proc"
)

// probeMaker is one probe: the section of custos.toml it reads ("" for none),
// and how it is made.
type probeMaker struct {
	section string
	make    func(*World) (observe.Probe, error)
}

// probeMakers lists the built-in probes. Adding one is its folder and one line here.
func probeMakers() []probeMaker {
	return []probeMaker{
		{"host", newHost},
		{"processes", func(w *World) (observe.Probe, error) { return w.Table, nil }},
		{"tmux", func(w *World) (observe.Probe, error) {
			return sessions.New(sessions.Options{Viewer: w.Tmux, Orphan: w.orphans})
		}},
		{"agents", newAgents},
		{"git", newGit},
		{"overlap", func(w *World) (observe.Probe, error) {
			return probe(w, "overlap", overlap.Options{Standing: w.stands}, overlap.New)
		}},
		{"locks", func(w *World) (observe.Probe, error) {
			return probe(w, "locks", locks.Options{Home: w.Config.Home}, locks.New)
		}},
		{"forge", newForge}, // before phases, which ask it
		{"phases", newPhases},
		{"logs", func(w *World) (observe.Probe, error) {
			return probe(w, "logs", logs.Options{Home: w.Config.Home}, logs.New)
		}},
		{"containers", newContainers},
		{"ci", newCI},
		{"beads", newBeads},
		{"vault", newVaults},
		{"", func(w *World) (observe.Probe, error) { return newRuns(w, w.Runs) }},
		{"", func(w *World) (observe.Probe, error) {
			return plugins.New(plugins.Options{Checks: w.PluginChecks, Now: w.Now, Getenv: w.Getenv})
		}},
		{"", func(w *World) (observe.Probe, error) {
			return checks.New(checks.Options{Gates: w.GateChecks, Now: w.Now, Getenv: w.Getenv})
		}},
		{"", newSpending},
		{"", newSelf},
	}
}

// Probes makes every built-in probe, and one for each foreign probe program.
func Probes(w *World) ([]observe.Probe, error) {
	var out []observe.Probe
	for _, m := range probeMakers() {
		p, err := m.make(w)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	programs, err := programs(w)
	return append(out, programs...), err
}

// Sections lists the sections of custos.toml that belong to plug-ins.
func Sections() []string {
	out := append([]string{"probe", "limits", "launch", "heartbeat", "handoff", "account", "boundary", "credential", "pool", "role", "team", "merge", "budget", "policy", "prices", "coordination", "transcripts", "hub"}, peopleSections()...)
	for _, m := range probeMakers() {
		out = append(out, m.section)
	}
	for _, m := range actionMakers() {
		out = append(out, m.section)
	}
	slices.Sort(out)
	return slices.Compact(slices.DeleteFunc(out, func(s string) bool { return s == "" }))
}

// probe reads a section into options that hold the defaults, and makes the plug-in.
func probe[O any, P observe.Probe](w *World, section string, o O, make func(O) (P, error)) (observe.Probe, error) {
	if err := w.Config.Section(section, &o); err != nil {
		return nil, err
	}
	p, err := make(o)
	return p, w.Config.Misread(section, err)
}

func newHost(w *World) (observe.Probe, error) {
	return probe(w, "host", host.Options{Folders: []string{w.Config.StateDir, w.Config.JournalDir}}, host.New)
}

func newAgents(w *World) (observe.Probe, error) {
	contracts, err := readContracts(w.Config)
	if err != nil {
		return nil, err
	}
	if w.Conversations, err = newConversations(w); err != nil {
		return nil, err
	}
	accounts, err := Accounts(w.Config, w.Kinds)
	if err != nil {
		return nil, err
	}
	p, err := probe(w, "agents", agents.Options{Conversations: w.conversations, Accounts: accounts, Contracts: contracts, Kinds: w.Kinds, Procs: w.Table.Processes, Panes: w.Tmux.Panes, Screens: w.Tmux.Screens,
		Recorded: w.Recorded, Registered: w.registeredLately, Lost: w.Lost, Used: w.Used, Hooks: w.Hooks, Deaf: w.deaf, Exits: w.Own.Exit, ShimGone: w.Own.ShimGone, Launches: w.Own.launches, Shim: w.Own.shimOf, Said: w.Own.said, Stream: w.Own.stream, Judge: w.judges, Self: os.Getpid(), Marker: w.marker,
		Now: w.Now, Home: w.Config.Home}, agents.New)
	if err != nil {
		return nil, err
	}
	w.Agents = p.(*agents.Probe)
	return p, nil
}

func newGit(w *World) (observe.Probe, error) {
	o, err := w.git()
	if err != nil {
		return nil, err
	}
	p, err := gitprobe.New(o)
	return p, w.Config.Misread("git", err)
}

// unsaid lists the sections in which foreign_namespace has to be said before what
// they name is known to be free: none, unless we are in a pid namespace of our own.
// What cannot be read of them is said by whoever is built from them.
func unsaid(cfg config.Config, nested bool) (sections []string) {
	var g gitprobe.Options
	var l locks.Options
	if !nested {
		return nil
	}
	if err := cfg.Section("git", &g); err == nil && g.ForeignNamespace == nil && len(g.Repos)+len(g.Worktrees) > 0 {
		sections = append(sections, "git")
	}
	if err := cfg.Section("locks", &l); err == nil && l.ForeignNamespace == nil && len(l.Globs) > 0 {
		sections = append(sections, "locks")
	}
	return sections
}

// agentsElsewhere says whether agents may work where we do not see them.
func agentsElsewhere(cfg config.Config, nested bool) bool {
	var o agents.Options
	if err := cfg.Section("agents", &o); err == nil && o.ForeignNamespace != nil {
		return *o.ForeignNamespace
	}
	return nested
}

// git is the section [git], which the probe and three actions read.
func (w *World) git() (gitprobe.Options, error) {
	known := w.keepsRegistered()
	o := gitprobe.Options{Home: w.Config.Home, Standing: w.standing, Holding: holding, Discover: w.whereTheyStood,
		Worked: func() []string { return workedIn(known()) }, Made: func() []string { return madeFor(known()) }, CrashedIn: w.keepsCrashed()}
	err := w.Config.Section("git", &o)
	o.Outside = outside(o.ForeignNamespace)
	return o, err
}

// locks is the section [locks], which the probe and one action read.
func (w *World) locks() (locks.Options, error) {
	var o locks.Options
	return o, w.Config.Section("locks", &o)
}

// standing lists where every process and every pane stands.
func (w *World) standing(ctx context.Context) ([]git.CWD, error) { return w.stand(ctx, w.Procs) }

func (w *World) stand(ctx context.Context, procs *proc.Reader) ([]git.CWD, error) {
	table, err := procs.Table(ctx)
	if err != nil {
		return nil, err
	}
	var out []git.CWD
	for _, p := range table {
		if p.State == "Z" || p.CWD == (proc.Link{}) { // it has ended, or ends just now, or is the kernel's: it stands nowhere
			continue
		}
		out = append(out, git.CWD{PID: p.ID.PID, UID: p.UID, Name: p.Comm, Path: p.CWD.Path})
	}
	panes, err := w.Tmux.Panes(ctx)
	if err != nil && !errors.Is(err, session.ErrAbsent) {
		return nil, fmt.Errorf("cannot tell where panes stand: %w", err)
	}
	for _, p := range panes {
		if p.CWD == "" { // a dead pane that is kept; of a living one the table tells where its processes stand
			continue
		}
		out = append(out, git.CWD{PID: p.ID.Root.PID, UID: w.From.UID, Name: p.Command, Path: fleet.RawPath(p.CWD)})
	}
	return out, nil
}

// patience is how long whereAgentsStand may take; without it only configured
// repositories are seen.
const patience = 2 * time.Second

// whereAgentsStand lists the folders that agents work in.
func (w *World) whereAgentsStand() (dirs []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	procs, err := w.Table.Processes(ctx)
	if err != nil {
		return nil
	}
	for _, run := range w.detected.in(procs, w.Kinds) {
		if dir, ok := run.Process.CWD.Get(); ok {
			dirs = append(dirs, fleet.RawPath(dir))
		}
	}
	return dirs
}

// stands says where agents stand, of whatever kind, and what they were started for: as they were
// looked at last; before that, folders alone.
func (w *World) stands() (all []overlap.Stand) {
	if w.Agents != nil {
		if found, looked := w.Agents.Standing(); looked {
			for _, at := range found {
				all = append(all, overlap.Stand(at))
			}
			return all
		}
	}
	for _, dir := range append(w.whereAgentsStand(), w.whereOursStand()...) {
		all = append(all, overlap.Stand{Folder: dir})
	}
	return all
}

// whereTheyStood lists the folders of stands, each once.
func (w *World) whereTheyStood() (dirs []string) {
	for _, at := range w.stands() {
		dirs = append(dirs, at.Folder)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// whereOursStand lists the folders of agents that are registered and run.
func (w *World) whereOursStand() (dirs []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	regs, err := w.registeredLately(ctx)
	procs, unseen := w.Table.Processes(ctx)
	if err != nil || unseen != nil {
		return nil
	}
	ours := map[fleet.ProcessID]bool{}
	for _, r := range regs {
		ours[r.Process] = true
	}
	for _, p := range procs {
		if dir, known := p.CWD.Get(); known && ours[p.ID] {
			dirs = append(dirs, fleet.RawPath(dir))
		}
	}
	return dirs
}

// newVaults looks at each [vault.NAME].
func newVaults(w *World) (observe.Probe, error) {
	o := vaults.Options{Vaults: map[string]vaults.Section{}, Expand: w.Config.Expand}
	if err := w.Config.Section("vault", &o.Vaults); err != nil {
		return nil, err
	}
	p, err := vaults.New(o)
	return p, w.Config.Misread("vault", err)
}

// newSpending adds up what models cost, for each budget.
func newSpending(w *World) (observe.Probe, error) {
	budgets, err := Budgets(w.Config)
	if err != nil {
		return nil, err
	}
	return spending.New(spending.Options{Budgets: budgets, Ledger: w.Spending, Counting: w.Counting, Now: w.Now})
}

func newSelf(w *World) (observe.Probe, error) {
	return self.New(self.Options{StartedAt: w.StartedAt, PatrolEvery: w.PatrolEvery, LastPatrolAge: w.LastPatrol,
		Remembered: w.Remembered, Config: w.ConfigTrouble, Socket: w.SocketTrouble, Unwatched: w.Unwatched, Now: w.Now, SearchPath: w.Getenv("PATH"), Standing: w.whereTheyStood,
		Schedules: w.Schedules, Plugins: w.Plugins, Code: w.Code, Receivers: w.Receivers, Landmarks: w.Landmarks, Terminal: func() int { return w.Tmux.Stopped(w.Own.Socket) }, JournalDir: w.Config.JournalDir, StoreFile: w.StoreFile})
}

// programs makes a probe for each [probe.NAME].
func programs(w *World) (out []observe.Probe, err error) {
	sections := map[string]extra.Options{}
	if err := w.Config.Section("probe", &sections); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(sections))
	for n := range sections {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		o := sections[n]
		o.Name, o.Getenv = n, w.Getenv
		p, err := extra.New(o)
		if err != nil {
			return nil, w.Config.Misread("probe."+n, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// deaf says why agents of a kind ignore the hooks that they are started with.
func (w *World) deaf(kind string) string {
	if file := w.Kinds.RootOnlyHooks(kind, w.Own.Run); file != "" {
		return files.NotRoots(file)
	}
	return ""
}
