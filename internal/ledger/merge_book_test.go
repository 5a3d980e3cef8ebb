package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

var mergeNoon = fleet.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}

// mergeBook is the book of a queue with so many groups of a state, and a tree each.
func mergeBook(groups ...fleet.MergeGroup) *ledger.MergeBook {
	var past fleet.Past
	for n, g := range groups {
		g.ID, g.Queue, g.Gates, g.Since = fmt.Sprintf("mg%d", n+1), "q", "d", mergeNoon
		if g.Tree == "" {
			g.Tree = fmt.Sprintf("t%d", n)
		}
		past.Records.MergeGroups = append(past.Records.MergeGroups, g)
	}
	return ledger.NewMergeBook(fleet.MergeQueue{Name: "q", Digest: "d", Batch: 8}, past, mergeNoon)
}

func repeated(n int, g fleet.MergeGroup) (list []fleet.MergeGroup) {
	for range n {
		list = append(list, g)
	}
	return list
}

// The less is known of the gates, and the flakier they were, the more reds it takes.
func TestMergeConfirms(t *testing.T) {
	passed := fleet.MergeGroup{State: fleet.GroupLanded, Runs: 1, Items: make([]fleet.MergeMember, 8)}
	flaky := []fleet.MergeGroup{{State: fleet.GroupRed, Runs: 1, Reds: 1, Tree: "f"}, {State: fleet.GroupLanded, Runs: 1, Tree: "f"}}
	for _, c := range []struct {
		name      string
		groups    []fleet.MergeGroup
		one, many int
	}{
		{"nothing is known", nil, 4, 1},
		{"some passed", repeated(10, passed), 4, 1},
		{"many passed", repeated(60, passed), 2, 1},
		{"one of many was flaky", append(repeated(60, passed), flaky...), 4, 2},
		{"nothing but flakes", repeated(20, flaky[0]), 4, 1},
		{"always flaky", append(repeated(40, flaky[0]), flaky[1]), 12, 2},
	} {
		b := mergeBook(c.groups...)
		if one, many := b.Confirms(1), b.Confirms(8); one != c.one || many != c.many {
			t.Errorf("%s: %d reds blame one, and %d are believed of many; not %d and %d", c.name, one, many, c.one, c.many)
		}
	}
}

// Batches become smaller by what is more than chance, and not by a target that fails by itself.
func TestMergeBatch(t *testing.T) {
	landed := fleet.MergeGroup{State: fleet.GroupLanded, Base: "a", Commit: "b", Items: make([]fleet.MergeMember, 8)}
	red := fleet.MergeGroup{State: fleet.GroupRed, Base: "b", Items: make([]fleet.MergeMember, 1)}
	broken := fleet.MergeGroup{State: fleet.GroupRed, Base: "c"}
	onBroken := fleet.MergeGroup{State: fleet.GroupRed, Base: "c", Items: make([]fleet.MergeMember, 1)}
	for _, c := range []struct {
		name   string
		groups []fleet.MergeGroup
		batch  int
	}{
		{"nothing is known", nil, 8},
		{"one of 17", append(repeated(2, landed), red), 8},
		{"half of them", append(repeated(2, landed), repeated(16, red)...), 2},
		{"most of them", append(repeated(1, landed), repeated(60, red)...), 1},
		{"the target", append(append(repeated(2, landed), broken), repeated(16, onBroken)...), 8},
	} {
		if got := mergeBook(c.groups...).Batch(); got != c.batch {
			t.Errorf("%s: batches of %d, not %d", c.name, got, c.batch)
		}
	}
}

// What is read of a queue does not grow for ever, and what is yet to be cleared is in it.
func TestMergeBookIsBounded(t *testing.T) {
	over := fleet.MergeGroup{State: fleet.GroupLanded, Cleared: fleet.GroupClear}
	b := mergeBook(append([]fleet.MergeGroup{{State: fleet.GroupRed}}, repeated(1000, over)...)...)
	if len(b.Groups) != 201 || b.Groups[0].ID != "mg1" || b.Groups[200].ID != "mg1001" {
		t.Errorf("%d groups, from %s", len(b.Groups), b.Groups[0].ID)
	}
}
