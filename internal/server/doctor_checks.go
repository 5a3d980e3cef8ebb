package server

// check is one row of the table of everything the doctor looks at: pure judging
// of what was gathered before.
type check struct {
	category string
	name     string
	needs    int // what it cannot do without
	judge    func(*Examination) verdict
}

// What a check needs.
const (
	wantsConfig = 1 << iota // a configuration that can be read
	wantsPlaces             // what was found of the installation
	wantsFleet              // a look, and the ledger
)

// both is what most checks of the installation need.
const both = wantsConfig | wantsPlaces

// seenFleet is what checks of what Custos watches need.
const seenFleet = wantsConfig | wantsFleet

// checks is the table, in the order it is told.
func checks() []check {
	return []check{
		{"dependencies", "tmux", wantsPlaces, program("tmux", "agents in terminals are neither seen nor started")},
		{"dependencies", "git", wantsPlaces, program("git", "repositories and worktrees are not seen")},
		{"dependencies", "custos-shim", wantsPlaces, program("custos-shim", "no agent can be started")},
		{"dependencies", "custos-hook", wantsPlaces, program("custos-hook", "agents tell nothing of themselves")},
		{"structure", "folders", both, judgePlaces("dir")},
		{"structure", "files", both, judgePlaces("file")},
		{"structure", "writable", seenFleet, judgeWritable},
		{"config", "read", 0, judgeConfig},
		{"config", "in-force", both, judgeInForce},
		{"config", "namespace", seenFleet, judgeNamespace},
		{"databases", "open", both, judgeStore},
		{"databases", "pages", both, judgePages},
		{"databases", "rows", both, judgeRows},
		{"databases", "damaged", both, judgeAside},
		{"databases", "memory", seenFleet, judgeMemory},
		{"consistency", "records", seenFleet, judgeRecords},
		{"consistency", "parents", seenFleet, judgeParents},
		{"consistency", "worktrees", seenFleet, judgeShared},
		{"consistency", "runs", seenFleet, judgeOpenRuns},
		{"consistency", "orders", seenFleet, judgeOrders},
		{"agents", "programs", both | wantsFleet, judgeKinds},
		{"agents", "states", seenFleet, judgeStates},
		{"logs", "size", seenFleet, judgeLogs},
		{"logs", "lines", both | wantsFleet, judgeLines},
		{"logs", "tools", seenFleet, judgeTools},
		{"locks", "held", seenFleet, judgeLocks},
		{"sessions", "seen", seenFleet, judgeSessions},
		{"sessions", "dead-panes", seenFleet, judgeDeadPanes},
		{"sessions", "orphans", seenFleet, judgeOrphans},
		{"worktrees", "seen", seenFleet, judgeRepos},
		{"worktrees", "missing", seenFleet, judgeMissing},
		{"worktrees", "crashed", seenFleet, judgeCrashed},
		{"worktrees", "unused", seenFleet, judgeUnused},
		{"worktrees", "unfinished", seenFleet, judgeUnfinished},
		{"hooks", "installed", both, judgeHooks},
		{"hooks", "undone", both, judgeUndone},
		{"formulas", "readable", seenFleet, judgeFormulas},
		{"schedules", "runnable", seenFleet, judgeSchedules},
		{"forge", "reachable", seenFleet, judgeForge},
		{"merge-queue", "owners", seenFleet, judgeQueue},
		{"ci", "reachable", seenFleet, judgeCI},
		{"ci", "workers", seenFleet, judgeWorkers},
		{"containers", "reachable", seenFleet, judgeEngine},
		{"chat", "configured", both, judgeChat},
		{"chat", "reachable", both, judgeReach},
		{"disk", "space", seenFleet, judgeDisk},
		{"disk", "inodes", seenFleet, judgeInodes},
		{"clock", "behind", seenFleet, judgeClock},
		{"clock", "skew", seenFleet, judgeSkew},
		{"security", "folders", both, judgeOthers("dir")},
		{"security", "files", both, judgeOthers("file")},
		{"security", "sockets", both, judgeSockets},
		{"security", "secrets", both, judgeSecrets},
		{"security", "listening", both, judgeListening},
		{"version", "daemon", wantsConfig, judgeVersion},
		{"version", "programs", wantsPlaces, judgeBuilt},
	}
}
