// Package member is a host's part in a hub: its connection, the leases that it holds there, what it
// tells the others and what it knows of them. Where several Custos of one machine share things and
// there is no hub, leases lie in a file that all of them have, and nothing else is shared.
package member

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/hub/credential"
	"custos/internal/hub/looks"
	"custos/internal/lease"
	"custos/internal/lease/hold"
	"custos/internal/lease/local"
)

// Place is where a host shares things with others.
type Place struct {
	Joined string // the folder in which lies what was joined; there is none: no hub was joined
	Hosts  string // the file beside it that names the other hosts, for commands
	File   string // instead of a hub: the file of leases that Custos of this machine share; "" for none
	Host   string // by which name, beside a file
}

// Options are what a Member is made of.
type Options struct {
	Place
	Version string
	TTL     time.Duration // of a lease; 0: fleet.LeaseTime
	Now     func() fleet.Instant
	// Epochs are the largest epochs of leases that were written down; Learn writes one down.
	Epochs func(context.Context) (map[string]uint64, error)
	Learn  func(ctx context.Context, key string, epoch uint64) error
	// Changed is told, with what, that what is known of the hub is other than before.
	Changed func(what string)
	// Tell is what this host shows of itself to the others; nil: that it is there.
	Tell func(context.Context) (looks.Told, error)
	// Answer is what is asked of this host by another one; nil: nothing may be asked.
	Answer func(from string) http.Handler
	Log    *slog.Logger
}

// Member is a host's part in a hub. It is safe for concurrent use.
type Member struct {
	o      Options
	joined credential.Joined
	me     lease.Holder
	news   chan struct{} // has one when there is something newer to tell
	stands chan struct{} // has one when the host stands otherwise with some lease

	mu     sync.Mutex
	leases *hold.Leases // nil until it runs
	claims *hold.Claims // nil until it runs
	link   *link        // with the hub; nil until it runs, and beside a file
	cut    string       // why there is no connection; "" while there is one
	lost   bool         // the hub does not know this host
}

// keyWatch is the lease of who looks after all hosts, and tells of those that are silent.
const keyWatch = "hosts"

// Open reads where the host shares things; nil where it shares nothing. Where what was joined cannot be
// read, the Member knows nothing, and says why, until Run can read it: all else goes on.
func Open(o Options) (*Member, error) {
	if o.TTL <= 0 {
		o.TTL = time.Duration(fleet.LeaseTime)
	}
	m := &Member{o: o, me: lease.Holder{Host: o.Host, Run: newRun()}, cut: "not connected yet", news: make(chan struct{}, 1), stands: make(chan struct{}, 1)}
	err := m.load()
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.File == "":
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case o.File != "":
		return nil, fmt.Errorf("cannot keep leases in %s and in the hub that was joined: leave file out, or remove %s", o.File, o.Joined)
	case err != nil:
		m.cut = fleet.Line(fleet.Redact(err.Error()), 400)
	}
	return m, nil
}

// load reads which hub was joined, and by which name.
func (m *Member) load() error {
	j, err := credential.Load(m.o.Joined)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined, m.me.Host = j, j.Host
	return nil
}

// newRun names one run of a daemon.
func newRun() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return hex.EncodeToString(b[:])
}

// Run takes part until ctx ends.
func (m *Member) Run(ctx context.Context) error {
	at, run, err := m.open()
	if err != nil {
		m.reached(fleet.Line(fleet.Redact(err.Error()), 400))
		return err
	}
	known, err := m.o.Epochs(ctx)
	if err != nil {
		return errors.Join(err, run(canceled()))
	}
	l := hold.New(hold.Options{Store: at.leases, Me: m.me, TTL: m.o.TTL, Now: m.o.Now, Learn: m.o.Learn, Log: m.o.Log,
		Changed: m.stood}, known)
	c := hold.NewClaims(hold.ClaimOptions{Claims: at.claims, Me: m.me, Now: m.o.Now, Changed: func() { m.o.Changed("whose a claim is") }})
	m.mu.Lock()
	m.leases, m.claims = l, c
	l.Bar(m.lost)
	m.mu.Unlock()
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx)) // leases are given back before it ends
	var parts sync.WaitGroup
	var failed error
	parts.Go(func() { failed = run(linked) })
	parts.Go(func() { c.Run(ctx) })
	l.Run(ctx)
	m.mu.Lock()
	m.leases, m.claims, m.link = nil, nil, nil
	m.mu.Unlock()
	unlink()
	parts.Wait()
	return failed
}

// stood is told that the host stands otherwise with some lease.
func (m *Member) stood() {
	select {
	case m.stands <- struct{}{}:
	default:
	}
	m.o.Changed("who holds a lease")
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// kept is where leases and claims are kept.
type kept struct {
	leases lease.Store
	claims lease.Claims
}

// open is where leases and claims are kept, and what else is to run until it ends, and closes all then.
func (m *Member) open() (kept, func(context.Context) error, error) {
	if m.o.File == "" {
		if err := m.load(); err != nil {
			return kept{}, nil, err
		}
		return m.connect()
	}
	s, err := local.Open(m.o.File, local.Options{TTL: m.o.TTL, Me: m.me, Clock: m.o.Now, Warn: m.warn})
	if err != nil {
		return kept{}, nil, err
	}
	m.reached("")
	return kept{s, s}, func(ctx context.Context) error { <-ctx.Done(); return s.Close() }, nil
}

func (m *Member) warn(err error) { m.o.Log.Error("A lease of the hub is set aside", "err", err) }

// reached notes why the hub is not reached; "" when it is.
func (m *Member) reached(cut string) {
	m.mu.Lock()
	is := m.cut == cut
	m.cut = cut
	m.mu.Unlock()
	if !is {
		m.o.Changed("the hub")
	}
}

// listed notes whether the hub lists this host: one that does not has lost what it kept, and others may be
// let in under this host's name. What this host holds there, which it may not use, it keeps from nobody.
func (m *Member) listed(is bool) {
	m.mu.Lock()
	was, l := !m.lost, m.leases
	m.lost = !is
	m.mu.Unlock()
	if l != nil {
		l.Bar(!is)
	}
	if is != was {
		m.o.Changed("the hub")
	}
}

// Want has the leases of keys be got, and kept for a while.
func (m *Member) Want(keys ...string) {
	if l, _, _ := m.now(); l != nil {
		l.Want(keys...)
	}
}

// Claim has keys be claimed, unless another one has claimed them: Seen says whose they are.
func (m *Member) Claim(keys ...string) {
	m.mu.Lock()
	c, lost := m.claims, m.lost
	m.mu.Unlock()
	if c != nil && !lost {
		c.Want(keys...)
	}
}

// claimed is whose the keys are that were to be claimed.
func (m *Member) claimed() (out []fleet.Claim) {
	m.mu.Lock()
	c := m.claims
	m.mu.Unlock()
	if c == nil {
		return nil
	}
	for _, x := range c.All() {
		out = append(out, fleet.Claim{Key: x.Key, Mine: x.Mine, Holder: fleet.Line(x.Holder, 80), Why: fleet.Line(fleet.Redact(x.Why), 200)})
	}
	return out
}

// Host is the name of this host there.
func (m *Member) Host() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.me.Host
}

func (m *Member) now() (*hold.Leases, *link, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost && m.cut == "" {
		return m.leases, m.link, "the hub does not know this host any more: its store was lost; hosts join it anew (custos join TOKEN --replace)"
	}
	return m.leases, m.link, m.cut
}

// Seen is the hub as it is known at this moment. Where it is not reached, nothing of it is known.
func (m *Member) Seen(at fleet.Instant) fleet.Part[fleet.Hub] {
	out := fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK, At: at, Probe: "hub"}, Value: fleet.Hub{Host: m.Host()}}
	l, k, cut := m.now()
	if l == nil {
		return m.blind(out, "no daemon keeps its leases: "+cut)
	}
	all, silent := l.All()
	if cut == "" && silent != "" {
		cut = "its leases are not told: " + tooFew(fleet.Line(fleet.Redact(silent), 200))
	}
	if cut != "" {
		return m.blind(out, cut)
	}
	for _, s := range all {
		out.Value.Leases = append(out.Value.Leases, leaseOf(s))
	}
	out.Value.Claims = m.claimed()
	i := slices.IndexFunc(all, func(s lease.Standing) bool { return s.Key == keyWatch })
	if i >= 0 {
		out.Value.Watches = all[i].Holder
	}
	if k != nil {
		out.Value.Doubled = k.rows.Doubled()
		out.Value.Nodes = nodesOf(k.rows.Nodes())
	}
	if k != nil && i >= 0 && all[i].Mine {
		out.Value.Peers = k.peers()
	}
	if k != nil && holds(all, fleet.PoolKey("")) {
		out.Value.Elsewhere = k.elsewhere()
		out.Value.Told = k.told()
	}
	return out
}

// tooFew says in words what a hub answers of which too few nodes are there (nats-server v2.15.2, errors.json, 10008).
func tooFew(why string) string {
	if !strings.Contains(why, "JetStream system temporarily unavailable") {
		return why
	}
	return "too few of its nodes are there (" + why + "): start another one"
}

// blind is a hub of which nothing is known, but this host's own name there.
func (m *Member) blind(p fleet.Part[fleet.Hub], why string) fleet.Part[fleet.Hub] {
	p.Blind(why)
	p.Value.Host = m.Host()
	return p
}

func leaseOf(s lease.Standing) fleet.Lease {
	return fleet.Lease{Key: s.Key, Mine: s.Mine, Epoch: s.Epoch, Left: fleet.Duration(s.Left), Holder: s.Holder, Why: fleet.Line(fleet.Redact(s.Why), 200)}
}

// Lapsed says why nothing may be done by a lease any more, at this very moment; "" while it may.
// fresh: two thirds of its time must be left.
func (m *Member) Lapsed(f fleet.Fence, fresh bool) string {
	l, _, _ := m.now()
	if l == nil {
		return "other hosts share it, and no leases are kept any more"
	}
	s := l.At(f.Key)
	switch {
	case s.Mine && s.Epoch != f.Epoch:
		return fmt.Sprintf("other hosts share it: its lease was of epoch %d, and is of %d now", f.Epoch, s.Epoch)
	case s.Mine && fresh && s.Left < m.o.TTL*2/3:
		return "other hosts share it, and too little is left of its lease"
	case s.Mine:
		return ""
	case s.Holder != "":
		return fmt.Sprintf("other hosts share it: its lease was of epoch %d, and %s holds it by %d now", f.Epoch, s.Holder, s.Epoch)
	}
	return fmt.Sprintf("other hosts share it, and its lease of epoch %d has ended", f.Epoch)
}
