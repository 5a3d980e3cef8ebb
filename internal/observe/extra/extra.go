// Package extra runs foreign probe programs: any program that prints facts as
// JSON. One Probe value is one program, the section [probe.NAME] of custos.toml.
package extra

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/program"
)

// What a program may print. A megabyte is some ten thousand facts.
const (
	maxOut = 1 << 20
	maxErr = 4 << 10
)

// Options is the section [probe.NAME] of custos.toml.
type Options struct {
	Run      []string `toml:"run"`                          // the program and its arguments; no shell reads them
	Every    string   `toml:"every" is:"duration 1ms.."`    // between two looks; "1m"
	Deadline string   `toml:"deadline" is:"duration 1ms.."` // of one look, then its process group is killed; "10s"

	Name   string              `toml:"-"` // NAME
	Getenv func(string) string `toml:"-"` // os.Getenv; only PATH, HOME and LANG are asked for and passed on
}

// Probe runs one program.
type Probe struct {
	o    Options
	spec observe.Spec
}

var (
	goodName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	errName  = errors.New("a name is of small letters, digits, - and _, and begins with a letter")
	errRun   = errors.New(`run: want a program, as in run = ["prog", "arg"]`)
)

// New returns the probe, or what is wrong with its section.
func New(o Options) (*Probe, error) {
	fail := func(err error) (*Probe, error) {
		return nil, fmt.Errorf("cannot set up [probe.%s]: %w", fleet.Line(o.Name, 80), err)
	}
	if !goodName.MatchString(o.Name) {
		return fail(errName)
	}
	if len(o.Run) == 0 || o.Run[0] == "" {
		return fail(errRun)
	}
	every, err := observe.Interval("every", o.Every, time.Minute)
	if err != nil {
		return fail(err)
	}
	deadline, err := observe.Interval("deadline", o.Deadline, 10*time.Second)
	if err != nil {
		return fail(err)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Probe{o: o, spec: observe.Spec{Name: o.Name, Part: fleet.PartExtra, Every: every, Deadline: deadline}}, nil
}

// Spec says what the probe fills and how often.
func (p *Probe) Spec() observe.Spec { return p.spec }

// Look runs the program and reads its facts. A program that fails, takes too
// long or prints something else saw nothing, whatever it printed before.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	out, err := program.Run(ctx, program.Call{Argv: p.o.Run, Env: p.environ(), Max: maxOut, Heard: maxErr})
	if said, ok := errors.AsType[*program.Complaint](err); ok {
		err = fmt.Errorf("%w: %s", said.Err, fleet.Redact(fleet.Line(said.Says, 200)))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look with %s: %w", fleet.Line(p.o.Run[0], 80), err)
	}
	facts, err := parse(p.o.Name, out)
	if err != nil {
		return nil, fmt.Errorf("cannot read facts of %s: %w", fleet.Line(p.o.Run[0], 80), err)
	}
	return func(s *fleet.Snapshot) { s.Extra.Value = append(s.Extra.Value, facts...) }, nil
}

// environ is all that a foreign program learns of our environment: no tokens.
func (p *Probe) environ() []string {
	env := []string{}
	for _, key := range []string{"PATH", "HOME", "LANG"} {
		if v := p.o.Getenv(key); v != "" {
			env = append(env, key+"="+v)
		}
	}
	return env
}
