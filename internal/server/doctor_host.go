package server

import (
	"time"

	"custos/internal/fleet"
)

// packed are file systems that are full by their nature.
func packed(m fleet.Mount) bool { return m.Type == "squashfs" || m.Type == "iso9660" }

func judgeDisk(e *Examination) verdict {
	return eachMount(e, func(m fleet.Mount) verdict {
		switch used, known := m.UsedPercent.Get(); {
		case packed(m):
		case !known:
			return cannot(m.Path + ": " + m.UsedPercent.Why())
		case used > diskFull:
			return bad("%s is %.0f %% full, %s left", m.Path, used, leafSize(m.Available)).by("custos plan").healed("disk-pressure", mount(m))
		case used > diskHigh:
			return warn("%s is %.0f %% full, %s left", m.Path, used, leafSize(m.Available)).by("custos plan").healed("disk-pressure", mount(m))
		}
		return verdict{}
	}, "%s, none more than %.0f %% full", diskHigh)
}

func judgeInodes(e *Examination) verdict {
	return eachMount(e, func(m fleet.Mount) verdict {
		switch used, known := m.InodesPercent.Get(); {
		case packed(m):
		case !known:
			return cannot(m.Path + ": " + m.InodesPercent.Why())
		case used > inodesHigh:
			return bad("%s has used %.0f %% of its inodes", m.Path, used).by("df", "-i", m.Path)
		}
		return verdict{}
	}, "%s, none with more than %.0f %% of its inodes used", inodesHigh)
}

func eachMount(e *Examination, judge func(fleet.Mount) verdict, well string, limit float64) verdict {
	host := e.Pass.Snapshot.Host
	if v := part(host.Sight, ""); v.state != "" {
		return v
	}
	if len(host.Value.Mounts) == 0 {
		return cannot("no file system was seen")
	}
	var list []verdict
	for _, m := range host.Value.Mounts {
		list = append(list, judge(m))
	}
	return worst(list, well, fleet.Counted(len(host.Value.Mounts), "file system"), limit)
}

func judgeClock(e *Examination) verdict {
	self := e.Pass.Snapshot.Self
	if v := part(self.Sight, ""); v.state != "" {
		return v
	}
	behind, known := self.Value.ClockBehind.Get()
	if !known {
		return cannot(self.Value.ClockBehind.Why())
	}
	if behind {
		return bad("the clock is behind the newest record: whatever depends on time is withheld").by("date -u")
	}
	return ok("it is ahead of every record")
}

// judgeSkew compares our clock with those of the forges.
func judgeSkew(e *Examination) verdict {
	forge := e.Pass.Snapshot.Forge
	if v := part(forge.Sight, "there is no other clock to compare with"); v.state != "" {
		return v
	}
	var list []verdict
	for _, p := range forge.Value.Projects {
		switch d, known := p.Skew.Get(); {
		case !known:
			list = append(list, cannot(p.Name+": "+p.Skew.Why()))
		case time.Duration(d).Abs() > skewMost:
			list = append(list, warn("the clock of %s differs by %s", p.URL, d).by("date -u"))
		}
	}
	return worst(list, "it agrees with the forges' to %s", skewMost)
}

func mount(m fleet.Mount) fleet.Subject { return fleet.Subject{Kind: fleet.KindMount, Name: m.Path} }
