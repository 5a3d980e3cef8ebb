package store

import (
	"context"

	"custos/internal/fleet"
)

// costs sums both tables up. A row that cannot be read counts for nothing here; it
// is set aside by whoever reads it whole.
const costs = `
WITH readable AS (
	SELECT substr(wall, 1, 10) AS day, '' AS formula, alert, CASE WHEN json_valid(json) THEN json ELSE '{"free":true}' END AS json
	FROM verdicts WHERE wall >= ?1
), sessions AS (
	SELECT substr(wall, 1, 10) AS day, formula, '' AS alert, CASE WHEN json_valid(json) THEN json ELSE '{}' END AS json
	FROM runs WHERE wall >= ?1
), calls AS (
	SELECT day, formula, alert, 1 AS calls, json ->> '$.tokens' AS tokens, json ->> '$.micro_usd' AS money,
		coalesce(json ->> '$.priced', 0) AS priced
	FROM readable WHERE NOT coalesce(json ->> '$.free', 0)
	UNION ALL
	SELECT day, formula, alert, json ->> '$.session.starts', json ->> '$.tokens', json ->> '$.micro_usd',
		coalesce(json ->> '$.micro_usd', 0) > 0
	FROM sessions WHERE coalesce(json ->> '$.session.starts', 0) > 0
)
SELECT day, formula, alert, sum(calls), coalesce(sum(tokens), 0), coalesce(sum(CASE WHEN priced THEN money END), 0),
	coalesce(sum(CASE WHEN NOT priced THEN calls END), 0)
FROM calls GROUP BY day, formula, alert ORDER BY day, formula, alert`

// Costs sums up what models cost since an instant, by the wall clock: one row for
// each day and formula, and for each day and alert, oldest first.
func (s *Store) Costs(ctx context.Context, since fleet.Instant) ([]fleet.Cost, error) {
	const what = "sum up what models cost"
	rows, err := s.r.QueryContext(ctx, costs, wall(since.Wall))
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	var list []fleet.Cost
	for rows.Next() {
		var c fleet.Cost
		if err := rows.Scan(&c.Day, &c.Formula, &c.Alert, &c.Calls, &c.Tokens, &c.MicroUSD, &c.Unpriced); err != nil {
			return nil, failed(what, err)
		}
		list = append(list, c)
	}
	return list, failed(what, rows.Err())
}
