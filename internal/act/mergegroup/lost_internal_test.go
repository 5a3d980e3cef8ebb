package mergegroup

import (
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// A merge that git calls clean and that loses lines is held; it is merged once a person has
// accepted that, for this very commit. No attribute makes git lose any, so this is asked of
// the judgement alone.
func TestAMergeThatLosesLinesIsHeld(t *testing.T) {
	r := &building{job: &job{MergeTarget: fleet.MergeTarget{Queue: fleet.MergeQueue{Target: "main", Remote: "origin"}}}}
	m := git.Candidate{Commit: strings.Repeat("c", 40), Lost: []string{"keep\x1b[2Jme", "token = glpat-" + strings.Repeat("x", 20)}}
	i := &fleet.MergeItem{Head: fleet.Head{ID: "mq1"}, Source: "one", Commit: strings.Repeat("1", 40)}
	left, err := r.judge(t.Context(), i, m)
	if err != nil || left == nil || left.State != fleet.MergeHeld || !strings.HasPrefix(left.Why, fleet.MergeLoses) {
		t.Fatalf("%+v, %v", left, err)
	}
	if strings.Contains(left.Why, "\x1b") || strings.Contains(left.Why, "xxxx") {
		t.Errorf("it says %q", left.Why)
	}
	i.Accepted = strings.Repeat("2", 40) // another commit of it
	if left, _ := r.judge(t.Context(), i, m); left == nil || left.State != fleet.MergeHeld {
		t.Errorf("%+v", left)
	}
	i.Accepted = i.Commit
	if left, err := r.judge(t.Context(), i, m); left != nil || err != nil {
		t.Errorf("%+v, %v", left, err)
	}
}
