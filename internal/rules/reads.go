package rules

import (
	"sort"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"custos/internal/fleet"
)

// readBy lists the variables an expression reads, in the order of vars.
func readBy(a *cel.Ast, vars []variable) []variable {
	used := map[string]bool{}
	ast.PreOrderVisit(a.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			used[e.AsIdent()] = true
		}
	}))
	var out []variable
	for _, v := range vars {
		if used[v.name] {
			out = append(out, v)
		}
	}
	return out
}

// partsOf returns the parts that any of the variables come from, sorted.
func partsOf(over fleet.Kind, vars []variable) []fleet.PartName {
	parts := map[fleet.PartName]bool{partOf(over): true}
	for _, v := range vars {
		parts[v.part] = true
	}
	delete(parts, "")
	out := make([]fleet.PartName, 0, len(parts))
	for p := range parts {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// leaf is one value that a rule reads, to be shown as evidence.
type leaf struct {
	path string
	unit unit
	expr *expression
}

// mostLeaves bounds the evidence of one rule.
const mostLeaves = 12

// leavesOf finds the values an expression reads: chains of names that start at
// a variable and end at a plain value, in the order they are written.
func (c *compiler) leavesOf(e *expression, over fleet.Kind) ([]leaf, error) {
	var out []leaf
	for _, path := range paths(e.ast, e.uses) {
		if len(out) == mostLeaves {
			break
		}
		x, err := c.compileLeaf(path, over)
		if err != nil {
			return nil, err
		}
		if x != nil {
			out = append(out, leaf{path, c.unitOf(path, e.uses), x})
		}
	}
	return out, nil
}

func (c *compiler) compileLeaf(path string, over fleet.Kind) (*expression, error) {
	env, err := c.env(over)
	if err != nil {
		return nil, err
	}
	a, issues := env.Compile(path)
	if issues.Err() != nil {
		return nil, c.explain(issues, visible(over))
	}
	if a.OutputType().Kind() == types.StructKind || isStructList(a.OutputType()) {
		return nil, nil
	}
	p, err := env.Program(a)
	if err != nil {
		return nil, err
	}
	return &expression{ast: a, program: p}, nil
}

func isStructList(t *types.Type) bool {
	return t.Kind() == types.ListKind && t.Parameters()[0].Kind() == types.StructKind
}

// unitOf finds the field at the end of a path.
func (c *compiler) unitOf(path string, vars []variable) unit {
	steps := strings.Split(path, ".")
	var at *structure
	for _, v := range vars {
		if v.name == steps[0] && !v.list {
			at = c.provider.structs[typeName(v.typ)]
		}
	}
	for i, step := range steps[1:] {
		if at == nil || at.fields[step] == nil {
			return plain
		}
		if i == len(steps)-2 {
			return at.fields[step].unit
		}
		at = c.provider.structs[at.fields[step].typ.TypeName()]
	}
	return plain
}

// paths lists the longest chains of names that start at one of the variables,
// each once.
func paths(a *cel.Ast, vars []variable) []string {
	var out []string
	seen := map[string]bool{}
	inner := map[int64]bool{} // selects that are part of a longer chain
	ast.PreOrderVisit(a.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.SelectKind {
			inner[e.AsSelect().Operand().ID()] = true
		}
		path, ok := chain(e)
		root, _, _ := strings.Cut(path, ".")
		if !ok || inner[e.ID()] || seen[path] || !declares(vars, root) {
			return
		}
		seen[path] = true
		out = append(out, path)
	}))
	return out
}

func chain(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), true
	case ast.SelectKind:
		head, ok := chain(e.AsSelect().Operand())
		return head + "." + e.AsSelect().FieldName(), ok
	}
	return "", false
}
