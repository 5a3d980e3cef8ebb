package loop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// truths is what truly happened, beside what Custos makes of it.
type truths struct {
	refs     []fleet.Ref
	waits    map[fleet.Ref][]fleet.Ref
	convoys  map[string][]fleet.Ref
	isClosed map[fleet.Ref]bool
	closings map[fleet.Ref]int
	frees    map[fleet.Ref]int // how often open work came to wait for nothing any more
	done     map[string]int    // how often every member of a convoy was closed
	gates    map[string]*weekGate
	nudges   int
	triggers int // that plugins are due on
}

// weekGate is a gate, and when what it waits for came.
type weekGate struct {
	fleet.Gate
	came fleet.Instant
}

func newTruths() truths {
	return truths{waits: map[fleet.Ref][]fleet.Ref{}, convoys: map[string][]fleet.Ref{}, isClosed: map[fleet.Ref]bool{}, closings: map[fleet.Ref]int{},
		frees: map[fleet.Ref]int{}, done: map[string]int{}, gates: map[string]*weekGate{}}
}

// closed notes that work was closed or opened, and what that means.
func (t *truths) closed(ref fleet.Ref, closed bool) {
	full := func(members []fleet.Ref) bool {
		return !slices.ContainsFunc(members, func(m fleet.Ref) bool { return !t.isClosed[m] })
	}
	before, free := map[string]bool{}, map[fleet.Ref]bool{}
	for id, members := range t.convoys {
		before[id] = full(members)
	}
	for of, needs := range t.waits {
		free[of] = full(needs)
	}
	if t.isClosed[ref] = closed; closed {
		t.closings[ref]++
	}
	for id, members := range t.convoys {
		if !before[id] && full(members) {
			t.done[id]++
		}
	}
	for of, needs := range t.waits {
		if !free[of] && full(needs) && !t.isClosed[of] {
			t.frees[of]++
		}
	}
}

// commit writes a turn down, and notes it.
func (w *week) commit(ctx context.Context, t fleet.Turn) error {
	w.books.Lock()
	defer w.books.Unlock()
	if err := w.st.Commit(ctx, t); err != nil {
		return err
	}
	w.passes++
	w.compare(ctx, t.At)
	w.seenAt = append(w.seenAt, t.At)
	turn := t
	w.log = append(w.log, entry{turn: &turn, at: t.At})
	return nil
}

// compare demands that what the passes read is what is written.
func (w *week) compare(ctx context.Context, at fleet.Instant) {
	if found, err := w.st.Compare(ctx, at); err != nil || len(found) > 0 {
		w.t.Errorf("in memory is not what is written: %v %v", found, err)
	}
	if a := w.st.Audited(); a != nil && len(a.Differences) > 0 {
		w.t.Errorf("within the hour to %v: %v", a.At, a.Differences)
	}
}

// late is how many passes have seen the world since a moment, before another.
func (w *week) late(since, until fleet.Instant) (n int) {
	for _, at := range w.seenAt {
		if !at.Before(since) && at.Before(until) {
			n++
		}
	}
	return n
}

// check holds what is on record against what happened.
func (w *week) check() {
	all := w.everything()
	w.checkGates(all)
	w.checkConvoys(all)
	w.checkDependencies(all)
	w.checkMails(all)
	w.checkPlugins()
}

func (w *week) checkGates(all fleet.Records) {
	if len(w.truth.gates) < 40 {
		w.t.Errorf("only %d gates", len(w.truth.gates))
	}
	for _, g := range all.Gates {
		truth := w.truth.gates[g.ID]
		switch {
		case truth == nil:
			w.t.Errorf("nobody made gate %s", g.ID)
		case g.State != fleet.GateClosed:
			w.t.Errorf("gate %s (%s) is open: %s; it came at %v", g.ID, g.Type, g.Why, truth.came.Wall)
		case g.Since.Before(truth.came):
			w.t.Errorf("gate %s (%s) was closed at %v, before what it waits for came at %v", g.ID, g.Type, g.Since.Wall, truth.came.Wall)
		case w.late(truth.came, g.Since) > 1:
			w.t.Errorf("gate %s (%s) was closed %d passes after what it waits for came", g.ID, g.Type, w.late(truth.came, g.Since))
		}
		for _, waiter := range g.Waiters {
			if n := told(all, fleet.MailGate, g.ID, waiter); n != 1 {
				w.t.Errorf("%s was told %d times of gate %s", waiter, n, g.ID)
			}
		}
	}
}

// told counts the mails of a type about a thing to an address.
func told(all fleet.Records, of fleet.MailType, about, to string) (n int) {
	for _, m := range all.Mails {
		if m.Type == of && m.About == about && (to == "" || slices.Contains(m.To, to)) {
			n++
		}
	}
	return n
}

func (w *week) checkConvoys(all fleet.Records) {
	for _, c := range all.Convoys {
		n := 0
		for _, m := range all.Mails {
			if m.Type == fleet.MailConvoy && m.About == c.ID && strings.HasPrefix(m.Subject, "Convoy done") && slices.Contains(m.To, "a03") {
				n++
			}
		}
		if want := w.truth.done[c.ID]; c.Times != want || n != want {
			w.t.Errorf("convoy %s was done %d times, and %d mails tell of it; want %d", c.ID, c.Times, n, want)
		}
	}
}

func (w *week) checkDependencies(all fleet.Records) {
	resolved := 0
	for _, d := range all.Dependencies {
		if d.Times != w.truth.closings[d.Needs] {
			w.t.Errorf("%s <- %s was resolved %d times, and %s was closed %d times", d.Of, d.Needs, d.Times, d.Needs, w.truth.closings[d.Needs])
		}
		resolved += d.Times
	}
	for of, want := range w.truth.frees {
		if n := told(all, fleet.MailDependency, string(of), ""); n != want {
			w.t.Errorf("%d mails tell that %s is free, want %d", n, of, want)
		}
	}
	if resolved < 100 {
		w.t.Errorf("only %d dependencies were resolved", resolved)
	}
}

// checkMails: each mail has found its readers, none is told too often, and what
// nobody will read has bounced.
func (w *week) checkMails(all fleet.Records) {
	keys := map[string]string{}
	for _, m := range all.Mails {
		if old := keys[m.Key]; m.Key != "" && old != "" {
			w.t.Errorf("mails %s and %s tell the same: %s", old, m.ID, m.Key)
		}
		keys[m.Key] = m.ID
		if !m.Sorted {
			w.t.Errorf("mail %s was never sorted", m.ID)
		}
		for _, c := range m.Copies {
			w.checkCopy(m, c)
		}
	}
}

func (w *week) checkCopy(m fleet.Mail, c fleet.MailCopy) {
	a := w.agent(c.To)
	switch {
	case c.Told > 5:
		w.t.Errorf("%s was told %d times of mail %s", c.To, c.Told, m.ID)
	case a != nil && a.retired && c.State != fleet.CopyBounced:
		w.t.Errorf("mail %s to %s, who is retired, is %s", m.ID, c.To, c.State)
	case a != nil && !a.retired && c.State == fleet.CopyBounced:
		w.t.Errorf("mail %s to %s bounced: %s", m.ID, c.To, c.Why)
	case a != nil && !a.retired && a.reads && w.now().Since(m.At) > 12*time.Hour && c.State != fleet.CopyRead && c.State != fleet.CopyUnread:
		w.t.Errorf("mail %s to %s is %s after %v", m.ID, c.To, c.State, w.now().Since(m.At))
	}
}

// checkPlugins: no step of one was begun twice, and each ran as often as it was due.
func (w *week) checkPlugins() {
	if len(w.twice) != 0 {
		w.t.Errorf("begun twice: %v", w.twice)
	}
	runs := map[string]int{}
	for key := range w.begins {
		for _, p := range w.plugins {
			if len(key) > len(p.Name) && key[:len(p.Name)] == p.Name {
				runs[p.Name]++
			}
		}
	}
	if w.asShown < w.passes/100 {
		w.t.Errorf("%d of %d turns were held against what a look had shown", w.asShown, w.passes)
	}
	for _, p := range w.plugins {
		low, high := w.dueRuns(p)
		if n := runs[p.Name]; n < low || n > high {
			w.t.Errorf("%s ran %d times, want %d to %d", p.Name, n, low, high)
		}
	}
}

// dueRuns is how often a plugin was due.
func (w *week) dueRuns(p fleet.Schedule) (low, high int) {
	n := 0
	switch {
	case p.Every > 0:
		n = int(w.lasts / time.Duration(p.Every))
	case p.Cron != "":
		n = int(w.lasts / (2 * time.Hour))
	case p.On == "startup":
		return w.lives - 2, w.lives
	default:
		return w.truth.triggers, w.truth.triggers
	}
	return n - 1, n + 2
}

// expressions is what the conditions of gates say now.
func (w *week) expressions(past fleet.Past, s fleet.Snapshot) (out []fleet.GateCheck) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range past.Records.Gates {
		if g.When != "" && !g.Over() {
			out = append(out, fleet.GateCheck{Gate: g.ID, Holds: fleet.Known(w.holds[g.When]), At: s.At})
		}
	}
	return out
}

// readMail is an agent that was told of mail.
func (w *week) readMail(name string) {
	a := w.agent(name)
	if w.life.isDead() || a == nil || !a.reads || !a.alive {
		return
	}
	_, err := w.edit(func(all fleet.Records) (out fleet.Records, err error) {
		for _, m := range all.Mails {
			if !ledger.Unread(m, name) {
				continue
			}
			read, err := ledger.ReadMail(all, m.ID, name, w.now())
			if err != nil {
				return out, fmt.Errorf("mail %s: %w", m.ID, err)
			}
			out.Mails = append(out.Mails, read)
		}
		return out, nil
	})
	if err != nil {
		w.t.Errorf("%s cannot read its mail: %v", name, err)
	}
}
