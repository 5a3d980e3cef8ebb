package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

// Probes that look together read the ledger once; what is asked after something happened,
// or a second later, is read anew, and so is what could not be read. Who acts is never
// answered with what probes share.
func TestProbesThatLookTogetherReadTheLedgerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, reads := &World{lately: &lately{}}, 0
		var err error
		if regs, err := w.registeredLately(t.Context()); err != nil || len(regs) != 0 {
			t.Errorf("without a ledger: %v, %v", regs, err)
		}
		w.Registered = func(context.Context) ([]fleet.Registration, error) {
			reads++
			return []fleet.Registration{{Name: "a", Revision: int64(reads)}}, err
		}
		expect := func(want int) {
			t.Helper()
			if _, err := w.registeredLately(t.Context()); err != nil || reads != want {
				t.Errorf("%d reads, %v; want %d", reads, err, want)
			}
		}
		expect(1)
		expect(1)
		w.lately.forget()
		expect(2)
		time.Sleep(shared)
		expect(3)
		if r, known, err := w.registration(t.Context(), "a"); !known || err != nil || r.Revision != 4 {
			t.Errorf("who acts sees %+v, %v", r, err)
		}
		w.lately.forget()
		err = errors.New("locked")
		if _, got := w.registeredLately(t.Context()); got == nil {
			t.Error("an error was not told")
		}
		err = nil
		expect(6)
	})
}
