package api

import (
	"context"
	"net/url"
	"time"
)

// The states of Custos' own health.
const (
	HealthWell     = "well"
	HealthStarting = "starting" // no whole pass was made yet
	HealthFailing  = "failing"  // passes cannot be finished, or nothing can be written down
	HealthBlind    = "blind"    // passes are made, and a probe does not answer
	HealthLate     = "late"     // the last whole pass, or patrol, is too old
	HealthSilent   = "silent"   // a daemon runs, and does not answer
	HealthNone     = "none"     // no daemon runs
	HealthUnknown  = "unknown"  // whether a daemon runs is not known
)

// Health is what `custos health` prints: whether Custos watches.
type Health struct {
	State      string     `json:"state"`
	Why        string     `json:"why,omitempty"` // it is not well
	LastPass   *time.Time `json:"last_pass,omitempty"`
	PassAge    string     `json:"pass_age,omitempty"` // since the last whole pass ended
	MaxAge     string     `json:"max_age,omitempty"`  // from which on it is late
	LastPatrol *time.Time `json:"last_patrol,omitempty"`
	PatrolAge  string     `json:"patrol_age,omitempty"`
	Every      string     `json:"every,omitempty"`   // from the last patrol to the next one
	Trouble    string     `json:"trouble,omitempty"` // of the last pass
	Notes      []string   `json:"notes,omitempty"`   // what a person should know though it watches: of custos.toml, of its socket
	// Mute are the notifiers by which no message arrives, and why. It is no reason to begin
	// Custos anew: the state does not follow from it.
	Mute []string `json:"mute,omitempty"`
	Hung []string `json:"hung,omitempty"` // parts whose probe does not answer by its deadline
}

// Health says whether Custos watches; a pass that is older than maxAge is late.
// 0 is the age that Custos itself allows.
func (c *Client) Health(ctx context.Context, maxAge time.Duration) (Health, error) {
	return get[Health](ctx, c, "/v1/health?max_age="+url.QueryEscape(maxAge.String()))
}
