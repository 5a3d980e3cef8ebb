// Package beads reads one tracker of beads through its own command, bd: by what it
// prints as JSON, never by its files; its Writer closes beads and opens them again. Texts in it are foreign words and neither
// stripped nor cut.
//
// The shapes are those of the public sources of bd, releases 0.21 to 1.x (package
// beadstest says where), bare or in an object of their version (items, data): a list
// holds each bead's dependencies in later ones, and only their number in earlier
// ones; those are then asked for with bd show.
package beads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Bead is one piece of work.
type Bead struct {
	ID       string
	Title    string
	Status   string // open, in_progress, blocked, closed, …; fleets add words of their own
	Priority int    // 0 is the most urgent
	Assignee string
	Labels   []string
	Reason   string    // of a closed one
	Updated  time.Time // zero when it is not told
	Closed   time.Time
	Needs    []string // IDs of those that block it, closed or not
}

// Run runs a command in a folder, argument by argument, and returns what it printed.
type Run func(ctx context.Context, dir string, argv []string) ([]byte, error)

// Options say which tracker it is.
type Options struct {
	Command string // bd, or its path
	Dir     string // a folder of the repository that holds .beads
	Run     Run
}

// Reader looks at one tracker, and changes nothing in it.
type Reader struct{ o Options }

// New checks the options.
func New(o Options) (*Reader, error) {
	if o.Command == "" || o.Dir == "" || o.Run == nil {
		return nil, errors.New("cannot read beads: want a command, a folder and how to run it")
	}
	return &Reader{o}, nil
}

// List lists the beads that are not closed, and those closed since a day.
func (r *Reader) List(ctx context.Context, closedSince time.Time) ([]Bead, error) {
	open, err := r.ask(ctx, "list", "--json", "--limit", "0")
	if err != nil {
		return nil, err
	}
	closed, err := r.ask(ctx, "list", "--json", "--limit", "0", "--status", "closed", "--closed-after", closedSince.UTC().Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	if err := r.fill(ctx, open); err != nil {
		return nil, err
	}
	var out []Bead
	for _, b := range append(open, closed...) {
		out = append(out, b.bead())
	}
	return out, nil
}

// atOnce is how many beads one command is asked about.
const atOnce = 50

// fill asks for the dependencies of those that have some which the list left out.
func (r *Reader) fill(ctx context.Context, list []said) error {
	var ids []string
	for _, b := range list {
		if b.Count > len(b.Dependencies) && safeID(b.ID) {
			ids = append(ids, b.ID)
		}
	}
	known := map[string]said{}
	for len(ids) > 0 {
		n := min(len(ids), atOnce)
		more, err := r.ask(ctx, append([]string{"show", "--json"}, ids[:n]...)...)
		if err != nil {
			return err
		}
		for _, b := range more {
			known[b.ID] = b
		}
		ids = ids[n:]
	}
	for i, b := range list {
		if full, ok := known[b.ID]; ok {
			list[i].Dependencies = full.Dependencies
		} else if b.Count > len(b.Dependencies) {
			return fmt.Errorf("cannot read beads in %s: bd did not show what %q waits for", r.o.Dir, b.ID)
		}
	}
	return nil
}

// safeID says whether an ID can stand among arguments: it is no option.
func safeID(id string) bool { return id != "" && id[0] != '-' }

func (r *Reader) ask(ctx context.Context, args ...string) ([]said, error) {
	out, err := r.o.Run(ctx, r.o.Dir, append([]string{r.o.Command}, args...))
	if err != nil {
		return nil, fmt.Errorf("cannot run bd %s in %s: %w", args[0], r.o.Dir, err)
	}
	if args[0] == "show" && len(bytes.TrimSpace(out)) == 0 {
		return nil, nil // there is none such
	}
	list, err := parse(out)
	if err != nil {
		return nil, fmt.Errorf("cannot read what bd %s printed in %s: %w", args[0], r.o.Dir, err)
	}
	return list, nil
}

// said is a bead as bd prints it. Not all of it is read.
type said struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	Status       string       `json:"status"`
	Priority     int          `json:"priority"`
	Assignee     string       `json:"assignee"`
	Labels       []string     `json:"labels"`
	Reason       string       `json:"close_reason"`
	Updated      time.Time    `json:"updated_at"`
	Closed       *time.Time   `json:"closed_at"`
	Count        int          `json:"dependency_count"`
	Dependencies []dependency `json:"dependencies"`
}

// dependency has two forms: that of a list, and that of show, which is the other
// bead with the kind of the dependency.
type dependency struct {
	On   string `json:"depends_on_id"`
	Type string `json:"type"`
	ID   string `json:"id"`
	Link string `json:"dependency_type"`
}

// blocks are the kinds of dependency that one waits for. A parent or something
// related is none.
func (d dependency) blocks() (id string, yes bool) {
	id, kind := d.On, d.Type
	if id == "" {
		id, kind = d.ID, d.Link
	}
	switch kind {
	case "blocks", "conditional-blocks", "waits-for", "merge-blocks":
		return id, id != ""
	}
	return "", false
}

func (s said) bead() Bead {
	b := Bead{ID: s.ID, Title: s.Title, Status: s.Status, Priority: s.Priority, Assignee: s.Assignee, Labels: s.Labels, Reason: s.Reason, Updated: s.Updated}
	if s.Closed != nil {
		b.Closed = *s.Closed
	}
	for _, d := range s.Dependencies {
		if id, yes := d.blocks(); yes {
			b.Needs = append(b.Needs, id)
		}
	}
	return b
}

// unwrap returns what an object holds that tells the version of its schema; else the text.
func unwrap(text []byte) (raw json.RawMessage, err error) {
	if err := json.Unmarshal(text, &raw); err != nil || raw[0] != '{' {
		return raw, err
	}
	var o struct {
		Version *int            `json:"schema_version"`
		Items   json.RawMessage `json:"items"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &o); err != nil || o.Version == nil {
		return raw, err
	}
	for _, held := range []json.RawMessage{o.Items, o.Data} {
		if held != nil {
			return held, nil
		}
	}
	return raw, nil
}

// parse reads a list of beads, a single one, or none.
func parse(text []byte) (list []said, err error) {
	raw, err := unwrap(text)
	if err != nil {
		return nil, err
	}
	switch {
	case string(raw) == "null":
		return nil, nil
	case raw[0] == '{':
		var one said
		err = json.Unmarshal(raw, &one)
		list = []said{one}
	default:
		err = json.Unmarshal(raw, &list)
	}
	for _, b := range list {
		if err == nil && (b.ID == "" || b.Status == "") {
			err = errors.New("something in it has no id, or no status")
		}
	}
	return list, err
}
