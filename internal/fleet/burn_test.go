package fleet

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// spent are points of which one is ten minutes after the other.
func spent(used ...float64) (list []SpendPoint) {
	for i, u := range used {
		list = append(list, SpendPoint{At: time.Date(2026, 10, 25, 0, 10*i, 0, 0, time.UTC), Used: u})
	}
	return list
}

func TestBurnRate(t *testing.T) {
	same := spent(1, 2, 3)
	same[1].At, same[2].At = same[0].At, same[0].At
	for name, c := range map[string]struct {
		points []SpendPoint
		want   float64 // -1: unknown
	}{
		"nothing":                    {nil, -1},
		"two points":                 {spent(1, 2), -1},
		"one moment":                 {same, -1},
		"steady":                     {spent(0, 1, 2, 3, 4), 6},
		"one huge prompt":            {spent(0, 1, 2, 3, 103, 104, 105, 106, 107), 6},
		"a pause":                    {spent(0, 1, 2, 3, 4, 4, 5, 6, 7, 8), 5.3},
		"one turn in three steps":    {spent(0, 10, 10, 10, 20, 20, 20, 30, 30, 30, 40), 20},
		"nothing is used":            {spent(5, 5, 5, 5), 0},
		"less than before":           {spent(9, 8, 7, 6), 0},
		"one that cannot be counted": {append(spent(0, 1, 2, 3), SpendPoint{Used: math.NaN()}), 6},
	} {
		got, known := BurnRate(c.points).Get()
		if known != (c.want >= 0) || known && math.Abs(got-c.want) > c.want/10 {
			t.Errorf("%s: %v an hour (known: %t); want %v", name, got, known, c.want)
		}
	}
}

// A fifth of the steps may be anything: the rate is near that of the others. The order is no matter.
func TestBurnRateIsRobust(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rate := rapid.Float64Range(0.1, 1000).Draw(r, "rate")
		steps := make([]float64, rapid.IntRange(10, 60).Draw(r, "steps"))
		for i := range steps {
			steps[i] = rate / 6
		}
		for range len(steps) / 5 {
			steps[rapid.IntRange(0, len(steps)-1).Draw(r, "which")] = rapid.Float64Range(0, 1e12).Draw(r, "off")
		}
		used := []float64{0}
		for i, step := range steps {
			used = append(used, used[i]+step)
		}
		list := spent(used...)
		got, _ := BurnRate(list).Get()
		if math.Abs(got-rate) > rate/2 {
			r.Fatalf("%v an hour; want about %v", got, rate)
		}
		if again, _ := BurnRate(rapid.Permutation(list).Draw(r, "order")).Get(); again != got {
			r.Fatalf("%v in one order, %v in another", got, again)
		}
	})
}

func TestTimeToLimit(t *testing.T) {
	for name, c := range map[string]struct {
		used, limit float64
		rate        Leaf[float64]
		want        time.Duration // -1: unknown
	}{
		"as far as it goes": {50, 100, Known(10.0), 5 * time.Hour},
		"it is reached":     {100, 100, Unknown[float64]("no"), 0},
		"it is passed":      {101, 100, Known(0.0), 0},
		"no rate":           {50, 100, Unknown[float64]("no"), -1},
		"nothing is used":   {50, 100, Known(0.0), -1},
		"never":             {0, 1e18, Known(1e-9), -1},
		"unknown use":       {math.NaN(), 100, Known(1.0), -1},
	} {
		got, known := TimeToLimit(c.used, c.limit, c.rate).Get()
		if known != (c.want >= 0) || known && time.Duration(got) != c.want {
			t.Errorf("%s: %v (known: %t); want %v", name, time.Duration(got), known, c.want)
		}
	}
}
