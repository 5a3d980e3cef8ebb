package api

import (
	"strings"
	"time"
)

// FirstLook is what `custos` alone prints: the state of the machine and its
// agents at one instant, and what could be done about it. To ask for it changes
// nothing and calls no model.
type FirstLook struct {
	At           time.Time  `json:"at"`
	From         From       `json:"from"`
	Mode         string     `json:"mode"`             // observe, ask or auto
	Frozen       string     `json:"frozen,omitempty"` // who froze Custos and why
	Host         Host       `json:"host"`
	Seen         []PartSeen `json:"seen"`
	NeedsYou     []Need     `json:"needs_you"`    // worst first; housekeeping (P4) only counted
	Housekeeping int        `json:"housekeeping"` // firing P4 alerts
	Pending      int        `json:"pending"`      // rules that are true, but not for long enough yet
	Agents       []AgentRow `json:"agents"`
	Worktrees    []Worktree `json:"worktrees"` // the stale ones
	CouldDo      []Deed     `json:"could_do"`
	Skipped      []Refusal  `json:"skipped"`
	CannotTell   []Doubt    `json:"cannot_tell"` // rules that could not be answered
	Next         []Hint     `json:"next"`
	ModelCalls   int        `json:"model_calls"` // made for this look: 0
}

// From says from where was looked. What lies outside is unknown, not absent.
type From struct {
	Host      string `json:"host"`
	UID       int    `json:"uid"`
	Container bool   `json:"container,omitempty"`
	Version   string `json:"version,omitempty"` // of Custos
	// Unsaid are the sections of custos.toml in which foreign_namespace is to be said
	// before what they name is removed: Custos is in a pid namespace of its own.
	Unsaid []string `json:"unsaid,omitempty"`
}

// Host is the machine in a few numbers; nil where they could not be seen.
type Host struct {
	MemoryAvailable *int64   `json:"memory_available"` // bytes
	MemoryTotal     *int64   `json:"memory_total"`     // bytes
	SwapUsed        *int64   `json:"swap_used"`        // bytes
	Load            *float64 `json:"load"`             // of the last minute
	CPUs            int      `json:"cpus"`
	FullestMount    string   `json:"fullest_mount,omitempty"`
	DiskPercent     *float64 `json:"disk_percent"` // of the fullest mount, as df prints it
}

// PartSeen is how one part of the world was seen.
type PartSeen struct {
	Part   string `json:"part"`
	Status string `json:"status"` // ok, stale, pending, unknown or absent
	Count  int    `json:"count"`
	What   string `json:"what"` // the count in words: "3 panes"
	Why    string `json:"why,omitempty"`
	Took   string `json:"took,omitempty"`
	Source string `json:"source,omitempty"`
}

// Need is one thing a person should look at, with the command to type.
// One of which no rule notifies people yet has no number and no rule.
type Need struct {
	Host     string    `json:"host,omitempty"` // another machine that it is of
	Number   int64     `json:"number,omitempty"`
	ID       string    `json:"id,omitempty"` // Alert.ID of its alert; empty where there is none
	Priority string    `json:"priority"`
	Rule     string    `json:"rule,omitempty"`
	Subject  string    `json:"subject"`
	Summary  string    `json:"summary"`
	Since    time.Time `json:"since"`
	For      string    `json:"for"`
	Command  string    `json:"command"`
	Runbook  string    `json:"runbook,omitempty"`
}

// AgentRow is one agent: what it is doing, for how long, and how that is known.
type AgentRow struct {
	Name        string   `json:"name"`
	Host        string   `json:"host,omitempty"` // another machine that it is on; its name begins with it then
	Kind        string   `json:"kind"`
	Version     string   `json:"version,omitempty"`    // of its CLI; empty where that is not known
	Outgrown    string   `json:"outgrown,omitempty"`   // the newest version that Custos was taught, where its own is newer
	Policy      string   `json:"policy,omitempty"`     // what its calls are to be judged by
	PolicyGap   string   `json:"policy_gap,omitempty"` // what of that it is not proven to be held to
	State       string   `json:"state"`
	Since       string   `json:"since,omitempty"` // how long in this state
	Reason      string   `json:"reason"`
	Source      string   `json:"source"`
	Owner       string   `json:"owner"`              // custos, adopted, configured or foreign
	Instance    string   `json:"instance,omitempty"` // what tells it from another one of the same name, on whichever machine
	PID         int      `json:"pid,omitempty"`
	CWD         string   `json:"cwd,omitempty"`
	Pane        string   `json:"pane,omitempty"` // session:window.pane
	Socket      string   `json:"socket,omitempty"`
	OneShot     bool     `json:"oneshot,omitempty"`
	CPU         *float64 `json:"cpu"`                    // percent of one core
	RSS         *int64   `json:"rss"`                    // bytes
	Model       string   `json:"model,omitempty"`        // that answered it last
	ContextUsed *int64   `json:"context_used,omitempty"` // tokens of its context
	Context     *float64 `json:"context_percent,omitempty"`
	Tokens      *int64   `json:"tokens,omitempty"`  // that it used so far
	Dollars     *float64 `json:"dollars,omitempty"` // that it cost so far, as told or at list prices
	People      int      `json:"people"`

	// What the ledger knows of it; empty for one that is not registered.
	Registered bool   `json:"registered,omitempty"`
	Role       string `json:"role,omitempty"`
	Project    string `json:"project,omitempty"`
	Task       string `json:"task,omitempty"`
	Run        string `json:"run,omitempty"`
	Parent     string `json:"parent,omitempty"`
	Depth      int    `json:"depth,omitempty"`
	Account    string `json:"account,omitempty"`
	// Boundary is what the kernel keeps it within; nil for nothing.
	Boundary *Boundary `json:"boundary,omitempty"`
	Desired  string    `json:"desired,omitempty"`
	Failed   string    `json:"failed,omitempty"`   // why it is not started again by itself
	Ended    string    `json:"ended,omitempty"`    // how, in words
	Deaf     string    `json:"deaf,omitempty"`     // why nothing is heard of the hooks that it was started with
	Conflict string    `json:"conflict,omitempty"` // how record and observation disagree
	Delivery string    `json:"delivery,omitempty"` // of its first prompt
	Left     string    `json:"left,omitempty"`     // what its ended instances left running, and since when
}

// Worktree is one stale worktree, and whether it may go.
type Worktree struct {
	Path      string   `json:"path"`
	Repo      string   `json:"repo"`
	Branch    string   `json:"branch,omitempty"`
	Owner     string   `json:"owner"`
	Age       string   `json:"age,omitempty"` // since anything in it changed
	Bytes     *int64   `json:"bytes"`
	Fills     []Fill   `json:"fills"`  // what fills it, biggest first
	Merged    *bool    `json:"merged"` // its content is in the primary branch
	MergedBy  string   `json:"merged_by,omitempty"`
	Removable *bool    `json:"removable"` // nothing in it would be lost
	WhyNot    []string `json:"why_not"`
	Missing   bool     `json:"missing,omitempty"`
	Crashed   bool     `json:"crashed,omitempty"`
}

// Fill is one folder of reproducible output.
type Fill struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	What  string `json:"what"`
}

// Deed is an action that is planned or could be done, with the exact commands.
type Deed struct {
	ID       string    `json:"id,omitempty"`
	Do       string    `json:"do"`
	Subject  string    `json:"subject"`
	Priority string    `json:"priority"`
	Rule     string    `json:"rule"`
	Why      string    `json:"why"`
	Attempt  int       `json:"attempt,omitempty"`
	Commands []Command `json:"commands"`
	// Held is what holds it back without the approval that this plan supposes.
	Held *Refusal `json:"held,omitempty"`
}

// Command is one command, argument by argument.
type Command struct {
	Argv []string `json:"argv"`
	Note string   `json:"note,omitempty"`
}

// Refusal is an action that a guard refused.
type Refusal struct {
	Do       string     `json:"do"`
	Subject  string     `json:"subject"`
	Priority string     `json:"priority"`
	Rule     string     `json:"rule"`
	Guard    string     `json:"guard"`
	Why      string     `json:"why"`
	Until    *time.Time `json:"until,omitempty"` // the latest known moment of all that holds it
	Hint     string     `json:"hint,omitempty"`
	Also     []string   `json:"also,omitempty"` // what else holds it, of a hold whose end is known
}

// Hint is a command to type next, and what it does.
type Hint struct {
	Command string `json:"command"`
	What    string `json:"what"`
}

// KindWords says which CLI it is, and whether that is newer than what Custos was taught.
func (g AgentRow) KindWords() string {
	out := strings.TrimSpace(g.Kind + " " + g.Version)
	if g.Outgrown != "" {
		out += ", newer than " + g.Outgrown + ", which Custos was taught: its screen is a hint only"
	}
	return out
}

// PolicyWords says what its calls are judged by, and what of that it is not proven to be held to.
func (g AgentRow) PolicyWords() string {
	if g.PolicyGap == "" {
		return g.Policy
	}
	return g.Policy + ": " + g.PolicyGap
}
