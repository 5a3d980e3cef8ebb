package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// pair are two hosts of a hub, box1 and box2, with one configuration.
type pair [2]*town

func twoHosts(t *testing.T, config string) (p pair) {
	t.Helper()
	hub := hubtest.Start(t, 1)
	for i, name := range []string{"box1", "box2"} {
		p[i] = foundBeside(t, quickLimits+config)
		if err := hub.Join(t, name).Save(p[i].cfg.HubDir()); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// sharePool starts the daemons that do not run, and waits until one of them has so many workers of a pool, and the
// other none.
func (p pair) sharePool(pool string, n int) (holder, other *town) {
	for _, w := range p {
		if w.up == nil {
			w.start()
		}
	}
	holder, other = p[0], p[1]
	await(p[0].T, p.says, func() bool { return len(holder.workers(pool))+len(other.workers(pool)) == n })
	if len(other.workers(pool)) > 0 {
		holder, other = other, holder
	}
	if len(other.workers(pool)) > 0 {
		p[0].Errorf("both have started workers: %s", p.says())
	}
	return holder, other
}

func (p pair) says() string {
	return p[0].plan() + p[0].said.String() + "\n" + p[1].plan() + p[1].said.String()
}

func (w *town) plan() string { out, _ := w.says("plan"); return out }

// poolOfTwo is a pool of two hosts, to which keys may be added.
const poolOfTwo = `[agents]
every = "1s"
[pool.dev]
kind = "claude"
prompt = "fake reply hello"
dir = "~/work"
min = 2
hosts = "one"
`

// TestAPoolOfTwoHosts: one of two hosts starts the workers for both. None are started before it is known what the other
// one has; and none in the place of those of a host that is silent.
func TestAPoolOfTwoHosts(t *testing.T) {
	w := twoHosts(t, poolOfTwo+"max = 3\n")
	a := w[0]
	says := w.says
	a.start()
	await(t, says, func() bool {
		return strings.Contains(a.plan(), "how many of its workers host box2 has: it was never heard")
	})
	if n := len(a.workers("dev")); n != 0 {
		t.Fatalf("it has started %d workers though nobody knows what the other host has", n)
	}
	count := func(w *town) int { return len(w.workers("dev")) }
	holder, other := w.sharePool("dev", 2)
	holder.kill()
	await(t, says, func() bool { return strings.Contains(other.plan(), "2 more may run where nothing is heard") })
	if n := count(other); n != 0 {
		t.Errorf("it has started %d workers in the place of those of a silent host: %s", n, says())
	}
	holder.start()
	await(t, says, func() bool { return !strings.Contains(other.plan(), "where nothing is heard") && count(holder) == 2 })
	if n := count(other); n != 0 {
		t.Errorf("it has started %d workers beside those of a host that is back: %s", n, says())
	}
}

// isGoneAgain has a host be gone that was back, and the one that starts workers begin anew just then, which may end workers
// that have had nothing to do for a minute by now: not for those of a host that is gone.
func (p pair) isGoneAgain(lost, other *town) {
	t := lost.T
	await(t, p.says, func() bool { return len(lost.workers("dev")) == 2 })
	begun := time.Now()
	await(t, p.says, func() bool { return time.Since(begun) > 50*time.Second })
	await(t, p.says, func() bool { return time.Since(begun) > 70*time.Second })
	lost.kill()
	file := filepath.Join(other.dir, "custos.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, []byte("idle = \"1m\"\n")...), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, p.says, func() bool { return strings.Contains(other.said.String(), "begins anew") })
	await(t, p.says, func() bool { out, _ := other.says("why", "pool/dev"); return strings.Contains(out, "which count on") })
	if n := len(other.workers("dev")); n != 2 {
		t.Errorf("it has %d workers of its own: %s", n, p.says())
	}
}

// TestAHostThatIsBack: of a host that was silent for lost_after the workers are replaced. When it is back, a person is
// asked, or the new ones end, as on_return says, and none before.
func TestAHostThatIsBack(t *testing.T) {
	if os.Getenv("CUSTOS_TOWN") == "" {
		t.Skip("CUSTOS_TOWN=1 has hosts be silent for a minute")
	}
	for _, on := range []string{"ask", "stop_new", "keep"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			w := twoHosts(t, poolOfTwo+"max = 2\nlost_after = \"1m\"\non_return = \""+on+"\"\n")
			lost, other := w.sharePool("dev", 2)
			lost.kill()
			gone := time.Now()
			await(t, w.says, func() bool { return time.Since(gone) > 50*time.Second }) // each is awaited for a minute
			await(t, w.says, func() bool { return len(other.workers("dev")) == 2 })
			if took := time.Since(gone); took < time.Minute {
				t.Errorf("they were replaced after %s", took)
			}
			t.Logf("replaced after %s", time.Since(gone).Round(time.Second))
			lost.start()
			if on == "keep" {
				w.isGoneAgain(lost, other)
				return
			}
			if on == "ask" {
				await(t, w.says, func() bool {
					out, _ := other.says("alerts")
					return strings.Contains(out, "pool dev has 4 workers, 2 are the most")
				})
				for _, a := range other.workers("dev") {
					if out, code := other.says("stop", a.Name); code != 0 {
						t.Errorf("stop: %d: %s", code, out)
					}
				}
				await(t, w.says, func() bool { out, _ := other.says("alerts"); return !strings.Contains(out, "pool dev has") })
			}
			await(t, w.says, func() bool { return len(other.workers("dev")) == 0 })
			if n := len(lost.workers("dev")); n != 2 {
				t.Errorf("the host that is back has %d workers: %s", n, w.says())
			}
		})
	}
}
