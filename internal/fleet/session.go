package fleet

import (
	"strconv"
	"strings"
)

// PaneID names one pane: tmux recycles %3 after a restart of the server, so the
// server's own identity belongs to it.
type PaneID struct {
	Socket string    `json:"socket"` // path of the server's socket
	Server ProcessID `json:"server"`
	Pane   string    `json:"pane"` // %3
	Root   ProcessID `json:"root"` // the pane's first process
}

// Pane is one place where a program can be seen running: a tmux pane.
type Pane struct {
	ID           PaneID         `json:"id"`
	Session      string         `json:"session"`
	SessionID    string         `json:"session_id"` // $1
	Window       string         `json:"window"`
	WindowIndex  int            `json:"window_index"`
	PaneIndex    int            `json:"pane_index"`
	Command      string         `json:"command"` // pane_current_command
	StartCommand string         `json:"start_command,omitempty"`
	Title        string         `json:"title"`
	CWD          string         `json:"cwd"`
	Dead         bool           `json:"dead"`
	ExitStatus   Leaf[int]      `json:"exit_status"` // known only for a dead pane, and not always then
	ExitSignal   Leaf[int]      `json:"exit_signal"`
	Activity     Leaf[Duration] `json:"activity"`          // age of window_activity
	Age          Leaf[Duration] `json:"age"`               // since the session was created
	Attached     int            `json:"attached"`          // people looking; our own clients excluded
	Typed        Leaf[Duration] `json:"typed,omitzero"`    // since somebody who looks last pressed a key
	InMode       bool           `json:"in_mode,omitempty"` // copy mode and the like
	Orphan       Leaf[bool]     `json:"orphan"`            // it is on our own server, and belongs to no agent that is registered
}

// Place returns the stable name of where it is: session:window.pane@socket. Each server
// has sessions of its own, which may be called as another's are.
func (p Pane) Place() string {
	if p.ID.Socket == "" {
		return p.Name()
	}
	return p.Name() + "@" + p.ID.Socket
}

// IsPane says whether somebody means this pane without its terminal server, as people call
// it: session:window.pane.
func (s Subject) IsPane(of string) bool {
	name, _, _ := strings.Cut(s.Name, "@/")
	return s.Kind == KindSession && (name == of || string(s.Kind)+"/"+name == of)
}

// Name returns session:window.pane, for people.
func (p Pane) Name() string {
	return p.Session + ":" + strconv.Itoa(p.WindowIndex) + "." + strconv.Itoa(p.PaneIndex)
}
