package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file that holds what was read, or that was changed long ago, is not being changed.
func TestChangedWithin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "custos.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a = 1\n")
	c := Config{File: file, Text: []byte("a = 1\n")}
	if c.ChangedWithin(time.Hour) {
		t.Error("it is what was read")
	}
	write("a = 2\n")
	if !c.ChangedWithin(time.Hour) {
		t.Error("it was changed")
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(file, long, long); err != nil || c.ChangedWithin(time.Hour) {
		t.Errorf("long ago, %v", err)
	}
	if (Config{File: file + "x"}).ChangedWithin(time.Hour) {
		t.Error("there is none")
	}
}
