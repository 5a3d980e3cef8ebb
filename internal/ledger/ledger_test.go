package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

func at(d time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC).Add(d), Up: fleet.Duration(time.Hour + d), Boot: "b"}
}

func reg(name string) fleet.Registration {
	return fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos}
}

func want(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "cannot ") {
		t.Errorf("%q does not say what cannot be done", err)
	}
}

func TestRegister(t *testing.T) {
	child := func(parent string) fleet.Registration { r := reg("new"); r.Parent = parent; return r }
	retired := reg("gone")
	retired.Desired = fleet.DesiredRetired
	deep := reg("deep")
	deep.Depth = 3
	all := []fleet.Registration{reg("dev"), retired, deep}
	tasked := child("dev")
	tasked.Task, tasked.Spec, tasked.Files = "issue 7", "/p/spec.md", []string{"a.go"}
	for name, c := range map[string]struct {
		r    fleet.Registration
		want error
	}{
		"plain":               {reg("new"), nil},
		"with work":           {tasked, nil},
		"any language":        {reg("Überprüfer 42.x"), nil},
		"longest":             {reg(strings.Repeat("é", 200)), nil},
		"no name":             {reg(""), ErrIllegal},
		"too long":            {reg(strings.Repeat("x", 201)), ErrIllegal},
		"newline":             {reg("a\nb"), ErrIllegal},
		"escape":              {reg("a\x1b[31m"), ErrIllegal},
		"broken UTF-8":        {reg("a\xff"), ErrIllegal},
		"blank at the end":    {reg("a "), ErrIllegal},
		"only blanks":         {reg("  "), ErrIllegal},
		"no-break space":      {reg("a\u00a0b"), ErrIllegal},
		"taken":               {reg("dev"), ErrTaken},
		"taken by a retired":  {reg("gone"), ErrTaken},
		"child":               {child("dev"), nil},
		"nobody's child":      {child("nobody"), ErrIllegal},
		"a retired's child":   {child("gone"), ErrIllegal},
		"too deep":            {child("deep"), ErrIllegal},
		"no kind":             {fleet.Registration{Name: "new", Owner: fleet.OwnerCustos}, ErrIllegal},
		"unknown kind":        {fleet.Registration{Name: "new", Kind: "perl", Owner: fleet.OwnerCustos}, ErrIllegal},
		"somebody else's":     {fleet.Registration{Name: "new", Kind: "claude", Owner: fleet.OwnerForeign}, ErrIllegal},
		"its own parent":      {child("new"), ErrIllegal},
		"prefix of another":   {reg("de"), nil},
		"quotes and brackets": {reg(`it's "x" $(y) {z}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Register(all, c.r, Bounds{MaxDepth: 3, Known: func(k string) bool { return k == "claude" }}, "ann", at(0))
			want(t, err, c.want)
			if err != nil {
				return
			}
			if got.Desired != fleet.DesiredRunning || got.DesiredBy != "ann" || got.Restart == "" || got.CreatedAt != at(0) {
				t.Errorf("got %+v", got)
			}
			if got.Parent != "" && got.Depth != 1 {
				t.Errorf("depth %d", got.Depth)
			}
			if got.Spec != c.r.Spec || got.Task != c.r.Task || !slices.Equal(got.Files, c.r.Files) || got.Parent != c.r.Parent {
				t.Errorf("got %+v of %+v", got, c.r)
			}
		})
	}
}

func TestAdopt(t *testing.T) {
	a := fleet.Agent{Name: "x", Kind: "codex", Process: fleet.ProcessID{PID: 7, Start: 9}, Age: fleet.Known(fleet.Duration(time.Minute)), Pane: &fleet.Pane{}}
	r, err := Adopt(nil, a, "ann", at(0))
	want(t, err, nil)
	if r.Owner != fleet.OwnerAdopted || r.Process != a.Process || r.Restart != fleet.RestartNever || r.Where != fleet.WhereTmux || r.StartedAt != at(-time.Minute) {
		t.Errorf("got %+v", r)
	}
	_, err = Adopt(nil, a, fleet.ByAgent("b"), at(0))
	want(t, err, ErrIllegal)
	a.Process.PID = 0
	_, err = Adopt(nil, a, "ann", at(0))
	want(t, err, ErrIllegal)
}

func TestSetDesired(t *testing.T) {
	const run, stop, pause, drain, retire = fleet.DesiredRunning, fleet.DesiredStopped, fleet.DesiredPaused, fleet.DesiredDraining, fleet.DesiredRetired
	self, other := fleet.ByAgent("a"), fleet.ByAgent("b")
	for _, c := range []struct {
		from   fleet.Desired
		fromBy string
		to     fleet.Desired
		by     string
		ok     bool
	}{
		{run, "", stop, "ann", true}, {stop, "ann", run, "bob", true}, {stop, "ann", run, fleet.ByCustos, false},
		{stop, "ann", run, self, false}, {stop, fleet.ByCustos, run, fleet.ByCustos, true}, {stop, fleet.ByCustos, run, "ann", true},
		{run, "", pause, "ann", true}, {pause, "ann", run, fleet.ByCustos, false}, {pause, fleet.ByCustos, run, fleet.ByCustos, true},
		{stop, "ann", pause, "ann", false}, {stop, "ann", drain, "ann", false}, {stop, "ann", retire, "ann", true},
		{retire, "ann", run, "ann", false}, {retire, "ann", stop, "ann", false}, {run, "", retire, fleet.ByCustos, false},
		{drain, "ann", stop, fleet.ByCustos, true}, {drain, "ann", run, fleet.ByCustos, false}, {pause, "ann", stop, fleet.ByCustos, false},
		{run, "ann", stop, self, true}, {run, "ann", drain, self, true}, {run, "ann", stop, other, false}, {run, "ann", pause, self, false},
		{run, "", stop, "", false}, {run, "", "sleeping", "ann", false}, {retire, "ann", retire, "bob", true}, {stop, "ann", stop, fleet.ByCustos, true},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := reg("a")
			r.Desired, r.DesiredBy = c.from, c.fromBy
			got, err := SetDesired(r, c.to, c.by, at(0))
			if (err == nil) != c.ok {
				t.Fatalf("error %v", err)
			}
			if err == nil && got.Desired != c.to || err != nil && got.Desired != c.from {
				t.Errorf("it is %s", got.Desired)
			}
			if err != nil {
				want(t, err, ErrIllegal)
			}
		})
	}
}

// TestStopOfAPersonIsTakenOver: an agent that Custos stopped, and then a person,
// is a person's.
func TestStopOfAPersonIsTakenOver(t *testing.T) {
	r := reg("a")
	r.Desired, r.DesiredBy = fleet.DesiredStopped, fleet.ByCustos
	r, err := SetDesired(r, fleet.DesiredStopped, "ann", at(0))
	want(t, err, nil)
	if _, err = SetDesired(r, fleet.DesiredRunning, fleet.ByCustos, at(0)); err == nil {
		t.Error("Custos starts it again")
	}
}

func TestAccounts(t *testing.T) {
	a, b := reg("a"), reg("b")
	a.Account, a.Desired, b.Account, b.Desired = "acme", fleet.DesiredRunning, "acme", fleet.DesiredPaused
	a, b = PauseAccount(a, "ann", at(0)), PauseAccount(b, "ann", at(0))
	if a.Desired != fleet.DesiredPaused {
		t.Error("not paused")
	}
	a, b = ResumeAccount(a, "ann", at(0)), ResumeAccount(b, "ann", at(0))
	if a.Desired != fleet.DesiredRunning || b.Desired != fleet.DesiredPaused {
		t.Errorf("a is %s, b is %s: want a running, b still paused", a.Desired, b.Desired)
	}
}

func TestInstance(t *testing.T) {
	p1, p2 := fleet.ProcessID{PID: 1, Start: 1}, fleet.ProcessID{PID: 2, Start: 2}
	r, err := Started(reg("a"), "i1", p1, at(0))
	want(t, err, nil)
	again, err := Started(r, "i1", p1, at(time.Minute))
	want(t, err, nil)
	if again.StartedAt != at(0) {
		t.Error("the same start again changed it")
	}
	_, err = Started(r, "i1", p2, at(time.Minute))
	want(t, err, ErrTaken)
	_, err = Started(r, "i2", p2, at(-time.Minute))
	want(t, err, errOutdated)
	_, err = Started(r, "", p2, at(0))
	want(t, err, ErrIllegal)
	_, err = Ended(r, fleet.Exit{Instance: "i0", Process: p1})
	want(t, err, errOutdated)
	_, err = Ended(r, fleet.Exit{Process: p2})
	want(t, err, errOutdated)
	_, err = Ended(reg("never"), fleet.Exit{})
	want(t, err, errOutdated)
	r, err = Ended(r, fleet.Exit{Process: p1, At: at(1), Source: "tmux"})
	want(t, err, nil)
	r, err = Ended(r, fleet.Exit{Instance: "i1", Signal: fleet.Known(9), At: at(2), Source: "shim"})
	want(t, err, nil)
	if sig, _ := r.Exit.Signal.Get(); sig != 9 || r.Exit.At != at(1) || r.Exit.Source != "shim" {
		t.Errorf("exit %+v", r.Exit)
	}
	r, err = Ended(r, fleet.Exit{Instance: "i1", Status: fleet.Known(0), At: at(3)})
	want(t, err, nil)
	if r.Exit.Status.IsKnown() {
		t.Error("later news took the place of what was known")
	}
	r, _ = MarkFailed(r, "spent")
	r, err = Started(r, "i2", p2, at(time.Hour))
	want(t, err, nil)
	if r.Exit != nil || r.Failed != "" {
		t.Errorf("the new instance has the old one's end: %+v %q", r.Exit, r.Failed)
	}
}

func TestPrompted(t *testing.T) {
	none, pending, sent, acked, lost := fleet.Delivery(""), fleet.DeliveryPending, fleet.DeliverySent, fleet.DeliveryAcknowledged, fleet.DeliveryUndelivered
	legal := map[fleet.Delivery][]fleet.Delivery{
		none: {pending}, pending: {pending, sent, acked, lost}, sent: {sent, acked, lost}, acked: {acked}, lost: {lost, pending, acked},
	}
	for _, from := range []fleet.Delivery{none, pending, sent, acked, lost} {
		for _, to := range []fleet.Delivery{none, pending, sent, acked, lost, "shouted"} {
			r := reg("a")
			r.PromptState, r.Prompt = from, "go"
			got, err := Prompted(r, to)
			if ok := slices.Contains(legal[from], to); (err == nil) != ok {
				t.Errorf("%q to %q: %v", from, to, err)
			}
			if err == nil && (got.Prompt == "") != (to == acked) {
				t.Errorf("%q to %q: the prompt is %q", from, to, got.Prompt)
			}
		}
	}
}

func TestSession(t *testing.T) {
	r := reg("a")
	r.Process = fleet.ProcessID{PID: 1}
	r, err := Sessioned(r, fleet.ProcessID{PID: 1}, "s1")
	want(t, err, nil)
	r, err = Sessioned(r, fleet.ProcessID{PID: 1}, "")
	want(t, err, nil)
	if r.SessionID != "s1" {
		t.Error("the session is forgotten")
	}
	_, err = Sessioned(r, fleet.ProcessID{PID: 2}, "s2")
	want(t, err, errOutdated)
}

func nudge(id string) fleet.Order {
	return fleet.Order{ID: id, Do: fleet.OrderNudge, Agent: "a", By: "ann", Text: "go"}
}

func TestTake(t *testing.T) {
	with := func(change func(*fleet.Order)) fleet.Order { o := nudge("o1"); change(&o); return o }
	for name, c := range map[string]struct {
		o  fleet.Order
		ok bool
	}{
		"plain":             {nudge("o1"), true},
		"no ID":             {with(func(o *fleet.Order) { o.ID = "" }), false},
		"long ID":           {with(func(o *fleet.Order) { o.ID = strings.Repeat("x", 101) }), false},
		"ID with a newline": {with(func(o *fleet.Order) { o.ID = "a\nb" }), false},
		"unheard of":        {with(func(o *fleet.Order) { o.Do = "dance" }), false},
		"nobody's":          {with(func(o *fleet.Order) { o.By = "" }), false},
		"blanks to say":     {with(func(o *fleet.Order) { o.Text = " \n\t" }), false},
		"nothing to say":    {with(func(o *fleet.Order) { o.Text = "" }), false},
		"too much to say":   {with(func(o *fleet.Order) { o.Text = strings.Repeat("x", 1<<20+1) }), false},
		"a bad name":        {with(func(o *fleet.Order) { o.Agent = "a\tb" }), false},
		"answer to nothing": {with(func(o *fleet.Order) { o.Do = fleet.OrderAnswer }), false},
		"answer":            {with(func(o *fleet.Order) { o.Do, o.Dialog = fleet.OrderAnswer, "d" }), true},
		"pause an account":  {fleet.Order{ID: "o", Do: fleet.OrderPause, Account: "acme", By: "ann"}, true},
		"stop an account":   {fleet.Order{ID: "o", Do: fleet.OrderStop, Account: "acme", By: "ann"}, false},
		"spawn another":     {fleet.Order{ID: "o", Do: fleet.OrderSpawn, Agent: "a", By: "ann", Spawn: &fleet.Registration{Name: "b"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, fresh, err := Take(nil, c.o, at(0))
			if (err == nil) != c.ok || fresh != c.ok {
				t.Fatalf("fresh %v, error %v", fresh, err)
			}
			if err != nil {
				want(t, err, ErrIllegal)
			} else if got.State != fleet.OrderOpen || got.At != at(0) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTakeTwice(t *testing.T) {
	spawn := fleet.Order{ID: "o1", Do: fleet.OrderSpawn, Agent: "a", By: "ann", Spawn: &fleet.Registration{Kind: "claude", Argv: []string{"claude"}}}
	o, fresh, err := Take(nil, spawn, at(0))
	want(t, err, nil)
	if !fresh || o.Spawn.Name != "a" || o.Spawn.Owner != fleet.OwnerCustos || o.Spawn.Restart == "" || spawn.Spawn.Name != "" {
		t.Errorf("got %+v", o.Spawn)
	}
	o.State, o.Why = fleet.OrderQueued, "memory"
	again, fresh, err := Take(&o, spawn, at(time.Hour))
	want(t, err, nil)
	if fresh || again.State != fleet.OrderQueued {
		t.Errorf("taken again: %v %+v", fresh, again)
	}
	spawn.Text = "other"
	_, _, err = Take(&o, spawn, at(0))
	want(t, err, ErrTaken)
}

func TestAfter(t *testing.T) {
	for _, c := range []struct {
		do     fleet.OrderDo
		result fleet.ResultStatus
		want   fleet.OrderState
	}{
		{fleet.OrderStop, fleet.ResultDone, fleet.OrderDone}, {fleet.OrderStop, fleet.ResultUnneeded, fleet.OrderDone},
		{fleet.OrderStop, fleet.ResultUnverified, fleet.OrderDone}, {fleet.OrderStop, fleet.ResultRefused, fleet.OrderOpen},
		{fleet.OrderStop, fleet.ResultFailed, fleet.OrderOpen}, {fleet.OrderStop, fleet.ResultInDoubt, fleet.OrderRefused},
		{fleet.OrderNudge, fleet.ResultUnverified, fleet.OrderExpired}, {fleet.OrderNudge, fleet.ResultRefused, fleet.OrderOpen},
		{fleet.OrderNudge, fleet.ResultInDoubt, fleet.OrderRefused}, {fleet.OrderAnswer, fleet.ResultRefused, fleet.OrderRefused},
		{fleet.OrderAnswer, fleet.ResultFailed, fleet.OrderRefused}, {fleet.OrderSpawn, fleet.ResultFailed, fleet.OrderRefused},
		{fleet.OrderSpawn, fleet.ResultRefused, fleet.OrderOpen}, {fleet.OrderRecover, fleet.ResultFailed, fleet.OrderOpen},
	} {
		o := fleet.Order{Do: c.do, State: fleet.OrderOpen, Action: "x"}.After(fleet.Result{Status: c.result, Why: "w"})
		if o.State != c.want || (o.Action == "") != (c.want == fleet.OrderOpen) {
			t.Errorf("%s that is %s: %+v, want %s", c.do, c.result, o, c.want)
		}
	}
	o := fleet.Order{Do: fleet.OrderRecover, State: fleet.OrderOpen, Action: "x"}.After(fleet.Result{Status: fleet.ResultRefused, Lasting: true, Why: "w"})
	if o.State != fleet.OrderRefused || o.Why != "w" {
		t.Errorf("what no waiting changes: %+v", o)
	}
}

// A stop that is taken back leaves what is wanted as it was; what anybody wanted
// since, or before, stays.
func TestUnstopped(t *testing.T) {
	given := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	stop := fleet.Order{ID: "s", Do: fleet.OrderStop, Agent: "a", By: "ann", At: given}
	stopped := reg("a")
	stopped.Desired, stopped.DesiredBy, stopped.DesiredAt = fleet.DesiredStopped, "ann", given
	later, retired := stopped, stopped
	later.DesiredAt, retired.Desired = given.Add(time.Minute), fleet.DesiredRetired
	for name, c := range map[string]struct {
		r    fleet.Registration
		do   fleet.OrderDo
		want fleet.Desired
	}{
		"taken back":    {stopped, fleet.OrderStop, fleet.DesiredRunning},
		"stopped since": {later, fleet.OrderStop, fleet.DesiredStopped},
		"retired since": {retired, fleet.OrderStop, fleet.DesiredRetired},
		"no stop":       {stopped, fleet.OrderNudge, fleet.DesiredStopped},
	} {
		o := stop
		o.Do = c.do
		if r, err := Unstopped(c.r, o, "ann", given.Add(time.Hour)); err != nil || r.Desired != c.want {
			t.Errorf("%s: %s, %v", name, r.Desired, err)
		}
	}
}

// TestStopsStay: whatever anybody but a person does in whatever order, an agent
// that a person stopped is not wanted running, and a retired one stays retired.
func TestStopsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reg("a")
		r.Desired, r.Account, r.Prompt = fleet.DesiredRunning, "acme", "go"
		stopped, retired := false, false
		for n := range rapid.IntRange(1, 30).Draw(t, "steps") {
			by := rapid.SampledFrom([]string{"ann", fleet.ByCustos, fleet.ByAgent("a"), fleet.ByAgent("b"), ""}).Draw(t, "by")
			to := rapid.SampledFrom([]fleet.Desired{fleet.DesiredRunning, fleet.DesiredStopped, fleet.DesiredPaused, fleet.DesiredDraining, fleet.DesiredRetired}).Draw(t, "to")
			before := r
			var err error
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				r, _ = Started(r, fmt.Sprint("i", n), fleet.ProcessID{PID: n + 1}, at(time.Duration(n)*time.Second))
			case 1:
				r, _ = Ended(r, fleet.Exit{Instance: r.Instance, Process: r.Process, Status: fleet.Known(1)})
			case 2:
				r = ResumeAccount(PauseAccount(r, by, at(0)), by, at(0))
			case 3:
				r = r.Learn(fleet.Registration{Instance: "l", Desired: fleet.DesiredRunning, DesiredBy: "eve"})
			default:
				if r, err = SetDesired(r, to, by, at(0)); err == nil {
					retired = retired || to == fleet.DesiredRetired
					switch {
					case to == fleet.DesiredStopped && fleet.IsPerson(by):
						stopped = true
					case fleet.IsPerson(by):
						stopped = false
					}
				}
			}
			if stopped && r.Desired != fleet.DesiredStopped && r.Desired != fleet.DesiredRetired {
				t.Fatalf("stopped by a person, now %s by %q", r.Desired, r.DesiredBy)
			}
			if retired && r.Desired != fleet.DesiredRetired {
				t.Fatalf("retired, now %s", r.Desired)
			}
			if r.Exit != nil && r.Exit.Instance != "" && r.Exit.Instance != r.Instance {
				t.Fatalf("instance %s has the end of %s", r.Instance, r.Exit.Instance)
			}
			if err != nil && (r.Desired != before.Desired || r.DesiredBy != before.DesiredBy) {
				t.Fatal("a change that is not lawful changed something")
			}
		}
	})
}

// An end of which nobody could tell anything turns out to have been the
// machine's: the record says so from then on, and no later news makes it another.
func TestEndedWithTheMachine(t *testing.T) {
	p := fleet.ProcessID{PID: 7, Start: 1, Boot: "old"}
	exit := func(source string) fleet.Exit { return fleet.Exit{Instance: "i1", Process: p, Source: source} }
	r, err := Ended(fleet.Registration{Name: "a", Instance: "i1", Process: p}, exit("none"))
	if err != nil || r.Exit.Rebooted() {
		t.Fatalf("%v, %+v", err, r.Exit)
	}
	if r, err = Ended(r, exit(fleet.ExitReboot)); err != nil || !r.Exit.Rebooted() {
		t.Fatalf("%v, %+v", err, r.Exit)
	}
	if r, err = Ended(r, exit("none")); err != nil || !r.Exit.Rebooted() {
		t.Errorf("%v, %+v", err, r.Exit)
	}
	told := exit(fleet.ExitReboot)
	told.Signal = fleet.Known(15)
	if r, err = Ended(r, told); err != nil || !r.Exit.Rebooted() || r.Exit.Signal.Or(0) != 15 {
		t.Errorf("%v, %+v", err, r.Exit)
	}
}
