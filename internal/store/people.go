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
	_, err := t.put(line{table: "silences", value: q, names: columns{{"rule", q.Rule}, {"subject", name(q.Subject)}}, at: &q.Until})
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
