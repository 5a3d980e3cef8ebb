package arch

import "go/ast"

// turns finds where a turn is made other than of a plan: what is committed was planned.
func turns(pkg string, f *ast.File, names map[string]string) (found []string) {
	fleet := names[module+"internal/fleet"]
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && pkg == "internal/fleet" && fn.Name.Name == "Turn" && fn.Recv != nil {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			var made ast.Expr
			switch n := n.(type) {
			case *ast.CompositeLit:
				made = n.Type
			case *ast.ValueSpec:
				made = n.Type
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "new" && len(n.Args) == 1 {
					made = n.Args[0]
				}
			}
			if isTurn(pkg, made, fleet) {
				found = append(found, pkg+" may not make a Turn but by Plan.Turn")
			}
			return true
		})
	}
	return found
}

func isTurn(pkg string, made ast.Expr, fleet string) bool {
	switch t := made.(type) {
	case *ast.Ident:
		return pkg == "internal/fleet" && t.Name == "Turn"
	case *ast.SelectorExpr:
		x, ok := t.X.(*ast.Ident)
		return ok && fleet != "" && x.Name == fleet && t.Sel.Name == "Turn"
	}
	return false
}
