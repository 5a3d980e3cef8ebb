package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
)

const handoffConfig = `budget = "5000 in 1h"
blast = 0
[limits]
stagger = "0s"
spawn_memory = "0"
settle = "200ms"
cooldown = "1s"
[recover]
settle = "200ms"
[agents]
every = "1s"
[stop]
ask_wait = "2s"
[handoff]
for = ["builder"]
deadline = "10m"
`

// notes are the prompts that the fake agents got, a line each.
func (w *town) notes() []string {
	b, _ := os.ReadFile(filepath.Join(w.dir, ".fakeagent/log.jsonl"))
	return slices.DeleteFunc(strings.Split(string(b), "\n"), func(l string) bool { return !strings.Contains(l, "prompt") })
}

func tally(lines []string, words string) (n int) {
	for _, l := range lines {
		if strings.Contains(l, words) {
			n++
		}
	}
	return n
}

// handOver hands over as the agent itself: with its marker.
func (w *town) handOver(name, text string) (string, error) {
	w.Helper()
	cmd := exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "handoff", "--file", "-")
	cmd.Env = append(os.Environ(), "HOME="+w.dir, w.marker(name))
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// marker is what an agent's process carries.
func (w *town) marker(name string) string {
	w.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", w.agent(name).PID))
	if err != nil {
		w.Fatal(err)
	}
	for kv := range strings.SplitSeq(string(b), "\x00") {
		if strings.HasPrefix(kv, "CUSTOS_AGENT=") {
			return kv
		}
	}
	w.Fatalf("%s carries no marker", name)
	return ""
}

func (w *town) instance(name string) string {
	w.Helper()
	m := w.marker(name)
	return m[strings.LastIndexByte(m, ':')+1:]
}

// TestHandoffWhole: an agent whose context is nearly full is asked once, hands over,
// and a fresh one goes on in its folder with its words, whatever is killed between
// two stages. One that custos.toml does not name is left alone.
func TestHandoffWhole(t *testing.T) {
	w := &rulesTown{town: newTown(t, handoffConfig)}
	w.statusLine()
	for name, role := range map[string]string{"dev": "builder", "other": "reviewer"} {
		s := &api.SpawnRequest{Kind: "claude", Role: role, Dir: filepath.Join(w.dir, "work"), Prompt: "fake context 85; reply hello", Task: "mend the tests"}
		if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
			t.Fatalf("%+v\n%s", o, w.said)
		}
	}
	first, firstInstance := w.awaitState("dev", "context_high"), w.instance("dev")
	await(t, func() string { return strings.Join(w.notes(), "\n") + w.said.String() }, func() bool { return tally(w.notes(), "custos handoff --file -") == 1 })
	w.kill()
	w.start()
	if out, err := w.handOver("dev", strings.Repeat("x", 65<<10)); err == nil || !strings.Contains(out, "cannot take a hand-off of 66560 bytes") {
		t.Errorf("too much was taken: %v\n%s", err, out)
	}
	text := "All but one test is mended.\n" + strings.Repeat("A long story. ", 4000) + "\nWhat is left: TestLast."
	if out, err := w.handOver("dev", text); err != nil || !strings.Contains(out, "Taken: a fresh agent takes the place of dev") {
		t.Fatalf("%v\n%s\n%s", err, out, w.said)
	}
	w.kill()
	w.start()
	var next api.AgentRow
	await(t, func() string { return fmt.Sprintf("%+v\n%s\n%s", next, strings.Join(w.notes(), "\n"), w.said) }, func() bool {
		next = w.agent("dev")
		return next.PID != 0 && next.PID != first.PID && next.State == "idle" && tally(w.notes(), "TestLast") == 1
	})
	await(t, w.said.String, func() bool { h, err := w.client().Handoff(t.Context(), "dev"); return err == nil && h.Stage == "done" })
	notes := w.notes()
	fresh := notes[len(notes)-1]
	if tally(notes, "custos handoff --file -") != 1 || tally(notes, "All but one test is mended.") != 1 || !strings.Contains(fresh, "mend the tests") {
		t.Errorf("the prompts were\n%s", strings.Join(notes, "\n"))
	}
	h, err := w.client().Handoff(t.Context(), "dev")
	if err != nil || h.Instance != firstInstance || h.Next != w.instance("dev") || h.Text != "" {
		t.Errorf("%+v, %v", h, err)
	}
	conversations, _ := filepath.Glob(filepath.Join(w.dir, ".fakeagent/sessions/*.jsonl"))
	if len(conversations) != 3 {
		t.Errorf("%d conversations, want those of other, of dev, and a fresh one", len(conversations))
	}
	if a := w.agent("other"); a.State != "context_high" || len(w.recoveries("dev")) != 1 {
		t.Errorf("other is %s; dev was started again %d times", a.State, len(w.recoveries("dev")))
	}
	// What is written unasked, by one that is not replaced, is kept.
	if out, err := w.handOver("other", "I know a thing."); err != nil || !strings.Contains(out, "Kept with the work of other") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := w.client().HandOver(t.Context(), api.HandoffRequest{Agent: "nobody", Text: "x"}); err == nil || !strings.Contains(err.Error(), `cannot find a registered agent "nobody"`) {
		t.Errorf("%v", err)
	}
}
