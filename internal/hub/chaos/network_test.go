//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// network is a switch of IP packets in this process: each process that is tested stands in a network
// namespace of its own, whose one device is a TUN device that ends here. So nothing of it reaches
// another network, and what becomes of each packet from one address to another is decided here:
// there is no netem in every kernel.
type network struct {
	mu    sync.Mutex
	ports map[netip.Addr]*space
	links map[link][]*bad
	rand  *rand.Rand
}

// link is one direction between two addresses.
type link struct{ From, To netip.Addr }

// bad is what befalls the packets of a link.
type bad struct {
	Loss  float64 // of 1: all are lost
	Delay time.Duration
}

func newNetwork(seed uint64) *network {
	return &network{ports: map[netip.Addr]*space{}, links: map[link][]*bad{}, rand: rand.New(rand.NewPCG(seed, 3))}
}

// set has something befall links, until undo.
func (n *network) set(b bad, links ...link) (undo func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range links {
		n.links[l] = append(n.links[l], &b)
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, l := range links {
			n.links[l] = slices.DeleteFunc(n.links[l], func(one *bad) bool { return one == &b })
		}
	}
}

// befalls is what befalls a packet of a link.
func (n *network) befalls(l link) (lost bool, delay time.Duration) {
	for _, b := range n.links[l] {
		lost = lost || n.rand.Float64() < b.Loss
		delay = max(delay, b.Delay)
	}
	return lost, delay
}

// forward takes a packet to where it is for.
func (n *network) forward(packet []byte) {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return // not IPv4
	}
	from, _ := netip.AddrFromSlice(packet[12:16])
	to, _ := netip.AddrFromSlice(packet[16:20])
	n.mu.Lock()
	port := n.ports[to]
	lost, delay := n.befalls(link{from, to})
	n.mu.Unlock()
	switch {
	case port == nil || lost:
	case delay > 0:
		late := append([]byte(nil), packet...)
		time.AfterFunc(delay, func() { _, _ = port.tun.Write(late) }) // it may be gone by then
	default:
		_, _ = port.tun.Write(packet) // a device that is gone loses its packets
	}
}

// space is a network namespace with one address. Processes are started in it by one thread, which
// is the namespace's own.
type space struct {
	Addr  netip.Addr
	tun   *os.File
	calls chan func()
}

// newSpace makes a namespace and joins it to the network.
func (n *network) newSpace(t *testing.T, addr string) *space {
	t.Helper()
	s := &space{Addr: netip.MustParseAddr(addr), calls: make(chan func())}
	made := make(chan error)
	go s.live(made)
	if err := <-made; err != nil {
		t.Fatalf("cannot make a network namespace: %v", err)
	}
	n.mu.Lock()
	n.ports[s.Addr] = s
	n.mu.Unlock()
	go func() {
		packet := make([]byte, 1<<16)
		for {
			size, err := s.tun.Read(packet)
			if err != nil {
				return // it is closed
			}
			n.forward(packet[:size])
		}
	}()
	t.Cleanup(func() { close(s.calls); _ = s.tun.Close() })
	return s
}

// live is the thread of a namespace: it ends with the thread and its processes.
func (s *space) live(made chan<- error) {
	runtime.LockOSThread() // and never given back: the thread ends with this function
	err := unix.Unshare(unix.CLONE_NEWNET)
	if err == nil {
		err = s.configure()
	}
	made <- err
	if err != nil {
		return
	}
	for call := range s.calls {
		call()
	}
}

// start starts a process in the namespace; it dies with the namespace's thread.
func (s *space) start(cmd *exec.Cmd) error {
	started := make(chan error)
	s.calls <- func() { started <- cmd.Start() }
	return <-started
}

// configure makes the device and gives it the address.
func (s *space) configure() error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	device, err := unix.NewIfreq("eth0")
	if err != nil {
		return err
	}
	device.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		return fmt.Errorf("cannot make a device: %w", err)
	}
	s.tun = os.NewFile(uintptr(fd), "tun") // not before: what has no device yet cannot be waited for
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(sock)
	return errors.Join(address(sock, "eth0", s.Addr.AsSlice()), up(sock, "eth0"), up(sock, "lo"))
}

func address(sock int, name string, addr []byte) error {
	if err := setAddr(sock, name, unix.SIOCSIFADDR, addr); err != nil {
		return err
	}
	return setAddr(sock, name, unix.SIOCSIFNETMASK, []byte{255, 255, 255, 0})
}

func setAddr(sock int, name string, request uint, value []byte) error {
	device, err := unix.NewIfreq(name)
	if err == nil {
		err = device.SetInet4Addr(value)
	}
	if err == nil {
		err = unix.IoctlIfreq(sock, request, device)
	}
	return err
}

func up(sock int, name string) error {
	device, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	device.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(sock, unix.SIOCSIFFLAGS, device)
}
