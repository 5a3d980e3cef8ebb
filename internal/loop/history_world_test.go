package loop_test

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

const (
	mib  = int64(1) << 20
	gib  = int64(1) << 30
	hour = time.Hour
)

// world is a small fleet as it truly is, and as it can be looked at. Time in it
// is true time since the beginning of the history; clocks may lie about it.
type world struct {
	t      *rapid.T
	now    moment
	booted time.Duration
	rest   int64 // memory used by what is no agent
	swap   int64
	disk   float64 // percent used by what is neither log nor build output
	repo   repo
	agents []*agent
	locks  []*lock
	trees  []*tree
	logs   []*logFile
	phases []*phase
	seen   fleet.Snapshot // the last good look at each part
	pids   int
}

// moment is true time, how far the wall clock is off, and the boot.
type moment struct {
	true time.Duration
	skew time.Duration
	boot int
}

type agent struct {
	name           string
	owner          fleet.Owner
	pid            int // 0: gone
	oneshot, moves bool
	born, since    time.Duration
	state          fleet.AgentState
	rss            int64
	cwd            string
}

type lock struct {
	path         string
	owner        fleet.Owner
	alive, there bool
	waited       bool
}

type tree struct {
	path           string
	owner          fleet.Owner
	there, crashed bool
	precious       bool // anything that would be lost
	changed        time.Duration
	bulk           int64
}

type logFile struct {
	path  string
	owner fleet.Owner
	bytes int64
}

type phase struct {
	path          string
	owner         fleet.Owner
	word          string
	there, closed bool
	since         time.Duration
}

type repo struct {
	owner     fleet.Owner
	operation string
	branch    string
	since     time.Duration
}

func pick[T any](t *rapid.T, from ...T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, "pick")]
}

// once is true once in n, and false in what rapid takes for simplest.
func once(t *rapid.T, n int) bool { return rapid.IntRange(0, n-1).Draw(t, "once in") == n-1 }

func owner(t *rapid.T) fleet.Owner {
	return pick(t, fleet.OwnerConfigured, fleet.OwnerConfigured, fleet.OwnerCustos, fleet.OwnerAdopted, fleet.OwnerForeign)
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, now: moment{true: 48 * hour}, rest: 4 * gib, disk: 50, pids: 100}
	w.repo = repo{owner: owner(t), branch: pick(t, "main", "other")}
	for i := range rapid.IntRange(0, 3).Draw(t, "worktrees") {
		w.trees = append(w.trees, &tree{path: "/w/" + strconv.Itoa(i), owner: owner(t), there: true, crashed: once(t, 4),
			precious: once(t, 3), changed: pick(t, 47*hour, 40*hour, 20*hour), bulk: pick(t, 0, 600*mib)})
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "agents") {
		w.agents = append(w.agents, w.newAgent(i))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "locks") {
		w.locks = append(w.locks, &lock{path: fmt.Sprintf("/tmp/%d.lock", i), owner: owner(t), there: true, alive: once(t, 2), waited: once(t, 2)})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "logs") {
		w.logs = append(w.logs, &logFile{path: pick(t, "/w/0/", "/var/log/") + strconv.Itoa(i) + ".log", owner: owner(t), bytes: pick(t, 1*mib, 20*mib)})
	}
	for i := range rapid.IntRange(0, 1).Draw(t, "phases") {
		w.phases = append(w.phases, &phase{path: fmt.Sprintf("/tmp/%d.phase", i), owner: owner(t), word: pick(t, "escalate", "done"),
			there: true, closed: once(t, 2), since: pick(t, 47*hour, 10*hour)})
	}
	return w
}

func (w *world) newAgent(i int) *agent {
	a := &agent{name: "agent" + strconv.Itoa(i), owner: owner(w.t), cwd: pick(w.t, "/src", "/w/0", "/w/1/deep")}
	w.run(a)
	a.born = w.now.true - pick(w.t, time.Minute, 4*hour, 10*hour)
	a.moves = !once(w.t, 2)
	return a
}

// run starts an agent afresh.
func (w *world) run(a *agent) {
	w.pids++
	a.pid, a.born, a.since, a.moves = w.pids, w.now.true, w.now.true, true
	a.oneshot, a.state, a.rss = once(w.t, 2), fleet.StateWorking, pick(w.t, 1*gib, 4*gib)
}

func (a *agent) end(state fleet.AgentState, now time.Duration) {
	a.pid, a.state, a.since, a.moves, a.rss = 0, state, now, false, 0
}

// pass lets time go by, and things happen. It says whether the machine booted.
func (w *world) pass() (booted bool) {
	t := w.t
	w.now.true += pick(t, time.Second, time.Minute, 5*time.Minute, 20*time.Minute, hour, 4*hour)
	if once(t, 10) {
		w.now.skew += pick(t, -24*hour, -5*time.Minute, 5*time.Minute, 24*hour)
	}
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		w.happen()
	}
	if !once(t, 15) {
		return false
	}
	w.now.boot++
	w.booted = w.now.true
	for _, a := range w.agents {
		if a.pid != 0 {
			a.end(fleet.StateCrashed, w.now.true)
		}
	}
	for _, l := range w.locks {
		l.alive = false
	}
	return true
}

func (w *world) happen() {
	t := w.t
	switch pick(t, "agent", "agent", "agent", "memory", "disk", "lock", "log", "tree", "repo") {
	case "agent":
		if len(w.agents) > 0 {
			w.change(pick(t, w.agents...))
		}
	case "memory":
		w.rest, w.swap = pick(t, 4*gib, 15*gib, 16*gib-100*mib), pick(t, 0, 4*gib)
	case "disk":
		w.disk = pick(t, 50.0, 77, 85)
	case "lock":
		for _, l := range w.locks {
			l.there, l.alive = true, once(t, 2)
		}
	case "log":
		for _, l := range w.logs {
			l.bytes += 20 * mib
		}
	case "tree":
		for _, x := range w.trees {
			x.bulk, x.there, x.precious = 600*mib, true, once(t, 3)
		}
	case "repo":
		w.repo.operation, w.repo.since, w.repo.branch = pick(t, "", "rebase", "merge"), w.now.true, pick(t, "main", "other")
	}
}

func (w *world) change(a *agent) {
	switch pick(w.t, "stall", "move", "die", "wait", "run") {
	case "stall":
		a.moves = false
	case "move":
		a.moves = a.pid != 0
	case "die":
		if a.pid != 0 {
			a.end(fleet.StateCrashed, w.now.true)
		}
	case "wait":
		if a.pid != 0 {
			a.state, a.since, a.moves = fleet.StateWaiting, w.now.true, false
		}
	case "run":
		if a.pid == 0 && a.state == fleet.StateCrashed {
			w.run(a)
		}
	}
}

// instant is what the clocks say at a moment.
func (w *world) instant(m moment) fleet.Instant {
	epoch := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	return fleet.Instant{Wall: epoch.Add(m.true + m.skew), Up: fleet.Duration(m.true - w.booted), Boot: strconv.Itoa(m.boot)}
}

func (w *world) age(since time.Duration) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(w.now.true - since))
}

// dim makes a leaf unknown once in a while, unless the eyes are clear.
func dim[T any](w *world, clear bool, l fleet.Leaf[T]) fleet.Leaf[T] {
	if !clear && once(w.t, 25) {
		return fleet.Unknown[T]("could not look")
	}
	return l
}

// look takes a snapshot. With clear eyes everything is seen.
func (w *world) look(clear bool) fleet.Snapshot {
	truth := w.truth(clear)
	snap := fleet.Snapshot{At: w.instant(w.now), From: fleet.Vantage{Host: "h", Boot: strconv.Itoa(w.now.boot)}}
	view(w, clear, &snap.Host, &truth.Host, &w.seen.Host)
	view(w, clear, &snap.Agents, &truth.Agents, &w.seen.Agents)
	view(w, clear, &snap.Repos, &truth.Repos, &w.seen.Repos)
	view(w, clear, &snap.Locks, &truth.Locks, &w.seen.Locks)
	view(w, clear, &snap.Phases, &truth.Phases, &w.seen.Phases)
	view(w, clear, &snap.Logs, &truth.Logs, &w.seen.Logs)
	view(w, true, &snap.Self, &truth.Self, &w.seen.Self)
	for _, name := range []fleet.PartName{fleet.PartProcesses, fleet.PartSessions, fleet.PartExtra} {
		*snap.Sight(name) = fleet.Sight{Status: fleet.StatusAbsent, At: snap.At, Why: "not in this world"}
	}
	return snap
}

// view shows a part as it is, as it last was, or not at all.
func view[T any](w *world, clear bool, into, truth, last *fleet.Part[T]) {
	at := w.instant(w.now)
	switch {
	case clear || !once(w.t, 10):
		into.Value, into.Sight = truth.Value, fleet.Sight{Status: fleet.StatusOK, At: at}
		*last = *into
	case last.Status == fleet.StatusOK && once(w.t, 2):
		into.Value, into.Sight = last.Value, last.Sight
		into.Status, into.Sight.Blind = fleet.StatusStale, fleet.Duration(at.Since(last.At))
	default:
		into.Sight = fleet.Sight{Status: pick(w.t, fleet.StatusUnknown, fleet.StatusPending), At: last.At, Why: "could not look"}
	}
}

func (w *world) truth(clear bool) fleet.Snapshot {
	var s fleet.Snapshot
	s.Host.Value = w.host(clear)
	for _, a := range w.agents {
		s.Agents.Value = append(s.Agents.Value, w.agent(clear, a))
	}
	s.Repos.Value.Repos = []fleet.Repo{w.mainRepo(clear)}
	for _, x := range w.trees {
		if x.there {
			s.Repos.Value.Worktrees = append(s.Repos.Value.Worktrees, w.worktree(clear, x))
		}
	}
	for _, l := range w.locks {
		if l.there {
			holder := fleet.HolderDead
			if l.alive {
				holder = fleet.HolderAlive
			}
			s.Locks.Value = append(s.Locks.Value, fleet.Lock{Path: l.path, Owner: l.owner, PID: fleet.Known(1), WaitedFor: l.waited,
				Holder: dim(w, clear, fleet.Known(holder)), Age: w.age(0)})
		}
	}
	for _, l := range w.logs {
		s.Logs.Value = append(s.Logs.Value, fleet.Log{Path: l.path, Owner: l.owner, Bytes: dim(w, clear, fleet.Known(l.bytes)), Age: w.age(0)})
	}
	for _, p := range w.phases {
		if p.there {
			s.Phases.Value = append(s.Phases.Value, fleet.Phase{Path: p.path, Owner: p.owner, Phase: fleet.Known(p.word), Age: w.age(p.since),
				Issue: fleet.Known(1), Closed: dim(w, clear, fleet.Known(p.closed))})
		}
	}
	s.Self.Value = fleet.Self{LastPatrolAge: fleet.Known(fleet.Duration(time.Minute)), JournalWritable: fleet.Known(true),
		StoreWritable: fleet.Known(true), StoreBytes: fleet.Known(int64(1)),
		ClockStep: fleet.Known(fleet.Duration(0)), Remembered: fleet.Remembered{Amnesia: fleet.Known(false), Lost: fleet.Known(""), ClockBehind: fleet.Known(false), MemoryDiffers: fleet.Known(""), RowsAside: fleet.Known(0), Moved: fleet.Known("")}}
	return s
}

func (w *world) host(clear bool) fleet.Host {
	free, used := 16*gib-w.rest, w.disk
	for _, a := range w.agents {
		free -= a.rss / 16
	}
	for _, l := range w.logs {
		used += float64(l.bytes / (20 * mib))
	}
	for _, x := range w.trees {
		used += float64(x.bulk / (300 * mib))
	}
	return fleet.Host{Name: "h",
		Memory:    fleet.Memory{Total: fleet.Known(16 * gib), Available: dim(w, clear, fleet.Known(max(free, 0)))},
		Swap:      fleet.Swap{Total: fleet.Known(8 * gib), Used: dim(w, clear, fleet.Known(w.swap))},
		OOMRecent: fleet.Known(int64(0)),
		Mounts: []fleet.Mount{{Path: "/", Type: "ext4", UsedPercent: dim(w, clear, fleet.Known(min(used, 100))),
			InodesPercent: fleet.Known(3.0)}},
	}
}

func (w *world) agent(clear bool, a *agent) fleet.Agent {
	out := fleet.Agent{Name: a.name, Kind: "claude", Owner: a.owner, State: a.state, OneShot: a.oneshot, Dwell: w.age(a.since),
		Age: dim(w, clear, w.age(a.born)), RSS: dim(w, clear, fleet.Known(a.rss)), CWD: dim(w, clear, fleet.Known(a.cwd)),
		Progress: fleet.ProgressNone}
	if a.pid == 0 { // as the probe tells of an agent that is gone
		out.Progress, out.RSS = fleet.ProgressUnknown, fleet.Unknown[int64]("it has ended")
	} else {
		out.Process = fleet.ProcessID{PID: a.pid, Start: uint64(a.born), Boot: strconv.Itoa(w.now.boot)}
		out.Procs = []fleet.ProcessID{out.Process}
	}
	if a.moves {
		out.Progress = fleet.ProgressSome
	}
	if !clear && once(w.t, 8) {
		out.Progress = fleet.ProgressUnknown
	}
	return out
}

// inside lists the living agents at work in a folder.
func (w *world) inside(path string) []int {
	pids := []int{}
	for _, a := range w.agents {
		if a.pid != 0 && within(a.cwd, path) {
			pids = append(pids, a.pid)
		}
	}
	slices.Sort(pids)
	return pids
}

func within(path, folder string) bool {
	return path == folder || len(path) > len(folder) && path[:len(folder)] == folder && path[len(folder)] == '/'
}

func (w *world) mainRepo(clear bool) fleet.Repo {
	return fleet.Repo{Path: "/src", GitDir: "/src/.git", Owner: w.repo.owner, Pinned: true, Primary: fleet.Known("main"),
		Branch: dim(w, clear, fleet.Known(w.repo.branch)), Operation: dim(w, clear, fleet.Known(w.repo.operation)),
		OperationAge: w.age(w.repo.since), Occupied: dim(w, clear, fleet.Known(w.inside("/src")))}
}

func (w *world) worktree(clear bool, x *tree) fleet.Worktree {
	removable := !x.precious && len(w.inside(x.path)) == 0
	out := fleet.Worktree{Path: x.path, Repo: "/src", Owner: x.owner, Age: dim(w, clear, w.age(x.changed)), Crashed: x.crashed,
		CrashedAge: w.age(x.changed), BulkBytes: dim(w, clear, fleet.Known(x.bulk)), Occupied: dim(w, clear, fleet.Known(w.inside(x.path))),
		Removable: dim(w, clear, fleet.Known(removable)), Unpushed: dim(w, clear, fleet.Known(0)), Merged: dim(w, clear, fleet.Known(true))}
	if x.precious {
		out.Obstacles = []string{".env"}
	}
	return out
}

// lawful says, from the truth alone, whether an action may be done now. An
// answer other than "" is what would be harmed.
func (w *world) lawful(a fleet.Action) string {
	switch t := a.Target; {
	case a.Do == "notify-terminal":
	case t.Owner() == fleet.OwnerForeign:
		return "it is someone else's"
	case a.Do == "stop-tree":
		if x := w.find(t.Agent.Name); x.pid != 0 && x.moves {
			return "the agent lives and makes progress"
		}
	case a.Do == "remove-lock":
		for _, l := range w.locks {
			if l.path == t.Lock.Path && l.alive {
				return "the holder lives"
			}
		}
	case a.Do == "remove-worktree" || a.Do == "clear-build-output":
		for _, x := range w.trees {
			if x.path == t.Worktree.Path && (len(w.inside(x.path)) > 0 || a.Do == "remove-worktree" && x.precious) {
				return "the worktree is in use, or holds what would be lost"
			}
		}
	case a.Do == "remove-phase":
		for _, p := range w.phases {
			if p.path == t.Phase.Path && !p.closed {
				return "the issue is open"
			}
		}
	case a.Do == "abort-rebase":
		if w.repo.operation != "" && w.repo.operation != "rebase" || len(w.inside("/src")) > 0 {
			return "it is no abandoned rebase"
		}
	}
	return ""
}

func (w *world) find(name string) *agent {
	for _, a := range w.agents {
		if a.name == name {
			return a
		}
	}
	panic("no agent " + name)
}

// do changes the world as the action would, at the instant of acting.
func (w *world) do(a fleet.Action) {
	switch t := a.Target; a.Do {
	case "stop-tree":
		w.find(t.Agent.Name).end(fleet.StateFinished, w.now.true)
	case "start-agent":
		w.run(w.find(t.Agent.Name))
	case "remove-lock":
		for _, l := range w.locks {
			l.there = l.there && l.path != t.Lock.Path
		}
	case "remove-worktree", "clear-build-output":
		for _, x := range w.trees {
			if x.path == t.Worktree.Path {
				x.bulk, x.there = 0, a.Do == "clear-build-output"
			}
		}
	case "rotate-log":
		for _, l := range w.logs {
			if l.path == t.Log.Path {
				l.bytes = mib
			}
		}
	case "remove-phase":
		for _, p := range w.phases {
			p.there = p.there && p.path != t.Phase.Path
		}
	case "abort-rebase":
		w.repo.operation = ""
	case "checkout-primary":
		w.repo.branch = "main"
	}
}
