package daemon_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
	"custos/internal/daemon"
)

// TestNight is a night on real tmux and real processes: the terminal server is
// killed, agents are ended from outside, several at once, ten at once; the daemon is
// killed again and again, the disk of the state is full for a while, custos.toml is
// broken for a while; and a person spawns, nudges and stops throughout, by the
// command line. Then nothing was silent, nothing doubled, every order answered, and
// what is wanted runs.
//
// CUSTOS_NIGHT_FOR is how long it is (10m: the daemon is killed 30 times),
// CUSTOS_NIGHT_SEED makes the same night again.
func TestNight(t *testing.T) {
	inTown(t)
	lasts, err := time.ParseDuration(orElse(os.Getenv("CUSTOS_NIGHT_FOR"), "10m"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(orElse(os.Getenv("CUSTOS_NIGHT_SEED"), strconv.FormatInt(time.Now().UnixNano()%1e6, 10)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	n := newNight(t, seed)
	t.Logf("the night of seed %d, %s", seed, lasts)
	defer n.tellStory()
	n.populate()
	ctx, over := context.WithCancel(t.Context())
	var others sync.WaitGroup
	others.Go(func() { n.person(ctx) })
	others.Go(func() { n.watch(ctx) })
	n.happen(lasts)
	over()
	others.Wait()
	n.dawn()
}

// A patrol as often as can be: as often, what a daemon has in memory is held against its ledger.
const nightToml = `patrol_every = "10s"
budget = "5000 in 1h"
blast = 0
[agents]
every = "2s"
[limits]
hold = "1s"
settle = "500ms"
stagger = "0s"
spawn_memory = "0"
[launch]
min_free = "1MiB"
[recover]
settle = "500ms"
[rule.agent-crashed]
attempts = "1000 in 1h"
cooldown = "1s"
`

// night is a town, who is to run in it, and what happened.
type night struct {
	*town
	dice    *rand.Rand
	began   time.Time
	daemons []*writer // what each daemon said

	mu      sync.Mutex
	epoch   int              // counts the starts and ends of daemons
	ill     bool             // the disk is full, or a daemon is down
	joined  map[string]int   // how many of them ended with the terminal server
	wanted  map[string]bool  // an agent: it is to run
	stopped map[string]bool  // a person was told that it is
	busy    map[string]bool  // a person is about to do something to it
	ended   map[string][]int // the processes of an agent that no person ended
	nudges  map[string]bool  // a text: a person was told that it is acknowledged
	answers []time.Duration  // how long orders took to be answered
	story   []string
	faults  []string
}

func newNight(t *testing.T, seed uint64) *night {
	w := foundTown(t, nightToml)
	w.mount("48m")
	n := &night{town: w, dice: rand.New(rand.NewPCG(seed, 11)), began: time.Now(), wanted: map[string]bool{}, stopped: map[string]bool{},
		joined: map[string]int{}, busy: map[string]bool{}, ended: map[string][]int{}, nudges: map[string]bool{}}
	n.rise()
	return n
}

func (n *night) tell(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.story = append(n.story, fmt.Sprintf("%7.1fs ", time.Since(n.began).Seconds())+fmt.Sprintf(format, args...))
}

// fault is what must not be; it is told, and the night goes on.
func (n *night) fault(format string, args ...any) {
	n.tell("FAULT: "+format, args...)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, fmt.Sprintf(format, args...))
}

func (n *night) tellStory() {
	for _, f := range n.faults {
		n.Errorf("%s", f)
	}
	if n.Failed() {
		n.Logf("the story:\n%s", strings.Join(n.story, "\n"))
		last := n.said.String()
		n.Logf("the last daemon said:\n%s", last[max(0, len(last)-4000):])
	}
}

// rise starts a daemon, and fall kills one.
func (n *night) rise() {
	n.town.start()
	n.daemons = append(n.daemons, n.said)
	n.turn(false, "a daemon runs, process %d", n.up.Process.Pid)
}

func (n *night) fall() {
	n.turn(true, "the daemon is killed")
	n.kill()
}

// turn notes that from now on a person's orders may, or may not, come to nothing.
func (n *night) turn(ill bool, format string, args ...any) {
	n.mu.Lock()
	n.epoch, n.ill = n.epoch+1, ill
	n.mu.Unlock()
	n.tell(format, args...)
}

// populate starts ten agents in terminals, and two without.
func (n *night) populate() {
	for i := range 10 {
		n.spawn(fmt.Sprintf("a%02d", i), "reply hello", false)
		n.wanted[fmt.Sprintf("a%02d", i)] = true
	}
	sleeper := n.script("sleeper", "while :; do sleep 1; done")
	for _, name := range []string{"h00", "h01"} {
		if out, code, _ := n.types("spawn", name, "--headless", "--dir", filepath.Join(n.dir, "work"), "--", sleeper); code != 0 {
			n.Fatalf("spawn %s: %d: %s", name, code, out)
		}
		n.wanted[name] = true
	}
	n.tell("twelve agents run")
}

// types is a command of the person; took is how long it was until it ended.
func (n *night) types(args ...string) (out string, code int, took time.Duration) {
	c := exec.Command(filepath.Join(n.bin, "custos"), append([]string{"--config", filepath.Join(n.dir, "custos.toml")}, args...)...)
	c.Env = append(os.Environ(), "CUSTOS_COMPARE=1ms", "HOME="+n.dir, "PATH="+filepath.Dir(agenttest.Build(n))+":"+os.Getenv("PATH"))
	began := time.Now()
	b, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		n.fault("custos %v: %v", args, err)
		return err.Error(), -1, 0
	}
	return strings.TrimSpace(string(b)), c.ProcessState.ExitCode(), time.Since(began)
}

// ---- what happens ---------------------------------------------------------

// happen lets the night pass: every second thing is the end of a daemon.
func (n *night) happen(lasts time.Duration) {
	things := []func(time.Duration){n.outsider, n.oom, n.server, n.noRoom, n.nonsense, n.ten}
	count := max(12, int(lasts/(10*time.Second)))
	gap := lasts / time.Duration(count)
	for i := range count {
		next := time.After(gap)
		if i%2 == 0 {
			n.fall()
			if n.dice.IntN(3) == 0 {
				n.ends(1, syscall.SIGKILL, "while no daemon runs")
			}
			<-time.After(time.Duration(n.dice.IntN(2000)) * time.Millisecond) // people and agents have that long without one
			n.rise()
		} else {
			if i/2%len(things) == 0 {
				n.dice.Shuffle(len(things), func(a, b int) { things[a], things[b] = things[b], things[a] })
			}
			things[i/2%len(things)](gap)
			n.reread()
		}
		<-next
	}
}

// reread has the daemon begin anew in its process: what it had in memory is then
// compared with what is written.
func (n *night) reread() {
	n.tell("the daemon is to read its configuration")
	n.signal(syscall.SIGHUP)
}

// outsider ends agents by a signal that a person could have sent.
func (n *night) outsider(time.Duration) { n.ends(2, syscall.SIGTERM, "from outside") }

func (n *night) oom(time.Duration) { n.ends(3, syscall.SIGKILL, "as for want of memory") }

func (n *night) ten(time.Duration) { n.ends(10, syscall.SIGKILL, "at once") }

// server kills the terminal server, and so all agents in it.
func (n *night) server(time.Duration) {
	out, err := exec.Command("tmux", "-S", filepath.Join(n.cfg.RuntimeDir, "tmux.sock"), "display-message", "-p", "#{pid}").Output()
	pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || pid <= 1 {
		n.tell("there is no terminal server to kill: %v", err)
		return
	}
	for name, p := range n.running() {
		if !strings.HasPrefix(name, "h") && n.endedBy(name, p) {
			n.joined[name]++
		}
	}
	n.tell("the terminal server is killed, process %d", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// noRoom fills the disk of the state for half of the time until the next thing.
func (n *night) noRoom(gap time.Duration) {
	n.turn(true, "the disk is full")
	n.fill()
	for _, c := range []string{"health", "status", "ps"} {
		if out, code, took := n.types(c); code < 0 || out == "" || took > 15*time.Second {
			n.fault("with a full disk, %s ended with %d after %v: %s", c, code, took, out)
		}
	}
	<-time.After(gap / 2)
	if err := os.Remove(filepath.Join(n.dir, "s", "filler")); err != nil {
		n.Fatal(err)
	}
	n.turn(false, "the disk has room again")
}

// nonsense breaks custos.toml for half of the time until the next thing.
func (n *night) nonsense(gap time.Duration) {
	file := filepath.Join(n.dir, "custos.toml")
	good, err := os.ReadFile(file)
	if err != nil {
		n.Fatal(err)
	}
	n.tell("custos.toml is broken")
	n.rewrite("mode = auto = observe\n[")
	<-time.After(gap / 2)
	if err := os.WriteFile(file, good, 0o600); err != nil {
		n.Fatal(err)
	}
	n.tell("custos.toml is good again")
}

// ends ends some agents that are to run and do, by a signal.
func (n *night) ends(count int, signal syscall.Signal, how string) {
	running := n.running()
	names := make([]string, 0, len(running))
	for name := range running {
		names = append(names, name)
	}
	slices.Sort(names)
	n.dice.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
	for _, name := range names[:min(count, len(names))] {
		if !n.endedBy(name, running[name]) {
			continue
		}
		n.tell("%s, process %d, is sent %v %s", name, running[name], signal, how)
		_ = syscall.Kill(running[name], signal)
	}
}

// endedBy notes that a process of an agent ends that no person ends; not one that a
// person is about to stop.
func (n *night) endedBy(name string, pid int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.wanted[name] || n.busy[name] || slices.Contains(n.ended[name], pid) {
		return false
	}
	n.ended[name] = append(n.ended[name], pid)
	return true
}

// ---- the person -----------------------------------------------------------

// person spawns, nudges and stops until the night is over.
func (n *night) person(ctx context.Context) {
	dice := rand.New(rand.NewPCG(uint64(len(n.wanted)), 12))
	for i := 0; ctx.Err() == nil; i++ {
		_, _, calm := n.types("version") // how slow this machine is just now
		mine := n.chosen("p")
		switch k := dice.IntN(4); {
		case k == 0 && len(mine) < 3 || len(mine) == 0:
			n.spawns(fmt.Sprintf("p%03d", i), calm)
		case k == 1:
			n.stops(mine[0], calm)
		default:
			all := n.chosen("a")
			n.says(all[dice.IntN(len(all))], fmt.Sprintf("nudge-%04d-", i), calm)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(dice.IntN(1500)) * time.Millisecond):
		}
	}
}

// chosen lists the agents that are to run whose name begins so.
func (n *night) chosen(prefix string) (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, is := range n.wanted {
		if is && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (n *night) spawns(name string, calm time.Duration) {
	_, code := n.orders(calm, "spawn", name, "--kind", "claude", "--dir", filepath.Join(n.dir, "work"), "--prompt", "fake reply hello")
	n.mu.Lock()
	defer n.mu.Unlock()
	if code == 0 { // one that is queued, or of which nobody heard, may come to nothing
		n.wanted[name] = true
	}
}

func (n *night) stops(name string, calm time.Duration) {
	n.mu.Lock()
	n.busy[name] = true
	n.mu.Unlock()
	_, code := n.orders(calm, "stop", name)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.busy, name)
	switch code {
	case 0:
		n.wanted[name], n.stopped[name] = false, true
	case 4: // it is under way
		n.wanted[name] = false
	}
}

func (n *night) says(name, text string, calm time.Duration) {
	_, code := n.orders(calm, "nudge", name, "fake reply "+text)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nudges[text] = code == 0
}

// answerIn is how soon an order is answered while a daemon lives and can write: it
// is done, refused with its cause, or said to be under way or what holds it.
const answerIn = 2 * time.Second

// asksToWait is how long a person waits for an order that is held back.
const asksToWait = time.Second

// orders gives an order, and holds what came of it against what was promised. A
// machine on which even a command that does nothing takes long is given as much more.
func (n *night) orders(calm time.Duration, args ...string) (string, int) {
	n.mu.Lock()
	was, ill := n.epoch, n.ill
	n.mu.Unlock()
	out, code, took := n.types(append([]string{"--wait", asksToWait.String()}, args...)...)
	if code == 4 {
		took -= asksToWait // it was answered then; the person had asked to wait for more
	}
	n.mu.Lock()
	ill = ill || n.ill || n.epoch != was
	if !ill {
		n.answers = append(n.answers, took)
	}
	n.mu.Unlock()
	n.tell("a person: %s: %d after %v: %s", strings.Join(args[:2], " "), code, took.Round(time.Millisecond), strings.ReplaceAll(out, "\n", " | "))
	switch {
	case code == 4 && !strings.Contains(out, "Under way") && !strings.Contains(out, "("):
		n.fault("%v is queued without a word: %s", args, out)
	case code != 0 && out == "":
		n.fault("%v ended with %d and without a word", args, code)
	case ill:
	case code != 0 && code != 2 && code != 4:
		n.fault("a daemon runs, and %v ended with %d: %s", args, code, out)
	case took > answerIn+10*calm:
		n.fault("%v was answered after %v, where nothing takes %v", args, took, calm)
	}
	return out, code
}

// ---- who looks on ---------------------------------------------------------

// process is one of the town, as the kernel lists it.
type process struct {
	pid   int
	agent string
}

// processes lists the agents' own processes: children of a shim, each with the name of
// its agent. It needs no daemon.
func (n *night) processes() (list []process) {
	for _, pid := range n.inhabitants() {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		stat, err2 := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil || err2 != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parent, _ := os.ReadFile(filepath.Join("/proc", fields[1], "comm"))
		if strings.TrimSpace(string(parent)) != "custos-shim" {
			continue
		}
		for kv := range strings.SplitSeq(string(env), "\x00") {
			if name, ok := strings.CutPrefix(kv, "CUSTOS_AGENT="); ok {
				name, _, _ = strings.Cut(name, ":")
				list = append(list, process{pid, name})
			}
		}
	}
	return list
}

// running is the process of each agent of which one runs.
func (n *night) running() map[string]int {
	of := map[string]int{}
	for _, p := range n.processes() {
		of[p.agent] = p.pid
	}
	return of
}

// watch sees to it that no agent runs twice, and none that was stopped. What is seen
// once may be about to end.
func (n *night) watch(ctx context.Context) {
	last := map[int]bool{}
	for ctx.Err() == nil {
		last = n.glance(last)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// glance returns the processes that should not be there; those that were there at the
// last glance already are a fault.
func (n *night) glance(before map[int]bool) map[int]bool {
	odd, of := map[int]bool{}, map[string][]int{}
	for _, p := range n.processes() {
		of[p.agent] = append(of[p.agent], p.pid)
	}
	for name, pids := range of {
		n.mu.Lock()
		stopped := n.stopped[name]
		n.mu.Unlock()
		if len(pids) < 2 && !stopped {
			continue
		}
		for _, pid := range pids {
			odd[pid] = true
		}
		if !slices.ContainsFunc(pids, func(pid int) bool { return !before[pid] }) {
			n.fault("%s runs as %v; a person stopped it: %v", name, pids, stopped)
		}
	}
	return odd
}

// ---- the morning ----------------------------------------------------------

// dawn waits until the fleet is what is wanted, and judges the night.
func (n *night) dawn() {
	n.tell("the night is over")
	await(n.T, n.unlike, func() bool { return n.unlike() == "" })
	n.tell("the fleet is what is wanted")
	await(n.T, n.open, func() bool { return n.open() == "" })
	n.nothingSilent()
	n.nothingDoubled()
	for _, said := range n.daemons {
		if strings.Contains(said.String(), daemon.MemoryDiffers) {
			n.fault("a daemon said: %s", daemon.MemoryDiffers)
		}
	}
	slices.Sort(n.answers)
	if len(n.answers) == 0 {
		n.fault("nobody was answered while a daemon ran")
		return
	}
	n.Logf("%d daemons, %d orders answered while one ran: median %v, worst %v", len(n.daemons), len(n.answers), n.answers[len(n.answers)/2], n.answers[len(n.answers)-1])
}

// unlike says in what the fleet is not what is wanted.
func (n *night) unlike() string {
	all, err := n.client().Agents(n.Context())
	if err != nil {
		return err.Error()
	}
	var out []string
	running := n.running()
	for name, is := range n.wanted {
		i := slices.IndexFunc(all.Agents, func(a api.AgentRow) bool { return a.Name == name })
		switch {
		case i < 0:
			out = append(out, name+" is not known")
		case is && (running[name] == 0 || all.Agents[i].PID != running[name]) || !is && running[name] != 0:
			out = append(out, fmt.Sprintf("%s wanted %v, runs as %d: %+v", name, is, running[name], all.Agents[i]))
		}
	}
	return strings.Join(out, "\n")
}

// open lists the orders of which nobody was told what became.
func (n *night) open() string {
	list, err := n.client().Orders(n.Context())
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, o := range list.Orders {
		if !o.Over {
			out = append(out, fmt.Sprintf("%+v", o))
		}
	}
	return strings.Join(out, "\n")
}

// nothingSilent: each end that no person made is on record or, where the terminal
// server took the agent with it, told by the alert of that; and each of these agents
// has an alert.
func (n *night) nothingSilent() {
	await(n.T, n.silent, func() bool { return n.silent() == "" })
	total := 0
	for _, pids := range n.ended {
		total += len(pids)
	}
	n.Logf("%d ends that no person made, of %d agents", total, len(n.ended))
}

func (n *night) silent() string {
	all, err := n.client().Failures(n.Context(), "")
	if err != nil {
		return err.Error()
	}
	alerts, err := n.client().Alerts(n.Context(), true)
	if err != nil {
		return err.Error()
	}
	told := func(rule, subject string) bool {
		return slices.ContainsFunc(alerts.Alerts, func(a api.Alert) bool {
			return strings.HasPrefix(a.Rule, rule) && (subject == "" || a.Subject == subject)
		})
	}
	var out []string
	for name, pids := range n.ended {
		instances := map[string]bool{}
		for _, f := range all.Failures {
			if f.Agent == name {
				instances[f.Instance] = true
			}
		}
		alone := len(pids) - n.joined[name]
		if len(instances) < alone || alone > 0 && !told("agent-crash", "agent/"+name) || n.joined[name] > 0 && !told("terminal-server-gone", "") {
			out = append(out, fmt.Sprintf("%s was ended %d times (%v), %d of them with the terminal server, and %d are on record: %v", name, len(pids), pids, n.joined[name], len(instances), instances))
		}
	}
	return strings.Join(out, "\n")
}

// nothingDoubled: each message was read once where its author was told so, and never
// twice, and each order was carried out once.
func (n *night) nothingDoubled() {
	for text, told := range n.nudges {
		if was := n.noted("prompt", text); was > 1 || told && was == 0 {
			n.fault("%s was read %d times; its author was told that it is acknowledged: %v", text, was, told)
		}
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(n.cfg.StateDir, "custos.db")+"?mode=ro")
	if err != nil {
		n.Fatal(err)
	}
	defer db.Close()
	var twice, all int
	const done = "FROM actions WHERE COALESCE(json ->> 'order', '') != '' AND json ->> '$.result.status' = 'done'"
	if err := db.QueryRow("SELECT COUNT(*), COUNT(*) - COUNT(DISTINCT json ->> 'order') "+done).Scan(&all, &twice); err != nil || twice > 0 || all < len(n.wanted) {
		n.fault("of %d orders %d were done more than once (%v)", all, twice, err)
	}
	n.Logf("%d orders were carried out, each once", all)
}
