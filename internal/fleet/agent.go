package fleet

// AgentState is what an agent is doing, as far as is known.
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

// Agent is one run of an agent CLI, no matter who started it.
type Agent struct {
	Name            string         `json:"name" help:"its stable name: the role, else session and kind, else kind and folder"`
	Kind            string         `json:"kind" help:"which CLI: claude, codex, …"`
	Version         string         `json:"version,omitempty" help:"the version of its CLI; empty where that is not known"`
	Outgrown        string         `json:"outgrown,omitempty" help:"the newest version that Custos was taught of its kind, where its own is newer; empty where it is not, or that cannot be told"`
	Owner           Owner          `json:"owner" help:"custos, adopted, configured or foreign"`
	State           AgentState     `json:"state" help:"starting, dialog, working, idle, waiting, rate_limited, auth_lost, context_high, stuck, looping, zombie, crashed, finished or stopped" unless:"unknown"`
	Reason          string         `json:"reason" help:"why this state"`
	Hint            bool           `json:"hint,omitempty" help:"whether its state is told by its screen alone, and its CLI is newer than what Custos was taught: nothing is done because of it"`
	Source          string         `json:"source" help:"what the state was seen by: hook, registry, cpu, title, screen, …"`
	Dwell           Leaf[Duration] `json:"dwell" help:"how long it has been in this state"`
	Process         ProcessID      `json:"process" help:"its process; pid 0 when that is gone"`
	Procs           []ProcessID    `json:"procs,omitempty" help:"the processes below it, itself first"`
	Pane            *Pane          `json:"pane,omitempty" help:"the tmux pane it runs in; empty where it runs in none"`
	PaneLost        Leaf[bool]     `json:"pane_lost,omitzero" help:"whether it runs, and the pane it was in is gone; only for one that runs"`
	ShimLost        Leaf[bool]     `json:"shim_lost,omitzero" help:"whether it runs, and the shim of ours that started it is gone, so that what it prints and how it ends is not written down; only for one that runs"`
	Deaf            Leaf[string]   `json:"deaf,omitzero" help:"why nothing is heard of the hooks that Custos started it with; empty where they are heard, or it has none; not known before its first turn is over, where they told nothing"`
	TTY             string         `json:"tty,omitempty" help:"its terminal"`
	CWD             Leaf[string]   `json:"cwd" help:"its working directory"`
	FolderGone      Leaf[bool]     `json:"folder_gone,omitzero" help:"whether it runs, and its working directory was removed or moved below it, whatever is at its place now; only for one that runs"`
	FolderMoved     string         `json:"folder_moved,omitempty" help:"where its folder is now, when it was moved below it"`
	FolderLost      string         `json:"folder_lost,omitempty" help:"why it cannot come back to its folder, for one that does not run: it is not there, or another one is; empty also where that is not known"`
	Beside          Leaf[[]string] `json:"beside" help:"names of the other agents that work in the same folder, sorted; the first 20"`
	Args            []string       `json:"args,omitempty" help:"its command line, secrets redacted"`
	OneShot         bool           `json:"oneshot" help:"whether it answers one prompt and ends (claude -p)"`
	Age             Leaf[Duration] `json:"age" help:"time since it began"`
	CPU             Leaf[float64]  `json:"cpu" help:"percent of one processor, its whole tree" unit:"percent"`
	RSS             Leaf[int64]    `json:"rss" help:"bytes of memory, its whole tree" unit:"bytes"`
	Progress        Progress       `json:"progress" help:"some, or none: every signal was seen and none of them moved" unless:"unknown"`
	Quiet           Leaf[Duration] `json:"quiet" help:"time since any life signal moved"`
	SessionID       string         `json:"session_id,omitempty" help:"the CLI's own session, which changes on /clear"`
	ExitStatus      Leaf[int]      `json:"exit_status" help:"known only for one that ended"`
	ExitSignal      Leaf[int]      `json:"exit_signal" help:"known only for one that a signal ended"`
	Attached        int            `json:"attached" help:"people looking at its pane"`
	TerminalStopped int            `json:"terminal_stopped,omitempty" help:"process of the terminal server that it runs in, while that is stopped by a signal; else 0"`
	Signals         []Signal       `json:"signals,omitempty" help:"the evidence its state rests on"`

	CPUTime          Leaf[Duration] `json:"cpu_time" help:"processor time of its tree so far; that of a child that has ended is not in it"`
	Still            Duration       `json:"still,omitempty" help:"for how long nothing was seen to move, as far as it was watched; quiet is known once that is long enough to be sure"`
	ContextPercent   Leaf[float64]  `json:"context_percent" help:"percent of its context used, as the agent or its transcript tells it; not known where the size of the context is not told" unit:"percent"`
	ContextUsed      Leaf[int64]    `json:"context_used,omitzero" help:"tokens of its context that are used"`
	ContextWindow    Leaf[int64]    `json:"context_window,omitzero" help:"tokens that its context holds; not known where that is not told: it is never guessed from the model"`
	Model            string         `json:"model,omitempty" help:"the model that answered it last; empty where that is not told"`
	Quota            []Quota        `json:"quota,omitempty" unread:"rules have the fullest of these windows as quota_percent"`
	QuotaPercent     Leaf[float64]  `json:"quota_percent,omitzero" help:"percent of its plan used, in the window of it that is fullest, as its CLI told within the hour; not known where it does not tell" unit:"percent"`
	Turns            Leaf[int]      `json:"turns,omitzero" help:"prompts in its conversation: 0 where there is nothing to go on with"`
	Tool             *ToolCall      `json:"tool,omitempty" help:"the tool it has begun and not ended; empty for none"`
	Dialog           *Dialog        `json:"dialog,omitempty" help:"the question it shows; empty where none can be read"`
	ComposerEmpty    Leaf[bool]     `json:"composer_empty" help:"whether nothing is half-written in its input line; its own last prompt, which its CLI put back there, is not"`
	RateLimitedUntil Instant        `json:"rate_limited_until,omitzero" help:"when its limit is reset; not known when it is not limited, or that is not reported"`
	RateLimitedAt    Instant        `json:"rate_limited_at,omitzero" unread:"it distinguishes a limit that a person lifted from a new one; rules have until when it lasts"` // when that limit was reported; zero as above, or when only its screen shows it
	Answered         Instant        `json:"answered,omitzero" help:"when its model was last seen to answer it; not known where that is not told"`
	Failure          string         `json:"failure,omitempty" help:"what ended its last turn, when an error did: rate_limit, authentication, billing, context, server_error, or another name; empty when none did"`
	LastHealthy      Leaf[Duration] `json:"last_healthy" help:"time since it was last seen in order; 0s when it is"`
	Cost             Leaf[int64]    `json:"cost" help:"what it cost so far, in millionths of a dollar: as its CLI tells, else its tokens at list prices; not known where a price is not"`
	Tokens           Leaf[int64]    `json:"tokens" help:"the tokens it used so far, those from caches too, as its transcript or its output tells"`
	SpendsNow        int64          `json:"spends_now,omitempty" help:"tokens it used in the last ten minutes, without those from the cache, as far as that is written down"`
	SpendsUsually    Leaf[int64]    `json:"spends_usually,omitzero" help:"the median of that over those ten minutes of the last day in which it used any; known from six of them on"`
	Cycles           int            `json:"cycles,omitempty" help:"patrols in a row that found it unresponsive, up to the last one"`
	Nudges           int            `json:"nudges,omitempty" help:"how often it was nudged by a rule in the last six hours"`
	Orphan           bool           `json:"orphan,omitempty" help:"whether it is a process without terminal, living parent and owner, or was left running by an agent of ours that ended"`
	Left             []ProcessID    `json:"left,omitempty" help:"what instances of it that have ended left running, below the shims that started them; oldest first"`
	LeftSays         string         `json:"left_says,omitempty" help:"what that is, and since when"`

	// Origin is what the system that started it has of it, where configuration says
	// what its role is; nil for others.
	Origin *Origin `json:"origin,omitempty" unread:"what of it counts is in the registration that is made of it"`

	// What the ledger knows of it; empty for one that is not registered.
	Registered  bool     `json:"registered,omitempty" help:"whether the ledger knows it; what follows is empty for one that it does not"`
	Role        string   `json:"role,omitempty" help:"what it is for"`
	Project     string   `json:"project,omitempty" help:"the project it works on"`
	Parent      string   `json:"parent,omitempty" help:"the agent it works for"`
	Depth       int      `json:"depth,omitempty" help:"how many agents are above it"`
	Run         string   `json:"run,omitempty" help:"the run it belongs to"`
	Task        string   `json:"task,omitempty" help:"its task"`
	Worktree    string   `json:"worktree,omitempty" help:"its worktree"`
	Account     string   `json:"account,omitempty" help:"whose rate limit it shares"`
	Desired     Desired  `json:"desired,omitempty" help:"running, stopped, paused, draining or retired"`
	Restart     Restart  `json:"restart,omitempty" help:"always, on-failure or never"`
	Standing    bool     `json:"standing,omitempty" help:"whether its role is persistent: exempt from idle rules"`
	Where       Where    `json:"where,omitempty" help:"tmux or headless"`
	Instance    string   `json:"instance,omitempty" help:"the key of its newest instance"`
	Failed      string   `json:"failed,omitempty" help:"why it is not started again by itself; empty when it is"`
	PromptState Delivery `json:"prompt_state,omitempty" help:"how far its first prompt got: pending, sent, acknowledged or undelivered; empty when it had none"`
	// What it has promised, in custos.toml or when it was spawned.
	HeartbeatEvery Duration       `json:"heartbeat_every,omitempty" help:"how often it has promised to show that it is at work; 0s when it has not"`
	HeartbeatGrace Duration       `json:"heartbeat_grace,omitempty" help:"how much later than that it may be"`
	HeartbeatAge   Leaf[Duration] `json:"heartbeat_age,omitzero" help:"time since it last showed that it is at work; only for one that has promised to"`

	CheckpointAge Leaf[Duration] `json:"checkpoint_age" help:"time since its work was last written down"`
	Handoff       HandoffStage   `json:"handoff,omitempty" help:"how far its newest instance is on its way to a fresh one in its place: asked, late, written, saving, stopping, starting or failed; empty when it is not"`
	Pool          string         `json:"pool,omitempty" help:"the pool whose worker it is; empty for none"`

	Recorded  AgentState `json:"recorded,omitempty" help:"the state its record says; what is observed wins"`
	Conflict  string     `json:"conflict,omitempty" help:"how record and observation disagree: a reason to look, never to act; empty when they do not"`
	Exit      *Exit      `json:"exit,omitempty" help:"how its newest instance ended; empty until it has"`
	Policy    string     `json:"policy,omitempty" help:"what its calls are to be judged by; empty for nothing"`
	PolicyGap string     `json:"policy_gap,omitempty" help:"what of that it is not proven to be held to; empty where nothing is missing, or it has none"`
	Tampered  string     `json:"tampered,omitempty" help:"which file that its hooks or its policy are told by is not what it was when the agent was started; empty where all are, or none was written"`
	Denied    *Denied    `json:"denied,omitempty" help:"by which rule of its policy calls of it were denied most often in the last hour; empty when none was"`
	Deaths    int        `json:"deaths,omitempty" help:"how often it ended in the last hour though it was not asked to"`
	DeathsIn  Duration   `json:"deaths_in,omitempty" help:"time since the first of those deaths"`
}

// TurnOver says whether its turn is over, as its own signals say: it is
// idle, and at most its context is nearly full. What a screen says of a context is
// not enough: it may be at work.
func (a Agent) TurnOver() bool {
	return a.Process.PID != 0 && !a.Hint && (a.State == StateIdle || a.State == StateContextHigh && a.Source != "screen") && a.Tool == nil
}

// HeldUp says whether an error ended its turn that may be over by now: it lives, does
// nothing, and can be told to go on.
func (a Agent) HeldUp() bool {
	held := a.State == StateRateLimited || a.State == StateAuthLost || a.State == StateContextHigh
	return a.Process.PID != 0 && held && a.Failure != "" && a.Tool == nil
}

// HasEnded says whether it is known that it has ended. One that ended because of a rate
// limit, or because its login was refused, is in the state that says so.
func (a Agent) HasEnded() bool {
	switch a.State {
	case StateCrashed, StateFinished, StateStopped, StateZombie:
		return true
	case StateRateLimited, StateAuthLost:
		return a.Process.PID == 0 && a.Exit != nil
	}
	return false
}

// Unsettled says whether it has ended as keys at its terminal may end it, and was
// not looked at since: whether a person did it is not known yet.
func (a Agent) Unsettled() bool {
	return a.Exit != nil && a.State == StateUnknown && (a.Exit.ByKeys() || a.Where == WhereHeadless)
}

// ToolCall is a tool that an agent has begun and not ended.
type ToolCall struct {
	Name     string   `json:"name" help:"its name"`
	CallID   string   `json:"call_id,omitempty" help:"what pairs its begin and its end"`
	Args     string   `json:"args,omitempty" help:"its arguments, filtered and redacted"`
	Since    Instant  `json:"since" help:"when it began"`
	Age      Duration `json:"age" help:"time since it began"`
	Deadline Duration `json:"deadline" help:"how long it may take before silence counts against the agent"`
}

// Over says whether the tool has had its time.
func (t ToolCall) Over() bool { return t.Age >= t.Deadline }

// Dialog is a question that an agent shows in its terminal. It is read from
// text, so it shows what may be answered, never that something must be done.
type Dialog struct {
	ID       string   `json:"id" help:"which dialog of its kind: permission, trust, …"`
	Says     string   `json:"says" help:"what kind of question it is"`
	Question string   `json:"question,omitempty" help:"the question"`
	Tool     string   `json:"tool,omitempty" help:"the tool it asks about"`
	Args     string   `json:"args,omitempty" help:"what the tool would do, redacted"`
	Choices  []Choice `json:"choices,omitempty" help:"how it can be answered"`
	Person   bool     `json:"person,omitempty" help:"whether only a person may answer"`
	Default  string   `json:"default,omitempty" help:"the harmless choice, if it has one"`
	Hash     string   `json:"hash" help:"of its text: the same for the very same dialog"`
}

// Choice is one answer to a dialog.
type Choice struct {
	Name     string   `json:"name" help:"what a person types: yes, always, no, or a number"`
	Label    string   `json:"label,omitempty" help:"what the dialog calls it"`
	Keys     []string `json:"keys" help:"what is pressed for it, by tmux's names"`
	Selected bool     `json:"selected,omitempty" help:"whether Enter alone would take it"`
}

// Signal is one piece of evidence about an agent.
type Signal struct {
	Source string         `json:"source" help:"process, hook, registry, cpu, activity, title, screen, …"`
	Says   string         `json:"says" help:"what it says, in plain words"`
	Hint   AgentState     `json:"hint,omitempty" help:"the state it points to, if any"`
	Age    Leaf[Duration] `json:"age" help:"how old it is"`
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

	// What a later look compares with, so that even a one-shot patrol can see
	// that nothing moved.
	CPUTime     Duration `json:"cpu_time,omitempty"`    // of its tree, at LastSeen
	Moved       Instant  `json:"moved,omitzero"`        // when a life signal last moved, or watching began
	LastHealthy Instant  `json:"last_healthy,omitzero"` // when it was last seen in order
	Cycles      int      `json:"cycles,omitempty"`      // patrols in a row that found it unresponsive
	CycledAt    Instant  `json:"cycled_at,omitzero"`    // when the last of them looked at it
	Instance    string   `json:"instance,omitempty"`    // of an agent of ours
}
