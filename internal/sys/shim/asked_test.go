package shim_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"custos/internal/sys/shim"
)

// Who asked for an end is read back; a link that somebody put there is not followed.
func TestAsked(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if by := shim.AskedBy(dir, now); by != "" {
		t.Errorf("nobody asked, and it is %q", by)
	}
	if err := shim.SayAsked(dir, "me", true); err != nil || shim.AskedBy(dir, now) != "me" {
		t.Errorf("%v, %q", err, shim.AskedBy(dir, now))
	}
	if err := shim.UnsayAsked(dir, "another"); err != nil || shim.AskedBy(dir, now) != "me" {
		t.Errorf("taken back by another: %q, %v", shim.AskedBy(dir, now), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "asked"), nil, 0o600); err != nil || shim.AskedBy(dir, now) != shim.Somebody {
		t.Errorf("where there was no room for who, it is %q, %v", shim.AskedBy(dir, now), err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("root\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shim.UnsayAsked(dir, "me"); err != nil || shim.AskedBy(dir, now) != "" {
		t.Errorf("taken back: %q, %v", shim.AskedBy(dir, now), err)
	}
	if err := shim.UnsayAsked(dir, "me"); err != nil {
		t.Errorf("where nobody asked: %v", err)
	}
	if err := os.Symlink(other, filepath.Join(dir, "asked")); err != nil {
		t.Fatal(err)
	}
	if by := shim.AskedBy(dir, now); by != "" {
		t.Errorf("a link was followed: %q", by)
	}
}

// On a full disk the word stands for somebody, and it is said that who asked is not
// written down; where there is no word at all, that is another error.
func TestWhoAskedOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := shim.SayAskedWithoutRoom(dir, "me", true); !errors.Is(err, shim.ErrNameless) || !errors.Is(err, syscall.ENOSPC) || shim.AskedBy(dir, time.Now()) != shim.Somebody {
		t.Errorf("of a person: %v, and %q asked", err, shim.AskedBy(dir, time.Now()))
	}
	dir = t.TempDir()
	name, old := filepath.Join(dir, "asked"), time.Now().Add(-time.Hour)
	if err := errors.Join(shim.SayAsked(dir, "me", true), os.Chtimes(name, old, old)); err != nil {
		t.Fatal(err)
	}
	if err := shim.SayAskedWithoutRoom(dir, "me", true); err != nil || shim.AskedBy(dir, time.Now()) != "me" {
		t.Errorf("of a person whose name is there: %v, and %q asked", err, shim.AskedBy(dir, time.Now()))
	}
	dir = t.TempDir()
	if err := shim.SayAskedWithoutRoom(dir, "agent/lead", false); err == nil || errors.Is(err, shim.ErrNameless) || shim.AskedBy(dir, time.Now()) != "" {
		t.Errorf("of an agent: %v, and %q asked", err, shim.AskedBy(dir, time.Now()))
	}
	if err := shim.SayAsked(filepath.Join(t.TempDir(), "none"), "me", true); err == nil || errors.Is(err, shim.ErrNameless) {
		t.Errorf("where nothing can be written: %v", err)
	}
}

// A stop that was refused or cut off is not what ends an agent an hour later, whoever
// had asked for it.
func TestAskingGrowsOld(t *testing.T) {
	dir := t.TempDir()
	if err := shim.SayAsked(dir, "me", true); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	if err := os.Chtimes(filepath.Join(dir, "asked"), at, at); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]string{-time.Minute: "me", time.Minute: "me", 10 * time.Minute: "me", 11 * time.Minute: "", 24 * time.Hour: ""} {
		if by := shim.AskedBy(dir, at.Add(after)); by != want {
			t.Errorf("an end %s after it was asked for was asked for by %q, want %q", after, by, want)
		}
	}
}
