package plugin

// Checks is what Check must be told, since this package knows nothing of it.
type Checks struct {
	Cron func(expr, zone string) error // refuses an expression that is wrong or can never be due
	When func(string) error            // refuses an expression of rules that is wrong
	On   func(string) error            // refuses an event that there is not
}

// Check settles what follows from the folder of a plugin that was read without
// an error, and says what would spoil a run of it.
func Check(p Plugin, dir Folder, c Checks) (Plugin, []Problem) {
	l := &problems{file: p.File}
	if p.Name == "" {
		p.Name = dir.Name
		if !goodName.MatchString(p.Name) {
			l.wrong(1, "it has no name, and its folder's, %q, cannot be one", dir.Name)
		}
	}
	l.gate(p, c)
	p.How = l.how(p, dir)
	if p.Digest {
		l.warn(p.Line("tracking.digest"), "tracking.digest is read and not acted on: custos report tells of every failure, and custos plugin history of every run")
	}
	return p, l.sorted()
}

func (l *problems) gate(p Plugin, c Checks) {
	var err error
	key := ""
	switch g := p.Gate; {
	case g.Type == Cron:
		key, err = "gate.schedule", c.Cron(g.Schedule, g.Zone)
	case g.When != "":
		key, err = "gate.when", c.When(g.When)
	case g.Type == Event:
		key, err = "gate.on", c.On(g.On)
	}
	if err != nil {
		l.wrong(p.Line(key), "%s: %v", key, err)
	}
}

// how finds out what there is to run.
func (l *problems) how(p Plugin, dir Folder) How {
	program := len(p.Run) > 0 || dir.Script
	how := p.How
	if how == "" && program {
		how = ByScript
	} else if how == "" {
		how = ByAgent
	}
	switch {
	case how == ByScript && !program:
		l.wrong(p.Line("execution.type"), "there is nothing to run: want %s beside it, or run = [program, arguments]", Script)
	case how == ByScript && len(p.Run) == 0 && !dir.Executable:
		l.wrong(p.Line("execution.type"), "%s may not be executed: chmod +x it", Script)
	case how == ByAgent && len(p.Run) > 0:
		l.wrong(p.Line("run"), "run: a plugin of type agent has none: its text is given to an agent")
	case how == ByAgent && p.Body == "" && p.How == "":
		l.wrong(1, "there is nothing to do: want %s beside it, run = [program, arguments], or a text for an agent after the front matter", Script)
	case how == ByAgent && p.Body == "":
		l.wrong(p.Line("execution.type"), "there is no text for an agent after the front matter")
	}
	return how
}
