package api

import (
	"strings"
	"time"
)

// Story is everything known about one thing: `custos why X`.
type Story struct {
	At      time.Time  `json:"at"`
	Subject string     `json:"subject"`
	Facts   []string   `json:"facts"`           // as seen now, one plain sentence each
	Shown   []string   `json:"shown,omitempty"` // what its terminal shows or it printed, as Facts
	Alerts  []Alert    `json:"alerts"`          // not over, worst first
	Planned []Deed     `json:"planned"`
	Moves   []Move     `json:"moves,omitempty"` // what becomes of it by itself
	Held    []HeldMove `json:"held,omitempty"`  // what would become of it, and is held back
	Skipped []Refusal  `json:"skipped"`
	Doubts  []Doubt    `json:"doubts"`
	Events  []Event    `json:"events"` // what was written down, oldest first
	Next    []Hint     `json:"next"`
}

// Event is one line of the event log.
type Event struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Rule    string    `json:"rule,omitempty"`
	Subject string    `json:"subject,omitempty"`
	Action  string    `json:"action,omitempty"`
	Text    string    `json:"text"`
}

// Came is what is written down of an action that was begun: nothing yet, that it is begun, or
// how it ended. text is "do: status: effect: why" then.
func Came(action string, events []Event) (text string, begun, over, well bool) {
	for _, e := range events {
		switch {
		case e.Action != action:
		case e.Kind == "action.planned", e.Kind == "action.started":
			begun = true
		case e.Kind == "action.ended":
			_, rest, _ := strings.Cut(e.Text, ": ")
			status, _, _ := strings.Cut(rest, ": ")
			text, begun, over, well = e.Text, true, true, status == "done" || status == "unneeded"
		}
	}
	return text, begun, over, well
}

// ExplainOrder asks how a screen would be read.
type ExplainOrder struct {
	Kind   string `json:"kind,omitempty"` // "" tries every kind
	Title  string `json:"title,omitempty"`
	Screen string `json:"screen"`
}

// Explanation says how a screen is read, and how little that proves.
type Explanation struct {
	Kind     string   `json:"kind,omitempty"`
	State    string   `json:"state"`
	Reason   string   `json:"reason"`
	Source   string   `json:"source"`
	Signals  []Signal `json:"signals"`
	Warnings []string `json:"warnings"`
}

// Signal is one mark that was found.
type Signal struct {
	Kind   string `json:"kind,omitempty"` // of agent
	Source string `json:"source"`         // title or screen
	Says   string `json:"says"`
	Hint   string `json:"hint,omitempty"` // the state it speaks for
}

// Journal is one day of the journal.
type Journal struct {
	Day  string `json:"day"`  // 2006-01-02, UTC
	Path string `json:"path"` // of the file
	Text string `json:"text"` // Markdown
}

// Status is how Custos itself is.
type Status struct {
	Daemon     bool           `json:"daemon"`           // false: answered by a process of its own
	Silent     string         `json:"silent,omitempty"` // why the daemon there is was not asked
	PID        int            `json:"pid,omitempty"`
	Version    string         `json:"version"`
	Program    string         `json:"program,omitempty"` // of the daemon, as a path; "" where that is not known
	Config     string         `json:"config,omitempty"`  // custos.toml of the daemon; "" where there is none
	Started    *time.Time     `json:"started,omitempty"`
	Mode       string         `json:"mode"`
	Frozen     string         `json:"frozen,omitempty"`
	Paused     []string       `json:"paused,omitempty"` // projects, by whom, since when and why
	LastPatrol *time.Time     `json:"last_patrol,omitempty"`
	NextPatrol *time.Time     `json:"next_patrol,omitempty"`
	Patrols    int64          `json:"patrols"`
	Firing     map[string]int `json:"firing"`            // alerts by priority
	Pending    int            `json:"pending,omitempty"` // alerts that are true, but not for long enough yet
	InFlight   int            `json:"in_flight"`
	Agents     int            `json:"agents"`
	ModelCalls int            `json:"model_calls"`
	Socket     string         `json:"socket,omitempty"`
	State      string         `json:"state,omitempty"`   // the state folder
	Untold     string         `json:"untold,omitempty"`  // why last_patrol, patrols, firing and in_flight are not known
	Amnesia    bool           `json:"amnesia,omitempty"` // what was known is lost, until a person has acknowledged it
	Notes      []string       `json:"notes"`             // what a person should know: amnesia, rows set aside
	Failed     []FailedAgent  `json:"failed"`            // agents that are not started again by themselves
	Orders     int            `json:"orders"`            // that are not over
}

// FailedAgent is an agent that crashed so often that Custos gave it up.
type FailedAgent struct {
	Agent    string `json:"agent"`
	Why      string `json:"why"`
	Failures int    `json:"failures"` // on record
}

// Version is what `custos version` prints.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Schema  int    `json:"schema"` // of the ledger, that it reads and writes
}
