package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

// fact is what is known of one receiver.
func factOf(t *testing.T, r *Reporter, name string) fleet.Receiver {
	t.Helper()
	for _, f := range r.Receivers() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("nothing is known of %s", name)
	return fleet.Receiver{}
}

// refusal refuses every message until it is over.
type refusal struct {
	why  string
	over atomic.Bool
}

func refusing(why string) *refusal { return &refusal{why: why} }

func (r *refusal) notify(context.Context, fleet.Message) error {
	if r.over.Load() {
		return nil
	}
	return errors.New(r.why)
}

// What does not arrive is known by its age, and what arrives proves itself.
func TestReceiversAreFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		down := refusing("no route to host")
		dead, well := &someone{name: "dead", do: down.notify}, &someone{name: "well"}
		r := w.reporter([]Route{{Name: "all", To: []string{"dead", "well"}, Priority: fleet.P2}}, dead, well)
		run(t, r, func() {
			if f := factOf(t, r, "dead"); f.Waiting != 0 || f.Barred != "" || f.Proof.IsKnown() {
				t.Errorf("before anything was told: %+v", f)
			}
			w.put(alert("disk", fleet.P1, fleet.AlertFiring), true)
			time.Sleep(3 * time.Minute)
			synctest.Wait()
			f := factOf(t, r, "dead")
			if time.Duration(f.Waiting) < 2*time.Minute || f.Tries < 3 || !strings.Contains(f.Why, "no route to host") || f.Proof.IsKnown() {
				t.Errorf("nothing arrives: %+v", f)
			}
			if f := factOf(t, r, "well"); f.Waiting != 0 || !f.Proof.IsKnown() {
				t.Errorf("all arrives: %+v", f)
			}
			down.over.Store(true)
			time.Sleep(6 * time.Minute)
			synctest.Wait()
			if f := factOf(t, r, "dead"); f.Waiting != 0 || f.Tries != 0 || !f.Proof.IsKnown() {
				t.Errorf("it arrives again: %+v", f)
			}
		})
	})
}

// proven is somebody who can be asked whether he would be heard.
type proven struct {
	*someone
	answer func() error
}

func (p proven) Prove(context.Context) error { return p.answer() }

// A place that says itself that Custos is not in it is known at once, with nothing
// to tell; one that does not answer proves nothing.
func TestProofOfPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var answer atomic.Pointer[error]
		says := func(err error) { answer.Store(&err) }
		r := w.reporter(nil, proven{&someone{name: "room"}, func() error { return *answer.Load() }})
		says(fmt.Errorf("no member of !ops: %w", ErrBarred))
		run(t, r, func() {
			step := func(want string, proof bool) {
				t.Helper()
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				if f := factOf(t, r, "room"); !strings.Contains(f.Barred, want) || (f.Barred == "") != (want == "") || f.Proof.IsKnown() != proof {
					t.Errorf("%+v, want %q", f, want)
				}
			}
			step("no member", false)
			says(errors.New("connection refused"))
			step("no member", false) // silence lets nobody in
			says(nil)
			step("", true)
			says(errors.New("connection refused"))
			step("", true)
		})
	})
}

// Who is told of anything is told that another cannot be told.
func TestMuteIsToldToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		phone, mail := &someone{name: "phone"}, &someone{name: "mail"}
		w.put(alert(muteRule, fleet.P1, fleet.AlertFiring), true)
		r := w.reporter([]Route{{Name: "worst", To: []string{"phone"}, Priority: fleet.P0, Rules: []string{"agent-*"}}, {Name: "all", To: []string{"mail"}, Priority: fleet.P2}}, phone, mail)
		run(t, r, func() {
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(phone.heard()) != 1 || len(mail.heard()) != 1 {
				t.Errorf("the phone heard %d, the mail %d", len(phone.heard()), len(mail.heard()))
			}
		})
	})
}

// full is a ledger that can be read, and not written.
type full struct {
	*world
	broken *atomic.Bool
}

func (f full) Keep(ctx context.Context, to string, told []byte, at fleet.Instant) error {
	if f.broken.Load() {
		return errors.New("database or disk is full")
	}
	return f.world.Keep(ctx, to, told, at)
}

// That nothing can be written down is told all the same: once, to everybody, and
// once when it is over; not again within the hour.
func TestAFullDiskIsTold(t *testing.T) {
	for name, unwritten := range map[string]bool{"the ledger": true, "the passes": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, broken, trouble := newWorld(), atomic.Bool{}, atomic.Bool{}
				setBroken := func(on bool) {
					broken.Store(on && unwritten)
					trouble.Store(on && !unwritten)
				}
				why := func() string {
					if trouble.Load() {
						return "cannot start the plan: database or disk is full"
					}
					return ""
				}
				busy := refusing("busy")
				phone, mail := &someone{name: "phone"}, &someone{name: "mail", do: busy.notify}
				o := Options{Notifiers: []Notifier{phone, mail}, Outbox: w, Memory: full{w, &broken}, History: w, Now: w.now, Host: "h", Trouble: why}
				r := New(o)
				run(t, r, func() {
					w.put(alert("disk", fleet.P1, fleet.AlertFiring), true)
					setBroken(true)
					time.Sleep(70 * time.Second)
					busy.over.Store(true)
					time.Sleep(20 * time.Minute)
					synctest.Wait()
					if n := straights(phone); n != 1 {
						t.Errorf("the phone heard it %d times", n)
					}
					if n := straights(mail); n != 1 {
						t.Errorf("the mail, busy at first, heard it %d times", n)
					}
					setBroken(false)
					time.Sleep(time.Minute)
					setBroken(true)
					time.Sleep(20 * time.Minute)
					synctest.Wait()
					if n := straights(phone); n != 2 { // that it is over
						t.Errorf("the phone heard of it %d times", n)
					}
				})
			})
		})
	}
}

func straights(s *someone) (n int) {
	for _, m := range s.heard() {
		if strings.HasPrefix(m.ID, "straight-") {
			n++
		}
	}
	return n
}
