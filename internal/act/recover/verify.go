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
	"syscall"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/sys/shim"
)

// Verify implements act.Run: it lives for a while, and shows that it is ready.
func (r *run) Verify(ctx context.Context) (string, error) {
	if r.given != nil {
		return "", r.given
	}
	live := r.live()
	how, why := "", ""
	err := agentrun.Wait(ctx, r.x.boot, func(ctx context.Context) bool {
		if _, exit, err := shim.Read(r.begin.Launch.Shim); exit != nil || err != nil {
			return true
		}
		if how == "" {
			how, why = r.ready(ctx, live)
		}
		return how != "" && time.Since(r.began) >= r.x.settle
	})
	_, exit, readErr := shim.Read(r.begin.Launch.Shim)
	switch {
	case readErr != nil:
		return "", readErr
	case exit != nil && (exit.Status == nil || *exit.Status != 0 || live.Provider == nil):
		return "", fmt.Errorf("it was started and has ended again: %s", agentrun.Ending(*exit))
	case exit != nil:
		how = "it has ended well"
	case err != nil:
		return "", fmt.Errorf("it lives, and does not show that it is ready: %s (%w)", why, err)
	}
	if r.begin.Command.Session != "" && r.plan.resumes(r.begin) {
		how += "; its conversation goes on"
	}
	return strings.Join(append(r.says, fmt.Sprintf("runs as process %d, instance %s: %s", r.got.Agent.PID, r.begin.Launch.Instance, how)), "; "), nil
}

func (r *run) live() *agentrun.Live {
	l := &agentrun.Live{World: r.x.World, Provider: r.x.Providers[r.begin.Where], Pane: r.got.Pane,
		Agent: fleet.Agent{Name: r.old.Name, Kind: r.old.Kind, Owner: fleet.OwnerCustos, Process: r.got.Agent, Instance: r.begin.Launch.Instance}}
	l.Kind, _ = r.x.Kinds.Get(r.old.Kind)
	return l
}

// ready says by what the agent is seen to be ready, or else why it is not.
func (r *run) ready(ctx context.Context, l *agentrun.Live) (how, why string) {
	if events, err := l.Told(ctx, r.since); err == nil && len(events) > 0 {
		return "its hook told of " + string(events[0].Event), ""
	}
	if r.x.registered(l.Kind, r.got.Agent) {
		return "it has written its registry file", ""
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
	case known && ready:
		return "its prompt is ready", ""
	case v.Working:
		return "it works", ""
	}
	return "", "its prompt is not there"
}

// printed says whether an agent without a terminal has printed what it prints at
// its beginning.
func (r *run) printed(l *agentrun.Live) (how, why string) {
	text, err := shim.Tail(r.begin.Launch.Shim, 64<<10)
	if err != nil {
		return "", fleet.Line(err.Error(), 200)
	}
	for line := range strings.Lines(string(text)) {
		if events, err := agent.ParseStream(l.Kind, []byte(line)); err == nil && len(events) > 0 {
			return "it printed " + string(events[0].What), ""
		}
	}
	if len(text) > 0 && r.begin.Command.Stream == "" {
		return "it has begun to print", ""
	}
	return "", "it has printed nothing that can be read"
}

// registered says whether the agent's own registry file is of this very process.
func (x *Action) registered(k agent.Kind, p fleet.ProcessID) bool {
	if k.Registry == "" || x.home == "" {
		return false
	}
	b, err := readOwn(filepath.Join(x.home, k.Registry, strconv.Itoa(p.PID)+".json"))
	if err != nil {
		return false
	}
	reg, err := agent.ParseRegistry(b)
	return err == nil && reg.PID == p.PID && reg.ProcStart == p.Start
}

// readOwn reads a small regular file of our own user. It follows no link and
// waits for no pipe.
func readOwn(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Getuid() {
		return nil, errors.New("it is no file of ours")
	}
	return io.ReadAll(io.LimitReader(f, agent.RegistryLimit+1))
}
