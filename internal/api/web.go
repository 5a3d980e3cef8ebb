package api

import (
	"context"
	"net/url"
	"time"
)

// WebRequest asks for an address of the page: with nothing said, one by which a person's
// browser gets in, good once and for a minute; else one that shows one thing and does
// nothing.
type WebRequest struct {
	Agent    string `json:"agent,omitempty"`
	Project  string `json:"project,omitempty"`
	Page     string `json:"page,omitempty"`     // its path, like /alerts
	For      string `json:"for,omitempty"`      // how long it is good for, like 2h
	Terminal bool   `json:"terminal,omitempty"` // it shows terminals, too
}

// WebAddress is an address of the page that lets whoever has it in.
type WebAddress struct {
	ID    string    `json:"id"`
	URL   string    `json:"url"`
	Until time.Time `json:"until"`
	Once  bool      `json:"once"` // it is good once
}

// Web is where the page is, and who may see it.
type Web struct {
	URL      string       `json:"url,omitempty"` // empty: it is off
	Trouble  string       `json:"trouble,omitempty"`
	Sessions []WebSession `json:"sessions"`
}

// WebSession is what lets a browser see the page: an invitation, a person's session, or a
// link that shows one thing.
type WebSession struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // invitation, session or link
	By       string    `json:"by"`
	Made     time.Time `json:"made"`
	Until    time.Time `json:"until"`
	Browser  string    `json:"browser,omitempty"`
	Shows    string    `json:"shows,omitempty"` // of a link
	Terminal bool      `json:"terminal,omitempty"`
}

// WebEnded says what was ended of the page.
type WebEnded struct {
	Ended int `json:"ended"` // sessions, links and invitations
}

// Web says where the page is, and who may see it.
func (c *Client) Web(ctx context.Context) (Web, error) { return get[Web](ctx, c, "/v1/web") }

// WebAddress turns the page on, where it is off, and makes an address of it.
func (c *Client) WebAddress(ctx context.Context, r WebRequest) (WebAddress, error) {
	return post[WebAddress](ctx, c, once, "/v1/web", r)
}

// WebRevoke ends a session, a link or an invitation by its ID.
func (c *Client) WebRevoke(ctx context.Context, id string) (WebEnded, error) {
	return post[WebEnded](ctx, c, once, "/v1/web/"+url.PathEscape(id)+"/revoke", struct{}{})
}

// WebRevokeAll ends all of them.
func (c *Client) WebRevokeAll(ctx context.Context) (WebEnded, error) {
	return post[WebEnded](ctx, c, same, "/v1/web/-/revoke-all", struct{}{})
}

// WebStop turns the page off.
func (c *Client) WebStop(ctx context.Context) (WebEnded, error) {
	return post[WebEnded](ctx, c, same, "/v1/web/-/stop", struct{}{})
}
