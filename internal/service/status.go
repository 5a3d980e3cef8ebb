package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"custos/internal/service/unit"
	"custos/internal/sys/program"
	"custos/internal/sys/systemd"
)

// Status is how one unit is.
type Status struct {
	Manager string      `json:"manager"`        // user or system
	Known   bool        `json:"known"`          // the manager was asked; else only the file was looked at
	Why     string      `json:"why,omitempty"`  // it was not
	Unit    string      `json:"unit,omitempty"` // its file; "" where there is none
	Origin  unit.Origin `json:"origin,omitempty"`
	Program string      `json:"program,omitempty"`
	Version string      `json:"version,omitempty"` // of that program, as it says itself; "" when it was not asked
	Enabled bool        `json:"enabled"`
	Active  string      `json:"active,omitempty"` // as systemd says it: active, failed, …
	PID     int         `json:"pid,omitempty"`
	Linger  string      `json:"linger,omitempty"` // yes, no or unknown; "" for a unit of the system
	RunsAs  string      `json:"runs_as,omitempty"`
	Broken  []string    `json:"broken"` // what ends agents, or keeps the daemon from running
	Drift   []string    `json:"drift"`  // what else is not as custos service would have it now
}

// Status says how the unit is. It changes nothing. Only what cannot be looked at is an error: a
// manager that is not there is said in the status.
func (s *Service) Status(ctx context.Context) (Status, error) {
	out := Status{Manager: s.Manager(), Broken: []string{}, Drift: []string{}}
	text, err := s.read(s.Path())
	if refused := (*Refusal)(nil); errors.As(err, &refused) {
		out.Unit, out.Drift = s.Path(), append(out.Drift, refused.Why)
	} else if err != nil {
		return out, err
	}
	if text != nil {
		out.Unit, out.Origin = s.Path(), unit.OriginOf(string(text))
		out.Drift = append(out.Drift, s.differs(out.Origin, string(text))...)
	}
	u, err := s.manager.Show(ctx, unit.Name)
	if err != nil {
		out.Why = err.Error()
		return out, nil
	}
	out.Known, out.Enabled, out.Active, out.PID, out.Program = true, u.File == "enabled", u.Active, u.PID, u.Program
	if out.Unit == "" {
		out.Unit = u.Fragment
	}
	if out.Unit != "" {
		out.Linger = s.lingers(ctx)
		out.RunsAs = s.runsAs(u)
		out.Broken = append(out.Broken, broken(u)...)
		out.Drift = append(out.Drift, s.drift(u)...)
		out.Version = s.version(ctx, u.Program)
	}
	return out, nil
}

// differs says whether the text is another one than would be written now. That PATH is another
// one in each shell is no difference.
func (s *Service) differs(origin unit.Origin, text string) []string {
	if origin != unit.Ours {
		return []string{string(origin)}
	}
	if p, err := s.Compose(); err == nil && unit.WithoutPath(p.Text) != unit.WithoutPath(text) {
		return []string{"custos service install, typed here, would write it anew"}
	}
	return nil
}

// list are the sentences that hold.
type list []string

func (l *list) add(is bool, format string, args ...any) {
	if is {
		*l = append(*l, fmt.Sprintf(format, args...))
	}
}

// broken is what of a unit, as the manager has it, ends agents, or keeps the daemon from running.
func broken(u systemd.Unit) (l list) {
	_, err := os.Stat(u.Program)
	l.add(u.KillMode != "process", "KillMode is %s: its stop ends agents", line(u.KillMode))
	l.add(u.Program != "" && errors.Is(err, fs.ErrNotExist), "%s, which it starts, is not there", u.Program)
	return l
}

// drift is what else of it is not as it should be.
func (s *Service) drift(u systemd.Unit) (l list) {
	l.add(u.Outdated, "its file was changed since systemd read it")
	l.add(u.DropIns != "", "%s change it", line(u.DropIns))
	l.add(u.Type != "notify", "Type is %s: systemd does not hear how the daemon is", line(u.Type))
	l.add(u.OOM != "continue", "OOMPolicy is %s: one agent that lacks memory ends the daemon, too", line(u.OOM))
	own, _ := s.m.Exe() // where it is not known, nothing is said of it
	mine, _ := os.Stat(own)
	info, err := os.Stat(u.Program)
	l.add(err == nil && mine != nil && !os.SameFile(info, mine), "it starts another program than this one (%s)", own)
	return l
}

// runsAs is the user whose daemon a unit starts.
func (s *Service) runsAs(u systemd.Unit) string {
	if s.o.System {
		return cmp.Or(u.RunsAs, "root")
	}
	return s.name
}

// version asks a program that nobody else can have exchanged for its version; "" for no answer.
func (s *Service) version(ctx context.Context, path string) string {
	if path == "" || trusted(path, s.m.UID()) != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := program.Run(ctx, program.Call{Argv: []string{path, "version", "--json"}, Env: program.Environ(s.m.Getenv), Max: 4 << 10})
	var said struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(out, &said) != nil {
		return ""
	}
	return line(said.Version)
}

// Removed is what was taken away.
type Removed struct {
	Manager string `json:"manager"`
	Unit    string `json:"unit,omitempty"` // the file that was removed; "" for none
	Stays   string `json:"stays,omitempty"`
	Stopped bool   `json:"stopped"` // a daemon
	Did     bool   `json:"did"`     // anything
}

// Uninstall stops the daemon of the unit, keeps it from beginning again, and removes the unit. No
// agent ends: it refuses where the stop of the unit would end them.
func (s *Service) Uninstall(ctx context.Context) (Removed, error) {
	out := Removed{Manager: s.Manager()}
	u, err := s.show(ctx)
	if err != nil {
		return out, err
	}
	p, err := s.Look(Plan{Path: s.Path()})
	if err != nil {
		return out, err
	}
	runs := u.Active != "inactive" && u.Active != "failed" && u.Active != ""
	switch {
	case p.edited() && !s.o.Replace:
		return out, refusal(p.Path+" was "+string(p.Origin)+": it is left as it is", "custos service uninstall --edited")
	case runs && u.KillMode != "process":
		return out, refusal("its KillMode is "+line(u.KillMode)+" for systemd: its stop would end every agent that it holds", "custos service install --replace")
	}
	return s.takeAway(ctx, out, p, u, runs)
}

func (s *Service) takeAway(ctx context.Context, out Removed, p Plan, u systemd.Unit, runs bool) (Removed, error) {
	if runs {
		if err := s.manager.Stop(ctx, unit.Name); err != nil {
			return out, err
		}
		out.Stopped, out.Did = true, true
	}
	if u.File == "enabled" {
		if err := s.manager.Disable(ctx, unit.Name); err != nil {
			return out, err
		}
		out.Did = true
	}
	if p.Origin == "" {
		out.Stays = u.Fragment // a package's
		return out, nil
	}
	if err := restore(Plan{Path: p.Path}); err != nil {
		return out, fmt.Errorf("cannot remove the unit: %w", err)
	}
	out.Unit, out.Did = p.Path, true
	return out, s.manager.Reload(ctx)
}

// Statuses are how the unit of one manager is, or those of both. To look at the unit of the system
// takes no root.
func (s *Service) Statuses(ctx context.Context, user, system bool) ([]Status, error) {
	all := []Status{}
	for _, of := range []bool{s.o.System, !s.o.System} {
		if user && of || system && !of {
			continue
		}
		st, err := s.under(of).Status(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	if len(all) == 2 && starts(all[0]) && starts(all[1]) && all[0].RunsAs == all[1].RunsAs {
		all[0].Broken = append(all[0].Broken, "the manager of the "+all[1].Manager+" has one, too: only one daemon of "+all[0].RunsAs+" can run")
	}
	return all, nil
}

func starts(st Status) bool { return st.Unit != "" && (st.Enabled || st.Active == "active") }

// under is the same service, under the manager of the system or of the user.
func (s *Service) under(system bool) *Service {
	o := *s
	if o.o.System = system; system != s.o.System {
		o.manager, o.other = &systemd.Writer{Reader: s.other}, s.manager.Reader
	}
	return &o
}

// Look says how the units are that start a daemon of this user. It changes nothing, and
// who names New can do more.
func Look(ctx context.Context, m Machine) ([]Status, error) {
	m = m.real()
	s, err := bare(m, Options{System: m.IsRoot()})
	if err != nil {
		return nil, err
	}
	all, err := s.Statuses(ctx, false, false)
	return slices.DeleteFunc(all, func(st Status) bool { return st.Unit == "" || st.Known && st.RunsAs != s.name }), err
}
