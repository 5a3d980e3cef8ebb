package follow

import (
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func at(d time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC).Add(d), Up: fleet.Duration(time.Hour + d), Boot: "b"}
}

func want(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "cannot ") {
		t.Errorf("%q does not say what cannot be done", err)
	}
}

func timerGate(d time.Duration) fleet.Gate { return fleet.Gate{Type: fleet.GateTimer, Until: at(d)} }

func eventGate(on string) fleet.Gate { return fleet.Gate{Type: fleet.GateEvent, On: on} }

func runGate() fleet.Gate { return fleet.Gate{Type: fleet.GateRun, Run: "wp/shop#40"} }

func pullGate() fleet.Gate { return fleet.Gate{Type: fleet.GatePull, Of: "shop!7"} }

func mailGate() fleet.Gate {
	return fleet.Gate{Type: fleet.GateMail, From: "reviewer", To: "builder", Subject: "review"}
}

func whenGate() fleet.Gate { return fleet.Gate{Type: fleet.GateCondition, When: "host.cpus > 1"} }

func commandGate() fleet.Gate {
	return fleet.Gate{Type: fleet.GateCondition, Check: []string{"/bin/true"}}
}

// month is how long what is done with is kept.
const month = 30 * 24 * time.Hour
