package doctor

import (
	"cmp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// program judges an executable; without it, what is said.
func program(name, without string) judging {
	return func(e *Examination) verdict {
		for _, p := range e.Installation.Programs {
			switch {
			case p.Name != name:
			case p.Path == "":
				return bad("it is not found, so %s: %s", without, p.Err).by(remedy(name))
			case p.Err != "":
				return bad("%s does not answer, so %s: %s", p.Path, without, p.Err)
			default:
				return ok("%s", strings.TrimPrefix(p.Version+", "+p.Path, ", "))
			}
		}
		return cannot("nothing looked for it")
	}
}

// remedy is how a missing program comes to be there: ours are built together.
func remedy(name string) string {
	if strings.HasPrefix(name, "custos-") {
		return "make build"
	}
	return "apt-get install " + name
}

// places is a check of whether the places of one sort are what they should be, and ours.
// none is said where there are none, well of so many.
func places(sort, noun, none, well string) judging {
	return func(e *Examination) verdict {
		there := 0
		list := each(e.Installation.Places, func(p Place) verdict {
			if p.sort() != sort {
				return verdict{}
			}
			if p.Is != "" {
				there++
			}
			return p.judge(e.Installation.UID)
		})
		if there == 0 {
			return worst(list, "%s", none)
		}
		return worst(list, well, fleet.Counted(there, noun))
	}
}

// IsToken says that a file of a token lies there: those have the section of custos.toml
// that names them.
func (p Place) IsToken() bool { return strings.HasPrefix(p.What, "[") }

// onlyRead says that Custos writes nothing there: it may be root's, as in a container.
func (p Place) onlyRead() bool { return p.IsToken() || p.What == "config" }

func (p Place) sort() string {
	if p.IsToken() {
		return "token"
	}
	return p.Want
}

func (p Place) judge(uid int) verdict {
	wrong := verdict{}
	switch {
	case p.Err != "":
		return cannot(p.Err)
	case p.Is == "":
		return when(p.IsToken(), bad("%s (%s) is not there", p.Path, p.What))
	case p.Is != p.Want:
		wrong = bad("%s is %s, and no %s", p.Path, thing(p.Is), thing(p.Want))
	case p.UID != uid && !(p.onlyRead() && p.UID == 0):
		wrong = bad("%s belongs to user %d, and not to user %d who looks", p.Path, p.UID, uid)
	case !p.Own && !p.onlyRead() && p.Want != "socket":
		wrong = bad("%s cannot be written", p.Path)
	}
	return wrong.by("ls", "-ld", p.Path)
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

func judgeListening(e *Examination) verdict {
	var well []string
	list := each(e.Installation.Listeners, func(l Listener) verdict {
		what := l.What + " at " + l.Address + ", which "
		switch {
		case l.Trouble != "":
			return bad("%s", l.Trouble)
		case l.Loopback:
			well = append(well, what+"only this machine reaches")
			return verdict{}
		case l.Guard == "":
			return bad("%sother machines reach, without a token", what)
		}
		return warn("%sother machines reach; %s", what, l.Guard)
	})
	return worst(list, "%s", cmp.Or(strings.Join(well, "; "), "nothing but unix sockets"))
}

func judgeConfig(e *Examination) verdict {
	switch c := e.Installation.Config; {
	case c.Err != "":
		return bad("%s", c.Err).by("custos config check")
	case c.Broken != "":
		return bad("what was read before is in force: %s", c.Broken).by("custos config check")
	case c.Aside != "":
		return warn("%s", c.Aside).by("custos config check")
	case !c.Found:
		return ok("there is no %s: the defaults hold", c.File)
	default:
		return ok("%s, with every section and rule", c.File)
	}
}

// judgeNamespace says why nothing is removed from within a pid namespace.
func judgeNamespace(e *Examination) verdict {
	unsaid := e.Pass.Snapshot.From.Unsaid
	if len(unsaid) == 0 {
		return ok("no process that is not to be seen from here is said to work on what is named")
	}
	return warn("in a pid namespace of its own: what runs outside is not seen, so that nothing that [%s] name is removed; where nothing outside works on it, say foreign_namespace = false there",
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

func judgeStore(e *Examination) verdict {
	switch s := e.Installation.Store; {
	case !s.There && s.Err == "" && e.Pass == nil:
		return cannot(s.Path + " is not there, and whether it was is not known: " + e.NoPass)
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
	default:
		return ok("%s opens, with the schema of this version", s.Path)
	}
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

func judgeAside(e *Examination) verdict {
	if list := e.Installation.Store.Aside; len(list) > 0 {
		return warn("%s set aside, damaged, replaced or newer: %s", fleet.Counted(len(list), "database"), some(list)).by("ls", "-l", list[0])
	}
	return ok("no database was ever set aside")
}

// judgeLines finds logs of JSON of which lines cannot be read: a writer that was
// cut off, or two that write over each other.
func judgeLines(e *Examination) verdict {
	logs, lines := e.Installation.Lines, 0
	list := each(logs, func(l LogLines) verdict {
		lines += l.Read
		if l.Err != "" {
			return cannot(l.Err)
		}
		return when(l.Broken > 0, warn("%s: %d of its last %d lines are no JSON, the first of them %s", l.Path, l.Broken, l.Read, l.First).by("tail", "-n", "20", l.Path))
	})
	if len(logs) == 0 {
		return ok("no log of them is of JSON lines")
	}
	return worst(list, "the last %s of %s are whole", fleet.Counted(lines, "line"), fleet.Counted(len(logs), "log"))
}

func judgeHooks(e *Examination) verdict {
	var installed []string
	list := each(e.Installation.Hooks, func(h HookFacts) verdict {
		if len(h.Events) > 0 {
			installed = append(installed, h.Kind+" in "+h.File)
		}
		if h.Err == "" && h.ignored(e.Pass.Past.Registrations) {
			return warn("%s ignores the hooks that Custos starts it with, and its agents tell nothing by them: %s", h.Kind, h.Deaf).by("custos", "hooks", "install", h.Kind)
		}
		if h.Err == "" && h.Account && len(h.Events) == 0 && hookedElsewhere(e.Installation.Hooks, h.Kind) {
			return warn("%s has none of our hooks, which other settings of %s have: agents that you start in this account's folder tell nothing by them", h.File, h.Kind).by("custos", "hooks", "install", h.Kind)
		}
		return h.unread()
	})
	return worst(list, "%s", cmp.Or(strings.Join(installed, "; "), "in no settings: agents that Custos starts get theirs on the command line"))
}

// judgeHeard names the agents of which no hook is heard, a line for each cause.
func judgeHeard(e *Examination) verdict {
	type cause struct{ kind, why string }
	var causes []cause
	deaf, untold := map[cause][]string{}, 0
	for _, a := range e.Pass.Snapshot.Agents.Value {
		why, known := a.Deaf.Get()
		c := cause{a.Kind, why}
		switch {
		case a.Process.PID == 0:
			continue
		case !known:
			untold++
			continue
		case why == "":
			continue
		case len(deaf[c]) == 0:
			causes = append(causes, c)
		}
		deaf[c] = append(deaf[c], a.Name)
	}
	list := each(causes, func(c cause) verdict {
		return warn("nothing is heard of the hooks of %s (%s): %s", some(deaf[c]), c.kind, c.why).by("custos", "show", deaf[c][0])
	})
	if untold > 0 {
		return worst(list, "of none it is known that its hooks are not called; of %d it cannot be told yet", untold)
	}
	return worst(list, "those of all agents that Custos started are heard")
}

// hookedElsewhere says whether a person has installed hooks for a kind.
func hookedElsewhere(all []HookFacts, kind string) bool {
	return slices.ContainsFunc(all, func(h HookFacts) bool { return h.Kind == kind && len(h.Events) > 0 })
}

func (h HookFacts) unread() verdict {
	return when(h.Err != "", cannot("the settings of "+h.Kind+" cannot be read: "+h.Err))
}

// ignored: agents of the kind are started with hooks that they do not read, and read
// none of ours elsewhere.
func (h HookFacts) ignored(of []fleet.Registration) bool {
	return h.Deaf != "" && len(h.Events) == 0 && slices.ContainsFunc(of, func(r fleet.Registration) bool {
		return r.Kind == h.Kind && r.Owner == fleet.OwnerCustos && r.Desired != fleet.DesiredRetired
	})
}

// Wrong is what is wrong with hooks of ours that stand in the settings; "" when
// nothing is, or when there are none.
func (h HookFacts) Wrong() string {
	switch {
	case len(h.Events) == 0:
		return ""
	case h.Hook == "":
		return "custos-hook is not there"
	case len(h.Missing) > 0:
		return "it lacks " + strings.Join(h.Missing, ", ")
	case h.Command != "" && !strings.Contains(h.Command, h.Hook):
		return "it calls another custos-hook: " + h.Command
	}
	return ""
}

// judgeUndone judges whether uninstall would leave the settings as they were.
func judgeUndone(e *Examination) verdict {
	return worst(each(e.Installation.Hooks, func(h HookFacts) verdict {
		diff := []string{"diff", h.File + ".before-custos", h.File}
		switch {
		case h.Err != "":
			return h.unread()
		case h.Kept && len(h.Events) == 0:
			return warn("%s has none of our hooks, and what install kept still lies beside it", h.File).by(diff...)
		case h.Kept && !h.Exact:
			return warn("%s was changed since install: uninstall takes out our lines and leaves the change", h.File).by(diff...)
		}
		return verdict{}
	}), "uninstall would leave every settings file as it was")
}

func judgeChat(e *Examination) verdict {
	if len(e.Installation.People) == 0 {
		return warn("no person is notified: custos.toml has no [notifier.NAME]")
	}
	return ok("%s", strings.Join(e.Installation.People, ", "))
}

// judgeReach asks of each chat whether it answers, and knows Custos.
func judgeReach(e *Examination) verdict {
	var known []string
	list := each(e.Installation.Chats, func(c Chat) verdict {
		switch {
		case c.Refused:
			return bad("[notifier.%s] is refused: %s", c.Name, c.Err)
		case c.Err != "":
			return cannot("[notifier." + c.Name + "]: " + c.Err)
		}
		known = append(known, c.Name+" as "+c.Me)
		return verdict{}
	})
	if len(list) == 0 {
		return ok("there is none that could be asked")
	}
	return worst(list, "it answers: %s", strings.Join(known, ", "))
}

func judgeVersion(e *Examination) verdict {
	switch {
	case e.Installation.Mute:
		return bad("a daemon runs, and does not answer").by("custos status")
	case e.Installation.NotKnown != "":
		return cannot(e.Installation.NotKnown)
	case !e.Daemon:
		return ok("%s; no daemon runs", e.Version)
	case e.Asker == "":
		return cannot("the program that asks did not say its version; the daemon's is " + e.Version)
	case e.Asker != e.Version:
		return warn("the daemon is %s, and this program %s", e.Version, fleet.Line(e.Asker, 60)).by("custos down && custos up")
	}
	return ok("%s, the daemon's too", e.Version)
}

// judgeBuilt compares what the programs that belong together were built from.
func judgeBuilt(e *Examination) verdict {
	built := e.Installation.Built
	return worst(each(e.Installation.Programs, func(p Program) verdict {
		switch {
		case p.Path == "" || !strings.HasPrefix(p.Name, "custos-"): // dependencies says so
			return verdict{}
		case p.Built == "" || built == "":
			return cannot("what " + p.Name + " was built from is not known")
		}
		return when(p.Built != built, warn("%s was built from %s, and custos from %s", p.Path, p.Built, built).by("make build"))
	}), "built from %s, all of them", built)
}
