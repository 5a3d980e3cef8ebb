package ledger

import (
	"encoding/json"
	"strings"
	"testing"

	"custos/internal/fleet"
)

func proposing() (fleet.Snapshot, fleet.Past) {
	var s fleet.Snapshot
	s.Agents.Value = []fleet.Agent{{Name: "builder", Owner: fleet.OwnerCustos}, {Name: "bob's", Owner: fleet.OwnerForeign}, {Name: "two words", Owner: fleet.OwnerCustos}}
	alert := func(n int64, status fleet.AlertStatus, summary string) fleet.Alert {
		return fleet.Alert{AlertKey: fleet.AlertKey{Rule: "disk-full"}, Number: n, Status: status, Summary: summary}
	}
	return s, fleet.Past{Alerts: []fleet.Alert{alert(3, fleet.AlertFiring, "/ is full token=hunter2hunter2hunter2"), alert(4, fleet.AlertResolved, "over"), alert(5, fleet.AlertPending, "not yet")}}
}

// TestProposals: what may be proposed is what can be said, to the letter, about what
// fires now and what is ours; and no secret goes to the judge.
func TestProposals(t *testing.T) {
	list := Proposals(proposing())
	var say []string
	for _, p := range list {
		say = append(say, p.Say)
		if _, ok := ParseReply(p.Say); !ok {
			t.Errorf("%q cannot be said", p.Say)
		}
	}
	if got, want := strings.Join(say, ", "), "status, stuck, help, freeze, thaw, ack 3, ignore 3, approve 3, deny 3, stop builder"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	data, schema := ProposalQuestion(fleet.Said{Text: "custos: the disk is my business, password=correcthorsebattery", About: "[P1] disk"}, list)
	if !json.Valid([]byte(data)) || strings.Contains(data, "hunter2") || strings.Contains(data, "correcthorse") || !strings.Contains(data, "the disk is my business") {
		t.Error(data)
	}
	var form struct {
		Properties struct{ Say struct{ Enum []string } }
	}
	if err := json.Unmarshal(schema, &form); err != nil || len(form.Properties.Say.Enum) != len(list)+1 {
		t.Errorf("%s, %v", schema, err)
	}
}

func TestReadProposal(t *testing.T) {
	list := Proposals(proposing())
	for text, want := range map[string]string{
		`{"say": "ack 3"}`:                   "ack 3",
		`{"say": "none"}`:                    "",
		`{"say": "ack 4"}`:                   "!",
		`{"say": "approve 3; rm -rf /"}`:     "!",
		`{"say": null}`:                      "!",
		`{}`:                                 "!",
		`{"say": "ack 3", "also": "x"}`:      "!",
		`{"say": "ack 3"} {"say": "freeze"}`: "!",
		`ack 3`:                              "!",
		``:                                   "!",
	} {
		p, ok, err := ReadProposal(text, list)
		got := p.Say
		if err != nil {
			got = "!"
		}
		if got != want || ok != (want != "" && want != "!") {
			t.Errorf("%s: %q, %v, %v; want %q", text, p.Say, ok, err, want)
		}
	}
}

// TestAddressed: only what is said to Custos may go to a judge.
func TestAddressed(t *testing.T) {
	for _, c := range []struct {
		said fleet.Said
		want bool
	}{
		{fleet.Said{Text: "custos, what about the disk?"}, true},
		{fleet.Said{Text: "@Custos: leave it"}, true},
		{fleet.Said{Text: "leave it", About: "[P1] disk-full: / is full"}, true},
		{fleet.Said{Text: "leave it", Thread: "$m1"}, true},
		{fleet.Said{Text: "did you see what custos said?"}, false},
		{fleet.Said{Text: "lunch?"}, false},
		{fleet.Said{Text: "custodian, come"}, false},
	} {
		if got := Addressed(c.said); got != c.want {
			t.Errorf("%+v: %v", c.said, got)
		}
	}
}
