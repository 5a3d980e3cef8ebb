// Package price says what responses of models cost: tokens times a table of list prices, which is
// dated and lies in prices.toml, and which custos.toml may add to. It is pure: prices and responses
// in, responses out. Money is in millionths of a dollar, in whole numbers. A model that the table does
// not know is unpriced: it costs something, and it is not known how much.
package price

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/fleet"
)

//go:embed prices.toml
var embedded []byte

// highest is the highest price of a million tokens, in dollars; mostTokens the most that a response
// has of one class: of both no sum flows over.
const (
	highest    = 1000
	mostTokens = 1 << 30
)

// Own is what a price of custos.toml calls its table.
const Own = "custos.toml"

// Rates are prices in dollars for a million tokens. What is nil costs what input does.
type Rates struct {
	Input        *float64 `toml:"input"`
	CacheRead    *float64 `toml:"cache_read"`
	CacheWrite5m *float64 `toml:"cache_write_5m"`
	CacheWrite1h *float64 `toml:"cache_write_1h"`
	Output       *float64 `toml:"output"`
}

// Tier is what a whole response costs whose model was given more tokens than so many.
type Tier struct {
	Tokens int64 `toml:"tokens"`
	Rates
}

// Price is what some models cost.
type Price struct {
	Models []string `toml:"models"` // as CLIs call them, without a date and a provider's prefix; * stands for anything
	Since  string   `toml:"since"`  // the day of UTC from which it holds; empty: always
	Rates
	Above []Tier `toml:"above"`
}

// Row is a price as it is used.
type Row struct {
	Price
	Table string // the date of the table that it stands in, or Own
	tiers []tier // the highest first; the last of more than no tokens
}

// tier is in millionths of a dollar for a million tokens.
type tier struct {
	above                                   int64
	input, read, write5m, write1h, response int64
}

// Table are prices of models.
type Table struct {
	Date     string
	exact    map[string][]Row // by model; the newest first
	patterns []namedRow       // the longest first
	rows     []Row
}

type namedRow struct {
	pattern string
	row     Row
}

// Shipped is the table that comes with Custos.
func Shipped() (Table, error) {
	var f struct {
		Date  string  `toml:"date"`
		Price []Price `toml:"price"`
	}
	d := toml.NewDecoder(bytes.NewReader(embedded)).DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return Table{}, fmt.Errorf("cannot read the price table: %w", err)
	}
	return Table{Date: f.Date}.with(f.Price, f.Date)
}

// With returns the table with prices of one's own, which go first.
func (t Table) With(own []Price) (Table, error) { return t.with(own, Own) }

func (t Table) with(list []Price, name string) (Table, error) {
	out := Table{Date: t.Date, exact: map[string][]Row{}}
	for _, p := range list {
		row, err := rowOf(p, name)
		if err != nil {
			return Table{}, err
		}
		out.rows = append(out.rows, row)
	}
	out.rows = append(out.rows, t.rows...)
	for _, row := range out.rows {
		for _, model := range row.Models {
			out.add(model, row)
		}
	}
	return out, nil
}

// add puts a row where it is found: of one name the newest first, and of one day that which came first.
func (t *Table) add(model string, row Row) {
	if strings.Contains(model, "*") {
		t.patterns = append(t.patterns, namedRow{strings.ToLower(model), row})
		slices.SortStableFunc(t.patterns, func(a, b namedRow) int { return len(b.pattern) - len(a.pattern) })
		return
	}
	name := Name(model)
	if had := t.exact[name]; len(had) > 0 && had[0].Table == Own && row.Table != Own {
		return // one's own price takes the place of all that are shipped
	}
	t.exact[name] = append(t.exact[name], row)
	slices.SortStableFunc(t.exact[name], func(a, b Row) int { return strings.Compare(b.Since, a.Since) })
}

// rowOf checks a price.
func rowOf(p Price, name string) (Row, error) {
	cannot := func(why string) (Row, error) {
		return Row{}, fmt.Errorf("cannot use the price of %s: %s", fleet.Line(strings.Join(p.Models, ", "), 100), why)
	}
	if len(p.Models) == 0 {
		return Row{}, errors.New("cannot use a price of no models: say which in models")
	}
	for _, m := range p.Models {
		if _, err := path.Match(m, ""); err != nil || strings.TrimSpace(m) == "" {
			return cannot("a model has no name, or one that is no pattern")
		}
	}
	if _, err := time.Parse(time.DateOnly, p.Since); err != nil && p.Since != "" {
		return cannot("since is no day like 2026-11-23")
	}
	row := Row{Price: p, Table: name}
	above := slices.Clone(p.Above)
	slices.SortFunc(above, func(a, b Tier) int { return int(b.Tokens - a.Tokens) })
	for i, t := range append(above, Tier{Rates: p.Rates}) {
		if t.Tokens < 0 || t.Tokens > mostTokens || i < len(above) && t.Tokens == 0 {
			return cannot("above is of a number of tokens from 1 to 1073741824")
		}
		rates, why := t.tier()
		if why != "" {
			return cannot(why)
		}
		row.tiers = append(row.tiers, rates)
	}
	return row, nil
}

// tier turns dollars into whole numbers.
func (t Tier) tier() (out tier, why string) {
	if t.Input == nil || t.Output == nil {
		return out, "it needs input and output"
	}
	out.above = t.Tokens
	for _, p := range []struct {
		to   *int64
		from *float64
	}{{&out.input, t.Input}, {&out.read, t.CacheRead}, {&out.write5m, t.CacheWrite5m}, {&out.write1h, t.CacheWrite1h}, {&out.response, t.Output}} {
		usd := *t.Input
		if p.from != nil {
			usd = *p.from
		}
		if math.IsNaN(usd) || usd < 0 || usd > highest {
			return out, "a price is from 0 to 1000 dollars for a million tokens"
		}
		*p.to = int64(math.Round(usd * 1e6))
	}
	return out, ""
}

// Rows lists the prices, those of one's own first.
func (t Table) Rows() []Row { return t.rows }

// Find returns what a model cost at a moment, and whether that is known.
func (t Table) Find(model string, at time.Time) (Row, bool) {
	if model == "" {
		return Row{}, false
	}
	raw := strings.ToLower(model)
	for _, name := range []string{raw, Name(model)} {
		if row, ok := newest(t.exact[name], at); ok {
			return row, true
		}
	}
	for _, p := range t.patterns {
		for _, name := range []string{raw, Name(model)} {
			if p.matches(name) && p.row.holds(at) {
				return p.row, true
			}
		}
	}
	return Row{}, false
}

func newest(list []Row, at time.Time) (Row, bool) {
	for _, row := range list {
		if row.holds(at) {
			return row, true
		}
	}
	return Row{}, false
}

func (r Row) holds(at time.Time) bool { return r.Since <= at.UTC().Format(time.DateOnly) }

// matches says whether a name fits a pattern, in which * stands for slashes too.
func (p namedRow) matches(name string) bool {
	ok, err := path.Match(strings.ReplaceAll(p.pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// Of says what a response cost. What its CLI told stays, unless that is nothing for tokens that were
// used: a CLI that knows no price says so too. What was priced before keeps its price.
func Of(t Table, u fleet.Usage) fleet.Usage {
	if u.Pricing == fleet.PricedByTable || u.Pricing == fleet.PricedByCLI && (u.MicroUSD > 0 || u.Tokens.All() == 0) {
		return u
	}
	u.Pricing, u.MicroUSD, u.Table = fleet.Unpriced, 0, ""
	if u.Tokens == (fleet.Tokens{}) { // no model was asked
		u.Pricing, u.Table = fleet.PricedByTable, t.Date
		return u
	}
	row, known := t.Find(u.Model, u.At)
	if !known {
		return u
	}
	if micro, ok := row.cost(u.Tokens); ok {
		u.Pricing, u.MicroUSD, u.Table = fleet.PricedByTable, micro, row.Table
	}
	return u
}

// cost is what tokens cost in millionths of a dollar, rounded; unknown for numbers that cannot be.
func (r Row) cost(n fleet.Tokens) (int64, bool) {
	for _, v := range []int64{n.Input, n.CacheRead, n.CacheWrite5m, n.CacheWrite1h, n.Output} {
		if v < 0 || v > mostTokens {
			return 0, false
		}
	}
	read := n.Read()
	p := r.tiers[slices.IndexFunc(r.tiers, func(t tier) bool { return t.above == 0 || read > t.above })]
	sum := n.Input*p.input + n.CacheRead*p.read + n.CacheWrite5m*p.write5m + n.CacheWrite1h*p.write1h + n.Output*p.response
	return (sum + 500_000) / 1_000_000, true
}
