package procstat

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

const line = "77 (a) b) Z 1 2 3 34817 -1 4227084 0 0 0 0 10 20 3 4 20 0 1 0 4242 0 5 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 768\n"

func TestParse(t *testing.T) {
	want := Stat{PID: 77, Comm: "a) b", State: 'Z', PPID: 1, PGID: 2, SID: 3, TTY: 34817, Exiting: true, CPU: 30, CPUOfChildren: 7, Start: 4242, Pages: 5, Exit: 768, Whole: true}
	if s, err := Parse([]byte(line)); err != nil || s != want {
		t.Errorf("%+v, %v", s, err)
	}
	want.Exit, want.Whole = 0, false
	if s, err := Parse([]byte(strings.TrimSuffix(line, " 768\n"))); err != nil || s != want {
		t.Errorf("of an old kernel: %+v, %v", s, err)
	}
	if s, err := Parse([]byte(strings.Replace(line, "4227084", "4227080", 1))); err != nil || s.Exiting {
		t.Errorf("of one that lives: %+v, %v", s, err)
	}
	for _, name := range []string{"node", "a b", "x) S 99 (", "", "a\nb"} {
		if s, err := Parse([]byte(strings.Replace(line, "a) b", name, 1))); err != nil || s.Comm != name || s.PPID != 1 {
			t.Errorf("%q: %+v, %v", name, s, err)
		}
	}
	for _, bad := range [][2]string{{line, ""}, {line, "77 (x)"}, {line, "77 (x) Z"}, {line, "("}, {line, ")("}, {") Z", ") ZZ"}, {" 1 2", " x 2"}, {"4242", "-1"}, {"768", "x"}, {"77", "z"}, {"77 ", ""}} {
		text := strings.Replace(line, bad[0], bad[1], 1)
		if s, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q was read as %+v", text, s)
		}
	}
}

// A line is read without an allocation but those of its name and path: every look reads
// hundreds.
func TestReadAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(50, func() { _, _ = Read("/proc", os.Getpid()) }); n > 6 {
		t.Errorf("%v allocations for one line", n)
	}
}

func TestRead(t *testing.T) {
	if s, ok := Living(os.Getpid()); !ok || s.PID != os.Getpid() || s.PPID != os.Getppid() || s.Start == 0 || s.Ended() {
		t.Errorf("%+v %v", s, ok)
	}
	root := t.TempDir()
	if err := os.Mkdir(root+"/7", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/7/stat", []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]string{7: "cannot read " + root + "/7/stat: not in the form", 8: "no such file"} {
		if _, err := Read(root, pid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", pid, err, want)
		}
	}
	for _, state := range "ZXx" {
		if !(Stat{State: byte(state)}).Ended() {
			t.Errorf("%c has not ended", state)
		}
	}
}

// FuzzParse: no line breaks the reader, and nothing is told beside an error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{line, "", "7 (", "7 () S", "1 (a) (b) S 1", "(x) S", ")", strings.Repeat(")", 100)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil && s != (Stat{}) {
			t.Errorf("%+v beside %v", s, err)
		}
	})
}

func TestCarries(t *testing.T) {
	cmd := exec.Command("cat")
	cmd.Env = []string{"A=bc", "D=e"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); !Carries(cmd.Process.Pid, "A=bc") && time.Now().Before(end); { // its environment is set up after Start returns
		runtime.Gosched()
	}
	for entry, want := range map[string]bool{"A=bc": true, "D=e": true, "A=b": false, "A": false, "=bc": false} {
		if Carries(cmd.Process.Pid, entry) != want {
			t.Errorf("%q is not %v", entry, want)
		}
	}
	if Carries(os.Getpid(), "PATH="+os.Getenv("PATH")) {
		t.Error("we ourselves count")
	}
}
