package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"custos/internal/api"
)

// A daemon writes down what the machine is like as soon as it has seen it, and once a minute:
// the page has it.
func TestTheMachineIsWrittenDown(t *testing.T) {
	w := newTown(t, quickTown)
	var r api.Readings
	var err error
	await(t, func() string { return fmt.Sprint(r, err) }, func() bool {
		r, err = w.client().Readings(t.Context(), "1h")
		return err == nil && len(r.Readings) > 0
	})
	if one := r.Readings[0]; one.Load == nil || one.MemoryTotal == nil || *one.MemoryTotal <= 0 || one.CPUs < 1 || one.At.IsZero() {
		t.Errorf("written down: %+v", one)
	}
	address := w.webAddress()
	b := newBrowser(t, address[:strings.Index(address, "/enter")])
	b.asks("GET", address, nil)
	if status, _, page := b.asks("GET", "/host", nil); status != 200 || !strings.Contains(page, "Memory free: at last") {
		t.Errorf("%d %s", status, page)
	}
}
