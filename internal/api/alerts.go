package api

import "time"

// Alerts is a list of alerts, worst first.
type Alerts struct {
	Alerts []Alert `json:"alerts"`
	// Trouble is why the last pass could not be finished, so that Alerts are what a look
	// found; empty when they are what was written down.
	Trouble string     `json:"trouble,omitempty"`
	Unseen  string     `json:"unseen,omitempty"` // why those of this machine are not known; empty when they are
	Hosts   []HostSeen `json:"hosts,omitempty"`  // other machines that were asked, too
}

// Alert is the life of one finding.
type Alert struct {
	Host          string     `json:"host,omitempty"` // another machine that has it
	Number        int64      `json:"number"`         // short name for people; 0 before it is written down
	ID            string     `json:"id,omitempty"`   // what tells it from another one of that number, on whichever machine
	Rule          string     `json:"rule"`
	Subject       string     `json:"subject"`
	Priority      string     `json:"priority"`
	Status        string     `json:"status"` // pending, firing or resolved
	Summary       string     `json:"summary"`
	Since         time.Time  `json:"since"`
	For           string     `json:"for"`
	EndedAt       *time.Time `json:"ended_at,omitempty"`
	Patrols       int        `json:"patrols"` // in a row that found it true
	Blind         string     `json:"blind,omitempty"`
	Evidence      []Evidence `json:"evidence"`
	CausedBy      []string   `json:"caused_by"`
	ToldBy        string     `json:"told_by,omitempty"` // the other host of the hub that tells people of it
	Flapping      bool       `json:"flapping,omitempty"`
	AckedBy       string     `json:"acked_by,omitempty"`
	SilencedUntil *time.Time `json:"silenced_until,omitempty"`
	SilencedBy    string     `json:"silenced_by,omitempty"`
	Runbook       string     `json:"runbook,omitempty"`
	Next          []Hint     `json:"next,omitempty"` // what to do now that it was taken up
}

// Evidence is one value a rule read.
type Evidence struct {
	Expr  string `json:"expr"`
	Value string `json:"value"`
}

// AckOrder acknowledges an alert.
type AckOrder struct {
	By string `json:"by"` // who; the caller's own name when empty
	// ID is Alert.ID of the alert that was shown: another one of that number, as of another
	// machine, is left alone. Empty: whichever has it.
	ID string `json:"id,omitempty"`
}

// ApproveOrder approves of what one alert leads to, or denies it.
type ApproveOrder struct {
	By string `json:"by"` // who; the caller's own name when empty
	// Digest begins that of the code that the person was shown, where code is to be
	// trusted, or of the item of a vault: a number says nothing of what lies there by now.
	Digest string `json:"digest,omitempty"`
	// Seen is the hash of the Offer that the person was shown: where something else would
	// be done by now, nothing is. Empty: whatever would be done now.
	Seen string `json:"seen,omitempty"`
	ID   string `json:"id,omitempty"` // as of an AckOrder
}

// Offer is what an approval of one alert would begin, with the exact commands.
type Offer struct {
	Number  int64     `json:"number"`
	At      time.Time `json:"at"`
	Deeds   []Deed    `json:"deeds"`
	Refused string    `json:"refused,omitempty"` // why that is nothing
	Hash    string    `json:"hash,omitempty"`    // of all that it would do: for ApproveOrder.Seen
	// Instead is what a denial begins, by the names of its actions; empty where nothing is done instead.
	Instead []string `json:"instead,omitempty"`
}

// SilenceOrder keeps people from being notified of alerts for a while. An empty Rule or
// Subject matches all, but not both may be empty.
type SilenceOrder struct {
	Rule    string `json:"rule,omitempty"`
	Subject string `json:"subject,omitempty"` // kind/name
	For     string `json:"for"`               // "2h"
	By      string `json:"by,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Silenced is the answer to a SilenceOrder.
type Silenced struct {
	Rule    string    `json:"rule,omitempty"`
	Subject string    `json:"subject,omitempty"`
	By      string    `json:"by"`
	Until   time.Time `json:"until"`
	Note    string    `json:"note,omitempty"` // that its subject is not there now
}

// Rules is the rule table in force.
type Rules struct {
	Rules []Rule `json:"rules"`
	TOML  string `json:"toml"` // canonical text of the whole table
}

// Rule is one rule as it is in force.
type Rule struct {
	Name          string   `json:"name"`
	Priority      string   `json:"priority"`
	Over          string   `json:"over"`
	Expr          string   `json:"expr"`
	For           string   `json:"for,omitempty"`
	KeepFiringFor string   `json:"keep_firing_for,omitempty"`
	ForPatrols    int      `json:"for_patrols,omitempty"`
	TellAfter     int      `json:"tell_after,omitempty"` // patrols in a row before people are notified
	Summary       string   `json:"summary"`              // the CEL expression
	Actions       []string `json:"actions"`              // what it asks for
	Mode          string   `json:"mode"`
	Cooldown      string   `json:"cooldown,omitempty"`
	Attempts      string   `json:"attempts,omitempty"`
	Spacing       string   `json:"spacing,omitempty"` // of the attempts: growing (left out) or even
	CausedBy      []string `json:"caused_by"`
	Runbook       string   `json:"runbook,omitempty"`
	Category      string   `json:"category,omitempty"` // of custos doctor, where the rule is a check
	Enabled       bool     `json:"enabled"`
	Source        string   `json:"source,omitempty"` // built in, or the file and line that changed it
	Doc           string   `json:"doc,omitempty"`

	Parts []string `json:"-"` // what it reads: where not all of that is seen now, that it found nothing says nothing
}

// Approved is the answer to an approval: what was begun.
type Approved struct {
	Number  int64           `json:"number"`
	By      string          `json:"by"`
	Actions []ApprovedThing `json:"actions"`
	// Order is the one that was approved of, or refused, where the alert is about an order of another host.
	Order *Order `json:"order,omitempty"`
}

// ApprovedThing is one action that was begun.
type ApprovedThing struct {
	ID      string `json:"id"`
	Do      string `json:"do"`
	Subject string `json:"subject"` // kind/name
}
