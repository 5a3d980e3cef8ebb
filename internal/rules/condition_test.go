package rules

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

func TestCondition(t *testing.T) {
	snap := &fleet.Snapshot{}
	snap.Agents.Status = fleet.StatusOK
	for source, want := range map[string]Truth{
		"agents.size() == 0":                   True,
		"agents.exists(a, a.state == 'stuck')": False,
		"repos.size() == 0":                    Unknown, // nobody looked at them
		"host.memory.available < size('1GiB')": Unknown,
	} {
		c, err := CompileCondition(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, why := c.Test(NewView(snap, true)); got != want {
			t.Errorf("%s is %v (%s), want %v", source, got, why, want)
		}
	}
	for source, want := range map[string]string{
		"agnets.size() == 0": "agents",
		"agents.size()":      "it gives a int",
		"agent.state == 'x'": "undeclared reference",
		"1 +":                "Syntax error",
	} {
		if _, err := CompileCondition(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}
