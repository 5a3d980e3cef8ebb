//go:build linux

package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/hub/member"
	"custos/internal/store"
	"custos/internal/sys/httpjson"
	"custos/internal/sys/procstat"
)

// hostConfig is what the process of a host is told, as JSON.
type hostConfig struct {
	Name     string        // for journals; the hub knows it by what was joined
	Joined   string        // folder of what was joined
	Store    string        // folder of its database
	Journal  string        // file
	Orders   string        // file in which stands what it is to do: see orders
	Resource string        // socket
	Keys     []string      // that it wants
	TTL      time.Duration // of leases
	Ahead    time.Duration // of its CLOCK_BOOTTIME before the machine's
}

// orders are what a host is told while it runs.
type orders struct {
	Skew time.Duration // of its wall clock
	Idle bool          // it wants nothing
}

// host is a process of a host.
type host struct {
	c       hostConfig
	run     string
	boot    string
	store   *store.Store
	actor   *act.Actor
	member  *member.Member
	client  client
	journal *lines
	rand    *rand.Rand

	mu     sync.Mutex
	why    string // the hub is not known, as was said last
	orders orders
	epochs map[string]uint64        // that were seen of each key last, as ours
	busy   map[string]time.Duration // since when an action is under way, by key
	untold map[string]bool          // actions that were planned, and of which no end was told
	count  int                      // of actions
}

// How often a host looks how it stands, and thinks what to do.
const (
	sampleEvery = 100 * time.Millisecond
	turnEvery   = 250 * time.Millisecond
)

// hostMain is a host, until SIGTERM. It returns the code it exits with.
func hostMain() int {
	var c hostConfig
	err := json.Unmarshal([]byte(os.Getenv(hostEnv)), &c)
	if err == nil {
		err = runHost(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, time.Now().UTC().Format(time.TimeOnly), c.Name, err)
		return 1
	}
	return 0
}

func runHost(c hostConfig) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	h := &host{c: c, run: fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()%1e6), epochs: map[string]uint64{}, busy: map[string]time.Duration{}, untold: map[string]bool{},
		rand: rand.New(rand.NewPCG(rand.Uint64(), 2))}
	if err := h.open(ctx); err != nil {
		return err
	}
	h.note(entry{Kind: kindBegan}, true)
	var parts sync.WaitGroup
	for _, part := range []func(context.Context){h.takePart, h.sample, h.heed, h.turns, h.slots} {
		parts.Go(func() { part(ctx) })
	}
	<-ctx.Done()
	h.actor.Close()
	parts.Wait()
	return h.leave()
}

// open opens all that it is made of, wired as the daemon does (internal/daemon/hub.go, build.go).
func (h *host) open(ctx context.Context) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("host", h.c.Name)
	if h.boot, err = procstat.BootID(); err != nil {
		return err
	}
	if h.journal, err = openLines(h.c.Journal); err != nil {
		return err
	}
	if h.client, err = newClient(h.c.Resource, h.up); err != nil {
		return err
	}
	if h.store, err = store.Open(ctx, store.Options{Path: filepath.Join(h.c.Store, "custos.db"), StartedAt: h.now(), Mark: filepath.Join(h.c.Store, "generation")}); err != nil {
		return err
	}
	h.member, err = member.Open(member.Options{Place: member.Place{Joined: h.c.Joined, Hosts: filepath.Join(h.c.Store, "hosts.json")}, Version: "chaos", TTL: h.c.TTL, Now: h.now, Epochs: h.store.Epochs,
		Learn: func(ctx context.Context, key string, epoch uint64) error {
			return h.store.SawEpoch(ctx, key, epoch, h.now())
		},
		Changed: func(string) {}, Log: log})
	if err != nil {
		return err
	}
	h.actor = act.New(act.Options{Actions: []act.Action{deed{doWrite, h.client, h.c.Name, h.run}, deed{doSay, h.client, h.c.Name, h.run}}, Ledger: h.store,
		Lease: h.member.Lapsed, Fenced: httpjson.Fenced, Now: h.now, Done: h.ended, Log: log})
	left, err := h.store.Unfinished(ctx)
	h.actor.Recover(ctx, left)
	return err
}

// up is CLOCK_BOOTTIME of the machine.
func (h *host) up() time.Duration { return uptime() - h.c.Ahead }

// now is as the host has it: its own boot clock, and a wall clock that may be wrong.
func (h *host) now() fleet.Instant {
	h.mu.Lock()
	skew := h.orders.Skew
	h.mu.Unlock()
	return fleet.Instant{Wall: time.Now().UTC().Round(0).Add(skew), Up: fleet.Duration(uptime()), Boot: h.boot}
}

// note writes an entry into the journal.
func (h *host) note(e entry, sync bool) {
	if e.At == 0 {
		e.At = h.up()
	}
	e.Host, e.Run = h.c.Name, h.run
	if err := h.journal.add(e, sync); err != nil {
		fmt.Fprintln(os.Stderr, "cannot write the journal:", err)
		os.Exit(2) // nothing can be checked without it
	}
}

// takePart takes part in the hub: again when that ends, as the daemon does.
func (h *host) takePart(ctx context.Context) {
	for ctx.Err() == nil {
		if err := h.member.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, h.c.Name, "takes no part in the hub:", err)
		}
		rest(ctx, time.Second)
	}
}

// sample notes which keys it relies on.
func (h *host) sample(ctx context.Context) {
	var last map[string]uint64
	for ; ctx.Err() == nil; rest(ctx, sampleEvery) {
		h.see()
		before := h.up()
		held := h.held(false)
		if after := h.up(); len(held) > 0 || !maps.Equal(held, last) {
			h.note(entry{Kind: kindHolds, At: before, After: after, Held: held}, false)
		}
		last = held
	}
}

// see learns the epochs of what it holds.
func (h *host) see() {
	seen := h.member.Seen(h.now())
	h.mu.Lock()
	defer h.mu.Unlock()
	if seen.Why != h.why { // why it does nothing, for who wonders
		h.why = seen.Why
		fmt.Fprintln(os.Stderr, h.up(), h.c.Name, "of the hub:", cmp.Or(h.why, "all is known"))
	}
	for _, l := range seen.Value.Leases {
		if l.Mine {
			h.epochs[l.Key] = l.Epoch
		}
	}
}

// held are the epochs by which it may do something now, by key; fresh: and begin to.
func (h *host) held(fresh bool) map[string]uint64 {
	h.mu.Lock()
	known := maps.Clone(h.epochs)
	h.mu.Unlock()
	out := map[string]uint64{}
	for key, epoch := range known {
		if h.member.Lapsed(fleet.Fence{Key: key, Epoch: epoch}, fresh) == "" {
			out[key] = epoch
		}
	}
	return out
}

// heed reads its orders.
func (h *host) heed(ctx context.Context) {
	for ; ctx.Err() == nil; rest(ctx, sampleEvery) {
		var o orders
		text, err := os.ReadFile(h.c.Orders)
		if err != nil || json.Unmarshal(text, &o) != nil {
			continue
		}
		h.mu.Lock()
		h.orders = o
		h.mu.Unlock()
	}
}

func (h *host) isIdle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.orders.Idle
}

// turns wants its keys, and acts on those it holds.
func (h *host) turns(ctx context.Context) {
	for ; ctx.Err() == nil; rest(ctx, turnEvery) {
		if h.isIdle() {
			continue
		}
		h.member.Want(h.c.Keys...)
		for key, epoch := range h.held(true) {
			h.act(ctx, fleet.Fence{Key: key, Epoch: epoch})
		}
	}
}

// slotEvery is how often there is something that one host is to do, and slotsBack how many of the last are done still.
const (
	slotEvery = 5 * time.Second
	slotsBack = 12
)

// slots runs what is run once for all hosts, of what it has claimed.
func (h *host) slots(ctx context.Context) {
	ran := map[string]bool{}
	for ; ctx.Err() == nil; rest(ctx, turnEvery) {
		if h.isIdle() {
			continue
		}
		var wanted []string
		for n := int64(h.up() / slotEvery); len(wanted) < slotsBack; n-- {
			wanted = append(wanted, fmt.Sprint("slot/", n))
		}
		h.member.Claim(wanted...)
		for _, c := range h.member.Seen(h.now()).Value.Claims {
			if c.Mine && !ran[c.Key] && slices.Contains(wanted, c.Key) {
				ran[c.Key] = true
				h.note(entry{Kind: kindRan, Key: c.Key}, true)
			}
		}
	}
}

// act plans one action by a lease, unless one is under way.
func (h *host) act(ctx context.Context, f fleet.Fence) {
	a, is := h.plan(ctx, f)
	if !is {
		return
	}
	h.mu.Lock()
	h.untold[a.ID] = true
	h.mu.Unlock()
	at := h.now()
	if err := h.actor.Start(ctx, fleet.Turn{At: at, Plan: fleet.Plan{At: at, Actions: []fleet.Action{a}}}); err != nil {
		h.free(f.Key)
		h.over(a.ID)
		fmt.Fprintln(os.Stderr, h.c.Name, "cannot plan", a.ID, err)
		return
	}
	h.note(entry{Kind: kindPlanned, Key: f.Key, Epoch: f.Epoch, Action: a.ID}, true)
}

// longBusy is after how long a key is taken for free though no end was told: another result stands.
const longBusy = 2 * time.Minute

// plan is what to do next by a lease: to write one to three times, or to say what was not said.
func (h *host) plan(ctx context.Context, f fleet.Fence) (fleet.Action, bool) {
	h.mu.Lock()
	since, busy := h.busy[f.Key]
	if busy && h.up()-since < longBusy {
		h.mu.Unlock()
		return fleet.Action{}, false
	}
	h.busy[f.Key] = h.up()
	h.count++
	a := fleet.Action{ID: fmt.Sprintf("%s/%s/%d", h.c.Name, h.run, h.count), Do: doWrite, Text: strconv.Itoa(1 + h.rand.IntN(3)), Fence: &f}
	says := h.rand.IntN(2) == 0
	h.mu.Unlock()
	a.Subject = fleet.Subject{Kind: fleet.KindIssue, Name: f.Key}
	a.For = fleet.AlertKey{Rule: "chaos", Subject: a.Subject}
	if says {
		next, err := h.client.ask(ctx, "/next?key="+f.Key)
		if err != nil {
			h.free(f.Key)
			return fleet.Action{}, false
		}
		a.Do, a.Text = doSay, next
	}
	return a, true
}

func (h *host) free(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.busy, key)
}

func (h *host) over(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.untold, id)
}

// ended is told of each result once it is written down.
func (h *host) ended(r fleet.Result) {
	h.over(r.ActionID)
	h.free(r.Subject.Name)
	h.note(entry{Kind: kindEnded, Key: r.Subject.Name, Action: r.ActionID, Status: string(r.Status), Why: r.Why}, true)
}

// leave notes the ends of which nobody is told any more when the actor is closed, and what is left open:
// nothing, where all is well.
func (h *host) leave() error {
	all, err := h.store.Actions(context.Background(), store.ActionFilter{})
	if err != nil {
		return err
	}
	var open []string
	for _, a := range all {
		switch {
		case a.Open():
			open = append(open, a.ID)
		case h.untold[a.ID]:
			h.ended(*a.Result)
		}
	}
	h.note(entry{Kind: kindLeft, Why: strings.Join(open, " ")}, true)
	return h.store.Close()
}
