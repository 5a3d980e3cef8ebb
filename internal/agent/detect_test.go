package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

func kinds(t testing.TB) *Kinds {
	t.Helper()
	k, err := Parse()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestDetect reads testdata/detect.txt: process tables, and the agents in them.
//
//	== name
//	PID PPID STATE COMM EXE | argv …      ("-" for an EXE that cannot be read)
//	=> PID kind [oneshot] [under PID] tree PID PID …
func TestDetect(t *testing.T) {
	text, err := os.ReadFile("testdata/detect.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(text), "== ")[1:]
	if len(cases) < 20 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		name, body, _ := strings.Cut(c, "\n")
		t.Run(name, func(t *testing.T) {
			var procs []fleet.Process
			var want []string
			for line := range strings.Lines(body) {
				line = strings.TrimSpace(line)
				if expected, ok := strings.CutPrefix(line, "=> "); ok {
					want = append(want, expected)
				} else if line != "" && !strings.HasPrefix(line, "#") {
					procs = append(procs, process(t, line))
				}
			}
			var got []string
			for _, r := range Detect(kinds(t), procs) {
				got = append(got, describe(r))
			}
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

func process(t *testing.T, line string) fleet.Process {
	t.Helper()
	head, argv, _ := strings.Cut(line, "|")
	var p fleet.Process
	var exe string
	if n, err := fmt.Sscan(head, &p.ID.PID, &p.PPID, &p.State, &p.Name, &exe); n != 5 {
		t.Fatalf("%q: %v", line, err)
	}
	p.ID.Start = uint64(p.ID.PID)
	p.Exe = fleet.Known(exe)
	if exe == "-" {
		p.Exe = fleet.Unknown[string]("permission denied")
	}
	for _, a := range strings.Split(strings.TrimSpace(argv), ", ") {
		if a != "" {
			p.Args = append(p.Args, a)
		}
	}
	return p
}

func describe(r Run) string {
	s := fmt.Sprintf("%d %s", r.Process.ID.PID, r.Kind)
	if r.OneShot {
		s += " oneshot"
	}
	if r.Parent.PID != 0 {
		s += fmt.Sprintf(" under %d", r.Parent.PID)
	}
	s += " tree"
	for _, p := range r.Tree {
		s += fmt.Sprintf(" %d", p.ID.PID)
	}
	return s
}

// Whatever the process table holds, rings and strangers included, Detect ends;
// every agent heads its own tree, and no process of one kind is counted twice.
func TestDetectAnyTable(t *testing.T) {
	set := kinds(t)
	names := []string{"claude", "codex", "node", "bash", "vim", "tmux: server", ""}
	args := []string{"claude", "/usr/bin/node", "/x/@openai/codex/bin/codex.js", "bash", "-c", "-p", "mcp", "", "--", "npm exec codex"}
	rapid.Check(t, func(t *rapid.T) {
		var procs []fleet.Process
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			procs = append(procs, fleet.Process{
				ID: fleet.ProcessID{PID: i + 1, Start: uint64(i)}, PPID: rapid.IntRange(0, 13).Draw(t, "ppid"),
				Name: rapid.SampledFrom(names).Draw(t, "name"), Args: rapid.SliceOfN(rapid.SampledFrom(args), 0, 4).Draw(t, "args"),
				Exe: fleet.Known("/bin/" + rapid.SampledFrom(names).Draw(t, "exe")),
			})
		}
		seen := map[int]bool{}
		for _, r := range Detect(set, procs) {
			if r.Tree[0].ID != r.Process.ID || seen[r.Process.ID.PID] {
				t.Fatalf("agent %d twice, or not at the head of its tree", r.Process.ID.PID)
			}
			seen[r.Process.ID.PID] = true
		}
	})
}

func TestCommandKind(t *testing.T) {
	for line, want := range map[string]string{
		`claude`:                "claude",
		`"claude --model opus"`: "claude",
		`"exec env FOO=1 /opt/bin/claude -p 'do it'"`:                  "claude oneshot",
		`sh -c "claude --resume x; exec bash"`:                         "claude",
		`node /usr/lib/node_modules/@openai/codex/bin/codex.js exec x`: "codex oneshot",
		`"vim claude"`:          "",
		`bash`:                  "",
		``:                      "",
		`"tail -f claude.log"`:  "",
		`"claude mcp serve"`:    "",
		`'unfinished "quote`:    "",
		`"grep claude; claude"`: "",
	} {
		kind, oneShot := CommandKind(kinds(t), line)
		got := kind
		if oneShot {
			got += " oneshot"
		}
		if got != want {
			t.Errorf("CommandKind(%s) = %q, want %q", line, got, want)
		}
	}
}

func FuzzCommandKind(f *testing.F) {
	set := kinds(f)
	f.Add(`sh -c "claude \"x`)
	f.Fuzz(func(t *testing.T, line string) { CommandKind(set, line) })
}
