package loop_test

import (
	"time"

	"custos/internal/sys/citest"
	"custos/internal/sys/forgetest"
)

// ---- pipelines -----------------------------------------------------------------

const (
	diskFull  = "write /build/x.o: no space left on device"
	noNetwork = "Get https://registry-1.docker.io/v2/: connection refused"
	red       = "--- FAIL: TestTax"
)

// began begins a pipeline now. One that failed did so in its one step, with this log.
func (d *forgeDay) began(project string, number int64, branch, state, log string) {
	s := d.systems[project]
	r := citest.Run{Number: number, Branch: branch, State: state, Created: s.Now(), Title: "Change " + branch}
	if state != "pending" && state != "blocked" {
		r.Started = s.Now()
	}
	if state != "running" {
		r.Ended = r.Started
	}
	if log != "" {
		r.Steps = []citest.Step{{Job: "build", Name: "make", State: "failure", Exit: 2, Log: log}}
	}
	s.Add(r)
}

func (d *forgeDay) begins(when time.Duration, project string, number int64, branch, state, log string) {
	d.at(when, func() { d.began(project, number, branch, state, log) })
}

// moves takes a pipeline to another state.
func (d *forgeDay) moves(when time.Duration, project string, number int64, state string, steps ...citest.Step) {
	d.at(when, func() {
		s := d.systems[project]
		now := s.Now()
		s.Change(number, func(r *citest.Run) {
			if r.State, r.Steps = state, steps; state == "running" {
				r.Started = now
			} else {
				r.Ended = now
			}
		})
	})
}

// runs has a CI work on what is begun again: for five minutes, with this end.
func (d *forgeDay) runs(project string, end func(citest.Run) (state string, steps []citest.Step)) {
	d.systems[project].Again = func(r citest.Run) {
		d.moves(d.clock()+40*time.Second, project, r.Number, "running")
		state, steps := end(r)
		d.moves(d.clock()+5*time.Minute, project, r.Number, state, steps...)
	}
}

// pipelines: one hangs, one waits for a worker, a worker dies, one fails for want
// of a network and is well at the second try, one fails for want of disk again and
// again, and the primary branch is red for two hours.
func (d *forgeDay) pipelines() {
	d.began("shop", 100, "main", "success", "")
	d.began("shop", 99, "wip", "cancelled", "")
	d.begins(17*hour+45*time.Minute, "shop", 98, "release", "blocked", "") // it waits for a person, who comes
	d.moves(18*hour+50*time.Minute, "shop", 98, "running")
	d.moves(18*hour+55*time.Minute, "shop", 98, "success")
	d.systems["shop"].Add(citest.Run{Number: 97, Branch: "odd", Word: "dreaming"})
	d.began("bank", 49, "experiment", "failure", red)
	d.systems["bank"].Add(citest.Run{Number: 48, Branch: "lost", State: "failure", Steps: []citest.Step{{Job: "build", State: "failure", NoLog: true}}})
	d.begins(hour, "shop", 101, "fix-1", "running", "")
	d.begins(7*hour, "bank", 51, "fix-2", "failure", noNetwork)
	d.runs("bank", func(citest.Run) (string, []citest.Step) { return "success", nil })
	d.begins(11*hour, "docs", 20, "fix-3", "failure", diskFull)
	d.runs("docs", func(citest.Run) (string, []citest.Step) {
		return "failure", []citest.Step{{Job: "build", Name: "make", State: "failure", Exit: 2, Log: diskFull}}
	})
	d.begins(12*hour+30*time.Minute, "docs", 30, "fix-3", "success", "") // a person made room, and began it again
	d.begins(17*hour, "bank", 60, "main", "failure", red)
	d.begins(19*hour, "bank", 61, "main", "success", "")
	d.begins(21*hour, "bank", 70, "fix-4", "pending", "")
	d.moves(21*hour+40*time.Minute, "bank", 70, "running")
	d.moves(21*hour+50*time.Minute, "bank", 70, "success")
	d.heal()
	d.at(5*hour, func() { d.systems["docs"].Staff(citest.Worker{Name: "one", Silent: 10 * time.Minute}) })
}

// heal has the worker speak to its server again.
func (d *forgeDay) heal() { d.systems["docs"].Staff(citest.Worker{Name: "one"}) }

// ---- weather -------------------------------------------------------------------

// breaks has the forge fail for a while.
func (d *forgeDay) breaks(when, lasts time.Duration, f forgetest.Fault) {
	d.at(when, func() { d.at(when+lasts, d.forge.Break(f)) })
}

// weather: what servers do. The forge refuses the token for one project, sends half
// of a page of another, asks to be left alone, hangs, has a list without an end, and
// is down for 40 minutes while alerts stand. So is every CI for 20 minutes, each in
// its own way.
func (d *forgeDay) weather() {
	d.breaks(4*hour, 10*time.Minute, forgetest.Fault{Path: "/repos/acme/docs/issues", Half: true})
	d.breaks(10*hour+15*time.Minute, 20*time.Minute, forgetest.Fault{Path: "/repos/acme/bank/", Status: 401, Body: `{"message":"token is required"}`})
	limited := forgetest.Limited(4 * time.Minute)
	limited.Times = 1
	d.breaks(13*hour+25*time.Minute, time.Minute+time.Second, limited)
	d.breaks(16*hour, 40*time.Minute, forgetest.Fault{Status: 502, Body: "<html>bad gateway</html>"})
	d.breaks(20*hour+30*time.Minute, 3*time.Minute, forgetest.Fault{Wait: make(chan struct{})})
	d.breaks(22*hour+30*time.Minute, 3*time.Minute, forgetest.Fault{Path: "/repos/acme/shop/pulls", Endless: true})
	d.at(14*hour+30*time.Minute, func() { d.systems["bank"].Limit(1, 2*time.Minute) })
	d.at(18*hour, func() {
		d.systems["shop"].Half(true)
		d.systems["bank"].Slow(true)
		d.systems["docs"].Down(503)
	})
	d.at(18*hour+20*time.Minute, func() {
		d.systems["shop"].Half(false)
		d.systems["bank"].Slow(false)
		d.systems["docs"].Down(0)
	})
}
