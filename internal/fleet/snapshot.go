package fleet

// Snapshot is everything known at one instant. It is never changed once built,
// and it is honest about blindness: each part says how it was seen.
type Snapshot struct {
	At     Instant `json:"at" unread:"it is the variable now"`                   // the only "now" there is
	Patrol int64   `json:"patrol,omitempty" unread:"for_patrols counts patrols"` // number of the patrol; 0 for a pass that is none
	From   Vantage `json:"from" unread:"where Custos looks from is no property of what it sees"`

	Host      Part[Host]        `json:"host"`
	Processes Part[[]Process]   `json:"processes" unread:"rules speak of agents and what they stand on; a process that is no agent is not judged"`
	Sessions  Part[[]Pane]      `json:"sessions"`
	Agents    Part[[]Agent]     `json:"agents"`
	Repos     Part[Repos]       `json:"repos"`
	Locks     Part[[]Lock]      `json:"locks"`
	Phases    Part[[]Phase]     `json:"phases"`
	Logs      Part[[]Log]       `json:"logs"`
	Self      Part[Self]        `json:"self"`
	Extra     Part[[]Extra]     `json:"extra" unread:"over = \"extra\" ranges over it; a list of them would need its names to be known"`
	Runs      Part[[]RunFacts]  `json:"runs"`
	Engine    Part[Engine]      `json:"containers"`
	Forge     Part[Forge]       `json:"forge"`
	CI        Part[CI]          `json:"ci"`
	Beads     Part[[]Bead]      `json:"beads" unread:"rules speak of work, whichever tracker keeps it"`
	Vaults    Part[[]VaultItem] `json:"vaults"`
	Overlaps  Part[[]Overlap]   `json:"overlaps"`
	Checks    Part[[]GateCheck] `json:"checks" unread:"rules speak of gates"`
	Spending  Part[Spendings]   `json:"spending"`
	Hub       Part[Hub]         `json:"hub"`
	// Holds is what the expressions of open gates say in this very pass, by gate. One
	// that is not in it is not known.
	Holds []GateCheck `json:"holds,omitempty" unread:"rules speak of gates"`
	// Coordination is what the records mean in this very pass: it follows from the
	// past and the other parts, and no probe fills it.
	Coordination Part[Coordination] `json:"coordination"`
}

// Vantage says from where a snapshot looks. What lies outside (another pid
// namespace's processes, another host's tmux) is unknown, not absent.
type Vantage struct {
	Host           string `json:"host"`
	Boot           string `json:"boot"`
	PIDNamespace   string `json:"pid_namespace,omitempty"`
	MountNamespace string `json:"mount_namespace,omitempty"`
	UID            int    `json:"uid"`
	Container      bool   `json:"container,omitempty"`
	Version        string `json:"version,omitempty"` // of Custos
	// Unsaid are the sections of custos.toml that would have to say whether processes
	// outside of our pid namespace work on what they name: until they do, none of it
	// is known to be free. Empty where no process can be outside.
	Unsaid []string `json:"unsaid,omitempty"`
	// AgentsElsewhere says that agents which are not seen from here may work on what
	// is watched: we are in a pid namespace of our own, and custos.toml does not say
	// that there are none outside.
	AgentsElsewhere bool `json:"agents_elsewhere,omitempty"`
}

// Sight returns how the named part was seen, or nil for a name it does not have.
func (s *Snapshot) Sight(name PartName) *Sight {
	switch name {
	case PartHost:
		return s.Host.Look()
	case PartProcesses:
		return s.Processes.Look()
	case PartSessions:
		return s.Sessions.Look()
	case PartAgents:
		return s.Agents.Look()
	case PartRepos:
		return s.Repos.Look()
	case PartLocks:
		return s.Locks.Look()
	case PartPhases:
		return s.Phases.Look()
	case PartLogs:
		return s.Logs.Look()
	case PartSelf:
		return s.Self.Look()
	case PartExtra:
		return s.Extra.Look()
	case PartRuns:
		return s.Runs.Look()
	case PartEngine:
		return s.Engine.Look()
	case PartForge:
		return s.Forge.Look()
	case PartCI:
		return s.CI.Look()
	case PartBeads:
		return s.Beads.Look()
	case PartVaults:
		return s.Vaults.Look()
	case PartOverlaps:
		return s.Overlaps.Look()
	case PartChecks:
		return s.Checks.Look()
	case PartSpending:
		return s.Spending.Look()
	case PartHub:
		return s.Hub.Look()
	case PartCoordination:
		return s.Coordination.Look()
	}
	return nil
}

// PartOf returns the part that subjects of a kind come from.
func PartOf(k Kind) PartName {
	switch k {
	case KindHost, KindMount:
		return PartHost
	case KindSession:
		return PartSessions
	case KindAgent:
		return PartAgents
	case KindRepo, KindWorktree:
		return PartRepos
	case KindLock:
		return PartLocks
	case KindPhase:
		return PartPhases
	case KindLog:
		return PartLogs
	case KindExtra:
		return PartExtra
	case KindRun:
		return PartRuns
	case KindContainer:
		return PartEngine
	case KindProject, KindIssue, KindPull:
		return PartForge
	case KindPipeline, KindWorker:
		return PartCI
	case KindVault:
		return PartVaults
	case KindBudget:
		return PartSpending
	case KindPeer, KindNode, KindPool:
		return PartHub
	case KindOverlap:
		return PartOverlaps
	case KindWork, KindGate, KindConvoy, KindMail, KindMerge:
		return PartCoordination
	}
	return PartSelf
}

// Self is what Custos knows about itself.
type Self struct {
	StartedAt       Instant        `json:"started_at" help:"when it began"`
	LastPatrolAge   Leaf[Duration] `json:"last_patrol_age" help:"time since the last whole patrol ended"`
	PatrolEvery     Duration       `json:"patrol_every" help:"time between patrols; 0s when no daemon runs"`
	JournalWritable Leaf[bool]     `json:"journal_writable" help:"whether the journal can be written"`
	StoreWritable   Leaf[bool]     `json:"store_writable" help:"whether the database can be written"`
	StoreBytes      Leaf[int64]    `json:"store_bytes" help:"bytes the database takes" unit:"bytes"`
	Remembered
	Config          string         `json:"config,omitempty" help:"why what custos.toml says is not in force; empty when it is"`
	Socket          string         `json:"socket,omitempty" help:"what became of the daemon's socket; empty while it is where it was made"`
	TerminalStopped int            `json:"terminal_stopped,omitempty" help:"process of the terminal server that Custos starts agents in, while that is stopped by a signal; else 0"`
	Unwatched       string         `json:"unwatched,omitempty" help:"what is not followed by event, and why; empty when all is"`
	ClockStep       Leaf[Duration] `json:"clock_step,omitzero" help:"how far the wall clock was set within an hour; below 0s when back"`
	SearchPath      string         `json:"search_path,omitempty" help:"which folders of the PATH of Custos others may put programs into; empty when none"`

	Schedules string        `json:"schedules,omitempty" help:"which schedules of formulas cannot run, and why; empty when all can"`
	Plugins   []PluginFacts `json:"plugins,omitempty" unread:"over = \"plugin\" ranges over them"`     // in the order in which they are run
	Receivers []Receiver    `json:"receivers,omitempty" unread:"over = \"receiver\" ranges over them"` // of notifications; none where no daemon runs
	Code      []CodeFacts   `json:"code,omitempty" help:"folders of formulas and plugins that agents may write to"`
	Asked     []Asked       `json:"asked,omitempty" unread:"over = \"order\" ranges over them"` // orders of people at other hosts that wait for a person here
	Landmarks []Landmark    `json:"landmarks,omitempty" help:"its folders and files, and settings of agent CLIs with hooks of its own"`
}

// Remembered is what the ledger says of itself: unknown while it cannot be read.
type Remembered struct {
	Amnesia       Leaf[bool]   `json:"amnesia,omitzero" help:"whether what was known before is lost, and no person has confirmed it"`
	Lost          Leaf[string] `json:"lost,omitzero" help:"what became of what was known before; empty when it is there"`
	ClockBehind   Leaf[bool]   `json:"clock_behind,omitzero" help:"whether the wall clock is behind the newest record"`
	MemoryDiffers Leaf[string] `json:"memory_differs,omitzero" help:"how what is in memory differed from the database when they were last compared, which is as often as a patrol is due, once an hour at least; empty when it did not"`
	RowsAside     Leaf[int]    `json:"rows_aside,omitzero" help:"rows of the database that could not be read and were set aside within a day"`
	Moved         Leaf[string] `json:"moved,omitzero" help:"which file of the database was deleted or replaced under Custos within a day, though nothing of it is lost; empty when none was"`
}

// NotRemembered is what is known of a ledger that cannot be read, and why.
func NotRemembered(why string) Remembered {
	return Remembered{Amnesia: Unknown[bool](why), Lost: Unknown[string](why), ClockBehind: Unknown[bool](why),
		MemoryDiffers: Unknown[string](why), RowsAside: Unknown[int](why), Moved: Unknown[string](why)}
}

// Receiver is one notifier, and whether what is sent there arrives.
type Receiver struct {
	Name    string         `json:"name" help:"its name in custos.toml"`
	Waiting Duration       `json:"waiting" help:"how long the oldest of what did not arrive has been tried; 0s when all did"`
	Tries   int            `json:"tries,omitempty" help:"how many tries in a row failed"`
	Why     string         `json:"why,omitempty" help:"why the last of them failed"`
	Barred  string         `json:"barred,omitempty" help:"why nothing sent there is delivered, as the place itself says; empty when nothing is known against it"`
	Proof   Leaf[Duration] `json:"proof" help:"time since something arrived there, or the place said that it would"`
}

// Extra is one fact of a foreign probe, or of a Go probe that needs no type of
// its own: numbers and texts under a name.
type Extra struct {
	Name    string                   `json:"name" help:"its name"`
	Probe   string                   `json:"probe" help:"which probe reported it"`
	Numbers map[string]Leaf[float64] `json:"numbers,omitempty" help:"its numbers by name"`
	Texts   map[string]Leaf[string]  `json:"texts,omitempty" help:"its texts by name"`
}
