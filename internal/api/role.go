package api

import (
	"context"
	"net/url"
	"time"
)

// Role is what agents of one kind of work have in common: a [role.NAME] of custos.toml, or a
// preset that such a section may go on from.
type Role struct {
	Name       string   `json:"name"`
	Preset     string   `json:"preset,omitempty"`
	Configured bool     `json:"configured"` // there is a section of it, so that agents can be started
	What       string   `json:"what,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Argv       []string `json:"argv,omitempty"`
	Env        []string `json:"env,omitempty"`
	Account    string   `json:"account,omitempty"`
	Project    string   `json:"project,omitempty"`
	Repo       string   `json:"repo,omitempty"`
	Dir        string   `json:"dir,omitempty"`
	Prompt     string   `json:"prompt,omitempty"`
	Headless   bool     `json:"headless,omitempty"`
	Restart    string   `json:"restart,omitempty"`
	Standing   bool     `json:"standing,omitempty"`
	MemoryMax  int64    `json:"memory_max,omitempty"`
	Heartbeat  string   `json:"heartbeat,omitempty"`
	MaySpawn   []string `json:"may_spawn,omitempty"`
	ReportsTo  string   `json:"reports_to,omitempty"`
	Mails      []string `json:"mails,omitempty"`
	Max        int      `json:"max,omitempty"`
	Ends       string   `json:"ends,omitempty"`        // merged: work of its agents is closed by its merge
	Policy     string   `json:"policy,omitempty"`      // what the calls of an agent of it would be judged by
	PolicyFrom string   `json:"policy_from,omitempty"` // the key of custos.toml that names it
	Context    []string `json:"context,omitempty"`     // files with its standing instructions
	Agents     []string `json:"agents,omitempty"`      // that have it now
	// What follows is said of one role alone: what says each key (custos.toml with its line, or a preset), the budgets
	// that count its agents, and those agents.
	From    map[string]string `json:"from,omitempty"`
	Budgets []RoleBudget      `json:"budgets,omitempty"`
	Having  []RoleAgent       `json:"having,omitempty"`
	Next    []Hint            `json:"next,omitempty"`
}

// RoleBudget is a budget that counts agents of a role.
type RoleBudget struct {
	Name   string `json:"name"`
	Scope  string `json:"scope"`
	Of     string `json:"of,omitempty"`
	Window string `json:"window"`
	Limits string `json:"limits"`
}

// RoleAgent is an agent that has a role.
type RoleAgent struct {
	Agent string `json:"agent"`
	// State is same (it was started with what the role says now), drift, or unknown: it was started before that was kept.
	State string   `json:"state"`
	Drift []string `json:"drift,omitempty"` // what is otherwise: role (its section), policy
}

// RoleFinding is what is wrong or doubtful with a role.
type RoleFinding struct {
	Role string `json:"role"`
	Key  string `json:"key"`  // of its section
	Note bool   `json:"note"` // it may be meant so
	What string `json:"what"`
	Line string `json:"line,omitempty"` // custos.toml with the line of that key; empty where a preset says it, or nothing does
}

// RoleFindings is what is wrong or doubtful with roles.
type RoleFindings struct {
	Roles    int           `json:"roles"` // that were looked at
	Findings []RoleFinding `json:"findings"`
	Next     []Hint        `json:"next"`
}

// RoleList is the roles there are.
type RoleList struct {
	At    time.Time `json:"at"`
	Roles []Role    `json:"roles"`
	Next  []Hint    `json:"next"`
}

// RoleDraft is what an agent of a role would be started with, before Custos adds its hooks.
type RoleDraft struct {
	Role   string       `json:"role"`
	Agent  string       `json:"agent"`
	Spawn  SpawnRequest `json:"spawn"`
	Branch string       `json:"branch,omitempty"`
	Prompt string       `json:"prompt"`
	// Policy is what its calls would be judged by, and PolicyFrom the key of custos.toml that names it.
	Policy     string `json:"policy,omitempty"`
	PolicyFrom string `json:"policy_from,omitempty"`
	// Context is its standing instructions as they are now, without secrets; ContextArgs are the arguments by which it is told of the file
	// with them ({file}). Without such arguments they stand in Prompt already.
	Context     string   `json:"context,omitempty"`
	ContextArgs []string `json:"context_args,omitempty"`
}

// SlingRequest hands work out: to a new agent of a role, or to one that there is.
type SlingRequest struct {
	Work  string   `json:"work"`
	Role  string   `json:"role,omitempty"` // the work's own by default
	To    string   `json:"to,omitempty"`   // name of an agent, instead
	Files []string `json:"files,omitempty"`
}

// Slung is work that was handed out.
type Slung struct {
	Work  Work   `json:"work"`
	Agent string `json:"agent"`
	Order *Order `json:"order,omitempty"` // that has it begin, as a pass has answered it
}

// Roles lists the roles.
func (c *Client) Roles(ctx context.Context) (RoleList, error) {
	return get[RoleList](ctx, c, "/v1/roles")
}

// Role returns one role.
func (c *Client) Role(ctx context.Context, name string) (Role, error) {
	return get[Role](ctx, c, "/v1/roles/"+url.PathEscape(name))
}

// LintRoles returns what is wrong or doubtful with one role of custos.toml, or with all for "".
func (c *Client) LintRoles(ctx context.Context, role string) (RoleFindings, error) {
	return get[RoleFindings](ctx, c, "/v1/role-findings?"+url.Values{"role": {role}}.Encode())
}

// DraftRole returns what an agent of a role would be started with.
func (c *Client) DraftRole(ctx context.Context, name, work string) (RoleDraft, error) {
	return get[RoleDraft](ctx, c, "/v1/roles/"+url.PathEscape(name)+"/offer?"+url.Values{"work": {work}}.Encode())
}

// Sling hands work out. The same work to the same agent twice is once.
func (c *Client) Sling(ctx context.Context, r SlingRequest) (Slung, error) {
	return post[Slung](ctx, c, same, "/v1/slings", r)
}
