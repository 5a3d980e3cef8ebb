package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "custos/"

func TestAtlas(t *testing.T) {
	for _, v := range violations(t, os.DirFS("../..")) {
		t.Error(v)
	}
}

// TestAtlasSeesViolations plants one violation of each kind and expects it to
// be named: a check that cannot fail is no check.
func TestAtlasSeesViolations(t *testing.T) {
	for _, c := range []struct{ name, file, src, want string }{
		{"arrow", "internal/decide/x.go", `package decide; import _ "custos/internal/act"`, "internal/decide may not import internal/act"},
		{"arrow between stages", "internal/act/stop/x.go", `package stop; import _ "custos/internal/observe"`, "internal/act/stop may not import internal/observe"},
		{"mover knows mover", "internal/decide/follow/mail/x.go", `package mail; import _ "custos/internal/decide/follow/registry"`, "internal/decide/follow/mail may not import internal/decide/follow/registry"},
		{"ledger moves", "internal/ledger/x.go", `package ledger; import _ "custos/internal/decide/follow/registry"`, "internal/ledger may not import internal/decide/follow/registry"},
		{"clock", "internal/assess/x.go", `package assess; import "time"; var _ = time.Now`, "internal/assess is pure and may not call time.Now"},
		{"renamed clock", "internal/assess/x.go", `package assess; import clock "time"; func f() { clock.Sleep(1) }`, "internal/assess is pure and may not call time.Sleep"},
		{"world", "internal/rules/x.go", `package rules; import _ "os"`, "internal/rules is pure and may not import os"},
		{"the daemon reads no formulas", "internal/daemon/x.go", `package daemon; import _ "custos/internal/formula"`, "internal/daemon may not import internal/formula"},
		{"HTTP only carries", "internal/server/x.go", `package server; import _ "custos/internal/library"`, "internal/server may not import internal/library"},
		{"a verb knows no carrier", "internal/control/x.go", `package control; import _ "net/http"`, "internal/control may not import net/http"},
		{"what is read is not run", "internal/library/x.go", `package library; import _ "custos/internal/store"`, "internal/library may not import internal/store"},
		{"a client that catalog does not list", "internal/catalog/x.go", `package catalog; import _ "custos/internal/sys/presence"`, "internal/catalog may not import internal/sys/presence"},
		{"unknown package", "internal/util/x.go", `package util`, "internal/util is not on the atlas"},
		{"unknown command", "cmd/other/x.go", `package main`, "cmd/other is not on the atlas"},
		{"probe with a writer", "internal/observe/git/x.go", `package git; import "custos/internal/sys/git"; var _ git.Writer`, "internal/observe/git is a probe and may not name git.Writer"},
		{"size", "internal/act/stop/x.go", "package stop\n" + strings.Repeat("var _ int\n", mostLines), "internal/act/stop has 5001 lines of code, and may have 5000"},
		{"size of the large", "internal/cli/x.go", "package cli\n" + strings.Repeat("var _ int\n", large["internal/cli"]), "internal/cli has"},
		{"init", "internal/act/stop/x.go", `package stop; func init() {}`, "internal/act/stop may not have an init function"},
		{"what may be a pipe is waited for", "internal/act/spawn/x.go", `package spawn; import "os"; func f(p string) { os.ReadFile(p) }`, "internal/act/spawn opens what may be a pipe or a link, and may not call os.ReadFile"},
		{"what may be a link is written through", "cmd/custos-shim/x.go", `package main; import fs "os"; func f(p string) { fs.WriteFile(p+"/proc/", nil, 0) }`, "cmd/custos-shim opens what may be a pipe or a link, and may not call os.WriteFile"},
		{"a turn of no plan", "internal/daemon/x.go", `package daemon; import "custos/internal/fleet"; var _ = fleet.Turn{}`, "internal/daemon may not make a Turn but by Plan.Turn"},
		{"a turn beside the plan", "internal/loop/x.go", `package loop; import words "custos/internal/fleet"; var _ = new(words.Turn)`, "internal/loop may not make a Turn but by Plan.Turn"},
		{"a turn made elsewhere in fleet", "internal/fleet/x.go", `package fleet; func other() any { return Turn{} }`, "internal/fleet may not make a Turn but by Plan.Turn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := violations(t, fstest.MapFS{c.file: {Data: []byte(c.src)}})
			if !slices.ContainsFunc(found, func(v string) bool { return strings.Contains(v, c.want) }) {
				t.Errorf("planted %s, want %q, found %q", c.src, c.want, found)
			}
		})
	}
}

// TestAtlasHasNoDeadRows keeps the map from naming places that are not there.
func TestAtlasHasNoDeadRows(t *testing.T) {
	for _, r := range atlas() {
		dir := strings.TrimSuffix(r.pkg, "/*")
		if _, err := os.Stat("../../" + dir); err != nil {
			t.Errorf("the atlas names %s, which does not exist", r.pkg)
		}
		if r.why == "" {
			t.Errorf("the atlas does not say why for %s", r.pkg)
		}
	}
}

func violations(t *testing.T, tree fs.FS) (found []string) {
	t.Helper()
	lines := map[string]int{}
	eachFile(t, tree, func(pkg string, f *ast.File, src []byte) {
		found = append(found, check(pkg, f)...)
		lines[pkg] += linesOf(src)
	})
	return append(found, tooLarge(lines)...)
}

// eachFile reads all code of ours but tests.
func eachFile(t *testing.T, tree fs.FS, see func(pkg string, f *ast.File, src []byte)) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return err
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err == nil {
			see(path.Dir(name), f, src)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func check(pkg string, f *ast.File) (found []string) {
	r, ok := lookup(pkg)
	if !ok {
		return []string{pkg + " is not on the atlas: see internal/arch"}
	}
	names := imports(f)
	for imp := range names {
		if inside, ours := strings.CutPrefix(imp, module+"internal/"); ours && !allowed(r.may, inside) {
			found = append(found, fmt.Sprintf("%s may not import internal/%s (%s)", pkg, inside, r.why))
		}
		if r.pure && slices.Contains(worldly, imp) {
			found = append(found, pkg+" is pure and may not import "+imp)
		}
		if slices.Contains(strings.Fields(r.not), imp) {
			found = append(found, fmt.Sprintf("%s may not import %s (%s)", pkg, imp, r.why))
		}
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			found = append(found, pkg+" may not have an init function")
		}
	}
	return slices.Concat(found, uses(pkg, r, f, names), turns(pkg, f, names), opens(pkg, f, names))
}

// uses looks for the names a package may not even mention.
func uses(pkg string, r row, f *ast.File, names map[string]string) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		if r.pure && x.Name == names["time"] && slices.Contains(clocks, s.Sel.Name) {
			found = append(found, pkg+" is pure and may not call time."+s.Sel.Name)
		}
		if strings.HasPrefix(pkg, "internal/observe/") && slices.Contains(writers[x.Name], s.Sel.Name) {
			found = append(found, fmt.Sprintf("%s is a probe and may not name %s.%s", pkg, x.Name, s.Sel.Name))
		}
		return true
	})
	return found
}

// imports maps each import path to the name it is used by.
func imports(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, imp := range f.Imports {
		p := strings.Trim(imp.Path.Value, `"`)
		names[p] = path.Base(p)
		if imp.Name != nil {
			names[p] = imp.Name.Name
		}
	}
	return names
}

func lookup(pkg string) (row, bool) {
	for _, want := range []string{pkg, path.Dir(pkg) + "/*"} {
		for _, r := range atlas() {
			if r.pkg == want {
				return r, true
			}
		}
	}
	return row{}, false
}

func allowed(may, pkg string) bool {
	for _, m := range strings.Fields(may) {
		if m == pkg || strings.HasSuffix(m, "/*") && path.Dir(pkg)+"/*" == m {
			return true
		}
	}
	return false
}
