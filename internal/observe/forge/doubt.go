package forge

import (
	"context"
	"fmt"

	"custos/internal/sys/forge"
)

// doubt asks again before a list that is suddenly empty is believed: a forge that
// restarts, or has lost its index, answers 200 and nothing, and every alert about its
// issues would end. One of those that were open is asked after: what is open still
// contradicts the list, what is closed explains it, and what cannot be told is believed
// at the second look.
func (p *project) doubt(ctx context.Context, open, closed []forge.Issue, pulls []forge.Pull) error {
	n, asks := p.vanished(byNumber(open), byNumber(closed), pulls)
	if n == 0 {
		p.doubts = 0
		return nil
	}
	i, err := asks.Issue(ctx, n)
	p.doubts++
	switch {
	case err == nil && i.Open:
		return fmt.Errorf("its list is empty, but #%d is open", n)
	case err == nil, forge.IsMissing(err) && p.doubts > 1:
		return nil
	case forge.IsMissing(err):
		return fmt.Errorf("its list is suddenly empty, and #%d cannot be found: it is asked again", n)
	}
	return fmt.Errorf("its list is suddenly empty, and whether #%d is open cannot be told: %w", n, err)
}

// vanished is one that was open and that an empty list leaves out, and who asks after it; 0 when
// no list is empty, or those that are closed explain it. Only looks change the lists, and there is
// one at a time.
func (p *project) vanished(open, closed map[int]forge.Issue, pulls []forge.Pull) (n int, asks forge.Reader) {
	asks = p.Reader
	if len(open) == 0 {
		for was := range p.issues {
			if _, there := closed[was]; !there && (n == 0 || was < n) {
				n = was
			}
		}
	}
	if n == 0 && len(pulls) == 0 {
		if p.Apart != nil {
			asks = p.Apart
		}
		for was := range p.pulls {
			if n == 0 || was < n {
				n = was
			}
		}
	}
	return n, asks
}
