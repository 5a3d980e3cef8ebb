package ledger

import (
	"time"

	"custos/internal/fleet"
)

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
