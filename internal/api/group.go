package api

import (
	"context"
	"fmt"
	"strings"
)

// Group finds a convoy as Legio finds its groups (jayminwest/overstory, src/commands/group.ts at 5371d477): by its ID,
// else by its title, where one has it, or one that is open.
func (c *Client) Group(ctx context.Context, of string) (Convoy, error) {
	list, err := c.Convoys(ctx, true)
	if err != nil {
		return Convoy{}, err
	}
	var titled, open []Convoy
	var ids []string
	for _, v := range list.Convoys {
		switch {
		case v.ID == of:
			return v, nil
		case v.Title == of:
			titled, ids = append(titled, v), append(ids, v.ID)
			if v.State == "open" {
				open = append(open, v)
			}
		}
	}
	switch {
	case len(titled) == 1:
		return titled[0], nil
	case len(open) == 1:
		return open[0], nil
	case len(titled) > 1:
		return Convoy{}, &Error{Kind: BadInput, Message: fmt.Sprintf("cannot tell which group %q is meant: %s have that title: say its ID", of, strings.Join(ids, ", ")), Hint: "custos group list"}
	}
	return c.Convoy(ctx, of) // which says what is not there, and the nearest that is
}

// Picture is its progress as Legio shows it: a bar, how much of it is closed, and its members by state. Blocked is what
// waits, or whose agent is gone; of what is over, and where that is not known, members count as they were last seen.
func (c Convoy) Picture() string {
	closed, taken, ready, unseen, all := c.Closed, 0, 0, c.Unseen, len(c.Members)
	if c.Ready != nil && c.Taken != nil {
		taken, ready = *c.Taken, *c.Ready
	} else {
		n := map[string]int{}
		for _, m := range c.Members {
			n[m.State]++
		}
		taken, ready, unseen = n["in progress"], n["open"], n[unknownWord]
	}
	percent := 0
	if all > 0 {
		percent = 100 * closed / all
	}
	out := fmt.Sprintf("[%-10s] %d %%: %d in all, %d closed, %d in progress, %d blocked, %d open", strings.Repeat("#", min(percent/10, 10)), percent, all, closed, taken, max(all-closed-taken-ready-unseen, 0), ready)
	if unseen > 0 {
		out += fmt.Sprintf(", %d not seen", unseen)
	}
	return out
}
