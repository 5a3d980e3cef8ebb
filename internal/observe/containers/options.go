// Package containers is the probe of a container engine (Docker's, or one that
// serves the same API): what its containers do, how they are, and what images
// that nothing uses take. It changes nothing.
package containers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/engine"
)

// defaultSocket is looked at when custos.toml names none: Docker's own.
const defaultSocket = "/var/run/docker.sock"

// None as a socket means: look at no engine at all.
const None = "none"

// Options is the section [containers] of custos.toml.
type Options struct {
	// Socket is where the engine listens: a path, or "none". Default: Docker's
	// own, when there is one that this user may open.
	Socket string `toml:"socket"`
	// Ours are globs of names of containers that Custos may restart. Default: none.
	Ours []string `toml:"ours" is:"pattern"`
	// Wanted are names of containers that are to run, whatever their restart
	// policy says. Default: none.
	Wanted []string `toml:"wanted" is:"name"`
	// Prune says that images of this engine that nothing names or uses may be
	// removed. Default: no.
	Prune bool `toml:"prune"`
	// PruneCache says that build cache of this engine that no build has used for a
	// day may be removed. Default: no.
	PruneCache bool `toml:"prune_cache"`
	// Every is the time between two looks that no event asks for. Default "30s".
	Every string `toml:"every" is:"duration 1ms.."`

	Home   string           `toml:"-"` // for ~/ in socket
	Inside bool             `toml:"-"` // Custos itself is in a container
	Now    func() time.Time `toml:"-"` // with a monotonic clock; default time.Now
	Engine Engine           `toml:"-"` // default: the one at the socket
}

// Engine is what the probe asks of an engine.
type Engine interface {
	looker
	meter
	// Listen calls heard when it listens, and at every event, until the stream ends.
	Listen(ctx context.Context, heard func()) error
}

// looker tells what there is.
type looker interface {
	List(ctx context.Context) ([]engine.Container, error)
	Inspect(ctx context.Context, id string) (engine.Detail, error)
	Now() (time.Time, bool)
}

// meter tells how much is used.
type meter interface {
	Info(ctx context.Context) (engine.Info, error)
	Usage(ctx context.Context, id string) (engine.Usage, error)
	Dangling(ctx context.Context, used map[string]bool) (engine.Images, error)
	BuildCache(ctx context.Context, unused time.Duration) (engine.Cache, error)
}

// Address is where the engine is: "unix:///PATH", or "" when there is to be none.
func (o Options) Address() (string, error) {
	socket := o.Socket
	switch {
	case socket == None:
		return "", nil
	case socket == "":
		socket = defaultSocket
	}
	if rest, ok := strings.CutPrefix(socket, "~/"); ok {
		socket = path.Join(o.Home, rest)
	}
	return engine.Address(socket)
}

// configured says whether custos.toml counts on an engine. Where it does not, an
// engine that cannot be reached is none.
func (o Options) configured() bool {
	return o.Socket != "" || len(o.Ours) > 0 || len(o.Wanted) > 0 || o.Prune || o.PruneCache
}

// every is the time between two looks.
func (o Options) every() (time.Duration, error) {
	if o.Every == "" {
		return 30 * time.Second, nil
	}
	d, err := fleet.ParseDuration(o.Every)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no duration such as 30s", o.Every)
	}
	return d, nil
}

// Check returns the first key that is wrong, and why; "" and nil when none is.
func (o Options) Check() (key string, err error) {
	if _, err := o.Address(); err != nil {
		return "socket", err
	}
	for _, g := range o.Ours {
		if _, bad := path.Match(g, ""); bad != nil || g == "" {
			return "ours", fmt.Errorf("%q is no glob", g)
		}
	}
	for _, n := range o.Wanted {
		if n == "" || strings.ContainsAny(n, "*?[/ ") {
			return "wanted", fmt.Errorf("%q is no name of one container", n)
		}
	}
	if o.Socket == None && (len(o.Ours) > 0 || len(o.Wanted) > 0 || o.Prune || o.PruneCache) {
		return "socket", errors.New(`"none" leaves nothing that could be ours, wanted or pruned`)
	}
	if _, err := o.every(); err != nil {
		return "every", err
	}
	return "", nil
}

func (o Options) isOurs(name string) bool {
	return slices.ContainsFunc(o.Ours, func(g string) bool { ok, err := path.Match(g, name); return ok && err == nil })
}

func (o Options) isWanted(name string) bool { return slices.Contains(o.Wanted, name) }

// unreached is what it means that the engine at a socket could not be spoken to.
// One that custos.toml does not count on, and that is not there or not for this
// user, is absent.
func (o Options) unreached(socket string, err error) error {
	if o.configured() {
		return err
	}
	dialled, bad := net.DialTimeout("unix", socket, patience)
	if bad == nil {
		dialled.Close()
		return err
	}
	switch {
	case errors.Is(bad, syscall.ENOENT), errors.Is(bad, syscall.ECONNREFUSED):
		return fmt.Errorf("no container engine listens at %s: %w", socket, observe.ErrAbsent)
	case errors.Is(bad, syscall.EACCES), errors.Is(bad, syscall.EPERM):
		return fmt.Errorf("this user may not speak to the container engine at %s: %w", socket, observe.ErrAbsent)
	}
	return err
}

// patience is how long a unix socket may take to be opened.
const patience = time.Second
