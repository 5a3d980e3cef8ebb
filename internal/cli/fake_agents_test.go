package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"custos/internal/agent"
	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Take answers by the agent's name: "held" is queued, "later" too until it is
// given again (or, over a daemon, asked for), "never" refused, anything
// else is under way and done when it is asked for the second time. What was
// taken is a line of $HOME/orders.
func (w *world) Drafted(o fleet.Order) ([]fleet.Order, error) {
	taken, _, err := ledger.Take(nil, o, o.At)
	return []fleet.Order{taken}, err
}

func (w *world) Settle(context.Context, string) error { return nil }

func (w *world) Take(_ context.Context, o fleet.Order) (fleet.Order, error) {
	o.State, o.Action = fleet.OrderOpen, "00112233445566aa"
	switch o.Agent {
	case "later":
		if _, again := w.taken[o.ID]; again {
			break
		}
		fallthrough
	case "held":
		o.State, o.Action, o.Guard, o.Why, o.Until = fleet.OrderQueued, "", fleet.GuardState, "it works", o.At.Add(time.Minute)
	case "never":
		o.State, o.Action, o.Guard, o.Why, o.Hint = fleet.OrderRefused, "", fleet.GuardState, "there is no agent never", "custos ps"
	}
	_, again := w.taken[o.ID]
	w.taken[o.ID] = o
	if again {
		return o, nil
	}
	told := o
	told.ID, told.By, told.At, told.Until = "", "", fleet.Instant{}, fleet.Instant{}
	b, err := json.Marshal(told)
	if err != nil {
		return o, err
	}
	f, err := os.OpenFile(filepath.Join(w.home, "orders"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return o, err
	}
	_, err = f.Write(append(b, '\n'))
	return o, errors.Join(err, f.Close())
}

// overOrders are results of nudges of an hour ago, by the IDs of their orders.
var overOrders = map[string]fleet.Result{
	"came":    {Status: fleet.ResultDone, Why: "measured", Arrival: &fleet.Arrival{Outcome: fleet.OutcomeDelivered, Proof: fleet.ProofTranscript}},
	"refused": {Status: fleet.ResultDone, Why: "measured", Arrival: &fleet.Arrival{Outcome: fleet.OutcomeDelivered, Proof: fleet.ProofHook}},
	"command": {Status: fleet.ResultDone, Why: "measured", Arrival: &fleet.Arrival{Outcome: fleet.OutcomeDelivered, Proof: fleet.ProofHook}},
	"missed":  {Status: fleet.ResultUnverified, Why: "not delivered: nobody heard it", Arrival: &fleet.Arrival{Outcome: fleet.OutcomeNot, Why: "nobody heard it"}},
}

func (w *world) Order(_ context.Context, id string) (fleet.Order, error) {
	if i := slices.IndexFunc(w.pass.Past.Orders, func(o fleet.Order) bool { return o.ID == id }); i >= 0 {
		return w.pass.Past.Orders[i], nil
	}
	if r, ok := overOrders[id]; ok {
		o := fleet.Order{ID: id, Do: fleet.OrderNudge, Agent: "builder", By: "me", At: w.pass.Snapshot.At.Add(-time.Hour), State: fleet.OrderDone, Action: "a1", Command: id == "command"}
		return o.After(r), nil
	}
	o, ok := w.taken[id]
	if !ok {
		return o, fs.ErrNotExist
	}
	if w.asked++; o.Action != "" && w.asked > 1 {
		o.State, o.Why = fleet.OrderDone, "measured"
		if o.Agent == "late" {
			o = o.After(fleet.Result{Status: fleet.ResultUnverified, Why: "not delivered: nobody heard it", Arrival: &fleet.Arrival{Outcome: fleet.OutcomeNot, Why: "nobody heard it"}})
			if o.Text == "hm" {
				o = o.After(fleet.Result{Status: fleet.ResultUnverified, Why: "nobody answers"})
			}
		}
	}
	return o, nil
}

// Turned knows of one turn.
func (w *world) Turned(_ context.Context, o fleet.Order) (fleet.AgentTurn, error) {
	if o.ID != "refused" {
		return fleet.AgentTurn{State: fleet.TurnUnknown}, nil
	}
	return fleet.AgentTurn{State: fleet.TurnFailed, Error: "authentication: API Error: 401", At: w.pass.Snapshot.At}, nil
}

func (w *world) Cancel(_ context.Context, o fleet.Order, by string, _ func(fleet.Registration) (fleet.Registration, error)) (fleet.Order, error) {
	if o.Action != "" {
		return o, fmt.Errorf("%w: it is under way", ledger.ErrIllegal)
	}
	o.State, o.Why = fleet.OrderRefused, "taken back by "+by
	return o, nil
}

func (w *world) Let(_ context.Context, o fleet.Order, by string) (fleet.Order, error) {
	o.State, o.Approved, o.Action = fleet.OrderOpen, by, "a1"
	return o, nil
}

func (w *world) Open(context.Context) ([]fleet.Order, error) { return w.pass.Past.Orders, nil }

func (w *world) Registrations(context.Context) ([]fleet.Registration, error) {
	return w.pass.Past.Registrations, nil
}

func (w *world) Screen(_ context.Context, name string, lines int) (string, error) {
	if name != "builder" {
		return "", fmt.Errorf("cannot look at %s: it has no terminal: %w", name, fs.ErrNotExist)
	}
	return fmt.Sprintf("the last %d lines\n❯ \x1b[31mred", lines), nil
}

func (w *world) HookEvents(_ context.Context, f control.HookFilter) ([]fleet.HookEvent, error) {
	at := w.pass.Snapshot.At
	return []fleet.HookEvent{
		{ID: "a", At: at.Add(-2 * time.Second), Agent: "builder", Instance: "i1", Kind: "claude", Event: fleet.HookToolBegin, Tool: "Bash", CallID: "1", Args: "make"},
		{ID: "b", At: at.Add(-time.Second), Agent: "builder", Instance: "i1", Kind: "claude", Event: fleet.HookToolEnd, Tool: "Bash", CallID: "1", Text: "failed"},
		{ID: "c", At: at.Add(time.Second), Agent: "crasher", Instance: "i2", Kind: "codex", Event: fleet.HookStop},
	}, nil
}

func (w *world) Failures(_ context.Context, name string, _ int) ([]fleet.Failure, error) {
	if name != "" && name != "crasher" {
		return nil, nil
	}
	return []fleet.Failure{{ID: 1, At: w.pass.Snapshot.At, Agent: "crasher", Role: "dev", Verdict: "crashed", Reason: "ended by signal 9"}}, nil
}

func (w *world) EditHooks(kind, do string, text []byte) (api.HookFile, error) {
	kinds, err := agent.Parse()
	if err != nil {
		return api.HookFile{}, err
	}
	switch do {
	case "install":
		text, err = kinds.InstallHooks(kind, text, "/opt/custos/custos-hook", "/run/custos")
	case "uninstall":
		text, err = kinds.UninstallHooks(kind, text)
	}
	if err != nil {
		return api.HookFile{}, err
	}
	var accounts fleet.Accounts
	for _, dir := range w.folders {
		accounts = append(accounts, fleet.Account{Name: dir, Kind: "claude", ConfigDir: fleet.Path(dir)})
	}
	s, err := kinds.HookStatus(kind, text)
	return api.HookFile{Also: kinds.HookSettingsOf(kind, accounts), Below: kinds.HookSettings(kind), Settings: string(text), Events: s.Events, Missing: s.Missing, Command: s.Command,
		Limits: kinds.HookLimits(kind)}, err
}

// MessagesFor tells of nothing that waits.
func (w *world) MessagesFor(context.Context, string, int) ([]fleet.Message, error) { return nil, nil }

// Log is what an agent wrote: two lines and a half, the rest of the third for who asks
// again, then what its next instance wrote, and nothing more.
func (w *world) Log(_ context.Context, ask control.LogAsk) (api.Log, error) {
	l := api.Log{Instance: ask.Instance, Next: ask.After + "+"}
	switch {
	case ask.Errors:
		l.Text = "it complains\n"
	case ask.After == "":
		l.Text, l.Rest = "one \x1b[31mred\ntoken=abcdefgh\n", "half a li"
	case ask.After == "+":
		l.Text, l.Gap = "half a line\n", true
	case ask.After == "++":
		l.Instance, l.Text = "i9", "here I am\n"
	default:
		l.Instance = "i9"
	}
	return l, nil
}
