package logfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBeside(t *testing.T) {
	dir, out := filepath.Join(t.TempDir(), "a", "logs"), &bytes.Buffer{}
	for range 2 { // the second one goes on where the first ended
		w, end, err := Beside(out, dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		end()
		if _, err := w.Write([]byte("after\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got := content(t, filepath.Join(dir, name)); got != "line\nline\n" || out.String() != "line\nafter\nline\nafter\n" {
		t.Errorf("the file has %q, and %q was written", got, out)
	}
	if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if w, _, err := Beside(out, ""); err != nil || w != out {
		t.Errorf("without a folder it is %v, %v", w, err)
	}
}

func TestItStaysSmall(t *testing.T) {
	dir, out := t.TempDir(), &bytes.Buffer{}
	w, end, err := Beside(out, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	w.(*file).largest = 100
	for range 50 {
		if _, err := w.Write([]byte(strings.Repeat("x", 30))); err != nil {
			t.Fatal(err)
		}
	}
	now, before := content(t, filepath.Join(dir, name)), content(t, filepath.Join(dir, name+".1"))
	if len(now) == 0 || len(now) > 100 || len(before) != 90 || out.Len() != 50*30 {
		t.Errorf("the files have %d and %d bytes, of %d", len(now), len(before), out.Len())
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	for _, lie := range []func(path string) error{
		func(path string) error { return os.Symlink("/etc/passwd", path) },
		func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		if err := lie(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Beside(&bytes.Buffer{}, dir); err == nil {
			t.Error("it was written to")
		}
	}
}
