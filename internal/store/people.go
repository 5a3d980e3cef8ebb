package store

import (
	"context"

	"custos/internal/fleet"
)

// silencedBy says whether the silence is about the alert: an empty rule or
// subject is about all.
func silencedBy(k fleet.AlertKey, s fleet.Silence) bool {
	return (s.Rule == "" || s.Rule == k.Rule) && (s.Subject == fleet.Subject{} || s.Subject == k.Subject)
}

// Silence keeps alerts from being told until its Until. It replaces the silence
// of the same rule and subject, so that one with Until not after From lifts it.
func (s *Store) Silence(ctx context.Context, q fleet.Silence) error {
	return s.write(ctx, "silence", q.From, func(t *tx) error {
		if err := t.putSilence(q); err != nil {
			return err
		}
		return t.event(fleet.Event{Kind: "silence", Alert: fleet.AlertKey{Rule: q.Rule, Subject: q.Subject}, Subject: q.Subject,
			Text: "silenced by " + q.By + " until " + wall(q.Until.Wall)})
	})
}

func (t *tx) putSilence(q fleet.Silence) error {
	text, err := encode(q)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO silences (rule, subject, wall, boot, up, json) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (rule, subject) DO UPDATE SET wall = excluded.wall, boot = excluded.boot, up = excluded.up, json = excluded.json`,
		row(q.Rule, name(q.Subject), stamp(q.Until), text)...)
	return err
}

// readSilences lists the silences that were not lifted or replaced, the expired
// ones too until they are trimmed.
func readSilences(ctx context.Context, q querier, bad *[]badRow) ([]fleet.Silence, error) {
	all, err := collect[fleet.Silence](ctx, q, bad, source{
		table: "silences", key: "rowid", where: "ORDER BY rule, subject",
	})
	var out []fleet.Silence
	for _, s := range all {
		if s.From.Before(s.Until) {
			out = append(out, s)
		}
	}
	return out, err
}
