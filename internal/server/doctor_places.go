package server

import (
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
		return worst(list, "%s, all of them ours", counted(there, thing(sort)))
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

// judgeOthers judges whether others may change what is ours, or read it.
func judgeOthers(sort string) func(*Examination) verdict {
	return func(e *Examination) verdict {
		var list []verdict
		for _, p := range e.Installation.Places {
			if p.Want == sort {
				list = append(list, p.others())
			}
		}
		return worst(list, "others can neither read nor change them")
	}
}

func (p Place) others() verdict {
	ours := "600"
	if p.Is == "dir" {
		ours = "700"
	}
	switch {
	case p.Err != "":
		return cannot(p.Err)
	case p.Is == "" || p.Is != p.Want: // structure tells of it
		return verdict{}
	case p.Shut || p.Mode&0o077 == 0:
		return verdict{}
	case p.Mode&0o022 != 0:
		return bad("others may change %s (mode %#o)", p.Path, p.Mode).by("chmod", ours, p.Path)
	case p.Config(): // which need not be secret: tokens are not in it
		return verdict{}
	}
	return warn("others may read %s (mode %#o)", p.Path, p.Mode).by("chmod", ours, p.Path)
}

// Config says whether it is custos.toml.
func (p Place) Config() bool { return p.What == "config" }

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
		case !p.Shut && p.Mode&0o066 != 0:
			list = append(list, bad("others reach the socket %s (mode %#o)", p.Path, p.Mode).by("chmod", "600", p.Path))
		}
		if p.Is != "" {
			there++
		}
	}
	if there == 0 {
		return worst(list, "there is none now")
	}
	return worst(list, "%s, for this user alone", counted(there, "socket"))
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
		case p.Mode&0o077 != 0 && !p.Shut:
			list = append(list, bad("others may read %s (mode %#o)", what, p.Mode).by("chmod", "600", p.Path))
		}
	}
	if len(e.Installation.Secrets) == 0 {
		return ok("custos.toml names no file with a token")
	}
	return worst(list, "%s with a token, for this user alone", counted(len(e.Installation.Secrets), "file"))
}

func judgeListening(e *Examination) verdict {
	i := e.Installation
	switch {
	case i.Listen == "":
		return ok("nothing but unix sockets")
	case i.Loopback:
		return ok("metrics at %s, which only this machine reaches", i.Listen)
	case !i.Guarded:
		return bad("metrics at %s, which other machines reach, without a token", i.Listen)
	}
	return warn("metrics at %s, which other machines reach; a token guards them", i.Listen)
}

func judgeConfig(e *Examination) verdict {
	c := e.Installation.Config
	switch {
	case c.Err != "":
		return bad("%s", c.Err).by("custos config check")
	case e.NoInstallation != "":
		return cannot(e.NoInstallation)
	case !c.Found:
		return ok("there is no %s: the defaults hold", c.File)
	}
	return ok("%s, with every section and rule", c.File)
}

func judgeInForce(e *Examination) verdict {
	switch c := e.Installation.Config; {
	case c.Changed != "" && e.Daemon:
		return warn("the daemon goes by the file as it was when it began: %s", c.Changed).by("custos down && custos up")
	case c.Changed != "":
		return cannot(c.Changed)
	}
	return ok("what is in force is what is in the file")
}

func judgeStore(e *Examination) verdict {
	switch s := e.Installation.Store; {
	case !s.There && s.Err == "":
		return ok("there is none yet: it is made by the first patrol")
	case s.Damaged:
		return bad("%s is damaged: the next patrol sets it aside and begins a new one: %s", s.Path, s.Err).by("custos patrol")
	case s.Newer:
		return bad("a newer custos wrote %s: %s", s.Path, s.Err).by("custos version")
	case s.Err != "":
		return bad("%s cannot be read: %s", s.Path, s.Err).by("ls", "-l", s.Path)
	default:
		return ok("%s opens, with the schema of this version", s.Path)
	}
}

func judgeRows(e *Examination) verdict {
	switch s := e.Installation.Store; {
	case !s.There:
		return ok("there is no database yet")
	case s.Err != "":
		return cannot("the database cannot be read")
	case s.AsideErr != "":
		return cannot(s.AsideErr)
	case s.Rows > 0:
		return warn("%s could not be read and lie in the table set_aside, the newest of %s", counted(s.Rows, "row"), s.RowTable).by("custos feed")
	}
	return ok("no row had to be set aside")
}

func judgeAside(e *Examination) verdict {
	if list := e.Installation.Store.Aside; len(list) > 0 {
		return warn("%s: %s", counted(len(list), "damaged database")+" set aside", some(list)).by("ls", "-l", list[0])
	}
	return ok("no database was ever set aside")
}

func judgeHooks(e *Examination) verdict {
	var list []verdict
	var installed []string
	for _, h := range e.Installation.Hooks {
		list = append(list, h.judge())
		if len(h.Events) > 0 {
			installed = append(installed, h.Kind+" in "+h.File)
		}
	}
	if len(installed) == 0 {
		return worst(list, "in no settings: agents that Custos starts get theirs on the command line")
	}
	return worst(list, "%s", strings.Join(installed, "; "))
}

func (h HookFacts) judge() verdict {
	switch {
	case h.Err != "":
		return cannot("the settings of " + h.Kind + " cannot be read: " + h.Err)
	case len(h.Events) == 0:
		return verdict{}
	case h.Hook == "":
		return bad("%s calls hooks in %s, and custos-hook is not there", h.Kind, h.File).by("custos", "hooks", "uninstall", h.Kind)
	case len(h.Missing) > 0:
		return warn("%s lacks %s in %s", h.Kind, strings.Join(h.Missing, ", "), h.File).by("custos", "hooks", "install", h.Kind)
	case h.Command != "" && !strings.Contains(h.Command, h.Hook):
		return warn("%s calls another custos-hook in %s: %s", h.Kind, h.File, h.Command).by("custos", "hooks", "install", h.Kind)
	}
	return verdict{}
}

// judgeUndone judges whether uninstall would leave the settings as they were.
func judgeUndone(e *Examination) verdict {
	var list []verdict
	for _, h := range e.Installation.Hooks {
		switch {
		case h.Err != "":
			list = append(list, cannot("the settings of "+h.Kind+" cannot be read: "+h.Err))
		case !h.Kept:
		case len(h.Events) == 0:
			list = append(list, warn("%s has none of our hooks, and what install kept still lies beside it", h.File).by("diff", h.File+".before-custos", h.File))
		case !h.Exact:
			list = append(list, warn("%s was changed since install: uninstall takes out our lines and leaves the change", h.File).by("diff", h.File+".before-custos", h.File))
		}
	}
	return worst(list, "uninstall would leave every settings file as it was")
}

func judgeChat(e *Examination) verdict {
	if len(e.Installation.People) == 0 {
		return warn("nobody is told: custos.toml has no [notifier.NAME]")
	}
	for _, p := range e.Installation.Secrets {
		if strings.HasPrefix(p.What, "[notifier.") && p.Is == "" && p.Err == "" {
			return bad("%s cannot tell anybody: its token file %s is not there", p.What, p.Path)
		}
	}
	return ok("%s", strings.Join(e.Installation.People, ", "))
}

func judgeVersion(e *Examination) verdict {
	switch {
	case e.Installation.Mute:
		return bad("a daemon runs, and does not answer").by("custos status")
	case !e.Daemon:
		return ok("%s; no daemon runs", e.Version)
	case e.Asker == "":
		return cannot("who asks did not say its version; the daemon's is " + e.Version)
	case e.Asker != e.Version:
		return warn("the daemon is %s, and this program %s", e.Version, fleet.Line(e.Asker, 60)).by("custos down && custos up")
	}
	return ok("%s, the daemon's too", e.Version)
}
