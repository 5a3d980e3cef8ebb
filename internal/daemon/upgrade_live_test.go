package daemon_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aead.dev/minisign"

	"custos/internal/api"
	"custos/internal/release"
	"custos/internal/sys/presence"
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

// released makes an archive of programs, as a release is, signed by a key that lies beside it.
func released(t *testing.T, version, programs string) (archive string) {
	t.Helper()
	dir, a := t.TempDir(), release.Archive{Version: version, OS: runtime.GOOS, Arch: runtime.GOARCH}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, name := range release.Programs() {
		text, err := os.ReadFile(filepath.Join(programs, name))
		if err != nil {
			t.Fatal(err)
		}
		err = w.WriteHeader(&tar.Header{Name: a.Folder() + "/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))})
		_, bad := w.Write(text)
		if err := errors.Join(err, bad); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := public.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	sums := release.Sums{a.Name(): sha256.Sum256(b.Bytes())}.Text()
	lay(t, dir, a.Name(), b.String())
	lay(t, dir, release.SumsName, string(sums))
	lay(t, dir, release.SignatureName, string(minisign.SignWithComments(private, sums, release.Comment(version), "a test")))
	lay(t, dir, "custos.pub", string(key)+"\n")
	return filepath.Join(dir, a.Name())
}

// upgrading runs custos upgrade as a person does; it is to be waited for.
func (w *town) upgrading(archive string) (cmd *exec.Cmd, said *writer) {
	w.Helper()
	said = &writer{}
	cmd = exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "upgrade", "--from", archive, "--key", filepath.Join(filepath.Dir(archive), "custos.pub"))
	cmd.Env = w.up.Env
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return cmd, said
}

// blind measures how long no daemon answers, at most, until it is told to stop.
func (w *town) blind() (stop func() time.Duration) {
	end, result := make(chan struct{}), make(chan time.Duration)
	go func() {
		var longest time.Duration
		last, tick := time.Now(), time.NewTicker(20*time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := status(w.Context(), w.cfg); err == nil {
				longest, last = max(longest, time.Since(last)), time.Now()
			}
			select {
			case <-end:
				result <- longest
				return
			case <-tick.C:
			}
		}
	}()
	return func() time.Duration { close(end); return <-result }
}

// version is that of the daemon there is; "" for none.
func (w *town) version() string {
	s, err := status(w.Context(), w.cfg)
	if err != nil {
		return ""
	}
	return s.Version
}

// TestAnUpgradeThatNoAgentNotices: 20 agents work under 0.1.0; 0.2.0 takes over, in the same
// process, and one dies in the gap; then 0.3.0, whose ledger is newer, is killed as it proves
// itself, and 0.2.0 is back with its ledger. Orders in flight survive both.
func TestAnUpgradeThatNoAgentNotices(t *testing.T) {
	first, second, third := built(t, "0.1.0", ""), built(t, "0.2.0", ""), built(t, "0.3.0", "ALTER TABLE agents ADD COLUMN more TEXT;")
	w := foundTown(t, loopConfig)
	w.bin = first
	w.start()
	pids := map[string]int{}
	for i := range liveAgents {
		name := fmt.Sprintf("worker-%d", i)
		w.spawnTold(name, i%2 == 0)
		pids[name] = w.pidOf(name)
	}
	w.awaitState("worker-1", "working")
	nudge, err := w.client().Order(t.Context(), api.OrderRequest{Do: "nudge", Agent: "worker-1", Text: "fake reply thanks"})
	if err != nil || nudge.State != "queued" {
		t.Fatalf("the nudge of an agent that works: %+v, %v", nudge, err)
	}
	daemon := presence.Find(w.cfg.StateDir)

	stop := w.blind()
	cmd, said := w.upgrading(released(t, "0.2.0", second))
	await(t, said.String, func() bool { return w.version() != "0.1.0" }) // the gap
	w.die(pids, "worker-3")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, said, w.said)
	}
	gap := stop()
	if is := presence.Find(w.cfg.StateDir); w.version() != "0.2.0" || is != daemon || !strings.Contains(said.String(), "Upgraded from 0.1.0 to 0.2.0; the daemon is well") {
		t.Errorf("the daemon is %s, in process %d, and was in %d\n%s", w.version(), is, daemon, said)
	}
	t.Logf("blind for %v", gap)
	if gap > 3*time.Second {
		t.Errorf("nobody watched for %v", gap)
	}
	w.sameWorkers(pids, nudge, "worker-3")
	w.toldOnce("worker-3")
	w.oldHookIsHeard(first)

	stop = w.blind()
	cmd, said = w.upgrading(released(t, "0.3.0", third))
	await(t, said.String, func() bool { return w.version() == "0.3.0" || w.schema() > schemaNow(t, first) })
	if err := syscall.Kill(daemon, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.die(pids, "worker-5")
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "0.3.0 did not prove itself, and 0.2.0 is back") {
		t.Errorf("a new daemon that was killed: %v\n%s", err, said)
	}
	gap = stop()
	t.Logf("blind for %v, when it was killed", gap)
	if w.version() != "0.2.0" || w.schema() != schemaNow(t, first) {
		t.Errorf("the daemon is %q, and the ledger of schema %d\n%s", w.version(), w.schema(), said)
	}
	w.sameWorkers(pids, nudge, "worker-3", "worker-5")
	w.toldOnce("worker-5")
	w.comesDown()
}

// die ends an agent as nobody has asked for.
func (w *town) die(pids map[string]int, name string) {
	w.Helper()
	if err := syscall.Kill(pids[name], syscall.SIGKILL); err != nil {
		w.Fatal(err)
	}
}

// sameWorkers wants all but the dead to run as the processes they were, and the order to wait.
func (w *town) sameWorkers(pids map[string]int, order api.Order, dead ...string) {
	w.Helper()
	for name, pid := range pids {
		if slices.Contains(dead, name) {
			continue
		}
		await(w.T, func() string { return fmt.Sprintf("%s was %d and is %+v\n%s", name, pid, w.agent(name), w.said) }, func() bool { return w.agent(name).PID == pid })
	}
	if got := claudes(w.T); len(got) != len(pids)-len(dead) {
		w.Errorf("%d processes of agents, want %d", len(got), len(pids)-len(dead))
	}
	if o, err := w.client().OrderState(w.Context(), order.ID); err != nil || o.State != "queued" {
		w.Errorf("the order was queued, and is %+v, %v", o, err)
	}
}

// toldOnce wants one alert of a death.
func (w *town) toldOnce(name string) {
	w.Helper()
	mine := func() (found []api.Alert) {
		return slices.DeleteFunc(w.alerts("agent-crashed"), func(a api.Alert) bool { return !strings.HasSuffix(a.Subject, "/"+name) })
	}
	await(w.T, w.said.String, func() bool { return len(mine()) > 0 })
	if all := mine(); len(all) != 1 || !strings.Contains(all[0].Summary, "signal 9") {
		w.Errorf("%d alerts of %s: %+v", len(all), name, all)
	}
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
