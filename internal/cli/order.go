package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

// How long an order is waited for. One that starts or stops an agent is waited
// for even while it is held back; another one only while it is carried out.
const (
	waitOrder = time.Minute
	pollOrder = 50 * time.Millisecond // to begin with; up to a second later
)

// orderFlags are the flags that commands with an order share.
type orderFlags struct {
	wait     string
	held     bool   // wait while it is held back too
	instance string // that alone it is for
}

func (f *orderFlags) add(c *cobra.Command) {
	what := "the longest `DURATION` to wait until it is done; 0 returns at once"
	if !f.held {
		what += "; what is held back is waited for only where this is given"
	}
	c.Flags().StringVar(&f.wait, "wait", waitOrder.String(), what)
}

// addInstance is for commands of which a script may say whom it has seen.
func (f *orderFlags) addInstance(c *cobra.Command) {
	c.Flags().StringVar(&f.instance, "instance", "", "only if the instance of this `ID` runs by that name, as custos ps --json tells it; else nothing is done")
}

// ended is an order that came to nothing. What is to be said has been said in
// words, or as JSON on the standard output.
type ended struct{ message, hint string }

func (e *ended) Error() string { return e.message }

// errQueued ends a command with code 4: the order is taken, and not carried out yet.
var errQueued = errors.New("the order is not carried out yet")

// order gives an order, waits for its end, and prints what became of it.
func (a *app) order(cmd *cobra.Command, o api.OrderRequest, f orderFlags) error {
	o.Instance = f.instance
	took, err := a.give(cmd, []api.OrderRequest{o}, f)
	if err != nil {
		return err
	}
	if err := a.show(took[0], func(p *page) { writeOrder(p, took[0]) }); err != nil {
		return err
	}
	return cameToNothing(took)
}

// give gives orders at once, and waits for the end of each.
func (a *app) give(cmd *cobra.Command, list []api.OrderRequest, f orderFlags) ([]api.Order, error) {
	wait, err := waitOf(f.wait)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), patience+wait)
	defer cancel()
	l, err := a.listener(ctx)
	if err != nil {
		return nil, a.notGivenThere(notOrdered(err))
	}
	defer func() { l.close() }()
	defer a.progress("waiting for " + plural(len(list), "order")).end()
	took := make([]api.Order, 0, len(list))
	for i := range list {
		list[i].ID = newID()
		order, err := answer(ctx, l, l.lasts, giving(list[i]))
		if err != nil {
			return took, besides(whereToLook(cutOff(err, list[i]), list[i]), err, i)
		}
		took = append(took, order)
	}
	long := cmd.Flags().Changed("wait")
	until := time.Now().Add(wait)
	for i := range took {
		held := long || f.held && took[i].State != "asked" // a person elsewhere is not waited for
		if took[i], err = await(ctx, l, list[i], took[i], until, held); err != nil {
			return took, besides(whereToLook(taken(err, took[i]), list[i]), err, len(list)-1)
		}
	}
	return took, nil
}

// giving gives an order: the same ID is the same order.
func giving(o api.OrderRequest) func(context.Context, *api.Client) (api.Order, error) {
	return func(ctx context.Context, c *api.Client) (api.Order, error) { return c.Order(ctx, o) }
}

// lasts says whether an order that came to nothing through no fault of its own is given
// again, to the one that is there now: a daemon was started, or ended, in the middle. One that
// hangs is another matter.
func (l *listener) lasts(err error) bool { return isBroken(err) && l.a.mute == "" && l.a.host == nil }

// taken is why it is not known what became of an order that was taken.
func taken(err error, o api.Order) error {
	switch {
	case errors.Is(err, context.Canceled):
		return leftAlone(o)
	case !isBroken(err):
		return err
	}
	return &api.Error{Kind: api.Lost, Message: fmt.Sprintf("order %s is taken, and what became of it is not known: %v", flat(o.ID), err)}
}

// cutOff is why it is not known whether an order was taken: the command that gave it was interrupted.
func cutOff(err error, q api.OrderRequest) error {
	if !isLost(err) || !errors.Is(err, context.Canceled) {
		return notOrdered(err)
	}
	return &api.Error{Kind: api.CannotLook, Hint: lookOrCancel(q.ID),
		Message: fmt.Sprintf("interrupted: order %s, to %s, may have been taken: if it was, it goes on", flat(q.ID), deedOf(api.Order{Do: q.Do, Agent: q.Agent, Account: q.Account}))}
}

// notOrdered says of an order that it was not given, because the command was interrupted
// before.
func notOrdered(err error) error {
	if isLost(err) || !errors.Is(err, context.Canceled) {
		return err
	}
	return &api.Error{Kind: api.CannotLook, Message: "interrupted: it was not ordered, and nothing was done"}
}

// notGivenThere says of an order for another machine that was not reached that it was not given.
func (a *app) notGivenThere(err error) error {
	var e *api.Error
	if a.host == nil || !errors.As(err, &e) || e.Kind != api.Unreachable {
		return err
	}
	return &api.Error{Kind: e.Kind, Hint: e.Hint, Message: "the order was not given: " + e.Message}
}

// leftAlone says what goes on of an order that was taken when the command is interrupted.
func leftAlone(o api.Order) error {
	said := &api.Error{Kind: api.CannotLook, Hint: lookOrCancel(o.ID), Message: fmt.Sprintf("interrupted: order %s, to %s, was taken and ", flat(o.ID), deedOf(o))}
	if o.Action != "" {
		said.Message += "is under way: it goes on, and cannot be taken back"
		said.Hint = "custos orders; " + shell([]string{"custos", "trace", o.Agent}) // a pause of an account is never under way
		return said
	}
	said.Message += "waits"
	if why := reasonOf(o); why != "" {
		said.Message += " (" + why + ")"
	}
	if !o.Watched {
		said.Message += ", and nothing watches it until custos up"
	}
	return said
}

// besides says, where a command is interrupted, that other orders which were given
// with it go on as well.
func besides(said, cause error, others int) error {
	var e *api.Error
	if others == 0 || !errors.Is(cause, context.Canceled) || !errors.As(said, &e) {
		return said
	}
	more := *e
	more.Hint = "custos orders"
	more.Message += fmt.Sprintf("; %d more were ordered with it, and stay so", others)
	if others == 1 {
		more.Message = e.Message + "; 1 more was ordered with it, and stays so"
	}
	return &more
}

func lookOrCancel(id string) string {
	return "custos orders; " + shell([]string{"custos", "orders", "cancel", id})
}

// whereToLook says how to find out what became of an order whose answer was lost.
func whereToLook(err error, o api.OrderRequest) error {
	var e *api.Error
	if !errors.As(err, &e) || e.Kind != api.Lost || o.Agent == "" {
		return err
	}
	told := *e
	told.Hint = shell([]string{"custos", "trace", o.Agent})
	return &told
}

// waitOf reads --wait.
func waitOf(text string) (time.Duration, error) {
	if text == "0" || text == "0s" {
		return 0, nil
	}
	d, err := config.Duration(text)
	if err != nil {
		return 0, usage("cannot read --wait: %v", err)
	}
	return d, nil
}

// await asks again and again what became of an order, until it is over or time
// is up. One that is held back is waited for only when held says so.
func await(ctx context.Context, l *listener, q api.OrderRequest, o api.Order, until time.Time, held bool) (api.Order, error) {
	for pause := pollOrder; !o.Over && (held || o.Action != "") && time.Now().Before(until); pause = min(pause*3/2, time.Second) {
		if err := sleep(ctx, pause); err != nil {
			return o, err
		}
		now, err := again(ctx, l, q, o)
		if err != nil {
			return o, err
		}
		o = now
	}
	return o, nil
}

// unlessForgotten makes of an order that was taken and is not known any more one of which nobody knows what became: there
// may be two daemons of one name, or a ledger that was put back.
func unlessForgotten(err error, id string) error {
	var is *api.Error
	if !errors.As(err, &is) || is.Kind != api.NotFound {
		return err
	}
	return &api.Error{Kind: api.Lost, Message: "order " + flat(id) + " was taken, and is not known there any more: it may have been carried out", Hint: is.Hint}
}

// again asks what became of an order. Where no daemon watches, nothing looks at one
// that is held back unless it is given again: the same ID is the same order. So it is
// where who watched is gone.
func again(ctx context.Context, l *listener, q api.OrderRequest, o api.Order) (api.Order, error) {
	if !o.Watched && o.Action == "" {
		return answer(ctx, l, l.lasts, giving(q))
	}
	now, err := l.present().OrderState(ctx, o.ID)
	if !l.lasts(err) || ctx.Err() != nil {
		return now, unlessForgotten(err, o.ID)
	}
	if lost := l.change(ctx); lost != nil {
		return now, lost
	}
	return answer(ctx, l, l.lasts, giving(q))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// newID is chosen here, so that an order that is asked for twice is one.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// keyOr is the key that a person gave, else one that was never given: what is asked for
// twice, because its answer was lost, is one.
func keyOr(given string) string { return cmp.Or(given, newID()) }

// cameToNothing fails when an order was refused, or expired, or is not carried out
// yet. What went wrong is worth more than what waits.
func cameToNothing(list []api.Order) error {
	var waits error
	for _, o := range list {
		switch {
		case !o.Over:
			waits = errQueued
		case o.State != "done":
			return &ended{message: failureOf(o), hint: o.Hint}
		}
	}
	return waits
}

// failureOf says what came of an order that was not done.
func failureOf(o api.Order) string {
	if o.Arrival != nil && o.Arrival.Outcome == "cannot_tell" {
		return fmt.Sprintf("cannot tell whether the %s of %s was delivered: %s", flat(o.Do), flat(o.Agent), flat(o.Arrival.Why))
	}
	return fmt.Sprintf("cannot %s: %s", deedOf(o), reasonOf(o))
}

// deedOf is what an order asks for, in words.
func deedOf(o api.Order) string {
	do := map[string]string{"backup": "take a checkpoint of", "spawn": "start"}[o.Do]
	if do == "" {
		do = flat(o.Do)
	}
	if o.Account != "" {
		return do + " account " + flat(o.Account)
	}
	return do + " " + flat(o.Agent)
}

func reasonOf(o api.Order) string {
	why := flat(o.Why)
	if o.Guard != "" && !strings.HasPrefix(why, o.Guard+":") {
		why = flat(o.Guard) + ": " + why
	}
	switch {
	case o.State == "expired" && o.Arrival != nil && o.Do == "nudge":
		return "it was not delivered: " + strings.TrimPrefix(why, "not delivered: ")
	case o.State == "expired":
		return "it expired: " + why
	}
	return why
}

// writeOrder says what became of an order; one that is done says little, and one that came
// to nothing is an error, and said as one.
func writeOrder(p *page, o api.Order) {
	if o.Over && o.State != "done" {
		return
	}
	line := orderLine(o)
	if r := o.Arrival; r != nil && r.Turn != nil && r.Turn.State == "failed" {
		line += "; " + flat(r.Turn.Words())
	}
	p.text(0, line)
	p.next(o.Next)
}

// orderLine is what became so far of an order that did not come to nothing.
func orderLine(o api.Order) string {
	switch {
	case o.State == "done":
		line := sentenceOf(o)
		if why := flat(o.Why); why != "" && !strings.EqualFold(why, strings.Fields(line)[0]) {
			line += ": " + why
		}
		return line
	case o.Action != "":
		return "Under way: " + deedOf(o) + "."
	}
	line := "Queued: " + deedOf(o)
	if o.State == "asked" {
		line = "Asked for: " + deedOf(o)
	}
	if why := reasonOf(o); why != "" {
		line += " (" + why + ")"
	}
	if o.Until != nil {
		line += ", not before " + o.Until.UTC().Format("15:04:05 UTC")
	}
	return line
}

// sentenceOf says that an order is done.
func sentenceOf(o api.Order) string {
	done := map[string]string{"spawn": "Started", "nudge": "Nudged", "answer": "Answered", "interrupt": "Interrupted", "stop": "Stopped",
		"recover": "Recovered", "backup": "Saved", "pause": "Paused", "resume": "Resumed", "adopt": "Adopted"}[o.Do]
	what := flat(o.Agent)
	if o.Account != "" {
		what = "account " + flat(o.Account)
	}
	if o.Host != "" {
		what += " on " + flat(o.Host)
	}
	return strings.TrimSpace(done + " " + what)
}

// orderCommand is a command that gives one order about one agent.
func (a *app) orderCommand(use, do, short, long string) *cobra.Command {
	f := orderFlags{held: do == "recover"}
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: "  custos " + strings.Replace(use, "NAME", "builder", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.order(cmd, api.OrderRequest{Do: do, Agent: args[0]}, f)
		},
	}
	f.add(c)
	f.addInstance(c)
	return c
}
