// Package boundary says what the kernel is to keep an agent within: which trees it reads, which it
// writes, and what it reaches of the network. It is values alone: Compose makes a Spec of the places
// that were found, Parse reads one that was written down, and Open and Never say what it does not
// hold where it is enforced. Who enforces it is cmd/custos-shim.
package boundary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Version is that of a Spec that is written down. A reader refuses any other.
const Version = 1

// What enforces a boundary.
const (
	Landlock = "landlock" // the kernel's rules on files, by the agent's own process
	Bwrap    = "bwrap"    // bubblewrap: mounts of its own; Landlock for signals and ports
)

// What an agent reaches of the network.
const (
	NetOpen   = "open"
	NetClosed = "closed"
	NetPorts  = "ports" // of TCP connections, those to the ports that are listed
)

// What becomes of a start where something that was asked for cannot be enforced.
const (
	Refuse = "refuse"
	Say    = "say" // the agent starts, and what is open is on its record
)

// Spec is a boundary as the shim enforces it. All paths are absolute and clean.
type Spec struct {
	V       int      `json:"v"`
	Name    string   `json:"name"`
	By      string   `json:"by"`
	Missing string   `json:"missing"`
	Read    []string `json:"read"`              // trees that are read, and whose programs are run
	Write   []string `json:"write"`             // trees that are written, too
	Keep    []string `json:"keep,omitempty"`    // what lies in trees of Write and is not written
	Plain   []string `json:"plain,omitempty"`   // trees of Write in which no symbolic link is made: git, outside, would write where it leads
	Sockets []string `json:"sockets,omitempty"` // unix sockets that are reached
	Network string   `json:"network"`
	Ports   []int    `json:"ports,omitempty"`
	Tmp     string   `json:"tmp,omitempty"`       // made for the agent, and removed with it
	Memory  int64    `json:"memory,omitempty"`    // bytes that its processes may use; 0: no cap
	Procs   int64    `json:"processes,omitempty"` // how many there may be at once; 0: no cap
	Steers  string   `json:"steers,omitempty"`    // a git folder in which it makes files: what git does there for others is up to it
}

// Text is the spec as it is written down.
func (s Spec) Text() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	return append(text, '\n'), err
}

// Parse reads what Text has written, and nothing else: a spec that is torn, of another version, or
// says anything that is not known is no spec.
func Parse(text []byte) (Spec, error) {
	var s Spec
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&s)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it is torn")
	}
	if err == nil && (!bytes.HasSuffix(text, []byte("}\n")) || d.InputOffset() != int64(len(text)-1)) {
		err = errors.New("something else than one boundary and the end of its line stands there")
	}
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return Spec{}, fmt.Errorf("cannot read the boundary: %w", err)
	}
	return s, nil
}

func (s Spec) check() error {
	switch {
	case s.V != Version:
		return fmt.Errorf("its version is %d, not %d", s.V, Version)
	case s.By != Landlock && s.By != Bwrap:
		return fmt.Errorf("nothing is known that enforces it by %q: want %s or %s", s.By, Landlock, Bwrap)
	case s.Missing != Refuse && s.Missing != Say:
		return fmt.Errorf("missing is %q: want %s or %s", s.Missing, Refuse, Say)
	case s.Network != NetOpen && s.Network != NetClosed && s.Network != NetPorts:
		return fmt.Errorf("network is %q: want %s, %s or %s", s.Network, NetOpen, NetClosed, NetPorts)
	case (s.Network == NetPorts) != (len(s.Ports) > 0):
		return fmt.Errorf("network is %q, with %d ports", s.Network, len(s.Ports))
	case s.Memory < 0 || s.Procs < 0:
		return errors.New("a cap is negative")
	case len(s.Read) == 0 || len(s.Write) == 0:
		return errors.New("it has no tree to read, or none to write")
	}
	for _, p := range s.Ports {
		if p < 1 || p > 65535 {
			return fmt.Errorf("%d is no port", p)
		}
	}
	for _, p := range slices.Concat(s.Read, s.Write, s.Keep, s.Plain, s.Sockets) {
		if err := checkPath(p); err != nil {
			return err
		}
	}
	for _, p := range []string{s.Tmp, s.Steers} {
		if err := checkPath(p); p != "" && err != nil {
			return err
		}
	}
	return nil
}

func checkPath(p string) error {
	if !filepath.IsAbs(p) || filepath.Clean(p) != p || p == "/" || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%q is no absolute, clean path below /", p)
	}
	return nil
}

// Inside says whether a path is a tree or lies in it.
func Inside(path, tree string) bool {
	return path == tree || strings.HasPrefix(path, strings.TrimSuffix(tree, "/")+"/")
}

// within says whether a path lies in one of some trees.
func within(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return Inside(path, tree) })
}

// tidy is a list of paths in order, each once, without those that lie in another of them.
func tidy(paths []string) []string {
	all := slices.Compact(slices.Sorted(slices.Values(paths)))
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(q string) bool { return p != q && Inside(p, q) })
	})
}
