package ci

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"custos/internal/sys/httpjson"
)

// What a server may answer instead.
var (
	ErrGone      = errors.New("there is no such thing, or the token may not see it")
	ErrForbidden = errors.New("the token may not do that")
	ErrLacks     = errors.New("this server has no call for it")
)

// most is how much of an answer is read: fifty runs with a whole repository in
// each have about a megabyte.
const most = 8 << 20

// Client asks the API of one server: paths begin with a slash, and go behind Kind.API. What
// it answers otherwise than well wraps ErrGone, ErrForbidden or ErrLacks where it is one.
type Client struct {
	base      string
	http      *http.Client
	elsewhere *http.Client
	vouched   *http.Client
}

// Get asks for JSON.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	return c.call(ctx, http.MethodGet, path, into)
}

// Send asks for something to be done, by POST or DELETE.
func (c *Client) Send(ctx context.Context, method, path string) error {
	return c.call(ctx, method, path, nil)
}

// call sends a request and reads its answer as JSON. The errors name neither the
// server's words nor the URL.
func (c *Client) call(ctx context.Context, method, path string, into any) error {
	req, err := httpjson.Request(ctx, method, c.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, body, err := httpjson.Ask(c.http, req, most)
	switch {
	case resp != nil && resp.StatusCode/100 != 2:
		return refusal(method, resp.StatusCode)
	case err != nil:
		return err
	case into == nil:
		return nil
	}
	if json.Unmarshal(body, into) != nil {
		return errors.New("its answer is not the JSON it should be: is that the right server?")
	}
	return nil
}

// refusal is what an answer other than 2xx means. A server answers a POST that it
// has no route for with 404 or 405.
func refusal(method string, status int) error {
	err := fmt.Errorf("it answered %d", status)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%w (%w)", ErrForbidden, err)
	case status == http.StatusMethodNotAllowed || method == http.MethodPost && status == http.StatusNotFound:
		return fmt.Errorf("%w (%w)", ErrLacks, err)
	case status == http.StatusNotFound || status == http.StatusGone: // GitHub's logs that have expired
		return fmt.Errorf("%w (%w)", ErrGone, err)
	}
	return err
}

// follow reads what a redirect leads to, without the token: where GitHub stores
// logs. It returns the last 64 KiB.
func (c *Client) follow(ctx context.Context, location string) (string, error) {
	to, err := url.Parse(location)
	if err != nil || to.Host == "" {
		return "", errors.New("it sends us to no URL")
	}
	web := c.elsewhere
	if web == nil {
		if to.Scheme != "https" {
			return "", errors.New("it sends us elsewhere without HTTPS")
		}
		web = cmp.Or(c.vouched, &http.Client{Timeout: 20 * time.Second, CheckRedirect: httpjson.Stay})
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return "", errors.New("it sends us to no URL")
	}
	resp, err := web.Do(req)
	if err != nil {
		return "", httpjson.Plain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", refusal(http.MethodGet, resp.StatusCode)
	}
	return tail(resp.Body)
}

// Text asks for plain text and returns the last 64 KiB, from where a redirect
// leads to when there is one.
func (c *Client) Text(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return "", errors.New("its address is no URL")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", httpjson.Plain(err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 3:
		return c.follow(ctx, resp.Header.Get("Location"))
	case resp.StatusCode != http.StatusOK:
		return "", refusal(http.MethodGet, resp.StatusCode)
	}
	return tail(resp.Body)
}
