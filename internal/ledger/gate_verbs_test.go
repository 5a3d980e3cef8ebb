package ledger

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestAddGate(t *testing.T) {
	human := fleet.Gate{Type: fleet.GateHuman, Title: "approved"}
	with := func(g fleet.Gate, c func(*fleet.Gate)) fleet.Gate {
		g.Title = "wait"
		c(&g)
		return g
	}
	plain := func(*fleet.Gate) {}
	agent := fleet.ByAgent("builder")
	for name, c := range map[string]struct {
		gate fleet.Gate
		by   string
		bad  string // part of the error; "" when it is taken
	}{
		"human":                      {human, "ann", ""},
		"human, by an agent":         {human, agent, ""},
		"timer":                      {with(timerGate(time.Hour), plain), agent, ""},
		"timer in the past":          {with(timerGate(0), plain), "ann", "still to come"},
		"timer without a moment":     {with(fleet.Gate{Type: fleet.GateTimer}, plain), "ann", "until"},
		"event":                      {with(eventGate("run:f:done"), plain), "ann", ""},
		"run events have no startup": {with(eventGate("startup"), plain), "ann", "there is no event"},
		"run event of no state":      {with(eventGate("run:f:tired"), plain), "ann", "run:FORMULA:STATE"},
		"event without a name":       {with(eventGate("alert:"), plain), "ann", "there is no event"},
		"event of nothing":           {with(eventGate(""), plain), "ann", "there is no event"},
		"work that there is":         {with(eventGate("work:w1:closed"), plain), "ann", ""},
		"work that there is not":     {with(eventGate("work:w9:closed"), plain), "ann", "there is no work w9"},
		"work of no tracker":         {with(eventGate("work:??:closed"), plain), "ann", "names no work"},
		"convoy that there is not":   {with(eventGate("convoy:c9:done"), plain), "ann", "there is no convoy c9"},
		"trigger":                    {with(eventGate("trigger:ci/deploy"), plain), "ann", ""},
		"trigger of a strange name":  {with(eventGate("trigger:a b"), plain), "ann", "name of a trigger"},
		"condition":                  {with(whenGate(), plain), agent, ""},
		"condition that is wrong":    {with(fleet.Gate{Type: fleet.GateCondition, When: "host.cpu > 1"}, plain), "ann", "cpu"},
		"condition that is no truth": {with(fleet.Gate{Type: fleet.GateCondition, When: "host.cpus"}, plain), "ann", "bool"},
		"condition of nothing":       {with(fleet.Gate{Type: fleet.GateCondition}, plain), "ann", "either"},
		"command":                    {with(commandGate(), plain), "ann", ""},
		"command of an agent":        {with(commandGate(), plain), agent, "only a person"},
		"command and expression":     {with(commandGate(), func(g *fleet.Gate) { g.When = "true" }), "ann", "either"},
		"command without a program":  {with(fleet.Gate{Type: fleet.GateCondition, Check: []string{""}}, plain), "ann", "no program"},
		"command that takes an hour": {with(commandGate(), func(g *fleet.Gate) { g.Timeout = fleet.Duration(time.Hour) }), "ann", "at most"},
		"command that is too long":   {with(commandGate(), func(g *fleet.Gate) { g.Check = []string{strings.Repeat("x", 5000)} }), "ann", "longer"},
		"pull":                       {with(pullGate(), plain), "ann", ""},
		"pull that is an issue":      {with(pullGate(), func(g *fleet.Gate) { g.Of = "shop#7" }), "ann", "names no pull request"},
		"run":                        {with(runGate(), plain), "ann", ""},
		"run that is none":           {with(runGate(), func(g *fleet.Gate) { g.Run = "40" }), "ann", "no name of a pipeline"},
		"mail":                       {with(mailGate(), plain), "ann", ""},
		"any mail":                   {with(fleet.Gate{Type: fleet.GateMail}, plain), "ann", "which mail"},
		"no type":                    {with(fleet.Gate{}, plain), "ann", "no type"},
		"no title":                   {fleet.Gate{Type: fleet.GateHuman, Title: " "}, "ann", "no title"},
		"a word of another type":     {with(human, func(g *fleet.Gate) { g.On = "startup" }), "ann", `"on" is for gates of type event`},
		"due in the past":            {with(human, func(g *fleet.Gate) { g.Due = at(-1) }), "ann", "due in the past"},
		"a waiter without a name":    {with(human, func(g *fleet.Gate) { g.Waiters = []string{""} }), "ann", "empty"},
		"a waiter of two lines":      {with(human, func(g *fleet.Gate) { g.Waiters = []string{"a\nb"} }), "ann", "no name"},
		"too many waiters":           {with(human, func(g *fleet.Gate) { g.Waiters = strings.Split(strings.Repeat("a,", 60), ",") }), "ann", "no name"},
	} {
		t.Run(name, func(t *testing.T) {
			all := fleet.Records{Work: []fleet.WorkItem{{Head: fleet.Head{ID: "w1"}}}}
			got, err := AddGate(all, c.gate, c.by, at(0))
			if c.bad == "" {
				want(t, err, nil)
				if got.State != fleet.GateOpen || got.By != c.by || got.At != at(0) || len(got.Check) > 0 && got.Timeout != checkTimeout {
					t.Errorf("got %+v", got)
				}
				return
			}
			if name == "too many waiters" { // the same one many times is one
				c.bad = "empty"
			}
			want(t, err, ErrIllegal)
			if !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%v does not say %q", err, c.bad)
			}
		})
	}
	got, _ := AddGate(fleet.Records{}, human, agent, at(0))
	if len(got.Waiters) != 1 || got.Waiters[0] != "builder" {
		t.Errorf("it tells %v", got.Waiters)
	}
	full := fleet.Records{Gates: make([]fleet.Gate, mostOpenGates)}
	_, err := AddGate(full, human, "ann", at(0))
	want(t, err, ErrIllegal)
}

func TestCloseGate(t *testing.T) {
	agent, other := fleet.ByAgent("builder"), fleet.ByAgent("other")
	open := fleet.Gate{Head: fleet.Head{ID: "g1", Revision: 1}, Type: fleet.GateHuman, Title: "ok", State: fleet.GateOpen, By: agent, Waiters: []string{"builder", "x"}}
	over := closed(open, fleet.GatePassed, "seen", "ann", at(0))
	nobody := open
	nobody.By = fleet.ByAgent("")
	for name, c := range map[string]struct {
		gate    fleet.Gate
		as, why string
		by      string
		mails   int
		want    error
	}{
		"passed":                  {open, fleet.GatePassed, "read", "ann", 2, nil},
		"failed, by a person":     {open, fleet.GateFailed, "no", "ann", 2, nil},
		"cancelled by its maker":  {open, fleet.GateCancelled, "not needed", agent, 2, nil},
		"passed by its maker":     {open, fleet.GatePassed, "read", agent, 0, ErrIllegal},
		"failed by its maker":     {open, fleet.GateFailed, "read", agent, 0, ErrIllegal},
		"cancelled by another":    {open, fleet.GateCancelled, "no", other, 0, ErrIllegal},
		"cancelled by no agent":   {nobody, fleet.GateCancelled, "no", fleet.ByAgent(""), 0, ErrIllegal},
		"closed by Custos":        {open, fleet.GatePassed, "no", fleet.ByCustos, 0, ErrIllegal},
		"without a reason":        {open, fleet.GatePassed, " ", "ann", 0, ErrIllegal},
		"as something else":       {open, "done", "x", "ann", 0, ErrIllegal},
		"again":                   {over, fleet.GatePassed, "twice", "bob", 0, nil},
		"again, otherwise":        {over, fleet.GateFailed, "twice", "bob", 0, ErrTaken},
		"again, by another agent": {over, fleet.GatePassed, "twice", other, 0, ErrIllegal},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CloseGate(c.gate, c.as, c.why, c.by, at(time.Second))
			want(t, err, c.want)
			if len(got.Mails) != c.mails {
				t.Fatalf("told %+v", got.Mails)
			}
			if c.mails > 0 && (got.Gates[0].Outcome != c.as || got.Gates[0].Closer != c.by || got.Gates[0].Why != c.why || got.Gates[0].Revision != 1 || got.Mails[0].Key != "gate/g1/builder") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAddTrigger(t *testing.T) {
	got, err := AddTrigger(fleet.Trigger{Name: "ci/deploy", Text: strings.Repeat("é", 5000)}, "ann", at(0))
	want(t, err, nil)
	if len(got.Text) > longestTriggerText || !strings.HasSuffix(got.Text, "é") || got.By != "ann" || got.At != at(0) {
		t.Errorf("got %d bytes by %s", len(got.Text), got.By)
	}
	for _, name := range []string{"", "-x", "a b", "a\nb", strings.Repeat("x", 101), "a:b"} {
		_, err := AddTrigger(fleet.Trigger{Name: name}, "ann", at(0))
		want(t, err, ErrIllegal)
	}
}

func TestCheckStepGate(t *testing.T) {
	hour := fleet.Duration(time.Hour)
	for _, c := range []struct {
		gate fleet.Gate
		ok   bool
	}{
		{fleet.Gate{Type: fleet.GateHuman}, true},
		{fleet.Gate{Type: fleet.GateHuman, Timeout: hour}, true},
		{fleet.Gate{Type: fleet.GateTimer, Timeout: hour}, true},
		{fleet.Gate{Type: fleet.GateTimer}, false},
		{eventGate("trigger:x"), true},
		{eventGate("work:w9:closed"), true}, // it may be there by then
		{eventGate("tigger:x"), false},
		{fleet.Gate{Type: fleet.GateCondition, When: "host.cpus > 1", Timeout: hour}, true},
		{fleet.Gate{Type: fleet.GateCondition, When: "host.cpu > 1"}, false},
		{fleet.Gate{Type: fleet.GatePull, Of: "shop!7"}, true},
		{fleet.Gate{Type: fleet.GatePull}, false},
		{fleet.Gate{Type: fleet.GateMail}, false},
	} {
		if err := CheckStepGate(c.gate); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.gate, err)
		}
	}
}
