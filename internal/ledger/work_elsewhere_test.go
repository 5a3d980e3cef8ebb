package ledger

import (
	"errors"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// elsewhere is a forge with an open issue of dev's and a closed one, and a tracker
// with a bead of dev's.
func elsewhere() fleet.Snapshot {
	var s fleet.Snapshot
	for _, name := range fleet.PartNames() {
		s.Sight(name).Status = fleet.StatusOK
	}
	s.Forge.Value.Issues = []fleet.Issue{
		{Name: "shop#12", Project: "shop", Number: 12, Owner: fleet.OwnerConfigured, Open: fleet.Known(true), Agent: "dev"},
		{Name: "shop#13", Project: "shop", Number: 13, Owner: fleet.OwnerConfigured, Open: fleet.Known(false)},
		{Name: "shop#14", Project: "shop", Number: 14, Owner: fleet.OwnerConfigured, Open: fleet.Unknown[bool]("it does not answer")},
	}
	s.Forge.Value.Pulls = []fleet.PullRequest{{Name: "shop!7", Project: "shop", Number: 7, Age: fleet.Known(fleet.Duration(1))}}
	s.Beads.Value = []fleet.Bead{{ID: "hq-a1", Project: "shop", State: fleet.WorkTaken, Assignee: "dev"}}
	return s
}

func TestMoveElsewhere(t *testing.T) {
	for _, c := range []struct{ ref, do, by, want string }{
		{"shop#12", "close", "ann", "close-issue"},
		{"shop#12", "close", "agent/dev", "close-issue"},
		{"shop#12", "reopen", "ann", ""},
		{"shop#13", "close", "ann", ""},
		{"shop#13", "reopen", "ann", "reopen-issue"},
		{"bd:hq-a1", "close", "agent/dev", "close-bead"},
		{"bd:hq-a1", "close", "ann", "close-bead"},
		{"bd:hq-a1", "reopen", "ann", ""},

		{"shop#12", "close", "agent/eve", "shop#12 is not eve's"},
		{"shop#12", "reopen", "agent/eve", "shop#12 is not eve's"},
		{"shop#13", "reopen", "agent/dev", "shop#13 is not dev's"},
		{"bd:hq-a1", "close", "agent/eve", "bd:hq-a1 is not eve's"},
		{"shop#13", "reopen", "agent/", "shop#13 is not 's"},
		{"shop#14", "close", "ann", "not seen now: it does not answer"},
		{"shop#99", "close", "ann", "not seen now: its tracker does not show it"},
		{"bd:hq-b2", "close", "ann", "not seen now"},
		{"shop!7", "close", "ann", "neither an issue nor a bead"},
		{"shop#7", "close", "ann", "shop#7 is a pull request"},
		{"jira-17", "close", "ann", "neither an issue nor a bead"},
		{"shop#12", "take", "ann", "only closes it and opens it again"},
	} {
		f, err := MoveElsewhere(fleet.Past{}, elsewhere(), fleet.Ref(c.ref), c.do, "why", c.by)
		name := strings.Join([]string{c.do, c.ref, "by", c.by}, " ")
		switch {
		case err != nil:
			if !errors.Is(err, ErrIllegal) || !strings.Contains(err.Error(), c.want) || c.want == "" {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		case f == nil:
			if c.want != "" {
				t.Errorf("%s: it is so already, want %q", name, c.want)
			}
		case len(f.Wishes) != 1 || f.Wishes[0].Do != c.want || f.Wishes[0].Text != "why" || !f.Wishes[0].Target.Owner().MayTouch() || !f.Firing || !f.Fresh:
			t.Errorf("%s: %+v, want %q", name, f, c.want)
		}
	}
}

// What is not seen is never moved, whoever asks.
func TestMoveElsewhereBlind(t *testing.T) {
	for _, ref := range []fleet.Ref{"shop#12", "shop#13", "bd:hq-a1"} {
		for _, do := range []string{"close", "reopen"} {
			s := elsewhere()
			s.Forge.Status, s.Beads.Status = fleet.StatusStale, fleet.StatusStale
			if f, err := MoveElsewhere(fleet.Past{}, s, ref, do, "", "ann"); !errors.Is(err, ErrIllegal) {
				t.Errorf("%s %s: %+v, %v", do, ref, f, err)
			}
		}
	}
}
