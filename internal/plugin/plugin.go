package plugin

import "time"

// File is how the file of a plugin is called, Script its program.
const (
	File   = "plugin.md"
	Script = "run.sh"
)

// MaxBytes is how large a plugin.md may be: prose for an agent, and no archive.
const MaxBytes = 1 << 20

// GateType is what opens a plugin's gate.
type GateType string

// The types of gate.
const (
	Cooldown  GateType = "cooldown"  // so long after its last end
	Cron      GateType = "cron"      // at times
	Condition GateType = "condition" // while something is so
	Event     GateType = "event"     // when something has happened
	Manual    GateType = "manual"    // when a person asks
)

// How is how a plugin is run.
type How string

// The ways to run a plugin.
const (
	ByScript How = "script" // a program
	ByAgent  How = "agent"  // its text is given to an agent
)

// Plugin is one plugin as it was written.
type Plugin struct {
	File        string // as it is named in problems
	Name        string
	Description string
	Version     string
	Gate        Gate
	Labels      []string
	Digest      bool
	How         How           // "" when it is not said
	Timeout     time.Duration // 0 when it is not said
	Notify      bool          // each failure is told, and not only when it goes on
	Severity    string        // P0 to P4; "" when it is not said
	Parallel    bool          // beside others
	Disabled    bool
	Run         []string // instead of run.sh
	Env         []string // names of variables that it gets
	Body        string   // for an agent

	lines map[string]int
}

// Gate says when a plugin is run.
type Gate struct {
	Type     GateType
	Duration time.Duration // cooldown; condition: again so long after its end, while it holds
	Schedule string        // cron: five fields
	Zone     string        // cron: IANA name; "" is UTC
	Hosts    string        // cron: EachHost or OneHost of those that share a hub; "" is each
	When     string        // condition: CEL
	Check    []string      // condition: a command that ends with 0
	Timeout  time.Duration // of Check; 0 when it is not said
	On       string        // event
}

// Line is where a key ("gate.duration") was written; where its table was, when it
// was not; else 1.
func (p Plugin) Line(key string) int {
	for ; key != ""; key = above(key) {
		if n, ok := p.lines[key]; ok {
			return n
		}
	}
	return 1
}

// The hosts that run a plugin.
const (
	EachHost = "each"
	OneHost  = "one"
)

// Folder is what lies beside a plugin.md.
type Folder struct {
	Name       string // of the folder: the plugin's, when it has none of its own
	Script     bool   // there is a run.sh
	Executable bool   // which may be executed
}
