package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
)

// What a Custos of another container publishes is seen as another machine is; orders stay with
// that container, a wrong token shows nothing, and one that is silent is said in time.
func TestWhatAnotherContainerPublishes(t *testing.T) {
	out, err := os.MkdirTemp("", "p") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(out) })
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("token", "between-us\n")
	put("wrong", "guessed\n")
	there := foundBeside(t, fmt.Sprintf("[publish]\nsocket = %q\ntoken_file = %q\n", out+"/s", out+"/token"))
	there.start()
	there.spawn("ann", "idle", false)
	edge := foundBeside(t, fmt.Sprintf("[host.a]\nsocket = %[1]q\ntoken_file = %[2]q\n[host.b]\nsocket = %[1]q\ntoken_file = %[3]q\n[host.c]\nsocket = %[4]q\ntoken_file = %[2]q\n",
		out+"/s", out+"/token", out+"/wrong", out+"/none"))
	edge.start()

	await(t, func() string { said, _ := edge.says("ps"); return said }, func() bool {
		said, code := edge.says("ps", "--json")
		var all api.Agents
		return code == 3 && json.Unmarshal([]byte(said), &all) == nil &&
			slices.ContainsFunc(all.Agents, func(g api.AgentRow) bool { return g.Name == "a/ann" && g.Host == "a" && g.State != "unknown" }) &&
			slices.ContainsFunc(all.Hosts, func(h api.HostSeen) bool {
				return h.Name == "b" && h.Status == "unknown" && strings.Contains(h.Why, "token")
			}) &&
			slices.ContainsFunc(all.Hosts, func(h api.HostSeen) bool {
				return h.Name == "c" && h.Status == "unknown" && strings.Contains(h.Why, "none")
			})
	})
	for _, args := range [][]string{{"show", "a/ann"}, {"why", "a/ann"}, {"status", "--host", "a"}} {
		if said, code := edge.says(args...); code != 0 {
			t.Errorf("%v ended with %d: %s", args, code, said)
		}
	}
	for _, args := range [][]string{{"stop", "a/ann"}, {"nudge", "a/ann", "hello"}} {
		if said, code := edge.says(args...); code != 2 || !strings.Contains(said, "orders are typed where its agents run") {
			t.Errorf("%v ended with %d: %s", args, code, said)
		}
	}
	if said, code := edge.says("attach", "a/ann"); code != 2 || !strings.Contains(said, "docker exec") {
		t.Errorf("attach ended with %d: %s", code, said)
	}
	if there.agent("ann").PID == 0 {
		t.Error("an order from outside was carried out")
	}

	there.signal(syscall.SIGSTOP)
	defer there.signal(syscall.SIGCONT)
	began := time.Now()
	if said, code := edge.says("show", "a/ann"); code != 3 || !strings.Contains(said, "cannot reach host a") || time.Since(began) > 20*time.Second {
		t.Errorf("one that is silent, after %v: %d: %s", time.Since(began), code, said)
	}
}
