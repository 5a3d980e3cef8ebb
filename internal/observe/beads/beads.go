// Package beads is the probe of trackers of beads: it asks each one, through its own
// command bd, what is not closed, and what was closed lately. It reads only.
package beads

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/beads"
	"custos/internal/sys/program"
)

// Options is the section [beads] of custos.toml.
type Options struct {
	Dirs    []string `toml:"dirs" is:"path"`            // repositories that hold .beads
	Command string   `toml:"command"`                   // bd; "bd"
	Every   string   `toml:"every" is:"duration 10s.."` // between two looks; "1m"

	Expand func(string) (string, error) `toml:"-"` // of a path of custos.toml
	Now    func() fleet.Instant         `toml:"-"` // needed
	Getenv func(string) string          `toml:"-"`
}

// Limits of a look.
const (
	leastEvery = 10 * time.Second
	deadline   = 30 * time.Second
	mostOutput = 16 << 20            // bytes of one answer: some ten thousand beads
	lately     = 31 * 24 * time.Hour // how long one that is closed is asked for
	mostTitle  = 200                 // runes
	mostName   = 100
	mostBeads  = 10000
)

// Probe fills the part "beads".
type Probe struct {
	o       Options
	every   time.Duration
	sources []source
}

// source is one tracker.
type source struct {
	project string
	reader  *beads.Reader
	at      beads.Options
}

// New checks the options.
func New(o Options) (*Probe, error) {
	p := &Probe{o: o, every: time.Minute}
	if o.Now == nil {
		return nil, errors.New("cannot look at beads: no clock")
	}
	if o.Every != "" {
		d, err := fleet.ParseDuration(o.Every)
		if err != nil || d < leastEvery {
			return nil, fmt.Errorf("cannot set up [beads]: every: %q is no duration of at least %s", fleet.Line(o.Every, 40), leastEvery)
		}
		p.every = d
	}
	if p.o.Command == "" {
		p.o.Command = "bd"
	}
	for _, dir := range o.Dirs {
		s, err := p.source(dir)
		if err != nil {
			return nil, fmt.Errorf("cannot set up [beads]: dirs: %w", err)
		}
		p.sources = append(p.sources, s)
	}
	return p, nil
}

func (p *Probe) source(dir string) (source, error) {
	path := dir
	if p.o.Expand != nil {
		var err error
		if path, err = p.o.Expand(dir); err != nil {
			return source{}, err
		}
	}
	if !filepath.IsAbs(path) {
		return source{}, fmt.Errorf("%q is no absolute path", fleet.Line(dir, 200))
	}
	at := beads.Options{Command: p.o.Command, Dir: filepath.Clean(path), Run: p.run}
	r, err := beads.New(at)
	return source{fleet.Line(filepath.Base(path), mostName), r, at}, err
}

// Trackers are those it looks at, each with its project.
func (p *Probe) Trackers(each func(project string, at beads.Options) error) error {
	for _, s := range p.sources {
		if err := each(s.project, s.at); err != nil {
			return err
		}
	}
	return nil
}

// run runs bd in a process group of its own: it ends with the look.
func (p *Probe) run(ctx context.Context, dir string, argv []string) ([]byte, error) {
	env := program.Environ(p.o.Getenv, "USER")
	if argv[1] == "show" { // else bd notes it as the last touched, which a person's bare "bd close" means
		env = append(env, "BD_READONLY=1")
	}
	return program.Run(ctx, program.Call{Argv: argv, Dir: dir, Env: env, Max: mostOutput})
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "beads", Part: fleet.PartBeads, Every: p.every, Deadline: deadline}
}

// Look implements observe.Probe. When one tracker cannot be read the part is stale:
// nothing rests on it then.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if len(p.sources) == 0 {
		return nil, fmt.Errorf("cannot look at beads: [beads] names no dirs: %w", observe.ErrAbsent)
	}
	var out []fleet.Bead
	var wrong error
	seen := map[string]bool{}
	now := p.o.Now()
	for _, s := range p.sources {
		list, err := s.reader.List(ctx, now.Wall.Add(-lately))
		wrong = errors.Join(wrong, err)
		for _, b := range list {
			if fact, ok := factOf(b, s.project, now); ok && !seen[b.ID] && len(out) < mostBeads {
				seen[b.ID] = true
				out = append(out, fact)
			}
		}
	}
	put := func(s *fleet.Snapshot) { s.Beads.Value = out }
	if wrong != nil && len(out) == 0 {
		return nil, wrong
	}
	return put, wrong
}

// factOf is a bead in the words of the fleet; false for one that other work cannot
// name.
func factOf(b beads.Bead, project string, now fleet.Instant) (fleet.Bead, bool) {
	out := fleet.Bead{ID: b.ID, Project: project, Title: line(b.Title, mostTitle), Assignee: line(b.Assignee, mostName), Priority: priority(b.Priority),
		Updated: moment(b.Updated, now), Closed: fleet.Unknown[fleet.Instant]("it is not closed")}
	out.State, out.Blocked, out.Waits = stateOf(b.Status)
	if out.State == fleet.WorkClosed {
		out.Outcome, out.Closed = line(b.Reason, mostName), moment(b.Closed, now)
	}
	for _, l := range b.Labels {
		out.Labels = append(out.Labels, line(l, mostName))
	}
	for _, id := range b.Needs {
		if fleet.BeadRef(id).Tracker() == fleet.TrackerBeads {
			out.Needs = append(out.Needs, id)
		} else {
			out.Waits = "it waits for what has no name of a bead"
		}
	}
	return out, fleet.BeadRef(b.ID).Tracker() == fleet.TrackerBeads
}

// stateOf reads a status. A word that is not known is never closed, and nothing
// that may be taken up.
func stateOf(status string) (state fleet.WorkState, blocked bool, waits string) {
	switch status {
	case "open":
		return fleet.WorkOpen, false, ""
	case "blocked":
		return fleet.WorkOpen, true, ""
	case "in_progress", "hooked":
		return fleet.WorkTaken, false, ""
	case "closed", "tombstone":
		return fleet.WorkClosed, false, ""
	}
	return fleet.WorkOpen, false, fmt.Sprintf("its state is %q", line(status, 40))
}

// priority is 0 to 4, as P0 to P4.
func priority(n int) fleet.Priority {
	list := []fleet.Priority{fleet.P0, fleet.P1, fleet.P2, fleet.P3, fleet.P4}
	if n < 0 || n >= len(list) {
		return ""
	}
	return list[n]
}

// moment is a moment that somebody else's clock told, on ours.
func moment(t time.Time, now fleet.Instant) fleet.Leaf[fleet.Instant] {
	if t.IsZero() || t.Unix() <= 0 {
		return fleet.Unknown[fleet.Instant]("its tracker does not say when")
	}
	return fleet.Known(now.Add(t.Sub(now.Wall)))
}

func line(text string, most int) string {
	return fleet.Line(fleet.Redact(text[:min(len(text), 20*most)]), most)
}
