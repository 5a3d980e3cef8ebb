// Package netpeer finds the processes at the other end of a TCP connection that was made on
// this machine: the kernel tells whose socket it is (/proc/net), and each process which it
// holds (/proc/PID/fd). It opens nothing else of theirs.
package netpeer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Peer is who is at the other end.
type Peer struct {
	UID  int   // the user that made the socket
	PIDs []int // of who holds it
	// Hidden are the processes of that user whose files cannot be looked at, where nobody
	// else holds the socket: one of them does, where all processes of the machine are seen.
	Hidden []int
}

// Find finds who has connected from an address to an address of this very machine. An error
// means that it cannot be told.
func Find(from, to netip.AddrPort) (Peer, error) {
	uid, inode, err := socketOf(from, to)
	if err != nil {
		return Peer{}, fmt.Errorf("cannot tell who connects from %s: %w", from, err)
	}
	p := Peer{UID: uid}
	if p.PIDs, p.Hidden, err = holders(inode, uid); err != nil {
		return Peer{}, fmt.Errorf("cannot tell who connects from %s: %w", from, err)
	}
	if len(p.PIDs) > 0 {
		p.Hidden = nil
	}
	return p, nil
}

var errNoSocket = errors.New("the kernel lists no such socket")

// socketOf finds the socket of a connection, as its own end sees it, in this network
// namespace.
func socketOf(from, to netip.AddrPort) (uid int, inode uint64, err error) {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // without IPv6 there is no such table
			return 0, 0, err
		}
		if uid, inode, ok := find(string(text), plain(from), plain(to)); ok {
			return uid, inode, nil
		}
	}
	return 0, 0, errNoSocket
}

// plain is an address without the dress that IPv6 gives one of IPv4.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// The columns of the kernel's table.
const (
	columnLocal, columnRemote, columnUID, columnInode = 1, 2, 7, 9
)

func find(table string, from, to netip.AddrPort) (uid int, inode uint64, ok bool) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) <= columnInode {
			continue
		}
		local, okLocal := address(f[columnLocal])
		remote, okRemote := address(f[columnRemote])
		if !okLocal || !okRemote || local != from || remote != to {
			continue
		}
		uid, errUID := strconv.Atoi(f[columnUID])
		inode, errInode := strconv.ParseUint(f[columnInode], 10, 64)
		if errUID == nil && errInode == nil && inode != 0 { // 0: nobody holds it any more
			return uid, inode, true
		}
	}
	return 0, 0, false
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

// holders are the processes that hold a socket, and those of its user that do not show what
// they hold.
func holders(inode uint64, uid int) (found, hidden []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, nil, err
	}
	link := fmt.Sprintf("socket:[%d]", inode)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		switch holds, err := holdsLink(pid, link); {
		case holds:
			found = append(found, pid)
		case errors.Is(err, os.ErrPermission) && ofUser(pid, uid):
			hidden = append(hidden, pid)
		}
	}
	return found, hidden, nil
}

func holdsLink(pid int, link string) (bool, error) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, fd := range fds {
		if to, err := os.Readlink(dir + fd.Name()); err == nil && to == link {
			return true, nil
		}
	}
	return false, nil
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
