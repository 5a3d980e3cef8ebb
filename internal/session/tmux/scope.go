package tmux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

// Scope is how our server begins apart from the unit that this process runs in, so that neither the
// stop of that unit nor a lack of memory in it meets an agent. The zero Scope is none.
type Scope struct {
	// Before are the commands that a program is put behind, one after the other until one works.
	// name is new each time, and may be part of a command.
	Before func(name string) [][]string
	Env    []string          // that they need; the server is given none of it
	Warn   func(text string) // hears why it could not be done, once
}

// scopeWait is how long the manager may take to make a scope. It takes some 20 ms.
const scopeWait = 10 * time.Second

// scoped is a Scope in use.
type scoped struct {
	Scope
	once sync.Once
}

// apart has our server begin in a scope of its own, where there is none yet. Where that fails the
// next client begins it, in the cgroup of this process, as it does without a scope.
func (p *Provider) apart(ctx context.Context) {
	if p.scope.Before == nil {
		return
	}
	if alive(p.socket) { // asked anew: a process that is known to listen may be about to end
		return
	}
	program, err := p.program()
	if err != nil {
		return // the launch will say so
	}
	tmux := append([]string{"/usr/bin/env", "-i"}, environment()...)
	tmux = append(tmux, program, "-u", "-S", p.socket, "-f", "/dev/null", "start-server", ";", "set-option", "-s", "exit-empty", "off")
	var why error
	for _, before := range p.scope.Before("custos-tmux-" + nonce()) {
		if why = p.runApart(ctx, append(before, tmux...)); why == nil {
			break
		}
	}
	if why == nil {
		why = p.isApart()
	}
	if why != nil && ctx.Err() == nil && p.scope.Warn != nil {
		p.scope.once.Do(func() {
			p.scope.Warn("the tmux server of agents begins in the unit of this daemon, and in no scope of its own: " + fleet.Line(why.Error(), 300))
		})
	}
}

func (p *Provider) runApart(ctx context.Context, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, scopeWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = p.scope.Env, "/", draining
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot run %s: %w: %s", argv[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// isApart says why the server is not in another cgroup than this process, though it was begun so.
func (p *Provider) isApart() error {
	at, there := p.listener(p.socket)
	if !there {
		return fmt.Errorf("it was begun, and is not there")
	}
	same, err := proc.SameCgroup(os.Getpid(), at.PID)
	if err == nil && same {
		err = fmt.Errorf("its process %d is in the same cgroup", at.PID)
	}
	return err
}
