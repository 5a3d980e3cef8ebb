package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgentsActForNobody: an agent tries to do what takes a person, in every way
// that is known to have been tried: plainly, forked away twice with a clean
// environment, by way of the tmux server. A person may, the same moment.
func TestAgentsActForNobody(t *testing.T) {
	w := newTown(t, "[agents]\nevery = \"1s\"\n[limits]\nstagger = \"0s\"\nspawn_memory = \"0\"\n")
	custos := filepath.Join(w.bin, "custos") + " --config " + filepath.Join(w.dir, "custos.toml") + " "
	work := filepath.Join(w.dir, "work")
	script := filepath.Join(work, "cheat.sh")
	// $1 is how: the words before each command. Each leaves what it said in a file.
	text := `#!/bin/sh
i=0
while read -r line; do
  i=$((i+1))
  plain="$line"
  sh -c "$plain" >"$0.plain.$i" 2>&1; echo "code $?" >>"$0.plain.$i"
  setsid -f env -i HOME="$HOME" PATH="$PATH" sh -c "$plain >$0.forked.$i 2>&1; echo code \$? >>$0.forked.$i"
done <<END
` + strings.Join(orders(custos, w.dir), "\n") + `
END
sleep 600
`
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	w.spawnArgv("cheat", script)
	socket := filepath.Join(w.dir, "s", "run", "tmux.sock")
	for i, line := range orders(custos, w.dir) {
		for _, how := range []string{"plain", "forked"} {
			w.wasRefused(t, fmt.Sprintf("%s.%s.%d", script, how, i+1), how, line)
		}
		file := fmt.Sprintf("%s.tmux.%d", script, i+1)
		if out, err := exec.Command("tmux", "-S", socket, "run-shell", fmt.Sprintf("%s >%s 2>&1; echo code $? >>%s", line, file, file)).CombinedOutput(); err != nil {
			t.Logf("tmux run-shell: %v %s", err, out)
		}
		if !strings.Contains(line, "freeze") && !strings.Contains(line, "thaw") { // of a file: whoever reaches it writes it
			w.wasRefused(t, file, "tmux run-shell", line)
		}
		copied := exec.Command("sh", "-c", line)
		copied.Env = append(os.Environ(), "CUSTOS_AGENT=cheat:copied")
		out, err := copied.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "takes a person") {
			t.Errorf("with the marker of an agent, %q ended with %v: %s", line, err, out)
		}
	}
	out, _ := exec.Command("sh", "-c", custos+"ack 1").CombinedOutput()
	if strings.Contains(string(out), "takes a person") || strings.Contains(string(out), "cannot be shown") {
		t.Errorf("a person is refused: %s", out)
	}
}

// orders are what takes a person, as it is typed.
func orders(custos, dir string) []string {
	return []string{custos + "ack 1", custos + "silence disk-full --for 1h", custos + "stop cheat", custos + "patrol --apply", custos + "freeze because", custos + "thaw"}
}

func (w *town) wasRefused(t *testing.T, file, how, line string) {
	t.Helper()
	read := func() string { b, _ := os.ReadFile(file); return string(b) }
	await(t, func() string { return fmt.Sprintf("%s of %q: %q\n%s", how, line, read(), w.said) }, func() bool { return strings.Contains(read(), "code ") })
	got := read()
	person := strings.Contains(got, "takes a person") || strings.Contains(got, "cannot be shown to be no agent")
	if strings.Contains(got, "code 0") || !person {
		if how == "forked" && (strings.Contains(line, "freeze") || strings.Contains(line, "thaw")) {
			return // it asks nobody who knows of agents: see docs/notifications.md
		}
		t.Errorf("%s of %q was not refused: %s", how, line, got)
	}
}
