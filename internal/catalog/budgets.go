package catalog

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
)

// budgetSection is the section [budget.NAME].
type budgetSection struct {
	Scope   string   `toml:"scope" is:"|agent|role|project|account|run|work|kind|fleet"` // what is counted together; "fleet"
	Of      string   `toml:"of"`                                                         // a name or pattern of that; each there is
	Window  string   `toml:"window" is:"|session|1h|day|week|month|total"`               // "day"
	Zone    string   `toml:"zone"`                                                       // of day, week and month; the machine's
	USD     *float64 `toml:"usd" is:"0..1000000"`
	Tokens  *int64   `toml:"tokens" is:"0..1000000000000"`
	Count   string   `toml:"count" is:"|work|all"`      // which tokens: without those from the cache, or with; "work"
	Quota   *float64 `toml:"quota_percent" is:"0..100"` // of what the account's plan allows
	Hours   *float64 `toml:"hours" is:"0..100000"`      // in which models answered
	Warn    *float64 `toml:"warn" is:"0..1000"`         // percent of the limit at which people are told; 80
	Hold    *float64 `toml:"hold" is:"0..1000"`         // at which nothing new is begun; 100
	Pause   *float64 `toml:"pause" is:"0..1000"`        // at which turns end before the model is asked again; 100
	Stop    *float64 `toml:"stop" is:"0..1000"`         // at which agents are stopped; never
	Enabled *bool    `toml:"enabled"`
}

// The steps of a budget that says nothing of them.
const (
	budgetWarn = 80
	budgetFull = 100
)

// budgetName is what stands in commands, and before a / in the names of allowances.
var budgetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Budgets reads the sections [budget.NAME], in the order of their names.
func Budgets(cfg config.Config) ([]fleet.Budget, error) {
	sections := map[string]budgetSection{}
	if err := cfg.Section("budget", &sections); err != nil {
		return nil, err
	}
	var out []fleet.Budget
	var wrong []error
	for _, name := range sortedNames(sections) {
		s := sections[name]
		b, err := s.budget(name)
		if err != nil {
			wrong = append(wrong, cfg.Misread("budget."+name, err))
		}
		if s.Enabled == nil || *s.Enabled {
			out = append(out, b)
		}
	}
	return out, errors.Join(wrong...)
}

func (s budgetSection) budget(name string) (fleet.Budget, error) {
	b := fleet.Budget{Name: name, By: fleet.SpendByFleet, Of: s.Of, Window: fleet.WindowDay, Zone: s.Zone, All: s.Count == "all",
		Warn: or(s.Warn, budgetWarn), Hold: or(s.Hold, budgetFull), Pause: or(s.Pause, budgetFull), Stop: or(s.Stop, 0),
		Tokens: or(s.Tokens, 0), Quota: or(s.Quota, 0), MicroUSD: int64(math.Round(or(s.USD, 0) * 1e6)), Minutes: int64(math.Round(or(s.Hours, 0) * 60))}
	if s.Scope != "" {
		b.By = fleet.SpendBy(s.Scope)
	}
	if s.Window != "" {
		b.Window = fleet.BudgetWindow(s.Window)
	}
	return b, errors.Join(checkBudget(&b), s.checkSaid(), checkSteps(&b))
}

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

func checkBudget(b *fleet.Budget) error {
	_, badGlob := path.Match(b.Of, "")
	switch {
	case !budgetName.MatchString(b.Name):
		return errors.New("its name may have letters, digits, and . _ -, 64 at most: it is a word of commands")
	case b.MicroUSD <= 0 && b.Tokens <= 0 && b.Quota <= 0 && b.Minutes <= 0:
		return errors.New("it limits nothing: want usd, tokens, quota_percent or hours above 0")
	case b.By == fleet.SpendByFleet && b.Of != "":
		return errors.New(`of: the fleet is one; name a scope, like scope = "agent"`)
	case badGlob != nil:
		return fmt.Errorf("of: %q is no pattern: its bracket has no end", fleet.Line(b.Of, 80))
	case b.Window == fleet.WindowSession && b.By != fleet.SpendByAgent:
		return errors.New(`window: a session is one conversation of one agent, and wants scope = "agent"`)
	case b.Quota > 0 && b.By != fleet.SpendByAccount:
		return errors.New(`quota_percent: a plan is an account's, and wants scope = "account"`)
	}
	return checkZone(b)
}

func checkZone(b *fleet.Budget) error {
	if b.Zone == "" {
		return nil
	}
	if b.Window != fleet.WindowDay && b.Window != fleet.WindowWeek && b.Window != fleet.WindowMonth {
		return fmt.Errorf("zone: a window of %s has none", b.Window)
	}
	if _, err := time.LoadLocation(b.Zone); err != nil {
		return fmt.Errorf("zone: there is no zone %q", fleet.Line(b.Zone, 80))
	}
	return nil
}

// checkSaid refuses what is said of something that the budget does not count.
func (s budgetSection) checkSaid() error {
	if s.Count != "" && s.Tokens == nil {
		return errors.New("count: it is about tokens, and there is no limit of tokens")
	}
	return nil
}

// checkSteps: each step comes at the one before it, or later. A step of 0 is none.
func checkSteps(b *fleet.Budget) error {
	last, of := 0.0, ""
	for _, step := range []struct {
		name string
		at   float64
	}{{"warn", b.Warn}, {"hold", b.Hold}, {"pause", b.Pause}, {"stop", b.Stop}} {
		if step.at == 0 {
			continue
		}
		if step.at < last {
			return fmt.Errorf("%s: %v percent is before %s, at %v", step.name, step.at, of, last)
		}
		last, of = step.at, step.name
	}
	if last == 0 {
		return errors.New("warn: nothing follows when it is used up: want one of warn, hold, pause and stop above 0")
	}
	return nil
}
