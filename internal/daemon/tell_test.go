package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/onewriter"
	"custos/internal/store"
)

// TestMatrixSend runs the script that formulas find, with a custos that says how
// it was called.
func TestMatrixSend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a dir", "bin")
	echo := filepath.Join(t.TempDir(), "cust'os")
	if err := os.WriteFile(echo, []byte("#!/bin/sh\nprintf '<%s>' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := makeTools(dir, []string{echo, "--config", "/a b"}); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("matrix_send", "supervisor", "--all $(touch x) 'well'\nok", "$thread", "context")
	c.Path, c.Err = filepath.Join(dir, "matrix_send"), nil
	out, err := c.CombinedOutput()
	if want := "<--config></a b><tell><--from><supervisor><--><--all $(touch x) 'well'\nok>"; err != nil || string(out) != want {
		t.Errorf("called with %s, %v; want %s", out, err, want)
	}
	for code, well := range map[string]bool{"1": true, "2": false, "3": false, "4": true} { // it reaches no one; it waits for a daemon
		if err := os.WriteFile(echo, []byte("#!/bin/sh\nexit "+code+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(filepath.Join(dir, "matrix_send"), "supervisor", "ok")
		if err := c.Run(); (err == nil) != well {
			t.Errorf("tell ends with %s, and it with %v", code, err)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("left %v, %v", list, err)
	}
}

// TestToolsOfAnOlderCustos: what an older one put into the folder is taken away, for it
// would be found before what is made now; what somebody else put there is left alone.
func TestToolsOfAnOlderCustos(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"gt": "#!/bin/sh\n# Written by custos for the formulas of Gas Town that it runs.\nexit 2\n",
		"bd": "#!/bin/sh\n# Mine.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/bin/true", filepath.Join(dir, "true")); err != nil {
		t.Fatal(err)
	}
	if err := makeTools(dir, []string{"/bin/custos"}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"bd", fleet.TownTools, control.ToolSend, "true"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}

// TestTownTools calls gt and bd as the Deacon's formula does; each word arrives as it
// is, and what Custos has not is refused by name, with the one that is installed.
func TestTownTools(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "a dir", fleet.TownTools), t.TempDir()
	echo := filepath.Join(other, "cust'os")
	if err := os.WriteFile(echo, []byte("#!/bin/sh\nprintf '<%s>' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := makeTools(filepath.Dir(dir), []string{echo}); err != nil {
		t.Fatal(err)
	}
	call := func(argv ...string) (string, bool) {
		c := exec.Command(filepath.Join(dir, argv[0]), argv[1:]...)
		c.Env = []string{"PATH=" + dir + ":" + other + ":/usr/bin:/bin"}
		out, err := c.CombinedOutput()
		return string(out), err == nil
	}
	evil := "a b; $(touch x) 'c'"
	for _, c := range []struct {
		argv []string
		want string // "!" before what is refused
	}{
		{[]string{"gt", "mail", "inbox"}, "<mail><inbox>"},
		{[]string{"gt", "mail", "read", "m7"}, "<mail><read><--><m7>"},
		{[]string{"gt", "mail", "send", "mayor/", "-s", evil, "-m", evil}, "<mail><send><--body><" + evil + "><--><overseer><" + evil + ">"},
		{[]string{"gt", "mail", "send", "gastown/witness", "-s", "x"}, "<mail><send><--><witness><x>"},
		{[]string{"gt", "nudge", "gt-builder", evil, "now"}, "<nudge><--><gt-builder><" + evil + " now>"},
		{[]string{"gt", "feed", "--since", "10m", "--plain"}, "<feed><--since><10m>"},
		{[]string{"gt", "deacon", "pending"}, "<ps><--pending>"},
		{[]string{"gt", "doctor", "-v"}, "<doctor>"},
		{[]string{"gt", "doctor", "--fix"}, "!gt: custos has no \"doctor --fix\": a person mends"},
		{[]string{"gt", "witness", "restart", "rig"}, "!gt: custos has no \"witness restart rig\": custos ps"},
		{[]string{"gt", "sling", "x"}, "!gt: custos has no \"sling x\""},
		{[]string{"gt"}, "!gt: custos has no"},
		{[]string{"bd", "list", "--type=convoy", "--status=open"}, "<convoy><list>"},
		{[]string{"bd", "list", "--status=in_progress", "--json"}, "<work><list><--json>"},
		{[]string{"bd", "show", "hq-12"}, "<work><show><--><hq-12>"},
		{[]string{"bd", "show", "c3", "--json"}, "<convoy><show><--json><--><c3>"},
		{[]string{"bd", "close", "c3", "--reason", evil}, "<convoy><close><--why><" + evil + "><--><c3>"},
		{[]string{"bd", "gate", "list", "--json"}, "<gate><list><--json>"},
		{[]string{"bd", "gate", "close", "g1", "--reason=x"}, "<gate><close><--why><x><--><g1>"},
		{[]string{"bd", "mol", "current"}, "!bd: custos has no \"mol current\": it has list"},
	} {
		out, ok := call(c.argv...)
		if want, refused := strings.CutPrefix(c.want, "!"); ok == refused || !strings.HasPrefix(out, want) || !refused && out != want {
			t.Errorf("%q: %v, %s", c.argv, ok, out)
		}
	}
	if err := os.WriteFile(filepath.Join(other, "gt"), []byte("#!/bin/sh\necho the town\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, ok := call("gt", "mail", "inbox"); !ok || out != "<mail><inbox>" {
		t.Errorf("%s", out)
	}
	if out, ok := call("gt", "sling", "x"); ok || !strings.Contains(out, "installed is "+other+"/gt") {
		t.Errorf("%s", out)
	}
}

// TestTellIsCommitted: what is told is in the outbox, once.
func TestTellIsCommitted(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "c.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := fleet.Instant{Boot: "b", Up: 1}
	b := ledgerPort{now: func() fleet.Instant { return now }, l: &ledgerFile{st: st, lock: &onewriter.Lock{}}}
	for range 2 {
		if err := b.tell(t.Context(), fleet.Message{ID: "t1", Kind: fleet.MessageTold, At: now, Priority: fleet.P2, Subject: "ops: out"}); err != nil {
			t.Fatal(err)
		}
	}
	due, err := st.Due(t.Context(), now, 9)
	if err != nil || len(due) != 1 || !strings.Contains(due[0].Subject, "out") {
		t.Errorf("due %+v, %v", due, err)
	}
}
