package api

import (
	"strings"
	"time"
)

// OrderRequest asks for something to be done with an agent. The same ID twice
// is one order.
type OrderRequest struct {
	ID      string `json:"id,omitempty"` // chosen by who asks; made up when empty
	Do      string `json:"do"`           // spawn, nudge, answer, interrupt, stop, recover, backup, pause, resume or adopt
	Agent   string `json:"agent,omitempty"`
	Account string `json:"account,omitempty"` // of a pause or resume, instead of Agent
	Text    string `json:"text,omitempty"`    // of a nudge; the choice of an answer; the reason of a stop
	Dialog  string `json:"dialog,omitempty"`  // of an answer: the hash of the dialog
	Command bool   `json:"command,omitempty"` // of a nudge: it is a command of the agent's CLI, and typed as it is
	// Instance is AgentRow.Instance of what was seen: an agent of that name that began since is
	// left alone, and the answer is an error of the kind Changed. "": whichever runs.
	Instance string        `json:"instance,omitempty"`
	TTL      string        `json:"ttl,omitempty"` // how long it is worth carrying out: "10m"
	Spawn    *SpawnRequest `json:"spawn,omitempty"`
}

// SpawnRequest is the agent that a spawn is to start. Paths are absolute.
type SpawnRequest struct {
	Kind      string   `json:"kind,omitempty"` // the base name of Argv's first by default
	Argv      []string `json:"argv,omitempty"` // the agent CLI's own command line; the kind's by default
	Env       []string `json:"env,omitempty"`  // names of variables of the daemon's environment to hand on
	Role      string   `json:"role,omitempty"`
	Project   string   `json:"project,omitempty"`
	Task      string   `json:"task,omitempty"`
	Spec      string   `json:"spec,omitempty"`
	Files     []string `json:"files,omitempty"`
	Parent    string   `json:"parent,omitempty"`
	Depth     *int     `json:"depth,omitempty"` // it is computed from the parent's; given, it must be the same
	Run       string   `json:"run,omitempty"`   // the parent's by default
	Account   string   `json:"account,omitempty"`
	Prompt    string   `json:"prompt,omitempty"`   // the first one; made of task, spec and files by default
	Dir       string   `json:"dir,omitempty"`      // where it works; of a worktree, the folder to make
	Here      string   `json:"here,omitempty"`     // where it works when neither this nor its role says
	Repo      string   `json:"repo,omitempty"`     // repository a worktree is made of
	Worktree  bool     `json:"worktree,omitempty"` // make one
	Branch    string   `json:"branch,omitempty"`   // of the worktree; agent/NAME by default
	Headless  bool     `json:"headless,omitempty"`
	Restart   string   `json:"restart,omitempty"` // always, on-failure (default) or never
	Standing  bool     `json:"standing,omitempty"`
	MemoryMax int64    `json:"memory_max,omitempty"` // bytes; 0: no cap
	Heartbeat string   `json:"heartbeat,omitempty"`  // how often it shows that it is at work, like 10m
	Grace     string   `json:"grace,omitempty"`      // how much later than that it may be; half of it by default
}

// SplitFiles are the files of a spawn as they are typed: separated by commas; \, is a comma of a name.
func SplitFiles(typed []string) (files []string) {
	for _, text := range typed {
		for _, f := range strings.Split(strings.ReplaceAll(text, `\,`, "\x00"), ",") {
			files = append(files, strings.ReplaceAll(f, "\x00", ","))
		}
	}
	return files
}

// Arrival is what became of something that was given to an agent: delivered, with its proof
// (transcript, hook or screen), not_delivered or cannot_tell, with the reason.
type Arrival struct {
	Outcome string `json:"outcome"`
	Proof   string `json:"proof,omitempty"`
	Why     string `json:"why,omitempty"`
	// Turn is what became since of the turn that a nudge began; nil where none was, as of a
	// command of the CLI, and in lists.
	Turn *AgentTurn `json:"turn,omitempty"`
}

// AgentTurn is how far the turn of an agent is: answered, failed (with the error, and when),
// interrupted, under_way or unknown.
type AgentTurn struct {
	State string     `json:"state"`
	Error string     `json:"error,omitempty"`
	At    *time.Time `json:"at,omitempty"` // when it ended
}

// Words says for people what became of the turn; "" while that is not known.
func (t *AgentTurn) Words() string {
	switch {
	case t == nil:
		return ""
	case t.State == "answered":
		return "the turn that it began was answered"
	case t.State == "failed":
		return "the turn then failed: " + t.Error
	case t.State == "interrupted":
		return "the turn that it began was interrupted"
	case t.State == "under_way":
		return "the turn that it began goes on"
	}
	return ""
}

// Orders are those that are not over, in the order they were given: `custos orders`.
type Orders struct {
	At     time.Time `json:"at"`
	Orders []Order   `json:"orders"`
}

// Order is an order, and what became of it so far.
type Order struct {
	ID      string     `json:"id"`
	Do      string     `json:"do"`
	Agent   string     `json:"agent,omitempty"`
	Account string     `json:"account,omitempty"`
	By      string     `json:"by"`
	At      time.Time  `json:"at"`
	Expires *time.Time `json:"expires,omitempty"`
	State   string     `json:"state"` // asked, open, queued, done, refused or expired
	Over    bool       `json:"over"`  // nothing more becomes of it
	Guard   string     `json:"guard,omitempty"`
	Why     string     `json:"why,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
	Hint    string     `json:"hint,omitempty"`
	Action  string     `json:"action,omitempty"` // that answers it
	// Approved is who approved here of what was asked for at another host; Asks is, of one that waits for that, exactly
	// what was asked for, a line each: for people at the host alone.
	Approved string   `json:"approved,omitempty"`
	Asks     []string `json:"asks,omitempty"`
	// Arrival is what became of what a nudge or an answer was to give: delivered (and the
	// proof of it), not_delivered or cannot_tell; nil as long as that is open.
	Arrival *Arrival `json:"arrival,omitempty"`
	Host    string   `json:"host,omitempty"` // that took it, where one was looked for
	Watched bool     `json:"watched"`        // a daemon runs, so that what is queued will be looked at again
	Next    []Hint   `json:"next"`
}
