//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An agent may put what it likes into its own folder: the shim waits for no pipe there, and
// reads and writes nothing through a link.
func TestWhatAnAgentPutInPlaceOfAFileOfTheShimIsNotOpened(t *testing.T) {
	claimTmp := ".claim." + strconv.Itoa(os.Getpid())
	for name, do := range map[string]func(dir string) error{
		".left.json": func(dir string) error { return put(dir, "left.json", left{V: recordVersion}) },
		".exit.json": func(dir string) error { r, err := reserve(dir, "exit.json"); closeFile(r); return err },
		claimTmp:     func(dir string) error { return claim(dir, "k", "n", process{PID: os.Getpid()}, instant{}) },
		"claim":      func(dir string) error { return claim(dir, "k", "n", process{PID: os.Getpid()}, instant{}) },
		"launch": func(dir string) error {
			_, err := prepare(options{from: filepath.Join(dir, "launch")}, nil, "/")
			return err
		},
		"log.1.tmp":  saveLog,
		"stdout.log": openStreams,
		"stderr.log": openStreams,
		"stdin":      openStreams,
	} {
		for what, put := range map[string]func(path, other string) error{
			"pipe": func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
			"link": func(path, other string) error { return os.Symlink(other, path) },
		} {
			t.Run(what+" at "+name, func(t *testing.T) {
				dir, other := t.TempDir(), filepath.Join(t.TempDir(), "mine")
				if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := put(filepath.Join(dir, name), other); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- do(dir) }()
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

func closeFile(r *reserved) {
	if r != nil {
		r.file.Close()
	}
}

// saveLog trims a log of the folder.
func saveLog(dir string) error {
	f, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString("printed"); err != nil {
		return err
	}
	return save(f, 0, 7)
}

// openStreams opens those of a headless agent, and prints a word.
func openStreams(dir string) error {
	s, err := headlessStreams(options{dir: dir, input: true})
	if err != nil {
		return err
	}
	defer s.close()
	defer s.closeInput()
	_, err = s.files[1].WriteString("printed")
	return err
}
