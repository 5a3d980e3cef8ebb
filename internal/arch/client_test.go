package arch

import (
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// doers are packages, with all below them, that look at a machine, act on it, or keep records of it.
var doers = []string{"act", "observe", "session", "daemon", "catalog", "loop", "store", "onewriter", "upgrade", "sys/proc", "sys/git", "sys/presence", "sys/shim"}

// TestAClientLooksAtNothingAndDoesNothing: where Custos is a client, of other machines alone, there
// is nothing in it that could look at its own machine or act on it. On Linux there is, which shows
// that it would be seen.
func TestAClientLooksAtNothingAndDoesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		os, tag string
		client  bool
	}{
		"darwin": {"darwin", "", true}, "freebsd": {"freebsd", "", true}, "linux as a client": {"linux", "custos_client", true}, "linux": {"linux", "", false},
	} {
		ctx := build.Default
		ctx.GOOS, ctx.BuildTags = c.os, strings.Fields(c.tag)
		all := map[string]bool{}
		for _, program := range []string{"cmd/custos", "cmd/custos-hook"} {
			within(t, ctx, program, all)
		}
		for _, doer := range doers {
			is := slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(pkg string) bool {
				return pkg == "internal/"+doer || strings.HasPrefix(pkg, "internal/"+doer+"/")
			})
			if is == c.client {
				t.Errorf("%s: that %s is in it is %t", name, doer, is)
			}
		}
	}
}

// within gathers the packages of ours that a package is made of on one system.
func within(t *testing.T, ctx build.Context, pkg string, all map[string]bool) {
	t.Helper()
	if all[pkg] {
		return
	}
	all[pkg] = true
	dir := "../../" + pkg
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if is, err := ctx.MatchFile(dir, e.Name()); err != nil || !is || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for path := range imports(f) {
			if inside, ours := strings.CutPrefix(path, module); ours {
				within(t, ctx, inside, all)
			}
		}
	}
}
