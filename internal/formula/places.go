package formula

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tableDepth is how deep keys have places of their own; nothing that is acted
// on lies deeper.
const tableDepth = 32

// table says at which offset each key of a TOML text stands first, and where
// the text of its value begins. A path has the numbers of array elements as "#0".
type table struct {
	text   []byte
	keys   map[string]int
	values map[string]int
	arrays map[string]int // how many elements an array of tables has so far
	parser unstable.Parser
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

func element(n int) string { return fmt.Sprintf("#%d", n) }

// tableOf walks a text that is known to be TOML.
func tableOf(text []byte) *table {
	t := &table{text: text, keys: map[string]int{}, values: map[string]int{}, arrays: map[string]int{}}
	t.parser.Reset(text)
	var in []string
	for t.parser.NextExpression() {
		e := t.parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			in = t.header(e)
		case unstable.KeyValue:
			t.keyValue(in, e)
		}
	}
	return t
}

// header returns the path of a [table] or [[table]].
func (t *table) header(e *unstable.Node) []string {
	keys, at := keyOf(e)
	path := t.under(nil, keys[:len(keys)-1])
	path = append(path, keys[len(keys)-1])
	if e.Kind == unstable.ArrayTable {
		t.put(path, at)
		n := t.arrays[pathKey(path)]
		t.arrays[pathKey(path)] = n + 1
		path = append(path, element(n))
	} else if n := t.arrays[pathKey(path)]; n > 0 {
		path = append(path, element(n-1))
	}
	t.put(path, at)
	return path
}

// under goes down keys; an array of tables means its last element.
func (t *table) under(path, keys []string) []string {
	path = slices.Clone(path)
	for _, k := range keys {
		path = append(path, k)
		if n := t.arrays[pathKey(path)]; n > 0 {
			path = append(path, element(n-1))
		}
	}
	return path
}

func (t *table) keyValue(in []string, e *unstable.Node) {
	keys, at := keyOf(e)
	path := append(slices.Clone(in), keys...)
	if len(path) > tableDepth {
		return
	}
	for n := len(in) + 1; n <= len(path); n++ {
		t.put(path[:n], at)
	}
	t.value(path, e.Value())
}

func (t *table) value(path []string, v *unstable.Node) {
	if len(path) > tableDepth {
		return
	}
	switch v.Kind {
	case unstable.String:
		t.values[pathKey(path)] = t.textStart(int(v.Raw.Offset))
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			if n := it.Node(); n.Kind == unstable.KeyValue {
				t.keyValue(path, n)
			}
		}
	case unstable.Array:
		t.array(path, v)
	}
}

func (t *table) array(path []string, v *unstable.Node) {
	i := 0
	for it := v.Children(); it.Next(); {
		n := it.Node()
		if n.Kind == unstable.Comment {
			continue
		}
		if n.Kind == unstable.InlineTable {
			at := append(slices.Clone(path), element(i))
			t.put(at, int(n.Raw.Offset))
			t.value(at, n)
		}
		i++
	}
}

func (t *table) put(path []string, at int) {
	if _, ok := t.keys[pathKey(path)]; !ok {
		t.keys[pathKey(path)] = at
	}
}

// textStart skips the quotes of a string, and the newline that does not belong
// to it.
func (t *table) textStart(at int) int {
	b := t.text[at:]
	for _, open := range []string{"\"\"\"\r\n", "\"\"\"\n", "'''\r\n", "'''\n", `"""`, "'''"} {
		if bytes.HasPrefix(b, []byte(open)) {
			return at + len(open)
		}
	}
	return at + 1
}

// keyOf returns the dotted key of an expression and its offset.
func keyOf(e *unstable.Node) (path []string, at int) {
	at = -1
	for it := e.Key(); it.Next(); {
		if at < 0 {
			at = int(it.Node().Raw.Offset)
		}
		path = append(path, string(it.Node().Data))
	}
	return path, at
}

// lines turns offsets into lines and columns.
type lines []int // where each line begins

func linesOf(text []byte) lines {
	l := lines{0}
	for i, c := range text {
		if c == '\n' {
			l = append(l, i+1)
		}
	}
	return l
}

func (l lines) of(offset int) (line, column int) {
	n, found := slices.BinarySearch(l, offset)
	if !found {
		n--
	}
	return n + 1, offset - l[n] + 1
}
