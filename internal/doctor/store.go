package doctor

import "custos/internal/fleet"

func judgeStore(e *Examination) verdict {
	switch s := e.Installation.Store; {
	case !s.There && s.Err == "" && e.Pass == nil:
		return cannot(s.Path + " is not there, and whether it was cannot be told: " + unlooked(e))
	case !s.There && s.Err == "" && e.Pass.Past.Amnesia:
		return warn("%s is not there, and was: %s; the next patrol begins a new one", s.Path, e.Pass.Past.Lost).by("custos patrol")
	case !s.There && s.Err == "":
		return ok("there is none yet: it is made by the first patrol")
	case s.Damaged && e.Daemon:
		return bad("%s is damaged: the daemon sets it aside by itself, and begins a new one: %s", s.Path, s.Err).by("custos health")
	case s.Damaged:
		return bad("%s is damaged: the next patrol sets it aside and begins a new one: %s", s.Path, s.Err).by("custos patrol")
	case s.Newer:
		return bad("a newer custos wrote %s: %s", s.Path, s.Err).by("custos version")
	case s.Err != "":
		return bad("%s cannot be read: %s", s.Path, s.Err).by("ls", "-l", s.Path)
	}
	return ok("%s opens, with the schema of this version", e.Installation.Store.Path)
}

func judgeAside(e *Examination) verdict {
	if list := e.Installation.Store.Aside; len(list) > 0 {
		return warn("%s set aside, damaged or replaced: %s", fleet.Counted(len(list), "database"), some(list)).by("ls", "-l", list[0])
	}
	return ok("no database was ever set aside")
}

func judgeMemory(e *Examination) verdict {
	if past := e.Pass.Past; past.Blind != "" {
		return bad("what was done before cannot be read, so nothing is done now: %s", past.Blind)
	}
	return ok("what was done before can be read")
}

// judgePages judges what SQLite says of every page and index of the database.
func judgePages(e *Examination) verdict {
	switch s := e.Installation.Store; {
	case !s.There:
		return ok("there is no database yet")
	case s.Err != "":
		return cannot("the database cannot be read")
	case s.PagesErr != "":
		return cannot(s.PagesErr)
	case len(s.Faults) > 0:
		return bad("%s is damaged: %s", s.Path, some(s.Faults)).by("cp", "-n", s.Path, s.Path+".damaged")
	}
	return ok("every page and index is whole")
}
