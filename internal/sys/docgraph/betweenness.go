package docgraph

import "context"

// maxWork is how many nodes and edges betweenness may touch: about half a second.
const maxWork = 50_000_000

// betweenness returns, for each node, the share of all shortest ways between two
// others that lead through it, from 0 to 1 (Brandes 2001; sampled as Brandes and
// Pich 2007), and how many starts were looked at. A graph that would take more than
// work is sampled, from starts spread evenly. It fails when ctx ends.
func betweenness(ctx context.Context, next [][]int, work int) (score []float64, starts int, err error) {
	n, size := len(next), len(next)
	for _, list := range next {
		size += len(list)
	}
	score = make([]float64, n)
	if n < 3 {
		return score, n, nil
	}
	starts = min(n, max(16, work/size))
	b := newBrandes(next)
	for k := range starts {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		b.from(k*n/starts, score)
	}
	scale := float64(n) / float64(starts) / (float64(n-1) * float64(n-2))
	for i := range score {
		score[i] *= scale
	}
	return score, starts, nil
}

type brandes struct {
	next  [][]int
	order []int     // nodes as they were reached
	dist  []int     // from 1; 0 is not reached
	ways  []float64 // shortest ones from the start
	share []float64
}

func newBrandes(next [][]int) *brandes {
	n := len(next)
	return &brandes{next: next, dist: make([]int, n), ways: make([]float64, n), share: make([]float64, n)}
}

// from adds what the shortest ways from s give to each node.
func (b *brandes) from(s int, score []float64) {
	b.order = append(b.order[:0], s)
	b.dist[s], b.ways[s] = 1, 1
	for at := 0; at < len(b.order); at++ {
		v := b.order[at]
		for _, w := range b.next[v] {
			if b.dist[w] == 0 {
				b.dist[w] = b.dist[v] + 1
				b.order = append(b.order, w)
			}
			if b.dist[w] == b.dist[v]+1 {
				b.ways[w] += b.ways[v]
			}
		}
	}
	for at := len(b.order) - 1; at >= 0; at-- {
		v := b.order[at]
		for _, w := range b.next[v] {
			if b.dist[w] == b.dist[v]+1 {
				b.share[v] += b.ways[v] / b.ways[w] * (1 + b.share[w])
			}
		}
		if v != s {
			score[v] += b.share[v]
		}
	}
	for _, v := range b.order {
		b.dist[v], b.ways[v], b.share[v] = 0, 0, 0
	}
}
