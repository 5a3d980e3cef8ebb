package installation

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// Landmarks are the folders and files of Custos as facts: what the doctor looks at,
// every patrol judges too. A path is told once, as the first thing that it is for.
func (o Options) Landmarks() []fleet.Landmark {
	places, sockets, secrets := o.places()
	var out []fleet.Landmark
	for _, p := range slices.Concat(places, sockets, secrets) {
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
	l := fleet.Landmark{Path: p.Path, What: p.What, Is: p.Is, Owner: ownerOf(p), File: p.File, Mode: uint64(p.Mode),
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
	case strings.HasPrefix(p.What, "["):
		return fleet.OwnerConfigured
	}
	return fleet.OwnerCustos
}

func settingsOf(h doctor.HookFacts) fleet.Landmark {
	l := fleet.Landmark{Path: h.File, What: "hooks of " + h.Kind, Is: "file", Kind: h.Kind, Owner: fleet.OwnerForeign, Open: fleet.Known(false), Hooks: fleet.Known(h.Wrong())}
	real, err := filepath.EvalSymlinks(fleet.RawPath(h.File))
	if err != nil {
		l.Hooks = fleet.Unknown[string](fleet.Line(err.Error(), 200))
		return l
	}
	info, err := files.Lstat(real)
	if err != nil {
		l.Hooks = fleet.Unknown[string](fleet.Line(err.Error(), 200))
		return l
	}
	if l.File, l.Mode = fleet.FileID(info.Identity), uint64(info.Mode); int(info.UID) == os.Getuid() {
		l.Owner = fleet.OwnerCustos // our lines in it are
	}
	return l
}
