package fleet

// Role is what agents of one kind of work have in common, as custos.toml says: the section
// [role.NAME].
type Role struct {
	Name      string   `json:"name"`
	Preset    string   `json:"preset,omitempty"` // that it goes on from
	What      string   `json:"what,omitempty"`   // one line for people
	Kind      string   `json:"kind,omitempty"`
	Argv      []string `json:"argv,omitempty"`
	Env       []string `json:"env,omitempty"` // names of variables that are passed on
	Account   string   `json:"account,omitempty"`
	Project   string   `json:"project,omitempty"`
	Repo      string   `json:"repo,omitempty"` // of which each agent has a worktree
	Dir       string   `json:"dir,omitempty"`  // or where they work
	Prompt    string   `json:"prompt,omitempty"`
	Headless  bool     `json:"headless,omitempty"`
	Restart   Restart  `json:"restart,omitempty"`
	Standing  bool     `json:"standing,omitempty"`
	MemoryMax int64    `json:"memory_max,omitempty"`
	Heartbeat string   `json:"heartbeat,omitempty"`
	MaySpawn  []string `json:"may_spawn,omitempty"`  // roles of agents that its own may start; nil: it is not said
	ReportsTo string   `json:"reports_to,omitempty"` // role of the agent that hears of their end, and of their silence, where nobody else has started them
	Mails     []string `json:"mails,omitempty"`      // types of mail that they may send ("free": any other than those that have a name); nil: it is not said
	Max       int      `json:"max,omitempty"`        // agents that have it at once; 0: not said
	Ends      string   `json:"ends,omitempty"`       // how its work ends: RoleEndsMerged, or by its agent's word
	Takes     string   `json:"takes,omitempty"`      // which work of it Custos hands out by itself, besides that of teams and reviews: RoleTakesReady, RoleTakesReturned
	Tries     int      `json:"tries,omitempty"`      // how often Custos hands one piece of work out
	Context   []string `json:"context,omitempty"`    // files with standing instructions that its agents get beside the first prompt
	Typed     bool     `json:"typed,omitempty"`      // its agents take the first prompt at their prompt, and not on their command line
}

// Which work Custos hands out by itself.
const (
	RoleTakesReady    = "ready"    // all that may be taken up
	RoleTakesReturned = "returned" // what an agent had, and that was given back
)

// RoleEndsMerged says that work which an agent of the role has is closed by its merge, and not
// by its word.
const RoleEndsMerged = "merged"
