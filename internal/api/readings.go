package api

import (
	"context"
	"net/url"
	"time"
)

// Readings is what the machine was like, once a minute while a daemon has seen it. Where
// there is none for longer, nothing is known of that time.
type Readings struct {
	At       time.Time `json:"at"`
	Since    time.Time `json:"since"`
	Readings []Reading `json:"readings"` // oldest first
}

// Reading is one of them; nil is what was not seen then.
type Reading struct {
	At              time.Time `json:"at"`
	CPUs            int       `json:"cpus"`
	Load            *float64  `json:"load"`             // over one minute
	MemoryTotal     *int64    `json:"memory_total"`     // bytes
	MemoryAvailable *int64    `json:"memory_available"` // bytes
	SwapUsed        *int64    `json:"swap_used"`        // bytes
	DiskPercent     *float64  `json:"disk_percent"`     // of the fullest file system
}

// Readings returns what the machine was like since a moment: "6h", or a day like 2006-01-02.
func (c *Client) Readings(ctx context.Context, since string) (Readings, error) {
	return get[Readings](ctx, c, "/v1/readings?"+url.Values{"since": {since}}.Encode())
}
