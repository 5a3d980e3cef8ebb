package control

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

// orders are looked at by anyone; what an agent may order says orderer.
func orders() Noun {
	return Noun{"orders", []Verb{
		{Name: "list", Do: asks((*Control).openOrders)},
		{Name: "add", Access: Author, Large: true, Do: given((*Control).order)},
		{Name: "show", Do: asks((*Control).orderShown)},
		{Name: "cancel", Access: Person, Do: asks((*Control).cancelOrder)},
		{Name: "approve", Access: Person, Do: asks((*Control).letOrder)},
		{Name: "offer", Access: Person, Do: asks((*Control).askedShown)},
	}}
}

// Orders is the book of orders.
type Orders interface {
	// Drafted is an order as Take would write it down, with those that go with it.
	Drafted(o fleet.Order) ([]fleet.Order, error)
	// Settle has one pass judge what was written down.
	Settle(ctx context.Context, why string) error
	// Take writes an order down, has one pass judge it, and returns it as that
	// pass left it: with an action, queued, refused or done. It does not wait for
	// the action. The same ID twice is one order; with another content it is an
	// error that wraps ledger.ErrTaken. An order that makes no sense (an unknown
	// kind, a name that is taken) wraps ledger.ErrIllegal or ledger.ErrTaken.
	Take(ctx context.Context, o fleet.Order) (fleet.Order, error)
	// Order returns an order as it has become; fs.ErrNotExist when there is none.
	Order(ctx context.Context, id string) (fleet.Order, error)
	// Cancel takes back an order, with the first prompt that waits for it, and with what
	// it had changed of its agent's record already: back changes that again. An order that
	// is over, or that is being carried out, wraps ledger.ErrIllegal.
	Cancel(ctx context.Context, o fleet.Order, by string, back func(fleet.Registration) (fleet.Registration, error)) (fleet.Order, error)
	// Let opens an order that was asked for at another host, as a person here approves of it; else as Take. One that
	// waits for that no more wraps ledger.ErrIllegal.
	Let(ctx context.Context, o fleet.Order, by string) (fleet.Order, error)
	// Open lists the orders that are not over, in the order they were given.
	Open(ctx context.Context) ([]fleet.Order, error)
}

func (c *Control) order(ctx context.Context, call Call, r api.OrderRequest) (api.Order, error) {
	by, err := orderer(call, &r)
	if err != nil {
		return api.Order{}, err
	}
	o, err := c.orderOf(ctx, r, by)
	if err == nil {
		err = c.isMeant(ctx, o)
	}
	if err != nil {
		return api.Order{}, Illegal(err)
	}
	if call.Asks {
		if err := c.mayAsk(ctx, o); err != nil {
			return api.Order{}, err
		}
		o.State = fleet.OrderAsked
	}
	taken, err := c.Orders.Take(ctx, o)
	if err != nil {
		return api.Order{}, Illegal(err)
	}
	return view.Order(taken, c.Watched), nil
}

const (
	// mostAsked is how many orders of other hosts may wait for a person here.
	mostAsked = 20
	// longestAsked is how long all that one says may be: a person is to read it.
	longestAsked = 8 << 10 // bytes
)

// madeUp is an ID as custos makes it. What waits may have no other: Custos has names of its own for orders that
// follow from something, which none may take before.
var madeUp = regexp.MustCompile(`^[0-9a-f]{16}$`)

// mayAsk refuses an order that is not fit to wait for a person, and one more where many do.
func (c *Control) mayAsk(ctx context.Context, o fleet.Order) error {
	if !madeUp.MatchString(o.ID) {
		return &api.Error{Kind: api.BadInput, Message: "nothing was ordered: the ID of an order that waits for a person is of 16 hexadecimal digits, or left out"}
	}
	if size := len(strings.Join(view.Asked(o), "")); size > longestAsked {
		return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("nothing was ordered: a person there is to read it first, and it is of %d bytes; %d at most", size, longestAsked)}
	}
	open, err := c.Orders.Open(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, is := range open {
		if is.State == fleet.OrderAsked && is.ID != o.ID {
			n++
		}
	}
	if n < mostAsked {
		return nil
	}
	return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("nothing was ordered: %d orders of other hosts wait for a person there already", n), Hint: "custos orders"}
}

// askedShown is an order that was asked for at another host, with exactly what it is.
func (c *Control) askedShown(ctx context.Context, call Call) (api.Order, error) {
	o, err := c.Orders.Order(ctx, call.ID)
	v, err := c.orderFound(call.ID, o, err)
	if err == nil && o.State == fleet.OrderAsked {
		v.Asks = view.Asked(o)
	}
	return v, err
}

// letOrder approves of an order that was asked for at another host.
func (c *Control) letOrder(ctx context.Context, call Call) (api.Order, error) {
	o, err := c.Orders.Order(ctx, call.ID)
	switch {
	case err != nil:
	case call.From != "":
		err = &api.Error{Kind: api.Forbidden, Message: "cannot approve of it from another host: a person at this one does"}
	case o.State != fleet.OrderAsked:
		err = fmt.Errorf("cannot approve of it: %w: it does not wait for that: it is %s", ledger.ErrIllegal, o.State)
	case !c.Now().Before(o.AskedUntil()):
		err = fmt.Errorf("cannot approve of it: %w: its time is over", ledger.ErrIllegal)
	default:
		if err = c.isMeant(ctx, o); err == nil {
			o, err = c.Orders.Let(ctx, o, call.By)
		}
	}
	return c.orderFound(call.ID, o, err)
}

// isMeant refuses an order for an instance that another one of the same name has followed. A pass
// asks so again when it is carried out.
func (c *Control) isMeant(ctx context.Context, o fleet.Order) error {
	if o.Instance == "" || o.Do == fleet.OrderSpawn {
		return nil
	}
	all, err := c.Registry(ctx)
	if err != nil {
		return err
	}
	if r := ledger.Registration(all, o.Agent); r != nil && !o.IsFor(r.Identity(), fleet.Registration{Process: r.Process}.Identity()) { // what is seen may be told by its process alone
		return &api.Error{Kind: api.Changed, Message: fmt.Sprintf("cannot %s %s, and nothing was done: this is another instance of that name than the one that was shown", o.Do, fleet.Line(o.Agent, 80)), Hint: api.Typed("custos", "show", o.Agent)}
	}
	return nil
}

func (c *Control) orderShown(ctx context.Context, call Call) (api.Order, error) {
	o, err := c.Orders.Order(ctx, call.ID)
	v, err := c.orderFound(call.ID, o, err)
	if err == nil && o.BeganTurn() {
		v.Arrival.Turn = view.Turn(c.turnOf(ctx, o))
	}
	return v, err
}

// turnOf is what became of the turn that an order began.
func (c *Control) turnOf(ctx context.Context, o fleet.Order) fleet.AgentTurn {
	unknown := fleet.AgentTurn{State: fleet.TurnUnknown}
	if c.Turned == nil {
		return unknown
	}
	turn, err := c.Turned(ctx, o)
	if err != nil {
		return unknown
	}
	return turn
}

// orderFound is the answer about one order that was asked for by its ID.
func (c *Control) orderFound(id string, o fleet.Order, err error) (api.Order, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return api.Order{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find order %q", fleet.Line(id, 100)), Hint: "custos orders"}
	}
	if err != nil {
		return api.Order{}, Illegal(err)
	}
	return view.Order(o, c.Watched), nil
}

// openOrders lists what was ordered and is not over.
func (c *Control) openOrders(ctx context.Context, _ Call) (api.Orders, error) {
	open, err := c.Orders.Open(ctx)
	if err != nil {
		return api.Orders{}, err
	}
	out := api.Orders{At: c.Now().Wall.UTC(), Orders: make([]api.Order, 0, len(open))}
	for _, o := range open {
		out.Orders = append(out.Orders, view.Order(o, c.Watched))
	}
	return out, nil
}

func (c *Control) cancelOrder(ctx context.Context, call Call) (api.Order, error) {
	o, err := c.Orders.Order(ctx, call.ID)
	if err == nil && call.Asks && o.By != call.By {
		err = &api.Error{Kind: api.Forbidden, Message: "cannot take it back from another host: it was not ordered there"}
	}
	if err == nil && o.IsOver() {
		err = fmt.Errorf("cannot take it back: %w: it is over: %s", ledger.ErrIllegal, o.State)
	}
	if err == nil {
		o, err = c.Orders.Cancel(ctx, o, call.By, func(r fleet.Registration) (fleet.Registration, error) {
			return ledger.Unstopped(r, o, call.By, c.Now())
		})
	}
	return c.orderFound(call.ID, o, err)
}

// orderer is who gives an order. A person may give any; an agent may ask for a
// checkpoint of itself, and spawn an agent below itself; who cannot be shown
// to be a person or an agent may nothing, nor an agent that only its marker names.
func orderer(call Call, r *api.OrderRequest) (string, error) {
	agent, _ := fleet.AgentOf(call.By)
	if call.Barred != nil && (call.Marked || agent == Unnamed || !ownAffair(agent, r)) {
		return "", call.Barred
	}
	return call.By, nil
}

// ownAffair says whether an order is one that an agent may give. A spawn without
// a parent becomes the agent's own child.
func ownAffair(agent string, r *api.OrderRequest) bool {
	switch fleet.OrderDo(r.Do) {
	case fleet.OrderBackup:
		return r.Agent == agent
	case fleet.OrderSpawn:
		if r.Spawn != nil && r.Spawn.Parent == "" {
			r.Spawn.Parent = agent
		}
		return r.Spawn != nil && r.Spawn.Parent == agent
	}
	return false
}

// orderOf turns a request into an order that makes sense by itself.
func (c *Control) orderOf(ctx context.Context, r api.OrderRequest, by string) (fleet.Order, error) {
	now := c.Now()
	o := fleet.Order{ID: r.ID, Do: fleet.OrderDo(r.Do), Agent: r.Agent, Account: r.Account, By: by, At: now, Text: r.Text, Dialog: r.Dialog, Instance: r.Instance, Command: r.Command && r.Do == string(fleet.OrderNudge)}
	if o.ID == "" {
		o.ID = newOrderID()
	}
	if o.Do == fleet.OrderStop {
		o.Text = fleet.Line(r.Text, 400)
	}
	if r.TTL != "" {
		d, err := time.ParseDuration(r.TTL)
		if err != nil || d <= 0 || d > longestTTL {
			return o, api.AsBadInput(fmt.Errorf("cannot keep an order for %q: want a time up to %s, like 10m", fleet.Line(r.TTL, 40), longestTTL))
		}
		o.Expires = now.Add(d)
	}
	if r.Spawn != nil && o.Do == fleet.OrderSpawn {
		all, err := c.Registry(ctx)
		if err != nil {
			return o, err
		}
		if o.Spawn, err = c.spawned(ctx, *r.Spawn, r.Agent, all); err != nil {
			return o, api.AsBadInput(err)
		}
	}
	if err := checkWords(o); err != nil {
		return o, err
	}
	return o, checkOrder(o, c.People...)
}

// spawned is what a spawn starts, with what its role says.
func (c *Control) spawned(ctx context.Context, q api.SpawnRequest, name string, all []fleet.Registration) (*fleet.Registration, error) {
	var records fleet.Records
	if c.role(q.Role) != nil {
		past, _, err := c.Records.Seen(ctx)
		if err != nil {
			return nil, err
		}
		records = past.Records
	}
	if err := c.roleAllows(q, all, records.Work); err != nil {
		return nil, err
	}
	reg, err := spawnOf(c.asRole(q, name, records, all), name, all, c.kindOf())
	if r := c.role(q.Role); r != nil && err == nil {
		reg.RoleSum = ledger.RoleSum(*r)
	}
	return reg, err
}

// checkWords refuses what would not reach the agent as it was given: no control character is
// typed, and whoever gave it is to know that.
func checkWords(o fleet.Order) error {
	text := ""
	if o.Do == fleet.OrderNudge {
		text = o.Text
	} else if o.Spawn != nil {
		text = o.Spawn.Prompt
	}
	at := strings.IndexFunc(text, fleet.IsKey)
	if at < 0 {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(text[at:])
	return api.AsBadInput(fmt.Errorf("cannot %s %s: the text has a control character (%s, byte %d), which is never typed into a terminal: take it out", o.Do, fleet.Line(o.Agent, 80), nameOf(r), at+1))
}

// nameOf is what a control character is called.
func nameOf(r rune) string {
	switch r {
	case 0:
		return "NUL"
	case 0x1b:
		return "ESC"
	}
	return fmt.Sprintf("U+%04X", r)
}

// checkOrder says whether an order makes sense by itself. One that makes an agent gives it no
// name that is read as a person's, as Custos' or as an address; people are who may give orders here.
func checkOrder(o fleet.Order, people ...string) error {
	if o.Do != fleet.OrderSpawn && o.Do != fleet.OrderAdopt {
		return ledger.CheckOrder(o)
	}
	if err := ledger.CheckNewName(o.Agent, people...); err != nil {
		return api.AsBadInput(fmt.Errorf("cannot %s %q: %s", o.Do, fleet.Line(o.Agent, 80), Reason(err.Error())))
	}
	return ledger.CheckOrder(o)
}

// kindOf names the kind that a command line starts; by the name of its program
// where nothing says more.
func (c *Control) kindOf() func([]string) string {
	if c.KindOf != nil {
		return c.KindOf
	}
	return func(argv []string) string { return path.Base(argv[0]) }
}

// longestTTL keeps an order from being carried out when everybody has forgotten
// it.
const longestTTL = 7 * 24 * time.Hour

func newOrderID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
