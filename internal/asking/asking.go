// Package asking words what people are asked in chats: whether actions may be done, with
// the commands that they run, and what to answer to the dialog that an agent stands at. What
// cannot be shown whole cannot be approved there. An ask has a hash, so that an answer is
// to that very ask.
package asking

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// Teller knows what is done with things, and how.
type Teller interface {
	// Commands are those that an action runs.
	Commands(a fleet.Action) []fleet.Command
	// Denied is the action that is begun where a person denies another; "" for none.
	Denied(do string) string
}

// Actions is an ask with what would be done, and with which commands; and what is done
// instead where a person denies it, if anything is.
func Actions(ask fleet.Ask, actions []fleet.Action, t Teller) fleet.Ask {
	if len(actions) == 0 {
		return ask
	}
	number := ask.Number
	w := writer{Teller: t, sum: sha256.New(), whole: true}
	instead := denied(actions, t)
	head := fmt.Sprintf("#%d: approve %d has this done, deny %d leaves it:", number, number, number)
	if len(instead) > 0 {
		head = fmt.Sprintf("#%d: approve %d has this done:", number, number)
		ask.Denied = instead[0].Do
	}
	w.lines = []string{head}
	for _, a := range actions {
		w.action(a, true)
	}
	if len(instead) > 0 {
		w.lines = append(w.lines, fmt.Sprintf("deny %d has this done instead:", number))
	}
	for _, a := range instead {
		w.action(a, false)
	}
	if !w.whole {
		return fleet.Ask{Alert: ask.Alert, Number: number, Refused: "it is too long for a message: custos plan shows it"}
	}
	ask.Lines, ask.Hash = w.lines, hex.EncodeToString(w.sum.Sum(nil)[:8])
	return ask
}

// denied are the actions that are done in place of others where a person denies them.
func denied(actions []fleet.Action, t Teller) (out []fleet.Action) {
	for _, a := range actions {
		if a.Do = t.Denied(a.Do); a.Do != "" {
			out = append(out, a)
		}
	}
	return out
}

// writer puts actions into lines, and into the hash that the ask is known by.
type writer struct {
	Teller
	sum   hash.Hash
	lines []string
	whole bool // nothing was cut off
}

func (w *writer) say(line string) { w.lines = append(w.lines, wrapped(line)...) }

// action says what is done, and where what it is done to was not shown yet, what that is.
func (w *writer) action(a fleet.Action, about bool) {
	fmt.Fprintf(w.sum, "%q %q %q %q %q\n", a.ID, a.Do, a.Subject.String(), a.Text, a.Dialog)
	head := a.Do + " " + a.Subject.String()
	if a.Text != "" {
		head += ": " + fleet.Redact(fleet.Text(a.Text))
	}
	w.say(head)
	if v := a.Target.Vault; v != nil && about {
		fmt.Fprintf(w.sum, "%q\n", v.Digest)
		w.item(v)
	}
	for _, c := range w.Commands(a) {
		fmt.Fprintf(w.sum, "%q\n", c.Argv)
		line, whole := shown(c.Argv)
		w.whole = w.whole && whole
		w.say("runs: " + line)
	}
	if c := a.Target.Code; c != nil {
		for _, line := range strings.Split(strings.TrimSuffix(c.Diff, "\n"), "\n") {
			w.say(line)
		}
	}
}

// item says what an item of a vault is called and asks for. What else it says is read where
// it lies.
func (w *writer) item(v *fleet.VaultItem) {
	if v.Title != "" {
		w.say("says: " + v.Title)
	}
	if len(v.Secrets) > 0 {
		w.say("asks for the secrets " + strings.Join(v.Secrets, ", "))
	}
	w.say("SHA-256 " + v.Digest)
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

// IsAnswered says whether an answer to an agent was begun or ended since it was
// looked at: the dialog that was seen may be the one that is answered.
func IsAnswered(past fleet.Past, agent fleet.Subject, seen fleet.Instant) bool {
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

// Dialog is the ask for the dialog that the subject of an alert stands at, if it
// is an agent that may be touched, and a dialog with the choices yes and no.
func Dialog(snap fleet.Snapshot, alert fleet.Alert) (fleet.Ask, bool) {
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
