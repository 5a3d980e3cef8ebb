package agents

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
	sysfiles "custos/internal/sys/files"
	"custos/internal/sys/legio"
)

// longestNotes is how much is read of what an agent wrote down of its work.
const longestNotes = 16 << 10

// Place tells what an agent is by where another system has put it: by its folder,
// or one above that. {WORD} in the path stands for one part between slashes, or a
// part of it, as short as it may be; in the others for what was found.
type Place struct {
	Path    string `toml:"path"` // needed
	System  string `toml:"system"`
	Role    string `toml:"role"` // needed
	Name    string `toml:"name"` // what its system calls it; by default its tmux session
	Project string `toml:"project"`
	Parent  string `toml:"parent"` // as its system calls it, or "overseer"
	Task    string `toml:"task"`
	Notes   string `toml:"notes"` // a file in which it writes down its work
	Phase   string `toml:"phase"` // a file whose first line is PHASE:WORD: with done, merged, failed or escalate its work is over
}

// Role says how agents of one role are started again that another system started.
type Role struct {
	Start    []string `toml:"start"`                                 // command line; without it they are not
	Set      []string `toml:"set"`                                   // NAME=value, with {name}, {project}, {task}, {parent} and {role}
	Env      []string `toml:"env"`                                   // names of variables that are passed on
	Restart  string   `toml:"restart" is:"|always|on-failure|never"` // "on-failure" by default
	Parent   string   `toml:"parent"`                                // who is told where its system names nobody
	Standing bool     `toml:"standing"`                              // exempt from idle rules
	Account  string   `toml:"account"`
	Policy   string   `toml:"policy"` // [policy.NAME] by which custos-hook judges what they call
}

// place is a Place that was checked.
type place struct {
	Place
	path *regexp.Regexp
}

var hole = regexp.MustCompile(`\{([a-z]+)\}`)

// pattern makes a regular expression of the path of a place: what is below it is in it.
func pattern(text string) (*regexp.Regexp, error) {
	out, last := "", 0
	for _, m := range hole.FindAllStringSubmatchIndex(text, -1) {
		out += regexp.QuoteMeta(text[last:m[0]]) + "(?P<" + text[m[2]:m[3]] + ">[^/]+?)"
		last = m[1]
	}
	re, err := regexp.Compile("(?s)^" + out + regexp.QuoteMeta(text[last:]) + "(?:/.*)?$")
	if err != nil {
		return nil, err
	}
	for i, name := range re.SubexpNames() {
		if name != "" && re.SubexpIndex(name) != i {
			return nil, fmt.Errorf("{%s} stands in it twice", name)
		}
	}
	return re, nil
}

// words are what the holes of the path are filled with in a folder; nil when it is
// none of these.
func (c place) words(dir string) map[string]string {
	m := c.path.FindStringSubmatch(dir)
	if m == nil {
		return nil
	}
	words := map[string]string{}
	for i, name := range c.path.SubexpNames() {
		words[name] = m[i]
	}
	return words
}

// fill puts what was found into a text.
func fill(text string, words map[string]string) string {
	return hole.ReplaceAllStringFunc(text, func(h string) string { return words[h[1:len(h)-1]] })
}

// origins checks what configuration says of other systems' agents.
func (p *Probe) origins() error {
	for i, o := range p.o.Places {
		wrong := func(err error) error { return fmt.Errorf("cannot use [[agents.places]] number %d: %w", i+1, err) }
		o.Path = p.expand(o.Path)
		if !filepath.IsAbs(o.Path) || o.Role == "" {
			return wrong(fmt.Errorf("want a role, and a path that is absolute or begins with ~, not %q", o.Path))
		}
		c := place{Place: o}
		var err error
		if c.path, err = pattern(filepath.Clean(o.Path)); err != nil {
			return wrong(err)
		}
		if err := c.complete(); err != nil {
			return wrong(err)
		}
		p.places = append(p.places, c)
	}
	for _, name := range slices.Sorted(maps.Keys(p.o.Roles)) {
		r := p.o.Roles[name]
		if !slices.Contains([]fleet.Restart{"", fleet.RestartAlways, fleet.RestartOnFailure, fleet.RestartNever}, fleet.Restart(r.Restart)) {
			return fmt.Errorf("cannot use restart %q of [agents.roles.%s]: want %q, %q or %q", r.Restart, name, fleet.RestartAlways, fleet.RestartOnFailure, fleet.RestartNever)
		}
		if _, known := p.o.Accounts.Get(r.Account); !known && r.Account != "" && len(p.o.Accounts) > 0 {
			return fmt.Errorf("cannot use account %q of [agents.roles.%s]: there is no such [account.NAME]; there are %s", r.Account, name, strings.Join(p.o.Accounts.Names(), ", "))
		}
		for _, v := range r.Set {
			if n, _, ok := strings.Cut(v, "="); !ok || n == "" {
				return fmt.Errorf("cannot use set %q of [agents.roles.%s]: want NAME=value", v, name)
			}
		}
	}
	return nil
}

// complete says which word is used that no pattern finds.
func (c place) complete() error {
	known := c.path.SubexpNames()
	for _, text := range []string{c.Role, c.Name, c.Project, c.Parent, c.Task, c.Notes, c.Phase} {
		for _, m := range hole.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(known, m[1]) {
				return fmt.Errorf("nothing finds {%s}", m[1])
			}
		}
	}
	return nil
}

// origin tells by its place what an agent is; nil when no place fits.
func (p *Probe) origin(a fleet.Agent) *fleet.Origin {
	dir, session := fleet.RawPath(a.CWD.Or("")), ""
	if a.Pane != nil {
		session = a.Pane.Session
	}
	for _, c := range p.places {
		words := c.words(dir)
		if words == nil {
			continue
		}
		o := &fleet.Origin{System: c.System, Name: fleet.Line(cmp.Or(fill(c.Name, words), session), 200), Role: fill(c.Role, words),
			Project: fill(c.Project, words), Parent: fill(c.Parent, words), Task: fill(c.Task, words)}
		if c.Notes != "" {
			o.Checkpoint = notes(p.expand(fill(c.Notes, words)))
		}
		if c.Phase != "" {
			o.Over = overBy(p.expand(fill(c.Phase, words)))
		}
		return p.started(o)
	}
	return nil
}

// started adds how agents of its role are started.
func (p *Probe) started(o *fleet.Origin) *fleet.Origin {
	r, known := p.o.Roles[o.Role]
	if !known {
		r = p.o.Roles["*"]
	}
	o.Parent, o.Start, o.Env, o.Restart, o.Standing, o.Account = cmp.Or(o.Parent, r.Parent), r.Start, r.Env, fleet.Restart(r.Restart), r.Standing, r.Account
	words := map[string]string{"name": o.Name, "project": o.Project, "task": o.Task, "parent": o.Parent, "role": o.Role}
	for _, v := range r.Set {
		o.Set = append(o.Set, fill(v, words))
	}
	return o
}

// notes reads what an agent wrote down; nil when there is nothing to be read. Only
// a file of this user's own is believed.
func notes(path string) *fleet.Checkpoint {
	text, at, err := sysfiles.ReadOwn(path, longestNotes)
	if err != nil || text == "" {
		return nil
	}
	return &fleet.Checkpoint{At: fleet.Instant{Wall: at.UTC()}, Summary: fleet.Redact(fleet.Text(text))}
}

// overBy says why a phase file tells that a work is over; "" when it does not.
func overBy(path string) string {
	text, _, err := sysfiles.ReadOwn(path, longestNotes)
	line, _, _ := strings.Cut(text, "\n")
	word, ok := strings.CutPrefix(strings.TrimSpace(line), "PHASE:")
	word, _, _ = strings.Cut(word, " ")
	if err != nil || !ok || !slices.Contains([]string{"done", "merged", "failed", "escalate"}, word) {
		return ""
	}
	return "its phase is " + word
}

func (p *Probe) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		return p.o.Home + rest
	}
	return path
}

// trace tells of agents that are adopted, and of which no store tells, by their
// places what they are.
func (l *look) trace(found []fleet.Agent) {
	for i := range found {
		if a := &found[i]; a.Owner == fleet.OwnerAdopted && a.Origin == nil {
			a.Origin = l.origin(*a)
		}
	}
}

// rowOrigin is what a row says of an agent. Completed is written after a turn, too:
// it is over when it has ended as well.
func (l *look) rowOrigin(b book, s legio.Session) *fleet.Origin {
	o := &fleet.Origin{System: b.Writer, Name: fleet.Line(s.Agent, 200), Role: fleet.Line(s.Capability, 80), Project: filepath.Base(b.project),
		Parent: fleet.Line(s.Parent, 200), Task: fleet.Line(s.Task, 200)}
	if filepath.IsAbs(s.Worktree) {
		o.Worktree = fleet.Path(s.Worktree)
	}
	if recordedState(s.State) == fleet.StateFinished {
		o.Over = b.Writer + " has it as " + fleet.Line(s.State, 40)
	}
	if c, ok := legio.CheckpointOf(b.Path, s.Agent); ok {
		o.Checkpoint = &fleet.Checkpoint{At: fleet.Instant{Wall: c.At}, Task: fleet.Line(c.Task, 200), Summary: fleet.Redact(fleet.Text(c.Says))}
		for _, f := range c.Files {
			o.Checkpoint.Files = append(o.Checkpoint.Files, fleet.Path(f))
		}
	}
	return l.started(o)
}
