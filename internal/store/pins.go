package store

import (
	"context"
	"encoding/json"

	"custos/internal/fleet"
)

// pinKey begins the keys of meta under which pins are kept, one for each folder.
const pinKey = "pins:"

// Pins lists what people said may be run. One that cannot be read pins nothing.
func (s *Store) Pins(ctx context.Context) (list []fleet.Pins, err error) {
	rows, err := s.r.QueryContext(ctx, "SELECT value FROM meta WHERE key >= ? AND key < ? ORDER BY key", pinKey, pinKey[:len(pinKey)-1]+";")
	if err != nil {
		return nil, failed("list what is trusted", err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, failed("list what is trusted", err)
		}
		var p fleet.Pins
		if json.Unmarshal([]byte(text), &p) == nil {
			list = append(list, p)
		}
	}
	return list, failed("list what is trusted", rows.Err())
}

// Pin writes down what of a folder a person said may be run, in the place of what
// was said of it before.
func (s *Store) Pin(ctx context.Context, p fleet.Pins) error {
	return s.write(ctx, "write down what is trusted", p.At, func(t *tx) error {
		text, err := encode(p)
		if err != nil {
			return err
		}
		if err := t.setMeta(pinKey+p.Dir, text); err != nil {
			return err
		}
		what := fleet.Subject{Kind: fleet.KindCode, Name: p.Dir}
		return t.event(fleet.Event{Kind: "trust", Subject: what, Text: fleet.Line(trustWords(p), 400)})
	})
}

func trustWords(p fleet.Pins) string {
	if len(p.Files) == 0 {
		return p.By + " trusts nothing of it any more"
	}
	return p.By + " trusts what commit " + p.Commit + " has"
}
