package netpeer

import (
	"bufio"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// TestMain is also the process at the other end: it connects, says so, and waits.
func TestMain(m *testing.M) {
	if to := os.Getenv("CUSTOS_CONNECT"); to != "" {
		conn, err := net.Dial("tcp", to)
		if err != nil {
			os.Exit(1)
		}
		_, _ = conn.Write([]byte("here\n"))
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Who connects is found by the kernel's tables, over IPv4 and IPv6: a process of its own,
// and this one.
func TestTheProcessAtTheOtherEndIsFound(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s is not there: %v", at, err)
			continue
		}
		defer l.Close()
		to := "127.0.0.1"
		if at == "[::1]:0" {
			to = "::1"
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CUSTOS_CONNECT="+net.JoinHostPort(to, port))
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = in.Close(); _ = cmd.Wait() }()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		got, err := Find(netip.MustParseAddrPort(conn.RemoteAddr().String()), netip.MustParseAddrPort(conn.LocalAddr().String()))
		if err != nil || !slices.Equal(got.PIDs, []int{cmd.Process.Pid}) || got.UID != os.Getuid() || got.Hidden != nil {
			t.Errorf("%s: %+v, %v; want process %d", at, got, err, cmd.Process.Pid)
		}
		if _, err := Find(netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort(conn.LocalAddr().String())); err == nil {
			t.Errorf("%s: found who did not connect", at)
		}
	}
}

// The lines are the kernel's own, of a machine with both tables.
func TestReadTheKernelsTable(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0000000000000000 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 22 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 33 1 0000000000000000 20 4 30 10 -1
   3: 00000000000000000000000001000000:C351 00000000000000000000000001000000:1F90 01 00000000:00000000 00:00000000 00000000  1002        0 44 1 0 20 4 30 10 -1
   4: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1003        0 55 1 0 20 4 30 10 -1
   5: 0100007F:C353 0100007F:1F90 06 00000000:00000000 03:00000EF1 00000000     0        0 0 3 0000000000000000
   6: short
`
	for _, c := range []struct {
		from, to string
		uid      int
		inode    uint64
		found    bool
	}{
		{"127.0.0.1:50000", "127.0.0.1:8080", 1001, 22, true},
		{"[::1]:50001", "[::1]:8080", 1002, 44, true},
		{"127.0.0.1:50002", "127.0.0.1:8080", 1003, 55, true},
		{"127.0.0.1:50003", "127.0.0.1:8080", 0, 0, false}, // it has gone
		{"127.0.0.1:50004", "127.0.0.1:8080", 0, 0, false},
		{"127.0.0.1:50000", "127.0.0.1:8081", 0, 0, false},
	} {
		uid, inode, ok := find(table, netip.MustParseAddrPort(c.from), netip.MustParseAddrPort(c.to))
		if uid != c.uid || inode != c.inode || ok != c.found {
			t.Errorf("%s to %s: %d %d %v", c.from, c.to, uid, inode, ok)
		}
	}
}
