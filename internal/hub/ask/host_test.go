package ask

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// startHost starts the process of a host that answers. It ends with the test.
func startHost(t *testing.T, h *hub) *os.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CUSTOS_TEST_HUB="+h.ClientURL())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process
}

// halt stops a process, as a machine that hangs.
func halt(t *testing.T, p *os.Process) {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
}
