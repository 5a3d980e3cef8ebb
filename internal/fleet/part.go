package fleet

// Status says how well a part of the snapshot was seen.
type Status string

// The statuses of a part.
const (
	StatusOK      Status = "ok"      // looked, at At
	StatusStale   Status = "stale"   // the last good look is older than it should be
	StatusPending Status = "pending" // not looked yet, or an action touched it since
	StatusUnknown Status = "unknown" // looked, and could not see
	StatusAbsent  Status = "absent"  // there is no such thing here (no tmux, no engine): said once, not a blindness
)

// Sight is how a part was seen.
type Sight struct {
	Status Status   `json:"status" help:"ok, stale, pending, unknown or absent"`
	At     Instant  `json:"at,omitzero" help:"the last good look"`
	Why    string   `json:"why,omitempty" help:"why it is not ok"`
	Cut    string   `json:"cut,omitempty" help:"what of it is not looked at, because there is too much; empty when all is"`
	Blind  Duration `json:"blind,omitempty" help:"how long it has not been ok"`
	Took   Duration `json:"took,omitempty" help:"how long the last look took"`
	Probe  string   `json:"probe,omitempty" help:"which probe fills it"`
	Hung   bool     `json:"hung,omitempty" help:"whether the last look did not answer by its deadline"`
	Source string   `json:"source,omitempty" help:"where it looked"`
}

// Usable says whether values of the part may be read at all (ok, stale or absent).
func (s Sight) Usable() bool {
	return s.Status == StatusOK || s.Status == StatusStale || s.Status == StatusAbsent
}

// Fresh says whether an action may rest on it.
func (s Sight) Fresh() bool { return s.Status == StatusOK || s.Status == StatusAbsent }

// Tells says whether what the part does not hold is known not to be there.
func (s Sight) Tells() bool { return s.Fresh() && s.Cut == "" }

// Part is one part of the snapshot with how it was seen. Value is meaningful
// only when Sight.Usable.
type Part[T any] struct {
	Sight `json:"sight"`
	Value T `json:"value"`
}

// Blind makes the part unknown. Tests use it to blind every part in turn.
func (p *Part[T]) Blind(why string) {
	var zero T
	p.Value = zero
	p.Sight = Sight{Status: StatusUnknown, Why: why, Probe: p.Probe}
}

// Look returns the sight, so that parts of different types can be listed.
func (p *Part[T]) Look() *Sight { return &p.Sight }

// PartName names a part of the snapshot.
type PartName string

// The parts.
const (
	PartHost      PartName = "host"
	PartProcesses PartName = "processes"
	PartSessions  PartName = "sessions"
	PartAgents    PartName = "agents"
	PartRepos     PartName = "repos"
	PartLocks     PartName = "locks"
	PartPhases    PartName = "phases"
	PartLogs      PartName = "logs"
	PartSelf      PartName = "self"
	PartExtra     PartName = "extra"
	PartRuns      PartName = "runs" // of formulas
	PartEngine    PartName = "containers"
	PartForge     PartName = "forge"
	PartCI        PartName = "ci"
	PartBeads     PartName = "beads"    // work in a tracker of beads
	PartVaults    PartName = "vaults"   // what agents ask people for
	PartOverlaps  PartName = "overlaps" // what agents of two worktrees both change
	PartChecks    PartName = "checks"   // commands of gates

	PartHub          PartName = "hub"      // what is shared with other hosts
	PartSpending     PartName = "spending" // what models cost
	PartCoordination PartName = "coordination"
)

// PartNames lists the parts in the order they are shown.
func PartNames() []PartName {
	return []PartName{PartHost, PartProcesses, PartSessions, PartAgents, PartRepos,
		PartLocks, PartPhases, PartLogs, PartSelf, PartExtra, PartRuns, PartEngine, PartForge, PartCI,
		PartBeads, PartVaults, PartOverlaps, PartChecks, PartSpending, PartHub, PartCoordination}
}
