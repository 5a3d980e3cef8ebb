package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
	"custos/internal/hub/hubtest"
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

// TestAPoolOfTwoHosts: one of two hosts starts the workers for both. None are started before it is known what the other
// one has; and none in the place of those of a host that is silent.
func TestAPoolOfTwoHosts(t *testing.T) {
	hub := hubtest.Start(t, 1)
	const pool = `[agents]
every = "1s"
[pool.dev]
kind = "claude"
prompt = "fake reply hello"
dir = "~/work"
min = 2
max = 3
hosts = "one"
`
	towns := map[string]*town{}
	for _, name := range []string{"box1", "box2"} {
		towns[name] = foundBeside(t, quickLimits+pool)
		if err := hub.Join(t, name).Save(towns[name].cfg.HubDir()); err != nil {
			t.Fatal(err)
		}
	}
	a, b := towns["box1"], towns["box2"]
	plan := func(w *town) string { out, _ := w.says("plan"); return out }
	says := func() string { return plan(a) + a.said.String() + "\n" + plan(b) + b.said.String() }
	a.start()
	await(t, says, func() bool {
		return strings.Contains(plan(a), "how many of its workers host box2 has: it was never heard")
	})
	if n := len(a.workers("dev")); n != 0 {
		t.Fatalf("it has started %d workers though nobody knows what the other host has", n)
	}
	b.start()
	count := func(w *town) int { return len(w.workers("dev")) }
	await(t, says, func() bool { return count(a)+count(b) == 2 })
	holder, other := a, b
	if count(b) > 0 {
		holder, other = b, a
	}
	if count(other) > 0 {
		t.Errorf("both have started workers: %s", says())
	}
	holder.kill()
	await(t, says, func() bool { return strings.Contains(plan(other), "2 more may run where nothing is heard") })
	if n := count(other); n != 0 {
		t.Errorf("it has started %d workers in the place of those of a silent host", n)
	}
	holder.start()
	await(t, says, func() bool { return !strings.Contains(plan(other), "where nothing is heard") && count(holder) == 2 })
	if n := count(other); n != 0 {
		t.Errorf("it has started %d workers beside those of a host that is back", n)
	}
}
