package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// usageCosts sums up what responses cost: by days, and of the first day, of which only a part is asked
// for, by rows.
const usageCosts = `
WITH spent AS (
	SELECT day, whose, pricing, responses, input + cache_read + cache_write_5m + cache_write_1h + output AS tokens, cache_read, output, micro_usd
	FROM usage_days WHERE day >= ?1
	UNION ALL
	SELECT substr(wall, 1, 10), whose, pricing, 1, input + cache_read + cache_write_5m + cache_write_1h + output, cache_read, output, micro_usd
	FROM usage_rows WHERE wall >= ?2 AND wall < ?1
)
SELECT %s, sum(responses), sum(tokens), sum(cache_read), sum(output), sum(CASE pricing WHEN 'told' THEN micro_usd ELSE 0 END),
	sum(CASE pricing WHEN 'table' THEN micro_usd ELSE 0 END), sum(CASE pricing WHEN 'unpriced' THEN responses ELSE 0 END)
FROM spent s CROSS JOIN usage_whose w ON w.id = s.whose GROUP BY 1`

// otherCosts sums up what has no row for each response: questions to the judge, and runs of formulas whose
// agents' responses were not seen, as they told themselves. A row that cannot be read counts for nothing here; it is
// set aside by whoever reads it whole.
const otherCosts = `
WITH calls AS (
	SELECT 1 AS judged, substr(wall, 1, 10) AS day, '' AS agent, '' AS project, '' AS run, '' AS formula, alert, coalesce(json ->> '$.judge', '') AS judge,
		1 AS calls, coalesce(json ->> '$.tokens', 0) AS tokens, coalesce(json ->> '$.micro_usd', 0) AS money, coalesce(json ->> '$.priced', 0) AS priced
	FROM verdicts WHERE wall >= ?1 AND json_valid(json) AND NOT coalesce(json ->> '$.free', 0)
	UNION ALL
	SELECT 0, substr(wall, 1, 10), coalesce(json ->> '$.session.agent', ''), project, id, formula, '', '',
		json ->> '$.session.starts', coalesce(json ->> '$.tokens', 0), coalesce(json ->> '$.micro_usd', 0), coalesce(json ->> '$.micro_usd', 0) > 0
	FROM runs WHERE wall >= ?1 AND json_valid(json) AND coalesce(json ->> '$.session.starts', 0) > 0
		AND NOT EXISTS (SELECT 1 FROM usage_whose w WHERE w.run = runs.id)
)
SELECT %s, sum(calls), sum(tokens), 0, 0, sum(CASE WHEN priced THEN money ELSE 0 END), 0, sum(CASE WHEN priced THEN 0 ELSE calls END)
FROM calls GROUP BY 1`

// costKeys says in SQL by what is added up: of responses, and of all else.
func costKeys(by string) (usage, other string, ok bool) {
	judge := "CASE WHEN judged THEN '" + fleet.CostOfJudge + "' ELSE %s END"
	switch by {
	case "day":
		return "s.day", "day", true
	case "alert":
		return "'" + fleet.CostOfAgents + "'", "CASE WHEN judged THEN alert ELSE '" + fleet.CostOfAgents + "' END", true
	case "model":
		return "w.model", "CASE WHEN judged THEN substr(judge, instr(judge, ' ') + 1) ELSE '' END", true
	case "agent", "project", "run", "formula":
		return "w." + by, fmt.Sprintf(judge, by), true
	case fleet.CostByAgentModel:
		return "w.agent || '" + fleet.CostKeyBreak + "' || w.model", "''", true
	case "role", "account", "kind", "work", "session":
		return "w." + by, fmt.Sprintf(judge, "''"), true
	}
	return "", "", false
}

// Costs sums up what models cost since an instant, by the wall clock: one row for each thing of what is
// added up by (one of fleet.CostBys), in the order of their names. Of before the rows that are kept whole days count.
func (s *Store) Costs(ctx context.Context, since fleet.Instant, by string) ([]fleet.Cost, error) {
	what := "sum up what models cost by " + by
	usage, other, ok := costKeys(by)
	if !ok {
		return nil, fmt.Errorf("cannot sum up what models cost by %q: want %s", fleet.Line(by, 40), strings.Join(fleet.CostBys(), ", "))
	}
	day, err := s.wholeDay(ctx, since.Wall)
	if err != nil {
		return nil, failed(what, err)
	}
	sums := map[string]fleet.Cost{}
	if err := s.addCosts(ctx, sums, fmt.Sprintf(usageCosts, usage), day, wall(since.Wall)); err != nil {
		return nil, failed(what, err)
	}
	if err := s.addCosts(ctx, sums, fmt.Sprintf(otherCosts, other), wall(since.Wall)); err != nil {
		return nil, failed(what, err)
	}
	var list []fleet.Cost
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, sums[key])
	}
	return list, nil
}

// wholeDay is the first day of which all counts: the next one, where a day is asked for in part and its
// rows are there.
func (s *Store) wholeDay(ctx context.Context, since time.Time) (string, error) {
	trimmed, err := meta(ctx, s.r, usageTrimmed)
	day := since.UTC().Format(time.DateOnly)
	if err != nil || day <= trimmed || wall(since) == day+"T00:00:00.000000000Z" {
		return day, err
	}
	return since.UTC().AddDate(0, 0, 1).Format(time.DateOnly), nil
}

func (s *Store) addCosts(ctx context.Context, sums map[string]fleet.Cost, query string, args ...any) error {
	rows, err := s.r.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c fleet.Cost
		if err := rows.Scan(&c.Key, &c.Calls, &c.Tokens, &c.Cached, &c.Output, &c.Told, &c.Table, &c.Unpriced); err != nil {
			return err
		}
		sum := sums[c.Key]
		sum.Add(c)
		sum.Key = c.Key
		sums[c.Key] = sum
	}
	return rows.Err()
}
