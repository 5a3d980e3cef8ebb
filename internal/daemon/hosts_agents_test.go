package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"custos/internal/api"
)

// TestAgentsActForNobodyElsewhere: what an agent of this machine may not do here it may not do on
// another one either: one of ours that hides its marker or forks itself away, and one that was
// started by hand. Each may look there; a person may do it, the same moment.
func TestAgentsActForNobodyElsewhere(t *testing.T) {
	two := foundBeside(t, "")
	two.start()
	two.spawn("bob", "idle", false)
	d := newDesk(t, map[string]string{"box2": two.program()})
	one := foundBeside(t, "[agents]\nevery = \"1s\"\n[limits]\nstagger = \"0s\"\nspawn_memory = \"0\"\n[kind.hand]\nnames = [\"handagent\"]\nscripts = [\"*/handagent\"]\n[kind.hand.launch]\nprogram = \"handagent\"\n[host.box2]\nssh = \"box2\"\nprogram = \""+filepath.Join(two.dir, "custos")+"\"\n")
	one.start()
	custos := "PATH=" + d.dir + ":$PATH " + filepath.Join(one.bin, "custos") + " --config " + filepath.Join(one.dir, "custos.toml") + " "
	lines := []string{custos + "nudge box2/bob hello --wait 0", custos + "stop box2/bob --wait 0"}
	script := cheat(t, filepath.Join(one.dir, "work", "cheat.sh"), lines)
	one.spawnArgv("cheat", script)
	for i, line := range lines {
		for _, how := range []string{"plain", "forked"} {
			one.wasRefused(t, fmt.Sprintf("%s.%s.%d", script, how, i+1), "ours, "+how, line)
		}
	}
	one.byHand(lines)
	if out, code := d.custos("nudge", "box2/bob", "from a person", "--wait", "0"); code != 0 && code != 4 {
		t.Errorf("a person is refused: %d: %s", code, out)
	}
}

// byHand starts an agent of a known kind that Custos knows nothing of, in a tmux server of its own.
func (w *town) byHand(lines []string) {
	w.Helper()
	dir := filepath.Join(w.dir, "hand")
	if err := os.Mkdir(dir, 0o755); err != nil {
		w.Fatal(err)
	}
	script := cheat(w.T, filepath.Join(dir, "cheat.sh"), lines)
	hand := filepath.Join(dir, "handagent")
	if err := os.WriteFile(hand, []byte("#!/bin/sh\nuntil [ -e "+dir+"/go ]; do sleep 0.1; done\nsh "+script+"\n"), 0o755); err != nil {
		w.Fatal(err)
	}
	tmux := []string{"-S", filepath.Join(dir, "tmux"), "-f", "/dev/null"}
	cmd := exec.Command("tmux", append(tmux, "new-session", "-d", hand)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+w.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("tmux: %v: %s", err, out)
	}
	w.Cleanup(func() { _ = exec.Command("tmux", append(tmux, "kill-server")...).Run() })
	isForeign := func(g api.AgentRow) bool { return g.Owner == "foreign" && g.Kind == "hand" && g.PID != 0 }
	await(w.T, func() string { out, _ := w.says("ps"); return out }, func() bool {
		all, err := w.client().Agents(w.Context())
		return err == nil && slices.ContainsFunc(all.Agents, isForeign)
	})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		w.Fatal(err)
	}
	for i, line := range lines {
		w.wasRefused(w.T, fmt.Sprintf("%s.plain.%d", script, i+1), "started by hand", line)
	}
}
