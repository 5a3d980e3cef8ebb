package api

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// FormulaQuery names a formula by its name, or is the text of its file. Paths
// are absolute.
type FormulaQuery struct {
	Name    string            `json:"name,omitempty"`
	File    string            `json:"file,omitempty"`    // where Text is from
	Text    string            `json:"text,omitempty"`    // instead of Name
	Project string            `json:"project,omitempty"` // a name of [formulas] projects, or a folder
	Vars    map[string]string `json:"vars,omitempty"`
	Render  bool              `json:"render,omitempty"` // with the values: a value that is missing is then an error
	Lint    bool              `json:"lint,omitempty"`   // look for the commands that it names on this machine
}

// FormulaProblem is one thing that is wrong with a formula, or that nothing acts on.
type FormulaProblem struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"` // error or warning
	Text     string `json:"text"`
}

// Formulas are the formulas there are.
type Formulas struct {
	Formulas []FormulaRow `json:"formulas"`
	Next     []Hint       `json:"next"`
}

// FormulaRow is a formula in a list.
type FormulaRow struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"` // its first line
	Type        string   `json:"type,omitempty"`
	Mode        string   `json:"mode,omitempty"` // session, headless or steps
	Project     string   `json:"project,omitempty"`
	Source      string   `json:"source"` // file, or formulas/NAME.toml of those that are shipped
	Steps       int      `json:"steps"`
	Schedules   []string `json:"schedules,omitempty"` // in a list: those that it runs by, as Schedules has them; of one formula: its own
	Disabled    string   `json:"disabled,omitempty"`  // why it does not run
	Broken      string   `json:"broken,omitempty"`    // the first thing that is wrong with it
}

// Formula is a formula as it was read, or, with values, as it would run.
type Formula struct {
	FormulaRow
	Text     string            `json:"text"` // the whole description
	Vars     []FormulaVar      `json:"vars"`
	Values   map[string]string `json:"values,omitempty"` // of a rendered one
	Plan     []FormulaStep     `json:"plan"`             // its steps, in an order that respects their needs
	Graph    string            `json:"graph"`
	DOT      string            `json:"dot"` // for Graphviz
	Refused  bool              `json:"refused"`
	Problems []FormulaProblem  `json:"problems"`
}

// FormulaVar is a variable of a formula.
type FormulaVar struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Default     *string  `json:"default,omitempty"`
	Required    bool     `json:"required,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
}

// FormulaStep is a step of a formula.
type FormulaStep struct {
	ID      string            `json:"id"`
	Title   string            `json:"title,omitempty"`
	Needs   []string          `json:"needs,omitempty"`
	Do      string            `json:"do"` // run, uses or prose
	Argv    []string          `json:"argv,omitempty"`
	Script  string            `json:"script,omitempty"`
	Uses    string            `json:"uses,omitempty"`
	With    map[string]string `json:"with,omitempty"`
	Text    string            `json:"text,omitempty"`
	Timeout string            `json:"timeout,omitempty"`
	Retries int               `json:"retries,omitempty"`
	Safe    bool              `json:"safe,omitempty"` // may be repeated after a crash
	Wave    int               `json:"wave"`           // from 1: those of one wave do not need each other
}

// FormulaSwitchRequest says more of the formula that is switched off or on.
type FormulaSwitchRequest struct {
	Project string `json:"project,omitempty"` // that alone has it: a name of [formulas] projects, or a folder
}

// FormulaSwitch is what became of switching a formula off or on.
type FormulaSwitch struct {
	Formula  string `json:"formula"`
	Disabled string `json:"disabled,omitempty"` // why it does not run; empty: it does
	Note     string `json:"note,omitempty"`
}

// Schedules are the formulas that run by themselves.
type Schedules struct {
	At        time.Time     `json:"at"`
	Watched   bool          `json:"watched"` // a daemon runs: without one nothing is started
	Schedules []ScheduleRow `json:"schedules"`
	Next      []Hint        `json:"next"`
}

// ScheduleRow is one schedule.
type ScheduleRow struct {
	Name     string      `json:"name"`
	Formula  string      `json:"formula"`
	Project  string      `json:"project,omitempty"`
	When     string      `json:"when"` // every 20m, cron …, on …, when …
	Source   string      `json:"source,omitempty"`
	Enabled  bool        `json:"enabled"`
	NextAt   []time.Time `json:"next_at"` // what is known beforehand, without its jitter
	Holds    *bool       `json:"holds,omitempty"`
	LastRun  string      `json:"last_run,omitempty"` // its ID
	LastAt   *time.Time  `json:"last_at,omitempty"`
	LastDone string      `json:"last_state,omitempty"`
	WhyNot   string      `json:"why_not,omitempty"` // why it does not run now
}

// CostGroups lists what costs are added up by, days first.
func CostGroups() []string {
	return []string{"day", "agent", "role", "project", "account", "model", "kind", "work", "run", "formula", "session", "alert"}
}

// Costs are what models used and cost.
type Costs struct {
	Since time.Time `json:"since"`
	By    string    `json:"by"` // one of CostGroups
	Rows  []CostRow `json:"rows"`
	Total CostRow   `json:"total"`
	// Unknown is why nothing is counted now, and since when; AtLeast which conversations cannot be read: more may have been used.
	Unknown string `json:"unknown,omitempty"`
	AtLeast string `json:"at_least,omitempty"`
	// Faults are what was told of responses since then and cannot be, or could not be read: it counts in part, or not.
	Faults []CostFault `json:"faults,omitempty"`
}

// CostFault is what was wrong with what a kind of CLI told of its responses, and where that was seen last.
type CostFault struct {
	Kind string    `json:"kind"`
	Why  string    `json:"why"`
	At   time.Time `json:"at"`
	Key  string    `json:"key"` // of the response, or the file
	// More are the places before that one, the newest first.
	More []string `json:"more,omitempty"`
	// AtLeast says that there may have been more than these: no more are kept of one fault.
	AtLeast bool `json:"at_least,omitempty"`
}

// shownPlaces are named one by one.
const shownPlaces = 4

// Places names where it was seen, the newest first, and of more than a few how many more there
// are: at least so many where not all are kept.
func (f CostFault) Places() string {
	all := append([]string{f.Key}, f.More...)
	text := strings.Join(all[:min(len(all), shownPlaces)], ", ")
	if more := len(all) - shownPlaces; more > 0 {
		text += AndMore(more, f.AtLeast)
	}
	return text
}

// CostRow is one sum: of a day, an agent, a model.
type CostRow struct {
	Key      string  `json:"key"`
	Calls    int     `json:"calls"`              // responses of models, questions to the judge; of a run whose responses were not seen: sessions
	Tokens   int64   `json:"tokens"`             // all of them
	Cached   int64   `json:"cached,omitempty"`   // of the tokens: read from a cache
	Output   int64   `json:"output,omitempty"`   // of the tokens: written
	Dollars  float64 `json:"dollars"`            // told, and by table
	Told     float64 `json:"told"`               // as a CLI or a judge's server said
	Table    float64 `json:"table"`              // tokens at list prices: of a subscription nothing of it is billed
	Unpriced int     `json:"unpriced,omitempty"` // calls whose price is not known
}

// Prices are what models cost by the table, in dollars for a million tokens.
type Prices struct {
	Date     string          `json:"date"`     // of the table that comes with Custos
	Prices   []ModelPrice    `json:"prices"`   // those of custos.toml first
	Since    time.Time       `json:"since"`    // from when on the models below were seen
	Unpriced []UnpricedModel `json:"unpriced"` // models that were seen, of whose responses some have no price
}

// ModelPrice is what some models cost. What is null costs what input does.
type ModelPrice struct {
	Models       []string `json:"models"` // without a date and a provider's prefix; * stands for anything
	Since        string   `json:"since,omitempty"`
	Above        int64    `json:"above,omitempty"` // tokens that the model was given, beyond which the whole response costs this
	Input        *float64 `json:"input"`
	CacheRead    *float64 `json:"cache_read"`
	CacheWrite5m *float64 `json:"cache_write_5m"`
	CacheWrite1h *float64 `json:"cache_write_1h"`
	Output       *float64 `json:"output"`
	Table        string   `json:"table"` // the table's date, or custos.toml
}

// UnpricedModel is a model of whose responses some have no price.
type UnpricedModel struct {
	Model string `json:"model"`
	Calls int    `json:"calls"` // that have none
	Known bool   `json:"known"` // the table knows it now: those to come are priced
}

// Formulas lists the formulas there are.
func (c *Client) Formulas(ctx context.Context) (Formulas, error) {
	return get[Formulas](ctx, c, "/v1/formulas")
}

// Formula reads one formula.
func (c *Client) Formula(ctx context.Context, q FormulaQuery) (Formula, error) {
	return post[Formula](ctx, c, looks, "/v1/formulas", q)
}

// SwitchFormula switches a formula off ("disable") or on ("enable"). A name that is
// not known anywhere is refused.
func (c *Client) SwitchFormula(ctx context.Context, name, do string, r FormulaSwitchRequest) (FormulaSwitch, error) {
	return post[FormulaSwitch](ctx, c, once, "/v1/formulas/"+url.PathEscape(name)+"/"+do, r)
}

// Schedules lists the formulas that run by themselves.
func (c *Client) Schedules(ctx context.Context) (Schedules, error) {
	return get[Schedules](ctx, c, "/v1/schedules")
}

// Prices shows the price table, and the models seen since a moment that have no price.
func (c *Client) Prices(ctx context.Context, since string) (Prices, error) {
	return get[Prices](ctx, c, "/v1/prices?"+url.Values{"since": {since}}.Encode())
}

// Costs sums up what models cost since a moment ("7d", "2026-11-20").
func (c *Client) Costs(ctx context.Context, since, by string) (Costs, error) {
	return get[Costs](ctx, c, "/v1/costs?"+url.Values{"since": {since}, "by": {by}}.Encode())
}
