package store

import (
	"context"
	"encoding/json"

	"custos/internal/fleet"
)

// webKey is the key of meta under which the sessions of the page are kept: there are few.
const webKey = "web"

// WebSessions lists what lets somebody see the page. Of a list that cannot be read nobody
// does, and each asks anew.
func (s *Store) WebSessions(ctx context.Context) ([]fleet.WebSession, error) {
	text, err := meta(ctx, s.r, webKey)
	return webSessions(text), failed("list the sessions of the page", err)
}

func webSessions(text string) (all []fleet.WebSession) {
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	return all
}

// EditWebSessions changes that list in one transaction, with what is written down of it.
// An error of edit is returned, and nothing is written.
func (s *Store) EditWebSessions(ctx context.Context, at fleet.Instant, edit func([]fleet.WebSession) ([]fleet.WebSession, fleet.Event, error)) error {
	return s.write(ctx, "write down the sessions of the page", at, func(t *tx) error {
		text, err := meta(ctx, t, webKey)
		if err != nil {
			return err
		}
		all, event, err := edit(webSessions(text))
		if err != nil {
			return err
		}
		if text, err = encode(all); err != nil {
			return err
		}
		if err := t.setMeta(webKey, text); err != nil {
			return err
		}
		return t.event(event)
	})
}
