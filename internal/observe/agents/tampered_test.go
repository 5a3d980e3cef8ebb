package agents

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
)

// What an agent's hooks and policy are told by is what its start wrote, or what a later start of its kind did; a file
// that is another one, however alike, or gone, is told of each agent that has it, and of no other.
func TestAChangedPolicyIsToldOfItsAgent(t *testing.T) {
	w, b, dir := newWorld(), newLedger(), t.TempDir()
	put := func(name, text string) fleet.Given {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return fleet.Given{Path: path, Sum: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
	}
	hooks, one, two := put("hooks", "v1"), put("one", "rm: deny"), put("two", "rm: deny")
	for i, given := range [][]fleet.Given{{hooks, one}, {hooks, two}} {
		name := []string{"one", "two"}[i]
		w.proc(10+i, 1, "claude")
		r := b.reg(name, 10+i)
		r.Given, r.StartedAt = given, w.now.Add(time.Duration(i)*time.Minute)
		r.Policy = "p"
	}
	p := w.probe(t, b.options)
	is := func(what, ofOne, ofTwo string) {
		t.Helper()
		w.pass(time.Second)
		seen := see(t, p)
		if a, c := seen["one"].Tampered, seen["two"].Tampered; a != ofOne || c != ofTwo {
			t.Errorf("%s: of one %q, of two %q", what, a, c)
		}
	}
	is("as it was written", "", "")
	put("one", "rm: none")
	is("its policy has another word of the same length", one.Path, "")
	put("one", "rm: deny")
	is("it is as it was", "", "")
	put("hooks", "v2")
	is("the hooks are others", hooks.Path, hooks.Path)
	b.regs[1].Given = []fleet.Given{put("hooks", "v2"), two}
	is("they are those of the newest start", "", "")
	if err := os.Remove(one.Path); err != nil {
		t.Fatal(err)
	}
	is("one is gone", one.Path, "")
	if err := os.Mkdir(one.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	is("a folder is there", one.Path, "")
	if gap := see(t, p)["one"].PolicyGap; gap == "" {
		t.Error("its version is not known, and nothing of its policy is missing")
	}
}

// What cannot be told just now is as it was told last: it neither raises nor ends an alert.
func TestWhatCannotBeReadNowIsAsItWas(t *testing.T) {
	t.Setenv("X", "") // not beside others: it takes all descriptors of this process
	file := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(file, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	regs := []fleet.Registration{{Name: "a", Instance: "i", Given: []fleet.Given{{Path: file, Sum: "other"}}}}
	told := func(w *tampering) string {
		found := []fleet.Agent{{Name: "a", Registered: true, Instance: "i", Process: fleet.ProcessID{PID: 1}}}
		w.see(found, regs)
		return found[0].Tampered
	}
	var was, fresh tampering
	if told(&was) != file {
		t.Fatal("a changed file is not told")
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	known, never := told(&was), told(&fresh)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if known != file || never != "" {
		t.Errorf("told before: %q; never looked at: %q", known, never)
	}
}
