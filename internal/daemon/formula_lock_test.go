package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"custos/internal/sys/shim"
)

// cronScript takes a lock as the seed's cron scripts do: acquire_cron_lock is theirs
// (lib/formula-session.sh), word by word.
const cronScript = `#!/usr/bin/env bash
log() { echo "$*"; }
acquire_cron_lock() {
  _CRON_LOCK_FILE="$1"
  if [ -f "$_CRON_LOCK_FILE" ]; then
    local lock_pid
    lock_pid=$(cat "$_CRON_LOCK_FILE" 2>/dev/null || true)
    if [ -n "$lock_pid" ] && kill -0 "$lock_pid" 2>/dev/null; then
      log "run: already running (PID $lock_pid)"
      exit 0
    fi
    rm -f "$_CRON_LOCK_FILE"
  fi
  echo $$ > "$_CRON_LOCK_FILE"
  trap 'rm -f "$_CRON_LOCK_FILE"' EXIT
}
acquire_cron_lock "$1"
echo "run: it is mine"
read -r _ || true
`

// lockedRun is a run that waits in its one step until it is let go on.
const lockedRun = `name = "locked"
mode = "steps"
lock = "f.lock"
[[steps]]
id = "one"
run = '''
echo 1 > one.lines
while [ ! -e go ]; do sleep 0.02; done
'''
`

// lockTown is a town whose factory has a cron script that takes the lock of a run.
type lockTown struct{ *crashTown }

func newLockTown(t *testing.T) lockTown {
	t.Helper()
	w := lockTown{&crashTown{town: newTown(t, "[locks]\nforeign_namespace = false\n")}} // this world is a pid namespace of its own
	w.write("cron.sh", cronScript)
	return w
}

// cron is what the factory's script says now.
func (w lockTown) cron() string {
	w.Helper()
	out, err := exec.Command("bash", filepath.Join(w.dir, "cron.sh"), w.work("f.lock")).CombinedOutput()
	if err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// holder is the pid in the lock; "" where there is none.
func (w lockTown) holder() string {
	b, _ := os.ReadFile(w.work("f.lock")) // none is empty
	return strings.TrimSpace(string(b))
}

// cronHolds has the factory's script take the lock and keep it; it returns its pid,
// and what lets it end.
func (w lockTown) cronHolds() (pid string, end func()) {
	w.Helper()
	cmd := exec.Command("bash", filepath.Join(w.dir, "cron.sh"), w.work("f.lock"))
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.Fatal(err)
	}
	end = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	w.Cleanup(end)
	pid = strconv.Itoa(cmd.Process.Pid)
	await(w.T, func() string { return "the script did not take the lock: " + w.holder() }, func() bool { return w.holder() == pid })
	return pid, end
}

func (w lockTown) awaitHolder(pid string) {
	w.Helper()
	await(w.T, func() string { return fmt.Sprintf("the lock holds %q, want %q\n%s", w.holder(), pid, w.said) }, func() bool { return w.holder() == pid })
}

func (w lockTown) letGoOn() {
	w.Helper()
	if err := os.WriteFile(w.work("go"), nil, 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w lockTown) pid() string { return strconv.Itoa(w.up.Process.Pid) }

// While Custos does a cron job's work, the job finds its lock held; a daemon that was
// killed and comes back holds it again; after the run it is the job's.
func TestCronFindsItsLockHeld(t *testing.T) {
	w := newLockTown(t)
	w.begin("c", lockedRun)
	w.awaitMoment("one", "lines")
	if said, want := w.cron(), "run: already running (PID "+w.pid()+")"; said != want {
		t.Fatalf("the cron job says %q, want %q", said, want)
	}
	w.kill()
	w.start()
	w.awaitHolder(w.pid())
	if said, want := w.cron(), "run: already running (PID "+w.pid()+")"; said != want {
		t.Errorf("after a crash the cron job says %q, want %q", said, want)
	}
	w.letGoOn()
	w.awaitRun("done")
	w.awaitHolder("")
	if said := w.cron(); said != "run: it is mine" {
		t.Errorf("after the run the cron job says %q", said)
	}
	w.nothingBeside()
}

// nothingBeside: no file is left beside where the lock was.
func (w lockTown) nothingBeside() {
	w.Helper()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(w.work("f.lock")), ".*"))
	if err != nil || len(left) > 0 {
		w.Errorf("%v are left; %v", left, err)
	}
}

// A lock that the dead left is taken as the cron job would take it, and one of the
// living never: its run is skipped.
func TestLockOfTheDeadAndOfTheLiving(t *testing.T) {
	w := newLockTown(t)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	w.run = "locked-d"
	if err := os.MkdirAll(w.work(""), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.work("f.lock"), []byte(strconv.Itoa(ended.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.begin("d", lockedRun)
	w.awaitMoment("one", "lines")
	if got := w.holder(); got != w.pid() {
		t.Errorf("the lock of the dead names %q, want %s", got, w.pid())
	}
	w.letGoOn()
	w.awaitRun("done")
	w.awaitHolder("")
	w.run = "locked-l"
	if err := os.MkdirAll(w.work(""), 0o755); err != nil {
		t.Fatal(err)
	}
	pid, end := w.cronHolds()
	w.begin("l", lockedRun)
	if run := w.awaitRun("skipped", "done"); run.State != "skipped" || !strings.Contains(run.Why, "process "+pid) || w.holder() != pid {
		t.Errorf("%+v, and the lock names %q", run, w.holder())
	}
	end()
}

// What a cron job took while no daemon lived stays the job's: the run goes on, says
// so, and removes no lock that is not its own.
func TestLockTakenInBetweenIsNotOurs(t *testing.T) {
	w := newLockTown(t)
	w.begin("b", lockedRun)
	w.awaitMoment("one", "lines")
	w.kill()
	pid, end := w.cronHolds()
	w.start()
	await(t, w.said.String, func() bool {
		run, ok := w.state()
		return ok && strings.Contains(run.Why, "its lock is held by process "+pid)
	})
	w.letGoOn()
	w.awaitRun("done")
	w.patrol()
	if w.holder() != pid {
		t.Errorf("the lock of %s names %q", pid, w.holder())
	}
	end()
	if all, err := shim.List(filepath.Dir(w.folder("", 1))); err != nil || len(all) != 1 {
		t.Errorf("%d attempts, %v", len(all), err)
	}
}
