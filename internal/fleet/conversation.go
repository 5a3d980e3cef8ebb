package fleet

import "time"

// Conversation is what the file says in which a CLI keeps a conversation: the best witness
// of what its model was given, and of what it used. What the file does not tell is unknown.
type Conversation struct {
	Kind    string    `json:"kind"`
	Session string    `json:"session"` // the CLI's own name of it
	Path    string    `json:"path"`
	CWD     string    `json:"cwd,omitempty"`     // in which it is held
	Version string    `json:"version,omitempty"` // of the CLI that wrote last
	Began   time.Time `json:"began,omitzero"`
	Written time.Time `json:"written,omitzero"` // when the newest line that was read was written, as it says itself
	Turns   int       `json:"turns"`            // prompts in it; 0: there is nothing to go on with

	Model    string       `json:"model,omitempty"`   // that answered last
	Answered time.Time    `json:"answered,omitzero"` // when it did
	Used     Leaf[int64]  `json:"used"`              // tokens of its context that are used
	Window   Leaf[int64]  `json:"window"`            // tokens that its context holds
	Quota    []Quota      `json:"quota,omitempty"`   // of its plan's windows, as was told last
	Failure  *TurnFailure `json:"failure,omitempty"` // how its last turn ended, when an error ended it and nothing came after
	// Events are the newest of what it tells that hooks tell too: prompts (with the hash of
	// what the model was given), tools begun and ended, ends of turns, failures; oldest first.
	Events []HookEvent `json:"events,omitempty"`
}

// TurnFailure is an error that ended a turn.
type TurnFailure struct {
	Name  string    `json:"name"` // rate_limit, authentication, billing, context, server_error; empty for another
	Text  string    `json:"text"` // one line, redacted
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"` // when a limit is reset, where that is told
}
