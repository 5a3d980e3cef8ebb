package extra

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
	"custos/internal/sys/proc"
)

// The test binary is the foreign program too: with a first argument of "as" it
// plays the part named by the second.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "as" {
		play(os.Args[2], os.Args[3:])
		syscall.Exit(0) // not os.Exit, which takes a second under -race
	}
	os.Exit(m.Run())
}

func play(part string, args []string) {
	switch part {
	case "print":
		fmt.Print(args[0])
	case "environ":
		fmt.Printf(`{"facts":[{"name":"env","texts":{"all":%q}}]}`, strings.Join(os.Environ(), " "))
	case "fail":
		fmt.Print(`{"facts":[]}`)
		fmt.Fprintln(os.Stderr, "no queue: token=hunter2")
		syscall.Exit(3)
	case "flood":
		for {
			if _, err := fmt.Print(strings.Repeat("x", 4096)); err != nil {
				return
			}
		}
	case "hang": // with a child that inherits everything
		child, _ := os.StartProcess(os.Args[0], []string{os.Args[0], "as", "sleep"}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
		_ = os.WriteFile(args[0], []byte(strconv.Itoa(child.Pid)), 0o600)
		if len(args) > 1 { // leave it behind
			fmt.Print(`{"facts":[]}`)
			return
		}
		time.Sleep(time.Hour)
	case "sleep":
		time.Sleep(time.Hour)
	}
}

func probe(t *testing.T, args ...string) *Probe {
	t.Helper()
	p, err := New(Options{Name: "queue", Run: append([]string{os.Args[0], "as"}, args...)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func see(t *testing.T, p *Probe) []fleet.Extra {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return s.Extra.Value
}

const good = `{"facts":[{"name":"queue","numbers":{"depth":4,"lag":null},"texts":{"state":"\u001b[31mok"}}]}`

func TestSuite(t *testing.T) {
	observetest.Test(t, func() observe.Probe { return probe(t, "print", good) })
}

func TestFacts(t *testing.T) {
	f := see(t, probe(t, "print", good))[0]
	if depth, ok := f.Numbers["depth"].Get(); !ok || depth != 4 || f.Name != "queue" || f.Probe != "queue" {
		t.Errorf("saw %+v", f)
	}
	if f.Numbers["lag"].IsKnown() {
		t.Error("null passes for known")
	}
	if state, _ := f.Texts["state"].Get(); state != "ok" {
		t.Errorf("state is %q", state)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	all, _ := see(t, probe(t, "environ"))[0].Texts["all"].Get()
	if strings.Contains(all, "SECRET") || !strings.Contains(all, "PATH=") {
		t.Errorf("the program was given %q", all)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"fail"}, "exit status 3: no queue: token=***"},
		{[]string{"flood"}, "more than 1048576 bytes"},
		{[]string{"print", "{\"facts\": [\n  {\"name\" \"x\"}]}"}, "line 2, column 11: invalid character '\"' after object key"},
		{[]string{"print", "{\"facts\": [\n{\"name\": 5}]}"}, "line 2, column 10: cannot unmarshal number"},
		{[]string{"print", `{"facts": [{"name": "a"`}, "line 1, column 23: the JSON ends too early"},
		{[]string{"print", ""}, "ends too early"},
		{[]string{"print", `{"fact": []}`}, `unknown field "fact"`},
		{[]string{"print", `{}`}, `want {"facts": […]}`},
		{[]string{"print", `{"facts":[]} x`}, "more after the first value"},
		{[]string{"print", `{"facts":[{"name":""}]}`}, "fact 1 has no name"},
		{[]string{"print", `{"facts":[{"name":"a"},{"name":"a"}]}`}, `"a" was used before`},
	} {
		put, err := probe(t, c.args...).Look(t.Context())
		if put != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	missing, _ := New(Options{Name: "gone", Run: []string{"/nonexistent/prog"}})
	if _, err := missing.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing program: %v", err)
	}
}

// A program that hangs is killed with its children, and so is what a program
// leaves behind in its group.
func TestNobodyIsLeft(t *testing.T) {
	for _, args := range [][]string{{"hang"}, {"hang", "leave"}} {
		file := filepath.Join(t.TempDir(), "pid")
		p := probe(t, append([]string{"hang", file}, args[1:]...)...)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		began := time.Now()
		go func() { _, err := p.Look(ctx); failed <- err }()
		pid := 0
		for pid == 0 { // until the child is there
			text, _ := os.ReadFile(file)
			pid, _ = strconv.Atoi(string(text))
		}
		if len(args) == 1 {
			cancel()
		}
		err := <-failed
		cancel()
		if took := time.Since(began); took > 5*time.Second || (err == nil) != (len(args) == 2) {
			t.Errorf("%q ended after %s with %v", args, took, err)
		}
		reader := proc.NewReader(proc.TableOptions{})
		for s, err := reader.Stat(pid); err == nil && s.State != "Z"; s, err = reader.Stat(pid) {
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%q left process %d (%s)", args, pid, s.Comm)
			}
		}
	}
}

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"small letters":  {Name: "Bad Name", Run: []string{"x"}},
		"want a program": {Name: "a"},
		"every":          {Name: "a", Run: []string{"x"}, Every: "often"},
		"deadline":       {Name: "a", Run: []string{"x"}, Deadline: "0s"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{good, `{"facts":[]}`, `{`, "", `{"facts":[{"name":"a","numbers":{"x":1e999}}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := parse("p", text)
		if err != nil && facts != nil {
			t.Error("facts beside an error")
		}
		for _, fact := range facts {
			if fact.Name == "" || fact.Name != fleet.Line(fact.Name, 200) {
				t.Errorf("name %q", fact.Name)
			}
		}
	})
}
