package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// acting are the packages that open what an agent may have exchanged for a pipe or a link.
var acting = []string{"internal/act", "internal/session", "internal/hookwire", "internal/sys/shim", "internal/sys/legio", "cmd/custos-shim"}

// waits are the functions of os that wait for a pipe and follow a link. Whoever says how a
// file is opened calls os.OpenFile.
var waits = []string{"Open", "ReadFile", "WriteFile", "Create"}

// opens looks for files that are opened without saying how, but for those of the kernel.
func opens(pkg string, f *ast.File, names map[string]string) (found []string) {
	acts := func(a string) bool { return pkg == a || strings.HasPrefix(pkg, a+"/") }
	if strings.HasSuffix(pkg, "test") || !slices.ContainsFunc(acting, acts) {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		for _, name := range waits {
			if isName(call.Fun, names["os"], name) && !isKernels(call.Args[0], names["os"]) {
				found = append(found, fmt.Sprintf("%s opens what may be a pipe or a link, and may not call os.%s: see internal/sys/files", pkg, name))
			}
		}
		return true
	})
	return found
}

// isKernels says whether a path is one that no agent writes to.
func isKernels(path ast.Expr, os string) bool {
	if sum, ok := path.(*ast.BinaryExpr); ok {
		return isKernels(sum.X, os)
	}
	lit, ok := path.(*ast.BasicLit)
	return ok && strings.HasPrefix(lit.Value, `"/proc/`) || isName(path, os, "DevNull")
}

// isName says whether an expression is a name of a package.
func isName(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && s.Sel.Name == name
}
