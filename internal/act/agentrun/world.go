// Package agentrun is what the actions on agents have in common: how a running
// agent is found, held and looked at afresh, how one is started, whether it is at
// rest, how it is ended with all that it started, and what is written down of its
// work. It decides nothing.
//
// In go an agent or a registration as it was planned with; out come what is
// there at this very instant, or an error that wraps act.ErrRefused or
// act.ErrUnneeded where the difference matters.
package agentrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"custos/internal/act"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// World is where agents are found, as every action on them is given it.
type World struct {
	// Providers are where agents of ours run.
	Providers map[fleet.Where]session.Provider
	// Elsewhere returns a provider for another tmux server, by its socket (raw):
	// there adopted agents run. Nil: they cannot be reached.
	Elsewhere func(socket string) (session.Provider, error)
	// Hosted lists what lives on a tmux server that an agent started. Nil: whatever
	// lives on one is left alone.
	Hosted Hosted
	Kinds  *agent.Kinds
	Shims  string // folder of all instances
	// Registered reads what the ledger knows of an agent now; false when nothing.
	// Nil: what the plan knew counts.
	Registered func(ctx context.Context, name string) (fleet.Registration, bool, error)
	// Hooks returns what an agent, by fleet.HookEvent.Key, reported since a moment, the
	// oldest first. Nil: no agent reports anything.
	Hooks func(ctx context.Context, key string, since fleet.Instant) ([]fleet.HookEvent, error)
	// Written returns what the transcript of an agent that runs tells of since a moment.
	// Nil: none is read.
	Written func(ctx context.Context, id fleet.ProcessID, since fleet.Instant) ([]fleet.HookEvent, error)
	Now     func() fleet.Instant
	Boot    string // id of this boot; empty asks the kernel
}

// Check says what is missing, and fills in what goes without saying.
func (w World) Check() (World, error) {
	if w.Kinds == nil || w.Now == nil || len(w.Providers) == 0 || w.Shims == "" {
		return w, errors.New("cannot act on agents: kinds, clock, providers or the folder of instances are missing")
	}
	if w.Boot == "" {
		boot, err := proc.BootID()
		if err != nil {
			return w, err
		}
		w.Boot = boot
	}
	return w, nil
}

// Refused is an error for a precondition that does not hold.
func Refused(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, act.ErrRefused)...)
}

// Never is an error for a precondition that does not hold, and that no waiting
// brings about.
func Never(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, act.ErrLasting)...)
}

// Unneeded is an error for what is as it should be already.
func Unneeded(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, act.ErrUnneeded)...)
}

// Instance is the key of the instance that an action starts. It is the action's
// own: done again after a crash, it finds the first.
func Instance(actionID string) string {
	sum := sha256.Sum256([]byte("instance\x00" + actionID))
	return "a" + hex.EncodeToString(sum[:])[:15]
}

// Session is the ID of the conversation that a new instance begins, as a UUID.
func Session(instance string) string {
	b := sha256.Sum256([]byte("session\x00" + instance))
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	x := hex.EncodeToString(b[:16])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// Registration returns what the ledger knows of an agent now, or else what was
// planned with; nil when it is not registered.
func (w World) Registration(ctx context.Context, name string, planned *fleet.Registration) (*fleet.Registration, error) {
	if w.Registered == nil {
		return planned, nil
	}
	r, known, err := w.Registered(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("cannot read what is known of %s: %w", fleet.Line(name, 80), err)
	}
	if !known {
		return nil, nil
	}
	return &r, nil
}

// open takes hold of a process; an error wraps proc.ErrGone when it has ended,
// and a process of another boot has.
func (w World) open(p fleet.ProcessID) (*proc.Handle, error) {
	switch {
	case p.PID <= 1:
		return nil, fmt.Errorf("process %d: %w", p.PID, proc.ErrGone)
	case p.Boot != "" && p.Boot != w.Boot:
		return nil, fmt.Errorf("the machine was started anew since process %d was seen: %w", p.PID, proc.ErrGone)
	case p.PID == os.Getpid():
		return nil, Refused("process %d is Custos itself", p.PID)
	}
	return proc.Open(proc.ID{PID: p.PID, Start: p.Start})
}

// Lives says whether a process runs. An error means that it cannot be told.
func (w World) Lives(p fleet.ProcessID) (bool, error) {
	h, err := w.open(p)
	if errors.Is(err, proc.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h.Close()
	return true, nil
}

// Marker is the environment entry of an instance and of all that it starts; ""
// for an agent that is not ours.
func Marker(name, instance string) string {
	if instance == "" {
		return ""
	}
	return shim.Marker + "=" + name + ":" + instance
}

// Wait returns nil once ok says true, which is asked at once and then every 50 ms,
// or the error of ctx, or that time is up.
func Wait(ctx context.Context, most time.Duration, ok func(context.Context) bool) error {
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok(within) {
		select {
		case <-within.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("not within %s", most)
		case <-tick.C:
		}
	}
	return nil
}

// Pause waits, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Duration reads an option; empty is its default.
func Duration(name, text string, or time.Duration) (time.Duration, error) {
	if text == "" {
		return or, nil
	}
	d, err := fleet.ParseDuration(text)
	if err != nil || d <= 0 || d > time.Hour {
		return 0, fmt.Errorf("cannot use %s = %q: want a duration up to 1h, such as %s", name, text, or)
	}
	return d, nil
}

// bytesOf reads an option such as "200MiB"; empty is its default.
func bytesOf(name, text string, or int64) (int64, error) {
	if text == "" {
		return or, nil
	}
	n, err := fleet.ParseSize(text)
	if err != nil {
		return 0, fmt.Errorf("cannot use %s: %w", name, err)
	}
	return n, nil
}
