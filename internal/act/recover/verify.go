package recover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/shim"
)

// Verify implements act.Run: it lives for a while, and shows that it is ready.
func (r *run) Verify(ctx context.Context) (string, error) {
	if r.given != nil {
		return "", r.given
	}
	exit := r.settled(ctx)
	runs := "runs"
	switch err := r.lives(exit); {
	case err != nil:
		r.endedEarly(exit)
		return "", err
	case exit != nil:
		runs, r.ready = "ran", "it has ended well"
	case r.ready == "":
		return "", fmt.Errorf("it lives, and does not show that it is ready: %s", r.unready)
	}
	if r.begin.Command.Session != "" && r.plan.resumes(r.begin) {
		r.ready += "; its conversation goes on"
	}
	return strings.Join(append(r.says, fmt.Sprintf("%s as process %d, instance %s: %s", runs, r.got.Agent.PID, r.begin.Launch.Instance, r.ready)), "; "), nil
}

// settled waits until what was started has shown that it is ready and has lived
// for as long as it must, or has ended, or its time is up; it returns how it ended.
func (r *run) settled(ctx context.Context) *shim.Exit {
	live := r.live()
	_ = agentrun.Wait(ctx, r.x.boot, func(ctx context.Context) bool {
		if r.isOver() {
			return true
		}
		if r.ready == "" {
			r.ready, r.unready = r.shows(ctx, live)
		}
		return r.ready != "" && time.Since(r.began) >= r.x.settle && !r.isGone(r.got.Agent)
	})
	_, exit, err := shim.Read(r.begin.Launch.Shim)
	if err != nil {
		return nil // lives says so
	}
	return exit
}

func (r *run) live() *agentrun.Live {
	l := &agentrun.Live{World: r.x.World, Provider: r.x.Providers[r.begin.Where], Pane: r.got.Pane,
		Agent: fleet.Agent{Name: r.old.Name, Kind: r.old.Kind, Owner: fleet.OwnerCustos, Process: r.got.Agent, Instance: r.begin.Launch.Instance}}
	l.Kind, _ = r.x.Kinds.Get(r.old.Kind)
	return l
}

// shows says by what the agent is seen to be ready, or else why it is not. Who was
// told something is ready when that turn has begun, and who tells of turns is asked
// for no less: a CLI that has just started, and will not find its conversation,
// tells of a start as well.
func (r *run) shows(ctx context.Context, l *agentrun.Live) (how, why string) {
	if l.Kind.Generic {
		return "it lives, and no more is known of a command", ""
	}
	events, err := l.Reported(ctx, r.since)
	if err != nil {
		return "", fleet.Line(err.Error(), 200)
	}
	if e, ok := r.proof(events); ok {
		return "its hook told of " + string(e.Event), ""
	}
	if r.begin.Where == fleet.WhereHeadless {
		return r.printed(l)
	}
	v, err := l.Look(ctx)
	ready, known := v.Ready.Get()
	switch {
	case err != nil:
		return "", fleet.Line(err.Error(), 200)
	case v.Dialog != nil:
		return "", "it stands at a dialog: " + v.Dialog.Says
	case r.toldNow() && l.Talks(ctx) && (len(events) > 0 || time.Since(r.began) < r.x.settle):
		return "", "it has started, and has not taken what it was told"
	case v.Working:
		return "it works", ""
	case known && ready:
		return "its prompt is ready", ""
	case !r.toldNow() && r.x.registered(l.Kind, r.got.Agent, r.how.Resume):
		return "it has written its registry file", ""
	}
	return "", "its prompt is not there"
}

// toldNow says whether it was given something to do as it was started.
func (r *run) toldNow() bool { return r.how.Prompt != "" && r.begin.Command.Typed == "" }

// proof returns the event that shows that the conversation goes on: of a turn, or,
// of one that was told nothing, that it was taken up.
func (r *run) proof(events []fleet.HookEvent) (fleet.HookEvent, bool) {
	for _, e := range events {
		begun := e.Event == fleet.HookSessionStart && (r.how.Resume == "" || e.Session == r.how.Resume)
		if agent.OfTurn(e) || begun && !r.toldNow() {
			return e, true
		}
	}
	return fleet.HookEvent{}, false
}

// printed says whether an agent without a terminal has printed what it prints at
// its beginning.
func (r *run) printed(l *agentrun.Live) (how, why string) {
	text, err := shim.Tail(r.begin.Launch.Shim, 64<<10)
	if err != nil {
		return "", fleet.Line(err.Error(), 200)
	}
	for line := range strings.Lines(string(text)) {
		if events, err := conversation.ReadOutput(l.Kind.Headless.Stream, []byte(line)); err == nil && len(events) > 0 {
			return "it printed " + string(events[0].What), ""
		}
	}
	if len(text) > 0 && r.begin.Command.Stream == "" {
		return "it has begun to print", ""
	}
	return "", "it has printed nothing that can be read"
}

// registered says whether the agent's own registry file is of this very process,
// and of the conversation that it was to go on with, if any.
func (x *Action) registered(k agent.Kind, p fleet.ProcessID, session string) bool {
	if k.Registry == "" || x.home == "" {
		return false
	}
	b, err := readOwn(filepath.Join(x.home, k.Registry, strconv.Itoa(p.PID)+".json"))
	if err != nil {
		return false
	}
	reg, err := agent.ParseRegistry(b)
	return err == nil && reg.PID == p.PID && reg.ProcStart == p.Start && (session == "" || reg.SessionID == session)
}

// readOwn reads a small regular file of our own user. It follows no link and
// waits for no pipe.
func readOwn(path string) ([]byte, error) {
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if int(info.UID) != os.Getuid() {
		return nil, errors.New("it is no file of ours")
	}
	return io.ReadAll(io.LimitReader(f, agent.RegistryLimit+1))
}
