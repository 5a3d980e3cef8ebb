package rules

import (
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lineTable says on which line a key of a TOML text first stands.
type lineTable map[string]int

func (t lineTable) of(path ...string) int { return t[strings.Join(path, "\x00")] }

// put notes a key and, where they were not written themselves, those above it.
func (t lineTable) put(path []string, line int) {
	for n := len(path); n > 0; n-- {
		key := strings.Join(path[:n], "\x00")
		if _, ok := t[key]; !ok {
			t[key] = line
		}
	}
}

// keyLines walks a text that is known to be TOML.
func keyLines(text []byte) lineTable {
	t := lineTable{}
	var p unstable.Parser
	p.Reset(text)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		path, line := keyOf(&p, e)
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = path
			t.put(table, line)
		case unstable.KeyValue:
			t.keyValue(&p, table, e)
		}
	}
	return t
}

func (t lineTable) keyValue(p *unstable.Parser, table []string, e *unstable.Node) {
	keys, line := keyOf(p, e)
	path := append(append([]string(nil), table...), keys...)
	t.put(path, line)
	t.value(p, path, e.Value())
}

func (t lineTable) value(p *unstable.Parser, path []string, v *unstable.Node) {
	if v.Kind != unstable.InlineTable && v.Kind != unstable.Array {
		return
	}
	for it := v.Children(); it.Next(); {
		if n := it.Node(); n.Kind == unstable.KeyValue {
			t.keyValue(p, path, n)
		} else if n.Kind != unstable.Comment {
			t.value(p, path, n)
		}
	}
}

// keyOf returns the dotted key of an expression and its line.
func keyOf(p *unstable.Parser, e *unstable.Node) (path []string, line int) {
	switch e.Kind {
	case unstable.Table, unstable.ArrayTable, unstable.KeyValue:
	default:
		return nil, 0
	}
	for it := e.Key(); it.Next(); {
		if line == 0 {
			line = p.Shape(it.Node().Raw).Start.Line
		}
		path = append(path, string(it.Node().Data))
	}
	return path, line
}
