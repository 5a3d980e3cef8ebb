// Package control is what people and agents may do: one file a noun, with its verbs, who
// may use each, and the words of the answers. What carries a verb (HTTP, a chat, the
// command line in process) only says who asks, and for what.
package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
	"custos/internal/view"
)

// Control does what is asked. All fields must be set unless said otherwise.
type Control struct {
	Formulas  Formulas
	Schedules func(context.Context) ([]api.ScheduleRow, error) // the formulas that run by themselves
	Runs      Runs
	Plugins   Plugins
	Code      Code
	Records   Records
	Pauses    Pauses
	Merges    Merges
	Roles     []fleet.Role // of custos.toml
	Teams     []fleet.Team
	Presets   []fleet.Role // that come with Custos
	RoleBook  RoleBook
	Watchers  fleet.CoordinationPolicy // of custos.toml
	Budgets   Budgets
	Grants    Grants
	Asker     Asker
	Brakes    Brakes
	Orders    Orders
	// Turned says what became of the turn that a nudge which was delivered has begun. Nil:
	// that is not known.
	Turned func(ctx context.Context, o fleet.Order) (fleet.AgentTurn, error)
	Agents Agents
	Asks   Asks
	Web    Web
	// Typing says who types to an agent by the page, key by key; "" for nobody. Nil: nobody.
	Typing func(agent string) string
	Past   func(context.Context) (fleet.Past, error)
	// Situation answers a person's question (status, stuck) by what is so.
	Situation   func(ctx context.Context, question ledger.Verb) (string, error)
	PatrolEvery time.Duration // for so long an ignore holds that says nothing else
	Alerts      Alerts
	Approver    Approver
	Mender      Mender
	// Examine finds out what the installation is like. asked says which categories of
	// checks it is for: what takes long is left out for others.
	Examine func(ctx context.Context, asked func(category string) bool) doctor.Installation
	// Anew has those parts looked at again that a look is cheap at: a diagnosis says how
	// it is now.
	Anew    func(ctx context.Context)
	Version string
	// Look takes a whole pass that writes and does nothing. What is not seen within the
	// given time is left unseen.
	Look   func(ctx context.Context, within time.Duration) (fleet.Pass, error)
	Status func(context.Context) api.Status
	// Vitals says whether passes are made. It waits for nothing.
	Vitals func(context.Context) view.Vitals
	// Costs lists what models cost since a moment, added up by one of fleet.CostBys.
	Costs func(ctx context.Context, since fleet.Instant, by string) ([]fleet.Cost, error)
	// UsageFaults lists what was told of responses since a moment that cannot be, or could not be read.
	UsageFaults func(ctx context.Context, since fleet.Instant) ([]fleet.UsageFault, error)
	// MoreMayBe says why nothing is counted now of what models use, and which conversations cannot be read; "" each.
	MoreMayBe func(ctx context.Context) (notCounted, notRead string)
	// Prices is the price table in force; Priced says whether it knows a model now.
	Prices func() api.Prices
	Priced func(model string) bool
	// Made lists the subjects of the commits that were made in a worktree since a
	// moment, newest first; more says that there may be others. Nil: it is not known.
	Made func(ctx context.Context, top string, since time.Time) (subjects []string, more bool, err error)
	// Places lists where people answer, and what lies there unread. Nil: nowhere.
	Places  func() []view.Listening
	Screens Screens
	History History
	// Journal returns one day ("2006-01-02", UTC) of the daily Markdown, or the newest for
	// ""; an error that wraps fs.ErrNotExist says that there is no such day.
	Journal    func(ctx context.Context, day string) (api.Journal, error)
	Teller     view.Teller
	Settings   Settings
	Readings   Readings
	Hub        func(context.Context) api.Hub                       // how this host stands with others
	HubLooks   func(ctx context.Context, since int64) api.HubLooks // the others, as they tell of themselves
	Configured bool                                                // there is a custos.toml; only hints depend on it
	Registry   func(context.Context) ([]fleet.Registration, error) // of agents, the retired too
	Rules      Rules                                               // those in force; nil: any name is taken for one
	Now        func() fleet.Instant
	People     []string // names of who may give orders here: no agent is called so
	// KindOf names the kind of agent that a command line starts; nil: by its program.
	KindOf func(argv []string) string
	// Tell writes a message to people down.
	Tell func(ctx context.Context, m fleet.Message) error
	// Receivers names the notifiers that a message reaches, without the daemon's terminal.
	Receivers func(m fleet.Message) []string
	Posts     Posts
	// Events lists events of the append-only log that match, oldest first: the newest
	// Limit of them, or, with After, the first Limit after it.
	Events func(ctx context.Context, f EventFilter) ([]fleet.Event, error)
	// Reply writes a person's reply down where the run awaits it, unless one lies there.
	Reply func(ctx context.Context, run fleet.Run, text string) error
	// Attend has this very process carry runs on for as long as it lives. Nil where
	// a daemon does so.
	Attend  func()
	Watched bool // a daemon runs
}

// Records is the book of what people and agents coordinate by.
type Records interface {
	// Seen is what is remembered and what was seen, as of now: records are as old as it says.
	Seen(ctx context.Context) (fleet.Past, fleet.Snapshot, error)
	// Edit changes records, in one transaction: edit is given those that count, and
	// what it returns is written. What was written is returned, with its IDs, after
	// one pass has seen it. An error of edit is returned, and nothing is written.
	Edit(ctx context.Context, edit func(fleet.Records) (fleet.Records, error)) (fleet.Records, error)
}

// Asker has an action begun that a person or an agent asks for.
type Asker interface {
	// Ask begins what is asked for, by what was seen of these parts, and returns it; nil
	// where nothing is asked for. Where it may not be done the error is a Refusal.
	Ask(ctx context.Context, by string, what func(fleet.Past, fleet.Snapshot) (*fleet.Finding, error), rests ...fleet.PartName) (*fleet.Action, error)
}

// Access says who may use a verb.
type Access int

// Who may use a verb.
const (
	Anyone  Access = iota // of this user, or root
	Author                // the same, in its own name: the user's, or the agent's that it is
	Person                // and no agent
	NoAgent               // as Person; but where agents are not seen at all now, anyone: it stops what acts
)

// Call is one use of a verb, as its carrier received it.
type Call struct {
	By     string                    // of all but Anyone: a user name, or of Author fleet.ByAgent
	Barred error                     // of Author: why what takes a person is refused; nil for a person
	Doubt  error                     // of Author: of which process it is not known whose it is, and why; nil where it can
	From   string                    // the host of the hub at which the person sits; "" for this one
	Asks   bool                      // what is ordered waits for a person of this host
	Marked bool                      // of Author: only its marker says which agent it is
	ID     string                    // of what is meant
	Do     string                    // what is done to it, where the verb leaves that open
	All    func(key string) []string // as Ask, where there may be several
	Ask    func(key string) string   // for which of them: all, for, project, …; "" where it does not matter
	Read   func(into any) error      // what is given with it
}

// Unnamed is the agent whose name is not known: who calls cannot be shown to be a person. It
// owns nothing.
const Unnamed = "?"

// ErrStranger is wrapped by a Barred of who is marked as an agent that this Custos has not
// started: it changes nothing, for it has no name here.
var ErrStranger = errors.New("it is of no agent that this Custos has started")

// Noun is one kind of record, and what may be done with it.
type Noun struct {
	Name  string
	Verbs []Verb
}

// Verb is one thing that may be done: list, show, add, change, …
type Verb struct {
	Name   string
	Access Access
	Large  bool // what is given with it may have a mebibyte of text
	Do     func(*Control, context.Context, Call) (any, error)
}

// Nouns lists all there are.
func Nouns() []Noun {
	nouns := []Noun{
		work(),
		convoys(),
		gates(),
		merges(),
		triggers(),
		mail(),
		formulas(),
		schedules(),
		runs(),
		plugins(),
		code(),
		projects(),
		budgets(),
		grants(),
		alerts(),
		silences(),
		brake(),
		receivers(),
		agents(),
		orders(),
		ofRoles(),
		roleFindings(),
		slings(),
		teams(),
		reviews(),
		people(),
		caller(),
		web(),
		installation(),
	}
	return append(looks(), nouns...)
}

// asks is for a verb that is given nothing.
func asks[T any](do func(*Control, context.Context, Call) (T, error)) func(*Control, context.Context, Call) (any, error) {
	return func(c *Control, ctx context.Context, call Call) (any, error) { return do(c, ctx, call) }
}

// given is for a verb that is given a request.
func given[R, T any](do func(*Control, context.Context, Call, R) (T, error)) func(*Control, context.Context, Call) (any, error) {
	return func(c *Control, ctx context.Context, call Call) (any, error) {
		var r R
		if err := call.Read(&r); err != nil {
			return nil, err
		}
		return do(c, ctx, call, r)
	}
}

// records are those that count now, and what they mean.
func (c *Control) records(ctx context.Context) (fleet.Records, fleet.Coordination, error) {
	past, seen, err := c.Records.Seen(ctx)
	return past.Records, ledger.Facts(past, seen).Value, err
}

// edit changes records; what makes no sense is the caller's mistake.
func (c *Control) edit(ctx context.Context, do func(fleet.Records) (fleet.Records, error)) (fleet.Records, error) {
	out, err := c.Records.Edit(ctx, do)
	return out, Reasoned(err)
}

// OwnKey is the key of what is asked for. It is never one of Custos' own: by
// those a step finds its gate, and news is sent once.
func OwnKey(key string) string {
	if key == "" {
		return ""
	}
	return "asked/" + fleet.Line(key, 200)
}

// Reason is a text of the ledger without its "not allowed: ": that word is for
// programs, the reason after it for people.
func Reason(text string) string { return strings.ReplaceAll(text, ledger.ErrIllegal.Error()+": ", "") }

// Reasoned is an error in words for people: what the ledger refuses is their mistake.
func Reasoned(err error) error {
	e := api.Found(err)
	switch {
	case e != nil:
		e = &api.Error{Kind: e.Kind, Message: Reason(e.Message), Hint: e.Hint}
	case errors.Is(err, ledger.ErrIllegal), errors.Is(err, ledger.ErrTaken):
		e = &api.Error{Kind: api.BadInput, Message: Reason(err.Error())}
	default:
		return err
	}
	return e
}

// Illegal finds out whose fault it is that something was not done: what the ledger refuses
// is the caller's.
func Illegal(err error) error {
	if errors.Is(err, ledger.ErrIllegal) || errors.Is(err, ledger.ErrTaken) {
		return api.AsBadInput(err)
	}
	return err
}

// missing says that there is no such thing, and which is meant where that can be guessed.
func missing(what, id string, known []string, hint string) error {
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find %s %q%s", what, fleet.Line(id, 100), nearest.Hint(id, known)), Hint: hint}
}

// each writes the things of a list.
func each[T any](list []T, write func(T) string) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, write(v))
	}
	return out
}
