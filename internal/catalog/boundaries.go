package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/act/agentrun"
	"custos/internal/boundary"
	"custos/internal/config"
	"custos/internal/fleet"
)

// boundarySection is the section [boundary.NAME].
type boundarySection struct {
	By      string   `toml:"by"`                // what enforces it
	Roles   []string `toml:"roles"`             // whose agents it is for
	Read    []string `toml:"read" is:"path"`    // trees that are read, besides the usual ones
	Write   []string `toml:"write" is:"path"`   // trees that are written, besides the worktree
	Sockets []string `toml:"sockets" is:"path"` // unix sockets that are reached, besides the one of hooks
	Caches  []string `toml:"caches"`            // of builds, by name
	Network string   `toml:"network"`
	Ports   []int    `toml:"ports"`
	Missing string   `toml:"missing"`
	Refs    bool     `toml:"lock_refs"` // in a linked worktree: references can be removed
	Memory  string   `toml:"memory" is:"size"`
	Procs   int64    `toml:"processes" is:"0..1000000"`
}

// Boundaries reads the sections [boundary.NAME], in the order of their names.
func Boundaries(cfg config.Config) (out []agentrun.Bounds, err error) {
	sections := map[string]boundarySection{}
	if err := cfg.Section("boundary", &sections); err != nil {
		return nil, err
	}
	var wrong []error
	of := map[string]string{} // role: boundary
	for _, name := range sortedNames(sections) {
		b, err := sections[name].bounds(name, cfg)
		for _, role := range b.Roles {
			if other := of[role]; other != "" && err == nil {
				err = fmt.Errorf("roles: %q is in [boundary.%s], too", fleet.Line(role, 40), other)
			}
			of[role] = name
		}
		for _, err := range each(err) {
			wrong = append(wrong, cfg.Misread("boundary."+name, err))
		}
		out = append(out, b)
	}
	return out, errors.Join(wrong...)
}

// each are the mistakes that were joined into one: each has a line of its own.
func each(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func (s boundarySection) bounds(name string, cfg config.Config) (agentrun.Bounds, error) {
	b := agentrun.Bounds{Name: name, By: s.By, Roles: s.Roles, Caches: s.Caches, Ports: s.Ports, LockRefs: s.Refs, Processes: s.Procs,
		Network: cmp.Or(s.Network, boundary.NetOpen), Missing: cmp.Or(s.Missing, boundary.Refuse)}
	if len(s.Ports) > 0 && s.Network == "" {
		b.Network = boundary.NetPorts
	}
	if !budgetName.MatchString(name) {
		return b, errors.New("its name may have letters, digits, and . _ -, 64 at most")
	}
	if err := s.known(b); err != nil {
		return b, err
	}
	var err error
	if s.Memory != "" {
		b.MemoryMax, err = fleet.ParseSize(s.Memory)
	}
	if err != nil {
		return b, fmt.Errorf("memory: %w", err)
	}
	for _, list := range []struct {
		key  string
		from []string
		to   *[]string
	}{{"read", s.Read, &b.Read}, {"write", s.Write, &b.Write}, {"sockets", s.Sockets, &b.Sockets}} {
		for _, path := range list.from {
			at, err := cfg.Expand(path)
			if err == nil && (at == "/" || filepath.Clean(at) == filepath.Clean(cfg.Home) && list.key != "sockets") {
				err = errors.New("that is everything: name smaller trees")
			}
			if err != nil {
				return b, fmt.Errorf("%s: %q: %w", list.key, fleet.Line(path, 200), err)
			}
			*list.to = append(*list.to, filepath.Clean(at))
		}
	}
	return b, nil
}

// known refuses words that mean nothing, and ports that nothing is asked of.
func (s boundarySection) known(b agentrun.Bounds) error {
	of := func(key, word string, words ...string) error {
		if slices.Contains(words, word) {
			return nil
		}
		return fmt.Errorf("%s: %q is not known: want %s", key, fleet.Line(word, 40), strings.Join(words, ", "))
	}
	errs := []error{
		of("by", b.By, boundary.Landlock, boundary.Bwrap),
		of("network", b.Network, boundary.NetOpen, boundary.NetClosed, boundary.NetPorts),
		of("missing", b.Missing, boundary.Refuse, boundary.Say),
	}
	for _, name := range s.Caches {
		errs = append(errs, of("caches", name, slices.Sorted(maps.Keys(boundary.Caches))...))
	}
	if (b.Network == boundary.NetPorts) != (len(s.Ports) > 0) {
		errs = append(errs, errors.New(`ports: want them with network = "ports", like ports = [443], and with that alone`))
	}
	for _, port := range s.Ports {
		if port < 1 || port > 65535 {
			errs = append(errs, fmt.Errorf("ports: %d is no port", port))
		}
	}
	return errors.Join(errs...)
}
