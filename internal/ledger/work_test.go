package ledger

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

func TestWorkVerbs(t *testing.T) {
	me, other := fleet.ByAgent("me"), fleet.ByAgent("other")
	open := fleet.WorkItem{Head: fleet.Head{ID: "w1", Revision: 1}, Title: "x", State: fleet.WorkOpen}
	mine := open
	mine.State, mine.Agent = fleet.WorkTaken, "me"
	closed := open
	closed.State, closed.Outcome = fleet.WorkClosed, Completed
	take := func(agent, by string) func(fleet.WorkItem) (fleet.WorkItem, error) {
		return func(w fleet.WorkItem) (fleet.WorkItem, error) { return TakeWork(w, agent, by, at(0)) }
	}
	release := func(by string) func(fleet.WorkItem) (fleet.WorkItem, error) {
		return func(w fleet.WorkItem) (fleet.WorkItem, error) { return ReleaseWork(w, "why", by, at(0)) }
	}
	finish := func(by string) func(fleet.WorkItem) (fleet.WorkItem, error) {
		return func(w fleet.WorkItem) (fleet.WorkItem, error) { return CloseWork(w, "", "why", by, at(0)) }
	}
	reopen := func(w fleet.WorkItem) (fleet.WorkItem, error) { return ReopenWork(w, "why", "ann", at(0)) }
	for name, c := range map[string]struct {
		w    fleet.WorkItem
		do   func(fleet.WorkItem) (fleet.WorkItem, error)
		want string // state and agent; or what the error says
	}{
		"take":                        {open, take("me", me), "in progress me"},
		"take again":                  {mine, take("me", me), "in progress me"},
		"take for another agent":      {open, take("other", me), "for itself only"},
		"take from another agent":     {mine, take("other", other), "agent me has w1"},
		"a person gives it to one":    {open, take("me", "ann"), "in progress me"},
		"a person gives it to other":  {mine, take("other", "ann"), "in progress other"},
		"a person names nobody":       {open, take("", "ann"), "nobody is named"},
		"take what is closed":         {closed, take("me", me), "is closed"},
		"release":                     {mine, release(me), "open "},
		"a person releases":           {mine, release("ann"), "open "},
		"release of another's":        {mine, release(other), "agent me has w1"},
		"release what nobody has":     {open, release(me), "nobody has w1"},
		"close":                       {mine, finish(me), "closed me"},
		"close what nobody has":       {open, finish(me), "closed "},
		"close another's":             {mine, finish(other), "agent me has w1"},
		"a nameless agent closes one": {mine, finish(fleet.ByAgent("")), "agent me has w1"},
		"a person closes":             {mine, finish("ann"), "closed me"},
		"close what is closed":        {closed, finish(other), "closed "},
		"reopen":                      {closed, reopen, "open "},
		"reopen what is open":         {open, reopen, "is open"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.do(c.w)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "cannot ") || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				return
			}
			if is := string(got.State) + " " + got.Agent; is != c.want {
				t.Errorf("got %q, want %q", is, c.want)
			}
		})
	}
}

func TestAddWork(t *testing.T) {
	for name, c := range map[string]struct {
		w    fleet.WorkItem
		want string
	}{
		"plain":           {fleet.WorkItem{Title: " x "}, ""},
		"only blanks":     {fleet.WorkItem{Title: " \n "}, "no title"},
		"a long text":     {fleet.WorkItem{Title: "x", Body: strings.Repeat("x", longestBody+1)}, "longer than 65536 bytes"},
		"many labels":     {fleet.WorkItem{Title: "x", Labels: make([]string, mostLabels+1)}, "21 labels"},
		"a broken label":  {fleet.WorkItem{Title: "x", Labels: []string{"a\nb"}}, "no label"},
		"no such grade":   {fleet.WorkItem{Title: "x", Priority: "P9"}, "P9"},
		"taken at once":   {fleet.WorkItem{Title: "x", Agent: "me"}, ""},
		"a closing state": {fleet.WorkItem{Title: "x", State: fleet.WorkClosed}, ""}, // is not taken over
	} {
		t.Run(name, func(t *testing.T) {
			w, err := AddWork(c.w, "ann", at(0))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err == nil && (w.Title != "x" || w.Priority != fleet.P3 || (w.State == fleet.WorkTaken) != (w.Agent != "") || w.Over()) {
				t.Errorf("got %+v", w)
			}
		})
	}
}
