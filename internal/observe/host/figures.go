package host

import (
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
)

// measure turns an answer of statfs into figures, as df does: what is kept for
// root counts as neither used nor available, and percentages are rounded up.
func measure(m *fleet.Mount, st unix.Statfs_t) {
	unit := st.Frsize
	if unit == 0 {
		unit = st.Bsize
	}
	used := st.Blocks - min(st.Bfree, st.Blocks)
	m.Total = fleet.Known(int64(st.Blocks) * unit)
	m.Available = fleet.Known(int64(st.Bavail) * unit)
	m.UsedPercent = fleet.Known(percent(used, used+st.Bavail))
	m.InodesPercent = fleet.Known(percent(st.Files-min(st.Ffree, st.Files), st.Files))
}

// percent is part of whole, rounded up; 0 of nothing is 0.
func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	n := part * 100 / whole
	if part*100%whole != 0 {
		n++
	}
	return float64(n)
}

func blind(m *fleet.Mount, why string) {
	m.Total, m.Available = fleet.Unknown[int64](why), fleet.Unknown[int64](why)
	m.UsedPercent, m.InodesPercent = fleet.Unknown[float64](why), fleet.Unknown[float64](why)
	m.TimeToFull = fleet.Unknown[fleet.Duration](why)
}

// isEmpty says that the file system has no room by nature: a view of something.
func isEmpty(m fleet.Mount) bool {
	total, known := m.Total.Get()
	return known && total == 0
}

// A forecast needs this much past: five minutes, so that one download is no
// trend, and as many looks as make a line. It looks back half an hour at the
// usual pace, so that an old trend is forgotten.
const (
	minSpan    = 5 * time.Minute
	minSamples = 5
	maxSamples = 120
	farOff     = 365 * 24 * time.Hour
)

// history is what was available on one file system, look by look. Only the
// goroutine that asks this file system uses it.
type history struct {
	samples []sample
}

type sample struct {
	up        time.Duration
	available float64
}

// add notes a sample, and returns when nothing will be left at the pace of all.
func (h *history) add(up time.Duration, available int64) fleet.Leaf[fleet.Duration] {
	h.samples = append(h.samples, sample{up, float64(available)})
	if extra := len(h.samples) - maxSamples; extra > 0 {
		h.samples = append(h.samples[:0], h.samples[extra:]...)
	}
	if len(h.samples) < minSamples || up-h.samples[0].up < minSpan {
		return fleet.Unknown[fleet.Duration]("it has not been watched for long enough")
	}
	slope := h.slope()
	if slope >= 0 {
		return fleet.Unknown[fleet.Duration]("it is not filling")
	}
	left := float64(available) / -slope // seconds
	if left > farOff.Seconds() {
		return fleet.Unknown[fleet.Duration]("it will not be full within a year")
	}
	return fleet.Known(fleet.Duration(time.Duration(left) * time.Second))
}

// slope is that of the straight line through all samples by least squares, in
// bytes a second.
func (h *history) slope() float64 {
	n := float64(len(h.samples))
	var meanT, meanA float64
	for _, s := range h.samples {
		meanT += s.up.Seconds() / n
		meanA += s.available / n
	}
	var covariance, variance float64
	for _, s := range h.samples {
		dt := s.up.Seconds() - meanT
		covariance += dt * (s.available - meanA)
		variance += dt * dt
	}
	if variance == 0 {
		return 0
	}
	return covariance / variance
}
