package agents

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/fleet"
)

// The version of a CLI is that of the package its program lies in, found through links and
// without running anything; a package that was changed since is that of the next process.
func TestTheVersionOfWhatRuns(t *testing.T) {
	root := t.TempDir()
	put := func(file, text string) string {
		t.Helper()
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	script := put("lib/node_modules/@google/gemini-cli/bundle/gemini.js", "")
	put("lib/node_modules/@google/gemini-cli/package.json", `{"version":"0.61.0","name":"x"}`)
	plain := put("lib/node_modules/amp/node_modules/deep/x.js", "")
	put("lib/node_modules/amp/node_modules/deep/package.json", `{"version":"1.2.3"}`)
	own := put("project/bin/claude", "")
	put("project/package.json", `{"version":"7.0.0"}`)
	native := put("claude/versions/2.1.330", "")
	broken := put("lib/node_modules/broken/x.js", "")
	put("lib/node_modules/broken/package.json", `{"version":`)
	link := filepath.Join(root, "gemini")
	if err := os.Symlink(script, link); err != nil {
		t.Fatal(err)
	}
	run := func(program string) fleet.Process {
		return fleet.Process{ID: fleet.ProcessID{PID: os.Getpid()}, Exe: fleet.Known("/usr/bin/node"), Args: []string{"node", program}}
	}
	now, before := time.Now().Add(time.Minute), time.Now().Add(-time.Hour)
	for program, want := range map[string]string{script: "0.61.0", link: "0.61.0", plain: "1.2.3", own: "", native: "2.1.330", broken: "", "/nowhere/node_modules/x/y": ""} {
		if got := packageVersion(run(program), now); got != want {
			t.Errorf("%s is of version %q, want %q", program, got, want)
		}
	}
	if got := packageVersion(run(script), before); got != "" {
		t.Errorf("a package that was changed since the process began: %q", got)
	}
	other := run(script)
	other.ID.PID = 1 << 30
	if got := packageVersion(other, now); got != "" {
		t.Errorf("of a process that is not here: %q", got)
	}
	if got := packageOf("/x/node_modules/@scope/file"); got != "" {
		t.Errorf("a scope is no package: %q", got)
	}
}
