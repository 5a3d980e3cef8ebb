package plugin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v3"

	"custos/internal/brokentoml"
)

// tree is front matter as either language has it: texts, numbers, truth values,
// lists and tables, with the line of each key.
type tree struct {
	doc   map[string]any
	lines map[string]int
}

// mistake is what is wrong with the language itself.
type mistake struct {
	line int // of the file
	text string
}

func (m *mistake) Error() string { return m.text }

// before is how many lines of the file stand before the front matter.
const before = 1

func read(f front) (tree, error) {
	if f.mark == markTOML {
		return readTOML(f.text)
	}
	return readYAML(f.text)
}

func readTOML(text string) (tree, error) {
	t := tree{doc: map[string]any{}, lines: map[string]int{}}
	if err := toml.Unmarshal([]byte(text), &t.doc); err != nil {
		m := &mistake{line: before + 1, text: brokentoml.Plain(err)}
		var d *toml.DecodeError
		if errors.As(err, &d) {
			row, _ := d.Position()
			m.line = before + row
		}
		return t, m
	}
	t.notePlaces(text)
	return t, nil
}

// notePlaces walks a text that is known to be TOML.
func (t *tree) notePlaces(text string) {
	parser := unstable.Parser{}
	parser.Reset([]byte(text))
	var in []string
	for parser.NextExpression() {
		node := parser.Expression()
		if node.Kind == unstable.Comment {
			continue
		}
		path, line := keyOf(&parser, node)
		if node.Kind == unstable.KeyValue {
			t.note(append(append([]string{}, in...), path...), line)
			continue
		}
		in = path
		t.note(in, line)
	}
}

func keyOf(p *unstable.Parser, node *unstable.Node) (path []string, line int) {
	for it := node.Key(); it.Next(); {
		if line == 0 {
			line = p.Shape(it.Node().Raw).Start.Line
		}
		path = append(path, string(it.Node().Data))
	}
	return path, line
}

// named is how deep keys have lines of their own: nothing that is read lies deeper.
const named = 2

// note keeps the first line of a key, and of the tables it is in.
func (t *tree) note(path []string, line int) {
	for n := 1; n <= min(len(path), named); n++ {
		key := strings.Join(path[:n], ".")
		if _, known := t.lines[key]; !known {
			t.lines[key] = before + line
		}
	}
}

func readYAML(text string) (tree, error) {
	t := tree{doc: map[string]any{}, lines: map[string]int{}}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		line, says := plainYAML(err, text)
		return t, &mistake{line: before + line, text: "cannot read YAML: " + says}
	}
	if len(root.Content) == 0 {
		return t, nil // nothing but comments
	}
	doc, err := t.value(root.Content[0], nil)
	if err != nil {
		return t, err
	}
	table, ok := doc.(map[string]any)
	if !ok {
		return t, &mistake{line: before + 1, text: "cannot read YAML: want keys and values, as in name: backup"}
	}
	t.doc = table
	return t, nil
}

// deepest is how far tables and lists may be in each other.
const deepest = 16

// value turns one node of YAML into a plain value.
func (t *tree) value(n *yaml.Node, path []string) (any, error) {
	if len(path) > deepest {
		return nil, &mistake{before + n.Line, "cannot read YAML: it is nested too deeply"}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return t.mapping(n, path)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			v, err := t.value(item, append(path[:len(path):len(path)], strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.AliasNode:
		return nil, &mistake{before + n.Line, fmt.Sprintf("cannot read YAML: *%s is an alias; write its value", n.Value)}
	}
	return scalar(n), nil
}

func (t *tree) mapping(n *yaml.Node, path []string) (any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if _, twice := out[k.Value]; twice || k.Kind != yaml.ScalarNode {
			return nil, &mistake{before + k.Line, fmt.Sprintf("cannot read YAML: key %q stands here twice, or is no word", k.Value)}
		}
		at := append(path[:len(path):len(path)], k.Value)
		t.note(at, k.Line)
		v, err := t.value(n.Content[i+1], at)
		if err != nil {
			return nil, err
		}
		out[k.Value] = v
	}
	return out, nil
}

// scalar is a truth value, a whole number, or a text; nil for what has no value.
func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return i
		}
	}
	return n.Value
}
