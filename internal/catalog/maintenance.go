package catalog

import (
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/adhocore/gronx"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger/cron"
	"custos/internal/report"
)

// maintenanceSection is the section [maintenance.NAME].
type maintenanceSection struct {
	Cron    string   `toml:"cron"`                     // when it begins, again and again: minute, hour, day, month, weekday
	At      string   `toml:"at"`                       // or once: "2026-11-22 02:00"
	For     string   `toml:"for" is:"duration 1s..7d"` // how long it lasts
	Zone    string   `toml:"zone"`                     // like "Europe/Berlin"; that of the machine
	Rule    []string `toml:"rule" is:"pattern"`        // globs of rules
	Project []string `toml:"project" is:"pattern"`
	Kind    []string `toml:"kind" is:"pattern"`
}

// longestWindow keeps a slip of the keyboard from silencing a fleet for good.
const longestWindow = 7 * 24 * time.Hour

// windows reads the sections [maintenance.NAME], in the order of their names.
func windows(cfg config.Config) ([]report.Window, error) {
	sections := map[string]maintenanceSection{}
	if err := cfg.Section("maintenance", &sections); err != nil {
		return nil, err
	}
	var out []report.Window
	for _, name := range sortedNames(sections) {
		w, err := sections[name].window(name)
		if err != nil {
			return nil, cfg.Misread("maintenance."+name, err)
		}
		out = append(out, w)
	}
	return out, nil
}

func (s maintenanceSection) window(name string) (report.Window, error) {
	w := report.Window{Name: name, Rules: s.Rule, Projects: s.Project, Kinds: s.Kind}
	for key, globs := range map[string][]string{"rule": s.Rule, "project": s.Project, "kind": s.Kind} {
		for _, g := range globs {
			if _, err := path.Match(g, ""); err != nil {
				return w, fmt.Errorf("%s: %q is no glob", key, g)
			}
		}
	}
	var err error
	if w.For, err = config.Duration(s.For); err != nil {
		return w, fmt.Errorf("for: %w", err)
	}
	if w.For <= 0 || w.For > longestWindow {
		return w, errors.New("for: want a time up to 7 days, like \"2h\"")
	}
	w.Began, err = s.begins()
	return w, err
}

// begins is when the window began last.
func (s maintenanceSection) begins() (func(time.Time) (time.Time, bool), error) {
	zone := time.Local
	if s.Zone != "" {
		var err error
		if zone, err = time.LoadLocation(s.Zone); err != nil {
			return nil, fmt.Errorf("zone: there is no zone %q", fleet.Line(s.Zone, 80))
		}
	}
	if (s.Cron == "") == (s.At == "") {
		return nil, errors.New(`want exactly one of cron = "0 2 * * 0" and at = "2026-11-22 02:00"`)
	}
	if s.Cron != "" {
		if err := cron.Check(s.Cron, s.Zone); err != nil {
			return nil, fmt.Errorf("cron: %w", err)
		}
		return func(at time.Time) (time.Time, bool) {
			last, err := gronx.PrevTickBefore(s.Cron, at.In(zone), true)
			return last, err == nil && !last.After(at)
		}, nil
	}
	once, err := time.ParseInLocation("2006-01-02 15:04", s.At, zone)
	if err != nil {
		return nil, fmt.Errorf("at: %q is no moment like \"2026-11-22 02:00\"", fleet.Line(s.At, 80))
	}
	return func(at time.Time) (time.Time, bool) { return once, !at.Before(once) }, nil
}
