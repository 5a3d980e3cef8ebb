package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"custos/internal/brokentoml"
	"custos/internal/nearest"
)

// read checks c.Text and sets the fields it speaks of.
func (c *Config) read() error {
	p := &problems{file: c.File}
	var all map[string]any
	if err := toml.Unmarshal(c.Text, &all); err != nil {
		p.add(lineOf(err), "%s", brokentoml.Plain(err))
		return p.err()
	}
	c.lines, c.all = linesOf(c.Text), all
	settings := c.settings()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c.readKey(p, settings, key, all[key])
	}
	c.checkFolders(p)
	return p.err()
}

// readKey reads one key of the top of the file.
func (c *Config) readKey(p *problems, settings []setting, key string, value any) {
	_, isTable := value.(map[string]any)
	for _, s := range settings {
		if s.key != key || isTable && c.sections[key] { // budget is a key, and a section
			continue
		}
		if err := s.set(value); err != nil {
			p.add(c.lines[key], "%s: %s", key, err)
		}
		return
	}
	switch {
	case c.sections[key] || slices.Contains(ownTables, key):
		if !isTable {
			p.add(c.lines[key], "%q is a section: write it as [%s]", key, key)
		}
	case isTable:
		p.add(c.lines[key], "unknown section [%s]%s", key, nearest.Hint(key, c.sectionNames()))
	default:
		p.add(c.lines[key], "unknown key %q%s", key, nearest.Hint(key, keysOf(settings)))
	}
}

// setting is one key of the top of the file.
type setting struct {
	key string
	set func(any) error
}

// settings lists the keys. docs/config.md documents each, and a test sees to it.
func (c *Config) settings() []setting {
	return []setting{
		{"mode", oneOf(&c.Mode, "observe", "ask", "auto")},
		{"state_dir", c.pathState},
		{"runtime_dir", c.path(&c.RuntimeDir)},
		{"journal_dir", c.path(&c.JournalDir)},
		{"log_dir", c.path(&c.LogDir)},
		{"active", c.path(&c.Active)},
		{"patrol_every", duration(&c.PatrolEvery, 10*time.Second)},
		{"patrol_idle_max", duration(&c.PatrolIdle, 0)},
		{"grace", duration(&c.Grace, 0)},
		{"budget", c.budget}, // as action_budget was called before there were budgets of money
		{"action_budget", c.budget},
		{"blast", count(&c.Blast, 0, 10000)},
		{"workers", count(&c.Workers, 1, 64)},
		{"fail_on", oneOf(&c.FailOn, "P0", "P1", "P2", "P3", "P4", Never)},
	}
}

func keysOf(settings []setting) []string {
	out := make([]string, len(settings))
	for i, s := range settings {
		out[i] = s.key
	}
	return out
}

func text(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("want a text in quotes, not %s", kindOf(v))
	}
	return s, nil
}

func oneOf(into *string, values ...string) func(any) error {
	return func(v any) error {
		s, err := text(v)
		if err != nil {
			return err
		}
		if !slices.Contains(values, s) {
			return fmt.Errorf("%q is none of %s%s", s, strings.Join(values, ", "), nearest.Choice(s, values))
		}
		*into = s
		return nil
	}
}

func duration(into *time.Duration, least time.Duration) func(any) error {
	return func(v any) error {
		s, err := text(v)
		if err != nil {
			return err
		}
		d, err := Duration(s)
		if err != nil {
			return err
		}
		if d < least {
			return fmt.Errorf("%s is too short: the least is %s", d, least)
		}
		*into = d
		return nil
	}
}

func count(into *int, least, most int64) func(any) error {
	return func(v any) error {
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("want a whole number, not %s", kindOf(v))
		}
		if n < least || n > most {
			return fmt.Errorf("%d is not between %d and %d", n, least, most)
		}
		*into = int(n)
		return nil
	}
}

func (c *Config) path(into *string) func(any) error {
	return func(v any) error {
		s, err := text(v)
		if err != nil {
			return err
		}
		s, err = c.Expand(s)
		if err == nil {
			*into = s
		}
		return err
	}
}

// pathState moves what lies below the state folder by default along with it.
// The keys are read in the order of the alphabet, so that a runtime_dir or
// journal_dir that is set too has been read already, and is left alone.
func (c *Config) pathState(v any) error {
	was := c.StateDir
	if err := c.path(&c.StateDir)(v); err != nil {
		return err
	}
	for _, dir := range []*string{&c.RuntimeDir, &c.JournalDir} {
		if rest, below := strings.CutPrefix(*dir, was+"/"); below {
			*dir = c.StateDir + "/" + rest
		}
	}
	return nil
}

func (c *Config) budget(v any) error {
	s, err := text(v)
	if err != nil {
		return err
	}
	b, err := ParseBudget(s)
	if err == nil {
		c.Budget = b
	}
	return err
}

func (c *Config) sectionNames() []string {
	return append(slices.Sorted(maps.Keys(c.sections)), ownTables...)
}

// linesOf finds the first line of every key and table, by dotted path. The text
// must have been parsed before.
func linesOf(doc []byte) map[string]int {
	lines := map[string]int{}
	note := func(path []string, line int) {
		for n := 1; n <= len(path); n++ {
			key := strings.Join(path[:n], ".")
			if _, seen := lines[key]; !seen {
				lines[key] = line
			}
		}
	}
	var table []string
	entries := map[string]int{} // of each list of tables, by its path
	inside := func(path []string) (out []string) {
		for _, key := range path {
			out = append(out, key)
			if n := entries[strings.Join(out, ".")]; n > 0 {
				out = append(out, strconv.Itoa(n-1))
			}
		}
		return out
	}
	parser := unstable.Parser{}
	parser.Reset(doc)
	for parser.NextExpression() {
		node := parser.Expression()
		path, line := keyPath(&parser, node)
		switch node.Kind {
		case unstable.Table:
			note(path, line)
			table = inside(path)
			note(table, line)
		case unstable.ArrayTable: // of the entries of a list each has a number
			note(path, line)
			last := len(path) - 1
			entries[strings.Join(append(inside(path[:last]), path[last]), ".")]++
			table = inside(path)
			note(table, line)
		case unstable.KeyValue:
			note(append(append([]string{}, table...), path...), line)
		}
	}
	return lines
}

func keyPath(p *unstable.Parser, node *unstable.Node) (path []string, line int) {
	if node.Kind == unstable.Comment {
		return nil, 0
	}
	for it := node.Key(); it.Next(); {
		key := it.Node()
		if line == 0 {
			line = p.Shape(key.Raw).Start.Line
		}
		path = append(path, string(key.Data))
	}
	return path, line
}

// lineOf returns the line a TOML error speaks of, or 0.
func lineOf(err error) int {
	var d *toml.DecodeError
	if errors.As(err, &d) {
		row, _ := d.Position()
		return row
	}
	return 0
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a section"
	}
	return "a date"
}
