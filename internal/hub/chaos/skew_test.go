//go:build linux

package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// skewEnv names the file in which stands by how many seconds the wall clock of a node is wrong.
const skewEnv = "CUSTOS_CHAOS_SKEW"

// What is laid over the sources of custos-hub (go build -overlay): no library can be preloaded into a
// program of Go, and time namespaces have no wall clock. The monotonic clock stays as it is, as
// it does when somebody sets the clock.
const (
	readsNow = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0"
	setsNow  = "\tsec, nsec, mono := runtimeNow()\n\tsec += Skew.Load()\n\tif mono == 0"
	heeder   = `package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

func init() {
	go func() {
		for ; ; time.Sleep(200 * time.Millisecond) {
			text, _ := os.ReadFile(os.Getenv("` + skewEnv + `"))
			n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			time.Skew.Store(n)
		}
	}()
}
`
)

// buildSkewed builds custos-hub with a wall clock that can be set.
func buildSkewed(t *testing.T, dir string) string {
	t.Helper()
	root := goEnv(t, "GOROOT")
	original := filepath.Join(root, "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), readsNow) != 1 {
		t.Fatalf("cannot set the clock of custos-hub: %s reads it otherwise", original)
	}
	changed := strings.Replace(string(text), readsNow, setsNow, 1)
	changed = strings.Replace(changed, "import (", "import (\n\t\"sync/atomic\"", 1) + "\n// Skew is in seconds.\nvar Skew atomic.Int64\n"
	hub := filepath.Join(filepath.Dir(goEnv(t, "GOMOD")), "cmd", "custos-hub", "skew_overlay.go")
	over := map[string]map[string]string{"Replace": {original: put(t, dir, "time.go", changed), hub: put(t, dir, "skew.go", heeder)}}
	list, err := json.Marshal(over)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "custos-hub")
	out, err := exec.Command("go", "build", "-overlay", put(t, dir, "overlay.json", string(list)), "-ldflags", "-s -w", "-o", program, "custos/cmd/custos-hub").CombinedOutput()
	if err != nil {
		t.Fatalf("cannot build custos-hub: %v\n%s", err, out)
	}
	return program
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// put writes a file into a folder, at once or not at all.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
