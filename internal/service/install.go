package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"custos/internal/service/unit"
	"custos/internal/sys/settings"
	"custos/internal/sys/systemd"
)

// Done is what an installation came to.
type Done struct {
	Plan
	Manager string `json:"manager"` // user or system
	Did     string `json:"did"`     // installed, replaced, restarted, started, nothing
	Health  string `json:"health"`
	Linger  string `json:"linger"` // yes, no, unknown; "" for a unit of the system
}

// Install writes the unit, has it begin now and with the manager, and waits until the daemon is
// well. Where it does not get so, everything is as before, and the error is an ErrUndone.
func (s *Service) Install(ctx context.Context) (Done, error) {
	p, was, err := s.ready(ctx)
	d := Done{Plan: p, Manager: s.Manager()}
	if err != nil {
		return d, err
	}
	if d.Linger = s.lingers(ctx); !p.Changes() && was.Active == "active" && was.File == "enabled" && !was.Outdated {
		return s.nothing(ctx, d)
	}
	how := s.o.Health(ctx)
	if how.PID != 0 && how.PID != was.PID {
		return d, refusal(fmt.Sprintf("a daemon runs already, which the unit has not started (process %d)", how.PID), "custos down && custos service install")
	}
	if err := s.put(ctx, p, was); err != nil {
		return d, err
	}
	began := s.begin(ctx, p, was)
	if began == nil {
		d.Health, began = s.await(ctx, was)
	}
	if began != nil {
		return d, s.back(context.WithoutCancel(ctx), p, was, true, began)
	}
	d.Did = didOf(p, was)
	return d, nil
}

func didOf(p Plan, was systemd.Unit) string {
	switch {
	case !p.Changes() && was.Active == "active":
		return "enabled"
	case !p.Changes():
		return "started"
	case p.Was == "":
		return "installed"
	}
	return "replaced"
}

// nothing is what is done where all is so already; how the daemon is, is said.
func (s *Service) nothing(ctx context.Context, d Done) (Done, error) {
	d.Did, d.Health = "nothing", s.o.Health(ctx).Says
	return d, nil
}

// ready finds out what is there, and whether it may be changed. It changes nothing.
func (s *Service) ready(ctx context.Context) (p Plan, was systemd.Unit, err error) {
	if was, err = s.show(ctx); err != nil {
		return p, was, err
	}
	if p, err = s.Compose(); err != nil {
		return p, was, err
	}
	if err := trusted(p.Program, s.m.UID()); err != nil {
		return p, was, refusal(err.Error(), "custos help install.md")
	}
	if p, err = s.Look(p); err != nil {
		return p, was, err
	}
	if p.edited() && p.Changes() && !s.o.Replace {
		return p, was, refusal(p.Path+" was "+string(p.Origin)+": it is left as it is", "custos service install --replace")
	}
	return p, was, s.twice(ctx)
}

// show asks the manager for our unit.
func (s *Service) show(ctx context.Context) (systemd.Unit, error) {
	u, err := s.manager.Show(ctx, unit.Name)
	if err != nil {
		return u, fmt.Errorf("%w: %w", ErrNoSystemd, err)
	}
	return u, nil
}

// twice refuses a second unit for the same user's daemon.
func (s *Service) twice(ctx context.Context) error {
	u, err := s.other.Show(ctx, unit.Name)
	if err != nil { // of a manager that is not there nothing is started
		return nil
	}
	beside := s.under(!s.o.System)
	whose := beside.Manager()
	if (u.Active == "active" || u.File == "enabled") && beside.runsAs(u) == s.name {
		return refusal(fmt.Sprintf("there is a %s of the %s already (%s), which starts a daemon of %s, too", unit.Name, whose, u.Fragment, s.name), "custos service uninstall --"+whose)
	}
	return nil
}

// put writes the unit, and sees that the manager understands it as it is meant.
func (s *Service) put(ctx context.Context, p Plan, was systemd.Unit) error {
	if p.Changes() {
		if err := s.write(p); err != nil {
			return err
		}
	}
	err := s.manager.Reload(ctx)
	if err == nil {
		err = s.understood(ctx, p)
	}
	if err != nil {
		return s.back(context.WithoutCancel(ctx), p, was, false, err)
	}
	return nil
}

// understood refuses a unit that something else changes, so that its end would be that of agents.
func (s *Service) understood(ctx context.Context, p Plan) error {
	u, err := s.manager.Show(ctx, unit.Name)
	switch {
	case err != nil:
		return err
	case u.Load != "loaded":
		return fmt.Errorf("systemd says that the unit is %s", line(u.Load))
	case u.Fragment != p.Path:
		return fmt.Errorf("systemd takes %s in its place", line(u.Fragment))
	case u.KillMode != "process" || u.Type != "notify":
		return fmt.Errorf("%s has KillMode=%s and Type=%s for systemd, and not process and notify: something changes it (%s)", unit.Name, line(u.KillMode), line(u.Type), line(u.DropIns))
	}
	return nil
}

// begin has the daemon begin, and whenever the manager does; one of an older unit begins anew.
func (s *Service) begin(ctx context.Context, p Plan, was systemd.Unit) error {
	if was.Active == "failed" {
		_ = s.manager.Forget(ctx, unit.Name) // it matters only where starts were too many
	}
	err := s.manager.EnableNow(ctx, unit.Name)
	if err == nil && p.Changes() && was.Active == "active" {
		err = s.manager.Restart(ctx, unit.Name)
	}
	return err
}

// fails is how often a daemon may end while its start is waited for.
const fails = 2

// await waits until the daemon of the unit is well.
func (s *Service) await(ctx context.Context, was systemd.Unit) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.m.Within)
	defer cancel()
	tick := time.NewTicker(s.m.Every)
	defer tick.Stop()
	how, last := Health{}, systemd.Unit{}
	for {
		how = s.o.Health(ctx)
		if u, err := s.manager.Show(ctx, unit.Name); err == nil {
			last = u
		}
		switch {
		case how.Well && last.Active == "active" && (how.PID == 0 || how.PID == last.PID):
			return how.Says, nil
		case last.Active == "failed" || last.Restarts-was.Restarts >= fails:
			return "", fmt.Errorf("the daemon ends when it is started (%s, %s)", line(last.Active), line(last.Result))
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("the daemon is not well after %s (%s; systemd: %s, %s)", s.m.Within, line(how.Says), line(last.Active), line(last.Sub))
		case <-tick.C:
		}
	}
}

// back puts everything as it was, and says why. What was begun is stopped before the text goes: it
// is the unit of which it is known that its stop ends no agent, and of the one before it is not.
func (s *Service) back(ctx context.Context, p Plan, was systemd.Unit, begun bool, why error) error {
	begun = begun && (p.Changes() || was.Active != "active")
	steps := []struct {
		due bool
		do  func() error
	}{
		{begun, func() error { return s.manager.Stop(ctx, unit.Name) }},
		{begun && was.File != "enabled", func() error { return s.manager.Disable(ctx, unit.Name) }},
		{p.Changes(), func() error { return restore(p) }},
		{true, func() error { return s.manager.Reload(ctx) }},
		{begun && was.Active == "active", func() error { return s.manager.Start(ctx, unit.Name) }},
	}
	for _, step := range steps {
		if !step.due {
			continue
		}
		if err := step.do(); err != nil {
			return fmt.Errorf("%w; and not all could be put back: %w", why, err)
		}
	}
	return &undone{why}
}

// restore puts the text of before in its place; an empty folder that was made for it goes.
func restore(p Plan) error {
	if p.Was != "" {
		return settings.Lay(p.Path, []byte(p.Was), 0o644)
	}
	if err := os.Remove(p.Path); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(p.Path)) // stays where something else is in it
	return nil
}

// lingers says whether the daemon runs on when its user logs out.
func (s *Service) lingers(ctx context.Context) string {
	if s.o.System {
		return ""
	}
	yes, err := s.manager.Lingers(ctx, s.name)
	switch {
	case err != nil:
		return "unknown"
	case yes:
		return "yes"
	}
	return "no"
}

// LingerCommand has the daemon run on when its user logs out.
func (s *Service) LingerCommand() string { return "loginctl enable-linger " + s.name }
