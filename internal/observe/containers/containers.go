package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/engine"
	"custos/internal/sys/engineproxy"
)

const (
	most     = 500              // containers in one look; ours and wanted ones first
	measured = 50               // of those that run, whose use is measured
	deadline = 10 * time.Second // of a look
	metering = 2 * time.Second  // of it, for what is used; the same for images
	rest     = 2 * time.Second  // between two looks that events ask for
	lines    = 200              // runes of what an engine or a health check says
)

// Probe fills the part "containers".
type Probe struct {
	o       Options
	address string // "": look at no engine
	every   time.Duration

	mu     sync.Mutex
	memory map[string]*past // by ID
	met    bool             // an engine has answered once
}

// New checks the options.
func New(o Options) (*Probe, error) {
	if key, err := o.Check(); err != nil {
		return nil, fmt.Errorf("cannot set up [containers]: %s: %w", key, err)
	}
	address, err := o.Address()
	if err != nil {
		return nil, err
	}
	every, err := o.every()
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Engine == nil && address != "" {
		if o.Engine, err = engine.NewReader(address); err != nil {
			return nil, err
		}
	}
	return &Probe{o: o, address: address, every: every, memory: map[string]*past{}}, nil
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "containers", Part: fleet.PartEngine, Every: p.every, Deadline: deadline, Rest: rest}
}

// Look implements observe.Probe. One container that goes away meanwhile is left
// out; what cannot be told of one is unknown of that one.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if p.address == "" {
		return nil, fmt.Errorf(`custos.toml says socket = "none": %w`, observe.ErrAbsent)
	}
	rows, err := p.o.Engine.List(ctx)
	if err != nil {
		return nil, p.unseen(err)
	}
	p.meet()
	rows, cut := p.order(rows)
	seen := p.inspect(ctx, rows[:min(most, len(rows))])
	p.meter(ctx, seen)
	facts := fleet.Engine{Address: fleet.Path(p.address), Containers: p.missing(rows)}
	for _, s := range seen {
		facts.Containers = append(facts.Containers, s.facts)
	}
	slices.SortFunc(facts.Containers, func(a, b fleet.Container) int { return cmp.Compare(a.Name, b.Name) })
	p.describe(ctx, &facts, rows)
	p.forget(rows)
	if ctx.Err() != nil {
		err = fmt.Errorf("cannot look at all containers in time: %w", ctx.Err())
	}
	return func(s *fleet.Snapshot) { s.Engine.Value = facts }, observe.WithCut(cut, err)
}

// unseen is why no engine answered. One that was there before is no absent one.
func (p *Probe) unseen(err error) error {
	if p.hasMet() {
		return err
	}
	return p.o.unreached(strings.TrimPrefix(p.address, "unix://"), err)
}

func (p *Probe) meet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.met = true
}

func (p *Probe) hasMet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

// order puts ours and the wanted ones first; cut says that not all are looked at.
func (p *Probe) order(rows []engine.Container) (ordered []engine.Container, cut string) {
	rows = slices.DeleteFunc(rows, func(c engine.Container) bool { return c.ID == "" || c.Name == "" })
	rank := func(c engine.Container) int {
		if p.o.isOurs(c.Name) || p.o.isWanted(c.Name) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(rows, func(a, b engine.Container) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	if len(rows) > most {
		cut = fmt.Sprintf("there are %d containers, and %d are looked at", len(rows), most)
	}
	return rows, cut
}

// sighted is one container, with what it is asked about later.
type sighted struct {
	id    string
	runs  bool
	facts fleet.Container
}

// inspect asks about each container, one after the other: an engine answers some
// hundreds in a second.
func (p *Probe) inspect(ctx context.Context, rows []engine.Container) (out []*sighted) {
	for _, row := range rows {
		d, err := p.o.Engine.Inspect(ctx, row.ID)
		switch {
		case errors.Is(err, engine.ErrGone):
			continue
		case err != nil:
			out = append(out, &sighted{id: row.ID, facts: p.unknown(row, err)})
		default:
			out = append(out, &sighted{id: row.ID, runs: d.State == running, facts: p.facts(row, d)})
		}
	}
	return out
}

// meter measures what the first of those that run use.
func (p *Probe) meter(ctx context.Context, seen []*sighted) {
	ctx, stop := context.WithTimeout(ctx, metering)
	defer stop()
	n := 0
	for _, s := range seen {
		switch {
		case !s.runs:
			unmeasured(&s.facts, "it does not run")
			continue
		case n >= measured:
			unmeasured(&s.facts, fmt.Sprintf("only %d containers are measured", measured))
			continue
		}
		n++
		u, err := p.o.Engine.Usage(ctx, s.id)
		if err != nil {
			unmeasured(&s.facts, plain(err))
			continue
		}
		s.facts.Memory = fleet.Known(u.Memory)
		s.facts.CPU = p.cpu(s.id, s.facts.Run, u)
	}
}

func unmeasured(c *fleet.Container, why string) {
	c.Memory, c.CPU = fleet.Unknown[int64](why), fleet.Unknown[float64](why)
}

// missing lists the wanted containers that there are none of.
func (p *Probe) missing(rows []engine.Container) (out []fleet.Container) {
	for _, name := range p.o.Wanted {
		if slices.ContainsFunc(rows, func(c engine.Container) bool { return c.Name == name }) {
			continue
		}
		const why = "there is no such container"
		c := fleet.Container{Name: fleet.Line(name, 128), Owner: p.owner(name), Wanted: true, State: fleet.Known("missing"), Health: fleet.Known("none"),
			OOM: fleet.Known(false), Restarts: fleet.Known(0), Lately: fleet.Known(0),
			Since: fleet.Unknown[fleet.Duration](why), Exit: fleet.Unknown[int](why), Limit: fleet.Unknown[int64](why)}
		unmeasured(&c, why)
		out = append(out, c)
	}
	return out
}

// describe says what the engine is, and what images and build cache that nothing uses take.
func (p *Probe) describe(ctx context.Context, e *fleet.Engine, rows []engine.Container) {
	ctx, stop := context.WithTimeout(ctx, metering)
	defer stop()
	info, err := p.o.Engine.Info(ctx)
	if err == nil {
		e.Version, e.Root = fleet.Line(info.Version, 60), fleet.Path(info.Root)
	}
	e.Exposed = p.exposed(info, err)
	used := map[string]bool{}
	for _, row := range rows {
		used[row.ImageID] = true
	}
	images, err := p.o.Engine.Dangling(ctx, used)
	e.Dangling = bytesOf(images.Bytes, err)
	cache, err := p.o.Engine.BuildCache(ctx, fleet.CacheUnused)
	e.BuildCache = bytesOf(cache.Bytes, err)
}

// exposed says whether a Custos in a container has the engine itself at its socket. Another
// proxy that hands on what the engine says of itself cannot be told from it.
func (p *Probe) exposed(info engine.Info, err error) fleet.Leaf[bool] {
	if err != nil && p.o.Inside {
		return fleet.Unknown[bool](plain(err))
	}
	return fleet.Known(p.o.Inside && info.Server != engineproxy.Name)
}

func bytesOf(n int64, err error) fleet.Leaf[int64] {
	if err != nil {
		return fleet.Unknown[int64](plain(err))
	}
	return fleet.Known(n)
}

// plain is an error that is safe to show.
func plain(err error) string { return clean(err.Error()) }

// clean makes a program's words safe to show: secrets go before it is cut to what
// is shown.
func clean(text string) string { return fleet.Line(fleet.Redact(fleet.Text(clip(text))), lines) }

// clip bounds what is worked on; it cuts between words, so that no half of a secret
// is left.
func clip(text string) string {
	if len(text) <= 4<<10 {
		return text
	}
	text = text[:4<<10]
	return text[:max(strings.LastIndexAny(text, " \n"), 0)]
}
