package loop_test

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"

	"custos/internal/fleet"
)

// planEvery is how many passes there are for one whose plan was asked for before.
const planEvery = 3

// planned demands that a turn is what anybody was shown who asked for the plan on the
// same facts: its actions, and the rows that it leaves behind. News of results, which
// a look does not tell, comes last.
func (l *weekLife) planned(ctx context.Context, t fleet.Turn) {
	l.mu.Lock()
	rests, saw := l.past, l.seen
	l.mu.Unlock()
	if l.w.passes%planEvery > 0 || t.Patrol > 0 || isQuiet(t.Plan) {
		return // a look is no patrol, and quiet ones are most
	}
	p, err := l.loop.Look(ctx, time.Second, fleet.PatrolOrder{})
	l.mu.Lock()
	sees := l.seen
	l.mu.Unlock()
	if err != nil || saw.At != t.At || !reflect.DeepEqual(sees, saw) || !reflect.DeepEqual(p.Past, rests) {
		return // people were faster, or what a step does
	}
	is := t.Plan
	is.Records.Mails = is.Records.Mails[:min(len(is.Records.Mails), len(p.Plan.Records.Mails))]
	if d := cmp.Diff(shown(l, p.Plan), shown(l, is)); d != "" {
		l.w.t.Errorf("the turn is not what was shown:\n%.3000s", d)
	}
	l.w.asShown++
}

// holds notes what is thought about.
func (l *weekLife) holds(past fleet.Past, seen *fleet.Snapshot) {
	l.mu.Lock()
	l.seen = *seen
	l.mu.Unlock()
	seen.Holds = l.w.expressions(past, *seen)
}

// shown is a plan with its rows.
func shown(l *weekLife, p fleet.Plan) string {
	text, err := json.MarshalIndent(struct {
		Plan fleet.Plan
		Rows fleet.Changes
	}{p, p.Changes}, "", " ")
	if err != nil {
		l.w.t.Error(err)
	}
	return string(text)
}

// isQuiet says whether a plan does and changes nothing.
func isQuiet(p fleet.Plan) bool {
	return len(p.Actions)+len(p.Orders)+len(p.Failed)+len(p.Moves) == 0 && p.Changes.IsZero()
}
