package fleet

import (
	"cmp"
	"path"
	"time"
)

// SpendBy is what a budget counts together.
type SpendBy string

// What spending is counted by: the columns of the usage ledger that say whose it is.
const (
	SpendByAgent   SpendBy = "agent"
	SpendByRole    SpendBy = "role"
	SpendByProject SpendBy = "project"
	SpendByAccount SpendBy = "account"
	SpendByRun     SpendBy = "run"
	SpendByWork    SpendBy = "work"
	SpendByKind    SpendBy = "kind"
	SpendByFleet   SpendBy = "fleet" // all that is known of, whoever started it
)

// SpendBys lists them, the narrowest first.
func SpendBys() []SpendBy {
	return []SpendBy{SpendByAgent, SpendByRun, SpendByWork, SpendByRole, SpendByProject, SpendByAccount, SpendByKind, SpendByFleet}
}

// BudgetWindow is the time that a budget counts over.
type BudgetWindow string

// The windows of budgets.
const (
	WindowSession BudgetWindow = "session" // the newest conversation of each agent
	WindowHour    BudgetWindow = "1h"      // the last sixty minutes, at any moment
	WindowDay     BudgetWindow = "day"     // of the calendar in the budget's zone, as the two below
	WindowWeek    BudgetWindow = "week"    // from Monday
	WindowMonth   BudgetWindow = "month"
	WindowTotal   BudgetWindow = "total" // all that is written down
)

// BudgetWindows lists them, the shortest first.
func BudgetWindows() []BudgetWindow {
	return []BudgetWindow{WindowSession, WindowHour, WindowDay, WindowWeek, WindowMonth, WindowTotal}
}

// Bounds returns the window that a moment lies in, in a zone: from its beginning until
// its end. Without a beginning it is all there was; without an end it slides, or has none. A day
// has as many hours as the zone gives it.
func (w BudgetWindow) Bounds(at time.Time, zone *time.Location) (from, until time.Time) {
	y, m, d := at.In(zone).Date()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, zone).UTC() }
	switch w {
	case WindowHour:
		return at.Add(-time.Hour).UTC(), time.Time{}
	case WindowDay:
		return day(y, m, d), day(y, m, d+1)
	case WindowWeek:
		monday := d - (int(at.In(zone).Weekday())+6)%7
		return day(y, m, monday), day(y, m, monday+7)
	case WindowMonth:
		return day(y, m, 1), day(y, m+1, 1)
	}
	return time.Time{}, time.Time{}
}

// SpendMetric is what is counted.
type SpendMetric string

// What is counted of spending.
const (
	MetricUSD    SpendMetric = "usd"           // in millionths of a dollar
	MetricTokens SpendMetric = "tokens"        // of work, or all, as the budget counts
	MetricQuota  SpendMetric = "quota_percent" // of what a plan allows, as its CLI tells
	MetricHours  SpendMetric = "hours"         // in which it was answered, in minutes here; conversations beside each other each count
)

// BudgetStage is how far a budget has come.
type BudgetStage string

// The stages of a budget, in their order: each brings what the one before it brought, too.
const (
	StageUnder BudgetStage = "under" // nothing of it is reached
	StageWarn  BudgetStage = "warn"  // people are told
	StageHold  BudgetStage = "hold"  // nothing new is begun
	StagePause BudgetStage = "pause" // turns end before the model is asked again
	StageStop  BudgetStage = "stop"  // agents are stopped, their work backed up
)

// BudgetStages lists them in their order.
func BudgetStages() []BudgetStage {
	return []BudgetStage{StageUnder, StageWarn, StageHold, StagePause, StageStop}
}

// Reaches says whether a stage is the other one, or further.
func (s BudgetStage) Reaches(other BudgetStage) bool { return s.rank() >= other.rank() }

func (s BudgetStage) rank() int {
	for i, known := range BudgetStages() {
		if s == known {
			return i
		}
	}
	return 0
}

// Budget is the section [budget.NAME]: what may be spent, by whom, in which time, and
// what follows. A limit of 0 is none; so is a step of 0 percent.
type Budget struct {
	Name   string       `json:"name"`
	By     SpendBy      `json:"scope"`
	Of     string       `json:"of,omitempty"` // a name or pattern: each that matches may spend so much; empty: each there is
	Window BudgetWindow `json:"window"`
	Zone   string       `json:"zone,omitempty"` // of day, week and month; empty: the machine's

	MicroUSD int64   `json:"micro_usd,omitempty"`
	Tokens   int64   `json:"tokens,omitempty"`
	All      bool    `json:"all,omitempty"`           // tokens from the cache count, too
	Quota    float64 `json:"quota_percent,omitempty"` // of what the plan allows
	Minutes  int64   `json:"minutes,omitempty"`

	Warn  float64 `json:"warn,omitempty"` // percent of the limit, as the three below
	Hold  float64 `json:"hold,omitempty"`
	Pause float64 `json:"pause,omitempty"`
	Stop  float64 `json:"stop,omitempty"`
}

// Limit is what the budget allows of a metric; 0: it says nothing of that.
func (b *Budget) Limit(m SpendMetric) float64 {
	switch m {
	case MetricUSD:
		return float64(b.MicroUSD)
	case MetricTokens:
		return float64(b.Tokens)
	case MetricQuota:
		return b.Quota
	case MetricHours:
		return float64(b.Minutes)
	}
	return 0
}

// Counts says whether the budget limits anything that is counted, and not only what a plan tells.
func (b *Budget) Counts() bool { return b.MicroUSD > 0 || b.Tokens > 0 || b.Minutes > 0 }

// SpendMetrics lists what is counted, in the order in which it is told.
func SpendMetrics() []SpendMetric {
	return []SpendMetric{MetricUSD, MetricTokens, MetricQuota, MetricHours}
}

// Stage is how far a share of the limit, in percent, brings the budget.
func (b *Budget) Stage(percent float64) BudgetStage {
	stage := StageUnder
	for _, step := range []struct {
		at    float64
		stage BudgetStage
	}{{b.Warn, StageWarn}, {b.Hold, StageHold}, {b.Pause, StagePause}, {b.Stop, StageStop}} {
		if step.at > 0 && percent >= step.at {
			stage = step.stage
		}
	}
	return stage
}

// Spender is who would spend: whose each row of the ledger would be.
type Spender struct{ Agent, Role, Project, Account, Run, Work, Kind string }

// SpenderOf is who an agent is as a spender: as it is registered, else as it was seen;
// either may be nil. Working is Records.Working: what it has taken is its work, else its task.
func SpenderOf(reg *Registration, a *Agent, working map[string]string) (s Spender) {
	if a != nil {
		s = Spender{Agent: a.Name, Role: a.Role, Project: a.Project, Account: a.Account, Run: a.Run, Work: a.Task, Kind: a.Kind}
	}
	if reg != nil {
		s = Spender{Agent: reg.Name, Role: reg.Role, Project: reg.Project, Account: cmp.Or(reg.Account, s.Account), Run: reg.Run, Work: reg.Task, Kind: reg.Kind}
	}
	if work := working[s.Agent]; s.Agent != "" && work != "" {
		s.Work = work
	}
	return s
}

// By is what a spender is called in a column of the ledger.
func (s Spender) By(by SpendBy) string {
	switch by {
	case SpendByAgent:
		return s.Agent
	case SpendByRole:
		return s.Role
	case SpendByProject:
		return s.Project
	case SpendByAccount:
		return s.Account
	case SpendByRun:
		return s.Run
	case SpendByWork:
		return s.Work
	case SpendByKind:
		return s.Kind
	}
	return ""
}

// Allowance is which allowance of the budget a spender spends from; ok is false when none of
// it. The fleet has one, with no name.
func (b *Budget) Allowance(s Spender) (of string, ok bool) {
	if b.By == SpendByFleet {
		return "", true
	}
	of = s.By(b.By)
	return of, of != "" && b.Matches(of)
}

// Matches says whether an allowance of that name is the budget's.
func (b *Budget) Matches(of string) bool {
	if b.By == SpendByFleet {
		return of == ""
	}
	if b.Of == "" || b.Of == of {
		return true
	}
	ok, err := path.Match(b.Of, of)
	return ok && err == nil
}

// AllowanceName is what people call an allowance of the budget: the one that its section names is
// called as that.
func (b *Budget) AllowanceName(of string) string {
	if of == b.Of {
		return b.Name
	}
	return b.Name + "/" + of
}

// SpendScope asks what was spent: by whom, and from when on. What is dated later than
// now counts, too: a clock that is ahead spends no less.
type SpendScope struct {
	Budget  string    `json:"budget"` // its name
	By      SpendBy   `json:"by"`
	Of      string    `json:"of,omitempty"`      // a name or pattern; empty: each there is
	Session bool      `json:"session,omitempty"` // of each agent the newest conversation alone
	Hours   bool      `json:"hours,omitempty"`   // Minutes are wanted, too, which take longer to count
	From    time.Time `json:"from,omitzero"`     // zero: all there was
	At      time.Time `json:"at"`                // now: Recent is the hour before it
}

// Spending is what one allowance of a budget has spent.
type Spending struct {
	Budget    string    `json:"budget"`
	Of        string    `json:"of,omitempty"`
	From      time.Time `json:"from,omitzero"`  // of the window; zero: all there was
	Until     time.Time `json:"until,omitzero"` // the window's end; zero: it slides, or has none
	Responses int64     `json:"responses"`
	Unpriced  int64     `json:"unpriced,omitempty"` // responses whose price is not known
	Tokens    Tokens    `json:"tokens"`
	MicroUSD  int64     `json:"micro_usd"`        // of the responses whose price is known
	Minutes   int64     `json:"minutes"`          // in which it was answered, in steps of five
	Last      time.Time `json:"last,omitzero"`    // the newest response, where that is of the last hour
	Recent    []Spent   `json:"recent,omitempty"` // of the last hour, the oldest first; steps in which nothing was spent are left out
	// Quota is what its agents tell of their plan in this very pass: no probe fills it.
	Quota []Quota `json:"quota,omitempty"`
	// Lost is what became of what was written down before, while no person has acknowledged that it is gone: as
	// with Quota, no probe fills it.
	Lost string `json:"lost,omitempty"`
	// Uncounted is why more may have been spent than was counted, as Spendings.MoreMayBe says it: no probe fills it.
	Uncounted string `json:"uncounted,omitempty"`
}

// SpendStep is how long one step of Spending.Recent is.
const SpendStep = time.Minute

// Spent is what was spent in one step of time.
type Spent struct {
	At       time.Time `json:"at"` // its beginning
	Tokens   Tokens    `json:"tokens"`
	MicroUSD int64     `json:"micro_usd"`
}

// Spendings is what a look at the ledger of usage tells.
type Spendings struct {
	Sums   []Spending    `json:"sums,omitempty" unread:"rules speak of budgets"`
	Agents []AgentSpends `json:"agents,omitempty" unread:"rules speak of agents"`
	Faults []UsageFault  `json:"faults,omitempty" unread:"the doctor tells of them"`
	// Uncounted is why nothing that is spent now is counted; empty while it is. Counted is until when it was then, zero when it never was.
	Uncounted string    `json:"uncounted,omitempty" unread:"budgets are blind then"`
	Counted   time.Time `json:"counted,omitzero" unread:"budgets are blind then"`
	// Unread is which conversations cannot be read, and why; empty when all can.
	Unread string `json:"unread,omitempty" unread:"budgets are blind then"`
	// Budgets are what the sums mean in this very pass, with what people raised: no probe
	// fills them.
	Budgets []BudgetFacts `json:"budgets,omitempty" help:"each allowance of each budget"`
}

// AgentSpends is how fast one agent spends: tokens of work in ten minutes.
type AgentSpends struct {
	Agent string      `json:"agent"`
	Now   int64       `json:"now"`   // in the last ten minutes
	Usual Leaf[int64] `json:"usual"` // the median of those ten minutes of the last day in which it spent; known from six on
}

// Working says which work of the ledger each agent has taken: of several the first.
func (r Records) Working() map[string]string {
	out := map[string]string{}
	for _, w := range r.Work {
		if w.State == WorkTaken && !w.Person && w.Agent != "" && out[w.Agent] == "" {
			out[w.Agent] = string(w.Ref())
		}
	}
	return out
}
