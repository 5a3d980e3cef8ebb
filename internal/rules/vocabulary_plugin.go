package rules

import "custos/internal/fleet"

func pluginWords() *structure {
	type T = fleet.PluginFacts
	return define("plugin", "One plugin: a folder with a plugin.md.",
		text("name", "its name", func(p *T) string { return p.Name }),
		text("source", "its file", func(p *T) string { return p.Source }),
		text("broken", "why it cannot be run; empty when it can", func(p *T) string { return p.Broken }),
		text("disabled", "why it is not run; empty when it is", func(p *T) string { return p.Disabled }),
		text("gate", "cooldown, cron, condition, event or manual", func(p *T) string { return p.Gate }),
		truth("notify", "whether each of its failures is to be told", func(p *T) bool { return p.Notify }),
		text("grade", "the priority of its failures: its severity, else P3", func(p *T) fleet.Priority { return p.Grade }),
		leafNumber("failures", "how many of its runs failed in a row, up to the newest", func(p *T) *fleet.Leaf[int] { return &p.Failures }),
		text("last", "the state of its newest run; empty when there was none", func(p *T) fleet.RunState { return p.Last }),
		text("why", "why it failed last, when it did", func(p *T) string { return p.Why }),
	)
}
