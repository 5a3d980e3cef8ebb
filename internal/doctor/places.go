package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// program judges an executable; without it, what is said.
func program(name, without string) func(*Examination) verdict {
	return func(e *Examination) verdict {
		for _, p := range e.Installation.Programs {
			switch {
			case p.Name != name:
			case p.Path == "":
				return bad("it is not found, so %s: %s", without, p.Err).by(remedy(name))
			case p.Err != "":
				return bad("%s does not answer, so %s: %s", p.Path, without, p.Err)
			case p.Version == "":
				return ok("%s", p.Path)
			default:
				return ok("%s, %s", p.Version, p.Path)
			}
		}
		return cannot("nobody looked for it")
	}
}

// remedy is how a missing program comes to be there: ours are built together.
func remedy(name string) string {
	if strings.HasPrefix(name, "custos-") {
		return "make build"
	}
	return "apt-get install " + name
}

// judgePlaces judges whether the places of one sort are what they should be, and ours.
func judgePlaces(sort string) func(*Examination) verdict {
	return func(e *Examination) verdict {
		var list []verdict
		there := 0
		for _, p := range e.Installation.Places {
			if p.Want != sort {
				continue
			}
			if list = append(list, p.judge(e.Installation.UID)); p.Is != "" {
				there++
			}
		}
		if there == 0 {
			return worst(list, "nothing was written yet: they are made when they are needed")
		}
		return worst(list, "%s, all of them ours", fleet.Counted(there, thing(sort)))
	}
}

func (p Place) judge(uid int) verdict {
	switch {
	case p.Err != "":
		return cannot(p.Err)
	case p.Is == "":
		return verdict{}
	case p.Is != p.Want:
		return bad("%s is %s, and no %s", p.Path, thing(p.Is), thing(p.Want)).by("ls", "-ld", p.Path)
	case p.UID != uid:
		return bad("%s belongs to user %d, and not to user %d who looks", p.Path, p.UID, uid).by("ls", "-ld", p.Path)
	case !p.Own:
		return bad("%s cannot be written", p.Path).by("ls", "-ld", p.Path)
	}
	return verdict{}
}

func thing(is string) string {
	if is == "dir" {
		return "folder"
	}
	return is
}

// Open says whether others may change it, or read what is not theirs to read. The
// configuration holds no tokens, and a journal is often kept where a team reads it:
// those may be read.
func (p Place) Open() bool {
	bits := uint32(0o077)
	switch {
	case p.What == "config" || p.What == "journal":
		bits = 0o022
	case p.Want == "socket":
		bits = 0o066
	}
	return p.Is == p.Want && p.Is != "" && !p.Shut && p.Mode&bits != 0
}

func judgeSockets(e *Examination) verdict {
	var list []verdict
	there := 0
	for _, p := range e.Installation.Sockets {
		switch {
		case p.Err != "":
			list = append(list, cannot(p.Err))
		case p.Is == "":
		case p.Is != "socket":
			list = append(list, bad("%s is no socket", p.Path).by("ls", "-l", p.Path))
		case p.UID != e.Installation.UID:
			list = append(list, bad("the socket %s belongs to user %d", p.Path, p.UID).by("ls", "-l", p.Path))
		}
		if p.Is != "" {
			there++
		}
	}
	if there == 0 {
		return worst(list, "there is none now")
	}
	return worst(list, "%s, this user's", fleet.Counted(there, "socket"))
}

func judgeSecrets(e *Examination) verdict {
	var list []verdict
	for _, p := range e.Installation.Secrets {
		what := fmt.Sprintf("%s (%s)", p.Path, p.What)
		switch {
		case p.Err != "":
			list = append(list, cannot(p.Err))
		case p.Is == "":
			list = append(list, bad("%s is not there", what))
		case p.Is != "file":
			list = append(list, bad("%s is no file", what))
		case p.UID != e.Installation.UID && p.UID != 0:
			list = append(list, bad("%s belongs to user %d", what, p.UID).by("ls", "-l", p.Path))
		}
	}
	if len(e.Installation.Secrets) == 0 {
		return ok("custos.toml names no file with a token")
	}
	return worst(list, "%s with a token, this user's", fleet.Counted(len(e.Installation.Secrets), "file"))
}

func judgeListening(e *Examination) verdict {
	var list []verdict
	var well []string
	for _, l := range e.Installation.Listeners {
		what := l.What + " at " + l.Address + ", which "
		switch {
		case l.Loopback:
			well = append(well, what+"only this machine reaches")
		case l.Guard == "":
			list = append(list, bad("%sother machines reach, without a token", what))
		default:
			list = append(list, warn("%sother machines reach; %s", what, l.Guard))
		}
	}
	return worst(list, "%s", cmp.Or(strings.Join(well, "; "), "nothing but unix sockets"))
}

func judgeConfig(e *Examination) verdict {
	c := e.Installation.Config
	switch {
	case c.Err != "":
		return bad("%s", c.Err).by("custos config check")
	case c.Broken != "":
		return bad("what was read before is in force: %s", c.Broken).by("custos config check")
	case !c.Found:
		return ok("there is no %s: the defaults hold", c.File)
	}
	return ok("%s, with every section and rule", c.File)
}

// judgeNamespace says why nothing is removed from within a pid namespace.
func judgeNamespace(e *Examination) verdict {
	unsaid := e.Pass.Snapshot.From.Unsaid
	if len(unsaid) == 0 {
		return ok("nobody who is not to be seen from here is said to work on what is named")
	}
	return warn("in a pid namespace of its own: who is outside is not seen, so that nothing that [%s] name is removed; where nobody outside works on it, say foreign_namespace = false there",
		strings.Join(unsaid, "] and ["))
}

func judgeInForce(e *Examination) verdict {
	switch c := e.Installation.Config; {
	case c.Broken != "" && e.Daemon:
		return warn("what was read before is in force, until the file is mended: then it is taken up by itself").by("custos config check")
	case c.Changed != "" && e.Daemon:
		return warn("the daemon goes by the file as it was when it began: %s", c.Changed).by("custos down && custos up")
	case c.Changed != "":
		return cannot(c.Changed)
	}
	return ok("what is in force is what is in the file")
}
