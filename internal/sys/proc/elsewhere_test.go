package proc

import (
	"bufio"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// A process of an inner pid namespace has there a number that nobody may have here.
func TestElsewhereSeesInnerNamespaces(t *testing.T) {
	if Nested() {
		t.Skip("in a pid namespace of our own, all is unknown")
	}
	const inner = 4_000_017
	cmd := exec.Command("unshare", "-rmpf", "--mount-proc", "--kill-child", "sh", "-c",
		"echo "+strconv.Itoa(inner-1)+" > /proc/sys/kernel/ns_last_pid && { sh -c 'echo $$; read x' <&3 & } 3<&0; wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Holder(pid); !errors.Is(err, ErrGone) {
		t.Skipf("somebody has %d here, too", pid)
	}
	if why := NewElsewhere().Why(pid); !strings.Contains(why, "another pid namespace") {
		t.Errorf("%d lives in another namespace: %q", pid, why)
	}
	if why := NewElsewhere().Why(pid + 7); why != "" {
		t.Errorf("%d lives nowhere: %q", pid+7, why)
	}
}

func TestElsewhereIsUnknownInANamespaceOfOurOwn(t *testing.T) {
	e := NewElsewhere()
	e.nested = func() bool { return true }
	if why := e.Why(1 << 22); !strings.Contains(why, "outside") {
		t.Errorf("%q", why)
	}
}
