package api

import (
	"context"
	"time"
)

// Settings is custos.toml with its defaults, as it is in force.
type Settings struct {
	At       time.Time `json:"at"`
	File     string    `json:"file"`
	Found    bool      `json:"found"`             // there is that file
	Trouble  string    `json:"trouble,omitempty"` // why what the file says by now is not in force
	Settings []Setting `json:"settings"`          // those with a default first, then in the order of the file
}

// Setting is one key and its value. One that may be secret is not told.
type Setting struct {
	Key    string `json:"key"`              // dotted: forge.shop.url
	Value  string `json:"value,omitempty"`  // as in TOML
	Hidden bool   `json:"hidden,omitempty"` // Value may be secret, and is left out
	File   string `json:"file,omitempty"`   // that says it
	Line   int    `json:"line,omitempty"`   // there; 0: it is the default
}

// Settings returns the settings in force.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	return get[Settings](ctx, c, "/v1/settings")
}
