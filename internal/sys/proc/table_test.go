package proc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/sys/proc"
)

// statLine is a line of /proc/PID/stat with 52 fields.
func statLine(pid, comm string) string {
	return pid + " (" + comm + ") S 1 2 3 34817 -1 4194304 1 2 3 4 10 20 7 8 20 0 1 0 500 1000 30 18446744073709551615" +
		" 11 12 13 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 21 22 23 24 25 26 27 0\n"
}

// fakeProc writes one process into a proc file system of files.
func fakeProc(t *testing.T, root, pid, comm string) string {
	t.Helper()
	dir := filepath.Join(root, pid)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"stat": statLine(pid, comm), "cmdline": "claude\x00-p\x00\x00hi\x00", "status": "Name:\tx\nUid:\t1\t1000\t1\t1\n",
		"cgroup": "3:cpu:/\n2:memory:/slice/a b\n0::/\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"exe": "/usr/bin/x", "cwd": "/tmp/\xff"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func table(t *testing.T, r *proc.Reader) []proc.Info {
	t.Helper()
	rows, err := r.Table(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func find(rows []proc.Info, pid int) *proc.Info {
	for i := range rows {
		if rows[i].ID.PID == pid {
			return &rows[i]
		}
	}
	return nil
}

func TestTableOfFiles(t *testing.T) {
	root := t.TempDir()
	fakeProc(t, root, "42", "a) (b\nc")
	half := fakeProc(t, root, "43", "dies")
	if err := os.Remove(filepath.Join(half, "cmdline")); err != nil { // as when it ends between two reads
		t.Fatal(err)
	}
	r := proc.NewReader(proc.TableOptions{Root: root})
	rows := table(t, r)
	if len(rows) != 1 {
		t.Fatalf("%d processes", len(rows))
	}
	p := rows[0]
	if p.ID != (proc.ID{PID: 42, Start: 500}) || p.Comm != "a) (b\nc" || p.PPID != 1 || p.PGID != 2 || p.SID != 3 ||
		p.TTY != "pts/1" || p.State != "S" || p.CPUTime != 300*time.Millisecond || p.RSS != 30*int64(os.Getpagesize()) {
		t.Errorf("stat is %+v", p.Stat)
	}
	if p.Exe.Path != "/usr/bin/x" || p.CWD.Path != "/tmp/\xff" || strings.Join(p.Args, "|") != "claude|-p||hi" ||
		p.Cgroup != "/slice/a b" || p.HasCPU || p.Age <= 0 {
		t.Errorf("process is %+v", p)
	}
	want := 1000
	if os.Getuid() != 0 { // the folder is ours, and then status is not read
		want = os.Getuid()
	}
	if p.UID != want {
		t.Errorf("user %d, want %d", p.UID, want)
	}
}

func TestNoProcFileSystem(t *testing.T) {
	if rows, err := proc.NewReader(proc.TableOptions{Root: "/nonexistent"}).Table(t.Context()); err == nil {
		t.Errorf("%d processes where there are none", len(rows))
	}
}

// Everybody who asks within the TTL shares one table.
func TestOneTableForAll(t *testing.T) {
	root := t.TempDir()
	fakeProc(t, root, "42", "x")
	r := proc.NewReader(proc.TableOptions{Root: root, TTL: time.Hour})
	var wg sync.WaitGroup
	first := make(chan *proc.Info, 50)
	for range cap(first) {
		wg.Go(func() {
			if rows, err := r.Table(t.Context()); err == nil && len(rows) == 1 {
				first <- &rows[0]
			}
		})
	}
	wg.Wait()
	one := <-first
	for range cap(first) - 1 {
		if other := <-first; other != one {
			t.Fatal("two tables were read")
		}
	}
	fakeProc(t, root, "43", "new")
	if n := len(table(t, r)); n != 1 {
		t.Errorf("%d processes within the TTL, want the table of before", n)
	}
	r.Forget()
	if n := len(table(t, r)); n != 2 {
		t.Errorf("%d processes after Forget, want 2", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Table(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled caller was given a table: %v", err)
	}
}

// One process that does not answer blinds the table once, and itself after that.
func TestHungProcess(t *testing.T) {
	root := t.TempDir()
	fakeProc(t, root, "41", "fine")
	dir := fakeProc(t, root, "42", "hung")
	pipe := filepath.Join(dir, "cmdline")
	_ = os.Remove(pipe)
	if err := unix.Mkfifo(pipe, 0o600); err != nil { // to open it waits for a writer
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if w, err := os.OpenFile(pipe, os.O_RDWR|unix.O_NONBLOCK, 0); err == nil {
			defer w.Close()
			_, _ = w.WriteString("x\x00")
		}
	})
	r := proc.NewReader(proc.TableOptions{Root: root})
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if _, err := r.Table(ctx); err == nil || !strings.Contains(err.Error(), "process 42 does not answer") {
		t.Fatalf("want process 42 named: %v", err)
	}
	rows := table(t, r)
	if len(rows) != 2 || rows[0].Args == nil || rows[1].Args != nil || !strings.Contains(rows[1].Unread, "did not answer") {
		t.Errorf("table is %+v", rows)
	}
}

// child starts a real process and ends it with the test.
func child(t *testing.T, env []string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), env...), t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestRealChild(t *testing.T) {
	cmd := child(t, nil, "sleep", "1000")
	r := proc.NewReader(proc.TableOptions{TTL: time.Nanosecond})
	var p *proc.Info
	for p == nil || p.Comm != "sleep" { // until it runs its program
		p = find(table(t, r), cmd.Process.Pid)
	}
	if p.PPID != os.Getpid() || strings.Join(p.Args, " ") != "sleep 1000" || !strings.HasSuffix(p.Exe.Path, "sleep") && !strings.HasSuffix(p.Exe.Path, "coreutils") ||
		p.CWD.Path != cmd.Dir || p.UID != os.Geteuid() || p.Age > time.Minute || p.RSS <= 0 {
		t.Errorf("the child is %+v", *p)
	}
	if s, err := r.Stat(cmd.Process.Pid); err != nil || s.ID != p.ID {
		t.Errorf("Stat says %+v, %v", s, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if find(table(t, r), cmd.Process.Pid) != nil {
		t.Error("it is in the table after its end")
	}
	if _, err := r.Stat(cmd.Process.Pid); !errors.Is(err, proc.ErrGone) {
		t.Errorf("Stat after its end: %v", err)
	}
}

// A process that runs another program under its old identity, and even its old
// name, is seen with the new command line at once.
func TestAnotherProgram(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x; exec sh -c 'read y; exit 0' changed")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	r := proc.NewReader(proc.TableOptions{TTL: time.Nanosecond})
	before := find(table(t, r), cmd.Process.Pid)
	if before == nil {
		t.Fatal("the child is not in the table")
	}
	if _, err := stdin.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		now := find(table(t, r), cmd.Process.Pid)
		if now != nil && now.ID == before.ID && len(now.Args) > 0 && now.Args[len(now.Args)-1] == "changed" {
			return
		}
	}
	t.Error("the new command line was never seen")
}

func TestRate(t *testing.T) {
	cmd := child(t, nil, "sh", "-c", "while :; do :; done")
	r := proc.NewReader(proc.TableOptions{TTL: time.Nanosecond})
	if p := find(table(t, r), cmd.Process.Pid); p == nil || p.HasCPU {
		t.Fatalf("at first sight: %+v", p)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if p := find(table(t, r), cmd.Process.Pid); p != nil && p.HasCPU && p.CPU > 1 {
			return
		}
	}
	t.Error("a busy child was never seen to use the processor")
}

func TestMarkerAndNothingElse(t *testing.T) {
	cmd := child(t, []string{"CUSTOS_AGENT=dev:7", "SECRET=hunter2", "SSH_CONNECTION=192.0.2.7 1 192.0.2.8 22"}, "sleep", "1000")
	r := proc.NewReader(proc.TableOptions{})
	var value string
	var found bool
	var err error
	for end := time.Now().Add(10 * time.Second); !found && time.Now().Before(end); { // until it runs its program
		value, found, err = r.Env(cmd.Process.Pid, "CUSTOS_AGENT")
	}
	if value != "dev:7" || !found || err != nil {
		t.Errorf("the marker is %q, %v, %v", value, found, err)
	}
	if value, found, err := r.Env(cmd.Process.Pid, proc.SSHConnection); value != "192.0.2.7 1 192.0.2.8 22" || !found || err != nil {
		t.Errorf("where its ssh client is: %q, %v, %v", value, found, err)
	}
	if value, found, err := r.Env(cmd.Process.Pid, "SECRET"); value != "" || found || err == nil {
		t.Errorf("a foreign key was read: %q, %v, %v", value, found, err)
	}
	if _, found, err := r.Env(os.Getpid(), "CUSTOS_AGENT"); found || err != nil {
		t.Errorf("we carry a marker: %v, %v", found, err)
	}
}
