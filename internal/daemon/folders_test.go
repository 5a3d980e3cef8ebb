package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/store"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// leaves writes the folder of an instance as its shim left it, so long after its end.
func leaves(t *testing.T, s *system, instance string, ago time.Duration, agent shim.ID) string {
	t.Helper()
	dir := shim.Dir(s.world.Own.Shims, instance)
	id := fmt.Sprintf(`{"pid":%d,"start":%d}`, agent.PID, agent.Start)
	at := fmt.Sprintf(`{"wall":%q,"boot":"a boot before"}`, s.world.Now().Wall.Add(-ago).Format(time.RFC3339))
	for name, text := range map[string]string{
		"claim":         fmt.Sprintf(`{"v":1,"key":%q,"shim":%s,"at":%s}`, instance, id, at),
		"started.json":  fmt.Sprintf(`{"v":1,"key":%q,"name":"dev","shim":%s,"agent":%s,"cap":"none","at":%s}`, instance, id, id, at),
		"exit.json":     fmt.Sprintf(`{"v":1,"key":%q,"agent":%s,"status":1,"at":%s}`, instance, id, at),
		store.AgentMark: s.ledger.generation(),
		"stderr.log":    "it ended",
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The folders of instances that ended long ago go, each with a word before and after;
// whatever is not known of one keeps it.
func TestFoldersOfThoseWhoEndedLongAgoGo(t *testing.T) {
	const old = store.KeepRecords + time.Hour
	dead := shim.ID{PID: 1 << 30, Start: 7}
	s := watching(t)
	own, err := proc.NewReader(proc.TableOptions{}).Stat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	in := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leaves(t, s, "old", old, dead)
	leaves(t, s, "young", store.KeepRecords-time.Hour, dead)
	leaves(t, s, "lives", old, shim.ID{PID: os.Getpid(), Start: own.ID.Start})
	in(leaves(t, s, "torn", old, dead), "exit.json", `{"v":1,`)
	in(leaves(t, s, "foreign", old, dead), store.AgentMark, fmt.Sprintf("custos %032d %019d\n", 7, 1))
	in(leaves(t, s, "damaged", old, dead), store.AgentMark, "custos")
	in(leaves(t, s, "left", old, dead), "left.json", fmt.Sprintf(`{"v":1,"key":"left","procs":[{"pid":%d,"start":%d,"name":"x"}]}`, os.Getpid(), own.ID.Start))
	for dir, name := range map[string]string{"endless": "exit.json", "unmarked": store.AgentMark} {
		if err := os.Remove(filepath.Join(leaves(t, s, dir, old, dead), name)); err != nil {
			t.Fatal(err)
		}
	}
	kept := []string{"damaged", "endless", "foreign", "left", "lives", "torn", "unmarked", "young"}

	if err := os.WriteFile(freezeFile(s.cfg), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.tidied(t.Context()); err != nil {
		t.Error(err)
	}
	if got := folders(t, s); len(got) != len(kept)+1 {
		t.Errorf("frozen, and left are %q", got)
	}
	if err := os.Remove(freezeFile(s.cfg)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.tidied(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := folders(t, s); !slices.Equal(got, kept) {
		t.Errorf("left are %q, want %q", got, kept)
	}
	if got := said(t, s, "folder.removing", "folder.removed"); !slices.Equal(got, []string{"folder.removing", "folder.removed"}) {
		t.Errorf("said %q", got)
	}
	if left, err := os.ReadDir(s.cfg.RuntimeDir); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() == "removed" }) {
		t.Errorf("something is left aside: %v, %v", left, err)
	}
}

// folders lists those of instances that are there.
func folders(t *testing.T, s *system) (out []string) {
	t.Helper()
	list, err := os.ReadDir(s.world.Own.Shims)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// said lists the events of some kinds, in their order.
func said(t *testing.T, s *system, kinds ...string) (out []string) {
	t.Helper()
	list, err := s.ledger.opened().Events(t.Context(), 0, 1000, store.EventFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Subject == (fleet.Subject{Kind: fleet.KindSelf}) && slices.Contains(kinds, e.Kind) {
			out = append(out, e.Kind)
		}
	}
	return out
}

// TestAFolderThatIsCalledRemovedIsNotOurs: where the run folder is a person's, a folder of
// theirs may have the name of ours, and what an agent put into its own folder is not ours.
func TestAFolderThatIsCalledRemovedIsNotOurs(t *testing.T) {
	s := watching(t)
	theirs := []string{filepath.Join(s.aside(), "thesis.txt"), filepath.Join(s.aside(), "sub", "notes.md"), filepath.Join(s.aside(), "old", "work.txt")}
	dir := leaves(t, s, "old", store.KeepRecords+time.Hour, shim.ID{PID: 1 << 30, Start: 7})
	for _, file := range []string{theirs[0], theirs[1], filepath.Join(dir, "work.txt")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.tidied(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, file := range theirs {
		if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	if got := folders(t, s); len(got) != 0 {
		t.Errorf("left are %q", got)
	}
	if _, err := os.Lstat(filepath.Join(s.aside(), "old", "exit.json")); !os.IsNotExist(err) {
		t.Errorf("what the shim wrote is still there: %v", err)
	}
}
