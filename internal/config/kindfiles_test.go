package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// told is what a kind might be.
type told struct {
	Names  []string `toml:"names"`
	Screen []struct {
		Says string `toml:"says"`
	} `toml:"screen"`
}

// kindFolderOf makes a folder of kinds with files, and returns the custos.toml beside it.
func kindFolderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "kinds"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "kinds", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "custos.toml")
}

func TestKindFilesAreReadByName(t *testing.T) {
	if found := KindFiles(filepath.Join(t.TempDir(), "custos.toml")); len(found) != 0 {
		t.Errorf("without a folder there are %v", found)
	}
	file := kindFolderOf(t, map[string]string{"b.toml": "names = ['b']", "a.toml": "names = ['a']", ".a.toml.swp": "x", ".b.toml": "x", "a.toml~": "x"})
	found := KindFiles(file)
	if len(found) != 2 || filepath.Base(found[0].Path) != "a.toml" || string(found[1].Text) != "names = ['b']" {
		t.Fatalf("found %+v", found)
	}
	for _, f := range found {
		if err := f.Check(reflect.TypeFor[told]()); err != nil {
			t.Error(err)
		}
	}
}

// What others may write is not read: it would say what is run as this user.
func TestKindFilesThatOthersMayWriteAreRefused(t *testing.T) {
	file := kindFolderOf(t, map[string]string{"a.toml": "names = ['a']", "b.toml": "names = ['b']", "Bad Name.toml": ""})
	dir := filepath.Join(filepath.Dir(file), "kinds")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refuses := func(f KindFile, want string) {
		t.Helper()
		if err := f.Check(reflect.TypeFor[told]()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), f.Path) || len(f.Text) > 0 {
			t.Errorf("%s: %v with %q, want %q", f.Path, err, f.Text, want)
		}
	}
	must(os.Chmod(filepath.Join(dir, "a.toml"), 0o620))
	must(os.Mkdir(filepath.Join(dir, "c.toml"), 0o700))
	must(os.Symlink("/nowhere", filepath.Join(dir, "d.toml")))
	found := KindFiles(file)
	if len(found) != 5 {
		t.Fatalf("found %+v", found)
	}
	refuses(found[0], "no name of a kind")
	refuses(found[1], "chmod go-w")
	if err := found[2].Check(reflect.TypeFor[told]()); err != nil {
		t.Error(err)
	}
	refuses(found[3], "no regular file")
	refuses(found[4], "no such file")

	must(os.Chmod(dir, 0o702))
	if found = KindFiles(file); len(found) != 1 {
		t.Fatalf("of a folder that all may write to: %+v", found)
	}
	refuses(found[0], "chmod go-w")
}

func TestKindFilesAreCheckedAtTheirLines(t *testing.T) {
	for text, want := range map[string]string{
		"\nnmes = ['x']\n":               `/k/a.toml:2: unknown key "nmes", did you mean "names"?`,
		"names = 'x'\n":                  "/k/a.toml:1: names: want a list in brackets, not a text",
		"\n\n[[screen]]\nsays = 3\n":     "/k/a.toml:4: [screen.0] says: want a text in quotes, not a number",
		"[[screen]]\nsas = 'x'\n":        `/k/a.toml:2: unknown key "sas" in [screen.0], did you mean "says"?`,
		"names = ['x'\n[[screen]]\n":     "/k/a.toml:2: ",
		"nmes = 1\nnames = ['x']\nx=1\n": "\ncannot read /k/a.toml:3: unknown key \"x\"",
	} {
		err := KindFile{Path: "/k/a.toml", Text: []byte(text)}.Check(reflect.TypeFor[told]())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
