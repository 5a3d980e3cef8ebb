package formula

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// Wave is a set of steps that may run side by side: all they need is in waves
// before it.
type Wave []Step

// Waves sorts the steps of a formula by their needs, each wave in the order of
// the file. Steps of a cycle, and those behind one, are in no wave. It takes a
// rendered formula; of any other it takes the steps as they were written.
func Waves(f Formula) []Wave {
	steps := flat(f.Steps)
	at := map[string]int{}
	for i, s := range steps {
		at[s.ID] = i
	}
	missing, after := make([]int, len(steps)), make([][]int, len(steps))
	for i, s := range steps {
		for _, n := range s.waits() {
			if j, ok := at[n]; ok {
				missing[i]++
				after[j] = append(after[j], i)
			}
		}
	}
	return sortWaves(steps, missing, after)
}

// sortWaves takes how many needs each step still misses, and who comes after it.
func sortWaves(steps []Step, missing []int, after [][]int) (waves []Wave) {
	var ready []int
	for i, n := range missing {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		slices.Sort(ready)
		var wave Wave
		var next []int
		for _, i := range ready {
			wave = append(wave, steps[i])
			for _, j := range after[i] {
				if missing[j]--; missing[j] == 0 {
					next = append(next, j)
				}
			}
		}
		waves, ready = append(waves, wave), next
	}
	return waves
}

// Text draws the steps wave by wave: what does it, what it needs, and whether
// nothing needs it (a leaf, which runs all the same).
func Text(f Formula) string {
	var b strings.Builder
	needed := map[string]bool{}
	for _, s := range flat(f.Steps) {
		for _, n := range s.waits() {
			needed[n] = true
		}
	}
	for i, wave := range Waves(f) {
		fmt.Fprintf(&b, "%d\n", i+1)
		for j, s := range wave {
			fmt.Fprintf(&b, "%s %s%s\n", branch(j, len(wave)), fleet.Line(s.ID, 128), about(s, needed))
		}
	}
	return b.String()
}

func branch(i, n int) string {
	if i == n-1 {
		return "└─"
	}
	return "├─"
}

func about(s Step, needed map[string]bool) string {
	var b strings.Builder
	if s.Title != "" {
		b.WriteString("  " + fleet.Line(s.Title, 60))
	}
	b.WriteString("  [" + by(s) + "]")
	if needs := s.waits(); len(needs) > 0 {
		b.WriteString("  ← " + fleet.Line(strings.Join(needs, ", "), 400))
	}
	if !needed[s.ID] {
		b.WriteString("  (leaf)")
	}
	return b.String()
}

// by says who does a step.
func by(s Step) string {
	switch {
	case s.Run != nil:
		return "run"
	case s.Uses != "":
		return "uses " + fleet.Line(s.Uses, 64)
	}
	return "agent"
}

// DOT writes the steps as a graph for Graphviz, an arrow from each step to
// those that need it.
func DOT(f Formula) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=LR;\n  node [shape=box];\n", quoted(f.Name))
	steps := flat(f.Steps)
	for _, s := range steps {
		fmt.Fprintf(&b, "  %s [label=%s, style=%s];\n", quoted(s.ID), quoted(label(s)), style(s))
	}
	for _, s := range steps {
		for _, n := range s.waits() {
			fmt.Fprintf(&b, "  %s -> %s;\n", quoted(n), quoted(s.ID))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func style(s Step) string {
	if s.Prose() {
		return "rounded"
	}
	return "solid"
}

func label(s Step) string {
	return s.ID + "\n" + fleet.Line(s.Title, 60) + "\n" + by(s)
}

// quoted is a quoted name of Graphviz.
func quoted(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(fleet.Text(s))
	return `"` + s + `"`
}
