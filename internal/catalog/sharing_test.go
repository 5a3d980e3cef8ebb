package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/agent"
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

// Who is found is of the table that is asked about, and that is searched once.
func TestWhoIsFoundIsOfItsTable(t *testing.T) {
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	table := func(name string) []fleet.Process {
		return []fleet.Process{{ID: fleet.ProcessID{PID: 7, Start: 1}, Name: name, Args: []string{name}, State: "S"}}
	}
	var d detected
	claude := table("claude")
	first := d.in(claude, kinds)
	if again := d.in(claude, kinds); len(first) != 1 || &again[0] != &first[0] {
		t.Errorf("asked twice: %v, %v", first, again)
	}
	if other := d.in(table("codex"), kinds); len(other) != 1 || other[0].Kind != "codex" {
		t.Errorf("of another table: %v", other)
	}
	if none := d.in(nil, kinds); len(none) != 0 {
		t.Errorf("of none: %v", none)
	}
}
