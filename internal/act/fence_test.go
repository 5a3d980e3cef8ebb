package act

import (
	"context"
	"errors"
	"strings"
	"testing"

	"custos/internal/fleet"
)

type fencedError string

func (e fencedError) Error() string { return string(e) }
func (e fencedError) Fenced() bool  { return true }

type mayKey struct{}

// write is one write to a server, as a client makes it.
func write(ctx context.Context) error {
	if may, is := ctx.Value(mayKey{}).(func() error); is {
		return may()
	}
	return errors.New("nobody was asked")
}

// TestWhatIsDoneByALease: it is asked for when the action begins and at each write, and what it does not
// let through is refused, or in doubt when something was written before.
func TestWhatIsDoneByALease(t *testing.T) {
	for name, c := range map[string]struct {
		why    func(n int, fresh bool) string // at the n-th question, from 1
		start  error
		writes int
		fenced bool // where it is done
		status fleet.ResultStatus
		want   string
		ran    int
	}{
		"held throughout":           {why: func(int, bool) string { return "" }, writes: 2, status: fleet.ResultDone, ran: 1},
		"lost before it begins":     {why: func(int, bool) string { return "box2 holds its lease" }, status: fleet.ResultRefused, want: "box2 holds its lease"},
		"lost while it looks":       {why: from(2), writes: 1, status: fleet.ResultRefused, want: "lost"},
		"the ledger knows":          {why: func(int, bool) string { return "" }, start: fencedError("epoch 3 is over"), status: fleet.ResultRefused, want: "epoch 3 is over"},
		"lost before the write":     {why: from(3), writes: 1, status: fleet.ResultRefused, want: "lost", ran: 1},
		"lost between two writes":   {why: from(4), writes: 2, status: fleet.ResultInDoubt, want: "after 1 write: lost", ran: 1},
		"too little left":           {why: func(_ int, fresh bool) string { return map[bool]string{true: "too little is left"}[fresh] }, writes: 1, status: fleet.ResultRefused, want: "too little is left"},
		"too little left, fenced":   {why: func(_ int, fresh bool) string { return map[bool]string{true: "too little is left"}[fresh] }, writes: 1, fenced: true, status: fleet.ResultDone, ran: 1},
		"it panics to be asked":     {why: func(int, bool) string { panic("boom") }, status: fleet.ResultRefused, want: "it cannot be told whether this host holds its lease"},
		"nothing is written, fails": {why: func(int, bool) string { return "" }, writes: -1, status: fleet.ResultFailed, want: "EIO", ran: 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			f, m := &fake{able: able(true)}, &memory{start: func(int) error { return c.start }}
			f.able.Fenced = c.fenced
			f.do = func(ctx context.Context, _ fleet.Action) error {
				if c.writes < 0 {
					return errors.New("EIO")
				}
				for range c.writes {
					if err := write(ctx); err != nil {
						return err
					}
				}
				return nil
			}
			a := deed("a1", "x")
			a.Fence = &fleet.Fence{Key: "k", Epoch: 3}
			r := carryThis(t, a, f, m, Options{
				Lease: func(got fleet.Fence, fresh bool) string {
					if got != *a.Fence {
						t.Errorf("asked for %+v", got)
					}
					asked++
					return c.why(asked, fresh)
				},
				Fenced: func(ctx context.Context, may func() error) context.Context {
					return context.WithValue(ctx, mayKey{}, may)
				},
			})
			if r.Status != c.status || !strings.Contains(r.Why, c.want) || f.ran != c.ran {
				t.Errorf("%s %q, done %d times; want %s %q, %d", r.Status, r.Why, f.ran, c.status, c.want, c.ran)
			}
		})
	}
}

// from says no from the n-th question on.
func from(n int) func(int, bool) string {
	return func(at int, _ bool) string { return map[bool]string{true: "lost"}[at >= n] }
}

// TestWithoutLeasesNothingIsDoneByOne: an action of another time, when there were leases.
func TestWithoutLeasesNothingIsDoneByOne(t *testing.T) {
	f, m := &fake{able: able(true)}, &memory{}
	a := deed("a1", "x")
	a.Fence = &fleet.Fence{Key: "k", Epoch: 3}
	if r := carryThis(t, a, f, m, Options{}); r.Status != fleet.ResultRefused || f.ran != 0 {
		t.Errorf("%s %q, done %d times", r.Status, r.Why, f.ran)
	}
}
