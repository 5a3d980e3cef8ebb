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
}

// DoctorCheck is what one check found.
type DoctorCheck struct {
	Category string `json:"category"`
	Name     string `json:"name"`
	State    string `json:"state"` // ok, warn, bad, cannot tell
	Why      string `json:"why"`
	Command  string `json:"command,omitempty"` // what mends it, or looks closer
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
