package store

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// spendColumn is the column that a budget counts by; the fleet has none.
func spendColumn(by fleet.SpendBy) string {
	switch by {
	case fleet.SpendByAgent, fleet.SpendByRole, fleet.SpendByProject, fleet.SpendByAccount, fleet.SpendByRun, fleet.SpendByWork, fleet.SpendByKind:
		return "w." + string(by)
	}
	return "''"
}

// Spending returns what was spent, a sum for each allowance of each scope; of an allowance that has
// spent nothing there is none. What is not told whose it is counts for the fleet alone. Whole
// days come from the sums of days, so that a month takes no longer than a day.
func (s *Store) Spending(ctx context.Context, scopes []fleet.SpendScope) (out []fleet.Spending, err error) {
	for _, scope := range scopes {
		p := &allowances{s: s, ctx: ctx, scope: scope, column: spendColumn(scope.By), sums: map[string]*fleet.Spending{}}
		for _, step := range []func() error{p.sessions, p.days, p.edge, p.minutes, p.recent} {
			if err := step(); err != nil {
				return nil, failed("sum up what models used", err)
			}
		}
		out = append(out, p.sorted()...)
	}
	return out, nil
}

// allowances are the sums of one scope while they are being made.
type allowances struct {
	s      *Store
	ctx    context.Context
	scope  fleet.SpendScope
	column string
	newest map[string]string // of a scope of conversations: the newest one of each agent
	sums   map[string]*fleet.Spending
}

// of returns the sum that a row adds to; nil for one that is not of the scope.
func (p *allowances) of(name, session string) *fleet.Spending {
	switch {
	case p.scope.By != fleet.SpendByFleet && name == "", p.scope.Session && p.newest[name] != session:
		return nil
	case p.scope.Of != "" && p.scope.Of != name:
		if ok, err := path.Match(p.scope.Of, name); !ok || err != nil {
			return nil
		}
	}
	if p.sums[name] == nil {
		p.sums[name] = &fleet.Spending{Budget: p.scope.Budget, Of: name, From: p.scope.From}
	}
	return p.sums[name]
}

func (p *allowances) sorted() (out []fleet.Spending) {
	for _, s := range p.sums {
		if s.Responses > 0 {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b fleet.Spending) int { return strings.Compare(a.Of, b.Of) })
	return out
}

// each hands on the rows of a query, whose first two columns are allowance and conversation.
func (p *allowances) each(query string, args []any, into func(*fleet.Spending, func(...any) error) error) error {
	rows, err := p.s.r.QueryContext(p.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, session string
		skip := make([]any, 0, 12)
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		for range columns[2:] {
			skip = append(skip, new(any))
		}
		if err := rows.Scan(append([]any{&name, &session}, skip...)...); err != nil {
			return err
		}
		sum := p.of(name, session)
		if sum == nil {
			continue
		}
		scan := func(to ...any) error { return rows.Scan(append([]any{&name, &session}, to...)...) }
		if err := into(sum, scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// spentColumns are the sums of what a group of rows spent; what is unpriced costs nothing that
// is known.
const spentColumns = `sum(x.input), sum(x.cache_read), sum(x.cache_write_5m), sum(x.cache_write_1h), sum(x.output), sum(x.reasoning),
	sum(CASE WHEN x.pricing = 'unpriced' THEN 0 ELSE x.micro_usd END)`

func (p *allowances) add(sum *fleet.Spending, scan func(...any) error) error {
	var n, unpriced, money int64
	var t fleet.Tokens
	err := scan(&n, &unpriced, &t.Input, &t.CacheRead, &t.CacheWrite5m, &t.CacheWrite1h, &t.Output, &t.Reasoning, &money)
	sum.Responses, sum.Unpriced, sum.MicroUSD, sum.Tokens = sum.Responses+n, sum.Unpriced+unpriced, sum.MicroUSD+money, sum.Tokens.Add(t)
	return err
}

// midnight is the first midnight of UTC that is not before the window begins.
func (p *allowances) midnight() time.Time {
	day := p.scope.From.UTC().Truncate(24 * time.Hour)
	if day.Before(p.scope.From) {
		day = day.Add(24 * time.Hour)
	}
	return day
}

// days adds the days that are of the window as a whole.
func (p *allowances) days() error {
	since := ""
	if !p.scope.From.IsZero() {
		since = p.midnight().Format(time.DateOnly)
	}
	return p.each(`SELECT `+p.column+`, w.session, sum(x.responses), sum(CASE WHEN x.pricing = 'unpriced' THEN x.responses ELSE 0 END), `+spentColumns+`
		FROM usage_days x JOIN usage_whose w ON w.id = x.whose WHERE x.day >= ? GROUP BY 1, 2`, []any{since}, p.add)
}

// edge adds what was used between the window's beginning and the first midnight.
func (p *allowances) edge() error {
	if p.scope.From.IsZero() || !p.scope.From.Before(p.midnight()) {
		return nil
	}
	return p.each(`SELECT `+p.column+`, w.session, count(*), sum(x.pricing = 'unpriced'), `+spentColumns+`
		FROM usage_rows x JOIN usage_whose w ON w.id = x.whose WHERE x.wall >= ? AND x.wall < ? GROUP BY 1, 2`, []any{wall(p.scope.From), wall(p.midnight())}, p.add)
}

// minutes counts the steps of five minutes in which each conversation was answered.
func (p *allowances) minutes() error {
	if !p.scope.Hours {
		return nil
	}
	return p.each(`SELECT `+p.column+`, w.session, count(DISTINCT substr(x.wall, 1, 15) || (substr(x.wall, 16, 1) >= '5'))
		FROM usage_rows x JOIN usage_whose w ON w.id = x.whose WHERE x.wall >= ? GROUP BY 1, 2`, []any{wall(p.scope.From)},
		func(sum *fleet.Spending, scan func(...any) error) error {
			var steps int64
			err := scan(&steps)
			sum.Minutes += 5 * steps
			return err
		})
}

// recent tells the last hour, minute by minute.
func (p *allowances) recent() error {
	return p.each(`SELECT `+p.column+`, w.session, substr(x.wall, 1, 16), max(x.wall), `+spentColumns+`
		FROM usage_rows x JOIN usage_whose w ON w.id = x.whose WHERE x.wall >= ? GROUP BY 1, 2, 3 ORDER BY 3`, []any{wall(p.scope.At.Add(-time.Hour))},
		func(sum *fleet.Spending, scan func(...any) error) error {
			var minute, last string
			var step fleet.Spent
			t := &step.Tokens
			if err := scan(&minute, &last, &t.Input, &t.CacheRead, &t.CacheWrite5m, &t.CacheWrite1h, &t.Output, &t.Reasoning, &step.MicroUSD); err != nil {
				return err
			}
			var err error
			if step.At, err = time.Parse("2006-01-02T15:04", minute); err != nil {
				return err
			}
			if at, err := time.Parse(time.RFC3339Nano, last); err == nil && at.After(sum.Last) {
				sum.Last = at
			}
			if n := len(sum.Recent); n > 0 && sum.Recent[n-1].At.Equal(step.At) { // another conversation
				sum.Recent[n-1].Tokens, sum.Recent[n-1].MicroUSD = sum.Recent[n-1].Tokens.Add(*t), sum.Recent[n-1].MicroUSD+step.MicroUSD
				return nil
			}
			sum.Recent = append(sum.Recent, step)
			return nil
		})
}

// sessions finds the newest conversation of each agent: by the moment within a day, else by
// the day, and of one day by which began last.
func (p *allowances) sessions() error {
	if !p.scope.Session {
		return nil
	}
	p.newest = map[string]string{}
	for _, q := range []struct {
		query string
		args  []any
	}{
		{`SELECT w.agent, w.session FROM usage_days x JOIN usage_whose w ON w.id = x.whose WHERE w.agent <> '' GROUP BY 1, 2 ORDER BY max(x.day), max(w.id)`, nil},
		{`SELECT w.agent, w.session FROM usage_rows x JOIN usage_whose w ON w.id = x.whose WHERE w.agent <> '' AND x.wall >= ? GROUP BY 1, 2 ORDER BY max(x.wall)`,
			[]any{wall(p.scope.At.Add(-24 * time.Hour))}},
	} {
		if err := p.newestOf(q.query, q.args); err != nil {
			return err
		}
	}
	return nil
}

func (p *allowances) newestOf(query string, args []any) error {
	rows, err := p.s.r.QueryContext(p.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var agent, session string
		if err := rows.Scan(&agent, &session); err != nil {
			return err
		}
		p.newest[agent] = session // the last one said wins
	}
	return rows.Err()
}

// SpentNow returns how fast each agent spends, in tokens of work. What is dated later than now, by a clock that
// was ahead, is not of these ten minutes.
func (s *Store) SpentNow(ctx context.Context, at time.Time) (out []fleet.AgentSpends, err error) {
	rows, err := s.r.QueryContext(ctx, `SELECT w.agent, substr(x.wall, 1, 15), sum(x.input + x.cache_write_5m + x.cache_write_1h + x.output),
		sum(CASE WHEN x.wall >= ? AND x.wall <= ? THEN x.input + x.cache_write_5m + x.cache_write_1h + x.output ELSE 0 END)
		FROM usage_rows x JOIN usage_whose w ON w.id = x.whose WHERE w.agent <> '' AND x.wall >= ? GROUP BY 1, 2 ORDER BY 1, 2`,
		wall(at.Add(-10*time.Minute)), wall(at.Add(fleet.SpendStep)), wall(at.Add(-24*time.Hour)))
	if err != nil {
		return nil, failed("tell how fast agents spend", err)
	}
	defer rows.Close()
	steps := map[string][]int64{}
	now := map[string]int64{}
	for rows.Next() {
		var agent, slot string
		var used, last int64
		if err := rows.Scan(&agent, &slot, &used, &last); err != nil {
			return nil, failed("tell how fast agents spend", err)
		}
		steps[agent] = append(steps[agent], used)
		now[agent] += last
	}
	if err := rows.Err(); err != nil {
		return nil, failed("tell how fast agents spend", err)
	}
	for agent, all := range steps {
		out = append(out, fleet.AgentSpends{Agent: agent, Now: now[agent], Usual: usual(all)})
	}
	slices.SortFunc(out, func(a, b fleet.AgentSpends) int { return strings.Compare(a.Agent, b.Agent) })
	return out, nil
}

// fewestSteps is from how many ten minutes on something is usual.
const fewestSteps = 6

// usual is the median of what was spent in each ten minutes.
func usual(steps []int64) fleet.Leaf[int64] {
	if len(steps) < fewestSteps {
		return fleet.Unknown[int64]("it has spent for less than an hour of the last day")
	}
	slices.Sort(steps)
	return fleet.Known(steps[len(steps)/2])
}

// UsageMark is another text whenever anything was written down of what models used lately: it
// costs less to ask for than sums do.
func (s *Store) UsageMark(ctx context.Context, at time.Time) (mark string, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT count(*) || ' ' || coalesce(sum(responses), 0) || ' ' || coalesce(sum(input + cache_read + cache_write_5m + cache_write_1h + output), 0) || ' ' ||
		coalesce(sum(micro_usd), 0) || ' ' || coalesce((SELECT max(wall) FROM usage_odd), '') FROM usage_days WHERE day >= ?`, at.UTC().Add(-7*24*time.Hour).Format(time.DateOnly)).Scan(&mark)
	return mark, failed("tell whether models were used", err)
}
