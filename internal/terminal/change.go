package terminal

import "slices"

// Change is what becomes of one picture in the next: its lines move up, it gets that many
// rows, and those in Set are written anew.
type Change struct {
	Up   int   `json:"up,omitempty"`
	Rows int   `json:"rows"`
	Set  []Row `json:"set,omitempty"`
}

// Row is a line and where it is, counted from 0.
type Row struct {
	At   int  `json:"at"`
	Line Line `json:"line"`
}

// Diff is a change that makes b of a.
func Diff(a, b []Line) Change {
	c := Change{Rows: len(b), Up: scrolled(a, b)}
	a = a[c.Up:]
	for i, l := range b {
		if i >= len(a) && len(l) == 0 {
			continue // a new row is empty
		}
		if i >= len(a) || !slices.Equal(a[i], l) {
			c.Set = append(c.Set, Row{i, l})
		}
	}
	return c
}

// Apply makes the change of a picture, which stays as it is.
func Apply(c Change, a []Line) []Line {
	out := make([]Line, c.Rows)
	copy(out, a[min(c.Up, len(a)):])
	for _, r := range c.Set {
		out[r.At] = r.Line
	}
	return out
}

// scrolled is by how many lines a picture has moved up when most of what stays is found
// there; else 0.
func scrolled(a, b []Line) int {
	best, most := 0, same(a, b)
	for up := 1; up < len(a); up++ {
		if len(a)-up <= most {
			break
		}
		if n := same(a[up:], b); n > most {
			best, most = up, n
		}
	}
	return best
}

// same is how many lines that show something are alike.
func same(a, b []Line) (n int) {
	for i := range min(len(a), len(b)) {
		if len(a[i]) > 0 && slices.Equal(a[i], b[i]) {
			n++
		}
	}
	return n
}
