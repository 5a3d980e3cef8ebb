package catalog

import (
	"custos/internal/act"
	"custos/internal/act/beadwrite"
	beadprobe "custos/internal/observe/beads"
	"custos/internal/sys/beads"
)

// beadMakers lists the actions on beads.
func beadMakers() (out []actionMaker) {
	for _, do := range beadwrite.Names() {
		out = append(out, actionMaker{do, "beads", func(w *World) (act.Action, error) {
			o, err := w.beadTrackers()
			return beadwrite.New(do, o), err
		}})
	}
	return out
}

// beadTrackers lists the trackers that the probe looks at, to be written to.
func (w *World) beadTrackers() (beadwrite.Options, error) {
	o := beadwrite.Options{Trackers: map[string][]beadwrite.Writer{}}
	section := beadprobe.Options{Expand: w.Config.Expand, Now: w.Now, Getenv: w.Getenv}
	if err := w.Config.Section("beads", &section); err != nil {
		return o, err
	}
	p, err := beadprobe.New(section)
	if err != nil {
		return o, err
	}
	return o, p.Trackers(func(project string, at beads.Options) error {
		writer, err := beads.NewWriter(at)
		o.Trackers[project] = append(o.Trackers[project], writer)
		return err
	})
}
