package assess

import (
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// What an ended instance left may be another user's: it is not promised that a stop ends it.
func TestAStopIsNotSaidToEndWhatIsAnothers(t *testing.T) {
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	var snap fleet.Snapshot
	for _, name := range fleet.PartNames() {
		snap.Sight(name).Status = fleet.StatusOK
	}
	snap.Agents.Value = []fleet.Agent{{Name: "a", Registered: true, Owner: fleet.OwnerCustos, Left: []fleet.ProcessID{{PID: 9}}, LeftSays: "sleep (process 9)"}}
	for _, f := range Assess(set, snap, fleet.Past{NextAlert: 1}).Findings {
		if f.Rule == "agent-orphan-process" {
			if !strings.HasSuffix(f.Summary, "; custos stop a ends what of it this user may end") {
				t.Errorf("it says %q", f.Summary)
			}
			return
		}
	}
	t.Error("it is not found")
}
