package api

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// Agents lists the agents and what is pending for them.
func (c *Client) Agents(ctx context.Context) (Agents, error) {
	return get[Agents](ctx, c, "/v1/agents")
}

// Agent returns everything known about one agent.
func (c *Client) Agent(ctx context.Context, name string) (AgentDetail, error) {
	return get[AgentDetail](ctx, c, "/v1/agents/"+url.PathEscape(name))
}

// Screen returns the last lines that an agent shows.
func (c *Client) Screen(ctx context.Context, name string, lines int) (Screen, error) {
	return get[Screen](ctx, c, "/v1/agents/"+url.PathEscape(name)+"/screen?lines="+strconv.Itoa(lines))
}

// Log returns what a headless agent wrote.
func (c *Client) Log(ctx context.Context, name string, q LogQuery) (Log, error) {
	v := url.Values{"lines": {strconv.Itoa(q.Lines)}}
	if q.Errors {
		v.Set("errors", "true")
	}
	if q.After != "" {
		v.Set("after", q.After)
	}
	return get[Log](ctx, c, "/v1/agents/"+url.PathEscape(name)+"/log?"+v.Encode())
}

// Order gives an order; the answer says what one pass made of it.
func (c *Client) Order(ctx context.Context, o OrderRequest) (Order, error) {
	return post[Order](ctx, c, keyed(o.ID), "/v1/orders", o)
}

// OrderState returns an order as it has become.
func (c *Client) OrderState(ctx context.Context, id string) (Order, error) {
	return get[Order](ctx, c, "/v1/orders/"+url.PathEscape(id))
}

// Orders lists the orders that are not over.
func (c *Client) Orders(ctx context.Context) (Orders, error) {
	return get[Orders](ctx, c, "/v1/orders")
}

// ApproveOrdered approves of an order that was asked for at another host.
func (c *Client) ApproveOrdered(ctx context.Context, id string) (Order, error) {
	return post[Order](ctx, c, once, "/v1/orders/"+url.PathEscape(id)+"/approve", nil)
}

// AskedOrder is an order that was asked for at another host, with exactly what it is.
func (c *Client) AskedOrder(ctx context.Context, id string) (Order, error) {
	return get[Order](ctx, c, "/v1/orders/"+url.PathEscape(id)+"/offer")
}

// CancelOrder takes back an order that is not over.
func (c *Client) CancelOrder(ctx context.Context, id string) (Order, error) {
	return post[Order](ctx, c, once, "/v1/orders/"+url.PathEscape(id)+"/cancel", struct{}{})
}

// Feed returns what happened.
func (c *Client) Feed(ctx context.Context, q FeedQuery) (Feed, error) {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	set("view", q.View)
	set("of", q.Of)
	if !q.Since.IsZero() {
		set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		set("until", q.Until.UTC().Format(time.RFC3339Nano))
	}
	set("kind", q.Kind)
	if q.Limit > 0 {
		set("limit", strconv.Itoa(q.Limit))
	}
	return get[Feed](ctx, c, "/v1/feed?"+v.Encode())
}

// Failures returns what went wrong with agents: with one, or "" for all.
func (c *Client) Failures(ctx context.Context, agent string) (Failures, error) {
	return get[Failures](ctx, c, "/v1/failures?agent="+url.QueryEscape(agent))
}

// EditHooks says what a change of hooks would make of a settings file.
func (c *Client) EditHooks(ctx context.Context, kind string, e HookEdit) (HookFile, error) {
	return post[HookFile](ctx, c, looks, "/v1/hookfiles/"+url.PathEscape(kind), e)
}
