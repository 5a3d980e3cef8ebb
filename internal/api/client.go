package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client asks a Custos, wherever it answers.
type Client struct {
	http  *http.Client
	spare chan net.Conn // dialled, and not used yet; nil without
	lives func(context.Context) error
}

// attention is how long an answer may take before it is asked whether there is still
// a server that answers, and how long to wait between two times.
const attention = time.Second

// Attended returns a client that gives a request up with the error of lives, which it
// asks while it waits for an answer.
func (c *Client) Attended(lives func(context.Context) error) *Client {
	return &Client{http: c.http, spare: c.spare, lives: lives}
}

// attend returns a context that ends when no server is there any more that could answer;
// done ends the asking.
func (c *Client) attend(ctx context.Context) (_ context.Context, done func()) {
	if c.lives == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(attention); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			if err := c.lives(ctx); err != nil {
				cancel(err)
			}
		}
	}()
	return ctx, func() { cancel(nil); <-ended }
}

// NewClient returns a client that asks through rt.
func NewClient(rt http.RoundTripper) *Client {
	return &Client{http: &http.Client{Transport: rt}}
}

// Dial returns a client of the daemon at a unix socket. It fails at once, with
// an Unreachable error, when no process listens there, and with that of a check that
// refuses who does: each connection is checked before anything is said. Who is refused is
// an impostor, unless the check's own *Error says otherwise.
func Dial(ctx context.Context, socket string, checks ...func(net.Conn) error) (*Client, error) {
	d := dialer{socket: socket, checks: checks}
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	spare := make(chan net.Conn, 1)
	spare <- conn
	c := NewClient(&http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case conn := <-spare:
				return &counted{Conn: conn}, nil
			default:
				conn, err := d.redial(ctx)
				if err != nil {
					return nil, err
				}
				return &counted{Conn: conn}, nil
			}
		},
	})
	c.spare = spare
	return c, nil
}

// dialer reaches a socket, and makes sure who listens there.
type dialer struct {
	socket string
	checks []func(net.Conn) error
}

func (d dialer) dial(ctx context.Context) (net.Conn, error) {
	var plain net.Dialer
	conn, err := plain.DialContext(ctx, "unix", d.socket)
	if err != nil {
		return nil, &Error{Kind: Unreachable, Message: fmt.Sprintf("cannot reach the daemon at %s: %v", d.socket, err), Hint: "custos up"}
	}
	for _, check := range d.checks {
		if err := check(conn); err != nil {
			conn.Close()
			var e *Error
			if errors.As(err, &e) {
				return nil, e
			}
			return nil, &Error{Kind: Impostor, Message: err.Error(), Hint: "custos health"}
		}
	}
	return conn, nil
}

// How long, and how often, a daemon that was reached before is looked for: one that
// takes up another configuration is not at its socket for a moment.
const (
	redialFor   = 10 * time.Second
	redialEvery = 20 * time.Millisecond
)

// redial reaches again who was there before. Nothing was said yet on the connection
// that is made, so that trying again does nothing twice.
func (d dialer) redial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, redialFor)
	defer cancel()
	tick := time.NewTicker(redialEvery)
	defer tick.Stop()
	for {
		conn, err := d.dial(ctx)
		if !IsUnreachable(err) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

// IsUnreachable says whether there was nobody to ask.
func IsUnreachable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Unreachable
}

// Close drops the connections that are not in use.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	select {
	case conn := <-c.spare:
		conn.Close()
	default:
	}
}

// FirstLook looks, and says what it saw.
func (c *Client) FirstLook(ctx context.Context) (FirstLook, error) {
	return get[FirstLook](ctx, c, "/v1/look")
}

// Patrol runs one patrol and waits for what it does.
func (c *Client) Patrol(ctx context.Context, o PatrolOrder) (PatrolReport, error) {
	return post[PatrolReport](ctx, c, once, "/v1/patrol", o)
}

// Preflight returns the facts by section.
func (c *Client) Preflight(ctx context.Context) (Preflight, error) {
	return get[Preflight](ctx, c, "/v1/preflight")
}

// Plan looks, and says what would be done.
func (c *Client) Plan(ctx context.Context) (Plan, error) { return get[Plan](ctx, c, "/v1/plan") }

// Judge says what would be done in the state of a recording.
func (c *Client) Judge(ctx context.Context, recording []byte) (Plan, error) {
	return send[Plan](ctx, c, question{http.MethodPost, "/v1/plan", recording, looks})
}

// Record looks, and returns a recording of everything a plan follows from.
func (c *Client) Record(ctx context.Context) ([]byte, error) {
	return c.do(ctx, question{http.MethodGet, "/v1/recording", nil, looks})
}

// Rules returns the rule table in force.
func (c *Client) Rules(ctx context.Context) (Rules, error) { return get[Rules](ctx, c, "/v1/rules") }

// Alerts returns the alerts that are not over; with all, the lately ended too.
func (c *Client) Alerts(ctx context.Context, all bool) (Alerts, error) {
	return get[Alerts](ctx, c, "/v1/alerts?all="+strconv.FormatBool(all))
}

// Acknowledge says that a person has taken up an alert.
func (c *Client) Acknowledge(ctx context.Context, number int64, o AckOrder) (Alert, error) {
	return post[Alert](ctx, c, same, "/v1/alerts/"+strconv.FormatInt(number, 10)+"/ack", o)
}

// Offer is what an approval of one alert would begin.
func (c *Client) Offer(ctx context.Context, number int64) (Offer, error) {
	return get[Offer](ctx, c, "/v1/alerts/"+strconv.FormatInt(number, 10)+"/offer")
}

// Approve has done what one alert leads to.
func (c *Client) Approve(ctx context.Context, number int64, o ApproveOrder) (Approved, error) {
	return post[Approved](ctx, c, once, "/v1/alerts/"+strconv.FormatInt(number, 10)+"/approve", o)
}

// Deny has done what is done instead of what one alert leads to.
func (c *Client) Deny(ctx context.Context, number int64, o ApproveOrder) (Approved, error) {
	return post[Approved](ctx, c, once, "/v1/alerts/"+strconv.FormatInt(number, 10)+"/deny", o)
}

// Silence keeps people from being notified of alerts for a while.
func (c *Client) Silence(ctx context.Context, o SilenceOrder) (Silenced, error) {
	return post[Silenced](ctx, c, same, "/v1/silences", o)
}

// Story returns what is known about a thing: an alert's number, a subject, an
// agent's name, a path, or a rule.
func (c *Client) Story(ctx context.Context, of string) (Story, error) {
	return get[Story](ctx, c, "/v1/story?of="+url.QueryEscape(of))
}

// Kinds returns the kinds of agent CLI that are known.
func (c *Client) Kinds(ctx context.Context) (Kinds, error) { return get[Kinds](ctx, c, "/v1/kinds") }

// Explain says how a screen would be read.
func (c *Client) Explain(ctx context.Context, o ExplainOrder) (Explanation, error) {
	return post[Explanation](ctx, c, looks, "/v1/explain", o)
}

// Journal returns one day of the journal; "" is the newest there is.
func (c *Client) Journal(ctx context.Context, day string) (Journal, error) {
	return get[Journal](ctx, c, "/v1/journal?day="+url.QueryEscape(day))
}

// Status says how Custos itself is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status")
}

// Caller says who asks: a person, or which agent the process belongs to.
func (c *Client) Caller(ctx context.Context) (Caller, error) {
	return get[Caller](ctx, c, "/v1/caller")
}

// Down asks the daemon to stop. It answers before it does.
func (c *Client) Down(ctx context.Context) error {
	_, err := c.do(ctx, question{http.MethodPost, "/v1/down", nil, once})
	return err
}

// Become asks the daemon to go on as the program that lies in the place of its own, which
// program names as a path. It answers before it does.
func (c *Client) Become(ctx context.Context, program string) error {
	_, err := post[struct{}](ctx, c, once, "/v1/become", BecomeOrder{Program: program})
	return err
}

// MayBecome asks the daemon whether Become would be refused to who asks; nothing is done.
func (c *Client) MayBecome(ctx context.Context) error {
	_, err := post[struct{}](ctx, c, looks, "/v1/become", BecomeOrder{Try: true})
	return err
}

// BecomeOrder names the program that a daemon is taken for.
type BecomeOrder struct {
	Program string `json:"program"`
	// Try asks whether it may be ordered, and orders nothing.
	Try bool `json:"try,omitempty"`
}

// Schema returns the JSON Schema of one type, and Schemas the names there are.
func (c *Client) Schema(ctx context.Context, name string) ([]byte, error) {
	return c.do(ctx, question{http.MethodGet, "/v1/schema/" + url.PathEscape(name), nil, looks})
}

// Schemas lists the names Schema takes.
func (c *Client) Schemas(ctx context.Context) ([]string, error) {
	return get[[]string](ctx, c, "/v1/schema")
}
