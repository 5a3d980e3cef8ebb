// Package forge is the probe of forges: the issues and pull requests of each
// configured project, with what they wait for, their checks and reviews, and who
// works on them. It asks by polling, conditionally, and no more than a few
// questions a look when nothing changed.
package forge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// Options are what the probe is made of.
type Options struct {
	Projects []Project
	// Agents lists who may be at work; nil: nobody is known.
	Agents func(context.Context) ([]Hand, error)
	// Worktrees lists the worktrees of a repository on this machine; nil: none.
	Worktrees func(ctx context.Context, repo string) ([]Tree, error)
	// Named lists work that somebody depends on: it is asked for though no list has
	// it; nil: none.
	Named func(context.Context) ([]fleet.Ref, error)
	// Remembered returns what Answers gave of a project in a former process; nil: nothing is.
	Remembered func(project string) ([]byte, error)
	Now        func() time.Time // wall clock; default time.Now
}

// Project is one project: the section [forge.NAME].
type Project struct {
	Name   string
	URL    string // of the forge
	Repo   string // OWNER/NAME
	Owner  fleet.Owner
	Labels Labels
	Path   string         // of its repository on this machine; "" for none
	Agents *regexp.Regexp // names of agents, with the group "issue"; nil: agentPattern
	Switch string         // path of a file: while it is missing, nobody is to take up work; "" for none
	Every  time.Duration  // between two looks; 0: a minute
	Lazy   bool           // lists of pull requests do not say whether they merge
	Reader forge.Reader
	// Apart looks at pull requests where the forge counts them apart from issues, so that
	// number 7 is both; nil: it is one of both.
	Apart forge.Reader
	Clock Clock
}

// Labels are those that say how far an issue is. An issue is ready when it has one
// of Ready (where there are any), in progress by one of InProgress, blocked by one
// of Blocked.
type Labels struct {
	Ready, InProgress, Blocked []string
}

// Clock tells of the time at the forge, and whether more may be asked of it than must be.
type Clock interface {
	Clock() time.Time
	Skew() (time.Duration, bool)
	Spare() bool
}

// Hand is somebody who may be at work: an agent.
type Hand struct {
	Name       string
	Project    string // by the registry
	Task       string // by the registry
	Branch     string // by the registry
	Repo       string // path of its repository, by the registry
	Dir        string // where it works
	Registered bool
}

// Tree is a worktree.
type Tree struct{ Path, Branch string }

// agentPattern is how agents of a project are called unless its section says
// otherwise: dev-shop-42, dev-qwen-shop-42.
func agentPattern(project string) *regexp.Regexp {
	return regexp.MustCompile(`^dev-(?:.+-)?` + regexp.QuoteMeta(project) + `-(?P<issue>\d+)$`)
}

// CompileAgents reads a pattern of custos.toml.
func CompileAgents(text string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	if re.SubexpIndex("issue") < 0 {
		return nil, errors.New("it has no group (?P<issue>…)")
	}
	return re, nil
}

// LeastEvery is the shortest time between two looks.
const LeastEvery = 10 * time.Second

// New checks the options.
func New(o Options) (*Probe, error) {
	p := &Probe{o: o, projects: map[string]*project{}, every: time.Minute}
	if p.o.Now == nil {
		p.o.Now = time.Now
	}
	for i, po := range o.Projects {
		if po.Name == "" || po.Reader == nil || po.Clock == nil || !strings.Contains(po.Repo, "/") {
			return nil, fmt.Errorf("cannot watch [forge.%s]: it is not whole", po.Name)
		}
		if po.Every <= 0 {
			po.Every = time.Minute
		}
		if po.Agents == nil {
			po.Agents = agentPattern(po.Name)
		}
		if p.every = min(p.every, po.Every); i == 0 {
			p.every = po.Every
		}
		p.projects[po.Name] = newProject(po, p.o.Now)
		p.projects[po.Name].remembered = o.Remembered
		p.order = append(p.order, po.Name)
	}
	return p, nil
}
