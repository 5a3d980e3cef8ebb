// Package logs is the probe of log files in configured places: how big, how
// old, and the last lines, safe to show. It changes nothing.
package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/files"
)

const (
	most      = 2000     // logs of each glob in one look; of all globs files.Globs times as many
	tails     = 100      // of them, the most recently written ones that are read
	tailLines = 15       // as many as the seed's preflight shows
	tailBytes = 16 << 10 // of a log's end are read at most
	lineRunes = 400      // of a line are kept
)

// Options is the section [logs] of custos.toml.
type Options struct {
	// Globs are the places of logs. Default: none, and the part is absent.
	Globs []string `toml:"globs" is:"glob"`
	// Every is the time between two looks. Default "1m".
	Every string `toml:"every" is:"duration 1ms.."`

	Home string           `toml:"-"` // for ~/ in globs
	Now  func() time.Time `toml:"-"` // wall clock; default time.Now
}

// Probe fills the part "logs".
type Probe struct {
	now    func() time.Time
	every  time.Duration
	follow *files.Follower
}

// New checks the options.
func New(o Options) (*Probe, error) {
	p := &Probe{now: o.Now, every: time.Minute}
	if p.now == nil {
		p.now = time.Now
	}
	var every error
	patterns, globs := files.CompileAll(o.Globs, o.Home)
	p.follow = files.Follow(patterns, most)
	if o.Every != "" {
		var bad error
		if p.every, bad = fleet.ParseDuration(o.Every); bad != nil || p.every <= 0 {
			every = fmt.Errorf("cannot use every = %q: want a duration such as 1m", o.Every)
		}
	}
	if err := errors.Join(globs, every); err != nil {
		return nil, fmt.Errorf("cannot look at logs: %w", err)
	}
	return p, nil
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "logs", Part: fleet.PartLogs, Every: p.every, Deadline: 10 * time.Second}
}

// Look implements observe.Probe. A log that goes away meanwhile is left out.
// Only the logs written to last have their tails read.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if p.follow.Len() == 0 {
		return nil, fmt.Errorf("cannot look at logs: no globs are configured: %w", observe.ErrAbsent)
	}
	paths, cut, err := p.follow.Find(ctx)
	seen, err2 := stat(ctx, paths)
	if err2 != nil {
		return nil, err2
	}
	slices.SortStableFunc(seen, func(a, b sized) int { return cmp.Compare(b.MTime, a.MTime) })
	logs := make([]fleet.Log, 0, len(seen))
	for i, s := range seen {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cannot look at all logs: %w", ctx.Err())
		}
		logs = append(logs, p.describe(s, i < tails))
	}
	slices.SortFunc(logs, func(a, b fleet.Log) int { return cmp.Compare(a.Path, b.Path) })
	return func(s *fleet.Snapshot) { s.Logs.Value = append(s.Logs.Value, logs...) }, observe.WithCut(cut, err)
}

// sized is a log before it is read.
type sized struct {
	path string
	files.Info
	err error
}

func stat(ctx context.Context, paths []string) ([]sized, error) {
	var out []sized
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cannot look at all logs: %w", ctx.Err())
		}
		info, err := files.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
			continue
		}
		out = append(out, sized{path, info, err})
	}
	return out, nil
}

func (p *Probe) describe(s sized, read bool) fleet.Log {
	log := fleet.Log{Path: fleet.Path(s.path), Owner: fleet.OwnerConfigured}
	if s.err != nil {
		why := fleet.Line(s.err.Error(), 200)
		log.Bytes, log.Age = fleet.Unknown[int64](why), fleet.Unknown[fleet.Duration](why)
		log.Tail = fleet.Unknown[[]string](why)
		return log
	}
	log.File = fleet.FileID(s.Identity)
	log.Bytes = fleet.Known(s.Size)
	log.Age = age(p.now(), s.Modified())
	if log.Tail = fleet.Unknown[[]string]("not read: other logs were written to later"); read {
		log.Tail = tail(s.path)
	}
	return log
}

// tail reads the last lines, and makes them safe to show. Secrets are sought in
// all of them, which a key goes over, and before a line is cut, or half of one would be kept.
func tail(path string) fleet.Leaf[[]string] {
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return fleet.Unknown[[]string](fleet.Line("cannot open it: "+err.Error(), 200))
	}
	defer f.Close()
	lines, err := files.Tail(f, info.Size, tailLines, tailBytes)
	if err != nil {
		return fleet.Unknown[[]string](fleet.Line(err.Error(), 200))
	}
	if len(lines) > 0 {
		lines = strings.Split(fleet.Redact(fleet.Text(strings.Join(lines, "\n"))), "\n")
	}
	for i, l := range lines {
		if r := []rune(l); len(r) > lineRunes {
			l = string(r[:lineRunes-1]) + "…"
		}
		lines[i] = l
	}
	return fleet.Known(lines)
}

// age is unknown for a file whose time lies in the future.
func age(now, then time.Time) fleet.Leaf[fleet.Duration] {
	d, err := files.Age(now, then)
	if err != nil {
		return fleet.Unknown[fleet.Duration](err.Error())
	}
	return fleet.Known(fleet.Duration(d))
}
