package rules

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

// Truth is the answer of a rule.
type Truth int

// The answers. The zero Truth is no answer.
const (
	Unknown Truth = iota // a value it needs was not seen
	True
	False
	Broken // the expression failed while it ran
)

// Test answers the rule for the view's subject. Why is set for Unknown and Broken.
func (r *Rule) Test(v *View) (answer Truth, why string) { return r.expr.truth(v) }

// Summarize words the finding. ok is false when a value the summary needs was
// not seen or it failed while it ran; the text is then a plain substitute.
func (r *Rule) Summarize(v *View) (text string, broken string) {
	val, why, is := r.summary.eval(v)
	switch is {
	case True:
		if s, ok := val.(types.String); ok {
			return fleet.Line(string(s), 300), ""
		}
	case Broken:
		broken = why
	}
	return r.Wordless(), broken
}

// Wordless is what Summarize says in place of a summary.
func (r *Rule) Wordless() string { return r.Name + " (details not known)" }

// Evidence lists the values the rule reads, as they are now: at most 12, in the
// order they are written.
func (r *Rule) Evidence(v *View) []fleet.Evidence {
	out := make([]fleet.Evidence, 0, len(r.leaves))
	for _, l := range r.leaves {
		val, why, is := l.expr.eval(v)
		switch is {
		case True:
			out = append(out, fleet.Evidence{Expr: l.path, Value: show(val, l.unit)})
		case Unknown:
			out = append(out, fleet.Evidence{Expr: l.path, Value: "unknown: " + why})
		}
	}
	return out
}

// Wants answers the action's `where` for the view's target; true without one.
func (a *Action) Wants(v *View) (answer Truth, why string) {
	if a.where == nil {
		return True, ""
	}
	return a.where.truth(v)
}

// Rank returns what the action orders its targets by. Compare orders two ranks.
func (a *Action) Rank(v *View) Rank {
	if a.order == nil {
		return Rank{}
	}
	val, _, is := a.order.eval(v)
	if is != True {
		return Rank{}
	}
	return Rank{val, a.descending}
}

// Rank is a value to order by; what is not known comes last.
type Rank struct {
	val        ref.Val
	descending bool
}

// Compare is negative when r comes before o.
func (r Rank) Compare(o Rank) int {
	if r.val == nil || o.val == nil {
		return boolInt(r.val == nil) - boolInt(o.val == nil)
	}
	c, ok := r.val.(interface{ Compare(ref.Val) ref.Val })
	if !ok {
		return 0
	}
	n, ok := c.Compare(o.val).(types.Int)
	if !ok {
		return 0
	}
	if r.descending {
		return -int(n)
	}
	return int(n)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (e *expression) truth(v *View) (Truth, string) {
	val, why, is := e.eval(v)
	if is != True {
		return is, why
	}
	if val == types.True {
		return True, ""
	}
	return False, ""
}

// eval runs an expression: True with a value, Unknown or Broken with a reason.
func (e *expression) eval(v *View) (ref.Val, string, Truth) {
	val, _, err := e.program.Eval(v)
	if u, ok := val.(*types.Unknown); ok {
		return nil, whyUnknown(u), Unknown
	}
	if err != nil {
		return nil, fleet.Line(err.Error(), 300), Broken
	}
	return val, "", True
}

// whyUnknown lists what was not known, sorted, each once.
func whyUnknown(u *types.Unknown) string {
	var all []string
	seen := map[string]bool{}
	for _, id := range u.IDs() {
		trails, _ := u.GetAttributeTrails(id)
		for _, t := range trails {
			if s := t.String(); !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	sort.Strings(all)
	return fleet.Line(strings.Join(all, "; "), 300)
}

// show writes a value for people.
func show(v ref.Val, u unit) string {
	switch x := v.(type) {
	case types.Int:
		if u == bytes {
			return bytesText(int64(x))
		}
	case types.Double:
		if u == percent {
			return percentText(float64(x))
		}
		return strconv.FormatFloat(float64(x), 'g', 5, 64)
	case types.Duration:
		return durationText(x.Duration)
	case types.String:
		return fleet.Line(strconv.Quote(string(x)), 200)
	}
	return showAny(v)
}

func showAny(v ref.Val) string {
	l, ok := v.(interface {
		Size() ref.Val
		Get(ref.Val) ref.Val
	})
	n, isInt := types.Int(0), false
	if ok {
		n, isInt = l.Size().(types.Int)
	}
	if !isInt {
		return fleet.Line(fmt.Sprint(v.Value()), 200)
	}
	var items []string
	for i := types.Int(0); i < n && i < 8; i++ {
		items = append(items, fmt.Sprint(l.Get(i).Value()))
	}
	if n > 8 {
		items = append(items, "…")
	}
	return fleet.Line("["+strings.Join(items, ", ")+"]", 200)
}
