package upgrade

import (
	"cmp"
	"fmt"

	"custos/internal/fleet"
)

// Lines are a report in words, and what to do next.
func (r Report) Lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case r.Done && r.Daemon == "":
		add("Upgraded from %s to %s. No daemon runs: custos up", r.Version, r.To)
	case r.Done:
		add("Upgraded from %s to %s; the daemon is well, and every agent runs on.", r.Version, r.To)
	case r.To == r.Version:
		add("Nothing to do: this is %s.", r.Version)
	case r.To != "":
		add("Would upgrade from %s to %s, %s:", r.Version, r.To, map[bool]string{true: "signed by the key", false: "which nobody vouches for"}[r.Signed])
		for _, s := range r.Plan {
			add("  %s", s.Do)
			for _, c := range s.Commands {
				add("    %s", fleet.Line(c, 400))
			}
		}
	default:
		add("custos %s in %s; daemon: %s", r.Version, fleet.Path(r.Dir), cmp.Or(fleet.Line(r.Daemon, 60), "none"))
		for _, b := range r.Backups {
			add("backup of the ledger: %s", fleet.Path(b))
		}
		if r.Owner != "" {
			add("%s has put it there, and exchanges it", r.Owner)
		}
	}
	if r.To != "" && r.To != r.Version {
		for _, pid := range r.Others {
			add("Process %d, another daemon of these programs, goes on as it is; its user has it begin anew: custos down && custos up", pid)
		}
	}
	return append(out, r.last()...)
}

// last is how the last upgrade ended, where it did not end well.
func (r Report) last() []string {
	switch {
	case r.Open != "":
		return []string{r.Open + ": custos upgrade --settle"}
	case r.Last == nil || r.Done || r.Last.Phase == Done:
		return nil
	}
	how := string(r.Last.Phase)
	if r.Last.Phase == CutOff && r.Last.Why != "" {
		how = "refused"
	}
	return []string{fmt.Sprintf("The last upgrade, from %s to %s: %s. %s", fleet.Line(r.Last.From, 60), fleet.Line(r.Last.To, 60), how, fleet.Line(r.Last.Why, 400))}
}
