package ledger

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// What a gate may hold at most, and how long its command may take.
const (
	mostOpenGates    = 1000
	mostWaiters      = 50
	mostArguments    = 100
	longestCondition = 4000 // bytes, of an expression or of all arguments
	longestAddress   = 200

	checkTimeout = fleet.Duration(10 * time.Second) // unless the gate says
	mostTimeout  = fleet.Duration(time.Minute)
)

// Gate finds a gate; nil when there is none.
func Gate(all fleet.Records, id string) *fleet.Gate {
	return fleet.Find(all.Gates, func(g *fleet.Gate) bool { return g.ID == id })
}

// AddGate returns a gate as it is first written down. Without waiters it tells the
// agent that made it; a person looks by himself.
func AddGate(all fleet.Records, g fleet.Gate, by string, at fleet.Instant) (fleet.Gate, error) {
	open := 0
	for _, o := range all.Gates {
		if !o.Over() {
			open++
		}
	}
	if open >= mostOpenGates {
		return g, Unfit(addGate, "%d gates are open, the most there may be", open)
	}
	if len(g.Check) > 0 && !fleet.IsPerson(by) {
		return g, Unfit(addGate, "only a person may give a command")
	}
	if agent, is := fleet.AgentOf(by); is && agent != "" && len(g.Waiters) == 0 {
		g.Waiters = []string{AddressOf(agent)}
	}
	g, err := newGate(g, by, at)
	if err != nil {
		return g, err
	}
	return g, seenFirst(all, g)
}

const addGate = "add a gate"

// newGate returns a gate that makes sense by itself.
func newGate(g fleet.Gate, by string, at fleet.Instant) (fleet.Gate, error) {
	g.Title, g.Waiters = fleet.Line(strings.TrimSpace(g.Title), longestTitle), slices.Compact(slices.Sorted(slices.Values(g.Waiters)))
	if err := checkGate(g, at); err != nil {
		return g, Unfit(addGate, "%v", err)
	}
	if len(g.Check) > 0 && g.Timeout == 0 {
		g.Timeout = checkTimeout
	}
	g.State, g.By, g.At, g.Since = fleet.GateOpen, by, at, at
	g.Outcome, g.Why, g.Closer = "", "", ""
	return g, nil
}

// gateWord is something that gates of one type are told by.
type gateWord struct {
	name string
	of   fleet.GateType
	set  bool
}

func gateWords(g fleet.Gate) []gateWord {
	return []gateWord{{"until", fleet.GateTimer, !g.Until.IsZero()}, {"on", fleet.GateEvent, g.On != ""}, {"when", fleet.GateCondition, g.When != ""},
		{"check", fleet.GateCondition, len(g.Check) > 0}, {"timeout", fleet.GateCondition, g.Timeout != 0}, {"run", fleet.GateRun, g.Run != ""}, {"of", fleet.GatePull, g.Of != ""},
		{"from", fleet.GateMail, g.From != ""}, {"to", fleet.GateMail, g.To != ""}, {"subject", fleet.GateMail, g.Subject != ""}}
}

func checkGate(g fleet.Gate, at fleet.Instant) error {
	var has []string
	for _, w := range gateWords(g) {
		if w.set && w.of != g.Type {
			return fmt.Errorf("%q is for gates of type %s", w.name, w.of)
		}
		if w.set {
			has = append(has, w.name)
		}
	}
	switch {
	case !slices.Contains(fleet.GateTypes(), g.Type):
		return fmt.Errorf("there is no type %q", fleet.Line(string(g.Type), 40))
	case g.Title == "":
		return errors.New("it has no title")
	case !g.Due.IsZero() && !at.Before(g.Due):
		return errors.New("it is due in the past")
	case len(g.Waiters) > mostWaiters:
		return fmt.Errorf("%d are told, %d are the most", len(g.Waiters), mostWaiters)
	}
	for _, w := range append([]string{g.From, g.To, g.Project}, g.Waiters...) {
		if len(w) > longestAddress || fleet.Line(w, longestAddress) != w {
			return fmt.Errorf("%q is no name", fleet.Line(w, 80))
		}
	}
	if slices.Contains(g.Waiters, "") {
		return errors.New("nobody's name is empty")
	}
	return checkGateOf(g, has, at)
}

var pipelineName = regexp.MustCompile(`^[^\s/]+/[^\s#]+#[1-9][0-9]*$`)

// checkGateOf says what is wrong with what a gate waits for.
func checkGateOf(g fleet.Gate, has []string, at fleet.Instant) error {
	switch g.Type {
	case fleet.GateTimer:
		if !at.Before(g.Until) {
			return errors.New("a timer needs a moment that is still to come (until)")
		}
	case fleet.GateEvent:
		return checkEvent(g.On)
	case fleet.GateCondition:
		return checkCondition(g)
	case fleet.GateRun:
		if !pipelineName.MatchString(g.Run) {
			return fmt.Errorf("%q is no name of a pipeline: it is SYSTEM/PROJECT#NUMBER (run)", fleet.Line(g.Run, 80))
		}
	case fleet.GatePull:
		if g.Of.Tracker() != fleet.TrackerPull {
			return fmt.Errorf("%q names no pull request: it is PROJECT!NUMBER (of)", fleet.Line(string(g.Of), 80))
		}
	case fleet.GateMail:
		if len(has) == 0 || len(g.Subject) > longestAddress {
			return errors.New("say which mail: from, to or subject")
		}
	}
	return nil
}

func checkCondition(g fleet.Gate) error {
	size := len(g.When)
	for _, a := range g.Check {
		size += len(a)
	}
	switch {
	case (g.When == "") == (len(g.Check) == 0):
		return errors.New("a condition is either an expression (when) or a command (check)")
	case size > longestCondition || len(g.Check) > mostArguments:
		return fmt.Errorf("its condition is longer than %d bytes", longestCondition)
	case len(g.Check) > 0 && (g.Check[0] == "" || strings.Contains(strings.Join(g.Check, ""), "\x00")):
		return errors.New("its command names no program")
	case g.Timeout < 0 || g.Timeout > mostTimeout || g.When != "" && g.Timeout != 0:
		return fmt.Errorf("timeout is of a command, and %s at most", mostTimeout)
	}
	if g.When == "" {
		return nil
	}
	_, err := rules.CompileCondition(g.When)
	return err
}

// seenFirst refuses a gate on a record that there is not: nobody would ever see it.
func seenFirst(all fleet.Records, g fleet.Gate) error {
	if m := workEvent.FindStringSubmatch(g.On); m != nil && fleet.Ref(m[1]).Tracker() == fleet.TrackerOwn && Work(all, fleet.Ref(m[1])) == nil {
		return Unfit(addGate, "there is no work %s", m[1])
	}
	m := convoyEvent.FindStringSubmatch(g.On)
	if m != nil && !slices.ContainsFunc(all.Convoys, func(c fleet.Convoy) bool { return c.ID == m[1] }) {
		return Unfit(addGate, "there is no convoy %s", m[1])
	}
	return nil
}

// CloseGate returns what closing a gate by hand writes down: the gate, and the mails
// that tell of it. It takes a person; who made a gate may take it back. To say the
// same again changes nothing.
func CloseGate(g fleet.Gate, as, why, by string, at fleet.Instant) (fleet.Records, error) {
	const what = "close a gate"
	agent, _ := fleet.AgentOf(by)
	maker := agent != "" && by == g.By
	switch {
	case !slices.Contains([]string{fleet.GatePassed, fleet.GateFailed, fleet.GateCancelled}, as):
		return fleet.Records{}, Unfit(what, "it is passed, failed or cancelled, not %q", fleet.Line(as, 40))
	case !fleet.IsPerson(by) && !(maker && as == fleet.GateCancelled):
		return fleet.Records{}, Unfit(what, "it takes a person; an agent may only cancel a gate that it made")
	case g.Over() && g.Outcome == as:
		return fleet.Records{}, nil
	case g.Over():
		return fleet.Records{}, fmt.Errorf("cannot %s: %s is %w: it was closed as %s (%s)", what, g.ID, ErrTaken, g.Outcome, g.Why)
	case strings.TrimSpace(why) == "":
		return fleet.Records{}, Unfit(what, "say why")
	}
	return GateClosed(g, as, why, by, at), nil
}
