package installation

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"custos/internal/doctor"
	"custos/internal/fleet"
)

// Landmarks are the folders and files of Custos as facts: what the doctor looks at,
// every patrol judges too. A path is listed once, as the first thing that it is for.
func (o Options) Landmarks() []fleet.Landmark {
	var out []fleet.Landmark
	for _, p := range o.places() {
		if p.Is != "" || p.Err != "" {
			out = append(out, landmarkOf(p))
		}
	}
	for _, h := range o.hookFacts() {
		if len(h.Events) > 0 { // settings without hooks of ours are not ours to judge
			out = append(out, settingsOf(h))
		}
	}
	slices.SortStableFunc(out, func(a, b fleet.Landmark) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(out, func(a, b fleet.Landmark) bool { return a.Path == b.Path })
}

func landmarkOf(p doctor.Place) fleet.Landmark {
	l := fleet.Landmark{Path: p.Path, What: p.What, Is: p.Is, Owner: ownerOf(p), File: fleet.FileID{Device: p.File.Device, Inode: p.File.Inode}, Mode: uint64(p.Mode),
		Open: fleet.Known(p.Open()), Hooks: fleet.Known("")}
	switch {
	case p.Err != "":
		l.Open = fleet.Unknown[bool](p.Err)
	case p.Is != p.Want:
		l.Open = fleet.Unknown[bool]("it is no " + p.Want)
	}
	return l
}

// ownerOf says whose a place is: custos.toml names the files of tokens.
func ownerOf(p doctor.Place) fleet.Owner {
	switch {
	case p.Err != "" || p.UID != os.Getuid():
		return fleet.OwnerForeign
	case p.IsToken():
		return fleet.OwnerConfigured
	}
	return fleet.OwnerCustos
}

// settingsOf are settings with hooks of ours: what others may read of them is not ours to say.
func settingsOf(h doctor.HookFacts) fleet.Landmark {
	p := lookAt(place{"hooks of " + h.Kind, fleet.RawPath(h.File), "file"})
	l := landmarkOf(p)
	l.Kind, l.File, l.Open, l.Hooks = h.Kind, p.File, fleet.Known(false), fleet.Known(h.Wrong())
	if l.Is != "file" {
		l.Hooks = fleet.Unknown[string](cmp.Or(p.Err, "it is no file"))
	}
	return l
}
