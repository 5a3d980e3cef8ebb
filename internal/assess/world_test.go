package assess

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/rules"
	"custos/internal/scenario"
)

func start() fleet.Instant { return scenario.Start() }

func healthy(at fleet.Instant) fleet.Snapshot { return scenario.Healthy(at) }

func healthyAgent(name string) fleet.Agent { return scenario.HealthyAgent(name) }

func hours(n int) fleet.Leaf[fleet.Duration] { return minutes(60 * n) }

func minutes(n int) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(n) * fleet.Duration(time.Minute))
}

func crowd(n int) fleet.Snapshot {
	s := healthy(start())
	s.Agents.Value = nil
	for i := range n {
		s.Agents.Value = append(s.Agents.Value, healthyAgent(fmt.Sprintf("agent-%05d", i)))
	}
	return s
}

func builtin(t testing.TB) *rules.Set {
	t.Helper()
	return parse(t, string(rules.Builtin()))
}

func parse(t testing.TB, text string) *rules.Set {
	t.Helper()
	set, err := (rules.Checker{}).Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return set
}
