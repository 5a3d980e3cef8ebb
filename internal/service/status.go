package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	Drift   []string    `json:"drift"`            // what is not as custos service would have it now
}

// Status says how the unit is. It changes nothing. Only what cannot be looked at is an error: a
// manager that is not there is said in the status.
func (s *Service) Status(ctx context.Context) (Status, error) {
	out := Status{Manager: s.Manager(), Drift: []string{}}
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

// drift is what of a unit, as the manager has it, is not as it should be.
func (s *Service) drift(u systemd.Unit) (list []string) {
	add := func(is bool, format string, args ...any) {
		if is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(u.Outdated, "its file was changed since systemd read it")
	add(u.DropIns != "", "%s change it", line(u.DropIns))
	add(u.KillMode != "process", "KillMode is %s: its stop ends agents", line(u.KillMode))
	add(u.Type != "notify", "Type is %s: systemd does not hear how the daemon is", line(u.Type))
	info, err := os.Stat(u.Program)
	own, _ := s.m.Exe() // where it is not known, nothing is said of it
	mine, _ := os.Stat(own)
	add(u.Program != "" && errors.Is(err, fs.ErrNotExist), "%s is not there", u.Program)
	add(err == nil && mine != nil && !os.SameFile(info, mine), "it starts another program than this one (%s)", own)
	return list
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

// Asked are the services that a question is about: that of one manager, or of both. To look at the
// unit of the system takes no root.
func (s *Service) Asked(user, system bool) []*Service {
	of := func(system bool) *Service {
		o := *s
		if o.o.System = system; system != s.o.System {
			o.manager, o.other = &systemd.Writer{Reader: s.other}, s.manager.Reader
		}
		return &o
	}
	switch {
	case user:
		return []*Service{of(false)}
	case system:
		return []*Service{of(true)}
	}
	return []*Service{of(s.o.System), of(!s.o.System)}
}
