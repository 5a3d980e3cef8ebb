package formula

import "slices"

// findCycle returns the ids along a cycle of needs, the first once more at the
// end, and where it begins; none when there is none.
func findCycle(steps []Step) (Place, []string) {
	w := &cycleWalk{at: map[string]int{}, state: make([]int, len(steps)), steps: steps}
	for i, s := range steps {
		if _, ok := w.at[s.ID]; !ok {
			w.at[s.ID] = i
		}
	}
	for i := range steps {
		if w.visit(i) {
			i := slices.Index(w.path, w.path[len(w.path)-1])
			cycle := w.path[i:]
			return steps[w.at[cycle[0]]].Places.of("needs"), cycle
		}
	}
	return Place{}, nil
}

type cycleWalk struct {
	steps []Step
	at    map[string]int
	state []int // 0 new, 1 on the path, 2 done
	path  []string
}

// visit goes along the needs; true leaves the cycle at the end of the path.
func (w *cycleWalk) visit(i int) bool {
	w.path = append(w.path, w.steps[i].ID)
	w.state[i] = 1
	for _, n := range w.steps[i].waits() {
		j, ok := w.at[n]
		if !ok || w.state[j] == 2 {
			continue
		}
		if w.state[j] == 1 {
			w.path = append(w.path, n)
			return true
		}
		if w.visit(j) {
			return true
		}
	}
	w.state[i] = 2
	w.path = w.path[:len(w.path)-1]
	return false
}
