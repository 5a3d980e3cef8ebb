package convoys

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// month is how long a convoy that is done is kept open.
const month = 30 * 24 * time.Hour

// Follow returns what becomes of the convoys.
func Follow(p fleet.Pass) fleet.Follows {
	if len(p.Past.Records.Convoys) == 0 {
		return fleet.Follows{}
	}
	c := &pass{convoys: p.Past.Records.Convoys, told: p.Policy.Coordination.Convoys, at: p.Snapshot.At, trackers: ledger.NewTrackers(p.Past, p.Snapshot)}
	c.follow()
	return c.out
}

// pass is one pass over the convoys.
type pass struct {
	convoys  []fleet.Convoy
	told     []string // who is told of a convoy that names nobody
	at       fleet.Instant
	trackers ledger.Trackers
	out      fleet.Follows
}

// follow follows the members of each convoy, and tells of one that is done, once
// each time.
func (c *pass) follow() {
	for _, was := range c.convoys {
		if was.State == fleet.ConvoyClosed {
			continue
		}
		v := was
		changed := c.look(&v)
		switch {
		case v.State == fleet.ConvoyOpen && isFull(v) && !c.isHidden(v):
			c.finish(&v)
		case v.State == fleet.ConvoyDone && slices.ContainsFunc(v.Members, isLeft):
			c.openAgain(&v)
		case v.State == fleet.ConvoyDone && c.at.Since(v.Since) > month:
			v.State, v.Since, v.Why = fleet.ConvoyClosed, c.at, "it was done a month ago"
		case !changed:
			continue
		}
		c.out.Records.Convoys = append(c.out.Records.Convoys, v)
	}
}

// look notes what the members are like now. What is not seen stays as it was last
// seen.
func (c *pass) look(v *fleet.Convoy) (changed bool) {
	for i := range v.Members {
		m := v.Members[i]
		s := c.trackers.Seen(m.Ref)
		is := fleet.ConvoyMember{Ref: m.Ref, Title: cmp.Or(s.Title, m.Title), State: s.State, Outcome: s.Outcome, SeenAt: m.SeenAt}
		if s.Why != "" || is == m {
			continue
		}
		if is.State != m.State || is.SeenAt.IsZero() {
			is.SeenAt = c.at
		}
		if !changed { // others share them
			v.Members, changed = slices.Clone(v.Members), true
		}
		v.Members[i] = is
	}
	return changed
}

// isFull says whether there are members, and all were closed when they were last seen.
func isFull(v fleet.Convoy) bool {
	return len(v.Members) > 0 && !slices.ContainsFunc(v.Members, isLeft)
}

// isHidden says whether the tracker of a member is not seen: nothing is done meanwhile,
// and that it is not is told. One that its tracker shows no more stays as it was.
func (c *pass) isHidden(v fleet.Convoy) bool {
	i := slices.IndexFunc(v.Members, func(m fleet.ConvoyMember) bool { return c.trackers.Seen(m.Ref).Blind })
	if i < 0 {
		return false
	}
	c.out.Hold(fleet.HeldMove{Move: fleet.Move{Record: fleet.Subject{Kind: fleet.KindConvoy, Name: v.ID}, From: string(v.State), To: string(fleet.ConvoyDone), Why: v.Title, Told: v.Notify},
		Guard: fleet.GuardEvidence, Held: string(v.Members[i].Ref) + ": " + c.trackers.Seen(v.Members[i].Ref).Why})
	return true
}

// isLeft says whether a member is not known to be closed.
func isLeft(m fleet.ConvoyMember) bool { return m.State != fleet.WorkClosed }

func (c *pass) finish(v *fleet.Convoy) {
	took := c.at.Since(v.Since)
	v.State, v.Since, v.Times = fleet.ConvoyDone, c.at, v.Times+1
	v.Why = fmt.Sprintf("all %d members are closed", len(v.Members))
	if v.Times == 1 {
		took = c.at.Since(v.At)
	}
	var body strings.Builder
	fmt.Fprintf(&body, "All %d members of convoy %s are closed, %s after it was %s: %s.\n", len(v.Members), ledger.Titled(fleet.Ref(v.ID), v.Title), took.Round(time.Second), sinceWhat(v), outcomes(v.Members))
	for _, m := range v.Members {
		fmt.Fprintf(&body, "- %s\n", strings.TrimSuffix(ledger.Titled(m.Ref, m.Title)+": "+m.Outcome, ": "))
	}
	c.tellConvoy(v, "done", "Convoy done: ", fleet.P3, body.String())
}

func sinceWhat(v *fleet.Convoy) string {
	if v.Times > 1 {
		return "opened again"
	}
	return "made"
}

// longestOutcome is in bytes: a tracker may have a whole sentence in its place.
const longestOutcome = 20

// outcomes counts how members ended: 3 completed, 1 wontfix.
func outcomes(members []fleet.ConvoyMember) string {
	count := map[string]int{}
	for _, m := range members {
		word := strings.ToLower(m.Outcome)
		if word == "" || len(word) > longestOutcome {
			word = "closed"
		}
		count[word]++
	}
	var words []string
	for _, o := range slices.Sorted(maps.Keys(count)) {
		words = append(words, fmt.Sprintf("%d %s", count[o], o))
	}
	return strings.Join(words, ", ")
}

func (c *pass) openAgain(v *fleet.Convoy) {
	var open []string
	for _, m := range v.Members {
		if isLeft(m) {
			open = append(open, ledger.Titled(m.Ref, m.Title))
		}
	}
	v.State, v.Since, v.Why = fleet.ConvoyOpen, c.at, fleet.Line("not closed: "+strings.Join(open, ", "), 300)
	c.tellConvoy(v, "again", "Convoy open again: ", fleet.P3, "Not closed any more, or added since:\n- "+strings.Join(open, "\n- ")+"\n")
}

// tellConvoy tells those that the convoy names, else those that are told of all,
// else people; once for each time that it was done.
func (c *pass) tellConvoy(v *fleet.Convoy, what, subject string, p fleet.Priority, body string) {
	to := v.Notify
	if len(to) == 0 {
		to = c.told
	}
	if len(to) == 0 {
		to = []string{fleet.Overseer}
	}
	c.out.Tell(ledger.News(fmt.Sprintf("convoy/%s/%s/%d", v.ID, what, v.Times), slices.Clone(to), fleet.Mail{Type: fleet.MailConvoy, Priority: p,
		Subject: subject + ledger.Titled(fleet.Ref(v.ID), v.Title), Body: body, About: v.ID}, c.at))
}
