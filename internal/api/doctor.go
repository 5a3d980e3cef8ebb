package api

import (
	"context"
	"net/url"
	"time"
)

// The states of a check. Cannot tell is neither ok nor bad.
const (
	CheckOK     = "ok"
	CheckWarn   = "warn"
	CheckBad    = "bad"
	CheckCannot = "cannot tell"
)

// Doctor is what is wrong with the installation, and with what Custos stands on.
type Doctor struct {
	At      time.Time     `json:"at"`
	Version string        `json:"version"` // of who looked
	Daemon  bool          `json:"daemon"`  // one looked, not this very command
	Checks  []DoctorCheck `json:"checks"`  // by category, in a fixed order
	Counts  DoctorCounts  `json:"counts"`
	Fix     DoctorFix     `json:"fix"`
}

// DoctorCheck is what one check found.
type DoctorCheck struct {
	Category string `json:"category"`
	Name     string `json:"name"`
	State    string `json:"state"` // ok, warn, bad, cannot tell
	Why      string `json:"why"`
	Command  string `json:"command,omitempty"` // what mends it, or looks closer
	// Mends are the alerts whose actions mend it, as far as the guards let them.
	Mends []DoctorMend `json:"mends,omitempty"`
}

// DoctorMend is an alert: a rule, and what it is about.
type DoctorMend struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
}

// DoctorFix is what of all that is wrong Custos itself can mend.
type DoctorFix struct {
	Actions []Deed    `json:"actions"` // what would be done, by a person's word
	Skipped []Refusal `json:"skipped"` // what a guard holds back
	Done    []Outcome `json:"done"`    // what was done; empty where nothing was ordered
}

// DoctorOrder says what is to be mended: exactly what a person was shown.
type DoctorOrder struct {
	Categories []string     `json:"categories"`
	Version    string       `json:"version"` // of who asks
	Actions    []DoctorDeed `json:"actions"`
}

// DoctorDeed names one action of a DoctorFix.
type DoctorDeed struct {
	Do      string `json:"do"`
	Subject string `json:"subject"`
	Rule    string `json:"rule"`
}

// DoctorCounts is how many checks have which state.
type DoctorCounts struct {
	OK     int `json:"ok"`
	Warn   int `json:"warn"`
	Bad    int `json:"bad"`
	Cannot int `json:"cannot_tell"`
}

// Doctor examines the installation: all categories, or those that are named.
// asker is the version of the program that asks.
func (c *Client) Doctor(ctx context.Context, categories []string, asker string) (Doctor, error) {
	return get[Doctor](ctx, c, "/v1/doctor?"+url.Values{"category": categories, "version": {asker}}.Encode())
}

// Mend has done what a person was shown under Fix, and examines again.
func (c *Client) Mend(ctx context.Context, o DoctorOrder) (Doctor, error) {
	return post[Doctor](ctx, c, once, "/v1/doctor/fix", o)
}
