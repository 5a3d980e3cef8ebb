package forgetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/scanner"
)

// This is as much of GraphQL (spec.graphql.org, October 2021) as a request to GitHub needs: operations
// with variables, arguments, aliases, fragments, and no directives, block strings or subscriptions.

// selection is one field that is asked for, or a fragment: what is asked for of one type.
type selection struct {
	name, alias string
	on          string // of a fragment: the type
	args        map[string]any
	sub         []selection
	line, col   int
}

// operation is one request.
type operation struct {
	kind, name string // query or mutation
	vars       []variable
	sub        []selection
}

type variable struct {
	name     string
	required bool
	usual    any
}

// ref is a variable where a value stands.
type ref string

// document is what was sent.
type document struct {
	operations []operation
	fragments  map[string]selection
}

// graphParser goes through a document. A fault ends it by a panic that parseGraph catches.
type graphParser struct {
	s     scanner.Scanner
	tok   rune
	depth int
}

type graphFault string

// mostDeep is how deep a request may go. GitHub has no such number; this one keeps the stack small.
const mostDeep = 30

// parseGraph reads a document.
func parseGraph(text string) (d document, err error) {
	p := &graphParser{}
	p.s.Init(strings.NewReader(text))
	p.s.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanStrings
	p.s.Whitespace |= 1 << ','
	p.s.Error = func(*scanner.Scanner, string) { panic(graphFault("illegal token")) }
	defer func() {
		if f, is := recover().(graphFault); is {
			d, err = document{}, errors.New(string(f))
		}
	}()
	p.next()
	return p.document(), nil
}

func (p *graphParser) next() {
	p.tok = p.s.Scan()
	for p.tok == '#' {
		for c := p.s.Next(); c != '\n' && c != scanner.EOF; c = p.s.Next() {
		}
		p.tok = p.s.Scan()
	}
}

func (p *graphParser) fail() {
	panic(graphFault(fmt.Sprintf("Parse error on %q at [%d, %d]", p.s.TokenText(), p.s.Line, p.s.Column)))
}

func (p *graphParser) is(tok rune) bool {
	if p.tok != tok {
		return false
	}
	p.next()
	return true
}

func (p *graphParser) need(tok rune) {
	if !p.is(tok) {
		p.fail()
	}
}

func (p *graphParser) ident() string {
	text := p.s.TokenText()
	p.need(scanner.Ident)
	return text
}

func (p *graphParser) spread() bool {
	if !p.is('.') {
		return false
	}
	p.need('.')
	p.need('.')
	return true
}

func (p *graphParser) document() document {
	d := document{fragments: map[string]selection{}}
	for p.tok != scanner.EOF {
		if p.tok == '{' {
			d.operations = append(d.operations, operation{kind: "query", sub: p.selections()})
			continue
		}
		switch kind := p.ident(); kind {
		case "query", "mutation":
			d.operations = append(d.operations, p.operation(kind))
		case "fragment":
			name := p.ident()
			if p.ident() != "on" {
				p.fail()
			}
			d.fragments[name] = selection{on: p.ident(), sub: p.selections()}
		default:
			p.fail()
		}
	}
	return d
}

func (p *graphParser) operation(kind string) operation {
	o := operation{kind: kind}
	if p.tok == scanner.Ident {
		o.name = p.ident()
	}
	if p.is('(') {
		for !p.is(')') {
			o.vars = append(o.vars, p.variable())
		}
	}
	o.sub = p.selections()
	return o
}

func (p *graphParser) variable() variable {
	p.need('$')
	v := variable{name: p.ident()}
	p.need(':')
	v.required = p.typed()
	if p.is('=') {
		v.usual, v.required = p.value(), false
	}
	return v
}

// typed reads a type, and says whether it must be there.
func (p *graphParser) typed() bool {
	p.deeper()
	defer p.higher()
	if p.is('[') {
		p.typed()
		p.need(']')
	} else {
		p.ident()
	}
	return p.is('!')
}

func (p *graphParser) deeper() {
	if p.depth++; p.depth > mostDeep {
		p.fail()
	}
}

func (p *graphParser) higher() { p.depth-- }

func (p *graphParser) selections() (out []selection) {
	p.deeper()
	defer p.higher()
	p.need('{')
	for !p.is('}') {
		out = append(out, p.selection())
	}
	if out == nil {
		p.fail()
	}
	return out
}

func (p *graphParser) selection() selection {
	s := selection{line: p.s.Line, col: p.s.Column}
	if p.spread() {
		if s.name = p.ident(); s.name == "on" && p.tok == scanner.Ident {
			s.name, s.on = "", p.ident()
			s.sub = p.selections()
			return s
		}
		s.alias = "..." // the fragment of that name
		return s
	}
	s.name = p.ident()
	s.alias = s.name
	if p.is(':') {
		s.name = p.ident()
	}
	if p.is('(') {
		s.args = p.object(')')
	}
	if p.tok == '{' {
		s.sub = p.selections()
	}
	return s
}

func (p *graphParser) object(end rune) map[string]any {
	out := map[string]any{}
	for !p.is(end) {
		name := p.ident()
		p.need(':')
		out[name] = p.value()
	}
	return out
}

func (p *graphParser) value() any {
	p.deeper()
	defer p.higher()
	text := p.s.TokenText()
	switch {
	case p.is('$'):
		return ref(p.ident())
	case p.is('{'):
		return p.object('}')
	case p.is('['):
		list := []any{}
		for !p.is(']') {
			list = append(list, p.value())
		}
		return list
	case p.is('-'):
		text = "-" + p.s.TokenText()
		p.next()
		return scalar(text)
	case p.is(scanner.String):
		text, err := strconv.Unquote(text)
		if err != nil {
			p.fail()
		}
		return text
	case p.is(scanner.Int), p.is(scanner.Float), p.is(scanner.Ident):
		return scalar(text)
	}
	p.fail()
	return nil
}

// scalar is a number, a truth value, null, or the name of a value of an enum.
func scalar(text string) any {
	switch text {
	case "true", "false":
		return text == "true"
	case "null":
		return nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}

// chosen is the operation that a request means.
func (d document) chosen(name string) (operation, error) {
	i := slices.IndexFunc(d.operations, func(o operation) bool { return name == "" || o.name == name })
	switch {
	case i < 0:
		return operation{}, errors.New("No operation named " + strconv.Quote(name))
	case name == "" && len(d.operations) > 1:
		return operation{}, errors.New("An operation name is required")
	}
	return d.operations[i], nil
}

// filled puts the values of variables where they stand.
func filled(v any, vars map[string]any) any {
	switch v := v.(type) {
	case ref:
		return vars[string(v)]
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			if r, is := x.(ref); is {
				if value, there := vars[string(r)]; there {
					out[name] = value
				}
				continue
			}
			out[name] = filled(x, vars)
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, filled(x, vars))
		}
		return out
	}
	return v
}

// graphError is one error of an answer.
func graphError(kind, message string, s selection) map[string]any {
	out := map[string]any{"message": message, "path": []any{s.alias}, "locations": []any{map[string]any{"line": s.line, "column": s.col}}}
	if kind != "" {
		out["type"] = kind
	}
	return out
}

// object is what fields may be selected of. A func is called when its field is, with its arguments.
type object map[string]any

// pickOf takes what was asked for out of an object, after the request was found to be right.
func (d document) pickOf(o object, sub []selection, vars map[string]any) map[string]any {
	out := map[string]any{}
	for _, s := range sub {
		switch {
		case s.on != "" || s.alias == "...":
			f := d.fragment(s)
			if f.on == o["__typename"] || f.on == "Node" || f.on == "Actor" {
				for name, v := range d.pickOf(o, f.sub, vars) {
					out[name] = v
				}
			}
		default:
			out[s.alias] = d.value(o[s.name], s, vars)
		}
	}
	return out
}

func (d document) fragment(s selection) selection {
	if s.on != "" {
		return s
	}
	return d.fragments[s.name]
}

func (d document) value(v any, s selection, vars map[string]any) any {
	switch v := v.(type) {
	case func(args map[string]any) any:
		args, _ := filled(s.args, vars).(map[string]any)
		return d.value(v(args), s, vars)
	case object:
		if v == nil {
			return nil
		}
		return d.pickOf(v, s.sub, vars)
	case []object:
		out := []any{}
		for _, o := range v {
			out = append(out, d.pickOf(o, s.sub, vars))
		}
		return out
	}
	return v
}

// check holds what is asked for against the types; every fault is told of, and then nothing is done.
// A fragment that holds itself ends at mostDeep.
func (d document) check(types map[string]map[string]string, kind string, sub []selection, depth int) (faults []any) {
	for _, s := range sub {
		if s.on != "" || s.alias == "..." {
			f := d.fragment(s)
			if f.on == "" || types[f.on] == nil || depth > mostDeep {
				faults = append(faults, graphError("", "No such type "+f.on+", so it can't be a fragment condition", s))
				continue
			}
			faults = append(faults, d.check(types, f.on, f.sub, depth+1)...)
			continue
		}
		of, known := types[kind][s.name]
		switch {
		case s.name == "__typename":
		case !known:
			faults = append(faults, graphError("", fmt.Sprintf("Field '%s' doesn't exist on type '%s'", s.name, kind), s))
		case of == "" && s.sub != nil:
			faults = append(faults, graphError("", fmt.Sprintf("Selections can't be made on scalars (field '%s' returns a scalar)", s.name), s))
		case of != "" && s.sub == nil:
			faults = append(faults, graphError("", fmt.Sprintf("Field must have selections (field '%s' returns %s but has no selections)", s.name, of), s))
		default:
			faults = append(faults, d.check(types, of, s.sub, depth+1)...)
		}
	}
	return faults
}
