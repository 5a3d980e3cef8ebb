package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/report"
	"custos/internal/store"
	"custos/internal/view"
)

// replyHandler acts on what people say in the places where Custos listens. What it has
// acted on it knows by the answer, which is in the outbox: with the action that it
// led to in one transaction, or after what may be done twice.
type replyHandler struct {
	s *system

	mu   sync.Mutex
	told map[string]fleet.Instant // when somebody was told the vocabulary last

	meaning bool // the judge is being asked what somebody may have meant

	life    context.Context // of the listening
	looking sync.WaitGroup  // for what becomes of what was begun
}

var _ report.Handler = (*replyHandler)(nil)

// listenToPeople receives what people say, and answers it, until ctx ends.
func (s *system) listenToPeople(ctx context.Context) {
	if len(s.places) == 0 {
		return
	}
	d := &replyHandler{s: s, told: map[string]fleet.Instant{}, life: ctx}
	defer d.looking.Wait()
	r := report.NewReplies(report.RepliesOptions{Inboxes: s.places, Handler: d,
		Cursors: s.ledger, Answers: answers{s.ledger}, Now: s.world.Now})
	r.Run(ctx, func(err error) {
		if ctx.Err() == nil {
			s.o.Log.Warn("Cannot listen", "err", fleet.Redact(err.Error()))
		}
	})
}

// answering names the notifiers whose people are listened to and asked: none by one
// command, which does not stay for their answer.
func (s *system) answering() (names []string) {
	if !s.daemon {
		return nil
	}
	for _, e := range s.places {
		if p := e.Place(); p.Asks {
			names = append(names, p.Name)
		}
	}
	return names
}

// mostReplied is how many replies of one patrol are looked at.
const mostReplied = 200

// replied lists who said what between two moments, and what was done: the event log has
// it. One that cannot be read is not one in which nobody said anything.
func (s *system) replied(from, until fleet.Instant) (lines []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	which := store.EventFilter{Kind: string(fleet.MessageReply), Since: from.Wall}
	list, err := recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Event, error) { return st.LastEvents(ctx, mostReplied, which) })
	for _, e := range list {
		if from.Before(e.At) && !until.Before(e.At) {
			lines = append(lines, strings.TrimPrefix(e.Text, "reply of "))
		}
	}
	return lines, err
}

// unread is an Ear that can tell what lies there without taking it.
type unread interface {
	Unread() ([]string, error)
}

// listening lists the places where people answer, for people to look at.
func (s *system) listening() (out []view.Listening) {
	for _, e := range s.places {
		l := view.Listening{Place: e.Place(), Unread: fleet.Unknown[[]string]("only its server could tell")}
		if u, ok := e.(unread); ok {
			l.Spool = true
			if list, err := u.Unread(); err != nil {
				l.Unread = fleet.Unknown[[]string](fleet.Line(err.Error(), 200))
			} else {
				l.Unread = fleet.Known(list)
			}
		}
		out = append(out, l)
	}
	return out
}

// exchange is one reply on its way to its answer.
type exchange struct {
	place fleet.Place
	said  fleet.Said
	reply ledger.Reply
	id    string // of the answer
	by    string // who said it, for the record
	at    fleet.Instant
	st    *store.Store
}

// Take implements report.Handler.
func (d *replyHandler) Take(ctx context.Context, p fleet.Place, s fleet.Said) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s.loop.Stir()
	if !ledger.Heeded(p, s) {
		return nil
	}
	st, err := d.s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	x := &exchange{place: p, said: s, id: answerID(p, s), by: speaker(p, s), at: d.s.world.Now(), st: st}
	if known, err := st.HasMessage(ctx, x.id); err != nil || known {
		return err
	}
	reply, understood := ledger.ParseReply(s.Text)
	x.reply = reply
	switch {
	case !understood:
		if asked, err := d.mean(ctx, x); asked || err != nil {
			return err
		}
		return d.teach(ctx, x, notUnderstood())
	case ledger.Stale(s):
		return d.teach(ctx, x, ledger.NotActed(reply, "it was said more than an hour ago: say it again if it still holds"))
	}
	return d.carryOut(ctx, x)
}

// carryOut does what a reply asks for, and has it answered.
func (d *replyHandler) carryOut(ctx context.Context, x *exchange) error {
	became, err := d.s.control(d.s.daemon).ActOn(ctx, control.Incoming{Reply: x.reply, Place: x.place, Said: x.said, ID: x.id, By: x.by, At: x.at, Answer: x.answer})
	if err != nil {
		return err
	}
	d.followUp(x, became)
	if became.Text == "" { // the answer is committed already
		return nil
	}
	return x.say(ctx, became.Text, became.About)
}

// answerID is the same for the same message of a place.
func answerID(p fleet.Place, s fleet.Said) string {
	h := sha256.Sum256([]byte(p.Name + "\x00" + p.Room + "\x00" + s.ID))
	return "r-" + hex.EncodeToString(h[:12])
}

// speaker names who said something: the ID itself where it tells by itself whose it is.
func speaker(p fleet.Place, s fleet.Said) string {
	by := fleet.Line(s.By, 200)
	if strings.ContainsAny(by, "@/") {
		return by
	}
	return by + " in " + p.Name
}

func (x *exchange) answer(text string, about fleet.AlertKey) fleet.Message {
	return fleet.Message{ID: x.id, Kind: fleet.MessageReply, To: fleet.AnswersFor(x.place.Name), At: x.at, Priority: fleet.P3,
		Subject: "reply of " + x.by, Body: fleet.Redact(fleet.Text(text)), Alert: about, Answers: x.said.ID, Thread: x.said.Thread}
}

// say writes the answer down, which is also how the reply is known to have been acted on.
func (x *exchange) say(ctx context.Context, text string, about fleet.AlertKey) error {
	return x.commit(ctx, x.at, fleet.Changes{Messages: []fleet.Message{x.answer(text, about)}})
}

func (x *exchange) commit(ctx context.Context, at fleet.Instant, rows fleet.Changes) error {
	return x.st.Commit(ctx, rows.Plan(at).Turn())
}

// teachEvery is how often one person is told that something was not understood.
const teachEvery = 10 * time.Minute

// teach answers what is not acted on, now and then only: a person may be speaking
// with somebody else in that room.
func (d *replyHandler) teach(ctx context.Context, x *exchange, text string) error {
	who := x.place.Name + " " + x.by
	if last, known := d.told[who]; known && x.at.Since(last) < teachEvery {
		return nil
	}
	if err := x.say(ctx, text, fleet.AlertKey{}); err != nil {
		return err
	}
	d.told[who] = x.at
	return nil
}

// answers is the outbox as the listeners want it.
type answers struct{ *ledgerFile }

// MessagesFor lists what is to be said, oldest first.
func (a answers) MessagesFor(ctx context.Context, to string, limit int) (list []fleet.Message, err error) {
	err = a.write(ctx, func(st *store.Store) error { list, err = st.MessagesFor(ctx, to, limit); return err })
	return list, err
}
