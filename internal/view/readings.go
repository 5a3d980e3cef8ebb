package view

import (
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Readings is what is kept of the machine between two moments. What a clock that was set
// back has left behind the present is left out.
func Readings(list []fleet.Reading, since, now fleet.Instant) api.Readings {
	out := api.Readings{At: now.Wall.UTC(), Since: since.Wall.UTC(), Readings: make([]api.Reading, 0, len(list))}
	for _, r := range list {
		if r.At.Wall.After(now.Wall.Add(time.Minute)) {
			continue
		}
		out.Readings = append(out.Readings, api.Reading{At: r.At.Wall.UTC(), CPUs: r.CPUs, Load: pointer(r.Load),
			MemoryTotal: pointer(r.Total), MemoryAvailable: pointer(r.Available), SwapUsed: pointer(r.Swap), DiskPercent: pointer(r.Disk)})
	}
	return out
}
