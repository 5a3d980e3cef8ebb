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

// A record noun lives in a package that names one of its types or functions of fleet or
// api: fleet.Gate, api.GateRequest, fleet.GatePassed. These two, which declare them, count.
//
// mostPackages is in how many each noun may live: what it is today, where that is more
// than the six that are wanted. A number here only goes down.
var mostPackages = map[string]int{
	"Gate":     18,
	"Convoy":   12,
	"Mail":     16,
	"Work":     18,
	"Run":      22,
	"Schedule": 9,
	"Silence":  9,
}

// faces show the API's words, and know nothing behind it: one face more does not spread
// a noun. The command line, which is one too, is counted.
var faces = []string{"internal/mcp", "internal/top", "internal/web"}

func TestRecordNounsLiveInFewPackages(t *testing.T) {
	for _, v := range crowded(homes(t, os.DirFS("../.."))) {
		t.Error(v)
	}
}

// One package more than a noun may live in is seen, by a type, a function or a constant of
// it, whatever the package is imported as; a word that only begins alike is another.
func TestANounInOnePackageMoreIsSeen(t *testing.T) {
	now := homes(t, os.DirFS("../.."))
	for noun, most := range mostPackages {
		if len(now[noun]) == 0 {
			t.Errorf("no package knows a %s: is that still its word?", noun)
		}
		planted := fstest.MapFS{}
		for i := range most + 1 {
			planted[fmt.Sprintf("internal/other%d/x.go", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("package other%d; import f \"custos/internal/fleet\"; var _ f.%sX", i, noun))}
		}
		if found := crowded(homes(t, planted)); len(found) != 1 || !strings.Contains(found[0], noun+" lives in ") {
			t.Errorf("%s in %d packages: %q", noun, most+1, found)
		}
	}
	alike := fstest.MapFS{"internal/x/x.go": {Data: []byte(`package x; import "custos/internal/fleet"; var _ fleet.Gateway; var _ = strings.Gate`)}}
	if got := homes(t, alike); len(got) != 0 {
		t.Errorf("taken for a noun: %v", got)
	}
}

func crowded(homes map[string][]string) (found []string) {
	for _, noun := range slices.Sorted(maps.Keys(homes)) {
		if n := len(homes[noun]); n > mostPackages[noun] {
			found = append(found, fmt.Sprintf("a %s lives in %d packages, and may live in %d: %s", noun, n, mostPackages[noun], strings.Join(homes[noun], " ")))
		}
	}
	return found
}

// homes lists the packages in which each noun lives, sorted.
func homes(t *testing.T, tree fs.FS) map[string][]string {
	t.Helper()
	seen := map[string]map[string]bool{}
	live := func(name, pkg string) {
		for noun := range mostPackages {
			if isOf(noun, name) {
				if seen[noun] == nil {
					seen[noun] = map[string]bool{}
				}
				seen[noun][pkg] = true
			}
		}
	}
	eachFile(t, tree, func(pkg string, f *ast.File, _ []byte) {
		if slices.Contains(faces, pkg) {
			return
		}
		if pkg == "internal/fleet" || pkg == "internal/api" {
			for name := range f.Scope.Objects {
				live(name, pkg)
			}
		}
		names := imports(f)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && (x.Name == names[module+"internal/fleet"] || x.Name == names[module+"internal/api"]) {
					live(s.Sel.Name, pkg)
				}
			}
			return true
		})
	})
	out := map[string][]string{}
	for noun, pkgs := range seen {
		out[noun] = slices.Sorted(maps.Keys(pkgs))
	}
	return out
}

// isOf says whether a name begins with the word of a noun: GateFacts and Gates do, Gateway
// does not.
func isOf(noun, name string) bool {
	rest, ok := strings.CutPrefix(name, noun)
	rest = strings.TrimPrefix(rest, "s")
	return ok && (rest == "" || rest[0] >= 'A' && rest[0] <= 'Z')
}
