package api

import "testing"

// A group's picture adds up to its members, and is whole only when all of them are closed.
func TestGroupPicture(t *testing.T) {
	n := func(i int) *int { return &i }
	for want, v := range map[string]Convoy{
		"[          ] 0 %: 0 in all, 0 closed, 0 in progress, 0 blocked, 0 open":              {},
		"[######    ] 66 %: 3 in all, 2 closed, 1 in progress, 0 blocked, 0 open":             {Members: make([]Member, 3), Closed: 2, Ready: n(0), Taken: n(1)},
		"[##        ] 20 %: 5 in all, 1 closed, 1 in progress, 1 blocked, 1 open, 1 not seen": {Members: make([]Member, 5), Closed: 1, Ready: n(1), Taken: n(1), Unseen: 1},
		"[##########] 100 %: 1 in all, 1 closed, 0 in progress, 0 blocked, 0 open":            {Members: make([]Member, 1), Closed: 1, Ready: n(0), Taken: n(0)},
		"[#####     ] 50 %: 4 in all, 2 closed, 0 in progress, 0 blocked, 1 open, 1 not seen": {Members: []Member{{State: "closed"}, {State: "closed"}, {State: "open"}, {State: "unknown"}}, Closed: 2},
	} {
		if got := v.Picture(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
