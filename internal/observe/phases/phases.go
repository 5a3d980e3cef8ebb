// Package phases is the probe of phase files: how a scripted agent session
// tells where it stands ("PHASE:escalate reason"). It reads configured places
// and changes nothing. Whether an issue is closed only a forge can tell: it is asked.
package phases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/files"
)

// most is how many phase files one look takes in of each glob (of all globs
// together files.Globs times as many).
const most = 2000

// defaultPattern reads the project and the issue out of a file's name:
// dev-session-shop-42.phase, session-shop-42.phase, supervisor-session-shop.phase.
const defaultPattern = `^(?:[a-z0-9]+-)*?session-(?P<project>.+?)(?:-(?P<issue>\d+))?\.phase$`

// Options is the section [phases] of custos.toml.
type Options struct {
	// Globs are the places of phase files. Default: none, and the part is absent.
	Globs []string `toml:"globs" is:"glob"`
	// Pattern is a regular expression for base names with the groups project
	// and issue. Default: defaultPattern.
	Pattern string `toml:"pattern" is:"regexp"`
	// Every is the time between two looks. Default "30s".
	Every string `toml:"every" is:"duration 1ms.."`

	Forge Forge            `toml:"-"` // tells of issues; nil: none is configured
	Home  string           `toml:"-"` // for ~/ in globs
	Now   func() time.Time `toml:"-"` // wall clock; default time.Now
}

// Forge tells of issues, and of pull requests of the same number.
type Forge interface {
	// Tracked says whether a forge is configured for a project.
	Tracked(project string) bool
	// Closed says whether an issue is closed, and since when by the forge's clock; 0
	// while it is open. It ends soon after ctx does; whatever fails is unknown.
	Closed(ctx context.Context, project string, issue int) (fleet.Leaf[bool], fleet.Leaf[fleet.Duration])
}

// patience is how long a look waits for the forge altogether. Mostly it answers
// from memory.
const patience = 5 * time.Second

// Probe fills the part "phases".
type Probe struct {
	forge  Forge
	now    func() time.Time
	every  time.Duration
	follow *files.Follower
	name   *regexp.Regexp
}

// New checks the options.
func New(o Options) (*Probe, error) {
	p := &Probe{forge: o.Forge, now: o.Now, every: 30 * time.Second}
	if p.now == nil {
		p.now = time.Now
	}
	if o.Pattern == "" {
		o.Pattern = defaultPattern
	}
	var name, every error
	patterns, globs := files.CompileAll(o.Globs, o.Home)
	p.follow = files.Follow(patterns, most)
	p.name, name = compileName(o.Pattern)
	if o.Every != "" {
		var bad error
		if p.every, bad = fleet.ParseDuration(o.Every); bad != nil || p.every <= 0 {
			every = fmt.Errorf("cannot use every = %q: want a duration such as 30s", o.Every)
		}
	}
	if err := errors.Join(globs, name, every); err != nil {
		return nil, fmt.Errorf("cannot look for phase files: %w", err)
	}
	return p, nil
}

func compileName(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("cannot use pattern %q: %w", pattern, err)
	}
	for _, group := range []string{"project", "issue"} {
		if !slices.Contains(re.SubexpNames(), group) {
			return nil, fmt.Errorf("cannot use pattern %q: it has no group (?P<%s>…)", pattern, group)
		}
	}
	return re, nil
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "phases", Part: fleet.PartPhases, Every: p.every, Deadline: 10 * time.Second}
}

// Look implements observe.Probe. A file that goes away meanwhile is left out.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if p.follow.Len() == 0 {
		return nil, fmt.Errorf("cannot look for phase files: no globs are configured: %w", observe.ErrAbsent)
	}
	paths, cut, err := p.follow.Find(ctx)
	phases := make([]fleet.Phase, 0, len(paths))
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cannot look at all phase files: %w", ctx.Err())
		}
		if phase, ok := p.read(path); ok {
			phases = append(phases, phase)
		}
	}
	p.ask(ctx, phases)
	return func(s *fleet.Snapshot) { s.Phases.Value = append(s.Phases.Value, phases...) }, observe.WithCut(cut, err)
}

// ask asks the forge what became of the issues. It may be slow, or down: that is
// unknown for them, and no fault of the files.
func (p *Probe) ask(ctx context.Context, phases []fleet.Phase) {
	if p.forge == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i := range phases {
		ph := &phases[i]
		n, named := ph.Issue.Get()
		switch {
		case !named:
			ph.Closed, ph.ClosedFor = neither(ph.Issue.Why())
		case !p.forge.Tracked(ph.Project):
			ph.Closed, ph.ClosedFor = neither("no forge configured for project " + ph.Project)
		default:
			ph.Tracked = true
			ph.Closed, ph.ClosedFor = p.forge.Closed(ctx, ph.Project, n)
		}
	}
}

func neither(why string) (fleet.Leaf[bool], fleet.Leaf[fleet.Duration]) {
	return fleet.Unknown[bool](why), fleet.Unknown[fleet.Duration](why)
}

// read looks at one file; false when it is not there any more.
func (p *Probe) read(path string) (fleet.Phase, bool) {
	ph := fleet.Phase{
		Path: fleet.Path(path), Owner: fleet.OwnerConfigured,
	}
	ph.Closed, ph.ClosedFor = neither("no forge configured")
	ph.Project, ph.Issue, ph.Unnumbered = p.named(filepath.Base(path))
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
		return ph, false
	}
	if err != nil {
		why := fleet.Line("cannot open it: "+err.Error(), 200)
		ph.Phase, ph.Age = fleet.Unknown[string](why), fleet.Unknown[fleet.Duration](why)
		return ph, true
	}
	defer f.Close()
	ph.File = fleet.FileID(info.Identity)
	ph.Age = age(p.now(), info.Modified())
	content, err := files.Head(f, files.MaxSmall)
	word, reason := "", ""
	if err == nil {
		word, reason, err = files.PhaseLine(content)
	}
	if err != nil {
		ph.Phase = fleet.Unknown[string](fleet.Line(fleet.Redact(err.Error()), 200))
		return ph, true
	}
	ph.Phase, ph.Reason = fleet.Known(word), fleet.Line(fleet.Redact(reason), 200)
	return ph, true
}

// named reads the project and the issue out of a base name.
func (p *Probe) named(base string) (project string, issue fleet.Leaf[int], unnumbered bool) {
	m := p.name.FindStringSubmatch(base)
	if m == nil {
		return "", fleet.Unknown[int]("the name does not fit the pattern"), false
	}
	project = fleet.Line(m[p.name.SubexpIndex("project")], 100)
	digits := m[p.name.SubexpIndex("issue")]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return project, fleet.Unknown[int]("the name holds no issue number"), digits == ""
	}
	return project, fleet.Known(n), false
}

// age is unknown for a file whose time lies in the future.
func age(now, then time.Time) fleet.Leaf[fleet.Duration] {
	d, err := files.Age(now, then)
	if err != nil {
		return fleet.Unknown[fleet.Duration](err.Error())
	}
	return fleet.Known(fleet.Duration(d))
}
