package loop_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// happening is one thing that happens to the town.
type happening struct {
	at time.Duration // since it began
	do func()
}

// live lets the town live: what happens, happens when Custos is there to be
// written to; one that was killed is started again after two seconds.
func (w *week) live() {
	script := w.script()
	w.events = len(script)
	w.rouse()
	dead := 0
	for time.Since(w.begun) < w.lasts+time.Hour {
		time.Sleep(time.Second)
		if w.life.isDead() {
			if dead++; dead >= 2 {
				w.bury()
				dead = 0
			}
			continue
		}
		for len(script) > 0 && script[0].at <= time.Since(w.begun) {
			script[0].do()
			script = script[1:]
		}
	}
	w.life.kill()
	w.life.stop()
	w.life.act.Close()
	w.life.over.Wait()
	if err := w.st.Close(); err != nil {
		w.t.Error(err)
	}
}

// script is all that happens, in order, and never two things within ten seconds.
func (w *week) script() []happening {
	var list []happening
	s := &scripting{w: w, add: func(part float64, do func()) {
		list = append(list, happening{time.Duration(part * float64(w.lasts)), do})
	}}
	s.work()
	s.gates()
	s.convoys()
	s.mails()
	s.troubles()
	s.schedules()
	slices.SortStableFunc(list, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	for i := range list {
		if i > 0 {
			list[i].at = max(list[i].at, list[i-1].at+10*time.Second)
		}
	}
	return list
}

type scripting struct {
	w   *week
	add func(part float64, do func())
}

// between is a random share of the week.
func (s *scripting) between(from, to float64) float64 { return from + s.w.rng.Float64()*(to-from) }

// work: 300 pieces in three trackers, half of which wait for others. Each is
// closed, some are opened again and closed again.
func (s *scripting) work() {
	w := s.w
	var refs []fleet.Ref
	for i := range 300 {
		project := weekProject(i)
		switch i % 5 {
		case 0, 1:
			s.add(0, func() {
				made := w.must(func(fleet.Records) (fleet.Records, error) {
					item, err := ledger.AddWork(fleet.WorkItem{Title: fmt.Sprintf("item %d", i), Project: project, Agent: w.worker(i)}, "ann", w.now())
					return fleet.Records{Work: []fleet.WorkItem{item}}, err
				})
				if got := made.Work[0].Ref(); got != refs[i] {
					w.t.Fatalf("item %d is %s, want %s", i, got, refs[i])
				}
			})
			refs = append(refs, fleet.Ref(fmt.Sprintf("w%d", i/5*2+i%5+1)))
		case 2, 3:
			number := 100 + i
			ref := fleet.Ref(fleet.IssueName(project, number))
			w.issues[ref] = &fleet.Issue{Name: string(ref), Project: project, Number: number, Title: fmt.Sprintf("issue %d", i), Owner: fleet.OwnerConfigured,
				Open: fleet.Known(true), Age: fleet.Known(fleet.Duration(time.Hour)), Updated: fleet.Known(fleet.Duration(0)), Closed: fleet.Known(fleet.Duration(0)),
				Taken: fleet.Known(false), Ready: fleet.Known(false), BlockedBy: fleet.Known[[]string](nil), Waits: fleet.Known(fleet.Duration(0)), Agent: w.worker(i)}
			refs = append(refs, ref)
		case 4:
			id := fmt.Sprintf("b-%d", i)
			w.beads[fleet.Ref("bd:"+id)] = &fleet.Bead{ID: id, Title: fmt.Sprintf("bead %d", i), State: fleet.WorkOpen}
			refs = append(refs, fleet.Ref("bd:"+id))
		}
	}
	w.truth.refs = refs
	for i, ref := range refs {
		if i > 0 && i%2 == 0 {
			s.depend(ref, refs[w.rng.IntN(i)])
		}
		s.course(ref)
	}
}

// worker is who works on a piece of work; nobody on every third.
func (w *week) worker(i int) string {
	if i%3 == 0 {
		return ""
	}
	return w.agents[i%55].name
}

func (s *scripting) depend(of, needs fleet.Ref) {
	w := s.w
	s.add(0.02, func() {
		w.must(func(all fleet.Records) (fleet.Records, error) {
			d, err := ledger.AddDependency(all, of, needs, "ann", w.now())
			return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
		})
		w.truth.waits[of] = append(w.truth.waits[of], needs)
	})
}

// course is the life of one piece of work.
func (s *scripting) course(ref fleet.Ref) {
	closed := s.between(0.15, 0.9)
	s.add(closed, func() { s.w.close(ref, true) })
	if s.w.rng.IntN(6) == 0 {
		again := s.between(closed, 0.93)
		s.add(again, func() { s.w.close(ref, false) })
		s.add(s.between(again, 0.97), func() { s.w.close(ref, true) })
	}
}

// close closes or opens work in its tracker.
func (w *week) close(ref fleet.Ref, closed bool) {
	switch ref.Tracker() {
	case fleet.TrackerOwn:
		w.must(func(all fleet.Records) (fleet.Records, error) {
			item, err := ledger.CloseWork(*ledger.Work(all, ref), "", "", "ann", w.now())
			if !closed {
				item, err = ledger.ReopenWork(*ledger.Work(all, ref), "", "ann", w.now())
			}
			return fleet.Records{Work: []fleet.WorkItem{item}}, err
		})
	case fleet.TrackerIssue:
		w.mu.Lock()
		w.issues[ref].Open = fleet.Known(!closed)
		w.mu.Unlock()
	default:
		w.mu.Lock()
		w.beads[ref].State = map[bool]fleet.WorkState{true: fleet.WorkClosed, false: fleet.WorkOpen}[closed]
		w.mu.Unlock()
	}
	w.truth.closed(ref, closed)
	w.wake("work")
}

// convoys: 12, of work in all trackers.
func (s *scripting) convoys() {
	w := s.w
	for i := range 12 {
		var members []fleet.Ref
		for range 3 + w.rng.IntN(8) {
			if m := w.truth.refs[w.rng.IntN(len(w.truth.refs))]; !slices.Contains(members, m) {
				members = append(members, m)
			}
		}
		s.add(0.05, func() {
			c := fleet.Convoy{Title: fmt.Sprintf("convoy %d", i), State: fleet.ConvoyOpen, By: "ann", At: w.now(), Since: w.now(), Notify: []string{"a03"}}
			for _, m := range members {
				c.Members = append(c.Members, fleet.ConvoyMember{Ref: m})
			}
			made := w.must(func(fleet.Records) (fleet.Records, error) { return fleet.Records{Convoys: []fleet.Convoy{c}}, nil })
			w.truth.convoys[made.Convoys[0].ID] = members
		})
	}
}

// troubles: agents crash and come back, and Custos is killed.
func (s *scripting) troubles() {
	w := s.w
	for range 40 {
		a := w.agents[w.rng.IntN(55)]
		at := s.between(0.05, 0.9)
		s.add(at, func() { w.crash(a, false) })
		s.add(at+s.between(0.001, 0.02), func() { w.crash(a, true) })
	}
	for range 10 {
		s.add(s.between(0.05, 0.95), func() { w.life.kill() })
	}
}

func (w *week) crash(a *weekAgent, alive bool) {
	w.mu.Lock()
	a.alive = alive
	w.mu.Unlock()
	w.wake("an agent")
}

// prompt is what plugins are due on.
func (w *week) prompt() {
	w.must(func(fleet.Records) (fleet.Records, error) {
		return fleet.Records{Triggers: []fleet.Trigger{{Name: "plugin", By: "ann", At: w.now()}}}, nil
	})
	w.truth.triggers++
}

// schedules are the plugins: one-step runs, due in each way there is.
func (s *scripting) schedules() {
	w := s.w
	step := fleet.RunStep{ID: "run", Do: fleet.StepRun, Argv: []string{"true"}, Safe: true}
	for i := range 10 {
		name := fmt.Sprintf("plugin-%d", i)
		p := fleet.Schedule{Name: name, Enabled: true, Run: fleet.Run{Formula: "plugin:" + name, Mode: fleet.RunSteps, Dir: "/runs", Steps: []fleet.RunStep{step}}}
		switch i % 4 {
		case 0:
			p.Every = fleet.Duration(time.Duration(1+i) * time.Hour)
		case 1:
			p.Cron = fmt.Sprintf("%d */2 * * *", 7+i)
		case 2:
			p.On = "startup"
		case 3:
			p.On = "trigger:plugin"
		}
		w.plugins = append(w.plugins, p)
	}
	for i := range 8 {
		s.add(0.1+float64(i)/10, w.prompt)
	}
}
