package acttest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
)

// remover removes a file of the size it was seen with; broken names the one
// promise that it does not keep.
type remover struct{ broken string }

func (r remover) Ability() fleet.Ability {
	a := fleet.Ability{Do: "remove", Idempotent: true, Deadline: fleet.Duration(time.Minute), Touches: []fleet.PartName{fleet.PartLogs}}
	if r.broken == "no deadline" {
		a.Deadline = 0
	}
	return a
}

func (r remover) Commands(a fleet.Action) []fleet.Command {
	switch r.broken {
	case "says nothing":
		return nil
	case "reads the world":
		if _, err := os.Stat(a.Target.Log.Path); err != nil {
			return []fleet.Command{{Argv: []string{"true"}}}
		}
	}
	return []fleet.Command{{Argv: []string{"rm", a.Target.Log.Path}}}
}

func (r remover) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if r.broken == "prepare acts" {
		_ = os.Chmod(a.Target.Log.Path, 0o400)
	}
	info, err := os.Stat(a.Target.Log.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.broken == "does not see it is gone":
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: it is gone", act.ErrUnneeded)
	case err != nil:
		return nil, err
	case info.Size() != a.Target.Log.File.Size && r.broken != "does not look again":
		return nil, fmt.Errorf("%w: it has changed", act.ErrRefused)
	}
	if r.broken == "deaf" {
		return removal{r, a.Target.Log.Path}, nil
	}
	return removal{r, a.Target.Log.Path}, ctx.Err()
}

type removal struct {
	remover
	path string
}

func (r removal) Do(context.Context) error {
	if r.broken == "does nothing" {
		return nil
	}
	return os.Remove(r.path)
}

func (r removal) Verify(context.Context) (string, error) {
	if r.broken == "measures nothing" {
		return "", nil
	}
	return "removed", nil
}

func (r removal) Close() {}

func testOf(t *testing.T, broken string) {
	acttest.Test(t, acttest.Case{
		Action: remover{broken},
		Setup: func(t *testing.T) fleet.Action {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte("lines"), 0o600); err != nil {
				t.Fatal(err)
			}
			return fleet.Action{ID: "1", Do: "remove", Target: fleet.Target{Log: &fleet.Log{Path: path, File: fleet.FileID{Size: 5}}}}
		},
		Fingerprint: func(t *testing.T, a fleet.Action) string { return acttest.Tree(t, filepath.Dir(a.Target.Log.Path)) },
		Changed: map[string]func(*testing.T, fleet.Action){"grown": func(t *testing.T, a fleet.Action) {
			if err := os.WriteFile(a.Target.Log.Path, []byte("more lines"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		Gone: func(t *testing.T, a fleet.Action) {
			if err := os.Remove(a.Target.Log.Path); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestGoodAction(t *testing.T) { testOf(t, os.Getenv("ACTTEST_BROKEN")) }

// TestSuiteCatches runs the test above, in a process of its own, on actions
// that break one promise each: it must fail.
func TestSuiteCatches(t *testing.T) {
	for _, broken := range []string{"no deadline", "says nothing", "reads the world", "prepare acts",
		"does not see it is gone", "does not look again", "deaf", "does nothing", "measures nothing"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGoodAction$")
		cmd.Env = append(os.Environ(), "ACTTEST_BROKEN="+broken)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestGoodAction") {
			t.Errorf("%s: the suite did not catch it (%v)\n%s", broken, err, out)
		}
	}
}

func TestAlive(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var start uint64
	if _, err := fmt.Sscan(strings.Fields(string(raw))[21], &start); err != nil {
		t.Fatal(err)
	}
	id := fleet.ProcessID{PID: cmd.Process.Pid, Start: start}
	if acttest.Alive(t, id) == "" || acttest.Alive(t, fleet.ProcessID{PID: id.PID, Start: start + 1}) != "" {
		t.Error("a living process is not told from one that had its pid")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := acttest.Alive(t, id); got != "" {
		t.Errorf("alive after its death: %s", got)
	}
}
