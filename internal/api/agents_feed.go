package api

import "time"

// The stories that FeedQuery.View chooses.
const (
	FeedAll    = "feed"   // everything
	FeedTrace  = "trace"  // one agent, or all that work on a task
	FeedErrors = "errors" // what went wrong
	FeedReplay = "replay" // an agent with all below it, or a run
)

// FeedQuery chooses what is shown of the fleet.
type FeedQuery struct {
	View  string    // FeedAll by default
	Of    string    // the agent, task or run of a trace or replay
	Kind  string    // only what is of this kind, or of one that begins with it: action, alert.firing; "": all
	Since time.Time // not before this moment; zero: no bound
	Until time.Time // before this moment; zero: no bound
	Limit int       // at most so many, the newest; 0: 200
}

// Feed is what happened: Custos's own event log and what agents reported of
// themselves, in the order of time.
type Feed struct {
	Of      []string    `json:"of"` // the agents it is about; empty: all
	Entries []FeedEntry `json:"entries"`
}

// FeedEntry is one thing that happened.
type FeedEntry struct {
	ID     string    `json:"id"` // the same for the same entry
	At     time.Time `json:"at"`
	Source string    `json:"source"` // custos or agent
	Kind   string    `json:"kind"`   // alert.firing, tool-end, …
	Agent  string    `json:"agent,omitempty"`
	Action string    `json:"action,omitempty"` // ID of the action that it is of
	About  string    `json:"about,omitempty"`  // the subject, where it is no agent; else the rule
	Text   string    `json:"text"`
	Took   string    `json:"took,omitempty"` // of a tool call that ended
	Bad    bool      `json:"bad,omitempty"`  // something went wrong
}

// HookEdit asks what adding our hooks to a settings file, or taking them out
// again, would make of its text. Nothing is written.
type HookEdit struct {
	Do       string `json:"do"` // install, uninstall or status
	Settings string `json:"settings"`
}

// HookFile is a settings file of an agent CLI, as it is to be.
type HookFile struct {
	Kind     string      `json:"kind"`
	Below    string      `json:"below"`          // the file's usual path, below the home
	Also     []string    `json:"also,omitempty"` // the same file in the folders of accounts, absolute
	Settings string      `json:"settings"`       // the new text; "" for a file that may go
	Events   []string    `json:"events"`         // hooked in Settings
	Missing  []string    `json:"missing"`
	Command  string      `json:"command,omitempty"` // what they call
	Files    []HookExtra `json:"files"`             // that have to be there too
	Limits   []string    `json:"limits"`            // what the kind's hooks do not report
}

// HookExtra is a file of Custos's own that hooks need.
type HookExtra struct {
	Path string `json:"path"` // absolute
	Text string `json:"text"`
}
