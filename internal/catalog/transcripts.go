package catalog

import (
	"context"
	"slices"

	"custos/internal/agent/price"
	"custos/internal/fleet"
	"custos/internal/observe/agents"
	"custos/internal/observe/transcripts"
)

// newConversations makes what reads the conversations of living agents, as the section
// [transcripts] says.
func newConversations(w *World) (*transcripts.Conversations, error) {
	o, err := w.transcripts()
	if err != nil {
		return nil, err
	}
	c, err := transcripts.NewConversations(o)
	return c, w.Config.Misread("transcripts", err)
}

func (w *World) transcripts() (transcripts.Options, error) {
	o := transcripts.Options{Enabled: true, Kinds: w.Kinds, Home: w.Config.Home, Getenv: w.Getenv, Now: w.Now}
	if err := w.Config.Section("transcripts", &o); err != nil {
		return o, err
	}
	accounts, err := Accounts(w.Config, w.Kinds)
	o.Roots, o.Accounts = w.withAccounts(o.Roots, accounts), accounts
	return o, err
}

// withAccounts adds the folders of accounts to those in which conversations are kept.
func (w *World) withAccounts(roots map[string][]string, accounts fleet.Accounts) map[string][]string {
	out := map[string][]string{}
	for kind, list := range roots {
		out[kind] = slices.Clone(list)
	}
	for _, a := range accounts {
		if k, _ := w.Kinds.Get(a.Kind); a.ConfigDir != "" {
			out[a.Kind] = append(out[a.Kind], k.Transcripts.Named(fleet.RawPath(a.ConfigDir)))
		}
	}
	return out
}

// NewUsage makes what writes down what conversations used: own says whose a response is, and
// the price table what it cost.
func NewUsage(w *World, ledger transcripts.Ledger, own func(fleet.Usage) fleet.Usage) (*transcripts.Usage, error) {
	o, err := w.transcripts()
	if err != nil {
		return nil, err
	}
	table, err := Prices(w.Config)
	if err != nil {
		return nil, err
	}
	u, err := transcripts.NewUsage(o, ledger, own, func(u fleet.Usage) fleet.Usage { return price.Of(table, u) })
	return u, w.Config.Misread("transcripts", err)
}

// conversations are those of the agents that run.
func (w *World) conversations(ctx context.Context, wanted []agents.Conversing) (map[fleet.ProcessID]fleet.Conversation, error) {
	list := make([]transcripts.Wanted, len(wanted))
	for i, c := range wanted {
		list[i] = transcripts.Wanted(c)
	}
	return w.Conversations.Of(ctx, list)
}

// written is what an agent's transcript tells of since a moment, as hooks tell it.
func (w *World) written(ctx context.Context, id fleet.ProcessID, since fleet.Instant) (events []fleet.HookEvent, err error) {
	if w.Conversations == nil {
		return nil, nil
	}
	c, ok, err := w.Conversations.Now(ctx, id)
	if !ok {
		return nil, err
	}
	now := w.Now()
	for _, e := range c.Events {
		if e.At = now.Add(min(0, e.At.Wall.Sub(now.Wall))); !e.At.Before(since) {
			events = append(events, e)
		}
	}
	return events, nil
}

// ErrUnwritten is what NewUsage's readings say when what they read could not be written down.
var ErrUnwritten = transcripts.ErrUnwritten
