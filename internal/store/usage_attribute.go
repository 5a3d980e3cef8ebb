package store

import (
	"context"

	"custos/internal/fleet"
)

// AttributeUsage fills in whose responses are that was not known when they were written down: of each conversation
// those of while it was held of which no agent is known. What is known stays.
func (s *Store) AttributeUsage(ctx context.Context, list []fleet.Holding) error {
	for _, who := range list {
		for {
			found, err := s.nobodys(ctx, who)
			if err != nil || len(found) == 0 {
				if err != nil {
					return failed("find responses of which it was not known whose they are", err)
				}
				break
			}
			if err := s.attribute(ctx, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// nobodys are some of the responses of which no agent is known, with whose they are.
func (s *Store) nobodys(ctx context.Context, held fleet.Holding) (list []fleet.Usage, err error) {
	who, until := held.Whose, "~" // behind all moments
	if !held.Until.IsZero() {
		until = wall(held.Until.UTC())
	}
	if who.Agent == "" || who.Session == "" {
		return nil, nil
	}
	rows, err := s.r.QueryContext(ctx, "SELECT "+usageColumns+` FROM usage_whose w JOIN usage_rows r ON r.whose = w.id
		WHERE w.session = ? AND w.kind = ? AND w.agent = '' AND r.wall >= ? AND r.wall < ? LIMIT ?`, who.Session, who.Kind, wall(who.At.UTC()), until, usageBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		u, err := scanUsage(rows)
		if err != nil {
			return nil, err
		}
		u.Agent, u.Instance, u.Role, u.Project, u.Account, u.Run, u.Work = who.Agent, who.Instance, who.Role, who.Project, who.Account, who.Run, who.Work
		list = append(list, u)
	}
	return list, rows.Err()
}

func (s *Store) attribute(ctx context.Context, list []fleet.Usage) error {
	return s.writeUnsynced(ctx, "write down whose responses are", func(t *tx) error {
		w, err := newUsageWriter(t, s.opts.Now())
		for i := 0; i < len(list) && err == nil; i++ {
			err = w.again(list[i])
		}
		if err != nil {
			return err
		}
		return w.flush()
	})
}
