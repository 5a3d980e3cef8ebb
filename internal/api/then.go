package api

import (
	"context"
	"net/url"
	"time"
)

// Then is the fleet as it was at a moment, as far as it was written down.
type Then struct {
	At        time.Time   `json:"at"` // now
	Moment    time.Time   `json:"moment"`
	Begins    *time.Time  `json:"begins,omitempty"`    // when what is read of the log begins; nil: nothing is written down
	Unwatched bool        `json:"unwatched,omitempty"` // no daemon ran then
	Agents    []ThenAgent `json:"agents"`              // by name
	Alerts    []ThenAlert `json:"alerts"`              // that were firing, the oldest first
}

// ThenAgent is what was told last of an agent.
type ThenAgent struct {
	Name   string    `json:"name"`
	State  string    `json:"state"`  // that follows from it; unknown where none does
	Source string    `json:"source"` // custos or agent
	Says   string    `json:"says"`
	Told   time.Time `json:"told"`
	Age    string    `json:"age"` // of it, at that moment
}

// ThenAlert is an alert that was firing.
type ThenAlert struct {
	Rule    string    `json:"rule"`
	Subject string    `json:"subject"`
	Says    string    `json:"says"`
	Since   time.Time `json:"since"`
}

// Then returns the fleet as it was at a moment.
func (c *Client) Then(ctx context.Context, moment time.Time) (Then, error) {
	return get[Then](ctx, c, "/v1/then?"+url.Values{"at": {moment.UTC().Format(time.RFC3339Nano)}}.Encode())
}
