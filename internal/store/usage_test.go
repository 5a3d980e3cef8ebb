package store

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// response is one of claude, priced by a table.
func response(id string, when time.Duration, input, output int64) fleet.Usage {
	return fleet.Usage{Key: "claude:" + id, Kind: "claude", Session: "s1", Model: "claude-opus-5", At: epoch.Add(when), Source: fleet.UsageTranscript,
		Tokens: fleet.Tokens{Input: input, Output: output}, Pricing: fleet.PricedByTable, MicroUSD: input*5 + output*25, Table: "2026-11-20"}
}

// rows lists what is written down, by key.
func usageRows(t *testing.T, s *Store) (list []fleet.Usage) {
	t.Helper()
	rows, err := s.r.QueryContext(context.Background(), "SELECT "+usageColumns+" FROM usage_rows r JOIN usage_whose w ON w.id = r.whose ORDER BY key")
	ok(t, err)
	defer rows.Close()
	for rows.Next() {
		u, err := scanUsage(rows)
		ok(t, err)
		list = append(list, u)
	}
	ok(t, rows.Err())
	return list
}

// sums are those of days, by day and model: responses, tokens read, written, money.
func usageSums(t interface{ Fatal(...any) }, s *Store, table string) (list []string) {
	query := `SELECT day, model, pricing, sum(responses), sum(input + cache_read + cache_write_5m + cache_write_1h), sum(output), sum(micro_usd)
		FROM usage_days d JOIN usage_whose w ON w.id = d.whose GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
	if table == "usage" {
		query = `SELECT substr(wall, 1, 10), model, pricing, count(*), sum(input + cache_read + cache_write_5m + cache_write_1h), sum(output), sum(micro_usd)
			FROM usage GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
	}
	rows, err := s.r.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var day, model, pricing string
		var n, in, out, money int64
		if err := rows.Scan(&day, &model, &pricing, &n, &in, &out, &money); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(day, " ", model, " ", pricing, " ", n, " ", in, " ", out, " ", money))
	}
	return list
}

func TestUsageComesBackAsItWent(t *testing.T) {
	s := fresh(t)
	full := fleet.Usage{Key: "claude:m1:r1", Kind: "claude", Session: "s", Model: "m", At: epoch, Source: "another", Side: true,
		Tokens: fleet.Tokens{Input: 1, CacheRead: 2, CacheWrite5m: 3, CacheWrite1h: 4, Output: 6, Reasoning: 5}, Pricing: fleet.PricedByCLI, MicroUSD: 7, Table: "t",
		Agent: "a", Instance: "i", Role: "r", Project: "p", Account: "c", Run: "u", Work: "w", CWD: "/d"}
	bare := fleet.Usage{Key: "pi:1", Kind: "pi", At: epoch.Add(time.Second), Pricing: fleet.Unpriced}
	ok(t, s.AddUsage(context.Background(), []fleet.Usage{bare, full}, nil))
	if diff := gocmp.Diff([]fleet.Usage{full, bare}, usageRows(t, s)); diff != "" {
		t.Error(diff)
	}
}

// What is told of one response in several lines, in copies and by two sources is one row.
func TestAResponseCountsOnce(t *testing.T) {
	first, last := response("m1", 0, 100, 2), response("m1", time.Second, 100, 900)
	unpriced := last
	unpriced.Pricing, unpriced.MicroUSD, unpriced.Table = fleet.Unpriced, 0, ""
	told := last
	told.Pricing, told.MicroUSD, told.Table = fleet.PricedByCLI, 77, ""
	dearer := last
	dearer.MicroUSD, dearer.Table = 1_000_000, "2027-01-01"
	owned := last
	owned.Agent, owned.Session = "bob", "s2"
	want := last
	want.At = first.At
	for name, c := range map[string]struct {
		list []fleet.Usage
		want func(*fleet.Usage)
	}{
		"the most tokens win":                {list: []fleet.Usage{first, last}},
		"whichever came first":               {list: []fleet.Usage{last, first}},
		"twice is once":                      {list: []fleet.Usage{first, last, first, last, last}},
		"a price stays":                      {list: []fleet.Usage{last, first, dearer}},
		"a price is filled in":               {list: []fleet.Usage{unpriced, last, first}},
		"no price takes none away":           {list: []fleet.Usage{last, unpriced, first}},
		"what the CLI says is more":          {list: []fleet.Usage{last, told, first}, want: func(u *fleet.Usage) { u.Pricing, u.MicroUSD, u.Table = fleet.PricedByCLI, 77, "" }},
		"whatever a table says later":        {list: []fleet.Usage{told, last, first}, want: func(u *fleet.Usage) { u.Pricing, u.MicroUSD, u.Table = fleet.PricedByCLI, 77, "" }},
		"whose it is is filled in":           {list: []fleet.Usage{last, owned, first}, want: func(u *fleet.Usage) { u.Agent = "bob" }},
		"a copy does not change whose it is": {list: []fleet.Usage{owned, last, first}, want: func(u *fleet.Usage) { u.Agent, u.Session = "bob", "s2" }},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			for _, u := range c.list {
				ok(t, s.AddUsage(context.Background(), []fleet.Usage{u}, nil))
			}
			w := want
			if c.want != nil {
				c.want(&w)
			}
			if diff := gocmp.Diff([]fleet.Usage{w}, usageRows(t, s)); diff != "" {
				t.Error(diff)
			}
			if rows, days := usageSums(t, s, "usage"), usageSums(t, s, "usage_days"); !slices.Equal(rows, days) {
				t.Errorf("rows %v, sums of days %v", rows, days)
			}
		})
	}
}

// What cannot be is not counted, or pulled to what can be, and said.
func TestImpossibleUsageIsSaid(t *testing.T) {
	change := func(do func(*fleet.Usage)) fleet.Usage { u := response("m1", 0, 10, 20); do(&u); return u }
	for name, c := range map[string]struct {
		in   fleet.Usage
		want string // "": not counted
		says string
	}{
		"negative":     {change(func(u *fleet.Usage) { u.Tokens.CacheRead = -1 }), "", "fewer than no tokens"},
		"huge":         {change(func(u *fleet.Usage) { u.Tokens.Output = 1 << 40 }), "", "more tokens than"},
		"nameless":     {change(func(u *fleet.Usage) { u.Key = "" }), "", "no name"},
		"ahead":        {change(func(u *fleet.Usage) { u.At = epoch.AddDate(9000, 0, 0) }), "2026-11-20 claude-opus-5 table 1 10 20 550", "yet to come"},
		"timeless":     {change(func(u *fleet.Usage) { u.At = time.Time{} }), "2026-11-20 claude-opus-5 table 1 10 20 550", "no time"},
		"paid back":    {change(func(u *fleet.Usage) { u.MicroUSD = -5 }), "2026-11-20 claude-opus-5 unpriced 1 10 20 0", "price that cannot be"},
		"all thoughts": {change(func(u *fleet.Usage) { u.Tokens.Reasoning = 100 }), "2026-11-20 claude-opus-5 table 1 10 20 550", ""},
		"long":         {change(func(u *fleet.Usage) { u.CWD = strings.Repeat("x", 1<<20) }), "2026-11-20 claude-opus-5 table 1 10 20 550", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			ok(t, s.AddUsage(context.Background(), []fleet.Usage{c.in}, nil))
			if got := strings.Join(usageSums(t, s, "usage_days"), ";"); got != c.want {
				t.Errorf("sums %q; want %q", got, c.want)
			}
			faults, err := s.UsageFaults(context.Background(), epoch.Add(-time.Hour))
			ok(t, err)
			if c.says == "" != (len(faults) == 0) || len(faults) > 0 && !strings.Contains(faults[0].Why, c.says) {
				t.Errorf("said %v; want %q", faults, c.says)
			}
		})
	}
}

// Each place of a fault is told, the newest first and once, and of very many the newest; that there is news is told
// by the mark.
func TestEachPlaceOfAFaultIsSaid(t *testing.T) {
	s := fresh(t)
	before, err := s.UsageMark(t.Context(), epoch)
	ok(t, err)
	list := []fleet.UsageFault{{Kind: "claude", Why: "torn", Key: "a"}, {Kind: "claude", Why: "torn", Key: "b"}, {Kind: "claude", Why: "torn", Key: "a"}, {Kind: "claude", Why: "long", Key: "c"}}
	ok(t, s.NoteUsageFaults(t.Context(), list))
	faults, err := s.UsageFaults(t.Context(), epoch.Add(-time.Hour))
	ok(t, err)
	if len(faults) != 2 || faults[0].Key != "c" || len(faults[0].More) != 0 || faults[1].Key != "a" || strings.Join(faults[1].More, " ") != "b" {
		t.Errorf("%+v", faults)
	}
	if after, err := s.UsageMark(t.Context(), epoch); err != nil || after == before {
		t.Errorf("the mark stays %q, %v", after, err)
	}
	for i := range 100 {
		ok(t, s.NoteUsageFaults(t.Context(), []fleet.UsageFault{{Kind: "claude", Why: "long", Key: fmt.Sprint(i)}}))
	}
	if faults, err := s.UsageFaults(t.Context(), epoch.Add(-time.Hour)); err != nil || faults[0].Key != "99" || len(faults[0].More) != 19 || !faults[0].AtLeast || faults[1].AtLeast {
		t.Errorf("%+v, %v", faults, err)
	}
}

// A file is what device and inode say: another one under its path takes its place, and
// under another path it stays itself.
func TestUsageCursors(t *testing.T) {
	s := fresh(t)
	put := func(list ...fleet.UsageCursor) { t.Helper(); ok(t, s.AddUsage(context.Background(), nil, list)) }
	put(fleet.UsageCursor{Path: "/a", Device: 1 << 63, Inode: 1<<64 - 1, Offset: 5}, fleet.UsageCursor{Path: "/b", Device: 1, Inode: 2, Offset: 1})
	put(fleet.UsageCursor{Path: "/b", Device: 1, Inode: 2, Offset: 9})
	put(fleet.UsageCursor{Path: "/b", Device: 1, Inode: 3})
	put(fleet.UsageCursor{Path: "/c", Device: 1 << 63, Inode: 1<<64 - 1, Offset: 6})
	got, err := s.UsageCursors(context.Background())
	ok(t, err)
	if diff := gocmp.Diff([]fleet.UsageCursor{{Path: "/b", Device: 1, Inode: 3}, {Path: "/c", Device: 1 << 63, Inode: 1<<64 - 1, Offset: 6}}, got); diff != "" {
		t.Error(diff)
	}
}

// Rows go, their sums stay, and what is read again of that time counts no more.
func TestTrimUsageKeepsTheSums(t *testing.T) {
	s := fresh(t)
	var list []fleet.Usage
	for i := range 10 {
		list = append(list, response(fmt.Sprint(i), time.Duration(-50*i)*24*time.Hour, 10, 1))
	}
	ok(t, s.AddUsage(context.Background(), list, nil))
	before := usageSums(t, s, "usage_days")
	ok(t, s.TrimUsage(context.Background(), at(30*24*time.Hour), 0, 0))
	if n := len(usageRows(t, s)); n != 9 {
		t.Errorf("%d rows are left; want 9: of 400 days before the newest", n)
	}
	ok(t, s.TrimUsage(context.Background(), at(0), 0, 4))
	if n := len(usageRows(t, s)); n != 4 {
		t.Errorf("%d rows are left; want 4", n)
	}
	ok(t, s.AddUsage(context.Background(), list, nil))
	if after := usageSums(t, s, "usage_days"); !slices.Equal(before, after) {
		t.Errorf("sums were %v and are %v", before, after)
	}
}

// killed is a context that ends after so many questions whether it has.
type killed struct {
	context.Context
	left *atomic.Int64
	done chan struct{}
}

func killedAfter(n int) killed {
	k := killed{Context: context.Background(), left: new(atomic.Int64), done: make(chan struct{})}
	k.left.Store(int64(n))
	return k
}

func (k killed) Done() <-chan struct{} {
	if k.left.Add(-1) == 0 {
		close(k.done)
	}
	return k.done
}

func (k killed) Err() error {
	if k.left.Load() <= 0 {
		return context.Canceled
	}
	return nil
}

// However often a reader is killed, wherever, and whatever it reads again, in whatever order
// and pieces: each response counts once, with the most that was told of it.
func TestUsageCountsOnceWhateverHappens(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		s, err := Open(context.Background(), Options{Path: filepath.Join(dir, fmt.Sprint(n)), StartedAt: at(0), Now: func() time.Time { return epoch.Add(48 * time.Hour) }, synchronous: "OFF"})
		if err != nil {
			r.Fatal(err)
		}
		defer s.Close()
		files := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(aResponse), 0, 12), 1, 3).Draw(r, "files")
		for range rapid.IntRange(0, 25).Draw(r, "reads") {
			readUsage(r, s, files, killedAfter(rapid.IntRange(1, 150).Draw(r, "killed")))
		}
		for i, file := range files { // at last it lives: the rest of each file, as its cursor says
			from := readTo(r, s, i)
			if err := s.AddUsage(context.Background(), file[from:], nil); err != nil {
				r.Fatal(err)
			}
		}
		want := expected(slices.Concat(files...))
		if got := usageSums(r, s, "usage_days"); !slices.Equal(got, want) {
			r.Fatalf("sums of days\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := usageSums(r, s, "usage"); !slices.Equal(got, want) {
			r.Fatalf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// aResponse draws a line of one of a few responses: more or less of it, by one model each.
func aResponse(r *rapid.T) fleet.Usage {
	id := rapid.IntRange(0, 8).Draw(r, "id")
	u := response(fmt.Sprint(id), rapid.SampledFrom([]time.Duration{0, time.Second, 20 * time.Hour}).Draw(r, "at"), 10, rapid.Int64Range(1, 3).Draw(r, "output"))
	u.Model = []string{"a", "b"}[id%2]
	u.Session = rapid.SampledFrom([]string{"s1", "s2"}).Draw(r, "session")
	u.Agent = rapid.SampledFrom([]string{"", "bob"}).Draw(r, "agent")
	return u
}

// readUsage reads on in one file, or from its beginning, as far as it comes; it may be killed.
func readUsage(r *rapid.T, s *Store, files [][]fleet.Usage, ctx context.Context) {
	i := rapid.IntRange(0, len(files)-1).Draw(r, "file")
	from := 0
	if rapid.Bool().Draw(r, "goes on") {
		from = readTo(r, s, i)
	}
	to := rapid.IntRange(from, len(files[i])).Draw(r, "to")
	_ = s.AddUsage(ctx, files[i][from:to], []fleet.UsageCursor{{Path: fmt.Sprint("/", i), Inode: uint64(i), Offset: int64(to)}})
}

// readTo is how far a file was read, as its cursor says.
func readTo(r *rapid.T, s *Store, i int) int {
	list, err := s.UsageCursors(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	for _, c := range list {
		if c.Inode == uint64(i) {
			return int(c.Offset)
		}
	}
	return 0
}

// expected are the sums of the responses: each at its earliest, with its most tokens.
func expected(list []fleet.Usage) (out []string) {
	most := map[string]fleet.Usage{}
	for _, u := range list {
		m, seen := most[u.Key]
		if !seen || u.Tokens.Output > m.Tokens.Output {
			u.At = minTime(u.At, m.At)
			most[u.Key] = u
		} else {
			m.At = minTime(u.At, m.At)
			most[u.Key] = m
		}
	}
	type sum struct{ n, in, out, money int64 }
	sums := map[string]sum{}
	for _, u := range most {
		k := u.At.Format(time.DateOnly) + " " + u.Model + " table"
		s := sums[k]
		sums[k] = sum{s.n + 1, s.in + u.Tokens.Read(), s.out + u.Tokens.Output, s.money + u.MicroUSD}
	}
	for k, s := range sums {
		out = append(out, fmt.Sprint(k, " ", s.n, " ", s.in, " ", s.out, " ", s.money))
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}

func minTime(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}
