package api

import "time"

// PatrolReport is what one patrol found and did.
type PatrolReport struct {
	At         time.Time  `json:"at"`
	Number     int64      `json:"number"`
	Mode       string     `json:"mode"`
	Applied    bool       `json:"applied"` // a person asked for it to act
	Host       Host       `json:"host"`
	Alerts     []Alert    `json:"alerts"`   // firing, worst first
	Resolved   []Alert    `json:"resolved"` // that ended in this patrol
	Planned    []Deed     `json:"planned"`
	Done       []Outcome  `json:"done"`
	Skipped    []Refusal  `json:"skipped"`
	NotSeen    []PartSeen `json:"not_seen"`
	CannotTell []Doubt    `json:"cannot_tell"`
	Next       []Hint     `json:"next"`
	// Unkept is why the rest could not be written down, so that it was not done;
	// empty when all was.
	Unkept string `json:"unkept,omitempty"`
}

// Outcome is what became of an action.
type Outcome struct {
	ID      string   `json:"id"`
	Do      string   `json:"do"`
	Subject string   `json:"subject"`
	Rule    string   `json:"rule"`
	Status  string   `json:"status"` // done, unneeded, refused, failed, unverified or in_doubt
	Effect  string   `json:"effect,omitempty"`
	Why     string   `json:"why,omitempty"`
	Ran     []string `json:"ran"`
	Took    string   `json:"took,omitempty"`
	Arrival *Arrival `json:"arrival,omitempty"` // of what it gave an agent
}

// Doubt is a rule that could not be answered for a subject.
type Doubt struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
	Why     string `json:"why"`
}

// PatrolOrder asks for a patrol.
type PatrolOrder struct {
	Apply bool `json:"apply"` // act, as if every rule that asks were approved
}

// Plan is what would be done, and what would not.
type Plan struct {
	At         time.Time  `json:"at"`
	Actions    []Deed     `json:"actions"`
	Skipped    []Refusal  `json:"skipped"`
	Idle       []Idle     `json:"idle"`  // findings whose rule asks for no action
	Moves      []Move     `json:"moves"` // what becomes of records by itself
	Held       []HeldMove `json:"held"`  // what would become of records, and is held back
	Noted      int        `json:"noted"` // records of which only what is known changes
	CannotTell []Doubt    `json:"cannot_tell"`
	Unsaid     []string   `json:"unsaid,omitempty"` // as in From
}

// Move is one change of a record: a gate closes, a step is overdue, mail is new.
type Move struct {
	Record string   `json:"record"`         // kind/name
	From   string   `json:"from,omitempty"` // state that it leaves; empty: the record is new
	To     string   `json:"to"`
	Why    string   `json:"why,omitempty"`
	Told   []string `json:"told,omitempty"` // who is notified of it
}

// HeldMove is a change of a record that would be made, and is held back.
type HeldMove struct {
	Move
	Guard string     `json:"guard"`           // what holds it back: docs/guards.md
	Held  string     `json:"held"`            // why
	Until *time.Time `json:"until,omitempty"` // null: until something changes
	Hint  string     `json:"hint,omitempty"`  // the command that lets it go on
}

// Idle is a finding whose rule asks for no action.
type Idle struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
}

// Preflight is the facts, sectioned like the checklist of a person.
type Preflight struct {
	At       time.Time `json:"at"`
	From     From      `json:"from"`
	Sections []Section `json:"sections"`
}

// Section is one part of the checklist. It is there even when it is empty.
type Section struct {
	Name   string   `json:"name"`   // stable: "lock-files"
	Title  string   `json:"title"`  // for people
	Status string   `json:"status"` // ok, stale, pending, unknown, absent or not-configured
	Why    string   `json:"why,omitempty"`
	Lines  []string `json:"lines"`
}
