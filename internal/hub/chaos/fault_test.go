//go:build linux

package chaos

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fault is one that was played.
type fault struct {
	Kind     string
	Target   string
	From, To time.Duration // of CLOCK_BOOTTIME
	Hurts    []string      // processes that cannot do their part meanwhile
	Stops    bool          // of a host: it cannot act, and its leases pass on
}

func (f fault) String() string {
	return fmt.Sprintf("%-18s %-22s %8.1fs to %8.1fs", f.Kind, f.Target, f.From.Seconds(), f.To.Seconds())
}

// kind is one way in which things fail. begin makes it so for one of those that it may befall, and says
// what and how it is undone.
type kind struct {
	name  string
	to    target
	begin func(w *world, r *rand.Rand, i int) (f fault, undo func())
}

// target is what something may befall.
type target string

const (
	toHost  target = "host"
	toNode  target = "node"
	toLinks target = "links" // of a node or a host
)

// targets are those whose number may be given to a kind: the first alone has a disk that can be filled,
// and a disk that is small is not cloned.
func (k kind) targets(w *world) (out []int) {
	n := map[target]int{toHost: len(w.hosts), toNode: nodes, toLinks: nodes + len(w.hosts)}[k.to]
	for i := range n {
		if (i == 0 || !strings.HasSuffix(k.name, "disk-full")) && (i > 0 || k.name != "host-cloned") {
			out = append(out, i)
		}
	}
	return out
}

// kinds are all faults.
func kinds() []kind {
	return []kind{
		{"host-stopped", toHost, hostStopped}, {"host-killed", toHost, hostKilled}, {"host-idle", toHost, hostIdle}, {"host-skewed", toHost, hostSkewed},
		{"host-disk-full", toHost, hostDiskFull}, {"host-cloned", toHost, hostCloned}, {"node-stopped", toNode, nodeStopped}, {"node-killed", toNode, nodeKilled},
		{"node-disk-full", toNode, nodeDiskFull}, {"node-truncated", toNode, nodeTruncated}, {"node-skewed", toNode, nodeSkewed},
		{"cut", toLinks, cut}, {"cut-one-way", toLinks, cutOneWay}, {"loss", toLinks, loss}, {"delay", toLinks, delay},
	}
}

func hostStopped(w *world, _ *rand.Rand, i int) (fault, func()) {
	h := w.hosts[i]
	h.signal(syscall.SIGSTOP)
	return fault{Target: h.name, Hurts: []string{h.name}, Stops: true}, func() { h.signal(syscall.SIGCONT) }
}

func hostKilled(w *world, _ *rand.Rand, i int) (fault, func()) {
	h := w.hosts[i]
	w.note(h.name)
	h.down(syscall.SIGKILL)
	return fault{Target: h.name, Hurts: []string{h.name}, Stops: true}, h.up
}

// hostIdle has a host want nothing, and give back what it has.
func hostIdle(w *world, _ *rand.Rand, i int) (fault, func()) {
	w.order(i, orders{Idle: true})
	return fault{Target: hostName(i), Hurts: []string{hostName(i)}}, func() { w.order(i, orders{}) }
}

func hostSkewed(w *world, r *rand.Rand, i int) (fault, func()) {
	by := time.Duration(1-2*r.IntN(2)) * 5 * time.Minute
	w.order(i, orders{Skew: by})
	return fault{Target: fmt.Sprint(hostName(i), " by ", by)}, func() { w.order(i, orders{}) }
}

func hostDiskFull(w *world, _ *rand.Rand, _ int) (fault, func()) {
	return fault{Target: w.hosts[0].name, Hurts: []string{w.hosts[0].name}}, fill(w.configs[0].Store)
}

// nodeDiskFull fills the disk of the first node. When there is room again the node is started anew by hand:
// it does not come back by itself, see TestDiskOfANode.
func nodeDiskFull(w *world, _ *rand.Rand, _ int) (fault, func()) {
	n, undo := w.nodes[0], fill(filepath.Join(w.nodeDirs[0], "store"))
	return fault{Target: n.name, Hurts: []string{n.name}}, func() {
		undo()
		n.down(syscall.SIGTERM)
		n.up()
	}
}

// fill fills the disk of a folder.
func fill(dir string) (undo func()) {
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	for size := 1 << 20; err == nil && size > 0; {
		if _, wrong := f.Write(make([]byte, size)); wrong != nil {
			size /= 2
		}
	}
	_ = f.Close() // it is full
	return func() { _ = os.Remove(filler) }
}

// hostCloned runs a second host with the credentials and the database of another, as a machine that was
// cloned does.
func hostCloned(w *world, r *rand.Rand, i int) (fault, func()) {
	w.clones++
	c := w.configs[i]
	c.Name = fmt.Sprintf("%s-clone%d", c.Name, w.clones)
	c.Store, c.Journal, c.Orders = filepath.Join(w.dir, c.Name), filepath.Join(w.dir, c.Name+".journal"), filepath.Join(w.dir, c.Name+".orders")
	w.hosts[i].signal(syscall.SIGSTOP)
	out, err := exec.Command("cp", "-a", w.configs[i].Store, c.Store).CombinedOutput()
	w.hosts[i].signal(syscall.SIGCONT)
	if err != nil {
		w.t.Errorf("cannot clone %s: %s", w.hosts[i].name, out)
	}
	clone := w.host(c, hostAddr(10+w.clones))
	clone.up()
	return fault{Target: c.Name}, func() {
		if r.IntN(2) == 0 {
			w.note(c.Name)
			clone.down(syscall.SIGKILL)
		} else if !clone.downWithin(time.Minute) {
			w.t.Errorf("%s does not end", c.Name)
			w.note(c.Name)
		}
	}
}

func nodeStopped(w *world, _ *rand.Rand, i int) (fault, func()) {
	n := w.nodes[i]
	n.signal(syscall.SIGSTOP)
	return fault{Target: n.name, Hurts: []string{n.name}}, func() { n.signal(syscall.SIGCONT) }
}

func nodeKilled(w *world, _ *rand.Rand, i int) (fault, func()) {
	n := w.nodes[i]
	n.down(syscall.SIGKILL)
	return fault{Target: n.name, Hurts: []string{n.name}}, n.up
}

// nodeTruncated kills a node, and takes up to half of each of its files of messages before it is back.
func nodeTruncated(w *world, r *rand.Rand, i int) (fault, func()) {
	w.nodes[i].down(syscall.SIGKILL)
	n := truncate(w, filepath.Join(w.nodeDirs[i], "store"), r)
	return fault{Target: fmt.Sprintf("n%d (%d files)", i, n), Hurts: []string{w.nodes[i].name}}, w.nodes[i].up
}

func truncate(w *world, dir string, r *rand.Rand) (n int) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".blk") {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		n++
		return os.Truncate(path, info.Size()-r.Int64N(info.Size()/2+1))
	})
	if err != nil || n == 0 {
		w.t.Errorf("%d files of %s were cut: %v", n, dir, err)
	}
	return n
}

// nodeSkewed sets the wall clock of a node: of the one that leads the leases, every second time.
func nodeSkewed(w *world, r *rand.Rand, i int) (fault, func()) {
	if leader, err := w.whole(); err == nil && r.IntN(2) == 0 {
		i = slices.IndexFunc(w.nodes, func(p *process) bool { return p.name == leader })
	}
	by := (1 - 2*r.IntN(2)) * 300
	put(w.t, w.dir, fmt.Sprintf("n%d.skew", i), fmt.Sprint(by))
	return fault{Target: fmt.Sprintf("n%d by %ds", i, by)}, func() { put(w.t, w.dir, fmt.Sprintf("n%d.skew", i), "0") }
}

func cut(w *world, r *rand.Rand, i int) (fault, func()) {
	return w.bad(r, i, bad{Loss: 1}, true)
}

func cutOneWay(w *world, r *rand.Rand, i int) (fault, func()) {
	return w.bad(r, i, bad{Loss: 1}, false)
}

func loss(w *world, r *rand.Rand, i int) (fault, func()) {
	return w.bad(r, i, bad{Loss: 0.3}, true)
}

func delay(w *world, r *rand.Rand, i int) (fault, func()) {
	return w.bad(r, i, bad{Delay: 2 * time.Second}, r.IntN(2) == 0)
}

// bad has something befall the links between one and some others: from it, to it, or both ways.
func (w *world) bad(r *rand.Rand, i int, b bad, bothWays bool) (fault, func()) {
	all := slices.Concat(w.nodes, w.hosts)
	one := all[i]
	others := slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return p == one })
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	others = others[:1+r.IntN(len(others))]
	out, in := bothWays || r.IntN(2) == 0, true
	if !bothWays {
		in = !out
	}
	f := fault{Target: one.name, Hurts: []string{one.name}}
	var links []link
	for i, p := range others {
		f.Target += []string{" - ", ","}[min(i, 1)] + p.name
		links = append(links, between(one.space.Addr, p.space.Addr, out, in)...)
	}
	f.Target += map[[2]bool]string{{true, true}: " both", {true, false}: " out", {false, true}: " in"}[[2]bool{out, in}]
	return f, w.network.set(b, links...)
}

func between(a, b netip.Addr, out, in bool) (links []link) {
	if out {
		links = append(links, link{a, b})
	}
	if in {
		links = append(links, link{b, a})
	}
	return links
}

// run is a row of faults, one to three at a time.
type run struct {
	w     *world
	rand  *rand.Rand
	kinds []kind
	log   *lines

	mu     sync.Mutex
	faults []fault
}

// play plays faults until a moment. What befalls one already is not befallen by another of the same
// target, which would undo it.
func (r *run) play(until time.Time) {
	for n := 1; time.Now().Before(until); n++ {
		var all sync.WaitGroup
		busy := map[string]bool{}
		for range 1 + r.rand.IntN(3) {
			k := r.kinds[r.rand.IntN(len(r.kinds))]
			from := k.targets(r.w)
			i := from[r.rand.IntN(len(from))]
			if acts := r.w.acts(); k.to != toNode && r.rand.IntN(2) == 0 && slices.Contains(from, k.of(acts)) {
				i = k.of(acts) // it holds something, which is to pass on
			}
			own := rand.New(rand.NewPCG(r.rand.Uint64(), 4))
			if what := fmt.Sprint(k.to, i); !busy[what] {
				busy[what] = true
				all.Go(func() { r.one(k, i, own) })
			}
		}
		all.Wait()
		r.calm(n)
	}
}

// of is the number of a host among what may be befallen.
func (k kind) of(host int) int {
	if k.to == toLinks {
		return nodes + host
	}
	return host
}

// acts is the host that has written last.
func (w *world) acts() int {
	all := w.resource.all()
	return slices.IndexFunc(w.hosts, func(p *process) bool { return len(all) > 0 && p.name == all[len(all)-1].Host })
}

// calm lets all be well for a while: every fourth time for longer than a lease lasts.
func (r *run) calm(n int) {
	d := time.Second + time.Duration(r.rand.Int64N(int64(8*time.Second)))
	if n%4 == 0 {
		d = 40 * time.Second
	}
	time.Sleep(d)
}

// one plays one fault, for 1 to 60 seconds: as many short ones as long ones.
func (r *run) one(k kind, i int, own *rand.Rand) {
	lasts := time.Duration(float64(time.Second) * math.Exp(own.Float64()*math.Log(60)))
	from := uptime()
	f, undo := k.begin(r.w, own, i)
	time.Sleep(lasts)
	undo()
	f.Kind, f.From, f.To = k.name, from, uptime()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, f)
	r.w.t.Log(f)
	_ = r.log.add(f, false) // it is in what the test says as well
}

// without leaves kinds of faults out.
func without(all []kind, names string) []kind {
	return slices.DeleteFunc(all, func(k kind) bool { return slices.Contains(strings.Split(names, ","), k.name) })
}

// at are the faults that there were around a moment.
func (r *run) at(at time.Duration) (out []string) {
	for _, f := range r.faults {
		if f.From-time.Second <= at && at <= f.To+20*time.Second {
			out = append(out, strings.Join(strings.Fields(f.String()), " "))
		}
	}
	return out
}
