//go:build linux

package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that is kept running, as systemd does: one that ends by itself is started again
// after a second, and that is noted.
type process struct {
	name  string
	make  func() *exec.Cmd
	space *space // nil: the network of the test

	mu     sync.Mutex
	wanted bool
	cmd    *exec.Cmd     // that runs; nil: none does
	gone   chan struct{} // closed when it is not tended any more
	ends   []end
}

// end is that a process ended though it was wanted.
type end struct {
	At   time.Duration
	Name string
	How  string
}

// again is after how long one that has ended is started again.
const again = time.Second

// up has it run.
func (p *process) up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.wanted {
		p.wanted, p.gone = true, make(chan struct{})
		go p.tend(p.gone)
	}
}

// tend runs it for as long as it is wanted.
func (p *process) tend(gone chan struct{}) {
	defer close(gone)
	for {
		cmd, err := p.begin()
		if cmd == nil && err == nil {
			return
		}
		if err == nil {
			_ = cmd.Wait() // how it ended is in ProcessState
			err = fmt.Errorf("%s", cmd.ProcessState)
		}
		if !p.over(err) {
			return
		}
		time.Sleep(again)
	}
}

// begin starts it; nil, nil where it is not wanted.
func (p *process) begin() (*exec.Cmd, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.wanted {
		return nil, nil
	}
	cmd := p.make()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	start := cmd.Start
	if p.space != nil {
		start = func() error { return p.space.start(cmd) }
	} else {
		cmd.SysProcAttr.Pdeathsig = 0 // it would die with a thread of this process
	}
	if err := start(); err != nil {
		return nil, err
	}
	p.cmd = cmd
	return cmd, nil
}

// over notes that it has ended, and says whether it is to be started again.
func (p *process) over(how error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = nil
	if p.wanted {
		p.ends = append(p.ends, end{uptime(), p.name, how.Error()})
	}
	return p.wanted
}

// signal sends a signal to it, if it runs.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may have ended
	}
}

// down ends it, and returns when it has.
func (p *process) down(how syscall.Signal) {
	p.mu.Lock()
	gone := p.gone
	p.wanted = false
	p.mu.Unlock()
	if gone == nil {
		return
	}
	p.signal(how)
	p.signal(syscall.SIGCONT)
	<-gone
}

// downWithin ends it in order, and says whether it has within a time; then it is killed.
func (p *process) downWithin(d time.Duration) bool {
	timer := time.AfterFunc(d, func() { p.signal(syscall.SIGKILL) })
	p.down(syscall.SIGTERM)
	return timer.Stop()
}

// itself is the program of this test, with a role.
func itself(t *testing.T, role, config string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), role+"="+config)
	return cmd
}

// appendTo is a file to which what a process says is appended.
func appendTo(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
