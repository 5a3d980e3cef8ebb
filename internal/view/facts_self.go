package view

import (
	"cmp"
	"fmt"

	"custos/internal/fleet"
)

func selfFacts(s *fleet.Snapshot) []string {
	if !s.Self.Usable() {
		return nil
	}
	v := s.Self.Value
	out := []string{
		"Last patrol ended: " + known(v.LastPatrolAge, func(d fleet.Duration) string { return LeafSpan(fleet.Known(d)) + " ago" }),
		"Journal writable: " + leafBool(v.JournalWritable),
		"Store writable: " + leafBool(v.StoreWritable) + ", " + leafSize(v.StoreBytes),
	}
	if is, known := v.Amnesia.Get(); !known {
		out = append(out, "Whether what was before is remembered: cannot tell ("+v.Amnesia.Why()+")")
	} else if is {
		out = append(out, "What was done before is lost, until a person confirms: "+v.Lost.Or(""))
	}
	if differs := v.MemoryDiffers.Or(""); differs != "" {
		out = append(out, "What was in memory was not what is written: "+differs)
	}
	if moved := v.Moved.Or(""); moved != "" {
		out = append(out, moved+" under Custos within the last day; what it held was written to a new file.")
	}
	if v.Config != "" {
		out = append(out, fleet.Line(v.Config, 400))
	}
	if v.Socket != "" {
		out = append(out, "The daemon's socket was replaced: "+fleet.Line(v.Socket, 200))
	}
	if v.ClockBehind.Or(false) {
		out = append(out, "The clock is behind the newest record: actions that depend on time are withheld.")
	}
	return out
}

func vaultFacts(v fleet.VaultItem) []string {
	out := []string{vaultLine(v), "file " + v.Path}
	if v.Digest != "" {
		out = append(out, "SHA-256 "+v.Digest)
	}
	if v.State == fleet.VaultPending {
		out = append(out, "A person's word to Custos moves it: "+leafBool(v.Movable))
	}
	return append(out, owner(v.Owner))
}

func landmarkFacts(l fleet.Landmark) []string {
	out := []string{fmt.Sprintf("%s for %s, mode %#o", cmp.Or(map[string]string{"dir": "folder"}[l.Is], l.Is), l.What, l.Mode), "Others get at it: " + leafBool(l.Open)}
	if wrong, known := l.Hooks.Get(); known && wrong != "" {
		out = append(out, "Its hooks: "+wrong)
	}
	return append(out, owner(l.Owner))
}
