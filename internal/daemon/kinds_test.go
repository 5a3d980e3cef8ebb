package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"custos/internal/agent"
)

// The CLI of each kind is looked for on PATH, and its version read as its package says it: it
// is not run, which for a CLI of an agent may mean anything.
func TestKindsSayWhichCLIIsThere(t *testing.T) {
	bin, program := t.TempDir(), filepath.Join(t.TempDir(), "claude/versions/99.0.1")
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(bin, "ran")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range (reader{kinds: kinds}).Kinds().Kinds {
		is, want := k.Path != "", k.Name == "claude"
		if is != want || want && (k.Version != "99.0.1" || k.Outgrown == "") {
			t.Errorf("%s is at %q, version %q, outgrown %q", k.Name, k.Path, k.Version, k.Outgrown)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it was run")
	}
}
