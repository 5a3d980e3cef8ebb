package api

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// PluginQuery is a plugin.md to be read strictly. Nothing of it is run.
type PluginQuery struct {
	File       string `json:"file"` // absolute: where Text is from
	Text       string `json:"text"`
	Script     bool   `json:"script,omitempty"`     // there is a run.sh beside it
	Executable bool   `json:"executable,omitempty"` // which may be executed
}

// Plugins are the plugins there are, in the order in which they are run.
type Plugins struct {
	At      time.Time   `json:"at"`
	Watched bool        `json:"watched"` // a daemon runs: without one no plugin runs by itself
	Plugins []PluginRow `json:"plugins"`
	Next    []Hint      `json:"next"`
}

// PluginRow is a plugin in a list.
type PluginRow struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Version     string      `json:"version,omitempty"`
	Gate        string      `json:"gate,omitempty"` // cooldown, cron, condition, event or manual
	When        string      `json:"when,omitempty"` // in words
	How         string      `json:"how,omitempty"`  // script or agent
	Project     string      `json:"project,omitempty"`
	Source      string      `json:"source"`
	Labels      []string    `json:"labels,omitempty"`
	Severity    string      `json:"severity,omitempty"`
	Parallel    bool        `json:"parallel,omitempty"` // beside others
	Disabled    string      `json:"disabled,omitempty"` // why it is not run
	Broken      string      `json:"broken,omitempty"`   // why it cannot be run, with file and line
	Changed     bool        `json:"changed,omitempty"`  // since its newest run was begun
	NextAt      []time.Time `json:"next_at"`            // what is known beforehand
	Holds       *bool       `json:"holds,omitempty"`    // its condition, now
	LastRun     string      `json:"last_run,omitempty"` // its ID
	LastAt      *time.Time  `json:"last_at,omitempty"`
	LastState   string      `json:"last_state,omitempty"`
	Failures    int         `json:"failures,omitempty"` // in a row, up to the newest run
	WhyNot      string      `json:"why_not,omitempty"`  // why it does not run now
}

// Plugin is one plugin as it was read.
type Plugin struct {
	PluginRow
	Argv     []string        `json:"argv,omitempty"`
	Env      []string        `json:"env,omitempty"` // names of variables that it gets
	Timeout  string          `json:"timeout,omitempty"`
	Notify   bool            `json:"notify,omitempty"` // people are notified of each failure
	Text     string          `json:"text,omitempty"`   // what an agent is sent
	Refused  bool            `json:"refused"`
	Problems []PluginProblem `json:"problems"`
	Next     []Hint          `json:"next"`
}

// PluginProblem is one thing that is wrong with a plugin.
type PluginProblem struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Severity string `json:"severity"` // error or warning
	Text     string `json:"text"`
}

// PluginRunRequest asks for a run of a plugin, whatever its gate says. The same ID
// twice is one run.
type PluginRunRequest struct {
	ID     string `json:"id,omitempty"`     // chosen by who asks; made up when empty
	Detach bool   `json:"detach,omitempty"` // only write it down: a daemon carries it out
}

// Plugins lists the plugins there are.
func (c *Client) Plugins(ctx context.Context) (Plugins, error) {
	return get[Plugins](ctx, c, "/v1/plugins")
}

// LintPlugin reads a plugin.md strictly.
func (c *Client) LintPlugin(ctx context.Context, q PluginQuery) (Plugin, error) {
	return post[Plugin](ctx, c, looks, "/v1/plugins", q)
}

// Plugin returns one plugin.
func (c *Client) Plugin(ctx context.Context, name string) (Plugin, error) {
	return get[Plugin](ctx, c, "/v1/plugins/"+url.PathEscape(name))
}

// RunPlugin begins a run of a plugin.
func (c *Client) RunPlugin(ctx context.Context, name string, r PluginRunRequest) (Run, error) {
	return post[Run](ctx, c, keyed(r.ID), "/v1/plugins/"+url.PathEscape(name)+"/run", r)
}

// PluginRuns lists the newest runs of a plugin, the newest last.
func (c *Client) PluginRuns(ctx context.Context, name string, limit int) (Runs, error) {
	return get[Runs](ctx, c, "/v1/plugins/"+url.PathEscape(name)+"/runs?"+url.Values{"limit": {strconv.Itoa(limit)}}.Encode())
}
