package restartcontainer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/engine"
)

const (
	running   = "running"
	unhealthy = "unhealthy"
	starting  = "starting"
)

// run is one restart.
type run struct {
	o    Options
	seen fleet.Container
	was  engine.Detail
}

// wasBad says whether the container itself was what was wrong. Where it was not,
// another rule asks (a CI worker in it does not work), and only another run of it
// makes that unneeded.
func (r *run) wasBad() bool {
	return r.seen.State.Or("") != running || r.seen.Health.Or("") == unhealthy
}

// check holds the container against what was seen: the same one, in the same
// run, in the same state.
func (r *run) check(ctx context.Context) (engine.Detail, error) {
	d, err := r.o.Engine.Inspect(ctx, r.seen.ID)
	switch {
	case errors.Is(err, engine.ErrGone):
		return d, fmt.Errorf("cannot restart the container: it was removed, or made anew, since it was seen: %w", act.ErrRefused)
	case err != nil:
		return d, fmt.Errorf("cannot look at the container: %w", err)
	case d.State == running && d.Health != unhealthy && (r.wasBad() || d.Run != r.seen.Run):
		return d, fmt.Errorf("the container runs: %w", act.ErrUnneeded)
	case d.Run != r.seen.Run:
		return d, fmt.Errorf("cannot restart the container: it was started anew since it was seen: %w", act.ErrRefused)
	case d.State != r.seen.State.Or(""):
		return d, fmt.Errorf("cannot restart the container: it was %s and is %s by now: %w", r.seen.State.Or("unknown"), d.State, act.ErrRefused)
	case !restartable(d.State):
		return d, fmt.Errorf("cannot restart the container: it is %s: %w", d.State, act.ErrRefused)
	}
	ours, err := r.o.Inside(r.seen.ID)
	if err != nil {
		return d, fmt.Errorf("cannot tell whether Custos runs in it: %w", err)
	}
	if ours {
		return d, fmt.Errorf("cannot restart the container: Custos runs in it: %w", act.ErrRefused)
	}
	return d, nil
}

// restartable lists the states that a restart may mend. One that is paused was
// paused by a person; one that restarts is the engine's to start.
func restartable(state string) bool {
	return state == running || state == "exited" || state == "created" || state == "dead"
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if _, err := r.check(ctx); err != nil {
		return err
	}
	return r.o.Engine.Restart(ctx, r.seen.ID)
}

// Verify implements act.Run: it waits until the new run is healthy, or has
// stayed up for a while where there is no health check.
func (r *run) Verify(ctx context.Context) (string, error) {
	began := time.Now()
	last := engine.Detail{}
	for {
		d, err := r.o.Engine.Inspect(ctx, r.seen.ID)
		if ctx.Err() != nil && last.Run != "" {
			return "", fmt.Errorf("cannot show that the container is well: it is %s, its health %s: %w", last.State, last.Health, ctx.Err())
		}
		if err != nil {
			return "", fmt.Errorf("cannot show that the container runs: %w", err)
		}
		if d.Run != last.Run {
			began = time.Now()
		}
		last = d
		switch {
		case d.State != running && d.State != "restarting":
			return "", fmt.Errorf("it was restarted, and is %s again%s", d.State, cause(d))
		case d.Health == unhealthy:
			return "", errors.New("it was restarted, and is unhealthy again")
		case d.State == running && d.Run == r.was.Run:
			return "", errors.New("cannot show that the container was restarted: it is in the same run")
		case d.Health == "healthy":
			return r.effect("running and healthy"), nil
		case d.State == running && d.Health != starting && time.Since(began) >= r.o.Settle:
			return r.effect("running"), nil
		}
		select {
		case <-ctx.Done(): // said above
		case <-time.After(r.o.Look):
		}
	}
}

func (r *run) effect(now string) string {
	was := r.was.State + cause(r.was)
	if r.was.State == running && r.was.Health != "none" {
		was = r.was.Health
	}
	return fmt.Sprintf("container %s is %s; it was %s", r.seen.Name, now, was)
}

// cause is how a run ended, as far as the engine knows.
func cause(d engine.Detail) string {
	switch {
	case d.OOM:
		return " (out of memory)"
	case d.Error != "":
		return " (" + d.Error + ")"
	case d.Exit != 0:
		return fmt.Sprintf(" (status %d)", d.Exit)
	}
	return ""
}

// Close implements act.Run.
func (r *run) Close() {}

// inside looks for the container's folder among our own mounts: engines mount
// a container's host name and resolver from there.
func inside(id string) (bool, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, err
	}
	return strings.Contains(string(text), "/"+id+"/"), nil
}
