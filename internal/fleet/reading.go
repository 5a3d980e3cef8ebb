package fleet

// Reading is what the machine was like at one moment, in the few figures that are kept of
// it. What was not seen then is unknown.
type Reading struct {
	At        Instant       `json:"at"`
	CPUs      int           `json:"cpus"`
	Load      Leaf[float64] `json:"load"`         // over one minute
	Total     Leaf[int64]   `json:"total"`        // memory, bytes
	Available Leaf[int64]   `json:"available"`    // memory a new program could still have, bytes
	Swap      Leaf[int64]   `json:"swap"`         // in use, bytes
	Disk      Leaf[float64] `json:"disk_percent"` // of the fullest file system
}

// Read is the reading of a machine that was seen at a moment.
func (h Host) Read(at Instant) Reading {
	out := Reading{At: at, CPUs: h.CPUs, Load: h.Load.One, Total: h.Memory.Total, Available: h.Memory.Available, Swap: h.Swap.Used, Disk: Unknown[float64]("no file system was seen")}
	for _, m := range h.Mounts {
		used, ok := m.UsedPercent.Get()
		if full, known := out.Disk.Get(); ok && (!known || used > full) {
			out.Disk = Known(used)
		}
	}
	return out
}
