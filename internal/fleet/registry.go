package fleet

import "cmp"

// Desired is what people, or policy, want of an agent.
type Desired string

// The desired states. A person's stop is final until a person starts it.
const (
	DesiredRunning  Desired = "running"
	DesiredStopped  Desired = "stopped"
	DesiredPaused   Desired = "paused"
	DesiredDraining Desired = "draining" // finish the turn, then stop
	DesiredRetired  Desired = "retired"  // ended for good: kept for the record only
)

// Restart says when an agent that ended is started again.
type Restart string

// The restart policies.
const (
	RestartAlways    Restart = "always"     // also after a clean exit
	RestartOnFailure Restart = "on-failure" // after a crash
	RestartNever     Restart = "never"
)

// Where says what an agent of ours runs in.
type Where string

// The places an agent can be spawned in.
const (
	WhereTmux     Where = "tmux"     // a pane on the private server
	WhereHeadless Where = "headless" // no terminal: output goes to capped logs
)

// Registration is the ledger's record of an agent: what it is for, and what is
// wanted of it. It outlives every instance.
type Registration struct {
	Name     string   `json:"name"` // unique; the stable subject
	Role     string   `json:"role,omitempty"`
	Project  string   `json:"project,omitempty"`
	Kind     string   `json:"kind"`
	Owner    Owner    `json:"owner"`            // custos or adopted
	Origin   string   `json:"origin,omitempty"` // what the system calls it that started it first; "" for one that Custos did
	Where    Where    `json:"where"`
	Argv     []string `json:"argv"`               // the agent CLI's own command line, without what hooks and resume add
	Env      []string `json:"env,omitempty"`      // names of variables passed on from the daemon's environment; never values
	Set      []string `json:"set,omitempty"`      // variables given to it, NAME=value: never secrets
	Detached bool     `json:"detached,omitempty"` // its worktree is checked out at the primary branch's commit, on no branch
	Dir      string   `json:"dir"`                // working folder; the worktree when there is one
	Real     string   `json:"real,omitempty"`     // where its folder led, past all links, when it was started last; "" where that is not known
	// Folder is which folder that was when it was started last; nil where that is not known.
	Folder   *FolderID `json:"folder,omitempty"`
	Repo     string    `json:"repo,omitempty"` // repository its worktree belongs to
	Worktree string    `json:"worktree,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Task     string    `json:"task,omitempty"`
	Spec     string    `json:"spec,omitempty"`
	Files    []string  `json:"files,omitempty"`
	Parent   string    `json:"parent,omitempty"`
	Depth    int       `json:"depth,omitempty"`
	Run      string    `json:"run,omitempty"`
	Town     bool      `json:"town,omitempty"`    // as of its run
	Account  string    `json:"account,omitempty"` // whose rate limit it shares
	// ConfigDir is the folder of its CLI's own that it was given when it was started last, in which
	// its conversation is kept; "" for the one that the CLI uses by itself.
	ConfigDir string  `json:"config_dir,omitempty"`
	Restart   Restart `json:"restart"`
	// Policy is what its calls are to be judged by, since it was started last; "" for nothing.
	Policy string `json:"policy,omitempty"`
	// Given are the files that its hooks and its policy are told by, since it was started last.
	Given     []Given `json:"given,omitempty"`
	Standing  bool    `json:"standing,omitempty"`   // persistent role: exempt from idle rules
	MemoryMax int64   `json:"memory_max,omitempty"` // bytes; 0: no cap
	// Heartbeat is what it has promised; nil for nothing.
	Heartbeat *Heartbeat `json:"heartbeat,omitempty"`

	Desired   Desired `json:"desired"`
	DesiredBy string  `json:"desired_by,omitempty"`
	DesiredAt Instant `json:"desired_at,omitzero"`
	// DesiredFor is "account/NAME" when it was paused with its whole account.
	DesiredFor string `json:"desired_for,omitempty"`
	// LimitLifted is when a person said that the rate limits reported until then hold no
	// more: with its account, or of itself where it has none.
	LimitLifted Instant `json:"limit_lifted,omitzero"`
	CreatedAt   Instant `json:"created_at"`
	Revision    int64   `json:"revision,omitempty"` // counts the changes of the record; the store's own

	// The newest instance.
	Instance    string      `json:"instance,omitempty"` // key of its shim: unique, also the value of its marker CUSTOS_AGENT
	Process     ProcessID   `json:"process,omitzero"`
	StartedAt   Instant     `json:"started_at,omitzero"`
	Server      string      `json:"server,omitempty"`     // socket of the terminal server it was started on; "" for none, and where that is not known
	SessionID   string      `json:"session_id,omitempty"` // of the CLI, for resume
	Prompt      string      `json:"prompt,omitempty"`     // the first prompt, until it is acknowledged
	PromptState Delivery    `json:"prompt_state,omitempty"`
	Exit        *Exit       `json:"exit,omitempty"`      // of the newest instance, once it ended
	Unresumed   *Exit       `json:"unresumed,omitempty"` // of the try to resume its conversation, where the newest instance was begun afresh after one
	Deaths      []Instant   `json:"deaths,omitempty"`    // when instances of the last hour ended though they were not asked to, the newest last
	Failed      string      `json:"failed,omitempty"`    // why it is not started again by itself: the attempts of its window are spent
	Checkpoint  *Checkpoint `json:"checkpoint,omitempty"`
	Handoff     *Handoff    `json:"handoff,omitempty"`    // the newest one
	Pool        string      `json:"pool,omitempty"`       // whose worker it is
	Dispatched  bool        `json:"dispatched,omitempty"` // Custos started it for its task alone: with that it ends
	RoleSum     string      `json:"role_sum,omitempty"`   // digest of what its role's section said when it was to start; "" without such a section
	From        string      `json:"from,omitempty"`       // branch that its own begins at, where that is still there; "" for the primary one
	// Boundary is what the kernel keeps the newest instance within; nil for nothing.
	Boundary *Boundary `json:"boundary,omitempty"`
}

// Boundary is what an instance was started within.
type Boundary struct {
	Name     string   `json:"name"`
	By       string   `json:"by"`              // landlock or bwrap
	Landlock int      `json:"landlock"`        // version of the kernel's Landlock; 0: it has none
	Open     []string `json:"open,omitempty"`  // what was asked for and is not held
	Never    []string `json:"never,omitempty"` // what it holds on no kernel
}

// Given is a file that an agent's hooks, or its policy, are told by, as it was written when the agent was started.
type Given struct {
	Path string `json:"path"`
	Sum  string `json:"sum"` // SHA-256
}

// Delivery is how far a text for an agent got.
type Delivery string

// The states of a delivery.
const (
	DeliveryPending      Delivery = "pending"
	DeliverySent         Delivery = "sent"         // typed, not yet acknowledged
	DeliveryAcknowledged Delivery = "acknowledged" // the agent's prompt hook reported it
	DeliveryUndelivered  Delivery = "undelivered"
)

// Checkpoint is what Custos wrote down of an agent's work, without asking it.
type Checkpoint struct {
	At         Instant  `json:"at"`
	Head       string   `json:"head"`          // commit checked out
	Ref        string   `json:"ref,omitempty"` // refs/custos/backup/…: uncommitted, untracked and precious work
	Task       string   `json:"task,omitempty"`
	LastPrompt string   `json:"last_prompt,omitempty"`
	SessionID  string   `json:"session_id,omitempty"`
	Files      []string `json:"files,omitempty"`   // touched since it started
	Summary    string   `json:"summary,omitempty"` // when the agent gave one
}

// Tree is the agent's worktree as git has it, past all links, which its record may name
// it by; as the record has it while it is not known where that led; "" for an agent that
// has none.
func (r Registration) Tree() string {
	if r.Worktree == "" {
		return ""
	}
	return cmp.Or(r.Real, r.Worktree)
}

// Kept says whether the agent is started again when it fails, whatever the fleet's
// mode: a person spawned it, or started it last, and did not say that it is never
// restarted. The guards hold all the same.
func (r Registration) Kept() bool {
	return r.Owner == OwnerCustos && r.Desired == DesiredRunning && IsPerson(r.DesiredBy) &&
		(r.Restart == RestartOnFailure || r.Restart == RestartAlways)
}

// Learn returns the registration with what an action learned of the agent's
// newest instance. What people want of it, and what it is for, stays. What was seen
// of the same instance since the action began stays too: how it ended, its session,
// and that it took its prompt.
func (r Registration) Learn(from Registration) Registration {
	if from.Instance != r.Instance {
		r.Exit, r.Failed = nil, ""
	} else {
		if r.SessionID != "" {
			from.SessionID = r.SessionID
		}
		if r.PromptState == DeliveryAcknowledged {
			from.Prompt, from.PromptState = r.Prompt, r.PromptState
		}
	}
	if from.Exit != nil {
		r.Exit = from.Exit
	}
	if r.Owner == OwnerAdopted && from.Instance != "" {
		r.Owner = OwnerCustos // no matter who started it first: this instance is ours
	}
	r.Instance, r.Process, r.StartedAt, r.Unresumed, r.Server = from.Instance, from.Process, from.StartedAt, from.Unresumed, from.Server
	r.Boundary, r.Policy, r.Given = from.Boundary, from.Policy, from.Given
	r.Dir, r.Real, r.Folder, r.Repo, r.Worktree, r.Branch = from.Dir, from.Real, from.Folder, from.Repo, from.Worktree, from.Branch
	r.SessionID, r.Prompt, r.PromptState = from.SessionID, from.Prompt, from.PromptState
	if c := from.Checkpoint; c != nil && (r.Checkpoint == nil || !c.At.Before(r.Checkpoint.At)) {
		r.Checkpoint = c
	}
	return r
}

// Failure is one line of the record of what went wrong with agents.
type Failure struct {
	ID       int64    `json:"id"`
	At       Instant  `json:"at"`
	Agent    string   `json:"agent"`
	Role     string   `json:"role,omitempty"`
	Project  string   `json:"project,omitempty"`
	Run      string   `json:"run,omitempty"`
	Task     string   `json:"task,omitempty"`
	Instance string   `json:"instance,omitempty"`
	Reason   string   `json:"reason"`
	Tier     int      `json:"tier"`    // 0: judged mechanically; 1: by a model
	Verdict  string   `json:"verdict"` // crashed, start_failed, resume_failed, recovery_failed, given_up, or a model's word
	Tags     []string `json:"tags,omitempty"`
}
