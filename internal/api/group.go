package api

import (
	"context"
	"fmt"
	"strings"

	"custos/internal/nearest"
)

// Group finds a convoy as Legio finds its groups (jayminwest/overstory, src/commands/group.ts at 5371d477): by its ID,
// else by its title, where one has it, or one that is open.
func (c *Client) Group(ctx context.Context, of string) (Convoy, error) {
	list, err := c.Convoys(ctx, true)
	if err != nil {
		return Convoy{}, err
	}
	var titled, open []Convoy
	var known, ids []string
	for _, v := range list.Convoys {
		known = append(known, v.ID, v.Title)
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
	return Convoy{}, &Error{Kind: NotFound, Message: fmt.Sprintf("cannot find group %q%s", of, nearest.Hint(of, known)), Hint: "custos group list"}
}

// Picture is its progress as Legio shows it: a bar, how much of it is closed, and its members by state.
func (c Convoy) Picture() string {
	n := map[string]int{}
	for _, m := range c.Members {
		n[m.State]++
	}
	percent := 0
	if len(c.Members) > 0 {
		percent = 100 * c.Closed / len(c.Members)
	}
	out := fmt.Sprintf("[%-10s] %d %%: %d in all, %d closed, %d in progress", strings.Repeat("#", percent/10), percent, len(c.Members), n["closed"], n["in progress"])
	if c.Ready != nil && n["open"] > *c.Ready {
		out += fmt.Sprintf(", %d blocked", n["open"]-*c.Ready)
		n["open"] = *c.Ready
	}
	out += fmt.Sprintf(", %d open", n["open"])
	if n[unknownWord] > 0 {
		out += fmt.Sprintf(", %d never seen", n[unknownWord])
	}
	return out
}
