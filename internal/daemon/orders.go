package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"custos/internal/agent"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/store"
)

// orderPort is the orders, and what is known of agents, as the ports want them.
type orderPort struct{ s *system }

var (
	_ control.Orders  = orderPort{}
	_ control.History = orderPort{}
)

// Drafted is an order as it would be written down, and those that go with it.
func (c orderPort) Drafted(o fleet.Order) ([]fleet.Order, error) {
	if s := o.Spawn; s != nil {
		if _, known := c.s.world.Kinds.Get(s.Kind); !known {
			return nil, fmt.Errorf("%w: there is no kind %q; there are %s", ledger.ErrIllegal, s.Kind, strings.Join(c.s.world.Kinds.Names(), ", "))
		}
	}
	taken, _, err := ledger.Take(nil, o, c.s.world.Now())
	if err != nil {
		return nil, err
	}
	if o.State == fleet.OrderAsked { // what goes with it is made when it is approved of
		taken.State = o.State
		taken.Key, _ = c.keyOf(o)
		return []fleet.Order{taken}, nil
	}
	prompt, err := c.firstPrompt(taken)
	return append([]fleet.Order{taken}, prompt...), err
}

// Settle has one pass judge what was written down.
func (c orderPort) Settle(ctx context.Context, why string) error {
	c.s.listen()
	c.s.board.Touched(fleet.PartAgents)
	return c.s.loop.Pass(ctx, why, restsOn()...)
}

// Take writes an order down, and has one pass judge it.
func (c orderPort) Take(ctx context.Context, o fleet.Order) (fleet.Order, error) {
	drafted, err := c.Drafted(o)
	if err != nil {
		return o, err
	}
	if err := c.s.begin(ctx); err != nil {
		return o, err
	}
	c.s.listen()
	st, err := c.s.ledger.writer(ctx)
	if err != nil {
		return o, err
	}
	taken, _, err := st.TakeOrder(ctx, drafted[0], drafted[1:]...)
	if errors.Is(err, store.ErrExists) {
		return o, fmt.Errorf("%w: %w", ledger.ErrTaken, err)
	}
	if err != nil {
		return o, err
	}
	if taken.State == fleet.OrderAsked {
		c.s.loop.Wake("order " + taken.ID + " asked for")
		return taken, nil
	}
	return c.judged(ctx, taken)
}

// keyOf is the key that the host has now at which an order was asked for; "": it is not of the hub. told is false where
// that is not known.
func (c orderPort) keyOf(o fleet.Order) (key string, told bool) {
	if c.s.member == nil {
		return "", true
	}
	return c.s.member.Key(strings.TrimPrefix(o.By, "person@"))
}

// mayLet refuses what a host asked for that is not of the hub any more, and what was asked for under the key of an
// earlier one of its name, which may have been stolen. What is not known is refused.
func (c orderPort) mayLet(o fleet.Order) error {
	host := "host " + fleet.Line(strings.TrimPrefix(o.By, "person@"), 80) + ", at which it was ordered,"
	switch key, told := c.keyOf(o); {
	case !told:
		return fmt.Errorf("%w: it is not known now whether %s is of the hub yet: a daemon that has reached the hub knows (custos up, custos hub status)", ledger.ErrIllegal, host)
	case key == "":
		return fmt.Errorf("%w: %s is not known to be of the hub", ledger.ErrIllegal, host)
	case key != o.Key:
		return fmt.Errorf("%w: %s has joined anew since, with another key; it may be ordered there again", ledger.ErrIllegal, host)
	}
	return nil
}

// Let opens an order that was asked for, with what goes with it, and has one pass judge it.
func (c orderPort) Let(ctx context.Context, o fleet.Order, by string) (fleet.Order, error) {
	if err := c.mayLet(o); err != nil {
		return o, err
	}
	if err := c.s.begin(ctx); err != nil {
		return o, err
	}
	c.s.listen()
	now := c.s.world.Now()
	given := o
	given.At = now
	with, err := c.firstPrompt(given)
	if err != nil {
		return o, err
	}
	st, err := c.s.ledger.writer(ctx)
	if err == nil {
		err = st.LetOrder(ctx, o.ID, by, now, with...)
	}
	if errors.Is(err, store.ErrEnded) || errors.Is(err, store.ErrExists) {
		return o, fmt.Errorf("%w: %w", ledger.ErrIllegal, err)
	}
	if err != nil {
		return o, err
	}
	return c.judged(ctx, o)
}

// judged has one pass judge an order that is written down, and returns it as that pass left it.
func (c orderPort) judged(ctx context.Context, o fleet.Order) (fleet.Order, error) {
	c.s.board.Touched(fleet.PartAgents) // it is judged by how the agent is now
	if err := c.s.loop.Pass(ctx, "order "+o.ID, restsOn()...); err != nil {
		return o, fmt.Errorf("the order is written down, but cannot be judged yet: %w", err)
	}
	taken, err := c.Order(ctx, o.ID)
	if err == nil && taken.State == fleet.OrderDone && taken.Do.Action() == "" {
		c.await(ctx)
	}
	return taken, err
}

// restsOn lists what an order, and a run that goes on, is judged by: the agents, and
// whether the host has room for one more. What else is not seen yet holds only what needs it.
func restsOn() []fleet.PartName {
	return []fleet.PartName{fleet.PartAgents, fleet.PartHost}
}

// showing is how long the answer to an order waits for the look that shows it.
const showing = 5 * time.Second

// await has the agents looked at again: who was just adopted is then shown as
// adopted by whatever is asked next.
func (c orderPort) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, showing)
	defer cancel()
	c.s.board.Touched(fleet.PartAgents)
	c.s.board.Await(ctx, fleet.PartAgents)
}

// firstPrompt is the order that types the first prompt of a new agent, once it
// is ready, where its kind takes no prompt on the command line; none for any other.
func (c orderPort) firstPrompt(o fleet.Order) ([]fleet.Order, error) {
	if o.Do != fleet.OrderSpawn || o.Spawn == nil || o.Spawn.Prompt == "" {
		return nil, nil
	}
	kind, _ := c.s.world.Kinds.Get(o.Spawn.Kind)
	cmd, err := agent.Launch(kind, agent.LaunchOptions{Headless: o.Spawn.Where == fleet.WhereHeadless, Prompt: o.Spawn.Prompt})
	if err != nil || cmd.Typed == "" {
		return nil, nil // an agent that cannot be launched is the spawn's to say
	}
	prompt, _, err := ledger.Take(nil, fleet.Order{ID: o.ID + ledger.PromptOf, Do: fleet.OrderNudge, Agent: o.Agent, By: o.By, Text: cmd.Typed}, o.At)
	return []fleet.Order{prompt}, err
}

// Order returns an order as it has become.
func (c orderPort) Order(ctx context.Context, id string) (fleet.Order, error) {
	found, err := c.orders(ctx, store.OrderFilter{ID: id})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("cannot find order %s: %w", id, fs.ErrNotExist)
	}
	if err != nil {
		return fleet.Order{}, err
	}
	return found[0], nil
}

// Turned says what became of the turn that a nudge which was delivered has begun.
func (c orderPort) Turned(ctx context.Context, o fleet.Order) (fleet.AgentTurn, error) {
	list, err := recall(ctx, c.s.ledger, func(st *store.Store) ([]fleet.ActionRecord, error) {
		return st.Actions(ctx, store.ActionFilter{ID: o.Action})
	})
	if err != nil || len(list) == 0 {
		return fleet.AgentTurn{State: fleet.TurnUnknown}, err
	}
	return c.s.world.TurnOf(ctx, list[0])
}

// Cancel takes back an order, and with it what it had changed before it was
// carried out.
func (c orderPort) Cancel(ctx context.Context, o fleet.Order, by string, back func(fleet.Registration) (fleet.Registration, error)) (fleet.Order, error) {
	if err := c.s.begin(ctx); err != nil {
		return o, err
	}
	st, err := c.s.ledger.writer(ctx)
	if err != nil {
		return o, err
	}
	now, why := c.s.world.Now(), "taken back by "+by
	if o.State == fleet.OrderAsked && by != o.By {
		why = "refused by " + by
	}
	err = st.EndOrder(ctx, o.ID, fleet.OrderRefused, why, now)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrEnded) {
		return o, fmt.Errorf("%w: %w", ledger.ErrIllegal, err)
	}
	if err != nil {
		return o, err
	}
	switch {
	case o.State == fleet.OrderAsked: // it had changed nothing
	case o.Do == fleet.OrderStop:
		_, err = st.UpdateRegistration(ctx, o.Agent, now, back)
	case o.Do == fleet.OrderSpawn:
		err = st.EndOrder(ctx, o.ID+ledger.PromptOf, fleet.OrderRefused, why, now)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrEnded) {
		return o, err
	}
	c.s.loop.Wake("order " + o.ID + " taken back")
	return c.Order(ctx, o.ID)
}

// Open lists the orders that are not over.
func (c orderPort) Open(ctx context.Context) ([]fleet.Order, error) {
	return c.orders(ctx, store.OrderFilter{Open: true})
}

func (c orderPort) orders(ctx context.Context, f store.OrderFilter) ([]fleet.Order, error) {
	return recall(ctx, c.s.ledger, func(st *store.Store) ([]fleet.Order, error) { return st.Orders(ctx, f) })
}

// Failures lists what went wrong with agents.
func (c orderPort) Failures(ctx context.Context, agent string, limit int) ([]fleet.Failure, error) {
	f := store.FailureFilter{Agent: agent, Limit: limit}
	return recall(ctx, c.s.ledger, func(st *store.Store) ([]fleet.Failure, error) { return st.Failures(ctx, f) })
}

// HookEvents lists what agents told of themselves.
func (c orderPort) HookEvents(ctx context.Context, f control.HookFilter) ([]fleet.HookEvent, error) {
	which := store.HookFilter{Agent: f.Agent, Limit: f.Limit}
	return recall(ctx, c.s.ledger, func(st *store.Store) ([]fleet.HookEvent, error) { return st.HooksSince(ctx, f.Since, which) })
}

// recall asks the ledger. Only of one that does not exist yet there is nothing: one
// that cannot be read, or is damaged, is not empty.
func recall[T any](ctx context.Context, l *ledgerFile, ask func(*store.Store) ([]T, error)) ([]T, error) {
	st, err := l.reader(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := ask(st)
	l.met(err)
	return list, err
}
