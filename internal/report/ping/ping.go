// Package ping reports to a dead man's switch elsewhere that Custos lives: the service
// that waits for the pings alerts people when they stay away.
package ping

import (
	"context"
	"fmt"
	"net/http"

	"custos/internal/report"
	"custos/internal/sys/httpjson"
)

// Ping asks for a URL by GET. Anyone who knows the URL can ping too, so it is in no
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
	req, err := httpjson.Request(ctx, http.MethodGet, where, nil)
	if err != nil {
		return err
	}
	resp, _, err := httpjson.Ask(p.HTTP, req, 64<<10)
	if resp == nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d", resp.StatusCode)
	}
	return nil // whatever it says besides
}
