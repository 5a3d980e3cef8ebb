package presence

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Whoever looks finds who has claimed a folder, by each path that leads there, and though
// the folder is gone; a second one is refused, until the first one takes it back.
func TestAClaimOutlivesItsFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	link := folder + "-link"
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Symlink(folder, link)); err != nil {
		t.Fatal(err)
	}
	if pid := Find(link); pid != 0 {
		t.Fatalf("nobody has claimed it, and %d was found", pid)
	}
	p, err := Claim(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(folder), os.Remove(link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, link} {
		if pid := Find(path); pid != os.Getpid() {
			t.Errorf("of %s %d was found, want %d", path, pid, os.Getpid())
		}
		if _, err := Claim(path); !errors.Is(err, errTaken) {
			t.Errorf("%s was claimed twice: %v", path, err)
		}
	}
	if err := p.Release(); err != nil {
		t.Fatal(err)
	}
	if pid := Find(folder); pid != 0 {
		t.Errorf("it was taken back, and %d was found", pid)
	}
}
