package view

import (
	"fmt"
	"time"

	"custos/internal/fleet"
)

// receiverFacts says whether messages arrive at a notifier.
func receiverFacts(r fleet.Receiver) (out []string) {
	if r.Barred != "" {
		out = append(out, "No message arrives there: "+r.Barred+".")
	}
	if r.Waiting > 0 {
		out = append(out, fmt.Sprintf("A message has waited for %s to be delivered, after %d tries: %s.", time.Duration(r.Waiting).Round(time.Second), r.Tries, r.Why))
	}
	if proof, known := r.Proof.Get(); known {
		return append(out, fmt.Sprintf("The last proof that messages arrive there is %s old.", time.Duration(proof).Round(time.Second)))
	}
	return append(out, "Nothing has shown yet that messages arrive there.")
}

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

func codeFacts(c fleet.CodeFacts) []string {
	changes, known := c.Changes.Get()
	out := []string{fmt.Sprintf("%d of its files are run as a person trusts them.", c.Trusted)}
	switch {
	case !known:
		out = append(out, "It is not known what its primary branch has: "+c.Changes.Why()+".")
	case changes != "":
		out = append(out, "Trusted by no person: "+changes+".", "What has changed: custos trust "+c.Dir+".")
	}
	if c.Loose != "" {
		out = append(out, "In the folder, and not in that commit (it is never run): "+c.Loose+".")
	}
	return out
}
