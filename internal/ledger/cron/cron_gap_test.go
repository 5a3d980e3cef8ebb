package cron

import (
	"testing"
	"time"
)

// TestCronInTheHourThatIsSkipped: on 28 March 2027 the clocks of Berlin go from
// 2:00 to 3:00. What was due in between is due once, when they have.
func TestCronInTheHourThatIsSkipped(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2027, month, day, hour, minute, 0, 0, berlin)
	}
	gap := at(3, 28, 3, 0)
	for expr, want := range map[string][]time.Time{
		"30 2 * * *":    {at(3, 27, 2, 30), gap, at(3, 29, 2, 30)},
		"*/15 2 28 3 *": {gap},
		"0 3 * * *":     {at(3, 27, 3, 0), gap, at(3, 29, 3, 0)},
		"0 * 28 3 *":    {at(3, 28, 0, 0), at(3, 28, 1, 0), gap, at(3, 28, 4, 0)},
		"30 1 28 3 *":   {at(3, 28, 1, 30)},
	} {
		from, until := at(3, 27, 0, 0).Add(-time.Minute), at(3, 29, 12, 0)
		var next, before []time.Time
		for slot, ok := Next(expr, from); ok && slot.Before(until) && len(next) < 4; slot, ok = Next(expr, slot) {
			next = append(next, slot)
		}
		for slot, ok := Before(expr, until); ok && slot.After(from) && len(before) < 100; slot, ok = Before(expr, slot.Add(-time.Second)) {
			before = append([]time.Time{slot}, before...)
		}
		same(t, expr+", forward", next, want)
		same(t, expr+", backward", before[:min(len(before), len(want))], want)
	}
}

func same(t *testing.T, what string, got, want []time.Time) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
		return
	}
	for i := range got {
		if !got[i].Equal(want[i]) {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}
