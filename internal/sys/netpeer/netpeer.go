// Package netpeer finds the processes at the ends of TCP connections of this machine: the kernel
// tells whose a socket is (/proc/net), and each process which it holds (/proc/PID/fd). It opens
// nothing else of theirs.
package netpeer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Peer is who is at an end of a connection.
type Peer struct {
	UID  int   // the user that made the socket
	PIDs []int // of who holds it
	// Hidden are the processes of that user whose files cannot be looked at, where nobody
	// else holds the socket: one of them does, where all processes of the machine are seen.
	Hidden []int
}

// Net is what there was to be seen at one moment: the connections in this network namespace,
// and who holds them, which is looked for when it is asked for first.
type Net struct {
	sockets []socket
	held    map[uint64][]int // inode to processes; nil: not looked for yet
	closed  []int            // processes that do not show what they hold
}

// socket is a row of the kernel's table. Inode is 0 when no process has it.
type socket struct {
	local, remote netip.AddrPort
	listens       bool
	uid           int
	inode         uint64
}

// Look looks at all connections.
func Look() (*Net, error) {
	n := &Net{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // without IPv6 there is no such table
			return nil, fmt.Errorf("cannot look at connections: %w", err)
		}
		n.sockets = append(n.sockets, sockets(string(text))...)
	}
	return n, nil
}

// Find finds who has connected from an address to an address of this very machine. An error
// means that it cannot be told.
func Find(from, to netip.AddrPort) (Peer, error) {
	n, err := Look()
	if err != nil {
		return Peer{}, err
	}
	return n.Peer(from, to)
}

// Peer is who has the end of a connection that leads from an address to another one.
func (n *Net) Peer(from, to netip.AddrPort) (Peer, error) {
	s, err := n.socket(from, to)
	if err != nil {
		return Peer{}, err
	}
	if err := n.holders(); err != nil {
		return Peer{}, fmt.Errorf("cannot tell who connects from %s: %w", from, err)
	}
	return n.peer(s), nil
}

func (n *Net) socket(from, to netip.AddrPort) (socket, error) {
	from, to = plain(from), plain(to)
	for _, s := range n.sockets {
		if s.local == from && s.remote == to && s.inode != 0 {
			return s, nil
		}
	}
	return socket{}, fmt.Errorf("cannot tell who connects from %s: the kernel lists no such socket", from)
}

// MayHold says whether one of some processes has the end of a connection, or does not show
// what it has. An error: nobody has.
func (n *Net) MayHold(pids []int, from, to netip.AddrPort) (bool, error) {
	s, err := n.socket(from, to)
	return err == nil && slices.ContainsFunc(pids, func(pid int) bool {
		inodes, err := holds(pid)
		return errors.Is(err, os.ErrPermission) || slices.Contains(inodes, s.inode)
	}), err
}

func (n *Net) peer(s socket) Peer {
	p := Peer{UID: s.uid, PIDs: n.held[s.inode]}
	for _, pid := range n.closed {
		if len(p.PIDs) == 0 && ofUser(pid, s.uid) {
			p.Hidden = append(p.Hidden, pid)
		}
	}
	return p
}

// Link is a connection of this machine with itself.
type Link struct {
	From, To netip.AddrPort
	Caller   Peer
	Gone     bool // whoever called has nothing of it any more
	Server   Peer
}

// Links are those that were made to ports at which somebody listens.
func (n *Net) Links() (all []Link, err error) {
	own, err := net.InterfaceAddrs()
	if err == nil {
		err = n.holders()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot tell who connects from this machine: %w", err)
	}
	ports := map[uint16]bool{}
	for _, s := range n.sockets {
		ports[s.local.Port()] = ports[s.local.Port()] || s.listens
	}
	for _, s := range n.sockets {
		if s.inode == 0 || s.listens || !ports[s.local.Port()] || !among(own, s.remote.Addr()) {
			continue
		}
		caller, err := n.Peer(s.remote, s.local)
		all = append(all, Link{From: s.remote, To: s.local, Caller: caller, Server: n.peer(s), Gone: err != nil})
	}
	return all, nil
}

// IsHere says whether an address is one of this machine's.
func IsHere(a netip.Addr) (bool, error) {
	own, err := net.InterfaceAddrs()
	return among(own, a), err
}

func among(own []net.Addr, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsLoopback() || slices.ContainsFunc(own, func(o net.Addr) bool {
		p, err := netip.ParsePrefix(o.String())
		return err == nil && p.Addr().Unmap() == a
	})
}

// plain is an address without the dress that IPv6 gives one of IPv4.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// The columns of the kernel's table, and its number for a socket that listens (TCP_LISTEN).
const (
	columnLocal, columnRemote, columnState, columnUID, columnInode = 1, 2, 3, 7, 9

	listening = "0A"
)

func sockets(table string) (all []socket) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) <= columnInode {
			continue
		}
		local, okLocal := address(f[columnLocal])
		remote, okRemote := address(f[columnRemote])
		uid, errUID := strconv.Atoi(f[columnUID])
		inode, errInode := strconv.ParseUint(f[columnInode], 10, 64)
		if okLocal && okRemote && errUID == nil && errInode == nil {
			all = append(all, socket{local, remote, f[columnState] == listening, uid, inode})
		}
	}
	return all
}

// address reads "0100007F:1F90": words of four bytes, each in the order of this machine,
// which is little-endian wherever Custos runs.
func address(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, errPort := strconv.ParseUint(port, 16, 16)
	if err != nil || errPort != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	a, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), ok
}

// holders notes which process holds which socket, and which do not show it.
func (n *Net) holders() error {
	if n.held != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	n.held = map[uint64][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		inodes, err := holds(pid)
		for _, inode := range inodes {
			n.held[inode] = append(n.held[inode], pid)
		}
		if errors.Is(err, os.ErrPermission) {
			n.closed = append(n.closed, pid)
		}
	}
	return nil
}

// holds are the sockets that a process has, each once.
func holds(pid int) (inodes []uint64, err error) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		to, err := os.Readlink(dir + fd.Name())
		number, ok := strings.CutPrefix(to, "socket:[")
		if inode, bad := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil && ok && bad == nil && !slices.Contains(inodes, inode) {
			inodes = append(inodes, inode)
		}
	}
	return inodes, nil
}

// ofUser says whether a process is a user's. Its folder belongs to root where it hides, so
// it is asked for what it says of itself.
func ofUser(pid, uid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false // it has ended
	}
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok {
			return slices.Contains(strings.Fields(ids), strconv.Itoa(uid))
		}
	}
	return true // it cannot be shown not to be
}
