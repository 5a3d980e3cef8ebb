package top

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// deed is what a person confirmed.
type deed struct {
	what string // in words: "stop builder"
	host string // the machine that it is done on; "" is this one
	do   func(context.Context, *api.Client) (result, error)
}

// result is what came of a deed at once.
type result struct {
	says  string
	order api.Order           // where it is one
	begun []api.ApprovedThing // what an approval began, until all of it is over
	by    string              // who approved of it: "Alert 3: approved by me"
	bad   bool                // it came to nothing
}

// outcome is what became of one deed so far.
type outcome struct {
	id       int
	says     string
	state    outcomeState
	order    string // its ID
	at       time.Time
	fleeting bool // nothing was done: the next key takes it off
}

type outcomeState int

const (
	asked  outcomeState = iota // there is no answer yet
	open                       // it is taken, and not over
	goesOn                     // it goes on by itself, and is not over
	done                       // it is over and well
	failed                     // it came to nothing
)

// patienceWithOrders is how long one pass that carries out an order may take.
const patienceWithOrders = time.Minute

// begin does a deed, and tells what becomes of it on a line that stays.
func (m Model) begin(d deed) (Model, tea.Cmd) {
	m = m.tellOf(outcome{says: d.what + " …"})
	o, id := m.o, m.given
	return m, func() tea.Msg {
		r, err := put(o, d.host, patienceWithOrders, d.do)
		return resultMsg{id: id, what: d.what, host: d.host, result: r, err: err}
	}
}

// tellOf has one outcome more.
func (m Model) tellOf(o outcome) Model {
	m.given++
	o.id, o.at = m.given, m.now
	m.outcomes = append(m.outcomes[max(0, len(m.outcomes)-mostOutcomes+1):len(m.outcomes):len(m.outcomes)], o)
	return m
}

// mostOutcomes is how many are kept.
const mostOutcomes = 20

// cannot tells at once that something cannot be done.
func (m Model) cannot(what, why string) (Model, tea.Cmd) {
	return m.tellOf(outcome{says: "cannot " + what + ": " + why, state: failed, fleeting: true}), nil
}

// dated is an outcome in words, and how long ago that was once it is not of just now.
func (m Model) dated(o outcome) string {
	if ago := m.now.Sub(o.at); ago >= time.Minute && o.state != open && o.state != asked && o.state != goesOn {
		return span(ago) + " ago: " + o.says
	}
	return o.says
}

// settled is without what was told of nothing that was done.
func (m Model) settled() Model {
	m.outcomes = slices.DeleteFunc(slices.Clone(m.outcomes), func(o outcome) bool { return o.fleeting })
	return m
}

// resultMsg is what became of a deed.
type resultMsg struct {
	id   int
	what string
	host string
	result
	err error
}

func (msg resultMsg) tell(m Model) (Model, tea.Cmd) {
	m.look.again, m.alerts.again = true, true
	switch o := msg.order; {
	case msg.err != nil:
		what, to := m.o.Words.Error(msg.host, msg.err)
		return m.came(msg.id, failed, hinted(what, to), ""), nil
	case len(msg.begun) > 0:
		return m.came(msg.id, goesOn, msg.says, ""), m.followBegun(msg)
	case o.ID == "" && msg.bad:
		return m.came(msg.id, failed, msg.says, ""), nil
	case o.ID == "":
		return m.came(msg.id, done, msg.says, ""), nil
	case !o.Over && (o.Watched || o.Action != ""):
		return m.came(msg.id, open, m.orderWords(msg.host, o), o.ID), m.follow(msg)
	case !o.Over:
		return m.came(msg.id, open, m.orderWords(msg.host, o)+"; nothing watches it until custos up", o.ID), nil
	case o.State == "done":
		return m.came(msg.id, done, m.orderWords(msg.host, o), ""), nil
	}
	return m.came(msg.id, failed, hinted(m.orderWords(msg.host, msg.order), hintOn(msg.host, msg.order.Hint)), ""), nil
}

func hinted(what, to string) string {
	if to == "" {
		return what
	}
	return what + " (try: " + to + ")"
}

// came changes the outcome of one deed.
func (m Model) came(id int, state outcomeState, says, order string) Model {
	list := make([]outcome, len(m.outcomes))
	for i, o := range m.outcomes {
		if o.id == id {
			o = outcome{id: id, says: flat(says), state: state, order: order, at: m.now}
		}
		list[i] = o
	}
	m.outcomes = list
	return m
}

// follow asks a second later what became of an order that is not over.
func (m Model) follow(msg resultMsg) tea.Cmd {
	o := m.o
	return tea.Tick(second, func(time.Time) tea.Msg {
		order, err := put(o, msg.host, patience, func(ctx context.Context, c *api.Client) (api.Order, error) { return c.OrderState(ctx, msg.order.ID) })
		if err != nil { // it goes on all the same, and is asked for again
			order = msg.order
		}
		return resultMsg{id: msg.id, what: msg.what, host: msg.host, result: result{order: order}}
	})
}

// followBegun asks a second later how far what an approval began has come.
func (m Model) followBegun(msg resultMsg) tea.Cmd {
	o := m.o
	return tea.Tick(second, func(time.Time) tea.Msg {
		r, err := put(o, msg.host, patience, msg.ended)
		if err != nil { // it goes on all the same, and is asked for again
			r = msg.result
		}
		return resultMsg{id: msg.id, what: msg.what, host: msg.host, result: r}
	})
}

// ended is the result as it is now: the same, until all that was begun is over.
func (r result) ended(ctx context.Context, c *api.Client) (result, error) {
	said, bad := []string{}, false
	for _, t := range r.begun {
		s, err := c.Story(ctx, t.ID)
		if err != nil {
			return result{}, err
		}
		text, _, over, well := api.Came(t.ID, s.Events)
		if !over {
			return r, nil
		}
		said, bad = append(said, text), bad || !well
	}
	return result{says: r.by + ". " + strings.Join(said, "; "), bad: bad}, nil
}

// open are the deeds of which the end is not known.
func (m Model) open() (out []string) {
	for _, o := range m.outcomes {
		if o.state == open || o.state == asked {
			out = append(out, "not over: "+o.says)
		}
	}
	return out
}

// order is a deed that is an order to an agent. Its ID is made when it is given, once.
func order(what string, to target, r api.OrderRequest) deed {
	r.Agent, r.Instance = to.agent, to.instance
	return deed{what, to.host, func(ctx context.Context, c *api.Client) (result, error) {
		r.ID = strings.ToLower(rand.Text())
		o, err := c.Order(ctx, r)
		return result{order: o}, err
	}}
}

// aimed is the agent that the chosen row is about; without one it is said what is missing.
func (m Model) aimed(do string, then func(target) (Model, tea.Cmd)) (Model, tea.Cmd) {
	if at := m.row().target(); at.agent != "" {
		return then(m.known(at))
	}
	return m.cannot(do, "what is chosen is no agent")
}

// ask opens a form.
func (m Model) ask(f form) (Model, tea.Cmd) {
	m.form = &f
	return m, nil
}

func (m Model) stop() (Model, tea.Cmd) {
	return m.aimed("stop", func(at target) (Model, tea.Cmd) {
		return m.ask(form{text: "Stop " + at.String() + "?\n" + m.doing(at) +
			"It is asked to end, then interrupted, then its whole tree of processes is ended. What a person stopped is not started again by itself.", prompt: "y stops it · n does not",
			send: func(form) deed { return order("stop "+at.String(), at, api.OrderRequest{Do: "stop"}) }})
	})
}

func (m Model) interrupt() (Model, tea.Cmd) {
	return m.aimed("interrupt", func(at target) (Model, tea.Cmd) {
		return m.ask(form{text: "Interrupt " + at.String() + "?\n" + m.doing(at) + "It stops what it does, and listens.", prompt: "y interrupts it · n does not",
			send: func(form) deed { return order("interrupt "+at.String(), at, api.OrderRequest{Do: "interrupt"}) }})
	})
}

// seen is an agent as it was seen last.
func (m Model) seen(at target) (api.AgentRow, bool) {
	list := m.agents()
	i := slices.IndexFunc(list, func(g api.AgentRow) bool { return g.Host == at.host && g.Own() == at.agent })
	if i < 0 {
		return api.AgentRow{}, false
	}
	return list[i], true
}

// known is a target with the instance of it that is shown.
func (m Model) known(at target) target {
	g, _ := m.seen(at)
	at.instance = g.Instance
	return at
}

// doing is what an agent does as it was seen last.
func (m Model) doing(at target) string {
	if g, ok := m.seen(at); ok {
		return m.aboutAgent(g) + "\n"
	}
	return ""
}

func (m Model) nudge() (Model, tea.Cmd) {
	return m.aimed("nudge", func(at target) (Model, tea.Cmd) {
		return m.ask(form{kind: writes, text: "Say to " + at.String() + ", when it listens (Enter gives it, Esc does not):", prompt: ">",
			send: func(f form) deed {
				return order("nudge "+at.String(), at, api.OrderRequest{Do: "nudge", Text: strings.TrimSpace(f.input)})
			}})
	})
}

// numbered is the alert that the chosen row is about.
func (m Model) numbered(do string, then func(row) (Model, tea.Cmd)) (Model, tea.Cmd) {
	if r := m.row(); r.alert > 0 {
		return then(r)
	}
	return m.cannot(do, "what is chosen is no alert that was written down")
}

func (m Model) acknowledge() (Model, tea.Cmd) {
	return m.numbered("take up", func(r row) (Model, tea.Cmd) {
		number := numbered(r.host, r.alert)
		what := "take up alert " + number
		return m.ask(form{text: "Take up alert " + number + "?\n" + r.about + "\nIt stays an alert, and nobody else is told of it again.", prompt: "y takes it up · n does not",
			send: func(form) deed {
				return deed{what, r.host, func(ctx context.Context, c *api.Client) (result, error) {
					a, err := c.Acknowledge(ctx, r.alert, api.AckOrder{ID: r.id})
					return result{says: fmt.Sprintf("Alert %s is taken up by %s: %s", number, a.AckedBy, a.Rule)}, err
				}}
			}})
	})
}

func (m Model) silence() (Model, tea.Cmd) {
	r := m.row()
	if r.rule == "" && r.subject == "" {
		return m.cannot("silence", "nothing is chosen that alerts are of")
	}
	of := strings.TrimSpace(flat(r.rule) + " " + on(r.host, m.subject(r.subject)))
	return m.ask(form{kind: writes, input: "2h", text: "Send no messages about " + of + " for how long? (Enter does it, Esc does not)\nIt is still found, mended and written down.", prompt: "30m, 2h, 1d:",
		send: func(f form) deed {
			return deed{"silence " + of, r.host, func(ctx context.Context, c *api.Client) (result, error) {
				d, err := m.o.Words.Duration(strings.TrimSpace(f.input))
				if err != nil {
					return result{}, err
				}
				s, err := c.Silence(ctx, api.SilenceOrder{Rule: r.rule, Subject: r.subject, For: d.String()})
				return result{says: "Silenced until " + s.Until.UTC().Format("2006-01-02 15:04 UTC") + ": " + of + cmp.Or(s.Note, "")}, err
			}}
		}})
}

// answer asks what an agent asks, and shows it with its choices.
func (m Model) answer() (Model, tea.Cmd) {
	return m.aimed("answer", func(at target) (Model, tea.Cmd) {
		m, id := m.waiting("What does "+at.String()+" ask? …", picks)
		return m, asking(m.o, at.host, func(ctx context.Context, c *api.Client) (api.AgentDetail, error) { return c.Agent(ctx, at.agent) },
			func(t told[api.AgentDetail]) tea.Msg { return dialogMsg{t, id, at} })
	})
}

// waiting opens a form that waits for what it is about.
func (m Model) waiting(text string, kind formKind) (Model, int) {
	m.given++
	m.form = &form{id: m.given, waits: true, text: text, kind: kind, pick: -1, prompt: "Esc leaves it"}
	return m, m.given
}

// waitsFor says whether the form is still the one that waits for an answer.
func (m Model) waitsFor(id int) bool { return m.form != nil && m.form.waits && m.form.id == id }

// dialogMsg is the question that an agent shows.
type dialogMsg struct {
	told[api.AgentDetail]
	id int
	of target
}

func (msg dialogMsg) tell(m Model) (Model, tea.Cmd) {
	if !m.waitsFor(msg.id) {
		return m, nil
	}
	m.form = nil
	d := msg.v.Dialog
	msg.of.instance = msg.v.Agent.Instance
	switch {
	case msg.err != nil:
		what, _ := m.o.Words.Error(msg.of.host, msg.err)
		return m.cannot("answer "+msg.of.String(), flat(what))
	case d == nil || len(d.Choices) == 0:
		return m.cannot("answer "+msg.of.String(), "it shows no dialog that can be read")
	}
	return m.ask(form{kind: picks, pick: -1, choices: d.Choices, text: dialogText(msg.of, *d), prompt: "1-9 or ↑ ↓ choose · Enter answers · Esc does not",
		send: func(f form) deed {
			choice := f.choices[f.pick].Name
			return order("answer "+msg.of.String()+" "+flat(choice), msg.of, api.OrderRequest{Do: "answer", Text: choice, Dialog: d.Hash})
		}})
}

func dialogText(of target, d api.AgentDialog) string {
	out := of.String() + ": " + flat(cmp.Or(d.Says, d.ID))
	if d.Question != "" {
		out += "\n" + flat(d.Question)
	}
	if d.Tool != "" {
		out += "\n" + flat(d.Tool) + ": " + flat(d.Args)
	}
	return out
}

// consent is a person's answer to what an alert asks for.
type consent struct {
	do, done, asks string
	send           func(*api.Client, context.Context, int64, api.ApproveOrder) (api.Approved, error)
}

// approve and deny ask what an approval would begin, and show it whole.
func (m Model) approve() (Model, tea.Cmd) {
	return m.consents(consent{"approve", "approved", "y has just this done · n does not", (*api.Client).Approve})
}

func (m Model) deny() (Model, tea.Cmd) {
	return m.consents(consent{"deny", "denied", "y denies just this · n does not", (*api.Client).Deny})
}

func (m Model) consents(to consent) (Model, tea.Cmd) {
	return m.numbered(to.do, func(r row) (Model, tea.Cmd) {
		m, id := m.waiting("What would be done about alert "+numbered(r.host, r.alert)+"? …", confirms)
		return m, asking(m.o, r.host, func(ctx context.Context, c *api.Client) (api.Offer, error) { return c.Offer(ctx, r.alert) },
			func(t told[api.Offer]) tea.Msg { return offerMsg{t, id, r, to} })
	})
}

// offerMsg is what an approval would begin.
type offerMsg struct {
	told[api.Offer]
	id int
	of row
	to consent
}

func (msg offerMsg) tell(m Model) (Model, tea.Cmd) {
	if !m.waitsFor(msg.id) {
		return m, nil
	}
	m.form = nil
	number := numbered(msg.of.host, msg.of.alert)
	what := msg.to.do + " alert " + number
	if msg.err != nil {
		says, _ := m.o.Words.Error(msg.of.host, msg.err)
		return m.cannot(what, flat(says))
	}
	text := "Alert " + number + ": " + msg.of.about + "\n" + strings.Join(lines(m.o.Words.Offer(msg.v, m.width)), "\n")
	if msg.v.Hash == "" {
		return m.ask(form{kind: tells, text: text, prompt: "nothing may be done · Esc"})
	}
	return m.ask(form{text: text, prompt: msg.to.asks, send: func(form) deed {
		return deed{what, msg.of.host, func(ctx context.Context, c *api.Client) (result, error) {
			v, err := msg.to.send(c, ctx, msg.of.alert, api.ApproveOrder{Seen: msg.v.Hash, ID: msg.of.id})
			by := fmt.Sprintf("Alert %s: %s by %s", number, msg.to.done, v.By)
			return result{says: by + ", and begun: " + m.things(v.Actions), by: by, begun: v.Actions}, err
		}}
	}})
}

func (m Model) things(list []api.ApprovedThing) string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = flat(t.Do) + " " + m.subject(t.Subject)
	}
	return strings.Join(out, ", ")
}
