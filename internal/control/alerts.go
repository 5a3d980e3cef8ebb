package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// alerts are looked at by anyone; to take one up, and to have done what it leads to, is for a
// person.
func alerts() Noun {
	return Noun{"alerts", []Verb{
		{Name: "list", Do: asks((*Control).alertList)},
		{Name: "ack", Access: Person, Do: given((*Control).acknowledge)},
		{Name: "offer", Do: asks((*Control).offer)},
		{Name: "approve", Access: Person, Do: given((*Control).approve)},
		{Name: "deny", Access: Person, Do: given((*Control).denyAlert)},
	}}
}

// Alerts is the book of alerts.
type Alerts interface {
	// Alerts lists those that are not over; with all, the lately ended too.
	Alerts(ctx context.Context, all bool) ([]fleet.Alert, error)
	// Acknowledge writes down that a person has taken up an alert; one that is over, or
	// that there is not, wraps ledger.ErrIllegal.
	Acknowledge(ctx context.Context, number int64, by string) (fleet.Alert, error)
	// Silence writes down a silence.
	Silence(ctx context.Context, s fleet.Silence) error
}

// Approver has done what an alert leads to, because a person approves of it.
type Approver interface {
	// Approve shows consent the actions that wait for approval, as they would be done, and
	// begins them; with an error of consent nothing is done. The messages that it returns
	// are committed with the actions. Where nothing may be done the error is a Refusal.
	Approve(ctx context.Context, of fleet.AlertKey, by string, consent func([]fleet.Action) ([]fleet.Message, error)) error
	// Deny shows consent what was to be approved of, and begins what is done instead; else
	// as Approve.
	Deny(ctx context.Context, of fleet.AlertKey, by string, consent func(denied, instead []fleet.Action) ([]fleet.Message, error)) error
	// Offer is what Approve would begin now, or why that is nothing. It changes nothing.
	Offer(ctx context.Context, of fleet.AlertKey, by string) (actions []fleet.Action, refused string, err error)
}

func (c *Control) alertList(ctx context.Context, call Call) (api.Alerts, error) {
	all := call.Ask("all") == "true"
	list, err := c.Alerts.Alerts(ctx, all)
	if err != nil {
		return api.Alerts{}, err
	}
	trouble := c.Vitals(ctx).Trouble
	if trouble != "" { // what is written down is old
		list = c.unwritten(ctx, list, all)
	}
	list = slices.DeleteFunc(list, neverFired)
	return api.Alerts{Alerts: view.Alerts(list, c.Now()), Trouble: trouble}, nil
}

// neverFired: what was true for less than its rule wants, and is not any more, was no alert.
func neverFired(a fleet.Alert) bool { return a.Status == fleet.AlertResolved && a.FiredAt.IsZero() }

// unwritten is what a look finds, with what of the alerts that are written down it does
// not show; without a look, only these.
func (c *Control) unwritten(ctx context.Context, written []fleet.Alert, all bool) []fleet.Alert {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return written
	}
	return slices.DeleteFunc(view.Merged(pass.Assessment.Alerts, written), func(a fleet.Alert) bool { return !all && a.Status == fleet.AlertResolved })
}

// alert finds the alert that a call names by its number.
func (c *Control) alert(ctx context.Context, call Call, do string, all bool, none string) (fleet.Alert, error) {
	number, err := strconv.ParseInt(call.ID, 10, 64)
	if err != nil {
		return fleet.Alert{}, api.AsBadInput(fmt.Errorf("cannot %s %q: it is no alert's number", do, fleet.Line(call.ID, 40)))
	}
	known, err := c.Alerts.Alerts(ctx, all)
	if err != nil {
		return fleet.Alert{}, err
	}
	i := slices.IndexFunc(known, func(a fleet.Alert) bool { return a.Number == number })
	if i < 0 {
		return fleet.Alert{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot %s alert %d: there is no such alert%s", do, number, none), Hint: "custos alerts"}
	}
	return known[i], nil
}

// shown refuses another alert of that number than the one that was shown.
func shown(a fleet.Alert, id string) error {
	if id == "" || id == view.AlertID(a) {
		return nil
	}
	return &api.Error{Kind: api.Changed, Message: fmt.Sprintf("nothing was done: this is another alert %d than the one that was shown: %s since %s", a.Number, a.Rule, a.Since.Wall.UTC().Format("2006-01-02 15:04:05 UTC")), Hint: "custos alerts"}
}

func (c *Control) acknowledge(ctx context.Context, call Call, order api.AckOrder) (api.Alert, error) {
	found, err := c.alert(ctx, call, "acknowledge", true, "")
	if err == nil {
		err = shown(found, order.ID)
	}
	if err != nil {
		return api.Alert{}, err
	}
	a, err := c.Alerts.Acknowledge(ctx, found.Number, called(order.By, call))
	if err != nil {
		return api.Alert{}, Reasoned(err)
	}
	out := view.Alert(a, c.Now())
	if a.Rule == ruleAmnesia {
		out.Next = c.takenUp(ctx)
	}
	return out, nil
}

// ruleAmnesia is the rule of the alert that is acknowledged when it is known that the
// past is lost.
const ruleAmnesia = "self-amnesia"

// takenUp proposes what to do with what the lost past has left. Where no look is possible
// now, custos ps does, later.
func (c *Control) takenUp(ctx context.Context) []api.Hint {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return []api.Hint{{Command: "custos ps", What: "whether agents of before run: custos adopt NAME has them cared for again"}}
	}
	return view.Adoptions(&pass.Snapshot)
}

// called is who does something: the name given, made safe to show, or the caller's.
func called(given string, call Call) string {
	if name := fleet.Line(given, 60); name != "" {
		return name
	}
	return call.By
}

func (c *Control) approve(ctx context.Context, call Call, order api.ApproveOrder) (api.Approved, error) {
	if a, err := c.alert(ctx, call, "approve", false, ""); err == nil && a.Rule == ruleAsked {
		return c.answerAsked(ctx, call, order, a, (*Control).letOrder)
	}
	return c.answer(ctx, call, order, "approve", func(of fleet.AlertKey, by string, saw func(asked, begun []fleet.Action) error) error {
		return c.Approver.Approve(ctx, of, by, func(all []fleet.Action) ([]fleet.Message, error) { return nil, saw(all, all) })
	})
}

// ruleAsked is the rule of the alert that a person at another host has ordered something that waits for one here.
const ruleAsked = "order-asked"

// answerAsked does with the order that an alert is about what a person says.
func (c *Control) answerAsked(ctx context.Context, call Call, order api.ApproveOrder, a fleet.Alert, do func(*Control, context.Context, Call) (api.Order, error)) (api.Approved, error) {
	if err := shown(a, order.ID); err != nil {
		return api.Approved{}, err
	}
	call.ID, call.By = a.Subject.Name, called(order.By, call)
	o, err := do(c, ctx, call)
	if err != nil {
		return api.Approved{}, err
	}
	return api.Approved{Number: a.Number, By: call.By, Actions: []api.ApprovedThing{}, Order: &o}, nil
}

// offerAsked is what an approval of such an order has done; what exactly it is, a person is shown at the host.
func (c *Control) offerAsked(ctx context.Context, a fleet.Alert) (api.Offer, error) {
	o, err := c.Orders.Order(ctx, a.Subject.Name)
	out := api.Offer{Number: a.Number, At: c.Now().Wall.UTC(), Deeds: []api.Deed{}, Instead: []string{"refuse"}}
	switch {
	case err != nil:
		return api.Offer{}, CannotLook(err)
	case o.State != fleet.OrderAsked:
		out.Refused = "it does not wait for that any more: it is " + string(o.State)
		return out, nil
	}
	out.Hash = o.ID
	out.Deeds = append(out.Deeds, api.Deed{ID: o.ID, Do: string(o.Do), Subject: view.SubjectText(fleet.Subject{Kind: fleet.KindAgent, Name: cmp.Or(o.Agent, "account "+o.Account)}),
		Priority: string(a.Priority), Rule: a.Rule, Why: o.By + " ordered it", Commands: []api.Command{{Argv: []string{"custos", "orders", "show", o.ID}, Note: "shows exactly what it is"}}})
	return out, nil
}

// denyAlert has done what is done instead of what an alert leads to.
func (c *Control) denyAlert(ctx context.Context, call Call, order api.ApproveOrder) (api.Approved, error) {
	if a, err := c.alert(ctx, call, "deny", false, ""); err == nil && a.Rule == ruleAsked {
		return c.answerAsked(ctx, call, order, a, (*Control).cancelOrder)
	}
	return c.answer(ctx, call, order, "deny", func(of fleet.AlertKey, by string, saw func(asked, begun []fleet.Action) error) error {
		return c.Approver.Deny(ctx, of, by, func(denied, instead []fleet.Action) ([]fleet.Message, error) { return nil, saw(denied, instead) })
	})
}

// answer has begun what follows from a person's answer to an alert, if they have seen what
// they answer.
func (c *Control) answer(ctx context.Context, call Call, order api.ApproveOrder, do string, begin func(of fleet.AlertKey, by string, saw func(asked, begun []fleet.Action) error) error) (api.Approved, error) {
	a, err := c.alert(ctx, call, do, false, ", or it is over")
	if err == nil {
		err = shown(a, order.ID)
	}
	if err != nil {
		return api.Approved{}, c.meanwhile(ctx, call.ID, order, err)
	}
	out := api.Approved{Number: a.Number, By: called(order.By, call), Actions: []api.ApprovedThing{}}
	err = begin(a.AlertKey, out.By, func(asked, begun []fleet.Action) error {
		for _, act := range begun {
			out.Actions = append(out.Actions, api.ApprovedThing{ID: act.ID, Do: act.Do, Subject: view.SubjectText(act.Subject)})
		}
		return errors.Join(c.sawOffer(a.Number, asked, order.Seen), sawContent(asked, order))
	})
	var no Refusal
	if errors.As(err, &no) {
		hint := "custos why " + a.Subject.String()
		if do == "deny" {
			hint = fmt.Sprintf("custos ack %d", a.Number)
		}
		err = c.meanwhile(ctx, call.ID, order, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot %s: %v", do, err), Hint: hint})
	}
	return out, err
}

// meanwhile says of what was shown to a person, and cannot be approved any more, that it has
// changed, and who has approved of it before.
func (c *Control) meanwhile(ctx context.Context, number string, order api.ApproveOrder, err error) error {
	e := api.ErrorOf(err)
	if order.Seen == "" || e.Kind != api.NotFound && e.Kind != api.BadInput {
		return err
	}
	says := e.Message
	if by := c.approvedBefore(ctx, number); by != "" {
		says += "; " + by + " has approved of it before"
	}
	return &api.Error{Kind: api.Changed, Message: says + ", and nothing was done now", Hint: e.Hint}
}

// approvedBefore is who approved last of what an alert leads to, since it began; "" where that was nobody, or is
// not known.
func (c *Control) approvedBefore(ctx context.Context, number string) (by string) {
	written, err := c.Alerts.Alerts(ctx, true)
	if err != nil {
		return ""
	}
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return ""
	}
	for _, a := range written {
		for _, r := range pass.Past.Actions {
			if strconv.FormatInt(a.Number, 10) == number && r.For == a.AlertKey && r.Approved != "" && !r.PlannedAt.Wall.Before(a.Since.Wall) {
				by = r.Approved
			}
		}
	}
	return by
}

// offer shows what an approval would begin.
func (c *Control) offer(ctx context.Context, call Call) (api.Offer, error) {
	a, err := c.alert(ctx, call, "offer what is done about", false, ", or it is over")
	if err != nil {
		return api.Offer{}, err
	}
	if a.Rule == ruleAsked {
		return c.offerAsked(ctx, a)
	}
	actions, refused, err := c.Approver.Offer(ctx, a.AlertKey, somebody)
	if err != nil {
		return api.Offer{}, CannotLook(err)
	}
	out := api.Offer{Number: a.Number, At: c.Now().Wall.UTC(), Deeds: make([]api.Deed, 0, len(actions)), Refused: refused}
	for _, act := range actions {
		out.Deeds = append(out.Deeds, view.Deed(act, c.Teller))
	}
	if len(actions) > 0 {
		out.Hash, out.Instead = c.hashed(actions), c.instead(ctx, actions)
	}
	return out, nil
}

// instead is what a denial of some actions would begin.
func (c *Control) instead(ctx context.Context, actions []fleet.Action) (names []string) {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return nil // then nothing is offered to be denied
	}
	for _, a := range actions {
		if denied := pass.Policy.Abilities[a.Do].Denied; denied != "" && !slices.Contains(names, denied) {
			names = append(names, denied)
		}
	}
	return names
}

// somebody is who would approve of what is only looked at: the plan is the same, whoever does.
const somebody = "somebody"

// hashed names what some actions would do, with which commands and to which code.
func (c *Control) hashed(actions []fleet.Action) string {
	h := sha256.New()
	for _, a := range actions {
		fmt.Fprintf(h, "%q %q %q %q %q\n", a.ID, a.Do, a.Subject.String(), a.Text, a.Dialog)
		for _, cmd := range c.Teller.Commands(a) {
			fmt.Fprintf(h, "%q\n", cmd.Argv)
		}
		if code := a.Target.Code; code != nil {
			fmt.Fprintf(h, "%q\n", code.Digest)
		}
		if item := a.Target.Vault; item != nil {
			fmt.Fprintf(h, "%q\n", item.Digest)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sawOffer says whether a person who says which offer they were shown has seen what would
// be begun now.
func (c *Control) sawOffer(number int64, actions []fleet.Action, seen string) error {
	if seen == "" || seen == c.hashed(actions) {
		return nil
	}
	return &api.Error{Kind: api.Changed, Message: fmt.Sprintf("cannot approve alert %d: what would be done is not what was shown any more, and nothing was done", number), Hint: fmt.Sprintf("custos why %d", number)}
}

// leastDigest is how much of a digest names it.
const leastDigest = 12

// sawContent says whether a person has seen what they answer for: the code that would be
// trusted, or the item of a vault that would be moved. A number names an alert, whatever lies
// there by now; a digest names that, and so does the hash of an offer of an item.
func sawContent(actions []fleet.Action, order api.ApproveOrder) error {
	for _, a := range actions {
		what, digest, hint := "", "", ""
		switch c, v := a.Target.Code, a.Target.Vault; {
		case c != nil:
			what, digest, hint = "trusting "+c.Dir, c.Digest, "custos trust "+c.Dir
		case v != nil && order.Seen == "":
			what, digest, hint = v.Name, v.Digest, api.Typed("custos", "why", a.Subject.String())
		default:
			continue
		}
		if len(order.Digest) >= leastDigest && strings.HasPrefix(digest, order.Digest) {
			continue
		}
		why := "say by --digest what you were shown"
		if order.Digest != "" {
			why = "it is not what has the digest " + fleet.Line(order.Digest, 80)
		}
		return &api.Error{Kind: api.BadInput, Message: "cannot approve of " + what + ": " + why, Hint: hint}
	}
	return nil
}
