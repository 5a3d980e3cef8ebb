package follow

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// ordinaryPulse is how far apart two passes are while nothing happens.
const ordinaryPulse = 15 * time.Second

// BenchmarkRecords is what a pass does with the records of a busy month: 20 000 mails
// that nobody has read, five a minute, 5 000 gates of every kind and 2 000 convoys of five members
// each, of which nothing changed. Told as the part of a core that it takes at the
// ordinary pulse.
func BenchmarkRecords(b *testing.B) {
	for name, n := range map[string]struct{ mails, gates, convoys int }{
		"mails=20000,gates=5000,convoys=2000": {20_000, 5_000, 2_000}, "convoys=2000": {0, 0, 2_000}, "gates=5000,mails=20000": {20_000, 5_000, 0}, "mails=20000": {20_000, 0, 0},
	} {
		b.Run(name, func(b *testing.B) {
			past, snap := busyMonth(n.mails, n.gates, n.convoys)
			b.ReportAllocs()
			before := ownCPU(b)
			for b.Loop() {
				snap.Coordination = ledger.Facts(past, snap)
				if out := coordinate(fleet.Pass{Past: past, Snapshot: snap}); !out.Records.IsZero() || len(out.Given) > 0 {
					b.Fatalf("something changed: %d mails, %d gates, %d convoys", len(out.Records.Mails), len(out.Records.Gates), len(out.Records.Convoys))
				}
			}
			pass := (ownCPU(b) - before) / time.Duration(b.N)
			b.ReportMetric(float64(pass.Microseconds())/1000, "ms-of-CPU")
			b.ReportMetric(100*float64(pass)/float64(ordinaryPulse), "%-of-a-core")
		})
	}
}

// ownCPU is what this process has used: of other work on the machine nothing is in it.
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// busyMonth is a fleet of 200 agents with so much on record, all of it settled: a pass
// changes nothing.
func busyMonth(mails, gates, convoys int) (past fleet.Past, snap fleet.Snapshot) {
	snap.At = fleet.Instant{Wall: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Up: fleet.Duration(1000 * time.Hour), Boot: "b"}
	seen := fleet.Sight{Status: fleet.StatusOK, At: snap.At}
	snap.Agents.Sight, snap.Forge.Sight, snap.CI.Sight, snap.Checks.Sight, snap.Beads.Sight = seen, seen, seen, seen, seen
	for i := range 200 {
		name := fmt.Sprintf("agent-%03d", i)
		snap.Agents.Value = append(snap.Agents.Value, fleet.Agent{Name: name, State: fleet.StateWorking, Process: fleet.ProcessID{PID: 100 + i}})
		past.Registrations = append(past.Registrations, fleet.Registration{Name: name, Desired: fleet.DesiredRunning, Owner: fleet.OwnerCustos})
	}
	ago := snap.At.Add(-time.Minute)
	for i := range mails {
		to := fmt.Sprintf("agent-%03d", i%200)
		past.Records.Mails = append(past.Records.Mails, fleet.Mail{Head: fleet.Head{ID: fmt.Sprintf("m%d", i+1), Revision: 2}, From: fleet.ByAgent(fmt.Sprintf("agent-%03d", (i+1)%200)),
			To: []string{to}, Priority: fleet.P3, Subject: fmt.Sprintf("what became of %d", i), Body: "It is done.", At: snap.At.Add(-time.Duration(mails-i) * time.Minute / 5), Sorted: true,
			Copies: []fleet.MailCopy{{To: to, State: fleet.CopyUnread, Since: ago, Told: 5, ToldAt: ago}}})
	}
	for i := range gates {
		past.Records.Gates = append(past.Records.Gates, settledGate(i, ago, &snap))
	}
	for i := range convoys {
		v := fleet.Convoy{Head: fleet.Head{ID: fmt.Sprintf("c%d", i+1), Revision: 1}, Title: fmt.Sprint("convoy ", i), State: fleet.ConvoyOpen, At: ago, Since: ago}
		for m := range 5 {
			w := fleet.WorkItem{Head: fleet.Head{ID: fmt.Sprintf("w%d", 5*i+m+1), Revision: 1}, Title: "work", State: fleet.WorkTaken, Agent: fmt.Sprintf("agent-%03d", m), At: ago, Since: ago}
			past.Records.Work = append(past.Records.Work, w)
			v.Members = append(v.Members, fleet.ConvoyMember{Ref: w.Ref(), Title: w.Title, State: w.State, SeenAt: ago})
		}
		past.Records.Convoys = append(past.Records.Convoys, v)
	}
	return past, snap
}

// settledGate is one gate of the kinds that there are, which waits and is seen to.
func settledGate(i int, at fleet.Instant, snap *fleet.Snapshot) fleet.Gate {
	g := fleet.Gate{Head: fleet.Head{ID: fmt.Sprintf("g%d", i+1), Revision: 1}, Title: "a gate", State: fleet.GateOpen, At: at, By: "ann"}
	switch i % 5 {
	case 0:
		g.Type, g.Until = fleet.GateTimer, snap.At.Add(time.Hour)
	case 1:
		g.Type, g.From, g.Subject = fleet.GateMail, "nobody", "never"
	case 2:
		g.Type, g.When = fleet.GateCondition, "false"
		snap.Holds = append(snap.Holds, fleet.GateCheck{Gate: g.ID, Holds: fleet.Known(false)})
	case 3:
		g.Type, g.Run = fleet.GateRun, fmt.Sprintf("ci/p#%d", i)
		snap.CI.Value.Pipelines = append(snap.CI.Value.Pipelines, fleet.Pipeline{Name: g.Run, State: fleet.Known("running")})
	case 4:
		g.Type = fleet.GateHuman
	}
	return g
}
