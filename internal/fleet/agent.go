package fleet

// AgentState is what an agent is doing, as far as can be told.
type AgentState string

// The states of an agent.
const (
	StateStarting    AgentState = "starting"
	StateDialog      AgentState = "dialog" // at a start-up dialog: trust, login, update
	StateWorking     AgentState = "working"
	StateIdle        AgentState = "idle"
	StateWaiting     AgentState = "waiting" // for a permission or an answer
	StateRateLimited AgentState = "rate_limited"
	StateAuthLost    AgentState = "auth_lost"
	StateContextHigh AgentState = "context_high"
	StateStuck       AgentState = "stuck"
	StateLooping     AgentState = "looping"
	StateZombie      AgentState = "zombie" // the shell or the pane is left, the agent is gone
	StateCrashed     AgentState = "crashed"
	StateFinished    AgentState = "finished"
	StateStopped     AgentState = "stopped"
	StateUnknown     AgentState = "unknown"
)

// Progress says whether an agent has visibly done something lately.
type Progress string

// The kinds of progress. Unknown never counts as none.
const (
	ProgressSome    Progress = "some"
	ProgressNone    Progress = "none" // every signal was seen, and none of them moved
	ProgressUnknown Progress = "unknown"
)

// Agent is one run of an agent CLI, whoever started it.
type Agent struct {
	Name       string         `json:"name"` // stable: the role, else session and kind, else kind and folder
	Kind       string         `json:"kind"` // claude, codex, …
	Owner      Owner          `json:"owner"`
	State      AgentState     `json:"state"`
	Reason     string         `json:"reason"`          // why this state
	Source     string         `json:"source"`          // what told it: registry, cpu, title, screen, …
	Dwell      Leaf[Duration] `json:"dwell"`           // how long in this state
	Process    ProcessID      `json:"process"`         // zero pid when the process is gone
	Procs      []ProcessID    `json:"procs,omitempty"` // the tree below it, itself first
	Pane       *Pane          `json:"pane,omitempty"`
	TTY        string         `json:"tty,omitempty"`
	CWD        Leaf[string]   `json:"cwd"`
	Args       []string       `json:"args,omitempty"` // secrets redacted
	OneShot    bool           `json:"oneshot"`        // answers one prompt and ends (claude -p)
	Age        Leaf[Duration] `json:"age"`
	CPU        Leaf[float64]  `json:"cpu"` // percent of one core, whole tree
	RSS        Leaf[int64]    `json:"rss"` // bytes, whole tree
	Progress   Progress       `json:"progress"`
	Quiet      Leaf[Duration] `json:"quiet"`                // since any life signal last moved
	SessionID  string         `json:"session_id,omitempty"` // of the CLI; changes on /clear
	ExitStatus Leaf[int]      `json:"exit_status"`          // known only for one that ended
	ExitSignal Leaf[int]      `json:"exit_signal"`
	Attached   int            `json:"attached"` // people looking at its pane
	Signals    []Signal       `json:"signals,omitempty"`
}

// Signal is one piece of evidence about an agent.
type Signal struct {
	Source string         `json:"source"` // process, registry, cpu, activity, title, screen
	Says   string         `json:"says"`   // in plain words
	Hint   AgentState     `json:"hint,omitempty"`
	Age    Leaf[Duration] `json:"age"`
}

// AgentRecord is what the ledger remembers of an agent, so that one that is
// gone can be missed.
type AgentRecord struct {
	Name     string     `json:"name"`
	Kind     string     `json:"kind"`
	Owner    Owner      `json:"owner"`
	Process  ProcessID  `json:"process"`
	Pane     *PaneID    `json:"pane,omitempty"`
	CWD      string     `json:"cwd,omitempty"`
	State    AgentState `json:"state"`
	Since    Instant    `json:"since"`
	LastSeen Instant    `json:"last_seen"`
	OneShot  bool       `json:"oneshot,omitempty"`
}
