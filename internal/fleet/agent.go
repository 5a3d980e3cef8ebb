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
	Name        string         `json:"name"` // stable: the role, else session and kind, else kind and folder
	Kind        string         `json:"kind"` // claude, codex, …
	Owner       Owner          `json:"owner"`
	State       AgentState     `json:"state"`
	Reason      string         `json:"reason"`          // why this state
	Source      string         `json:"source"`          // what told it: registry, cpu, title, screen, …
	Dwell       Leaf[Duration] `json:"dwell"`           // how long in this state
	Process     ProcessID      `json:"process"`         // zero pid when the process is gone
	Procs       []ProcessID    `json:"procs,omitempty"` // the tree below it, itself first
	Pane        *Pane          `json:"pane,omitempty"`
	PaneLost    Leaf[bool]     `json:"pane_lost,omitzero"` // it runs, and the pane it was in is gone
	ShimLost    Leaf[bool]     `json:"shim_lost,omitzero"` // it runs, and the shim of ours that started it is gone: nobody writes down how it ends, or what it prints
	TTY         string         `json:"tty,omitempty"`
	CWD         Leaf[string]   `json:"cwd"`
	FolderGone  Leaf[bool]     `json:"folder_gone,omitzero"`   // it runs, and that folder was removed or moved below it, whatever is at its place now
	FolderMoved string         `json:"folder_moved,omitempty"` // where that folder is now, when it was moved below it
	FolderLost  string         `json:"folder_lost,omitempty"`  // why it cannot come back to where it was started last, for what is there now; of one that does not run, "" also where that is not known
	Beside      Leaf[[]string] `json:"beside"`                 // names of the other agents that work in the same folder, sorted; the first 20
	Args        []string       `json:"args,omitempty"`         // secrets redacted
	OneShot     bool           `json:"oneshot"`                // answers one prompt and ends (claude -p)
	Age         Leaf[Duration] `json:"age"`
	CPU         Leaf[float64]  `json:"cpu"` // percent of one core, whole tree
	RSS         Leaf[int64]    `json:"rss"` // bytes, whole tree
	Progress    Progress       `json:"progress"`
	Quiet       Leaf[Duration] `json:"quiet"`                // since any life signal last moved
	SessionID   string         `json:"session_id,omitempty"` // of the CLI; changes on /clear
	ExitStatus  Leaf[int]      `json:"exit_status"`          // known only for one that ended
	ExitSignal  Leaf[int]      `json:"exit_signal"`
	Attached    int            `json:"attached"` // people looking at its pane
	// TerminalStopped is the process of the terminal server that it runs in while that
	// is stopped by a signal, so that nobody sees it; 0 for none.
	TerminalStopped int      `json:"terminal_stopped,omitempty"`
	Signals         []Signal `json:"signals,omitempty"`

	CPUTime          Leaf[Duration] `json:"cpu_time"`                    // processor time of the tree: what is left of it when a child has ended
	Still            Duration       `json:"still,omitempty"`             // for how long nothing was seen to move, as far as it was watched; Quiet is known once that is long enough to tell
	ContextPercent   Leaf[float64]  `json:"context_percent"`             // of its context used, as it told itself
	Tool             *ToolCall      `json:"tool,omitempty"`              // in flight now
	Dialog           *Dialog        `json:"dialog,omitempty"`            // the question it shows, where it can be read
	ComposerEmpty    Leaf[bool]     `json:"composer_empty"`              // nothing half-written in its input line
	RateLimitedUntil Instant        `json:"rate_limited_until,omitzero"` // when its limit is reset; zero when it is not limited, or that is not told
	RateLimitedAt    Instant        `json:"rate_limited_at,omitzero"`    // when it was told of that limit; zero as above, or when only its screen shows it
	LastHealthy      Leaf[Duration] `json:"last_healthy"`                // since it was last seen in order; 0 when it is
	Cost             Leaf[int64]    `json:"cost"`                        // of its newest instance, in millionths of a dollar, as it told itself
	Tokens           Leaf[int64]    `json:"tokens"`                      // of its newest instance, as it told itself
	Cycles           int            `json:"cycles,omitempty"`            // patrols in a row that found it unresponsive, up to the last one
	Nudges           int            `json:"nudges,omitempty"`            // how often it was nudged by a rule in the last six hours
	Orphan           bool           `json:"orphan,omitempty"`            // a process without terminal, without a living parent and without an owner; or what an ended instance of ours left running
	// Left is what instances of it that have ended left running, oldest first, and
	// LeftSays names each with since when, for people.
	Left     []ProcessID `json:"left,omitempty"`
	LeftSays string      `json:"left_says,omitempty"`

	// Origin is what the system that started it has of it, where configuration says
	// what its role is; nil for others.
	Origin *Origin `json:"origin,omitempty"`

	// What the ledger knows of it; empty for one that is not registered.
	Registered  bool     `json:"registered,omitempty"`
	Role        string   `json:"role,omitempty"`
	Project     string   `json:"project,omitempty"`
	Parent      string   `json:"parent,omitempty"` // name of the agent it works for
	Depth       int      `json:"depth,omitempty"`
	Run         string   `json:"run,omitempty"`
	Task        string   `json:"task,omitempty"`
	Worktree    string   `json:"worktree,omitempty"`
	Account     string   `json:"account,omitempty"`
	Desired     Desired  `json:"desired,omitempty"`
	Restart     Restart  `json:"restart,omitempty"`
	Standing    bool     `json:"standing,omitempty"` // persistent role: exempt from idle rules
	Where       Where    `json:"where,omitempty"`
	Instance    string   `json:"instance,omitempty"`
	Failed      string   `json:"failed,omitempty"` // why it is not started again by itself
	PromptState Delivery `json:"prompt_state,omitempty"`
	// What it has promised, in custos.toml or when it was spawned.
	HeartbeatEvery Duration       `json:"heartbeat_every,omitempty"` // 0: nothing
	HeartbeatGrace Duration       `json:"heartbeat_grace,omitempty"` // on top of it
	HeartbeatAge   Leaf[Duration] `json:"heartbeat_age,omitzero"`    // since it last showed that it is at work

	CheckpointAge Leaf[Duration] `json:"checkpoint_age"`
	Handoff       HandoffStage   `json:"handoff,omitempty"` // of its newest instance
	Pool          string         `json:"pool,omitempty"`    // whose worker it is

	Recorded AgentState `json:"recorded,omitempty"`  // what the record says, where there is one; what is observed wins
	Conflict string     `json:"conflict,omitempty"`  // how record and observation disagree: a reason to look, never to act
	Exit     *Exit      `json:"exit,omitempty"`      // how the newest instance ended, once it has
	Deaths   int        `json:"deaths,omitempty"`    // of its instances, in the last hour, that nobody asked for
	DeathsIn Duration   `json:"deaths_in,omitempty"` // since the first of those
}

// TurnOver says whether its turn is over, as it told by its own signals: it is
// idle, and at most its context is nearly full. What a screen says of a context is
// not enough: it may be at work.
func (a Agent) TurnOver() bool {
	return a.Process.PID != 0 && (a.State == StateIdle || a.State == StateContextHigh && a.Source == "hook") && a.Tool == nil
}

// Unsettled says whether it has ended as keys at its terminal may end it, and was
// not looked at since: whether a person did it is not known yet.
func (a Agent) Unsettled() bool { return a.Exit != nil && a.State == StateUnknown && a.Exit.ByKeys() }

// ToolCall is a tool that an agent has begun and not ended.
type ToolCall struct {
	Name     string   `json:"name"`
	CallID   string   `json:"call_id,omitempty"`
	Args     string   `json:"args,omitempty"` // filtered and redacted
	Since    Instant  `json:"since"`
	Age      Duration `json:"age"`
	Deadline Duration `json:"deadline"` // how long it may take before silence counts against the agent
}

// Over says whether the tool has had its time.
func (t ToolCall) Over() bool { return t.Age >= t.Deadline }

// Dialog is a question that an agent shows in its terminal. It is read from
// text, so it tells what may be answered, never that something must be done.
type Dialog struct {
	ID       string   `json:"id"`   // of the dialog in the data of its kind
	Says     string   `json:"says"` // what kind of question it is
	Question string   `json:"question,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Args     string   `json:"args,omitempty"` // redacted
	Choices  []Choice `json:"choices,omitempty"`
	Person   bool     `json:"person,omitempty"`  // only a person may answer it
	Default  string   `json:"default,omitempty"` // name of the harmless choice
	Hash     string   `json:"hash"`              // of its text, so that an answer goes to this very dialog
}

// Choice is one answer to a dialog.
type Choice struct {
	Name     string   `json:"name"` // yes, always, no, or a number
	Label    string   `json:"label,omitempty"`
	Keys     []string `json:"keys"`               // what is typed for it, by tmux's names
	Selected bool     `json:"selected,omitempty"` // what Enter alone would take
}

// Signal is one piece of evidence about an agent.
type Signal struct {
	Source string         `json:"source"` // process, registry, cpu, activity, title, screen
	Says   string         `json:"says"`   // in plain words
	Hint   AgentState     `json:"hint,omitempty"`
	Age    Leaf[Duration] `json:"age"`
}

// SourceOutput is the source of the signal that quotes what an agent printed
// last. It says nothing of a state.
const SourceOutput = "output"

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

	// What a later look compares with, so that even a one-shot patrol can tell
	// that nothing moved.
	CPUTime     Duration `json:"cpu_time,omitempty"`    // of its tree, at LastSeen
	Moved       Instant  `json:"moved,omitzero"`        // when a life signal last moved, or watching began
	LastHealthy Instant  `json:"last_healthy,omitzero"` // when it was last seen in order
	Cycles      int      `json:"cycles,omitempty"`      // patrols in a row that found it unresponsive
	CycledAt    Instant  `json:"cycled_at,omitzero"`    // when the last of them looked at it
	Instance    string   `json:"instance,omitempty"`    // of an agent of ours
}
