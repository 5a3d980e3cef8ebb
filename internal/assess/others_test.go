package assess

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// convoys is a healthy world with so many convoys, of which each has a member that may
// be taken up. How many work on it is told by the third.
func convoys(at time.Duration, n int, taken func(i int) fleet.Leaf[int]) fleet.Snapshot {
	s := healthy(start().Add(at))
	like := s.Coordination.Value.Convoys[0]
	s.Coordination.Value.Convoys = nil
	for i := range n {
		like.ID, like.Ready, like.Taken = fmt.Sprintf("c%d", i+1), fleet.Known(1), taken(i)
		s.Coordination.Value.Convoys = append(s.Coordination.Value.Convoys, like)
	}
	return s
}

func nobody(int) fleet.Leaf[int] { return fleet.Known(0) }

// said lists the open and the ended alerts of a rule as "NAME status", in the order of the
// alerts.
func said(got fleet.Assessment, rule string) string {
	var all []string
	for _, a := range got.Alerts {
		if a.Rule == rule {
			text := a.Subject.Name + " " + string(a.Status)
			if a.Blind != "" {
				text += " held"
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// A few stranded convoys are told one by one; of two thousand the sixth and all that
// follow are one finding, which counts.
func TestTheSixthAndAllThatFollowAreOneFinding(t *testing.T) {
	set, past := builtin(t), fleet.Past{}
	const rule = "convoy-stranded"
	var got fleet.Assessment
	look := func(at time.Duration, n int, taken func(i int) fleet.Leaf[int], want string) {
		t.Helper()
		got = Assess(set, convoys(at, n, taken), past)
		past = after(past, got)
		if now := said(got, rule); now != want {
			t.Fatalf("after %s: %s, want %s", at, now, want)
		}
	}
	few := "c1 firing, c2 firing, c3 firing, c4 firing, c5 firing"
	look(0, 5, nobody, strings.ReplaceAll(few, "firing", "pending"))
	look(30*time.Minute, 5, nobody, few)
	look(31*time.Minute, 2000, nobody, few+", others pending")
	look(61*time.Minute, 2000, nobody, few+", others firing")
	var all []fleet.Finding
	for _, f := range got.Findings {
		if f.Rule == rule {
			all = append(all, f)
		}
	}
	last := all[len(all)-1]
	if len(all) != 6 || last.Subject.String() != "convoy/others" || !last.Firing || !last.Fresh || len(last.Evidence) == 0 ||
		last.Summary != "1995 more convoys, c6, c7, c8 and so on: Members of a convoy may be taken up, and no one has worked on any of it for half an hour. All of them: custos convoy list" {
		t.Errorf("%d findings, the last is %+v", len(all), last)
	}
	// Whoever is not stranded any more makes room for the next: it is told by itself then.
	look(62*time.Minute, 2000, func(i int) fleet.Leaf[int] { return fleet.Known(b2i(i == 1)) },
		"c1 firing, c2 resolved, c3 firing, c4 firing, c5 firing, c6 pending, others firing")
	// Who cannot be told may be one of the others still: only false ends the finding.
	look(63*time.Minute, 2000, func(i int) fleet.Leaf[int] {
		if i > 10 {
			return fleet.Unknown[int]("the forge is down")
		}
		return fleet.Known(b2i(i == 1 || i > 5))
	}, "c1 firing, c3 firing, c4 firing, c5 firing, c6 pending, others firing held")
	look(64*time.Minute, 6, func(i int) fleet.Leaf[int] { return fleet.Known(b2i(i == 1)) },
		"c1 firing, c3 firing, c4 firing, c5 firing, c6 pending, others resolved")
	look(65*time.Minute, 0, nobody, "c1 resolved, c3 resolved, c4 resolved, c5 resolved, c6 resolved")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// An acknowledgement, a silence and a part that is not seen are of the others what they
// are of any alert.
func TestTheOthersAreAnAlertLikeAny(t *testing.T) {
	set := builtin(t)
	past := after(fleet.Past{}, Assess(set, convoys(0, 9, nobody), fleet.Past{}))
	for i := range past.Alerts {
		past.Alerts[i].AckedBy = "ann"
	}
	others := fleet.Subject{Kind: fleet.KindConvoy, Name: "others"}
	past.Silences = []fleet.Silence{{Rule: "convoy-stranded", Subject: others, By: "bob", From: start(), Until: start().Add(time.Hour)}}
	got := Assess(set, convoys(30*time.Minute, 9, nobody), past)
	for _, a := range got.Alerts {
		if a.Rule == "convoy-stranded" && (a.AckedBy != "ann" || (a.SilencedBy == "bob") != (a.Subject == others) || a.Status != fleet.AlertFiring) {
			t.Errorf("%+v", a)
		}
	}
	blind := convoys(31*time.Minute, 9, nobody)
	blind.Coordination.Sight = fleet.Sight{Status: fleet.StatusUnknown, Why: "the ledger is locked"}
	if now := said(Assess(set, blind, after(past, got)), "convoy-stranded"); strings.Count(now, "firing held") != 6 {
		t.Errorf("blind, it is %s", now)
	}
}

// Whatever comes and goes: each convoy that is stranded is found, by itself or in the
// count, at most five by themselves, and none that is not.
func TestEachIsFoundOnce(t *testing.T) {
	set := builtin(t)
	rapid.Check(t, func(t *rapid.T) {
		past := fleet.Past{}
		for pass := range 12 {
			all := rapid.SliceOfN(rapid.SampledFrom([]fleet.Leaf[int]{fleet.Known(0), fleet.Known(0), fleet.Known(1), fleet.Unknown[int]("not seen")}), 5, 8).Draw(t, "convoys")
			stranded := 0
			for _, taken := range all {
				if n, ok := taken.Get(); ok && n == 0 {
					stranded++
				}
			}
			got := Assess(set, convoys(time.Duration(pass)*11*time.Minute, len(all), func(i int) fleet.Leaf[int] { return all[i] }), past)
			past = after(past, got)
			single, counted := 0, 0
			for _, f := range got.Findings {
				switch {
				case f.Rule != "convoy-stranded":
				case f.Subject.Name == fleet.Others:
					if _, err := fmt.Sscanf(f.Summary, "%d more", &counted); err != nil {
						t.Fatalf("%q: %v", f.Summary, err)
					}
				default:
					single++
				}
			}
			if single+counted != stranded || single > oneByOne {
				t.Fatalf("pass %d: %d by themselves and %d counted, of %d: %s", pass, single, counted, stranded, said(got, "convoy-stranded"))
			}
		}
	})
}

// BenchmarkAssessStranded is a pass that judges 2 000 convoys, on none of which anybody works.
func BenchmarkAssessStranded(b *testing.B) {
	set := builtin(b)
	past := after(fleet.Past{}, Assess(set, convoys(0, 2000, nobody), fleet.Past{}))
	past = after(past, Assess(set, convoys(30*time.Minute, 2000, nobody), past))
	snap := convoys(31*time.Minute, 2000, nobody)
	b.ReportAllocs()
	var got fleet.Assessment
	for b.Loop() {
		got = Assess(set, snap, past)
	}
	b.ReportMetric(float64(len(got.Findings)), "findings")
}
