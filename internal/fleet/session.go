package fleet

import (
	"strconv"
	"strings"
)

// PaneID names one pane: tmux recycles %3 after a restart of the server, so the
// server's own identity belongs to it.
type PaneID struct {
	Socket string    `json:"socket" help:"path of its server's socket"`
	Server ProcessID `json:"server" help:"its tmux server"`
	Pane   string    `json:"pane" help:"tmux's number for it: %3"`
	Root   ProcessID `json:"root" help:"its first process"`
}

// Pane is one place where a program can be seen running: a tmux pane.
type Pane struct {
	ID           PaneID         `json:"id" help:"its identity"`
	Session      string         `json:"session" help:"the session's name"`
	SessionID    string         `json:"session_id" help:"tmux's number for the session: $1"`
	Window       string         `json:"window" help:"the window's name"`
	WindowIndex  int            `json:"window_index" help:"the window's number"`
	PaneIndex    int            `json:"pane_index" help:"the pane's number in its window"`
	Command      string         `json:"command" help:"the program in front, tmux's pane_current_command"`
	StartCommand string         `json:"start_command,omitempty" help:"what the pane was opened with"`
	Title        string         `json:"title" help:"the title its program set"`
	CWD          string         `json:"cwd" help:"its working directory"`
	Dead         bool           `json:"dead" help:"whether its program has ended"`
	ExitStatus   Leaf[int]      `json:"exit_status" help:"known only for a dead pane, and not always then"`
	ExitSignal   Leaf[int]      `json:"exit_signal" help:"known only for a dead pane, and not always then"`
	Activity     Leaf[Duration] `json:"activity" help:"time since its window last printed something"`
	Age          Leaf[Duration] `json:"age" help:"time since its session was made"`
	Attached     int            `json:"attached" help:"people looking; our own clients excluded"`
	Typed        Leaf[Duration] `json:"typed,omitzero" help:"time since a person who looks last pressed a key; only while a person does"`
	InMode       bool           `json:"in_mode,omitempty" help:"whether it is in copy mode or the like"`
	Orphan       Leaf[bool]     `json:"orphan" help:"whether it is on our own server, and belongs to no agent that is registered"`
}

// Place returns the stable name of where it is: session:window.pane@socket. Each server
// has sessions of its own, which may be called as another's are.
func (p Pane) Place() string {
	if p.ID.Socket == "" {
		return p.Name()
	}
	return p.Name() + "@" + p.ID.Socket
}

// IsPane says whether a person means this pane without its terminal server, as people call
// it: session:window.pane.
func (s Subject) IsPane(of string) bool {
	name, _, _ := strings.Cut(s.Name, "@/")
	return s.Kind == KindSession && (name == of || string(s.Kind)+"/"+name == of)
}

// Name returns session:window.pane, for people.
func (p Pane) Name() string {
	return p.Session + ":" + strconv.Itoa(p.WindowIndex) + "." + strconv.Itoa(p.PaneIndex)
}
