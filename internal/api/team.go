package api

import (
	"context"
	"net/url"
	"time"
)

// Team is the order in which roles bring work to its end: a [team.NAME] of custos.toml.
type Team struct {
	Name  string   `json:"name"`
	What  string   `json:"what,omitempty"`
	Roles []string `json:"roles"` // the last does the work
}

// TeamWork is work that a team brings to its end.
type TeamWork struct {
	Team   string  `json:"team,omitempty"` // empty: none has it any more
	Work   Work    `json:"work"`
	Parts  []Work  `json:"parts"`
	Merges []Merge `json:"merges,omitempty"` // its branches in merge queues
}

// TeamList is the teams there are, and what they have.
type TeamList struct {
	At    time.Time  `json:"at"`
	Teams []Team     `json:"teams"`
	Work  []TeamWork `json:"work"`
	Next  []Hint     `json:"next"`
}

// TeamRequest gives a piece of work to a team.
type TeamRequest struct {
	Team string `json:"team"`
	Work string `json:"work"`
}

// TeamChange is done to work of a team.
type TeamChange struct {
	Do string `json:"do"` // stop
}

// Teams lists the teams and what they have; with all what is closed, too.
func (c *Client) Teams(ctx context.Context, all bool) (TeamList, error) {
	q := ""
	if all {
		q = "?all=1"
	}
	return get[TeamList](ctx, c, "/v1/teams"+q)
}

// TeamWork returns one piece of work of a team.
func (c *Client) TeamWork(ctx context.Context, ref string) (TeamWork, error) {
	return get[TeamWork](ctx, c, "/v1/teams/"+url.PathEscape(ref))
}

// RunTeam gives a piece of work to a team. The same twice is once.
func (c *Client) RunTeam(ctx context.Context, r TeamRequest) (TeamWork, error) {
	return post[TeamWork](ctx, c, same, "/v1/teams", r)
}

// StopTeam takes a piece of work from its team.
func (c *Client) StopTeam(ctx context.Context, ref string) (TeamWork, error) {
	return post[TeamWork](ctx, c, same, "/v1/teams/"+url.PathEscape(ref), TeamChange{Do: "stop"})
}
