package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestAgentsActForNobody: an agent tries to do what takes a person, in every way
// that is known to have been tried: plainly, forked away twice with a clean
// environment, by way of the tmux server; from a terminal of its own, and without
// one. A person may, the same moment.
func TestAgentsActForNobody(t *testing.T) {
	w := newTown(t, "[agents]\nevery = \"1s\"\n[limits]\nstagger = \"0s\"\nspawn_memory = \"0\"\n")
	custos := filepath.Join(w.bin, "custos") + " --config " + filepath.Join(w.dir, "custos.toml") + " "
	all := orders(custos, w.dir)
	for _, headless := range []bool{false, true} {
		name := map[bool]string{false: "cheat", true: "mute"}[headless]
		script := cheat(t, filepath.Join(w.dir, "work", name+".sh"), all)
		s := &api.SpawnRequest{Kind: "claude", Argv: []string{script}, Dir: filepath.Join(w.dir, "work"), Headless: headless, Prompt: map[bool]string{true: "go"}[headless]}
		if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
			t.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
		}
		for i, line := range all {
			for _, how := range []string{"plain", "forked"} {
				w.wasRefused(t, fmt.Sprintf("%s.%s.%d", script, how, i+1), name+" "+how, line)
			}
		}
	}
	w.viaTmux(t, all)
	for marker, says := range map[string]string{w.marker("cheat"): "takes a person", "CUSTOS_AGENT=cheat:made.up": "no agent that this Custos has started"} {
		for _, line := range all {
			copied := exec.Command("sh", "-c", line)
			copied.Env = append(os.Environ(), marker)
			out, err := copied.CombinedOutput()
			if err == nil || !strings.Contains(string(out), says) {
				t.Errorf("with the marker %s, %q ended with %v: %s", marker, line, err, out)
			}
		}
	}
	for _, line := range []string{"ack 1", "freeze because", "thaw"} {
		out, _ := exec.Command("sh", "-c", custos+line).CombinedOutput()
		if strings.Contains(string(out), "takes a person") || strings.Contains(string(out), "cannot be shown") {
			t.Errorf("a person is refused %s: %s", line, out)
		}
	}
}

// cheat writes a script that tries each line, and leaves what it was told in files.
func cheat(t *testing.T, script string, lines []string) string {
	t.Helper()
	text := `#!/bin/sh
i=0
while read -r line; do
  i=$((i+1))
  plain="$line"
  sh -c "$plain" >"$0.plain.$i" 2>&1; echo "code $?" >>"$0.plain.$i"
  setsid -f env -i HOME="$HOME" PATH="$PATH" sh -c "$plain >$0.forked.$i 2>&1; echo code \$? >>$0.forked.$i"
done <<END
` + strings.Join(lines, "\n") + `
END
sleep 600
`
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return script
}

// viaTmux has the tmux server that agents run in do what takes a person: itself,
// and by somebody whom it has let go of.
func (w *town) viaTmux(t *testing.T, lines []string) {
	t.Helper()
	socket := filepath.Join(w.dir, "s", "run", "tmux.sock")
	for i, line := range lines {
		file := filepath.Join(w.dir, "work", fmt.Sprintf("tmux.%d", i))
		away := filepath.Join(w.dir, "work", fmt.Sprintf("away.%d", i))
		for _, run := range []string{
			fmt.Sprintf("%s >%s 2>&1; echo code $? >>%s", line, file, file),
			fmt.Sprintf("setsid -f env -i HOME=%s PATH=%s sh -c 'until [ $(cut -d\" \" -f4 /proc/$$/stat) = 1 ]; do :; done; %s >%s 2>&1; echo code $? >>%s'", w.dir, os.Getenv("PATH"), line, away, away),
		} {
			if out, err := exec.Command("tmux", "-S", socket, "run-shell", run).CombinedOutput(); err != nil {
				t.Logf("tmux run-shell: %v %s", err, out)
			}
		}
		w.wasRefused(t, file, "tmux run-shell", line)
		w.wasRefused(t, away, "let go by tmux", line)
	}
}

// orders are what takes a person, as it is typed.
func orders(custos, dir string) []string {
	return []string{custos + "ack 1", custos + "silence disk-full --for 1h", custos + "stop cheat", custos + "patrol --apply", custos + "freeze because", custos + "thaw"}
}

// refusedForWhoAsks: an agent is told that it is one, or that it cannot be shown to be none.
func refusedForWhoAsks(said string) bool {
	return strings.Contains(said, "takes a person") || strings.Contains(said, "cannot be shown to be no agent")
}

func (w *town) wasRefused(t *testing.T, file, how, line string) {
	t.Helper()
	read := func() string { b, _ := os.ReadFile(file); return string(b) }
	await(t, func() string { return fmt.Sprintf("%s of %q: %q\n%s", how, line, read(), w.said) }, func() bool { return strings.Contains(read(), "code ") })
	got := read()
	if strings.Contains(got, "code 0") || !refusedForWhoAsks(got) {
		t.Errorf("%s of %q was not refused: %s", how, line, got)
	}
}

// TestAStepSpeaksForItsRun: what a step of a run begins is marked with an instance that this
// Custos has started, and is believed.
func TestAStepSpeaksForItsRun(t *testing.T) {
	dir := t.TempDir()
	w := foundTown(t, "[formulas]\ndirs = [\""+dir+"\"]\n")
	step := fmt.Sprintf("name = \"own\"\n[[steps]]\nid = \"a\"\nrun = [%q, \"--config\", %q, \"work\", \"add\", \"found by a step\"]\n", filepath.Join(w.bin, "custos"), filepath.Join(w.dir, "custos.toml"))
	if err := os.WriteFile(filepath.Join(dir, "own.toml"), []byte(step), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	if out, code := says(t, w.dir, "formula", "run", "own"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	var out string
	await(t, func() string { runs, _ := says(t, w.dir, "formula", "runs"); return out + runs + w.said.String() }, func() bool {
		out, _ = says(t, w.dir, "work", "show", "w1")
		return strings.Contains(out, "found by a step")
	})
	if !strings.Contains(out, "run/") {
		t.Errorf("in whose name it was written down: %s", out)
	}
}
