package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/api"
	"custos/internal/fleet"
)

// hour is so many hours into the story that the book of these tests tells.
func hour(n int) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}.Add(time.Duration(n) * time.Hour)
}

func taken(work string, n int) fleet.Event {
	return fleet.Event{Kind: "work.taken", Subject: fleet.Subject{Kind: fleet.KindWork, Name: work}, At: hour(n)}
}

func cost(agent, model string, calls, money, unpriced int64) fleet.Cost {
	return fleet.Cost{Key: agent + fleet.CostKeyBreak + model, Calls: calls, Tokens: 10 * calls, Table: money, Unpriced: unpriced}
}

func closed(id, agent, outcome string, n int) fleet.WorkItem {
	return fleet.WorkItem{Head: fleet.Head{ID: id}, Agent: agent, State: fleet.WorkClosed, Outcome: outcome, Since: hour(n)}
}

func branch(id, agent, commit string, state fleet.MergeState) fleet.MergeItem {
	return fleet.MergeItem{Head: fleet.Head{ID: id}, Queue: "shop", Agent: agent, Commit: commit, State: state}
}

// group is a merge group that was tested on base: its members are ID@COMMIT.
func group(state fleet.MergeGroupState, base string, members ...string) fleet.MergeGroup {
	g := fleet.MergeGroup{Queue: "shop", Base: base, State: state}
	for _, m := range members {
		id, commit, _ := strings.Cut(m, "@")
		g.Items = append(g.Items, fleet.MergeMember{ID: id, Commit: commit})
	}
	return g
}

// storyBook has two builders of one kind, of whom one is called away, a person, and an agent that is on record no more.
func storyBook() CVBook {
	return CVBook{
		Agents: []fleet.Registration{
			{Name: "ann", Role: "builder", Kind: "claude", Project: "shop", CreatedAt: hour(-100)},
			{Name: "bob", Role: "builder", Kind: "codex", Desired: fleet.DesiredRetired, CreatedAt: hour(1)},
			{Name: "eve", Role: "scout", Kind: "claude", CreatedAt: hour(1)},
		},
		Records: fleet.Records{
			Work: []fleet.WorkItem{closed("w1", "ann", "completed", 3), closed("w2", "ann", "completed", 8), closed("w3", "ann", "wontfix", 9), {Head: fleet.Head{ID: "w4"}, Agent: "ann", State: fleet.WorkTaken},
				closed("w5", "bob", "completed", 5), closed("w6", "gone", "completed", 5), {Head: fleet.Head{ID: "w7"}, Agent: "ann", Person: true, State: fleet.WorkTaken}},
			Merges: []fleet.MergeItem{branch("mq1", "ann", "a", fleet.MergeMerged), branch("mq2", "ann", "b2", fleet.MergeMerged), branch("mq3", "bob", "c", fleet.MergeFailed), branch("mq4", "bob", "d", fleet.MergeConflict),
				branch("mq5", "bob", "e", fleet.MergeWithdrawn), branch("mq6", "ann", "f", fleet.MergeWaiting), branch("mq7", "ann", "g", fleet.MergeMerged), branch("mq8", "", "h", fleet.MergeMerged)},
			MergeGroups: []fleet.MergeGroup{
				group(fleet.GroupRed, "m0", "mq1@a", "mq2@b"), group(fleet.GroupLanded, "m0", "mq1@a"), group(fleet.GroupRed, "m1", "mq2@b"), group(fleet.GroupLanded, "m1", "mq2@b2"),
				group(fleet.GroupRed, "m2", "mq3@c"), group(fleet.GroupRed, "m2", "mq6@f"), group(fleet.GroupRed, "m2", "mq7@g"), group(fleet.GroupLanded, "m2", "mq7@g"),
			},
		},
		Costs:    []fleet.Cost{cost("ann", "opus", 10, 3_000_000, 0), cost("ann", "haiku", 90, 1_000_000, 0), cost("bob", "gpt", 5, 10, 2), cost("", "opus", 7, 9, 0), {Key: "(judge)", Calls: 3}},
		Failures: []fleet.Failure{{Agent: "ann", Verdict: "crashed"}, {Agent: "ann", Verdict: "given_up"}, {Agent: "bob", Verdict: "crashed"}},
		Taken:    []fleet.Event{taken("w1", 0), taken("w1", 2), taken("w2", 4), taken("w6", 3)},
		Started: []fleet.Event{{Subject: fleet.Subject{Name: "ann"}, At: hour(2)}, {Subject: fleet.Subject{Name: "ann"}, At: hour(3)}, {Subject: fleet.Subject{Name: "bob"}, At: hour(1)},
			{Subject: fleet.Subject{Name: "bob"}, At: hour(2)}, {Subject: fleet.Subject{Name: "bob"}, At: hour(0)}},
		Seen:     []fleet.AgentRecord{{Name: "ann", Moved: hour(7)}, {Name: "ann", Moved: hour(6)}, {Name: "eve"}},
		LogSince: hour(0),
	}
}

// cvSaid is a CV in its own words.
func cvSaid(v api.CV) string {
	return strings.Join([]string{v.Key, fmt.Sprint(v.Agents), v.WorkWords(), v.TookWords(), v.MergeWords(), v.FirstWords(), v.FailedWords(), v.CostWords(), v.PerMergeWords(), v.EndWords(), v.WorkedWords(hour(9).Wall)}, " | ")
}

// What is on record is said, and what is not is unknown and never 0: a target that is red blames nobody, nor does a
// gate that fails and then passes, nor a group of several.
func TestCVs(t *testing.T) {
	for by, want := range map[string][]string{
		"agent": {
			"ann | 1 | 2 closed as completed, 1 with another outcome, has 1; given back: unknown | 2h30m (median of 2) | 3 merged, 0 failed, 0 in conflict, 0 withdrawn, 1 waiting | 2 of 3 (67 %) | 1 of 3 (33 %) | $4.00, 100 responses, 1000 tokens | $1.33 | 1 deaths, 2 restarts | 2h ago",
			"bob | 1 | 1 closed as completed, 0 with another outcome, has 0; given back: unknown | unknown | 0 merged, 1 failed, 1 in conflict, 1 withdrawn, 0 waiting | 0 of 1 (0 %) | 1 of 1 (100 %) | $0.00001 and 2 of unknown price, 5 responses, 50 tokens | unknown | 1 deaths, 1 restarts | unknown",
			"eve | 1 | 0 closed as completed, 0 with another outcome, has 0; given back: unknown | unknown | 0 merged, 0 failed, 0 in conflict, 0 withdrawn, 0 waiting | unknown | unknown | unknown | unknown | 0 deaths, 0 restarts | unknown",
			"gone | 1 | 1 closed as completed, 0 with another outcome, has 0; given back: unknown | 2h (median of 1) | 0 merged, 0 failed, 0 in conflict, 0 withdrawn, 0 waiting | unknown | unknown | unknown | unknown | unknown deaths, unknown restarts | unknown",
		},
		"role": {
			"builder | 2 | 3 closed as completed, 1 with another outcome, has 1; given back: unknown | 2h30m (median of 2) | 3 merged, 1 failed, 1 in conflict, 1 withdrawn, 1 waiting | 2 of 4 (50 %) | 2 of 4 (50 %) | $4.00 and 2 of unknown price, 105 responses, 1050 tokens | unknown | 2 deaths, 3 restarts | 2h ago",
			"scout | 1 | 0 closed as completed, 0 with another outcome, has 0; given back: unknown | unknown | 0 merged, 0 failed, 0 in conflict, 0 withdrawn, 0 waiting | unknown | unknown | unknown | unknown | 0 deaths, 0 restarts | unknown",
			"unknown | 1 | 1 closed as completed, 0 with another outcome, has 0; given back: unknown | 2h (median of 1) | 0 merged, 0 failed, 0 in conflict, 0 withdrawn, 0 waiting | unknown | unknown | unknown | unknown | unknown deaths, unknown restarts | unknown",
		},
	} {
		var got []string
		for _, v := range storyBook().CVs(by) {
			got = append(got, cvSaid(v))
		}
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("by %s:\n%s\nwant\n%s", by, g, w)
		}
	}
	var keys []string
	for _, v := range storyBook().CVs("model") {
		keys = append(keys, fmt.Sprintf("%s %d", v.Key, v.Agents))
	}
	if got := strings.Join(keys, ", "); got != "gpt 1, haiku 1, unknown 2" {
		t.Errorf("by model: %s", got)
	}
}

// Where no branch of anybody is on record, there may be no queue at all: that is not 0.
func TestCVWithoutQueue(t *testing.T) {
	b := storyBook()
	b.Records.Merges, b.Records.MergeGroups = nil, nil
	for _, v := range append(b.CVs("agent"), b.CVs("role")...) {
		if v.MergeWords()+v.FirstWords()+v.FailedWords()+v.PerMergeWords() != "unknownunknownunknownunknown" {
			t.Errorf("%s", cvSaid(v))
		}
	}
	if b.Records.Work = nil; !b.IsEmpty() {
		t.Error("there is something on record of nothing")
	}
}

// What merged while nobody saw its agent's models cost is not taken for free.
func TestCVWithoutUsageIsNotFree(t *testing.T) {
	b := storyBook()
	b.Records.Merges = append(b.Records.Merges, branch("mq9", "eve", "x", fleet.MergeMerged))
	for _, v := range b.CVs("kind") {
		if v.Key == "claude" && v.PerMerge != nil {
			t.Errorf("a merge cost %v, though nobody knows what those of eve did", *v.PerMerge)
		}
	}
	if m := b.CVs("agent")[2]; m.Merges.Merged != 1 || m.FirstWords() != "unknown" {
		t.Errorf("of a branch without a verdict on record: %s", cvSaid(m))
	}
}

// However it is added up, nothing is lost or counted twice.
func TestCVsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := storyBook()
		b.Records.Work, b.Records.Merges = nil, nil
		names := rapid.SampledFrom([]string{"ann", "bob", "eve", "gone", "other"})
		for i := range rapid.IntRange(0, 20).Draw(t, "works") {
			b.Records.Work = append(b.Records.Work, closed(fmt.Sprintf("w%d", i+1), names.Draw(t, "agent"), rapid.SampledFrom([]string{"completed", "wontfix"}).Draw(t, "outcome"), i))
		}
		for i := range rapid.IntRange(0, 20).Draw(t, "merges") {
			b.Records.Merges = append(b.Records.Merges, branch(fmt.Sprintf("mq%d", i+1), names.Draw(t, "author"), "a", rapid.SampledFrom([]fleet.MergeState{fleet.MergeMerged, fleet.MergeFailed, fleet.MergeConflict}).Draw(t, "state")))
		}
		for _, by := range CVBys() {
			works, merges := 0, 0
			for _, v := range b.CVs(by) {
				works += v.Completed + v.Otherwise + v.Has
				if m := v.Merges; m != nil {
					merges += m.Waiting + m.Merged + m.Failed + m.Conflict + m.Withdrawn
					if m.First+m.FailedAt > m.Tested || m.First > m.Merged {
						t.Fatalf("by %s: %+v", by, *m)
					}
				}
			}
			if works != len(b.Records.Work) || merges != len(b.Records.Merges) {
				t.Fatalf("by %s: %d works and %d branches of %d and %d", by, works, merges, len(b.Records.Work), len(b.Records.Merges))
			}
		}
	})
}

// A group of several that fails blames none of them, though the branch then moves on.
func TestCVBlamesNobodyForAGroup(t *testing.T) {
	b := CVBook{Records: fleet.Records{Merges: []fleet.MergeItem{branch("mq1", "ann", "b", fleet.MergeMerged)},
		MergeGroups: []fleet.MergeGroup{group(fleet.GroupRed, "m0", "mq1@a", "mq2@x"), group(fleet.GroupLanded, "m1", "mq1@b")}}}
	if v := b.CVs("agent")[0]; v.FailedWords() != "0 of 1 (0 %)" {
		t.Errorf("%s", cvSaid(v))
	}
}

// Where the target fails without a branch, too, the branch is not what failed.
func TestCVBlamesNobodyForARedTarget(t *testing.T) {
	for red, want := range map[bool]string{true: "0 of 1 (0 %)", false: "1 of 1 (100 %)"} {
		b := CVBook{Records: fleet.Records{Merges: []fleet.MergeItem{branch("mq1", "ann", "b", fleet.MergeMerged)},
			MergeGroups: []fleet.MergeGroup{group(fleet.GroupRed, "m0", "mq1@a"), group(fleet.GroupLanded, "m1", "mq1@b")}}}
		if red {
			b.Records.MergeGroups = append(b.Records.MergeGroups, group(fleet.GroupRed, "m0"))
		}
		if v := b.CVs("agent")[0]; v.FailedWords() != want || v.FirstWords() != "0 of 1 (0 %)" {
			t.Errorf("the target is red %t: %s", red, cvSaid(v))
		}
	}
}
