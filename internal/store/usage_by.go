package store

import (
	"context"
	"encoding/json"

	"custos/internal/fleet"
)

// usageBy sums up what was used of conversations and of instances of agents.
const usageBy = `
SELECT w.kind, w.session, w.instance, sum(responses), sum(input + cache_read + cache_write_5m + cache_write_1h + output), sum(cache_read), sum(output),
	sum(CASE pricing WHEN 'told' THEN micro_usd ELSE 0 END), sum(CASE pricing WHEN 'table' THEN micro_usd ELSE 0 END), sum(CASE pricing WHEN 'unpriced' THEN responses ELSE 0 END)
FROM usage_whose w CROSS JOIN usage_days d ON d.whose = w.id
WHERE w.id IN (SELECT id FROM usage_whose WHERE session IN (SELECT value FROM json_each(?1)) UNION SELECT id FROM usage_whose WHERE instance <> '' AND instance IN (SELECT value FROM json_each(?2)))
GROUP BY 1, 2, 3`

// UsageBy sums up what each of these used: of an instance what it used since it was started; of what has none, or of whose
// instance nothing is written down, its conversation without that of instances. Of what used nothing that is
// known of nothing is returned.
func (s *Store) UsageBy(ctx context.Context, list []fleet.UsedBy) ([]fleet.Used, error) {
	const what = "sum up what agents used"
	sessions, instances := []string{}, []string{}
	for _, by := range list {
		sessions, instances = append(sessions, by.Session), append(instances, by.Instance)
	}
	a, err := json.Marshal(sessions)
	if err != nil {
		return nil, failed(what, err)
	}
	b, err := json.Marshal(instances)
	if err != nil {
		return nil, failed(what, err)
	}
	rows, err := s.r.QueryContext(ctx, usageBy, string(a), string(b))
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	instance, session := map[string]fleet.Cost{}, map[fleet.UsedBy]fleet.Cost{}
	for rows.Next() {
		var by fleet.UsedBy
		var c fleet.Cost
		if err := rows.Scan(&by.Kind, &by.Session, &by.Instance, &c.Calls, &c.Tokens, &c.Cached, &c.Output, &c.Told, &c.Table, &c.Unpriced); err != nil {
			return nil, failed(what, err)
		}
		if by.Instance != "" {
			c.Add(instance[by.Instance])
			instance[by.Instance] = c
			continue
		}
		session[by] = c
	}
	var out []fleet.Used
	for _, by := range list {
		c, is := instance[by.Instance]
		if !is && by.Session != "" {
			c, is = session[fleet.UsedBy{Kind: by.Kind, Session: by.Session}]
		}
		if is {
			out = append(out, fleet.Used{By: by, Cost: c})
		}
	}
	return out, failed(what, rows.Err())
}
