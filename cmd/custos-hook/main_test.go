package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/hookwire"
)

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "custos-hook")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "custos-hook")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

func hook(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bin, args...)
	c.Env = []string{hookwire.MarkerVar + "=bob:i1"}
	return c
}

func runDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "ch")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// daemon answers every post with output, and hands them on.
func daemon(t testing.TB, run, output string) <-chan hookwire.Post {
	t.Helper()
	l, err := net.Listen("unix", hookwire.Socket(run))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	got := make(chan hookwire.Post, 1000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if p, err := hookwire.ReadPost(c); err == nil {
				got <- p
				_ = hookwire.WriteAck(c, hookwire.Ack{V: hookwire.Version, ID: p.ID, OK: true, Output: output})
			}
			_ = c.Close()
		}
	}()
	return got
}

// silent runs the hook, which must exit 0 whatever happens, and returns what it
// printed.
func silent(t testing.TB, c *exec.Cmd) string {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil || errs.Len() > 0 {
		t.Errorf("%v: %v %s", c.Args, err, errs.String())
	}
	return out.String()
}

func spooled(t testing.TB, run string) []hookwire.Post {
	t.Helper()
	s := hookwire.Spool{Dir: hookwire.SpoolDir(run)}
	names, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var out []hookwire.Post
	for _, n := range names {
		p, err := s.Get(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestHookPosts(t *testing.T) {
	run := runDir(t)
	got := daemon(t, run, "")
	for _, c := range []struct {
		args  []string
		env   string
		stdin string
		want  string
	}{
		{[]string{"claude", "Stop", "--run", run}, "", `{"a":1}`, `{"a":1}`},
		{[]string{"claude", "Stop", "--run=" + run, "--made=2"}, "", "", ""},
		{[]string{"claude", "Stop"}, hookwire.RunVar + "=" + run, "x", "x"},
		{[]string{"codex", "notify", "--run", run, `{"type":"x"}`}, "", "not read", `{"type":"x"}`},
		{[]string{"claude", "Stop", "--run", run}, "", `{"a":"` + strings.Repeat("x", 3<<20), `{"a":"` + strings.Repeat("x", 1023) + "…\""},
	} {
		h := hook(t, c.args...)
		h.Env, h.Stdin, h.Dir = append(h.Env, c.env), strings.NewReader(c.stdin), "/"
		if out := silent(t, h); out != "" {
			t.Errorf("%v printed %q", c.args, out)
		}
		p := <-got
		if string(p.Payload) != c.want || p.Kind != c.args[0] || p.Event != c.args[1] || p.Instance != "i1" || p.Agent != "bob" || p.CWD != "/" {
			t.Errorf("%v: payload %.60q, want %.60q: %+v", c.args, p.Payload, c.want, p.Kind)
		}
		if p.Installed != strings.Contains(strings.Join(c.args, " "), "--made=") {
			t.Errorf("%v: by installed hooks: %v", c.args, p.Installed)
		}
		if len(p.PPIDs) == 0 || p.PPIDs[0].PID != os.Getpid() {
			t.Errorf("ancestry %+v", p.PPIDs)
		}
	}
	if left := spooled(t, run); len(left) != 0 {
		t.Errorf("%d acknowledged events were spooled", len(left))
	}
}

// TestHookOfAnotherSystem: what a system does not tell, as which boot and since when, stays empty,
// and the event arrives, or is spooled.
func TestHookOfAnotherSystem(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "custos-hook")
	if out, err := exec.Command("go", "build", "-tags", "custos_client", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := runDir(t)
	post := func() hookwire.Post {
		h := hook(t, "claude", "Stop", "--run", run)
		h.Path, h.Stdin = bin, strings.NewReader("{}")
		silent(t, h)
		if left := spooled(t, run); len(left) > 0 {
			return left[0]
		}
		return hookwire.Post{}
	}
	if p := post(); p.UpNanos != 0 || p.Wall == 0 || p.ID == "" || string(p.Payload) != "{}" {
		t.Errorf("spooled %+v", p)
	}
	if err := os.RemoveAll(hookwire.SpoolDir(run)); err != nil {
		t.Fatal(err)
	}
	got := daemon(t, run, "")
	post()
	if p := <-got; p.UpNanos != 0 || p.Event != "Stop" || p.Instance != "i1" {
		t.Errorf("posted %+v", p)
	}
}

func TestHookPrintsWhatTheDaemonHas(t *testing.T) {
	run := runDir(t)
	daemon(t, run, "remember\n")
	if out := silent(t, hook(t, "claude", "SessionStart", "--run", run)); out != "remember\n" {
		t.Errorf("printed %q", out)
	}
	// A reader that is gone is no failure.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	h := hook(t, "claude", "SessionStart", "--run", run)
	h.Stdout = w
	if err := h.Run(); err != nil {
		t.Error(err)
	}
}

func TestHookSpools(t *testing.T) {
	run := runDir(t)
	h := hook(t, "claude", "Stop", "--run", run)
	h.Stdin = strings.NewReader("{}")
	silent(t, h)
	l, err := net.Listen("unix", hookwire.Socket(run)) // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	silent(t, hook(t, "claude", "Notification", "--run", run))
	left := spooled(t, run)
	if len(left) != 2 || left[0].Event != "Stop" || string(left[0].Payload) != "{}" || left[1].Event != "Notification" {
		t.Errorf("spooled %+v", left)
	}
}

// TestHookNeverFails: nothing that is wrong with us is the agent's matter.
func TestHookNeverFails(t *testing.T) {
	run := runDir(t)
	file := filepath.Join(run, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"claude"}, {"claude", "Stop"}, {"--run"}, {"--run", run}, {"claude", "Stop", "--run", "/nowhere/at/all"},
		{"claude", "Stop", "--run", file}, {"claude", "Stop", "--run", strings.Repeat("x/", 2000)}, {strings.Repeat("k", 100_000), "", "--run", run}} {
		if out := silent(t, hook(t, args...)); out != "" {
			t.Errorf("%.40q printed %q", args, out)
		}
	}
	closed := exec.Command("/bin/sh", "-c", `exec "$0" claude Stop --run "$1" <&- >&- 2>&-`, hook(t).Path, run)
	if err := closed.Run(); err != nil {
		t.Error(err)
	}
}

// TestHookWaitsForASlowCLI: on a busy machine some time passes between the start of the
// hook and what it is given; without that, a rate limit would be an end of unknown cause.
func TestHookWaitsForASlowCLI(t *testing.T) {
	run := runDir(t)
	got := daemon(t, run, "")
	h := hook(t, "claude", "StopFailure", "--run", run)
	in, err := h.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	const text = `{"error":"rate_limit"}`
	<-time.After(300 * time.Millisecond) // what is tried is the time that passes
	if _, err := io.WriteString(in, text); err != nil {
		t.Errorf("it has not waited: %v", err)
	}
	if err := h.Wait(); err != nil {
		t.Error(err)
	}
	if p := <-got; string(p.Payload) != text {
		t.Errorf("payload %q, want %q", p.Payload, text)
	}
}

// TestHookDoesNotWaitForStdin: a CLI that leaves it open delays its turn by a second
// at most, and not at all when the JSON is whole.
func TestHookDoesNotWaitForStdin(t *testing.T) {
	run := runDir(t)
	got := daemon(t, run, "")
	for _, text := range []string{"", `{"whole":true}`, `{"torn":`} {
		h := hook(t, "claude", "Stop", "--run", run)
		in, err := h.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, text); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { _, err := h.Process.Wait(); done <- err }()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("waits for ever after %q", text)
		}
		if p := <-got; string(p.Payload) != text {
			t.Errorf("payload %q, want %q", p.Payload, text)
		}
		_ = in.Close()
	}
}

// TestHookIsFast measures whole processes. The bound is loose, because other
// tests share the machine; the log has the figure for docs.
func TestHookIsFast(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	run := runDir(t)
	got := daemon(t, run, "")
	payload, err := json.Marshal(map[string]string{"tool_name": "Bash", "command": strings.Repeat("x", 2000)})
	if err != nil {
		t.Fatal(err)
	}
	measure := func(c func() *exec.Cmd) (median time.Duration) {
		var all []time.Duration
		for range 200 {
			h := c()
			began := time.Now()
			if err := h.Run(); err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	floor := measure(func() *exec.Cmd { return exec.Command("/bin/true") })
	post := measure(func() *exec.Cmd {
		h := hook(t, "claude", "PreToolUse", "--run", run)
		h.Stdin = bytes.NewReader(payload)
		return h
	})
	if len(got) != 200 {
		t.Errorf("%d of 200 arrived in time", len(got))
	}
	t.Logf("custos-hook: median %s of 200 whole processes; /bin/true: %s", post, floor)
	if post > 100*time.Millisecond {
		t.Errorf("median %s", post)
	}
}

// A person's own status line is shown as before, whether ours was put in its place in the
// settings or stands before it at a launch; the daemon need not be there.
func TestAStatusLineShowsThePersonsOwn(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, ".claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".claude", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	line := func(command string) string {
		b, _ := json.Marshal(map[string]any{"statusLine": map[string]string{"type": "command", "command": command}})
		return string(b)
	}
	payload, _ := json.Marshal(map[string]any{"model": "m", "workspace": map[string]string{"project_dir": project}})
	shown := func(args ...string) string {
		t.Helper()
		c := hook(t, append([]string{"claude", "StatusLine", "--run", runDir(t)}, args...)...)
		c.Env = append(c.Env, "HOME="+home, "PATH="+os.Getenv("PATH"))
		c.Stdin = bytes.NewReader(payload)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := shown(); got != "" {
		t.Errorf("without one of their own: %q", got)
	}
	write(home, "settings.json", line(`printf 'mine: '; cat`))
	if got, want := shown(), "mine: "+string(payload); got != want {
		t.Errorf("at a launch: %q, want %q", got, want)
	}
	write(project, "settings.json", line(`echo "the project's"`))
	if got, want := shown(), "the project's\n"; got != want {
		t.Errorf("of the project: %q, want %q", got, want)
	}
	then := base64.URLEncoding.EncodeToString([]byte(`"echo was; exit 3"`))
	write(project, "settings.json", line("/x/custos-hook claude StatusLine --run /r --then="+then))
	c := hook(t, "claude", "StatusLine", "--run", runDir(t))
	c.Env = append(c.Env, "HOME="+home, "PATH="+os.Getenv("PATH"))
	c.Stdin = bytes.NewReader(payload)
	if out, err := c.Output(); string(out) != "was\n" || c.ProcessState.ExitCode() != 3 {
		t.Errorf("launched over ours that was installed: %q %v", out, err)
	}
	if got := shown("--made=0"); got != "" {
		t.Errorf("installed in the place of none: %q", got)
	}
	write(project, "settings.json", `{"statusLine": 7`)
	if got, want := shown(), "mine: "+string(payload); got != want {
		t.Errorf("beside settings that cannot be read: %q, want %q", got, want)
	}
}
