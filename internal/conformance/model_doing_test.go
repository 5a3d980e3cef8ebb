package conformance

import (
	"slices"
	"time"
)

// Doing is what an agent does, as the model knows it from some moment on: by its requests
// for turns, those that offer a shell tool. It is what states are held against.
type Doing struct {
	At     time.Time
	Asking int  // requests that are being answered
	Called move // the call whose result has not come: of a tool, or a question; moveSay: none
	Failed move // how the last turn was refused, when nothing came after; moveSay: it was not
}

// Doing returns what the model knows now, and Doings all it knew.
func (m *Model) Doing() Doing {
	if all := m.Doings(); len(all) > 0 {
		return all[len(all)-1]
	}
	return Doing{}
}

// Doings returns every change, oldest first.
func (m *Model) Doings() []Doing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.doings)
}

// begin notes that a turn is being answered; what it returns notes that it has been. A
// request shows that what was called before it is over: its result has come, or
// a person broke it off.
func (m *Model) begin(how move) (done func()) {
	m.change(func(d *Doing) { d.Asking, d.Called, d.Failed = d.Asking+1, moveSay, moveSay })
	return func() {
		m.change(func(d *Doing) {
			d.Asking--
			if how.command() != "" || how == moveAsk {
				d.Called = how
			}
			if refusals()[how].status != 0 {
				d.Failed = how
			}
		})
	}
}

func (m *Model) change(do func(*Doing)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var d Doing
	if n := len(m.doings); n > 0 {
		d = m.doings[n-1]
	}
	do(&d)
	d.At = time.Now()
	m.doings = append(m.doings, d)
}
