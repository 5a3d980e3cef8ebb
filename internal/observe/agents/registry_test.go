package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"custos/internal/agent"
)

// A registry file that stands is believed as it was read; one that is another, is written just now,
// or is torn, is read.
func TestARegistryFileThatStandsIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "10.json")
	p := &Probe{registries: map[string]registryFile{}}
	put := func(status string) {
		t.Helper()
		if err := os.WriteFile(path, fmt.Appendf(nil, `{"pid": 10, "procStart": "7", "status": %q}`, status), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says := func(status string) {
		t.Helper()
		f, err := p.registryFile(path, os.Getuid())
		if got := f.says.Status; got != status {
			t.Errorf("it says %q (%v), want %q", got, err, status)
		}
		p.registries[path] = f
	}
	put("busy")
	says("busy")
	if f := p.registries[path]; f.stamp != (fileStamp{}) {
		t.Error("what was written just now is taken for what stands: its times go on in steps")
	}
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		t.Fatal(err)
	}
	stood := registryFile{stamp: stampOf(s), uid: os.Getuid(), says: agent.Registry{Status: "as it was read"}}
	p.registries[path] = stood
	says("as it was read")
	if f, err := p.registryFile(path, os.Getuid()+1); err == nil {
		t.Errorf("another user's was believed: %+v", f.says)
	}
	for ok := true; ok; { // until the clock of the file system has gone on
		put("idle")
		var now unix.Stat_t
		ok = unix.Lstat(path, &now) == nil && stampOf(now) == stampOf(s)
	}
	says("idle")
	p.registries[path] = stood
	if err := os.WriteFile(path, []byte(`{"pid": 1`), 0o600); err != nil {
		t.Fatal(err)
	}
	says("")
}
