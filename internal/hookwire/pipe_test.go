package hookwire

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// An agent may put what it likes into the spool: no pipe there is waited for, and nothing
// is read or written through a link.
func TestWhatLiesInTheSpoolIsNeitherWaitedForNorFollowed(t *testing.T) {
	drop := func(s Spool) error {
		for _, id := range []string{"a", "b"} {
			if err := s.Put(post(id)); err != nil {
				return err
			}
		}
		s.MaxFiles = 1
		return s.Limit(time.Now())
	}
	for name, c := range map[string]struct {
		at string
		do func(Spool) error
	}{
		"the spool":           {"", func(s Spool) error { _, err := s.List(); return err }},
		"the count":           {"dropped", drop},
		"the half-made event": {".tmp-a", func(s Spool) error { return s.Put(post("a")) }},
		"what was counted":    {"dropped", func(s Spool) error { return dropped(t, s) }},
	} {
		for what, put := range map[string]func(path, other string) error{
			"pipe": func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
			"link": func(path, other string) error { return os.Symlink(other, path) },
		} {
			t.Run(what+" in place of "+name, func(t *testing.T) {
				s, other := Spool{Dir: filepath.Join(t.TempDir(), "spool")}, filepath.Join(t.TempDir(), "mine")
				if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
				if c.at != "" {
					if err := os.Mkdir(s.Dir, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if err := put(filepath.Join(s.Dir, c.at), other); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- c.do(s) }()
				select {
				case err := <-done:
					t.Logf("says: %v", err)
				case <-time.After(10 * time.Second):
					t.Fatal("it is waited for")
				}
				if text, err := os.ReadFile(other); err != nil || string(text) != "mine" {
					t.Errorf("it was followed: %q, %v", text, err)
				}
			})
		}
	}
}

// dropped asks what was dropped, where what lies there counts nothing.
func dropped(t *testing.T, s Spool) error {
	n, err := s.Dropped()
	if n != 0 {
		t.Errorf("%d are counted", n)
	}
	return err
}
