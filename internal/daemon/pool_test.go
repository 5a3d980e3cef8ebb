package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// workers are the agents of a pool that run.
func (w *town) workers(pool string) (found []api.AgentRow) {
	w.Helper()
	all, err := w.client().Agents(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, a := range all.Agents {
		if strings.HasPrefix(a.Name, pool+"-") && a.PID != 0 {
			found = append(found, a)
		}
	}
	return found
}

// TestPoolWhole: a pool keeps its least, through the death of a worker and of Custos,
// and whom a person stops is not replaced.
func TestPoolWhole(t *testing.T) {
	w := newTown(t, `[limits]
stagger = "0s"
spawn_memory = "0"
settle = "200ms"
[recover]
settle = "200ms"
[agents]
every = "1s"
[pool.dev]
kind = "claude"
prompt = "fake reply hello"
dir = "~/work"
min = 2
max = 3
`)
	settled := func() bool {
		all := w.workers("dev")
		return len(all) == 2 && all[0].State == "idle" && all[1].State == "idle"
	}
	says := func() string { return fmt.Sprintf("%+v\n%s", w.workers("dev"), w.said) }
	await(t, says, settled)
	first := w.workers("dev")
	w.kill()
	w.start()
	await(t, says, settled)
	if again := w.workers("dev"); again[0].PID != first[0].PID || again[1].PID != first[1].PID {
		t.Errorf("they were %+v, and are %+v", first, again)
	}
	if err := syscall.Kill(first[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, says, func() bool {
		all := w.workers("dev")
		return len(all) == 2 && all[0].State == "idle" && all[1].State == "idle" && all[0].PID != first[0].PID
	})
	if a := w.agent(first[0].Name); a.PID == 0 {
		t.Errorf("the one that died was replaced, and not recovered: %+v", w.workers("dev"))
	}
	if o := w.order(api.OrderRequest{Do: "stop", Agent: first[1].Name}); o.State != "done" {
		t.Errorf("stop: %+v", o)
	}
	w.kill()
	w.start()
	await(t, says, func() bool { return len(w.workers("dev")) == 1 && w.workers("dev")[0].State == "idle" })
	if found, _ := filepath.Glob(filepath.Join(w.dir, ".fakeagent/sessions/*.jsonl")); len(found) != 2 {
		t.Errorf("%d conversations were ever begun, want 2", len(found))
	}
}
