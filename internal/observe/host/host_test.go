package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/host"
	"custos/internal/observe/observetest"
	clocks "custos/internal/sys/host"
)

const meminfo = "MemTotal: 16000 kB\nMemFree: 100 kB\nMemAvailable: 4000 kB\nSwapTotal: 1000 kB\nSwapFree: 400 kB\n"

const mountinfo = `22 27 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw - ext4 /dev/vda rw
28 27 254:0 /srv /srv\040x rw - ext4 /dev/vda rw
29 27 0:50 / /mnt/nas rw - nfs4 nas:/x rw
30 27 7:1 / /snap/core ro - squashfs /dev/loop1 ro
31 27 0:60 / /tmp rw - tmpfs tmpfs rw
32 27 0:61 / /dev/shm rw - tmpfs tmpfs rw
33 27 0:62 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw
34 27 0:63 / /weird rw - newfs none rw
`

// machine is a proc file system of files, a clock and a statfs of the test.
type machine struct {
	root   string
	now    clocks.Moment
	statfs func(string, *unix.Statfs_t) error
}

func newMachine(t *testing.T) *machine {
	m := &machine{root: t.TempDir(), now: clocks.Moment{Wall: time.Unix(1e9, 0).UTC(), Up: time.Hour, Boot: "b"}}
	m.statfs = func(name string, st *unix.Statfs_t) error {
		*st = unix.Statfs_t{Bsize: 1024, Frsize: 1024, Blocks: 1000, Bfree: 300, Bavail: 200, Files: 100, Ffree: 90}
		if name == "/weird" {
			*st = unix.Statfs_t{}
		}
		return nil
	}
	for name, text := range map[string]string{
		"meminfo": meminfo, "loadavg": "0.50 0.25 0.10 1/100 4242\n", "vmstat": "nr_free_pages 1\noom_kill 3\n",
		"pressure/cpu": "some avg10=1.50 avg60=0.00 avg300=0.00 total=0\n", "self/mountinfo": mountinfo,
	} {
		m.write(t, name, text)
	}
	return m
}

func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	p := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) probe(t *testing.T, o host.Options) *host.Probe {
	t.Helper()
	o.Proc, o.Statfs, o.Clock = m.root, m.statfs, func() clocks.Moment { return m.now }
	o.Name, o.CPUs = "box", 4
	p, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func see(t *testing.T, p observe.Probe) fleet.Host {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return s.Host.Value
}

func TestSuite(t *testing.T) {
	m := newMachine(t)
	observetest.Test(t, func() observe.Probe { return m.probe(t, host.Options{}) })
}

func known[T comparable](t *testing.T, what string, l fleet.Leaf[T], want T) {
	t.Helper()
	if got, ok := l.Get(); !ok || got != want {
		t.Errorf("%s is %v (%s), want %v", what, got, l.Why(), want)
	}
}

func unknown[T any](t *testing.T, what string, l fleet.Leaf[T], why string) {
	t.Helper()
	if l.IsKnown() || !strings.Contains(l.Why(), why) {
		t.Errorf("%s is %v (%q), want unknown: %s", what, l.Or(*new(T)), l.Why(), why)
	}
}

func TestFigures(t *testing.T) {
	h := see(t, newMachine(t).probe(t, host.Options{}))
	known(t, "available", h.Memory.Available, 4000<<10)
	known(t, "total", h.Memory.Total, 16000<<10)
	known(t, "swap used", h.Swap.Used, 600<<10)
	known(t, "load", h.Load.One, 0.5)
	known(t, "cpu pressure", h.Pressure.CPU, 1.5)
	unknown(t, "io pressure", h.Pressure.IO, "does not measure")
	known(t, "kills", h.OOMKills, 3)
	unknown(t, "recent kills", h.OOMRecent, "no look before")
	unknown(t, "clock jump", h.ClockJump, "no look before")
	known(t, "uptime", h.Uptime, fleet.Duration(time.Hour))
	if h.Name != "box" || h.CPUs != 4 {
		t.Errorf("host is %s with %d", h.Name, h.CPUs)
	}
	m := h.Mounts[0]
	known(t, "used", m.UsedPercent, 78) // 700 of 900, rounded up, as df has it
	known(t, "inodes", m.InodesPercent, 10)
	known(t, "room", m.Available, 200<<10)
	unknown(t, "time to full", m.TimeToFull, "not been watched")
}

func paths(h fleet.Host) string {
	var out []string
	for _, m := range h.Mounts {
		out = append(out, m.Path)
	}
	return strings.Join(out, " ")
}

func TestChoiceOfMounts(t *testing.T) {
	m := newMachine(t)
	for _, c := range []struct {
		mounts host.Mounts
		want   string
	}{
		{host.Mounts{}, "/ /mnt/nas /tmp"},
		{host.Mounts{Exclude: []string{"/mnt/*"}}, "/ /tmp"},
		{host.Mounts{Include: []string{"/dev/shm", "/srv*"}}, "/dev/shm /srv x"},
	} {
		if got := paths(see(t, m.probe(t, host.Options{Mounts: c.mounts}))); got != c.want {
			t.Errorf("%+v shows %q, want %q", c.mounts, got, c.want)
		}
	}
	held := t.TempDir()
	if err := os.Symlink(held, filepath.Join(m.root, "link")); err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"the mount itself": held, "below it, and not there yet": held + "/s/run", "by a link": filepath.Join(m.root, "link", "s")} {
		m.write(t, "self/mountinfo", mountinfo+"35 27 0:70 / "+held+" rw - tmpfs tmpfs rw\n36 27 0:71 / "+held+"-not rw - tmpfs tmpfs rw\n")
		for want, mounts := range map[string]host.Mounts{"/ /mnt/nas /tmp " + held: {}, "/mnt/nas " + held: {Include: []string{"/mnt/nas"}}, "/ /mnt/nas /tmp": {Exclude: []string{held}}} {
			if got := paths(see(t, m.probe(t, host.Options{Mounts: mounts, Folders: []string{folder}}))); got != want {
				t.Errorf("%s, where Custos writes: %+v shows %q, want %q", name, mounts, got, want)
			}
		}
	}
	m.write(t, "self/mountinfo", "1 0 0:9 / / rw - overlay overlay rw\n2 1 8:1 /c/hosts /etc/hosts rw - ext4 /dev/sda rw\n3 1 8:1 /vol /work rw - ext4 /dev/sda rw\n")
	if got := paths(see(t, m.probe(t, host.Options{}))); got != "/ /work" {
		t.Errorf("a container shows %q", got)
	}
}

// A dead mount is unknown, holds up nobody, and is not asked again while the
// first call hangs.
func TestDeadMount(t *testing.T) {
	m := newMachine(t)
	answer, asked := m.statfs, atomic.Int32{}
	hang := make(chan struct{})
	m.statfs = func(name string, st *unix.Statfs_t) error {
		if name == "/mnt/nas" {
			asked.Add(1)
			<-hang
		}
		return answer(name, st)
	}
	p := m.probe(t, host.Options{MountDeadline: "20ms"})
	for i, why := range []string{"did not answer within 20ms", "has not answered for 1m0s"} {
		h := see(t, p)
		known(t, "/", h.Mounts[0].UsedPercent, 78)
		unknown(t, "nas", h.Mounts[1].UsedPercent, why)
		m.now.Up += time.Minute
		if n := asked.Load(); n != 1 {
			t.Fatalf("look %d: asked %d times", i, n)
		}
	}
	close(hang)
	for h := see(t, p); !h.Mounts[1].UsedPercent.IsKnown(); h = see(t, p) { // until the call has returned
		if t.Context().Err() != nil {
			t.Fatal("it never came back")
		}
	}
}

func TestWhatCannotBeReadIsUnknown(t *testing.T) {
	m := newMachine(t)
	p := m.probe(t, host.Options{})
	for _, name := range []string{"meminfo", "vmstat"} {
		if err := os.Remove(filepath.Join(m.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	h := see(t, p)
	unknown(t, "available", h.Memory.Available, "no such file")
	unknown(t, "swap", h.Swap.Used, "no such file")
	unknown(t, "kills", h.OOMKills, "no such file")
	known(t, "load", h.Load.One, 0.5)
	for _, name := range []string{"loadavg", "self/mountinfo"} {
		if err := os.Remove(filepath.Join(m.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if put, err := p.Look(t.Context()); err == nil || put != nil {
		t.Error("nothing at all could be read, and that was no error")
	}
}

func TestDifferences(t *testing.T) {
	m := newMachine(t)
	p := m.probe(t, host.Options{})
	see(t, p)
	m.write(t, "vmstat", "oom_kill 5\n")
	m.now.Up += time.Minute
	m.now.Wall = m.now.Wall.Add(24*time.Hour + time.Minute)
	h := see(t, p)
	known(t, "recent kills", h.OOMRecent, 2)
	known(t, "clock jump", h.ClockJump, fleet.Duration(24*time.Hour))
	m.now.Up += time.Minute
	m.now.Wall = m.now.Wall.Add(time.Minute + 10*time.Millisecond)
	h = see(t, p)
	known(t, "recent kills", h.OOMRecent, 0)
	known(t, "clock jump", h.ClockJump, 0)
}

func TestTimeToFull(t *testing.T) {
	m := newMachine(t)
	free := uint64(600)
	m.statfs = func(_ string, st *unix.Statfs_t) error {
		*st = unix.Statfs_t{Bsize: 1 << 20, Blocks: 1000, Bfree: free, Bavail: free}
		return nil
	}
	p := m.probe(t, host.Options{})
	var h fleet.Host
	for range 11 { // 20 MiB a minute
		h = see(t, p)
		free -= 20
		m.now.Up += time.Minute
	}
	known(t, "time to full", h.Mounts[0].TimeToFull, fleet.Duration(20*time.Minute)) // 400 MiB left
	for range 200 {
		h = see(t, p)
		m.now.Up += time.Minute
	}
	unknown(t, "time to full", h.Mounts[0].TimeToFull, "not filling")
}

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]host.Options{
		"every":          {Every: "soon"},
		"mount_deadline": {MountDeadline: "-1s"},
		"mounts":         {Mounts: host.Mounts{Exclude: []string{"[a"}}},
		"no such file":   {Proc: "/nonexistent"},
	} {
		if _, err := host.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// This machine, as it is.
func TestHere(t *testing.T) {
	p, err := host.New(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := see(t, p)
	if !h.Memory.Available.IsKnown() || !h.Load.One.IsKnown() || len(h.Mounts) == 0 || h.Mounts[0].Path != "/" {
		t.Errorf("this machine is %+v", h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Look(ctx); err == nil {
		t.Error("a cancelled look saw something")
	}
}

func BenchmarkLook(b *testing.B) {
	p, err := host.New(host.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Look(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
