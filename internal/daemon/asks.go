package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"custos/internal/agent"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/report"
	"custos/internal/store"
)

// askPort is what people were asked in chats as the port of control wants it.
type askPort struct{ s *system }

var _ control.Asks = askPort{}

// Asks lists what people may approve or deny now.
func (b askPort) Asks(ctx context.Context) (map[fleet.AlertKey]fleet.Ask, error) {
	return b.s.asks(ctx)
}

// AskOf is the ask for some actions.
func (b askPort) AskOf(of fleet.AlertKey, number int64, actions []fleet.Action) fleet.Ask {
	return b.s.askOffer(loop.Offer{For: of, Actions: actions}, number)
}

// Asked is what was asked in a place.
func (b askPort) Asked(ctx context.Context, place string, of fleet.AlertKey) (ledger.Asked, error) {
	kept, err := b.s.ledger.Told(ctx, place)
	if err != nil {
		return ledger.Asked{}, err
	}
	key, at := report.AskedOf(kept, of)
	return ledger.Asked{Key: key, At: at}, nil
}

// Use notes that an ask was answered.
func (b askPort) Use(ctx context.Context, a fleet.Alert, ask fleet.Ask, at fleet.Instant, text string) error {
	return b.s.ledger.write(ctx, func(st *store.Store) error {
		return st.Record(ctx, fleet.Event{At: at, Kind: askAnswered, Alert: a.AlertKey, Subject: a.Subject, Action: ask.Hash, Text: text})
	})
}

// asks are what people may approve or deny, by the alert: what waits for nothing
// but their approval, and the dialogs that agents of ours stand at.
func (s *system) asks(ctx context.Context) (map[fleet.AlertKey]fleet.Ask, error) {
	past, err := s.ledger.Past(ctx, s.world.Now())
	if err != nil || past.Blind != "" || past.Amnesia || !anyFires(past.Alerts) {
		return nil, err
	}
	pass, offers, err := s.loop.Offers(ctx, "somebody")
	if err != nil {
		return nil, err
	}
	out := map[fleet.AlertKey]fleet.Ask{}
	numbers := map[fleet.AlertKey]int64{}
	for _, a := range past.Alerts {
		if a.Status != fleet.AlertFiring {
			continue
		}
		numbers[a.AlertKey] = a.Number
		if answeredSince(past, a.Subject, pass.Snapshot.Agents.At) {
			continue
		}
		if ask, stands := askDialog(pass.Snapshot, a); stands {
			out[a.AlertKey] = ask
		}
	}
	for _, o := range offers {
		if n := numbers[o.For]; n > 0 && out[o.For].Dialog == "" {
			out[o.For] = s.askOffer(o, n)
		}
	}
	return out, s.countUses(ctx, out)
}

func anyFires(list []fleet.Alert) bool {
	for _, a := range list {
		if a.Status == fleet.AlertFiring {
			return true
		}
	}
	return false
}

// askAnswered is the kind of the event that an ask was answered. Its Action is the hash.
const askAnswered = "ask.answered"

// countUses makes an ask another one each time it was answered: an answer is good
// for once, though the same should be asked again.
func (s *system) countUses(ctx context.Context, asks map[fleet.AlertKey]fleet.Ask) error {
	st, err := s.ledger.reader(ctx)
	if err != nil {
		return err
	}
	for k, a := range asks {
		if a.Hash == "" {
			continue
		}
		n, err := st.CountEvents(ctx, askAnswered, a.Hash)
		if err != nil {
			return err
		}
		if a.Uses = n; n > 0 {
			asks[k] = a
		}
	}
	return nil
}

// askOffer is the ask for what an alert's finding would lead to.
func (s *system) askOffer(o loop.Offer, number int64) fleet.Ask {
	ask := fleet.Ask{Alert: o.For, Number: number, Refused: o.Refused}
	if len(o.Actions) == 0 {
		return ask
	}
	h := sha256.New()
	ask.Lines = []string{fmt.Sprintf("#%d: approve %d has this done, deny %d leaves it:", number, number, number)}
	for _, a := range o.Actions {
		fmt.Fprintf(h, "%q %q %q %q %q\n", a.ID, a.Do, a.Subject.String(), a.Text, a.Dialog)
		head := a.Do + " " + a.Subject.String()
		if a.Text != "" {
			head += ": " + fleet.Redact(fleet.Text(a.Text))
		}
		ask.Lines = append(ask.Lines, wrapped(head)...)
		for _, c := range s.actor.Commands(a) {
			fmt.Fprintf(h, "%q\n", c.Argv)
			line, whole := shown(c.Argv)
			if !whole {
				return fleet.Ask{Alert: o.For, Number: number, Refused: "it is too long for a message: custos plan shows it"}
			}
			ask.Lines = append(ask.Lines, wrapped("runs: "+line)...)
		}
		if c := a.Target.Code; c != nil {
			for _, line := range strings.Split(strings.TrimSuffix(c.Diff, "\n"), "\n") {
				ask.Lines = append(ask.Lines, wrapped(line)...)
			}
		}
	}
	ask.Hash = hex.EncodeToString(h.Sum(nil)[:8])
	return ask
}

// shown is a command line as people are asked about it, without secrets; whole
// says that nothing was cut off.
func shown(argv []string) (line string, whole bool) {
	words := fleet.RedactArgs(argv)
	whole = len(words) == len(argv)
	for i, w := range words {
		whole = whole && !strings.HasSuffix(w, "…")
		if w == "" || strings.ContainsAny(w, " '\"\\$`;&|<>()*?") {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " "), whole
}

// widest is how many runes a line of an ask has at most.
const widest = 300

// wrapped cuts a text into lines of a bearable length; nothing of it is lost.
func wrapped(text string) (lines []string) {
	runes := []rune(strings.Join(strings.Split(text, "\n"), " "))
	for len(runes) > widest {
		lines = append(lines, string(runes[:widest]))
		runes = runes[widest:]
	}
	return append(lines, string(runes))
}

// answeredSince says whether an answer to an agent was begun or ended since it was
// looked at: the dialog that was seen may be the one that is answered.
func answeredSince(past fleet.Past, agent fleet.Subject, seen fleet.Instant) bool {
	for _, o := range past.Orders {
		if o.Do == fleet.OrderAnswer && o.Agent == agent.Name && !o.IsOver() {
			return true
		}
	}
	for _, r := range past.Actions {
		if r.Do == string(fleet.OrderAnswer) && r.Subject == agent && (r.Open() || r.Result != nil && !r.Result.Ended.Before(seen)) {
			return true
		}
	}
	return false
}

// askDialog is the ask for the dialog that the subject of an alert stands at, if it
// is an agent that may be touched, and a dialog with the choices yes and no.
func askDialog(snap fleet.Snapshot, alert fleet.Alert) (fleet.Ask, bool) {
	if alert.Subject.Kind != fleet.KindAgent || !snap.Agents.Fresh() {
		return fleet.Ask{}, false
	}
	for _, a := range snap.Agents.Value {
		if a.Name != alert.Subject.Name || a.Dialog == nil || !a.Owner.MayTouch() {
			continue
		}
		yes, errYes := agent.Pick(*a.Dialog, "yes")
		no, errNo := agent.Pick(*a.Dialog, "no")
		if errYes != nil || errNo != nil {
			return fleet.Ask{}, false
		}
		return dialogAsk(alert, a, yes, no), true
	}
	return fleet.Ask{}, false
}

func dialogAsk(alert fleet.Alert, a fleet.Agent, yes, no fleet.Choice) fleet.Ask {
	d, n := a.Dialog, alert.Number
	h := sha256.Sum256(fmt.Appendf(nil, "%q %q %v %q", a.Name, a.Process.Boot, a.Process, d.Hash))
	ask := fleet.Ask{Alert: alert.AlertKey, Number: n, Hash: hex.EncodeToString(h[:8]), Agent: a.Name, Dialog: d.Hash, Yes: yes.Name, No: no.Name}
	ask.Lines = wrapped(fmt.Sprintf("#%d: agent %s asks: %s", n, a.Name, d.Question))
	if d.Tool != "" {
		ask.Lines = append(ask.Lines, wrapped("tool: "+d.Tool)...)
	}
	if d.Args != "" {
		ask.Lines = append(ask.Lines, wrapped(d.Args)...)
	}
	for i, l := range ask.Lines {
		ask.Lines[i] = fleet.Redact(fleet.Text(l))
	}
	if strings.HasSuffix(d.Args, "…") || strings.HasSuffix(d.Question, "…") { // it was cut where it was read
		ask.Yes = ""
		ask.Lines = append(ask.Lines, fmt.Sprintf("It is too long to be shown whole, so that it cannot be approved here: deny %d answers %q", n, label(no)))
		return ask
	}
	ask.Lines = append(ask.Lines, fmt.Sprintf("approve %d answers %q, deny %d answers %q", n, label(yes), n, label(no)))
	return ask
}

func label(c fleet.Choice) string {
	if c.Label == "" {
		return c.Name
	}
	return fleet.Line(c.Label, 80)
}
