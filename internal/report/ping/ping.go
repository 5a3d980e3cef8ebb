// Package ping tells a dead man's switch elsewhere that Custos lives: whoever waits
// for the pings tells people when they stay away.
package ping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"custos/internal/report"
)

// Ping asks for a URL by GET. Whoever knows the URL can ping too, so it is in no
// error and no log.
type Ping struct {
	Called string
	URL    func(context.Context) (string, error)
	HTTP   *http.Client // nil: one with a time-out, that follows no redirect
}

var _ report.Pulse = Ping{}

// Beat pings once.
func (p Ping) Beat(ctx context.Context) error {
	if err := p.get(ctx); err != nil {
		return fmt.Errorf("cannot ping %s: %w", p.Called, err)
	}
	return nil
}

func (p Ping) get(ctx context.Context) error {
	where, err := p.URL(ctx)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return errors.New("its address is no URL")
	}
	client := p.HTTP
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d", resp.StatusCode)
	}
	return nil
}
