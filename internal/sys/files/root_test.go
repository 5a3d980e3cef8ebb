package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Gemini reads our hooks only from a file that nobody but root can have written.
func TestNotRoots(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hooks", "gemini.json")
	if why := NotRoots("/proc/version"); why != "" {
		t.Errorf("a file of the kernel's: %s", why)
	}
	for _, at := range []string{filepath.Dir(file), file} {
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at, 0o720); err != nil {
			t.Fatal(err)
		}
		want := "others than root can write to " + at
		if os.Getuid() != 0 {
			want = "root does not own " + at
		}
		if why := NotRoots(file); why != want {
			t.Errorf("%s: %q, want %q", at, why, want)
		}
	}
	if why := NotRoots(filepath.Join(t.TempDir(), "not", "there")); os.Getuid() == 0 && !strings.Contains(why, " can write to "+os.TempDir()) {
		t.Errorf("below a folder of everybody's: %q", why)
	}
}
