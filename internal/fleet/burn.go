package fleet

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// SpendPoint is how much was used in all until a moment.
type SpendPoint struct {
	At   time.Time
	Used float64
}

// fewestPoints is how many points say anything of a rate; mostPoints how many are looked at: the
// newest. Of n points there are n*(n-1)/2 pairs.
const (
	fewestPoints = 3
	mostPoints   = 120
)

// BurnRate is how much is used in an hour, unknown for fewer than three moments: the median of the slopes between
// every two points (Theil and Sen), after steps that are far steeper than the others were cut to what those are. So one huge
// prompt is no rate, and neither is a pause. It is never below 0. Points may come in any order.
func BurnRate(points []SpendPoint) Leaf[float64] {
	list := slices.DeleteFunc(slices.Clone(points), func(p SpendPoint) bool { return math.IsNaN(p.Used) || math.IsInf(p.Used, 0) })
	slices.SortFunc(list, func(a, b SpendPoint) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Used, b.Used)) })
	list = slices.CompactFunc(list, func(a, b SpendPoint) bool { return a.At.Equal(b.At) })
	list = list[max(0, len(list)-mostPoints):]
	if len(list) < fewestPoints {
		return Unknown[float64]("too little was seen to tell a rate")
	}
	used, slopes := evened(list), []float64(nil)
	for i, b := range list {
		for j, a := range list[:i] {
			slopes = append(slopes, (used[i]-used[j])/b.At.Sub(a.At).Hours())
		}
	}
	return Known(median(slopes))
}

// evened is what was used until each point, counted from 0, when no step was steeper than most: above the third
// quarter of those in which anything was used, by three times what lies between the quarters.
func evened(list []SpendPoint) []float64 {
	var steps, some []float64
	for i, b := range list[1:] {
		step := max(0, (b.Used-list[i].Used)/b.At.Sub(list[i].At).Hours())
		if steps = append(steps, step); step > 0 {
			some = append(some, step)
		}
	}
	fence := 0.0
	if n := len(some); n > 0 {
		slices.Sort(some)
		low, high := some[n/4], some[(n-1)*3/4]
		fence = high + 3*(high-low)
	}
	used := make([]float64, len(list))
	for i, step := range steps {
		used[i+1] = used[i] + min(step, fence)*list[i+1].At.Sub(list[i].At).Hours()
	}
	return used
}

// TimeToLimit is how long it takes at a rate (of one hour) until a limit is reached: 0 when it is; unknown where
// the rate is, or where nothing is used. A time beyond ten years is none.
func TimeToLimit(used, limit float64, rate Leaf[float64]) Leaf[Duration] {
	perHour, known := rate.Get()
	switch {
	case math.IsNaN(used) || math.IsNaN(limit):
		return Unknown[Duration]("what was used is not known")
	case used >= limit:
		return Known(Duration(0))
	case !known:
		return Unknown[Duration](rate.Why())
	case perHour <= 0 || (limit-used)/perHour > 10*365*24:
		return Unknown[Duration]("at this rate it is not reached")
	}
	return Known(Duration((limit - used) / perHour * float64(time.Hour)))
}

// median sorts its list.
func median(list []float64) float64 {
	slices.Sort(list)
	n := len(list)
	if n%2 == 1 {
		return list[n/2]
	}
	return list[n/2-1]/2 + list[n/2]/2
}
