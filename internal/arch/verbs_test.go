package arch

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A verb is what a person or an agent may do. A function is one that takes what they ask
// for, a type of api whose name says so (see asked), or that calls a change of ledger which
// is done in somebody's name (its parameter is called "by"). Verbs live in control: daemon
// puts things together and lives, catalog lists what there is.
//
// verbless are the packages that may have none.
var verbless = []string{"internal/daemon", "internal/catalog"}

// asked is how the types of api end that say what is asked for.
var asked = []string{"Request", "Change", "Closing", "Order"}

func TestDaemonAndCatalogHaveNoVerbs(t *testing.T) {
	tree := os.DirFS("../..")
	changes := changesByName(t, tree)
	if len(changes) < 20 || !slices.Contains(changes, "CloseGate") {
		t.Fatalf("these are not the changes of ledger: %q", changes)
	}
	for _, v := range verbsIn(t, tree, changes) {
		t.Error(v)
	}
}

func TestAVerbInTheWrongPlaceIsSeen(t *testing.T) {
	for _, c := range []struct{ name, file, src, want string }{
		{"a request", "internal/daemon/x.go", `package daemon; import "custos/internal/api"; func (d desk) close(q api.GateClosing) {}`, "internal/daemon has a verb: close takes api.GateClosing"},
		{"a pointer to one", "internal/catalog/x.go", `package catalog; import "custos/internal/api"; func Add(q *api.GateRequest) {}`, "internal/catalog has a verb: Add takes api.GateRequest"},
		{"a change", "internal/daemon/x.go", `package daemon; import "custos/internal/ledger"; func f() { ledger.CloseGate() }`, "internal/daemon has a verb: it calls ledger.CloseGate"},
		{"a change, handed on", "internal/catalog/x.go", `package catalog; import book "custos/internal/ledger"; var f = book.AddWork`, "internal/catalog has a verb: it calls ledger.AddWork"},
		{"where they belong", "internal/control/x.go", `package control; import "custos/internal/api"; func Add(q api.GateRequest) {}`, ""},
		{"an answer", "internal/daemon/x.go", `package daemon; import "custos/internal/api"; func f(g api.Gate) api.GateRequest { return api.GateRequest{} }`, ""},
	} {
		found := verbsIn(t, fstest.MapFS{c.file: {Data: []byte(c.src)}}, []string{"CloseGate", "AddWork"})
		if c.want == "" && len(found) > 0 || c.want != "" && !slices.Contains(found, c.want+": verbs belong to internal/control") {
			t.Errorf("%s: want %q, found %q", c.name, c.want, found)
		}
	}
}

// changesByName lists the functions of ledger that are done in somebody's name.
func changesByName(t *testing.T, tree fs.FS) (names []string) {
	t.Helper()
	eachFile(t, tree, func(pkg string, f *ast.File, _ []byte) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && pkg == "internal/ledger" && fn.Name.IsExported() && slices.ContainsFunc(fn.Type.Params.List, isBy) {
				names = append(names, fn.Name.Name)
			}
		}
	})
	return names
}

func isBy(p *ast.Field) bool {
	return slices.ContainsFunc(p.Names, func(n *ast.Ident) bool { return n.Name == "by" })
}

func verbsIn(t *testing.T, tree fs.FS, changes []string) (found []string) {
	t.Helper()
	eachFile(t, tree, func(pkg string, f *ast.File, _ []byte) {
		if !slices.Contains(verbless, pkg) {
			return
		}
		say := func(format string, args ...any) {
			found = append(found, pkg+" has a verb: "+fmt.Sprintf(format, args...)+": verbs belong to internal/control")
		}
		names := imports(f)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				for _, p := range fn.Type.Params.List {
					if name := selected(p.Type, names[module+"internal/api"]); name != "" && slices.ContainsFunc(asked, func(end string) bool { return strings.HasSuffix(name, end) }) {
						say("%s takes api.%s", fn.Name.Name, name)
					}
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(ast.Expr); ok {
				if name := selected(x, names[module+"internal/ledger"]); slices.Contains(changes, name) {
					say("it calls ledger.%s", name)
				}
			}
			return true
		})
	})
	return found
}

// selected is the name after the name of a package; "" where an expression is another.
func selected(x ast.Expr, pkg string) string {
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	s, ok := x.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if at, ok := s.X.(*ast.Ident); !ok || at.Name != pkg || pkg == "" {
		return ""
	}
	return s.Sel.Name
}

// Catalog imports a folder of plug-ins only for what it lists: a table (a function whose
// name ends in Makers) leads to it, by the functions that it names.
func TestCatalogKnowsOnlyWhatItLists(t *testing.T) {
	for _, v := range unlisted(t, os.DirFS("../..")) {
		t.Error(v)
	}
}

func TestWhatCatalogDoesNotListIsSeen(t *testing.T) {
	const head = `package catalog; import "custos/internal/observe/entropy"; `
	for _, c := range []struct{ name, src, want string }{
		{"one of those beyond", `package catalog; import _ "custos/internal/observe/extra"`, ""},
		{"listed", head + `func probeMakers() any { return entropy.New }`, ""},
		{"listed by way of a function", head + `func probeMakers() any { return newIt }; func newIt(w *World) { w.make() }; func (w *World) make() { entropy.New() }`, ""},
		{"not listed", head + `func other() any { return entropy.New }`, "internal/catalog imports observe/entropy, which no table of it lists"},
		{"only a type", `package catalog; import stopping "custos/internal/act/stop"; type x struct { a stopping.Options }`, "internal/catalog imports act/stop, which no table of it lists"},
	} {
		found := unlisted(t, fstest.MapFS{"internal/catalog/x.go": {Data: []byte(c.src)}})
		if c.want == "" && len(found) > 0 || c.want != "" && !slices.Contains(found, c.want) {
			t.Errorf("%s: want %q, found %q", c.name, c.want, found)
		}
	}
}

// plugins are the folders of which catalog lists what is in them.
var plugins = []string{"observe/", "act/", "report/", "sys/forge/", "sys/ci/"}

// beyond are those that no table lists, and why catalog knows them.
var beyond = map[string]string{
	"observe/processes": "the table of processes is a client that several probes share",
	"observe/extra":     "one for each [probe.NAME] that a person has written",
	"report/terminal":   "the notifier that is always there",
	"report/spool":      "the folder of replies of section [replies]",
	"report/journal":    "the ops repository of section [journal]",
}

func unlisted(t *testing.T, tree fs.FS) (found []string) {
	t.Helper()
	imported, listed := map[string]bool{}, map[string]bool{}
	leads := map[string][]string{} // from a function, to functions and to folders
	eachFile(t, tree, func(pkg string, f *ast.File, _ []byte) {
		if pkg != "internal/catalog" {
			return
		}
		folders := map[string]string{}
		for imp, name := range imports(f) {
			folder := strings.TrimPrefix(imp, module+"internal/")
			if slices.ContainsFunc(plugins, func(p string) bool { return strings.HasPrefix(folder, p) }) {
				folders[name], imported[folder] = folder, true
			}
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				leads[fn.Name.Name] = append(leads[fn.Name.Name], named(fn.Body, folders)...)
			}
		}
	})
	var follow func(name string)
	follow = func(name string) {
		if !listed[name] {
			listed[name] = true
			for _, to := range leads[name] {
				follow(to)
			}
		}
	}
	for name := range leads {
		if strings.HasSuffix(name, "Makers") {
			follow(name)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(imported)) {
		if !listed[folder] && beyond[folder] == "" {
			found = append(found, "internal/catalog imports "+folder+", which no table of it lists")
		}
	}
	return found
}

// named lists the names within a function: of functions, and of folders.
func named(body ast.Node, folders map[string]string) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if folder := folders[id.Name]; folder != "" {
				names = append(names, folder)
			}
			names = append(names, id.Name)
		}
		return true
	})
	return names
}
