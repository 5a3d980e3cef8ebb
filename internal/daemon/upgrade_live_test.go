package daemon_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/daemon"
	"custos/internal/fleet"
	"custos/internal/release"
	"custos/internal/release/releasetest"
	"custos/internal/sys/presence"
	"custos/internal/sys/procstat"
	"custos/internal/upgrade"
)

// liveAgents are how many work while Custos is exchanged.
const liveAgents = 20

// built builds the programs as a version; with more, the schema of the ledger has one
// migration more than that of this tree.
func built(t *testing.T, version, more string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-X main.version=" + version, "-o", dir + "/"}
	if more != "" {
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		text := filepath.Join(t.TempDir(), "9999_more.sql")
		overlay := filepath.Join(t.TempDir(), "overlay.json")
		lay(t, "/", text, more)
		lay(t, "/", overlay, fmt.Sprintf(`{"Replace": {%q: %q}}`, root+"/internal/store/migrations/9999_more.sql", text))
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, "custos/cmd/custos", "custos/cmd/custos-shim", "custos/cmd/custos-hook")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	return dir
}

// upgrading runs custos upgrade as a person does; it is to be waited for.
func (w *town) upgrading(archive string) (cmd *exec.Cmd, said *writer) {
	w.Helper()
	said = &writer{}
	cmd = exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "upgrade", "--from", archive, "--key", filepath.Join(filepath.Dir(archive), releasetest.KeyName))
	cmd.Env = w.up.Env
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return cmd, said
}

// blind measures for how long nobody watched, at most: from the last answer of one daemon until
// the first whole pass of the next, which it waits for.
func (w *town) blind() (stop func() time.Duration) {
	end, result := make(chan struct{}), make(chan time.Duration)
	ctx := w.Context() // of this part of the test: another one may be on when it ends
	go func() {
		var longest time.Duration
		last, tick := time.Now(), time.NewTicker(20*time.Millisecond)
		defer tick.Stop()
		for over := false; !over && ctx.Err() == nil; <-tick.C {
			select {
			case <-end:
				over = w.watches(ctx)
			default:
			}
			if over || w.watches(ctx) {
				longest, last = max(longest, time.Since(last)), time.Now()
			}
		}
		result <- longest
	}()
	return func() time.Duration { close(end); return <-result }
}

// watches says whether a daemon answers that has made a whole pass.
func (w *town) watches(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := api.Dial(ctx, daemon.Socket(w.cfg))
	if err != nil {
		return false
	}
	defer c.Close()
	h, err := c.Health(ctx, 0)
	return err == nil && h.LastPass != nil
}

// version is that of the daemon there is; "" for none.
func (w *town) version() string {
	s, err := status(w.Context(), w.cfg)
	if err != nil {
		return ""
	}
	return s.Version
}

// liveConfig has each message written to a file.
const liveConfig = loopConfig + `[notifier.file]
type = "command"
run = ["sh", "-c", "cat >>$HOME/told.json; echo >>$HOME/told.json"]
[route.all]
to = ["file"]
group_wait = "0s"
group_interval = "0s"
`

// exchanged is a town in which 0.1.0 is to be exchanged for 0.2.0, whose ledger is newer.
type exchanged struct {
	*town
	before, archive string              // programs of 0.1.0; release of 0.2.0
	workers         map[string]workerAt // by name
	dead            []string
	nudge           api.Order // is in flight
	schema          int       // of the ledger of 0.1.0
	random          *rand.Rand
}

// workerAt is the process of an agent.
type workerAt struct {
	pid   int
	start uint64
}

// cut is where an upgrade is cut off by the death of the daemon, and how long after that at most.
type cut struct {
	name  string
	is    func(*exchanged) bool
	later time.Duration
}

// begun is that the upgrade has come to a step; the last one is over.
func begun(step string) func(*exchanged) bool {
	return func(x *exchanged) bool {
		s, err := upgrade.ReadState(x.cfg.StateDir)
		return err == nil && (s.Open() || s.Phase == upgrade.Preparing) && slices.ContainsFunc(s.Steps, func(one upgrade.Step) bool { return one.Do == step })
	}
}

func cuts() []cut {
	return []cut{
		{"while the programs are exchanged", begun("keep the old programs"), 30 * time.Millisecond},
		{"while the daemon goes on as the new one", begun("have the daemon go on as the new one"), 150 * time.Millisecond},
		{"when the new one has brought the ledger up to date", func(x *exchanged) bool { return x.town.schema() > x.schema }, 0},
	}
}

// TestAnUpgradeThatNoAgentNotices: 20 agents work under 0.1.0 while 0.2.0 is to take over. Its
// daemon is killed at one moment after the other, and an agent with it: 0.1.0 is back each time, and its
// ledger. Then everything is killed while the programs are exchanged, and custos up mends it.
// Then 0.2.0 takes over, in the same process. CUSTOS_SEED makes the moments of a run again.
func TestAnUpgradeThatNoAgentNotices(t *testing.T) {
	x := newExchanged(t)
	good := true
	for i, c := range cuts() {
		good = good && t.Run(c.name, func(t *testing.T) { x.isPutBack(t, c, fmt.Sprintf("worker-%d", 3+2*i)) })
	}
	good = good && t.Run("when all is killed", x.isMended) && t.Run("well", x.isDone) && t.Run("back again", x.isRefused)
	if good {
		x.comesDown()
	}
}

func newExchanged(t *testing.T) *exchanged {
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("CUSTOS_SEED"), "1"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("CUSTOS_SEED=%d", seed)
	x := &exchanged{before: built(t, "0.1.0", ""), workers: map[string]workerAt{}, random: rand.New(rand.NewPCG(seed, 0))}
	x.archive = releasetest.Make(t, release.Archive{Version: "0.2.0", OS: runtime.GOOS, Arch: runtime.GOARCH}, built(t, "0.2.0", "ALTER TABLE agents ADD COLUMN more TEXT;"))
	x.town = foundTown(t, liveConfig)
	if x.bin = filepath.Join(x.dir, "bin"); os.CopyFS(x.bin, os.DirFS(x.before)) != nil {
		t.Fatal("cannot copy the programs")
	}
	x.schema = schemaNow(t, x.before)
	x.start()
	x.spawnWorkers(liveAgents)
	x.awaitState("worker-1", "working")
	x.nudge, err = x.client().Order(t.Context(), api.OrderRequest{Do: "nudge", Agent: "worker-1", Text: "fake reply thanks"})
	if err != nil || x.nudge.State != "queued" {
		t.Fatalf("the nudge of an agent that works: %+v, %v", x.nudge, err)
	}
	return x
}

// spawnWorkers starts agents, in tmux and headless, all at once.
func (x *exchanged) spawnWorkers(n int) {
	x.Helper()
	c, ids := x.client(), map[string]string{}
	for i := range n {
		name := fmt.Sprintf("worker-%d", i)
		s := &api.SpawnRequest{Kind: "claude", Headless: i%2 == 0, Restart: "never", Dir: filepath.Join(x.dir, "work"), Prompt: "fake work 1h"}
		o, err := c.Order(x.Context(), api.OrderRequest{Do: "spawn", Agent: name, Spawn: s})
		if err != nil {
			x.Fatal(err)
		}
		ids[name] = o.ID
	}
	for name, id := range ids {
		await(x.T, x.said.String, func() bool { o, err := c.OrderState(x.Context(), id); return err == nil && o.State == "done" })
		pid := x.pidOf(name)
		s, err := procstat.Read("/proc", pid)
		if err != nil {
			x.Fatal(err)
		}
		x.workers[name] = workerAt{pid, s.Start}
	}
}

// isPutBack cuts an upgrade off, and wants everything as before.
func (x *exchanged) isPutBack(t *testing.T, c cut, victim string) {
	x.within(t, func() {
		stop := x.blind()
		cmd, said := x.upgrading(x.archive)
		x.soon(said.String, func() bool { return c.is(x) })
		<-time.After(time.Duration(x.random.Int64N(int64(c.later) + 1)))
		if err := syscall.Kill(presence.Find(x.cfg.StateDir), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		x.die(victim)
		if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "0.2.0 did not prove itself, and 0.1.0 is back") {
			t.Errorf("%v\n%s", err, said)
		}
		x.isAsBefore()
		x.toldOnce(victim)
		x.gap(stop())
	})
}

// within has what a town says be said of a part of the test.
func (x *exchanged) within(t *testing.T, do func()) {
	whole := x.town.T
	x.town.T = t
	defer func() { x.town.T = whole }()
	do()
}

// soon waits for something that is over in a moment.
func (x *exchanged) soon(what func() string, is func() bool) {
	x.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); !is(); {
		select {
		case <-late:
			x.Fatalf("it did not come about:\n%s\n%s", what(), x.said)
		case <-tick.C:
		}
	}
}

// isAsBefore wants 0.1.0 in place, watching, with a ledger that it reads, and its agents.
func (x *exchanged) isAsBefore() {
	x.Helper()
	if x.version() != "0.1.0" || x.town.schema() != x.schema {
		x.Errorf("the daemon is %q, and the ledger of schema %d\n%s", x.version(), x.town.schema(), x.said)
	}
	for _, name := range release.Programs() {
		if want, is := sumOf(x.T, filepath.Join(x.before, name)), sumOf(x.T, filepath.Join(x.bin, name)); want != is {
			x.Errorf("%s is not that of 0.1.0", name)
		}
	}
	x.nothingLeft()
	x.sameWorkers()
}

// nothingLeft wants an upgrade to be over, and nothing beside the programs.
func (x *exchanged) nothingLeft() {
	x.Helper()
	if s, err := upgrade.ReadState(x.cfg.StateDir); err != nil || s.Open() {
		x.Errorf("the upgrade is not over: %+v, %v", s, err)
	}
	if all, err := os.ReadDir(x.bin); err != nil || len(all) != 3 {
		x.Errorf("something lies beside the programs: %v, %v", all, err)
	}
}

func sumOf(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(text)
}

// gapMost is how long nobody may have watched; gapLate on a machine that does more than it can.
const gapMost, gapLate = 3 * time.Second, time.Minute

func (x *exchanged) gap(is time.Duration) {
	x.Helper()
	load, most := loaded(x.T), gapMost
	if load > float64(runtime.NumCPU()) {
		most = gapLate
	}
	x.Logf("at load %.1f nobody watched for %v", load, is.Round(10*time.Millisecond))
	if is > most {
		x.Errorf("at load %.1f nobody watched for %v, want %v", load, is, most)
	}
}

// isMended kills daemon and upgrade while one of the programs is the new one: so it is laid.
func (x *exchanged) isMended(t *testing.T) {
	x.within(t, func() {
		if err := syscall.Kill(presence.Find(x.cfg.StateDir), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		x.die("worker-9")
		kept := filepath.Join(x.bin, ".custos-upgrade", "old")
		if err := os.MkdirAll(kept, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range release.Programs() {
			if err := os.Link(filepath.Join(x.bin, name), filepath.Join(kept, name)); err != nil {
				t.Fatal(err)
			}
		}
		x.takeNew("custos")
		lay(t, x.cfg.StateDir, "upgrade.json", fmt.Sprintf(`{"from": "0.1.0", "to": "0.2.0", "dir": %q, "schema": %d, "phase": "swapping", "steps": []}`, x.bin, x.schema))
		x.start()
		if want := "an upgrade from 0.1.0 to 0.2.0 was cut off while its programs were exchanged: the old ones are put back"; !strings.Contains(x.said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, x.said)
		}
		x.isAsBefore()
		x.toldOnce("worker-9")
	})
}

// takeNew puts the new one of a program in its place.
func (x *exchanged) takeNew(name string) {
	x.Helper()
	out, err := exec.Command("tar", "-xzf", x.archive, "--strip-components=1", "-C", x.bin, "--unlink-first", (release.Archive{Version: "0.2.0", OS: runtime.GOOS, Arch: runtime.GOARCH}).Folder()+"/"+name).CombinedOutput()
	if err != nil {
		x.Fatalf("%v\n%s", err, out)
	}
}

// isDone has 0.2.0 take over: the same process, the same agents, hooks of before, and the order that waited.
func (x *exchanged) isDone(t *testing.T) {
	x.within(t, func() {
		x.remembers()
		was := presence.Find(x.cfg.StateDir)
		stop := x.blind()
		cmd, said := x.upgrading(x.archive)
		x.soon(said.String, func() bool { return begun("have the daemon go on as the new one")(x) })
		x.die("worker-11")
		if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "Upgraded from 0.1.0 to 0.2.0; the daemon is well") {
			t.Fatalf("%v\n%s\n%s", err, said, x.said)
		}
		x.gap(stop())
		if is := presence.Find(x.cfg.StateDir); x.version() != "0.2.0" || is != was || x.town.schema() == x.schema {
			t.Errorf("the daemon is %s, in process %d, and was in %d\n%s", x.version(), is, was, said)
		}
		x.nothingLeft()
		x.sameWorkers()
		x.toldOnce("worker-11")
		x.oldHookIsHeard(x.before)
		x.nudgeIsDelivered(t, before{nudge: x.nudge}, "worker-1")
	})
}

// remembers has a person confirm what was forgotten, where it was: a ledger that was put back lacks
// what the new daemon had written by then, which is something or nothing, as it comes.
func (x *exchanged) remembers() {
	x.Helper()
	c := x.client()
	all, err := c.Alerts(x.Context(), false)
	if err != nil {
		x.Fatal(err)
	}
	for _, a := range all.Alerts {
		if a.Rule == "self-amnesia" && a.Number > 0 && a.AckedBy == "" {
			if _, err := c.Acknowledge(x.Context(), a.Number, api.AckOrder{}); err != nil {
				x.Error(err)
			}
		}
	}
}

// isRefused: 0.1.0 does not read the ledger any more, and is told which copy of it does.
func (x *exchanged) isRefused(t *testing.T) {
	x.within(t, func() {
		x.archive = releasetest.Make(t, release.Archive{Version: "0.1.0", OS: runtime.GOOS, Arch: runtime.GOARCH}, x.before)
		cmd, said := x.upgrading(x.archive)
		err := cmd.Wait()
		copies, _ := filepath.Glob(filepath.Join(x.cfg.StateDir, "backups", fmt.Sprintf("custos-v%d-*.db", x.schema)))
		if err == nil || len(copies) == 0 || !strings.Contains(said.String(), "the newest backup that it can read is "+copies[len(copies)-1]) || x.version() != "0.2.0" {
			t.Errorf("%v, beside %v:\n%s", err, copies, said)
		}
		x.nothingLeft()
	})
}

// die ends an agent as nobody has asked for.
func (x *exchanged) die(name string) {
	x.Helper()
	if err := syscall.Kill(x.workers[name].pid, syscall.SIGKILL); err != nil {
		x.Fatal(err)
	}
	x.dead = append(x.dead, name)
}

// sameWorkers wants all but the dead to run as the processes they were, and the order to wait.
func (x *exchanged) sameWorkers() {
	x.Helper()
	for name, was := range x.workers {
		if slices.Contains(x.dead, name) {
			continue
		}
		if s, err := procstat.Read("/proc", was.pid); err != nil || s.Start != was.start {
			x.Errorf("%s was process %d since %d, and that is %+v, %v", name, was.pid, was.start, s, err)
		}
		await(x.T, func() string { return fmt.Sprintf("%s was %d and is %+v\n%s", name, was.pid, x.agent(name), x.said) }, func() bool { return x.agent(name).PID == was.pid })
	}
	// One that is just forked to run a hook is called as its agent, for a moment.
	alive := func() string {
		return fmt.Sprintf("%d processes of agents, want %d", len(claudes(x.T)), len(x.workers)-len(x.dead))
	}
	await(x.T, alive, func() bool { return len(claudes(x.T)) == len(x.workers)-len(x.dead) })
	if o, err := x.client().OrderState(x.Context(), x.nudge.ID); err != nil || o.State != "queued" {
		x.Errorf("the order was queued, and is %+v, %v", o, err)
	}
}

// toldOnce wants one alert of each death that there was, of which people were told once.
func (x *exchanged) toldOnce(name string) {
	x.Helper()
	await(x.T, func() string { return fmt.Sprintf("%v\n%s", x.told(), x.said) }, func() bool { return x.told()[name] > 0 })
	for _, name := range x.dead {
		mine := slices.DeleteFunc(x.alerts("agent-crashed"), func(a api.Alert) bool { return !strings.HasSuffix(a.Subject, "/"+name) })
		if len(mine) != 1 || !strings.Contains(mine[0].Summary, "signal 9") {
			x.Errorf("%d alerts of %s: %+v", len(mine), name, mine)
		}
		if n := x.told()[name]; n != 1 {
			x.Errorf("people were told %d times of %s", n, name)
		}
	}
}

// told is how many messages told of the death of each agent. One that is tried again is the same.
func (x *exchanged) told() map[string]int {
	x.Helper()
	text, _ := os.ReadFile(filepath.Join(x.dir, "told.json")) // where none was told there is none
	count, seen := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var m fleet.Message
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			x.Fatalf("%v: %s", err, line)
		}
		if seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		for _, name := range x.dead {
			if strings.Contains(m.Subject+"\n"+m.Body+"\n", name+" ") {
				count[name]++
			}
		}
	}
	return count
}

// oldHookIsHeard has the hook of the programs before tell something.
func (w *town) oldHookIsHeard(dir string) {
	w.Helper()
	cmd := exec.Command(filepath.Join(dir, "custos-hook"), "--run", w.cfg.RuntimeDir, "claude", "Notification")
	cmd.Stdin, cmd.Env = strings.NewReader(`{"session_id":"of-the-release-before","message":"hello"}`), w.up.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Errorf("the hook of the version before: %v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(w.cfg.RuntimeDir, "spool", "*")); len(left) > 0 {
		w.Errorf("it was not heard, and spooled: %v", left)
	}
}

// schema is that of the ledger.
func (w *town) schema() (v int) {
	db, err := sql.Open("sqlite", "file:"+w.cfg.StateDir+"/custos.db?mode=ro")
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	_ = db.QueryRow("PRAGMA user_version").Scan(&v) // of one that is just written none is known
	return v
}

// schemaNow is the schema that programs know.
func schemaNow(t *testing.T, dir string) int {
	t.Helper()
	out, err := exec.Command(filepath.Join(dir, "custos"), "version", "--json").Output()
	var v api.Version
	if err := errors.Join(err, json.Unmarshal(out, &v)); err != nil {
		t.Fatal(err)
	}
	return v.Schema
}

// comesDown takes the daemon down that custos upgrade has started, which is nobody's child here.
func (w *town) comesDown() {
	w.Helper()
	cmd := exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "down")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Errorf("down: %v\n%s", err, out)
	}
}
