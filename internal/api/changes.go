package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Changes says the number of the newest change at once, and each newer one when it is
// there, until ctx ends or told returns an error, which it returns. That the stream ends by
// itself is an error: who goes on asks again, and looks anew, as what changed meanwhile is
// not said.
func (c *Client) Changes(ctx context.Context, told func(number int64) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://custos/v1/changes", nil)
	if err != nil {
		return fmt.Errorf("cannot ask for changes: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return notStreamed(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what cannot be read is no worse than none
		return errorOf(resp.StatusCode, body)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		n, isNumber := strings.CutPrefix(lines.Text(), "data: ")
		if number, err := strconv.ParseInt(n, 10, 64); isNumber && err == nil {
			if err := told(number); err != nil {
				return err
			}
		}
	}
	return notStreamed(ctx, lines.Err())
}

// notStreamed is why changes are not told any more.
func notStreamed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = io.EOF
	}
	return &Error{Kind: Unreachable, Message: fmt.Sprintf("cannot follow what changes: %v", err)}
}
