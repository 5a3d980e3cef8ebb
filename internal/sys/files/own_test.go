package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"custos/internal/sys/files"
)

func TestOpenOwn(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		mode fs.FileMode
		want error
	}{
		"ours": {0o600, nil}, "read by all": {0o644, nil}, "the group writes": {0o620, files.ErrNotOwn}, "all write": {0o602, files.ErrNotOwn},
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		f, _, err := files.OpenOwn(path)
		if f != nil {
			f.Close()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "ours"), link); err != nil {
		t.Fatal(err)
	}
	if _, _, err := files.OpenOwn(link); !errors.Is(err, files.ErrNotRegular) {
		t.Errorf("a link: %v", err)
	}
	if os.Geteuid() == 0 { // only then may a file be given away
		path := filepath.Join(dir, "ours")
		if err := os.Chown(path, 65534, -1); err != nil {
			t.Skip(err)
		}
		if _, _, err := files.OpenOwn(path); !errors.Is(err, files.ErrNotOwn) {
			t.Errorf("another user's: %v", err)
		}
	}
}
