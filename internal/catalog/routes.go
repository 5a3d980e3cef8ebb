package catalog

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/report"
)

// routeSection is the section [route.NAME].
type routeSection struct {
	To       []string `toml:"to" is:"name"`                  // names of notifiers
	Priority string   `toml:"priority" is:"|P0|P1|P2|P3|P4"` // at least so bad; "P2"
	Rule     []string `toml:"rule" is:"pattern"`             // globs of rules
	Project  []string `toml:"project" is:"pattern"`          // globs of projects
	Kind     []string `toml:"kind" is:"pattern"`             // kinds of subject

	GroupWait     string    `toml:"group_wait" is:"duration"`                // "30s"
	GroupInterval string    `toml:"group_interval" is:"duration"`            // "5m"
	Repeat        *[]string `toml:"repeat" is:"duration 1m.."`               // by priority; [] is never
	Louder        string    `toml:"louder" is:"duration|never"`              // "4h"; "never"
	Quiet         string    `toml:"quiet"`                                   // like "22:00-07:00"
	Zone          string    `toml:"zone"`                                    // like "Europe/Berlin"; that of the machine
	QuietBreaks   string    `toml:"quiet_breaks" is:"|P0|P1|P2|P3|P4|never"` // "P1"; "never"
}

// routes reads the sections [route.NAME], in the order of their names. Where there
// is none, every notifier is told of P2 and worse.
func routes(cfg config.Config, all []report.Notifier) ([]report.Route, error) {
	sections := map[string]routeSection{}
	if err := cfg.Section("route", &sections); err != nil {
		return nil, err
	}
	var out []report.Route
	terminal := atOnce()
	for _, name := range sortedNames(sections) {
		r, err := sections[name].route(name)
		if err == nil {
			err = known(r.To, all)
		}
		if err != nil {
			return nil, cfg.Misread("route."+name, err)
		}
		out = append(out, r)
	}
	named := func(r report.Route) bool { return slices.Contains(r.To, terminal.Name) }
	if !slices.ContainsFunc(out, named) {
		out = append([]report.Route{terminal}, out...)
	}
	if len(sections) == 0 && len(all) > 1 {
		out = append(out, report.Everybody(all[1:])) // the first is the terminal
	}
	return out, nil
}

func known(to []string, all []report.Notifier) error {
	var names []string
	for _, n := range all {
		names = append(names, n.Name())
	}
	if len(to) == 0 {
		return fmt.Errorf("to: want at least one of %s", strings.Join(names, ", "))
	}
	for _, name := range to {
		if !slices.Contains(names, name) {
			return fmt.Errorf("to: %q is none of %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

func (s routeSection) route(name string) (report.Route, error) {
	r := report.Route{Name: name, To: s.To, Priority: report.DefaultPriority, Rules: s.Rule, Projects: s.Project, Kinds: s.Kind,
		Wait: report.DefaultWait, Interval: report.DefaultInterval, Louder: report.DefaultLouder}
	for key, globs := range map[string][]string{"rule": s.Rule, "project": s.Project, "kind": s.Kind} {
		for _, g := range globs {
			if _, err := path.Match(g, ""); err != nil {
				return r, fmt.Errorf("%s: %q is no glob", key, g)
			}
		}
	}
	return r, errors.Join(
		priority("priority", s.Priority, &r.Priority),
		span("group_wait", s.GroupWait, &r.Wait),
		span("group_interval", s.GroupInterval, &r.Interval),
		span("louder", s.Louder, &r.Louder),
		s.repeats(&r.Repeat),
		s.hours(&r.Quiet),
	)
}

func priority(key, text string, into *fleet.Priority) error {
	if text == "" {
		return nil
	}
	p, err := fleet.ParsePriority(text)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	*into = p
	return nil
}

// span reads a duration; "never" is 0.
func span(key, text string, into *time.Duration) error {
	switch text {
	case "":
		return nil
	case config.Never:
		*into = 0
		return nil
	}
	d, err := config.Duration(text)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	*into = d
	return nil
}

func (s routeSection) repeats(into *[]time.Duration) error {
	if s.Repeat == nil {
		return nil
	}
	*into = []time.Duration{}
	for _, text := range *s.Repeat {
		d, err := config.Duration(text)
		if err != nil || d < time.Minute {
			return fmt.Errorf("repeat: %q is no duration of at least a minute", text)
		}
		*into = append(*into, d)
	}
	return nil
}

func (s routeSection) hours(into *report.Quiet) error {
	if s.Quiet == "" {
		return nil
	}
	from, until, ok := strings.Cut(s.Quiet, "-")
	begin, err1 := time.Parse("15:04", strings.TrimSpace(from))
	end, err2 := time.Parse("15:04", strings.TrimSpace(until))
	if !ok || err1 != nil || err2 != nil || begin.Equal(end) {
		return fmt.Errorf(`quiet: %q are no hours like "22:00-07:00"`, s.Quiet)
	}
	zone := time.Local
	if s.Zone != "" {
		var err error
		if zone, err = time.LoadLocation(s.Zone); err != nil {
			return fmt.Errorf("zone: %w", err)
		}
	}
	*into = report.Quiet{From: clock(begin), Until: clock(end), Zone: zone, Breaks: report.DefaultBreaks}
	if s.QuietBreaks == config.Never {
		into.Breaks = ""
		return nil
	}
	return priority("quiet_breaks", s.QuietBreaks, &into.Breaks)
}

func clock(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}
