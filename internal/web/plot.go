package web

import (
	"fmt"
	"math"
	"strings"
	"time"

	"custos/internal/api"
)

// plot is one value over time, as an SVG that the server draws. Where nothing is known the
// line has a gap: it is never drawn across, and never as zero.
type plot struct {
	ID, Title, Says string // Says is the plot in words
	Path            string // of the line: "d" of an SVG path
	Dots            []dot  // of values that stand alone
	Lines           []tick // across, with their values
	Hours           []tick // along, with their times
	Gaps            []span // in which nothing is known
	Known           bool
}

// The size of a plot, in units of its view box.
const (
	plotWide, plotHigh     = 600.0, 120.0
	plotLeft, plotRight    = 4.0, 4.0
	plotTop, plotBottom    = 14.0, 18.0
	gapAfter               = 150 * time.Second // readings are a minute apart: two are missing
	linesAcross, mostHours = 2, 6
)

type dot struct{ X, Y string }

type tick struct{ At, Text string }

type span struct{ X, Width string }

// sample is a value at a moment; nil: it was not seen.
type sample struct {
	At    time.Time
	Value *float64
}

// series is what is plotted: the values, and how one is written.
type series struct {
	id, title string
	samples   []sample
	most      float64 // what the top of the plot is at least
	write     func(float64) string
}

// draw makes the plot of a series between two moments.
func draw(s series, from, to time.Time) plot {
	p := plot{ID: s.id, Title: s.title}
	top, known := s.top()
	if known == 0 || !to.After(from) {
		p.Says = s.title + ": nothing is known of this time."
		p.Gaps = []span{{unit(plotLeft), unit(plotWide - plotLeft - plotRight)}}
		return p
	}
	p.Known = true
	x := func(t time.Time) float64 {
		return plotLeft + (plotWide-plotLeft-plotRight)*float64(t.Sub(from))/float64(to.Sub(from))
	}
	y := func(v float64) float64 {
		return plotTop + (plotHigh-plotTop-plotBottom)*(1-math.Max(0, math.Min(v/top, 1)))
	}
	p.Path, p.Dots = s.line(x, y)
	p.Gaps = s.gaps(from, to, x)
	for i := range linesAcross + 1 {
		v := top * float64(i) / linesAcross
		p.Lines = append(p.Lines, tick{unit(y(v)), s.write(v)})
	}
	p.Hours = hours(from, to, x)
	p.Says = s.says(len(p.Gaps))
	return p
}

// top is the value at the top of the plot, and how many values there are.
func (s series) top() (top float64, known int) {
	top = s.most
	for _, one := range s.samples {
		if one.Value != nil {
			top, known = math.Max(top, *one.Value), known+1
		}
	}
	if top <= 0 {
		top = 1
	}
	return top, known
}

// line is the path through the values, broken where one is missing.
func (s series) line(x func(time.Time) float64, y func(float64) float64) (string, []dot) {
	var path strings.Builder
	var dots []dot
	for _, run := range s.runs() {
		if len(run) == 1 {
			dots = append(dots, dot{unit(x(run[0].At)), unit(y(*run[0].Value))})
			continue
		}
		for i, one := range thinned(run, x) {
			letter := "L"
			if i == 0 {
				letter = "M"
			}
			fmt.Fprintf(&path, "%s%s %s", letter, unit(x(one.At)), unit(y(*one.Value)))
		}
	}
	return path.String(), dots
}

// thinned leaves of what lies in one unit of width the lowest and the highest: no peak is lost.
func thinned(run []sample, x func(time.Time) float64) (out []sample) {
	for len(run) > 0 {
		column, low, high, n := math.Floor(x(run[0].At)), 0, 0, 0
		for ; n < len(run) && math.Floor(x(run[n].At)) == column; n++ {
			if *run[n].Value < *run[low].Value {
				low = n
			}
			if *run[n].Value > *run[high].Value {
				high = n
			}
		}
		out = append(out, run[min(low, high)])
		if low != high {
			out = append(out, run[max(low, high)])
		}
		run = run[n:]
	}
	return out
}

// runs are the values that follow each other without a gap.
func (s series) runs() (out [][]sample) {
	var last time.Time
	for _, one := range s.samples {
		if one.Value == nil {
			last = time.Time{}
			continue
		}
		if last.IsZero() || one.At.Sub(last) > gapAfter {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], one)
		last = one.At
	}
	return out
}

// gaps are the times between two moments of which nothing is known.
func (s series) gaps(from, to time.Time, x func(time.Time) float64) (out []span) {
	end := from
	gap := func(until time.Time) {
		if until.Sub(end) > gapAfter {
			out = append(out, span{unit(x(end)), unit(x(until) - x(end))})
		}
	}
	for _, run := range s.runs() {
		gap(run[0].At)
		end = run[len(run)-1].At
	}
	gap(to)
	return out
}

// hours are the times along the plot: whole hours, as many as there is room for.
func hours(from, to time.Time, x func(time.Time) float64) (out []tick) {
	step := time.Hour
	for to.Sub(from)/step > mostHours {
		step *= 2
	}
	for t := from.UTC().Truncate(step).Add(step); t.Before(to); t = t.Add(step) {
		out = append(out, tick{unit(x(t)), t.Format("15:04")})
	}
	return out
}

// says is the plot in words, for who does not see it.
func (s series) says(gaps int) string {
	low, high, last := math.Inf(1), math.Inf(-1), 0.0
	for _, one := range s.samples {
		if one.Value != nil {
			low, high, last = math.Min(low, *one.Value), math.Max(high, *one.Value), *one.Value
		}
	}
	out := fmt.Sprintf("%s: at last %s, between %s and %s.", s.title, s.write(last), s.write(low), s.write(high))
	if gaps > 0 {
		out += " Nothing is known of " + plural(gaps, "part", "parts") + " of this time."
	}
	return out
}

// unit is a length in a view box.
func unit(v float64) string {
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.1f", v), "0"), ".")
}

// plots are those of the machine.
func plots(r api.Readings) []plot {
	whole := func(get func(api.Reading) *int64) []sample {
		return samples(r, func(one api.Reading) *float64 {
			n := get(one)
			if n == nil {
				return nil
			}
			v := float64(*n)
			return &v
		})
	}
	var memory, cpus float64
	for _, one := range r.Readings {
		if one.MemoryTotal != nil {
			memory = float64(*one.MemoryTotal)
		}
		cpus = float64(one.CPUs)
	}
	size := func(v float64) string { return api.Size(int64(v)) }
	var out []plot
	for _, s := range []series{
		{"memory", "Memory free", whole(func(one api.Reading) *int64 { return one.MemoryAvailable }), memory, size},
		{"swap", "Swap used", whole(func(one api.Reading) *int64 { return one.SwapUsed }), 1 << 20, size},
		{"load", "Load", samples(r, func(one api.Reading) *float64 { return one.Load }), cpus, func(v float64) string { return fmt.Sprintf("%.1f", v) }},
		{"disk", "Fullest disk", samples(r, func(one api.Reading) *float64 { return one.DiskPercent }), 100, func(v float64) string { return fmt.Sprintf("%.0f %%", v) }},
	} {
		out = append(out, draw(s, r.Since, r.At))
	}
	return out
}

// samples are the values of readings.
func samples(r api.Readings, get func(api.Reading) *float64) (out []sample) {
	for _, one := range r.Readings {
		out = append(out, sample{one.At, get(one)})
	}
	return out
}
