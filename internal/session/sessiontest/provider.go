package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// Ground is where the suite tries a provider. Nothing runs there yet.
type Ground struct {
	Provider session.Provider
	Root     string // folder of all instances
	Terminal bool   // agents have a terminal: pastes are in brackets
	// Stop freezes whatever stands between the provider and its agents until the
	// returned function is called; nil when nothing does.
	Stop func(t *testing.T) (thaw func())
	// Kill ends that same thing at once; nil when there is nothing.
	Kill func(t *testing.T)
}

// BuildShim builds custos-shim and returns its path.
func BuildShim(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), shim.Program)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "custos/cmd/custos-shim")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the shim: %v: %s", err, out)
	}
	return path
}

// TestProvider runs the suite that every session.Provider passes. open returns
// new ground; binary is the shim's.
func TestProvider(t *testing.T, open func(t *testing.T, binary string) Ground) {
	binary := BuildShim(t)
	for name, test := range map[string]func(*testing.T, Ground){
		"an agent gets what it was given":           testGiven,
		"launch is idempotent":                      testIdempotent,
		"a launch that fails leaves nothing":        testRollback,
		"a cancelled launch leaves nothing":         testCancelled,
		"bad launches are refused":                  testRefused,
		"text arrives whole":                        testText,
		"keys arrive":                               testKeys,
		"bad input is refused":                      testBadInput,
		"nothing is typed to the wrong one":         testWrongOne,
		"a closed pane is gone":                     testClose,
		"names do not matter":                       testNames,
		"how it ended is known":                     testExits,
		"what it leaves behind is listed":           testLeft,
		"a frozen middle is an error and no action": testFrozen,
		"a killed middle is an error":               testKilled,
		"what happens is announced":                 testAnnounced,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, binary)) })
	}
}

// Plan makes a launch of argv with a small environment, in a new folder.
func (g Ground) Plan(t testing.TB, instance string, argv ...string) session.Launch {
	t.Helper()
	return session.Launch{
		Name: "agent " + instance, Instance: instance, Argv: argv, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"},
		Dir: t.TempDir(), Shim: shim.Dir(g.Root, instance), Input: !g.Terminal,
	}
}

// Launch starts an agent, which is ended with the test, and all it left.
func (g Ground) Launch(t testing.TB, l session.Launch) session.Launched {
	t.Helper()
	t.Cleanup(func() { End(t, l.Shim) })
	got, err := g.Provider.Launch(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// End kills the agent of a shim's folder, what it left, and the shim.
func End(t testing.TB, dir string) {
	s, x, err := shim.Read(dir)
	if err != nil {
		return // nothing was started
	}
	deadline := time.Now().Add(10 * time.Second)
	for x == nil && runs(s.Shim) && time.Now().Before(deadline) {
		kill(s.Agent)
		time.Sleep(time.Millisecond)
		_, x, _ = shim.Read(dir)
	}
	kill(s.Agent) // its shim may have been killed
	for runs(s.Shim) && time.Now().Before(deadline) {
		left, _ := shim.ReadLeft(dir)
		for _, l := range left {
			kill(l.ID)
		}
		time.Sleep(time.Millisecond)
	}
	if runs(s.Shim) {
		t.Errorf("the shim of %s is still there", dir)
	}
}

func kill(id shim.ID) {
	if h, err := proc.Open(proc.ID(id)); err == nil {
		_ = h.Signal(syscall.SIGKILL)
		h.Close()
	}
}

func runs(id shim.ID) bool {
	s, err := proc.NewReader(proc.TableOptions{}).Stat(id.PID)
	return err == nil && s.ID.Start == id.Start && s.State != "Z"
}

// content waits until a file holds what ok wants.
func content(t *testing.T, path string, ok func(string) bool) string {
	t.Helper()
	return Await(t, func() (string, bool) {
		b, _ := os.ReadFile(path)
		return string(b), ok(string(b))
	})
}

func has(want string) func(string) bool {
	return func(s string) bool { return strings.Contains(s, want) }
}

func testGiven(t *testing.T, g Ground) {
	l := g.Plan(t, "given", "sh", "-c", `tr '\0' '\n' </proc/self/environ >env; pwd >cwd; printf '%s\n' "$@" >args; : >done; exec sleep 1000`,
		"sh", "two words", "semi;", "$HOME `id` \"q\" 'q' #{pid}", strings.Repeat("x", 60_000), "a\nb")
	l.Name = "a:b \"c\""
	l.Env = append(l.Env, "SECRET=s3cret with\nnewline; and 'quotes'", "CUSTOS_AGENT=somebody:else", "EMPTY=")
	got := g.Launch(t, l)
	content(t, filepath.Join(l.Dir, "done"), func(string) bool { _, err := os.Stat(filepath.Join(l.Dir, "done")); return err == nil })
	env := content(t, filepath.Join(l.Dir, "env"), has("CUSTOS_AGENT="))
	for _, want := range append(l.Env[:3:3], "CUSTOS_AGENT=a:b \"c\":given", "EMPTY=") {
		if !strings.Contains("\n"+env, "\n"+want+"\n") {
			t.Errorf("the environment lacks %q:\n%s", want, env)
		}
	}
	for line := range strings.Lines(env) {
		if key, _, ok := strings.Cut(line, "="); ok && (strings.HasPrefix(key, "TMUX") || strings.HasPrefix(line, "CUSTOS_AGENT=somebody")) {
			t.Errorf("the environment holds %q", line)
		}
	}
	if cwd := content(t, filepath.Join(l.Dir, "cwd"), has("\n")); cwd != l.Dir+"\n" {
		t.Errorf("it runs in %q, not in %q", cwd, l.Dir)
	}
	if args := content(t, filepath.Join(l.Dir, "args"), has("b\n")); args != strings.Join(l.Argv[4:], "\n")+"\n" {
		t.Errorf("its arguments are %.300q", args)
	}
	if _, err := os.Stat(filepath.Join(l.Shim, "launch")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file with its environment is still there: %v", err)
	}
	testSeen(t, g, got, l)
}

// testSeen checks the identities of what was launched.
func testSeen(t *testing.T, g Ground, got session.Launched, l session.Launch) {
	s, x, err := shim.Read(l.Shim)
	if err != nil || x != nil {
		t.Fatalf("the shim says %v, %v", x, err)
	}
	if got.Agent.PID != s.Agent.PID || got.Agent.Start != s.Agent.Start || got.Agent.Boot != s.At.Boot || got.Shim.PID != s.Shim.PID {
		t.Errorf("launched %+v, the shim says %+v", got, s)
	}
	if s.Name != l.Name || s.Cap != "none" || s.CapWhy == "" {
		t.Errorf("started.json says %+v", s)
	}
	if panes := Panes(t, g.Provider, 1); panes[0].ID != got.Pane || panes[0].Dead {
		t.Errorf("the pane is seen as %+v, launched as %+v", panes[0], got.Pane)
	}
	if text, err := g.Provider.Screen(t.Context(), got.Pane, 10); err != nil {
		t.Errorf("its screen: %q, %v", text, err)
	}
}

func testIdempotent(t *testing.T, g Ground) {
	l := g.Plan(t, "once", "sh", "-c", "echo run >>runs; exec sleep 1000")
	t.Cleanup(func() { End(t, l.Shim) })
	type answer struct {
		got session.Launched
		err error
	}
	answers := make(chan answer)
	for range 4 {
		go func() {
			got, err := g.Provider.Launch(t.Context(), l)
			answers <- answer{got, err}
		}()
	}
	var all []answer
	for range 4 {
		all = append(all, <-answers)
	}
	for _, a := range all {
		if a.err != nil || a.got != all[0].got {
			t.Errorf("one launch gave %+v, %v; another %+v, %v", a.got, a.err, all[0].got, all[0].err)
		}
	}
	if runs := content(t, filepath.Join(l.Dir, "runs"), has("run")); runs != "run\n" {
		t.Errorf("it ran %q", runs)
	}
	End(t, l.Shim)
	if _, _, err := shim.Read(l.Shim); err != nil {
		t.Fatal(err)
	}
	if again, err := g.Provider.Launch(t.Context(), l); err == nil && again != all[0].got || err != nil && !errors.Is(err, session.ErrGone) {
		t.Errorf("launched again after its end: %+v, %v", again, err)
	}
	if runs := content(t, filepath.Join(l.Dir, "runs"), has("run")); runs != "run\n" {
		t.Errorf("after its end it ran again: %q", runs)
	}
}

func testRollback(t *testing.T, g Ground) {
	keep := g.Launch(t, g.Plan(t, "keep", "sleep", "1000"))
	l := g.Plan(t, "broken", "sh", "-c", "exec sleep 1000")
	file := filepath.Join(l.Dir, "file")
	if err := os.WriteFile(file, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+"x", []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*session.Launch){
		"no such program":     func(l *session.Launch) { l.Argv = []string{"no-such-program-here"} },
		"no such path":        func(l *session.Launch) { l.Argv = []string{"./nothing"} },
		"not executable":      func(l *session.Launch) { l.Argv = []string{"./file"} },
		"no interpreter":      func(l *session.Launch) { l.Argv = []string{"./filex"} },
		"folder is missing":   func(l *session.Launch) { l.Dir += "/missing" },
		"folder is a file":    func(l *session.Launch) { l.Dir = file },
		"argument with NUL":   func(l *session.Launch) { l.Argv = append(l.Argv, "a\x00b") },
		"variable has no =":   func(l *session.Launch) { l.Env = append(l.Env, "NOTHING") },
		"nothing in its PATH": func(l *session.Launch) { l.Env = []string{"PATH=/nonexistent"} },
	} {
		bad := l
		spoil(&bad)
		if got, err := g.Provider.Launch(t.Context(), bad); err == nil || errors.Is(err, session.ErrInDoubt) || errors.Is(err, session.ErrSpent) {
			t.Errorf("%s: launched %+v, %v", what, got, err)
		}
		if _, err := os.Stat(l.Shim); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the shim's folder is still there: %v", what, err)
		}
		if p := Panes(t, g.Provider, 1)[0]; p.ID != keep.Pane {
			t.Errorf("%s: the only pane is %+v", what, p)
		}
	}
	g.Launch(t, l) // the same instance
}

func testCancelled(t *testing.T, g Ground) {
	l := g.Plan(t, "never", "sh", "-c", "echo run >>runs; exec sleep 1000")
	t.Cleanup(func() { End(t, l.Shim) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := g.Provider.Launch(ctx, l); err == nil {
		t.Errorf("launched %+v", got)
	}
	if _, err := os.Stat(l.Shim); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the shim's folder is there: %v", err)
	}
	if panes, err := g.Provider.Panes(t.Context()); len(panes) != 0 {
		t.Errorf("there are panes: %+v, %v", panes, err)
	}
}

func testRefused(t *testing.T, g Ground) {
	for what, spoil := range map[string]func(*session.Launch){
		"no name":         func(l *session.Launch) { l.Name = "" },
		"no instance":     func(l *session.Launch) { l.Instance, l.Shim = "", g.Root },
		"another folder":  func(l *session.Launch) { l.Instance = "another" },
		"relative folder": func(l *session.Launch) { l.Dir = "here" },
		"no command":      func(l *session.Launch) { l.Argv = nil },
	} {
		l := g.Plan(t, "bad", "sleep", "1000")
		spoil(&l)
		if got, err := g.Provider.Launch(t.Context(), l); err == nil {
			t.Errorf("%s: launched %+v", what, got)
		}
	}
}

// reader is an agent that writes all that it is given to the file "got".
func (g Ground) reader(t *testing.T, instance string) (session.Launched, string) {
	l := g.Plan(t, instance, "sh", "-c", `[ -t 0 ] && stty raw -echo && printf '\033[?2004h'; : >got; exec cat >>got`)
	got := g.Launch(t, l)
	file := filepath.Join(l.Dir, "got")
	Await(t, func() (string, bool) {
		s, err := proc.NewReader(proc.TableOptions{}).Stat(got.Agent.PID)
		return s.Comm, err == nil && s.Comm == "cat"
	})
	return got, file
}

func testText(t *testing.T, g Ground) {
	got, file := g.reader(t, "reader")
	text := strings.Repeat("Zeile mit Ümlaut, 漢字\u3000, \u00a0, 👩\u200d💻 and #{pid} $(id) \\; 'q' \"q\" ;\n\t", 2700) + "end;"
	if len(text) < 200_000 {
		t.Fatalf("only %d bytes", len(text))
	}
	dirty := "\x1b[201~\x03\x1b]0;evil\x07" + strings.ReplaceAll(text, "\n", "\r\n") + "\x00\x7f\u009b"
	want := "[201~]0;evil" + text
	if g.Terminal {
		want = "\x1b[200~" + want + "\x1b[201~"
	}
	if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Text: dirty, Agent: got.Agent}); err != nil {
		t.Fatal(err)
	}
	arrived := content(t, file, func(s string) bool { return len(s) >= len(want) })
	if arrived != want {
		i := 0
		for i < min(len(arrived), len(want)) && arrived[i] == want[i] {
			i++
		}
		t.Errorf("%d bytes arrived, want %d; they differ from byte %d: %.40q, want %.40q", len(arrived), len(want), i, arrived[i:], want[i:])
	}
}

func testKeys(t *testing.T, g Ground) {
	got, file := g.reader(t, "reader")
	want := ""
	for key, bytes := range map[session.Key]string{session.KeyEnter: "\r", "1": "1", "y": "y", "Tab": "\t", "Space": " "} {
		if !g.Terminal && bytes == "\r" {
			bytes = "\n"
		}
		want += bytes
		if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Key: key}); err != nil {
			t.Fatal(err)
		}
		if arrived := content(t, file, func(s string) bool { return len(s) >= len(want) }); arrived != want {
			t.Errorf("after key %q there is %q, want %q", key, arrived, want)
		}
	}
	l := g.Plan(t, "interrupted", "sleep", "1000")
	other := g.Launch(t, l)
	if err := g.Provider.Type(t.Context(), other.Pane, session.Input{Key: session.KeyInterrupt, Agent: other.Agent}); err != nil {
		t.Fatal(err)
	}
	if x := AwaitExit(t, l.Shim); x.Signal == nil || *x.Signal != int(syscall.SIGINT) {
		t.Errorf("after C-c: %s", describe(x))
	}
	if !runs(shim.ID{PID: got.Agent.PID, Start: got.Agent.Start}) {
		t.Error("the C-c of one ended the other")
	}
}

func testBadInput(t *testing.T, g Ground) {
	got, file := g.reader(t, "reader")
	for _, in := range []session.Input{
		{}, {Text: "x", Key: session.KeyEnter}, {Key: "C-z"}, {Key: "x ; kill-server"}, {Key: "F12"}, {Key: "é"},
		{Text: "\x1b\x00"}, {Text: strings.Repeat("x", session.MaxText+1)},
	} {
		if err := g.Provider.Type(t.Context(), got.Pane, in); err == nil {
			t.Errorf("input %.40q, key %q was typed", in.Text, in.Key)
		}
	}
	foreign := got.Pane
	foreign.Socket = "/elsewhere"
	if err := g.Provider.Type(t.Context(), foreign, session.Input{Text: "x"}); err == nil {
		t.Error("typed into a pane of another server")
	}
	if err := g.Provider.Close(t.Context(), foreign); err == nil {
		t.Error("closed a pane of another server")
	}
	if b, err := os.ReadFile(file); len(b) != 0 {
		t.Errorf("%q arrived, %v", b, err)
	}
}

func testWrongOne(t *testing.T, g Ground) {
	got, file := g.reader(t, "reader")
	text := session.Input{Text: "x", Agent: got.Agent}
	for what, spoil := range map[string]func(*fleet.PaneID, *session.Input){
		"another server": func(id *fleet.PaneID, _ *session.Input) { id.Server.Start++ },
		"another root":   func(id *fleet.PaneID, _ *session.Input) { id.Root.Start++ },
		"another pid":    func(id *fleet.PaneID, _ *session.Input) { id.Root.PID = os.Getpid() },
		"another boot":   func(id *fleet.PaneID, _ *session.Input) { id.Root.Boot = "other" },
		"another agent":  func(_ *fleet.PaneID, in *session.Input) { in.Agent.PID = os.Getpid() },
		"a reused agent": func(_ *fleet.PaneID, in *session.Input) { in.Agent.Start++ },
	} {
		id, in := got.Pane, text
		spoil(&id, &in)
		if err := g.Provider.Type(t.Context(), id, in); !errors.Is(err, session.ErrGone) {
			t.Errorf("%s: %v, want ErrGone", what, err)
		}
	}
	l := g.Plan(t, "dead", "sh", "-c", "exit 0")
	dead := g.Launch(t, l)
	AwaitExit(t, l.Shim)
	Await(t, func() (error, bool) { // tmux may need a moment to notice
		err := g.Provider.Type(t.Context(), dead.Pane, session.Input{Text: "x"})
		return err, errors.Is(err, session.ErrGone)
	})
	if err := g.Provider.Type(t.Context(), dead.Pane, session.Input{Text: "x", Agent: dead.Agent}); !errors.Is(err, session.ErrGone) {
		t.Errorf("typing to a dead agent: %v, want ErrGone", err)
	}
	if b, err := os.ReadFile(file); len(b) != 0 {
		t.Errorf("%q arrived, %v", b, err)
	}
}

func testClose(t *testing.T, g Ground) {
	keep := g.Launch(t, g.Plan(t, "keep", "sleep", "1000"))
	l := g.Plan(t, "one", "sleep", "1000")
	one := g.Launch(t, l)
	wrong := one.Pane
	wrong.Root.PID = keep.Shim.PID
	if err := g.Provider.Close(t.Context(), wrong); err != nil {
		t.Errorf("closing what is not there: %v", err)
	}
	Panes(t, g.Provider, 2)
	for range 2 {
		if err := g.Provider.Close(t.Context(), one.Pane); err != nil {
			t.Fatal(err)
		}
	}
	if p := Panes(t, g.Provider, 1)[0]; p.ID != keep.Pane {
		t.Errorf("the wrong one is left: %+v", p)
	}
	x := AwaitExit(t, l.Shim)
	if x.Signal == nil || *x.Signal != int(syscall.SIGHUP) || x.Hangup != g.Terminal {
		t.Errorf("its agent: %s", describe(x))
	}
	if err := g.Provider.Type(t.Context(), one.Pane, session.Input{Text: "x"}); !errors.Is(err, session.ErrGone) {
		t.Errorf("typing into it: %v, want ErrGone", err)
	}
	if _, err := g.Provider.Screen(t.Context(), one.Pane, 5); !errors.Is(err, session.ErrGone) {
		t.Errorf("its screen: %v, want ErrGone", err)
	}
	if _, err := g.Provider.Launch(t.Context(), l); !errors.Is(err, session.ErrGone) {
		t.Errorf("launching it again: %v, want ErrGone", err)
	}
}

func testNames(t *testing.T, g Ground) {
	names := []string{"a", "ab", "a.b", "a:b", "a b", `a"b'c`, "=a", "%1", "$1", "@1", "#{pid}", "-d", "a;", "é漢 👩\u200d💻", "a\nb", strings.Repeat("long.name:", 20)}
	var all []session.Launched
	for i, name := range names {
		l := g.Plan(t, fmt.Sprintf("name-%d.x_y", i), "sh", "-c", `[ -t 0 ] && stty -echo; exec cat >got`)
		l.Name = name
		all = append(all, g.Launch(t, l))
		if s, _, err := shim.Read(l.Shim); err != nil || s.Name != name {
			t.Errorf("%q became %q, %v", name, s.Name, err)
		}
		if again, err := g.Provider.Launch(t.Context(), l); err != nil || again != all[i] {
			t.Errorf("%q: again: %+v, %v; want %+v", name, again, err, all[i])
		}
	}
	seen := map[fleet.PaneID]bool{}
	for _, p := range Panes(t, g.Provider, len(names)) {
		seen[p.ID] = true
	}
	for i, one := range all {
		if !seen[one.Pane] {
			t.Errorf("%q has no pane", names[i])
		}
	}
	if err := g.Provider.Close(t.Context(), all[0].Pane); err != nil {
		t.Fatal(err)
	}
	Panes(t, g.Provider, len(names)-1)
}

// AwaitExit waits until a shim has written how its agent ended.
func AwaitExit(t testing.TB, dir string) shim.Exit {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, x, err := shim.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if x != nil {
			return *x
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for the end of %s", dir)
		}
		time.Sleep(time.Millisecond)
	}
}

func describe(x shim.Exit) string {
	switch {
	case x.Status != nil:
		return fmt.Sprintf("status %d hangup %v", *x.Status, x.Hangup)
	case x.Signal != nil:
		return fmt.Sprintf("signal %d hangup %v", *x.Signal, x.Hangup)
	}
	return "nothing"
}

func testExits(t *testing.T, g Ground) {
	cases := []struct {
		name, want string
		argv       []string
	}{
		{"zero", "status 0 hangup false", []string{"true"}},
		{"seven", "status 7 hangup false", []string{"sh", "-c", "exit 7"}},
		{"killed", "signal 9 hangup false", []string{"sh", "-c", "kill -9 $$"}},
		{"term", "signal 15 hangup false", []string{"sh", "-c", "kill $$"}},
		{"high", "status 255 hangup false", []string{"sh", "-c", "exit 255"}},
	}
	if node, err := exec.LookPath("node"); err == nil { // of which tmux itself loses the status
		for i := range 4 {
			cases = append(cases, struct {
				name, want string
				argv       []string
			}{fmt.Sprintf("node-%d", i), "status 3 hangup false", []string{node, "-e", "process.exit(3)"}})
		}
	}
	for _, c := range cases {
		l := g.Plan(t, c.name, c.argv...)
		g.Launch(t, l)
		x := AwaitExit(t, l.Shim)
		if got := describe(x); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if x.At.Up <= 0 || x.At.Wall.IsZero() || x.At.Boot == "" || x.MaxRSS <= 0 {
			t.Errorf("%s: it ended %+v", c.name, x)
		}
	}
}

func testLeft(t *testing.T, g Ground) {
	for name, script := range map[string]string{
		"double-fork": "(trap '' HUP; sleep 1000 &) ; exit 4", // without the trap the kernel ends it with its terminal
		"setsid":      "setsid sh -c 'sleep 1000 & sleep 1000' & while ! [ \"$(ps -o comm= --ppid $! 2>/dev/null)\" ]; do :; done; exit 4",
	} {
		l := g.Plan(t, name, "sh", "-c", script)
		g.Launch(t, l)
		if got := describe(AwaitExit(t, l.Shim)); !strings.HasPrefix(got, "status 4") {
			t.Errorf("%s: %s, want status 4", name, got)
		}
		left := Await(t, func() ([]shim.Left, bool) {
			left, err := shim.ReadLeft(l.Shim)
			return left, err == nil && len(left) > 0
		})
		s, _, _ := shim.Read(l.Shim)
		for _, one := range left {
			if !runs(one.ID) || !strings.Contains(one.Name, "s") {
				t.Errorf("%s: it lists %+v", name, one)
			}
		}
		if !runs(s.Shim) {
			t.Errorf("%s: the shim left before them", name)
		}
		End(t, l.Shim)
		if left, err := shim.ReadLeft(l.Shim); err != nil || len(left) != 0 {
			t.Errorf("%s: with all gone it still lists %+v, %v", name, left, err)
		}
	}
}

func testFrozen(t *testing.T, g Ground) {
	if g.Stop == nil {
		t.Skip("nothing stands between this provider and its agents")
	}
	got, file := g.reader(t, "reader")
	thaw := g.Stop(t)
	begin := time.Now()
	l := g.Plan(t, "late", "sh", "-c", "echo run >>runs; exec sleep 1000")
	t.Cleanup(func() { End(t, l.Shim) })
	if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Text: "x"}); err == nil || errors.Is(err, session.ErrGone) {
		t.Errorf("typing: %v, want an error other than ErrGone", err)
	}
	if made, err := g.Provider.Launch(t.Context(), l); err == nil || errors.Is(err, session.ErrInDoubt) {
		t.Errorf("launching: %+v, %v, want an error without doubt", made, err)
	}
	closing := g.Provider.Close(t.Context(), got.Pane)
	if closing == nil || errors.Is(closing, session.ErrGone) {
		t.Errorf("closing: %v, want an error other than ErrGone", closing)
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %s to see it", took)
	}
	thaw()
	// Something that is done after all that has been done.
	g.Launch(t, g.Plan(t, "after", "sleep", "1000"))
	if b, _ := os.ReadFile(file); len(b) != 0 {
		t.Errorf("%q was typed after all", b)
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "runs")); err == nil {
		t.Error("the agent was started after all")
	}
	// Without a doubt nothing was done: the pane is there, and the instance can be launched.
	if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Text: "y"}); !errors.Is(closing, session.ErrInDoubt) && err != nil {
		t.Errorf("closing said %v, and the pane: %v", closing, err)
	}
	if _, err := g.Provider.Launch(t.Context(), l); err != nil && !errors.Is(err, session.ErrSpent) {
		t.Errorf("launching the same instance: %v, want it to run or ErrSpent", err)
	}
}

func testKilled(t *testing.T, g Ground) {
	if g.Kill == nil {
		t.Skip("nothing stands between this provider and its agents")
	}
	l := g.Plan(t, "one", "sleep", "1000")
	got := g.Launch(t, l)
	g.Kill(t)
	begin := time.Now()
	if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Text: "x"}); !errors.Is(err, session.ErrGone) {
		t.Errorf("typing: %v, want ErrGone", err)
	}
	if err := g.Provider.Close(t.Context(), got.Pane); err != nil {
		t.Errorf("closing: %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s to see it", took)
	}
	if x := AwaitExit(t, l.Shim); x.Signal == nil || *x.Signal != int(syscall.SIGHUP) || !x.Hangup {
		t.Errorf("its agent: %s", describe(x))
	}
	next := g.Launch(t, g.Plan(t, "two", "sleep", "1000"))
	if next.Pane.Server == got.Pane.Server {
		t.Errorf("the next one runs on the server that was killed: %+v", next)
	}
	if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Text: "x"}); !errors.Is(err, session.ErrGone) {
		t.Errorf("typing into a pane of the server before: %v, want ErrGone", err)
	}
}
