package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"custos/internal/fleet"
)

// manager tells the service manager that started this daemon how it does, by
// the protocol of sd_notify. It never says that it is alive, only that a whole
// pass was made: a daemon whose passes fail or hang is started anew.
type manager struct {
	notify func(state string) error
	within time.Duration // the manager restarts the daemon when it gets no sign of life for so long; 0: it does not
	beats  <-chan struct{}
	ask    func()        // for a pass
	status func() string // for people
}

// notifyManager talks to the service manager until ctx ends, where there is one.
func (s *system) notifyManager(ctx context.Context) error {
	notify := func(state string) error { _, err := sd.SdNotify(false, state); return err }
	there, err := sd.SdNotify(false, "STATUS=looking for the first time")
	if err != nil || !there {
		return err
	}
	within, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("cannot read the service manager's watchdog: %w", err)
	}
	m := manager{notify: notify, within: within, beats: s.pulse.beats, status: s.statusLine,
		ask: func() { s.loop.Wake("the service manager's watchdog") }}
	return m.run(ctx)
}

// statusLine is what systemctl status shows.
func (s *system) statusLine() string {
	if why := s.loop.Trouble(); why != "" {
		return fleet.Line("passes cannot be finished: "+why, 200)
	}
	pass, _ := s.pulse.last()
	return fmt.Sprintf("mode %s, last pass at %s", s.cfg.Mode, pass.Wall.UTC().Format("2006-01-02 15:04:05Z"))
}

// run says that Custos is ready after the first whole pass; then, each half of
// the time the manager waits, that it watches, as soon as another pass was made.
func (m manager) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return m.stop(ctx)
	case <-m.beats:
	}
	if err := m.say(sd.SdNotifyReady); err != nil {
		return err
	}
	return m.watch(ctx)
}

func (m manager) watch(ctx context.Context) error {
	var clock <-chan time.Time
	if m.within > 0 {
		ticker := time.NewTicker(m.within / 2)
		defer ticker.Stop()
		clock = ticker.C
	}
	for awaited := m.within > 0; ; {
		select {
		case <-ctx.Done():
			return m.stop(ctx)
		case <-clock:
			if awaited { // no pass since the last time
				_ = m.say() // that it says nothing is what the manager acts on
			}
			awaited = true
			m.ask()
		case <-m.beats:
			if !awaited {
				continue
			}
			awaited = false
			if err := m.say(sd.SdNotifyWatchdog); err != nil {
				return err
			}
		}
	}
}

// stop says that the process ends, when it does: who goes on after that word systemd ends as
// one that hangs, TimeoutStopSec later.
func (m manager) stop(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errAnew) {
		return nil
	}
	return m.notify(sd.SdNotifyStopping)
}

// say notifies, with the status for people.
func (m manager) say(states ...string) error {
	text := "STATUS=" + m.status()
	for _, s := range states {
		text = s + "\n" + text
	}
	return m.notify(text)
}
