package agents

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/legio"
)

// recordedByLegio is the one supervisor whose session store can be read; that of
// Overstory, which was made from it, is read with it.
const recordedByLegio = "legio"

// keepRecorded is how long an agent that only a foreign store knows is missed:
// the store keeps the row of every name it ever had.
const keepRecorded = 24 * time.Hour

// readElsewhere is how long all foreign stores may take in one look.
const readElsewhere = time.Second

// recordedBy sets up the reading of a foreign store.
func (p *Probe) recordedBy() error {
	switch p.o.RecordedBy {
	case "":
		if len(p.o.RecordedIn) > 0 {
			return fmt.Errorf("cannot use agents recorded_in without recorded = %q", recordedByLegio)
		}
		return nil
	case recordedByLegio:
	default:
		return fmt.Errorf("cannot use agents recorded %q: want %q", p.o.RecordedBy, recordedByLegio)
	}
	p.elsewhere = legio.NewReader()
	for _, text := range p.o.RecordedIn {
		glob := text
		if rest, ok := strings.CutPrefix(text, "~"); ok {
			glob = p.o.Home + rest
		}
		if _, err := filepath.Match(glob, ""); err != nil || !filepath.IsAbs(glob) {
			return fmt.Errorf("cannot use agents recorded_in %q: want a glob of folders, absolute or one that begins with ~", text)
		}
		p.projects = append(p.projects, filepath.Clean(glob))
	}
	return nil
}

// book is a foreign store with what is in it, or why that cannot be told.
type book struct {
	legio.Store
	project  string // raw path
	sessions []legio.Session
	err      error
}

// compare lays what another supervisor has recorded beside what was seen. The
// record of an agent that Custos has none of is then that one; where it disagrees
// with what is seen, that is a conflict. Agents that only the record has, and
// that are gone, are added.
func (l *look) compare(ctx context.Context, found []fleet.Agent) []fleet.Agent {
	if l.elsewhere == nil {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, readElsewhere)
	defer cancel()
	books := l.books(ctx, found)
	l.elsewhere.Forget(func(path string) bool {
		return slices.ContainsFunc(books, func(b book) bool { return b.Path == path })
	})
	seen := len(found)
	for _, b := range books {
		if b.err != nil {
			unread(found[:seen], b)
		}
		for _, s := range b.sessions {
			if i := l.recordedAs(found[:seen], s); i >= 0 {
				l.beside(&found[i], b, s)
			} else if a, ok := l.lost(b, s, found); ok {
				found = append(found, a)
			}
		}
	}
	return found
}

// books reads the stores of every project that is configured, or that an agent
// stands in.
func (l *look) books(ctx context.Context, found []fleet.Agent) (books []book) {
	for _, project := range l.projectsOf(found) {
		for _, store := range legio.In(project) {
			b := book{Store: store, project: project}
			b.sessions, b.err = l.elsewhere.Sessions(ctx, store.Path)
			books = append(books, b)
		}
	}
	return books
}

// projectsOf lists the folders a store may lie in, sorted: those configured, and
// the folder of each agent with all above it.
func (l *look) projectsOf(found []fleet.Agent) []string {
	dirs := map[string]bool{}
	for _, glob := range l.projects {
		names, _ := files.Glob(glob) // the glob was checked
		for _, name := range names {
			dirs[name] = true
		}
	}
	for _, a := range found {
		dir, ok := a.CWD.Get()
		if dir = fleet.RawPath(dir); !ok || !filepath.IsAbs(dir) {
			continue
		}
		for dir = filepath.Clean(dir); !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	out := make([]string, 0, len(dirs))
	for dir := range dirs {
		out = append(out, dir)
	}
	slices.Sort(out)
	return out
}

// unread says of every agent in a project that its record is unknown, and why.
func unread(found []fleet.Agent, b book) {
	for i := range found {
		a := &found[i]
		if dir := fleet.RawPath(a.CWD.Or("")); dir != b.project && !strings.HasPrefix(dir, strings.TrimSuffix(b.project, "/")+"/") {
			continue
		}
		if !a.Registered {
			a.Recorded = fleet.StateUnknown
		}
		says := "what it has recorded is unknown: " + fleet.Line(b.err.Error(), 300)
		a.Signals = append(a.Signals, fleet.Signal{Source: b.Writer, Says: says, Age: fleet.Unknown[fleet.Duration]("not told")})
	}
}

// recordedAs finds the agent that a row is about; -1 when none was seen. Its
// process counts most, then its tmux session: of those in it the living, and of
// them the oldest, which started the others.
func (l *look) recordedAs(found []fleet.Agent, s legio.Session) int {
	best, most := -1, 0
	for i, a := range found {
		score := 0
		switch inSession := a.Pane != nil && s.Tmux != "" && a.Pane.Session == s.Tmux; {
		case l.isRow(a.Process, s) || a.Exit != nil && a.Process.PID == 0 && s.PID != 0 && a.Exit.Process.PID == s.PID:
			score = 4
		case inSession && a.Process.PID != 0:
			score = 3
		case a.Pane != nil && l.isRow(a.Pane.ID.Root, s):
			score = 2
		case inSession || a.Registered && s.Tmux != "" && a.Name == s.Tmux:
			score = 1
		}
		if score > most || score == most && score > 1 && a.Age.Or(0) > found[best].Age.Or(0) {
			best, most = i, score
		}
	}
	return best
}

// isRow says whether a process is the one of a row. A row has no start time, so
// one that began after the row was last written has only its number.
func (l *look) isRow(id fleet.ProcessID, s legio.Session) bool {
	p, ok := l.procs[id.PID]
	if !ok || id.PID == 0 || id.PID != s.PID || !sameProcess(p.ID, id) {
		return false
	}
	began := l.now.Wall.Add(-time.Duration(p.Age))
	return s.LastActivity.IsZero() || !began.After(s.LastActivity.Add(2*time.Second))
}

// beside writes down what a row says of an agent.
func (l *look) beside(a *fleet.Agent, b book, s legio.Session) {
	rec := recordedState(s.State)
	if !a.Registered {
		a.Recorded = rec
	}
	a.Signals = append(a.Signals, l.rowSignal(b, s))
	if a.Owner == fleet.OwnerAdopted {
		a.Origin = l.rowOrigin(b, s)
	}
	if a.Registered && a.Owner == fleet.OwnerCustos {
		return // Custos started it again: the row is of the one before
	}
	if why := disagrees(*a, rec); why != "" {
		a.Conflict = strings.TrimPrefix(fmt.Sprintf("%s; %s's record says %s, and %s", a.Conflict, b.Writer, fleet.Line(s.State, 40), why), "; ")
	}
}

func (l *look) rowSignal(b book, s legio.Session) fleet.Signal {
	age := fleet.Unknown[fleet.Duration]("not told")
	if d := l.now.Wall.Sub(s.LastActivity); !s.LastActivity.IsZero() && d >= 0 {
		age = fleet.Known(fleet.Duration(d))
	}
	says := fmt.Sprintf("its record says %s", fleet.Line(s.State, 40))
	if recordedState(s.State) == fleet.StateUnknown {
		says += ", which is not known here"
	}
	return fleet.Signal{Source: b.Writer, Says: says, Hint: recordedState(s.State), Age: age}
}

// recordedState puts a row's state into the words of the fleet. Legio's working
// means no more than that it was alive.
func recordedState(word string) fleet.AgentState {
	switch word {
	case "booting":
		return fleet.StateStarting
	case "working", "in_turn":
		return fleet.StateWorking
	case "idle", "between_turns":
		return fleet.StateIdle
	case "stalled":
		return fleet.StateStuck
	case "completed":
		return fleet.StateFinished
	case "zombie":
		return fleet.StateZombie
	}
	return fleet.StateUnknown
}

// disagrees says what is seen of an agent when its record does not fit that; ""
// when it does. Legio writes completed after a first turn, so an agent that only
// waits fits it.
func disagrees(a fleet.Agent, rec fleet.AgentState) string {
	lives, works := a.Process.PID != 0, a.State == fleet.StateWorking && a.Progress == fleet.ProgressSome
	switch {
	case lives && rec == fleet.StateZombie:
		return fmt.Sprintf("its process %d lives", a.Process.PID)
	case lives && works && (rec == fleet.StateFinished || rec == fleet.StateStuck):
		return fmt.Sprintf("its process %d works", a.Process.PID)
	case !lives && alive(rec) && a.State != fleet.StateUnknown:
		return "it is " + string(a.State) + ": " + a.Reason
	}
	return ""
}

// alive says whether a record is of an agent that is not over.
func alive(rec fleet.AgentState) bool {
	return rec == fleet.StateStarting || rec == fleet.StateWorking || rec == fleet.StateIdle || rec == fleet.StateStuck
}

// lost describes an agent that a row says is alive, and of which nothing is
// there: neither its tmux session nor its process. What cannot be seen is not
// missed, nor is what nobody has written to for a day.
func (l *look) lost(b book, s legio.Session, found []fleet.Agent) (fleet.Agent, bool) {
	name := fleet.Line(cmp.Or(s.Tmux, s.Agent), 200)
	rec, quiet := recordedState(s.State), l.now.Wall.Sub(s.LastActivity)
	taken := slices.ContainsFunc(found, func(a fleet.Agent) bool { return a.Name == name })
	if !alive(rec) || quiet < 0 || quiet > keepRecorded || name == "" || taken || l.maybeThere(s) {
		return fleet.Agent{}, false
	}
	record := fleet.AgentRecord{Name: name, State: rec}
	if b.Writer == recordedByLegio {
		record.Kind = "claude" // it starts no other
	}
	if filepath.IsAbs(s.Worktree) {
		record.CWD = fleet.Path(s.Worktree)
	}
	a := l.absent(record, agent.Verdict{State: fleet.StateUnknown, Source: agent.SourceProcess, Signals: []fleet.Signal{l.rowSignal(b, s)},
		Reason: "nothing of it is there, and nothing tells how it ended"})
	a.Conflict = fmt.Sprintf("%s's record says %s, and %s", b.Writer, s.State, missed(s))
	return a, true
}

// maybeThere says whether what a row names may still be there, or cannot be seen.
func (l *look) maybeThere(s legio.Session) bool {
	if s.Tmux == "" && s.PID == 0 {
		return true // it has a process only while it works
	}
	if s.Tmux != "" && (l.o.Panes == nil || l.blind != "" ||
		slices.ContainsFunc(l.panes, func(p fleet.Pane) bool { return p.Session == s.Tmux })) {
		return true
	}
	p, ok := l.procs[s.PID]
	return ok && p.State != "Z" && l.isRow(p.ID, s)
}

func missed(s legio.Session) string {
	var gone []string
	if s.Tmux != "" {
		gone = append(gone, "no tmux session "+fleet.Line(s.Tmux, 200))
	}
	if s.PID != 0 {
		gone = append(gone, fmt.Sprintf("no process %d of it", s.PID))
	}
	return "there is " + strings.Join(gone, " and ")
}
