package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A change that is undone leaves the folder as it was, whether there were settings or not,
// and settings that a link leads to stay where they are.
func TestAChangeIsUndone(t *testing.T) {
	for _, before := range []string{"", "{}\n"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "settings.json")
		if before != "" {
			target := filepath.Join(dir, "kept-elsewhere.json")
			lay(t, target, before)
			if err := os.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
		}
		f := read(t, name)
		if err := f.Change([]byte("ours")); err != nil || string(read(t, name).Was) != "ours" {
			t.Fatalf("%q: %v", before, err)
		}
		if err := read(t, name).Undo([]byte(before)); err != nil {
			t.Fatal(err)
		}
		if now := read(t, name); string(now.Was) != before || now.Exists != (before != "") {
			t.Errorf("%q is %+v now", before, now)
		}
		if left, _ := filepath.Glob(dir + "/*" + Kept); len(left) > 0 {
			t.Errorf("%v is left behind", left)
		}
	}
}

// What somebody else wrote meanwhile is known.
func TestSettingsThatWereChangedMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "settings.json")
	none := read(t, name)
	lay(t, name, "{}")
	some := read(t, name)
	if some.Same() != nil || none.Same() == nil {
		t.Errorf("same: %v; not: %v", some.Same(), none.Same())
	}
	lay(t, name, `{"a":1}`)
	if err := some.Same(); err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("%v", err)
	}
}

// What is no text file is not read, nor what a link to nothing names.
func TestSettingsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "binary"), "a\x00b")
	lay(t, filepath.Join(dir, "latin1"), "\xe9")
	lay(t, filepath.Join(dir, "large"), strings.Repeat("x", Largest+1))
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"binary", "latin1", "large", "dangling", "."} {
		if f, err := Read(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is read as %+v", name, f)
		}
	}
}

func read(t *testing.T, name string) File {
	t.Helper()
	f, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func lay(t *testing.T, name, text string) {
	t.Helper()
	if err := Lay(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
