package arch

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"custos/docs"
)

// checkout is a page of this tree: an installed user does not have it.
var checkout = regexp.MustCompile(`(?:^|[^a-z/.-])docs/(?:runbooks/)?[a-z-]+\.md`)

// Whatever the programs may say points to a command: no text in the code names a page of the
// tree, no file that is embedded in them does, and no output that a test holds.
func TestNothingSaidPointsIntoTheCheckout(t *testing.T) {
	tree := os.DirFS("../..")
	eachFile(t, tree, func(pkg string, f *ast.File, _ []byte) {
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && checkout.MatchString(l.Value) {
				t.Errorf("%s says %q", pkg, checkout.FindString(l.Value))
			}
			return true
		})
	})
	seen := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !saidBy(name) {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		for i, l := range strings.Split(string(text), "\n") {
			if found := checkout.FindString(l); found != "" {
				t.Errorf("%s:%d says %q", name, i+1, found)
			}
		}
		seen++
		return err
	})
	if err != nil || seen < 60 {
		t.Fatalf("%d files of what is said were seen: %v", seen, err)
	}
}

// saidBy says whether a file is shown to people: embedded, or the output that a test wants.
func saidBy(name string) bool {
	switch path.Ext(name) {
	case ".toml":
		return !strings.Contains(name, "testdata/")
	case ".txtar":
		return strings.HasPrefix(name, "internal/cli/testdata") || strings.HasPrefix(name, "internal/server/testdata")
	case ".md":
		return strings.HasPrefix(name, "docs/") && inBinary(name)
	}
	return false
}

func inBinary(name string) bool {
	page := strings.TrimSuffix(path.Base(name), ".md")
	_, ok := docs.Get(page)
	return ok && path.Dir(name) == "docs" || path.Dir(name) == "docs/runbooks"
}
