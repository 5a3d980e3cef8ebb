package api

import (
	"slices"
	"time"
)

// AgentStates lists the states an agent can be in, as far as is known.
func AgentStates() []string {
	return []string{"starting", "dialog", "working", "idle", "waiting", "rate_limited", "auth_lost", "context_high",
		"stuck", "looping", "zombie", "crashed", "finished", "stopped", "unknown"}
}

// Attention ranks the states of agents: what may wait for a person comes first. A state that
// is not known here comes last.
func Attention(state string) int {
	order := []string{"waiting", "dialog", "auth_lost", "rate_limited", "stuck", "looping", "crashed", "zombie", "context_high", "unknown",
		"starting", "working", "idle", "stopped", "finished"}
	if i := slices.Index(order, state); i >= 0 {
		return i
	}
	return len(order)
}

// Agents is the fleet: `custos ps`.
type Agents struct {
	At      time.Time  `json:"at"`
	Seen    PartSeen   `json:"seen"`            // how the agents were seen
	Agents  []AgentRow `json:"agents"`          // what may wait for a person first
	Pending []Pending  `json:"pending"`         // what was asked for and is not there yet
	Kept    []string   `json:"kept"`            // agents that are started again when they fail, whatever the mode
	Hosts   []HostSeen `json:"hosts,omitempty"` // other machines that were asked, too
	Next    []Hint     `json:"next"`
}

// Pending is something that was asked for an agent and is not there yet.
type Pending struct {
	Agent string     `json:"agent,omitempty"`
	What  string     `json:"what"`  // start, prompt, or what an order asks for
	State string     `json:"state"` // of the agent, the prompt or the order
	Since time.Time  `json:"since"`
	For   string     `json:"for"`
	Why   string     `json:"why,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	Also  []string   `json:"also,omitempty"`  // what else holds it back
	Order string     `json:"order,omitempty"` // its ID
}

// AgentDetail is everything known about one agent: `custos show NAME`.
type AgentDetail struct {
	At       time.Time     `json:"at"`
	Agent    AgentRow      `json:"agent"`
	Signals  []AgentSignal `json:"signals"`
	Tool     *AgentTool    `json:"tool,omitempty"`   // in flight
	Dialog   *AgentDialog  `json:"dialog,omitempty"` // the question it shows
	Context  *float64      `json:"context"`          // percent used, as it reported
	Limited  *time.Time    `json:"limited_until,omitempty"`
	Exit     *AgentExit    `json:"exit,omitempty"`
	Record   *AgentRecord  `json:"record,omitempty"` // nil for one that is not registered
	Attach   []string      `json:"attach"`           // command that shows its terminal; empty when it has none that is seen
	Orders   []Order       `json:"orders"`           // that are not over
	Alerts   []Alert       `json:"alerts"`
	Planned  []Deed        `json:"planned"`
	Skipped  []Refusal     `json:"skipped"`
	Failures []Failure     `json:"failures"`           // the newest few
	Messages []Message     `json:"messages,omitempty"` // mail for it that it has not read
	Next     []Hint        `json:"next"`

	TerminalStopped int `json:"terminal_stopped,omitempty"` // process of its terminal server while that is stopped by a signal
}

// Message is one message for an agent.
type Message struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Priority string    `json:"priority"`
	About    string    `json:"about,omitempty"` // the agent it is about
	Subject  string    `json:"subject"`
	Body     string    `json:"body,omitempty"`
}

// AgentSignal is one piece of evidence about an agent.
type AgentSignal struct {
	Source string `json:"source"`
	Says   string `json:"says"`
	Hint   string `json:"hint,omitempty"` // the state it speaks for
	Age    string `json:"age,omitempty"`
}

// AgentTool is a tool call in flight.
type AgentTool struct {
	Name     string `json:"name"`
	Args     string `json:"args,omitempty"`
	For      string `json:"for"`
	Deadline string `json:"deadline"` // how long it may take
}

// AgentDialog is a question that an agent shows. It is read from text: an
// answer goes to the dialog with this hash and to no other.
type AgentDialog struct {
	ID       string        `json:"id"`
	Says     string        `json:"says"`
	Question string        `json:"question,omitempty"`
	Tool     string        `json:"tool,omitempty"`
	Args     string        `json:"args,omitempty"`
	Choices  []AgentChoice `json:"choices"`
	Hash     string        `json:"hash"`
}

// AgentChoice is one answer to a dialog.
type AgentChoice struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
}

// AgentExit is how an instance ended.
type AgentExit struct {
	Status *int      `json:"status"`
	Signal *int      `json:"signal"`
	OOM    bool      `json:"oom,omitempty"`
	At     time.Time `json:"at"`
	Source string    `json:"source"` // shim, proc, pidfd, tmux; reboot or none when nothing saw it
	Asked  string    `json:"asked,omitempty"`
	Words  string    `json:"words"`
}

// AgentRecord is what the ledger knows of an agent beyond its row.
type AgentRecord struct {
	Where      string      `json:"where"` // tmux or headless
	Argv       []string    `json:"argv"`  // secrets redacted
	Env        []string    `json:"env"`   // names of the variables handed on
	Dir        string      `json:"dir"`
	Repo       string      `json:"repo,omitempty"`
	Worktree   string      `json:"worktree,omitempty"`
	Branch     string      `json:"branch,omitempty"`
	Spec       string      `json:"spec,omitempty"`
	Files      []string    `json:"files"`
	Restart    string      `json:"restart"`
	Kept       bool        `json:"kept,omitempty"` // started again when it fails, whatever the mode
	Standing   bool        `json:"standing,omitempty"`
	MemoryMax  int64       `json:"memory_max,omitempty"` // bytes
	Heartbeat  string      `json:"heartbeat,omitempty"`  // what it promised when it was spawned
	DesiredBy  string      `json:"desired_by,omitempty"`
	DesiredAt  *time.Time  `json:"desired_at,omitempty"`
	CreatedAt  time.Time   `json:"created_at"`
	StartedAt  *time.Time  `json:"started_at,omitempty"`
	Instance   string      `json:"instance,omitempty"`
	Session    string      `json:"session,omitempty"` // of the CLI
	Prompt     string      `json:"prompt,omitempty"`  // until it is acknowledged
	Delivery   string      `json:"delivery,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Boundary   *Boundary   `json:"boundary,omitempty"`
}

// Boundary is what the kernel keeps an agent within.
type Boundary struct {
	Name     string   `json:"name"`
	By       string   `json:"by"`              // landlock or bwrap
	Landlock int      `json:"landlock"`        // version of the kernel's Landlock; 0: it has none
	Open     []string `json:"open,omitempty"`  // what was asked for and is not held
	Never    []string `json:"never,omitempty"` // what it holds on no kernel
}

// Checkpoint is what Custos wrote down of an agent's work.
type Checkpoint struct {
	At      time.Time `json:"at"`
	Head    string    `json:"head"`
	Ref     string    `json:"ref,omitempty"` // refs/custos/backup/…
	Session string    `json:"session,omitempty"`
	Prompt  string    `json:"prompt,omitempty"` // the last one
	Files   []string  `json:"files"`
}

// Screen is what a terminal shows, or the end of what a headless agent wrote:
// `custos peek NAME`.
type Screen struct {
	Agent string    `json:"agent"`
	At    time.Time `json:"at"`
	Text  string    `json:"text"`
}

// Log is what a headless agent wrote, as it was kept: `custos logs NAME`.
type Log struct {
	Agent    string    `json:"agent"`
	Instance string    `json:"instance"`         // whose output it is
	Errors   bool      `json:"errors,omitempty"` // of its standard error
	At       time.Time `json:"at"`
	Text     string    `json:"text"`            // whole lines
	Rest     string    `json:"rest,omitempty"`  // what it has not ended yet
	Next     string    `json:"next"`            // asked for after this, only what is new is shown
	Gap      bool      `json:"gap,omitempty"`   // before the text something is not kept any more
	Ended    bool      `json:"ended,omitempty"` // this instance has ended
}

// LogQuery says what of it is asked for.
type LogQuery struct {
	Lines  int // from the end
	Errors bool
	After  string // Next of the answer before
}

// Failures is the record of what went wrong with agents, oldest first.
type Failures struct {
	Failures []Failure `json:"failures"`
}

// Failure is one line of that record.
type Failure struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at"`
	Agent    string    `json:"agent"`
	Role     string    `json:"role,omitempty"`
	Project  string    `json:"project,omitempty"`
	Run      string    `json:"run,omitempty"`
	Task     string    `json:"task,omitempty"`
	Instance string    `json:"instance,omitempty"`
	Reason   string    `json:"reason"`
	Tier     int       `json:"tier"` // 0: found mechanically; 1: by a model
	Verdict  string    `json:"verdict"`
	Tags     []string  `json:"tags"`
}
