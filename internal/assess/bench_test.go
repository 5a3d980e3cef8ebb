package assess

import (
	"fmt"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// fortyRules are 40 rules over agents, of the shape of the built-in ones.
func fortyRules(b *testing.B) *rules.Set {
	exprs := []string{
		`agent.state == 'crashed'`, `agent.state == 'zombie'`, `agent.state == 'stuck' && agent.dwell > duration('10m')`,
		`agent.state in ['waiting', 'dialog'] && agent.dwell > duration('5m')`, `agent.state == 'idle' && agent.dwell > duration('2h') && agent.attached == 0`,
		`agent.oneshot && agent.age > duration('3h') && agent.progress == 'none'`, `agent.rss > gib(4)`, `agent.rss > host.memory.total / 2`,
		`host.memory.available < mib(500) && agent.oneshot`, `agent.cpu > 95 && agent.state == 'idle'`,
	}
	var t strings.Builder
	for i := range 40 {
		fmt.Fprintf(&t, "[rule.r%d]\npriority='P3'\nover='agent'\nexpr=\"%s\"\n", i, exprs[i%len(exprs)])
	}
	return parse(b, t.String())
}

func BenchmarkAssess(b *testing.B) {
	for _, n := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("agents=%d", n), func(b *testing.B) {
			set, snap := fortyRules(b), crowd(n)
			b.ReportAllocs()
			for b.Loop() {
				Assess(set, snap, fleet.Past{})
			}
		})
	}
}

// BenchmarkAssessBlind is the worst case: hardly any rule can be answered.
func BenchmarkAssessBlind(b *testing.B) {
	set, snap := fortyRules(b), crowd(10_000)
	for i := range snap.Agents.Value {
		snap.Agents.Value[i].State = fleet.StateUnknown
	}
	b.ReportAllocs()
	for b.Loop() {
		Assess(set, snap, fleet.Past{})
	}
}
