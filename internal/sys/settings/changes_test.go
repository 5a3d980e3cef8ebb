package settings

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree lists what is below a folder: each file with its mode and text.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			b.WriteString(p + "\n")
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(p)
		b.WriteString(p + " " + info.Mode().String() + " " + string(text) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func prepare(t *testing.T, file, text string) Change {
	t.Helper()
	c, err := Prepare(file, []byte(text), 0o640)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a file names that is kept is kept, too, until that file is as it was written.
func TestWhatAKeptFileNamesIsKept(t *testing.T) {
	dir, book := t.TempDir(), filepath.Join(t.TempDir(), "setup.json")
	conf, secret, other := filepath.Join(dir, "custos.toml"), filepath.Join(dir, "me.url"), filepath.Join(dir, "completions")
	wrote := "# completions of custos\ntoken_file = \"~/" + filepath.Base(dir) + "/me.url\"\n"
	if err := Do(book, []Change{prepare(t, secret, "https://x"), prepare(t, conf, wrote), prepare(t, other, "x")}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte(wrote+"# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := Undo(book)
	if err != nil || len(list) != 3 || list[0].Did != "removed" || list[1].Left != "it was changed since" || !strings.Contains(list[2].Left, "custos.toml names it") {
		t.Errorf("%+v, %v", list, err)
	}
	if !read(t, secret).Exists || read(t, other).Exists {
		t.Error("the file that it names is gone, or the other one is not")
	}
	if err := os.WriteFile(conf, []byte(wrote), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Undo(book); err != nil || tree(t, dir) != dir+"\n" {
		t.Errorf("as it was written: %v, and there is %s", err, tree(t, dir))
	}
}

// What was changed is put back byte for byte, over several runs, with modes and folders.
func TestChangesAreUndoneOverRuns(t *testing.T) {
	dir, book := t.TempDir(), filepath.Join(t.TempDir(), "state/setup.json")
	there, fresh := filepath.Join(dir, "there"), filepath.Join(dir, "a/b/new")
	if err := os.WriteFile(there, []byte("was\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	for _, text := range []string{"one", "two"} {
		if err := Do(book, []Change{prepare(t, there, text), prepare(t, fresh, text)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(read(t, fresh).Was); got != "two" {
		t.Fatalf("it has %q", got)
	}
	list, err := Undo(book)
	if err != nil || len(list) != 4 {
		t.Fatalf("%v %v", list, err)
	}
	if after := tree(t, dir); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
	if _, err := os.Stat(book); err == nil {
		t.Error("the record is still there")
	}
	if list, err := Undo(book); err != nil || len(list) != 0 {
		t.Errorf("again: %v %v", list, err)
	}
}

// What a person changed since is left, and stays on record until it is as it was written.
func TestWhatWasChangedSinceIsLeft(t *testing.T) {
	dir := t.TempDir()
	book, file, gone := filepath.Join(dir, "setup.json"), filepath.Join(dir, "x"), filepath.Join(dir, "y")
	if err := Do(book, []Change{prepare(t, file, "ours"), prepare(t, gone, "ours")}); err != nil {
		t.Fatal(err)
	}
	lay(t, file, "ours, and mine")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	list, err := Undo(book)
	if err != nil || len(list) != 2 || list[0].Left != "" || list[1].Left != "it was changed since" {
		t.Fatalf("%+v %v", list, err)
	}
	if got := string(read(t, file).Was); got != "ours, and mine" {
		t.Errorf("it has %q", got)
	}
	lay(t, file, "ours")
	if list, err := Undo(book); err != nil || len(list) != 1 || list[0].Did != "removed" {
		t.Errorf("%+v %v", list, err)
	}
}

// Where one change fails, none is made: what was done before it is put back, and the record is as it was.
func TestAllOrNothingIsChanged(t *testing.T) {
	dir := t.TempDir()
	book, first, second := filepath.Join(dir, "setup.json"), filepath.Join(dir, "first"), filepath.Join(dir, "second")
	changes := []Change{prepare(t, first, "ours"), prepare(t, second, "ours")}
	lay(t, second, "somebody was quicker")
	if err := Do(book, changes); err == nil || !strings.Contains(err.Error(), "it was changed just now") {
		t.Error(err)
	}
	if got, want := tree(t, dir), dir+"\n"+second+" -rw------- somebody was quicker\n"; got != want {
		t.Errorf("there is\n%swant\n%s", got, want)
	}
}

// A process that was killed in the middle is undone by its record, which was written first.
func TestWhatWasOnlyBegunIsUndone(t *testing.T) {
	dir := t.TempDir()
	book, did, not := filepath.Join(dir, "setup.json"), filepath.Join(dir, "did"), filepath.Join(dir, "not")
	all := []Change{prepare(t, did, "ours"), prepare(t, not, "ours")}
	if err := (Book{Changes: all}).save(book); err != nil {
		t.Fatal(err)
	}
	if err := all[0].do(); err != nil {
		t.Fatal(err)
	}
	list, err := Undo(book)
	if err != nil || len(list) != 2 || list[0].Left+list[1].Left != "" {
		t.Fatalf("%+v %v", list, err)
	}
	if got := tree(t, dir); got != dir+"\n" {
		t.Errorf("there is\n%s", got)
	}
}

func TestAKindThatWasHookedIsOnRecordOnce(t *testing.T) {
	book := filepath.Join(t.TempDir(), "setup.json")
	for range 2 {
		if err := Hooked(book, Hook{"claude", "/x"}); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := OpenBook(book); err != nil || len(b.Hooks) != 1 {
		t.Fatalf("%v %v", b, err)
	}
	if err := Unhooked(book, Hook{"claude", "/x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(book); err == nil {
		t.Error("an empty record is left")
	}
	lay(t, book, "{")
	if _, err := OpenBook(book); err == nil || !strings.HasPrefix(err.Error(), "cannot read what was changed before") {
		t.Error(err)
	}
}
