package server

import (
	"fmt"

	"custos/internal/fleet"
)

// pluginFacts says what is seen of a plugin.
func pluginFacts(p fleet.PluginFacts) []string {
	out := []string{"Its file: " + p.Source + "."}
	switch {
	case p.Broken != "":
		out = append(out, "It cannot be run: "+p.Broken+".")
	case p.Disabled != "":
		out = append(out, "It is not run: "+p.Disabled+".")
	default:
		out = append(out, fmt.Sprintf("Its gate is of type %s.", p.Gate))
	}
	if p.Last != "" {
		out = append(out, "Its newest run: "+string(p.Last)+".")
	}
	if n, known := p.Failures.Get(); known && n > 0 {
		out = append(out, fmt.Sprintf("It failed %d times in a row: %s.", n, p.Why))
	}
	return out
}
