package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"custos/internal/api"
)

// costsData is what models used and cost, how fast that goes on, and what they may.
type costsData struct {
	By, Since  string
	Groups     []string
	Spans      []costSpan
	Costs      list[api.CostRow]
	Total      api.CostRow
	Faults     []api.CostFault
	Hour       *api.CostRow // of the last hour; nil where it is not known
	NoHour     string       // why
	Budgets    list[api.Budget]
	NotCounted string // why it is not known what was spent of budgets
}

// costSpan is how far is looked back.
type costSpan struct{ Name, Since string }

func costSpans() []costSpan {
	return []costSpan{{"an hour", "1h"}, {"a day", "24h"}, {"7 days", "7d"}, {"30 days", "30d"}, {"a year", "365d"}}
}

// budgetStages are how far a budget has come.
func budgetStages() []string { return []string{"unknown", "stop", "pause", "hold", "warn", "under"} }

func (s *site) costs(ctx context.Context, r *http.Request) (page, error) {
	asked := r.URL.Query()
	d := costsData{By: asked.Get("by"), Since: asked.Get("since"), Groups: api.CostGroups(), Spans: costSpans()}
	d.By, d.Since = cmp.Or(d.By, d.Groups[0]), cmp.Or(d.Since, "7d")
	switch {
	case !slices.Contains(d.Groups, d.By):
		return page{}, api.AsBadInput(fmt.Errorf("cannot show costs by that: want by=%s", strings.Join(d.Groups, ", ")))
	case !slices.ContainsFunc(d.Spans, func(c costSpan) bool { return c.Since == d.Since }):
		return page{}, api.AsBadInput(fmt.Errorf("cannot show costs since then: want since=1h, 24h, 7d, 30d or 365d"))
	}
	at, now := address("/costs", asked, "by", "since", "from", "budgets"), s.Now()
	costs, err := s.api.Costs(ctx, d.Since, d.By)
	d.Costs = listed(costs.Rows, err, at, "from", nil, nil)
	d.Total, d.Faults = costs.Total, costs.Faults
	hour, err := s.api.Costs(ctx, "1h", "day")
	if d.Hour = &hour.Total; err != nil {
		d.Hour, d.NoHour = nil, api.ErrorOf(err).Message
	}
	budgets, err := s.api.Budgets(ctx)
	d.NotCounted = cmp.Or(budgets.Unknown, costs.Unknown, budgets.AtLeast, costs.AtLeast)
	d.Budgets = listed(budgets.Rows, err, at, "budgets", budgetStages(), api.Budget.StageWord)
	return page{Name: "costs", Title: "Costs and budgets", At: now, Data: d}, nil
}

// Held are the budgets shown that hold something back.
func (d costsData) Held() (out []api.Budget) {
	for _, b := range d.Budgets.Rows {
		if b.Hint != "" {
			out = append(out, b)
		}
	}
	return out
}

// budgetData is one allowance of a budget.
type budgetData struct {
	api.Budget
	ID   string // of the next raise: the same form sent twice is one
	Seen string // digest of what a raise adds to
	More string // what the command would raise it by; "" where that is not said
	Done string
}

// Path is where the forms of the budget go.
func (d budgetData) Path() string { return budgetPath(d.Name) }

// Rate is how fast it is used, in words.
func (d budgetData) Rate() string {
	switch {
	case d.PerHour == nil:
		return "unknown"
	case d.Metric == "usd":
		return cmp.Or(api.Dollars(*d.PerHour), "$0") + " an hour"
	}
	return cmp.Or(api.Tokens(int64(*d.PerHour)), "0") + " " + d.Metric + " an hour"
}

func (s *site) budget(ctx context.Context, r *http.Request) (page, error) {
	b, unknown, err := s.findBudget(ctx, r.PathValue("name"))
	if err != nil {
		return page{}, err
	}
	d := budgetData{Budget: b, ID: s.shared.mark, Seen: raisable(b), Done: whatWasDoneWithBudget(r.URL.Query().Get("done"))}
	for _, word := range strings.Fields(b.Hint) {
		if strings.HasPrefix(word, "+") {
			d.More = word
		}
	}
	p := page{Name: "budget", Title: "Budget " + b.Name, At: s.Now(), Data: d}
	if unknown != "" {
		p.Banners = []banner{{"bad", "What was spent is not known: " + unknown}}
	}
	return p, nil
}

func (s *site) findBudget(ctx context.Context, name string) (b api.Budget, unknown string, err error) {
	v, err := s.api.Budgets(ctx)
	if err != nil {
		return b, "", err
	}
	i := slices.IndexFunc(v.Rows, func(b api.Budget) bool { return b.Name == name })
	switch {
	case i < 0 && v.Unknown != "":
		return b, "", &api.Error{Kind: api.CannotLook, Message: "cannot show that budget: what was spent is not known: " + v.Unknown, Hint: "custos budget"}
	case i < 0:
		return b, "", &api.Error{Kind: api.NotFound, Message: "cannot show that budget: there is none, or nothing was spent of it", Hint: "custos budget"}
	}
	return v.Rows[i], v.Unknown, nil
}

// raisable is the digest of what a raise adds to: what is spent meanwhile changes nothing of it.
func raisable(b api.Budget) string {
	return digest([]any{b.Name, b.Budget, b.Scope, b.Of, b.Window, b.Metric, b.Limit, b.Raised})
}

// whatWasDoneWithBudget are the words for what the forms do: nothing else of an address is shown.
func whatWasDoneWithBudget(done string) string {
	return map[string]string{
		"raise": "It is raised. What waited goes on.",
		"lower": "It is as custos.toml has it.",
	}[done]
}

// raiseBudget lets a budget have more for a while, where its limit is still what was shown.
func (s *site) raiseBudget(ctx context.Context, r *http.Request) (string, error) {
	id, err := formID(r)
	if err != nil {
		return "", err
	}
	f := r.PostForm
	return s.changeBudget(ctx, r, api.RaiseOrder{Name: r.PathValue("name"), By: f.Get("by"), For: f.Get("for"), Why: f.Get("why"), Key: id}, "raise")
}

// lowerBudget ends what an allowance, or all of its budget, was raised by.
func (s *site) lowerBudget(ctx context.Context, r *http.Request) (string, error) {
	o := api.RaiseOrder{Name: r.PathValue("name"), Lower: true}
	if whole, _, isAllowance := strings.Cut(o.Name, "/"); isAllowance && r.PostForm.Get("whole") != "" {
		o.Name = whole
	}
	return s.changeBudget(ctx, r, o, "lower")
}

func (s *site) changeBudget(ctx context.Context, r *http.Request, o api.RaiseOrder, done string) (string, error) {
	name := r.PathValue("name")
	b, _, err := s.findBudget(ctx, name)
	if err != nil {
		return "", err
	}
	if err := asShown(r.PostForm, raisable(b)); err != nil {
		return "", err
	}
	_, err = s.api.Raise(ctx, o)
	return budgetPath(name) + "?done=" + done + "#outcome", err
}

func budgetPath(name string) string { return "/costs/budgets/" + url.PathEscape(name) }
