package daemon_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
	"custos/internal/daemon"
	"custos/internal/sys/procstat"
	"custos/internal/sys/shim"
)

// tenSteps is a run of commands alone: in a row, side by side, safe to repeat and
// not, and one that fails at first. Each step appends the number of its attempt to
// a file of its own.
const tenSteps = `name = "ten"
mode = "steps"
parallel = 2
[[steps]]
id = "s01"
repeat = "safe"
[[steps]]
id = "s02"
needs = ["s01"]
[[steps]]
id = "s03"
needs = ["s02"]
repeat = "safe"
[[steps]]
id = "s04"
needs = ["s02"]
[[steps]]
id = "s05"
needs = ["s03", "s04"]
retries = 2
[[steps]]
id = "s06"
needs = ["s05"]
repeat = "safe"
[[steps]]
id = "s07"
needs = ["s05"]
[[steps]]
id = "s08"
needs = ["s06", "s07"]
[[steps]]
id = "s09"
needs = ["s08"]
repeat = "safe"
[[steps]]
id = "s10"
needs = ["s09"]
`

// counting is what each of the ten steps does; the fifth fails at its first attempt.
const counting = `run = '''
echo "$CUSTOS_ATTEMPT" >> "$CUSTOS_STEP.lines"
sleep 0.0$(( $$ % 10 ))
[ "$CUSTOS_STEP$CUSTOS_ATTEMPT" != s051 ] || exit 3
'''
backoff = "50ms"
`

// withEach adds lines to every step of a formula.
func withEach(formula, lines string) string {
	head, steps, _ := strings.Cut(formula, "[[steps]]\n")
	return head + "[[steps]]\n" + lines + strings.ReplaceAll(steps, "[[steps]]\n", "[[steps]]\n"+lines)
}

// crashTown is a town in which a run is carried out by one daemon after another.
type crashTown struct {
	*town
	run string // its ID
}

func newCrashTown(t *testing.T) *crashTown {
	t.Helper()
	w := &crashTown{town: newTown(t, "")}
	w.kill()
	w.bin = slowShim(t, w.bin, filepath.Join(w.dir, "late"))
	w.start()
	return w
}

// slowShim returns a folder with the same custos, beside which lies a shim that
// takes its time to begin, and comes very late when there is a file late: by then the
// daemon that started it is dead, and the next one has started another for the step.
func slowShim(t *testing.T, bin, late string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "slow")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	script := "#!/bin/sh\nif rm " + late + " 2> /dev/null; then sleep 2; else sleep 0.$(( $$ % 3 )); fi\nexec " + bin + "/custos-shim \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "custos-shim"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"custos", "custos-hook"} {
		if err := os.Link(filepath.Join(bin, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// begin has a run of a formula begun, in a folder of its own.
func (w *crashTown) begin(id, formula string) {
	w.Helper()
	w.Logf("run %s", id)
	work := filepath.Join(w.dir, "work", id)
	if err := os.MkdirAll(work, 0o755); err != nil {
		w.Fatal(err)
	}
	run, err := w.client().RunFormula(w.Context(), api.RunRequest{ID: id, File: filepath.Join(work, "f.toml"), Text: formula, Dir: work})
	if err != nil {
		w.Fatalf("%v\n%s", err, w.said)
	}
	w.run = run.ID
}

// work is the folder that the steps work in.
func (w *crashTown) work(name string) string {
	id := w.run[strings.IndexByte(w.run, '-')+1:]
	return filepath.Join(w.dir, "work", id, name)
}

// folder is that of one attempt at a step.
func (w *crashTown) folder(step string, attempt int) string {
	return filepath.Join(w.dir, "s", "runs", w.run, "steps", fmt.Sprintf("%s.%d", step, attempt))
}

// ignite starts the daemon and does not wait for it: it may be killed as it starts.
func (w *crashTown) ignite() {
	w.Helper()
	said := w.said
	w.up = exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "up")
	w.up.Env = append(os.Environ(), "HOME="+w.dir, "PATH="+filepath.Dir(agenttest.Build(w))+":"+os.Getenv("PATH"))
	w.up.Stdout, w.up.Stderr = said, said
	if err := w.up.Start(); err != nil {
		w.Fatal(err)
	}
}

// state is the run as the daemon tells it; false while there is none to tell.
func (w *crashTown) state() (api.Run, bool) {
	c, err := api.Dial(w.Context(), daemon.Socket(w.cfg))
	if err != nil {
		return api.Run{}, false
	}
	defer c.Close()
	run, err := c.Run(w.Context(), w.run)
	return run, err == nil
}

func (w *crashTown) awaitRun(states ...string) (run api.Run) {
	w.Helper()
	await(w.T, func() string { return fmt.Sprintf("%+v, want %v\n%s", run, states, w.said) }, func() bool {
		is, ok := w.state()
		if ok {
			run = is
		}
		return ok && slices.Contains(states, is.State)
	})
	return run
}

func step(w *crashTown, run api.Run, id string) api.RunStep {
	w.Helper()
	i := slices.IndexFunc(run.Steps, func(s api.RunStep) bool { return s.ID == id })
	if i < 0 {
		w.Fatalf("there is no step %s in %+v", id, run)
	}
	return run.Steps[i]
}

// lines are the attempts that a step wrote down itself, one after the other.
func (w *crashTown) lines(step string) string {
	b, err := os.ReadFile(w.work(step + ".lines"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Fatal(err)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// moments are where the daemon is killed: what appears in the folder of a step's
// first attempt, in this order. Between two of them is every boundary there is:
// planned and not begun, begun and without a record, running, done and not seen.
var moments = []string{"", "claim", "started.json", "lines", "exit.json"}

// awaitMoment waits for what makes a moment of a step.
func (w *crashTown) awaitMoment(step, moment string) {
	file := filepath.Join(w.folder(step, 1), moment)
	if moment == "lines" {
		file = w.work(step + ".lines")
	}
	end := time.Now().Add(time.Minute)
	for {
		if _, err := os.Lstat(file); err == nil {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("step %s did not come to %q\n%s", step, moment, w.said)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// tenAreDone checks that each step did what it does as often as it must.
func (w *crashTown) tenAreDone(run api.Run) {
	w.Helper()
	for _, s := range run.Steps {
		want := "1"
		if s.ID == "s05" {
			want = "1 2"
		}
		if got := w.lines(s.ID); got != want || s.State != "done" {
			w.Errorf("step %s is %s (%s), and wrote %q, want %q", s.ID, s.State, s.Why, got, want)
		}
	}
}

// The daemon is killed at every boundary of every step, and each time another one
// goes on: everything was done once, for how a step ended its shim wrote down.
func TestFormulaKilledAtEveryBoundary(t *testing.T) {
	w := newCrashTown(t)
	kills, hit := 0, map[string]int{}
	all := len(moments)
	if os.Getenv("CUSTOS_TOWN") == "" {
		all = 1
	}
	for offset := range all {
		w.begin(fmt.Sprint("k", offset), withEach(tenSteps, counting))
		for n := range 10 {
			step, moment := fmt.Sprintf("s%02d", n+1), moments[(n+offset)%len(moments)]
			if moment == "" {
				w.write("late", "")
			}
			w.awaitMoment(step, moment)
			hit[w.reached(step)]++
			w.kill()
			kills++
			w.ignite()
		}
		w.tenAreDone(w.awaitRun("done", "failed", "needs a person"))
	}
	t.Logf("%d kills; the step had come to %v", kills, hit)
}

func (w *crashTown) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// reached is the last moment that a step had come to.
func (w *crashTown) reached(step string) (last string) {
	last = "nothing"
	for _, m := range moments {
		file := filepath.Join(w.folder(step, 1), m)
		if m == "lines" {
			file = w.work(step + ".lines")
		}
		if _, err := os.Lstat(file); err == nil {
			last = "folder"
			if m != "" {
				last = m
			}
		}
	}
	return last
}

// The daemon is killed again and again, at random moments, also while it starts.
func TestFormulaKilledAtRandom(t *testing.T) {
	w := newCrashTown(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	w.begin("r", withEach(tenSteps, counting))
	kills := 0
	for ; kills < 20; kills++ {
		for end := time.Now().Add(time.Duration(20+r.IntN(700)) * time.Millisecond); time.Now().Before(end); {
			time.Sleep(time.Millisecond) // deaths come at random moments
		}
		w.kill()
		w.ignite()
	}
	w.tenAreDone(w.awaitRun("done", "failed", "needs a person"))
}

// doubtful is a run whose first three steps wait until they are let go on; those
// that are begun again are not.
const doubtful = `name = "doubt"
mode = "steps"
[[steps]]
id = "safe"
repeat = "safe"
[[steps]]
id = "one"
[[steps]]
id = "two"
[[steps]]
id = "last"
needs = ["safe", "one", "two"]
`

const waiting = `run = '''
echo "$CUSTOS_ATTEMPT" >> "$CUSTOS_STEP.lines"
[ "$CUSTOS_STEP" = last ] || [ "$CUSTOS_ATTEMPT" -gt 1 ] || while [ ! -e go ]; do sleep 0.02; done
'''
backoff = "50ms"
`

// Where nobody can know how a step ended, for its shim was killed too, only what is
// safe is repeated; the rest asks a person, and goes on as that says.
func TestFormulaInDoubt(t *testing.T) {
	for name, crash := range map[string]func(*crashTown){"shims": (*crashTown).killShims, "machine": (*crashTown).crash} {
		t.Run(name, func(t *testing.T) {
			w := &crashTown{town: newTown(t, "")}
			w.begin("d", withEach(doubtful, waiting))
			for _, step := range []string{"safe", "one", "two"} {
				w.awaitMoment(step, "lines")
			}
			w.kill()
			crash(w)
			w.start()
			w.answered(w.awaitRun("needs a person", "failed", "done"))
		})
	}
}

// answered has a person answer for what is in doubt.
func (w *crashTown) answered(run api.Run) {
	w.Helper()
	await(w.T, w.said.String, func() bool {
		var ok bool
		run, ok = w.state()
		return ok && step(w, run, "safe").State == "done" && len(w.alerts("run-needs-person")) == 1
	})
	w.patrol()
	if run, _ = w.state(); run.State != "needs a person" {
		w.Fatalf("%+v", run)
	}
	for _, id := range []string{"one", "two"} {
		if s := step(w, run, id); s.State != "needs a person" || !strings.Contains(s.Why, "in doubt") || w.lines(id) != "1" {
			w.Errorf("%+v, and it wrote %q", s, w.lines(id))
		}
	}
	w.custos("formula", "resume", w.run, "--step", "one", "--as", "done")
	w.custos("formula", "resume", w.run, "--step", "two", "--as", "again")
	w.awaitRun("done")
	for id, want := range map[string]string{"safe": "1 2", "one": "1", "two": "1 2", "last": "1"} {
		if got := w.lines(id); got != want {
			w.Errorf("step %s wrote %q, want %q", id, got, want)
		}
	}
	if left := w.ofRun(); len(left) > 0 {
		w.Errorf("processes %v are left", left)
	}
}

// killShims kills every shim of the run; what they started goes on, and ends when
// nobody sees it.
func (w *crashTown) killShims() {
	w.Helper()
	for _, r := range w.attempts() {
		if err := syscall.Kill(r.Started.Shim.PID, syscall.SIGKILL); err != nil {
			w.Fatal(err)
		}
	}
	if err := os.WriteFile(w.work("go"), nil, 0o600); err != nil {
		w.Fatal(err)
	}
}

// crash ends everything at once, and what comes after is another boot.
func (w *crashTown) crash() {
	w.Helper()
	for _, r := range w.attempts() {
		_ = syscall.Kill(r.Started.Shim.PID, syscall.SIGKILL)
	}
	for len(w.ofRun()) > 0 {
		for _, pid := range w.ofRun() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	const id = "/proc/sys/kernel/random/boot_id"
	other := filepath.Join(w.dir, "boot_id")
	if err := os.WriteFile(other, []byte("0b007000-0000-4000-8000-000000000001\n"), 0o444); err != nil {
		w.Fatal(err)
	}
	if err := unix.Mount(other, id, "", unix.MS_BIND, ""); err != nil {
		w.Skipf("no other boot can be shown here: %v", err)
	}
	w.Cleanup(func() { _ = unix.Unmount(id, unix.MNT_DETACH) })
}

// attempts are the records of all shims of the run.
func (w *crashTown) attempts() []shim.Record {
	w.Helper()
	all, err := shim.List(filepath.Dir(w.folder("", 1)))
	if err != nil || len(all) == 0 {
		w.Fatalf("%v, %v", all, err)
	}
	return all
}

// ofRun lists the living processes of the run's steps, however they left them.
func (w *crashTown) ofRun() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		b, _ := os.ReadFile(f) // empty for one that has ended
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && slices.Contains(strings.Split(string(b), "\x00"), "CUSTOS_RUN_ID="+w.run) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// patrol has two full passes look, and do nothing new.
func (w *crashTown) patrol() {
	w.Helper()
	for range 2 {
		if _, err := w.client().Patrol(w.Context(), api.PatrolOrder{}); err != nil {
			w.Fatal(err)
		}
	}
}

// custos is a command a person types.
func (w *crashTown) custos(args ...string) string {
	w.Helper()
	out, err := exec.Command(filepath.Join(w.bin, "custos"), append([]string{"--config", filepath.Join(w.dir, "custos.toml")}, args...)...).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "needs a person") {
		w.Fatalf("custos %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// badSteps are steps that try to get away, each with what is to become of it.
const badSteps = `name = "bad"
mode = "steps"
parallel = 20
[[steps]]
id = "never"
timeout = "1s"
run = '''
trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ > never.child; exec sleep 1000' &
while :; do sleep 0.1; done
'''
[[steps]]
id = "after"
needs = ["never"]
run = ["true"]
[[steps]]
id = "asleep"
timeout = "1s"
run = "kill -STOP $$"
[[steps]]
id = "leaves"
run = '''
(setsid sh -c 'trap "" TERM; echo $$ > leaves.child; exec sleep 1000' &)
while [ ! -s leaves.child ]; do sleep 0.01; done
'''
[[steps]]
id = "bare"
run = '''
(env -i PATH="$PATH" setsid sh -c 'echo $$ > bare.child; exec sleep 1000' &)
while [ ! -s bare.child ]; do sleep 0.01; done
exit 4
'''
[[steps]]
id = "noisy"
run = "yes 'far too much' | head -c 20000000; yes oops | head -c 9000000 >&2; echo the end"
[[steps]]
id = "itself"
run = "kill -9 $$"
[[steps]]
id = "absent"
run = ["/nonexistent/program"]
[[steps]]
id = "nowhere"
dir = "/nonexistent"
run = ["true"]
`

// Steps that never end, hide, ignore, leave things behind or print without measure
// come to a real end, with the daemon killed while it ends them.
func TestFormulaOfBadSteps(t *testing.T) {
	w := &crashTown{town: newTown(t, "")}
	w.begin("b", badSteps)
	w.awaitMoment("never", "started.json")
	await(t, w.said.String, func() bool {
		run, ok := w.state()
		return ok && strings.Contains(run.Why, "is being ended: it took longer")
	})
	w.kill()
	w.start()
	run := w.awaitRun("failed", "done", "needs a person")
	for id, want := range map[string][2]string{"never": {"failed", "it took longer than 1s"}, "after": {"skipped", "it needs step never"},
		"asleep": {"failed", "it took longer than 1s"}, "leaves": {"done", ""}, "bare": {"failed", "exit status 4"}, "noisy": {"done", ""},
		"itself": {"failed", "signal 9"}, "absent": {"failed", "could not be started"}, "nowhere": {"failed", "/nonexistent"}} {
		if s := step(w, run, id); s.State != want[0] || !strings.Contains(s.Why, want[1]) {
			t.Errorf("%+v, want %v", s, want)
		}
	}
	for _, name := range []string{"never", "leaves", "bare"} {
		text, err := os.ReadFile(w.work(name + ".child"))
		pid, e := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || e != nil || runs(pid) {
			t.Errorf("the child %q of %s runs; %v", text, name, errors.Join(err, e))
		}
	}
	w.noisyIsCapped()
	await(t, w.said.String, func() bool { return len(w.alerts("run-failed")) == 1 })
	if left := w.ofRun(); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// runs says whether a process does; one that has ended and is not reaped does not.
func runs(pid int) bool {
	_, ok := procstat.Living(pid)
	return ok
}

// noisyIsCapped: of what it printed the end is kept, and no more than 4 MiB each.
func (w *crashTown) noisyIsCapped() {
	w.Helper()
	for _, name := range []string{"stdout.log", "stderr.log"} {
		size := int64(0)
		for _, f := range []string{name, name + ".1"} {
			if info, err := os.Stat(filepath.Join(w.folder("noisy", 1), f)); err == nil {
				size += info.Size()
			}
		}
		if size > 4<<20 || size < 1<<20 {
			w.Errorf("%s: %d bytes are kept", name, size)
		}
	}
	// A tail begins with no half of a line, and what came before the end was cut off in one.
	if b, err := shim.Tail(w.folder("noisy", 1), 64); err != nil || !strings.HasSuffix(string(b), "the end\n") {
		w.Errorf("its output ends with %q, %v", b, err)
	}
}
