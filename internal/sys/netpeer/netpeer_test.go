package netpeer

import (
	"bufio"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"reflect"
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
		got, err := (&Net{sockets: sockets(table), held: map[uint64][]int{c.inode: {7}}}).Peer(netip.MustParseAddrPort(c.from), netip.MustParseAddrPort(c.to))
		if (err == nil) != c.found || c.found && (got.UID != c.uid || !slices.Equal(got.PIDs, []int{7})) {
			t.Errorf("%s to %s: %+v, %v", c.from, c.to, got, err)
		}
	}
}

// A connection of this machine with itself is seen from the end that listens; also when who
// called is gone, and not when who called is elsewhere.
func TestConnectionsOfAMachineWithItself(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 0100007F:C350 0100007F:0016 01 00000000:00000000 00:00000000 00000000  1001        0 22 1
   2: 0100007F:0016 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 33 1
   3: 0100007F:0016 0100007F:C351 08 00000000:00000000 00:00000000 00000000     0        0 44 1
   4: 0100007F:0016 010200C0:C352 01 00000000:00000000 00:00000000 00000000     0        0 55 1
   5: 0100007F:0016 0100007F:C353 06 00000000:00000000 00:00000000 00000000     0        0 0 1
`
	got, err := (&Net{sockets: sockets(table), held: map[uint64][]int{22: {7}, 33: {8}, 44: {9}}}).Links()
	want := []Link{
		{From: at("127.0.0.1:50000"), To: at("127.0.0.1:22"), Caller: Peer{UID: 1001, PIDs: []int{7}}, Server: Peer{PIDs: []int{8}}},
		{From: at("127.0.0.1:50001"), To: at("127.0.0.1:22"), Server: Peer{PIDs: []int{9}}, Gone: true},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func at(a string) netip.AddrPort { return netip.MustParseAddrPort(a) }

// Whose an address is decides whether who is not found may be here.
func TestAddressesOfThisMachine(t *testing.T) {
	for a, want := range map[string]bool{"127.0.0.1": true, "127.8.8.8": true, "::1": true, "::ffff:127.0.0.1": true, "192.0.2.7": false, "2001:db8::1": false} {
		if got, err := IsHere(netip.MustParseAddr(a)); err != nil || got != want {
			t.Errorf("%s: %v, %v", a, got, err)
		}
	}
}
