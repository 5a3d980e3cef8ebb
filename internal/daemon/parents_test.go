package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestParentsAreTold: the parent of an agent that crashes again and again is told
// of each try, of what came of it, and once that it is over; it is all kept for it,
// over a kill of the daemon, and in the feed.
func TestParentsAreTold(t *testing.T) {
	w := newTown(t, "[rule.agent-crashed]\nattempts = \"2 in 1h\"\ncooldown = \"1s\"\n[limits]\nsettle = \"100ms\"\nstagger = \"0s\"\ndeaths = \"9 in 1s\"\n[recover]\nsettle = \"200ms\"\n")
	w.spawn("lead", "reply hello", false)
	s := &api.SpawnRequest{Kind: "claude", Parent: "lead", Dir: filepath.Join(w.dir, "work"), Argv: []string{"claude", "--fake", "boot 300ms; kill"}}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "worker", Spawn: s}); o.State != "done" {
		t.Fatalf("spawn: %+v\n%s", o, w.said)
	}
	await(t, w.said.String, func() bool { return w.agent("worker").Failed != "" })
	told := func() (kinds []string, text string) {
		d, err := w.client().Agent(t.Context(), "lead")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range d.Messages {
			kinds, text = append(kinds, m.Kind), text+fmt.Sprintf("%s %s: %s | %s\n", m.Priority, m.Kind, m.Subject, m.Body)
		}
		return kinds, text
	}
	await(t, w.said.String, func() bool { kinds, _ := told(); return len(kinds) >= 5 }) // the pass after that sorts the last one
	kinds, text := told()
	count := map[string]int{}
	for _, k := range kinds {
		count[k]++
	}
	if count["recovery_attempt"] != 2 || count["recovery_failed"]+count["recovery_success"] != 2 || count["recovery_exhausted"] != 1 || len(kinds) != 5 {
		t.Errorf("the parent is told %v:\n%s", count, text)
	}
	for _, part := range []string{"(attempt 1 of 2)", "(attempt 2 of 2)", "P1 recovery_exhausted"} {
		if !strings.Contains(text, part) {
			t.Errorf("it is not told %q:\n%s", part, text)
		}
	}
	w.kill()
	w.start()
	if again, text := told(); len(again) != len(kinds) {
		t.Errorf("after a restart it is told %d things, not %d:\n%s", len(again), len(kinds), text)
	}
	f, err := w.client().Feed(t.Context(), api.FeedQuery{View: api.FeedTrace, Of: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range f.Entries {
		if strings.HasPrefix(e.Kind, "recovery_") {
			n++
		}
	}
	if n != len(kinds) {
		t.Errorf("%d of them are in the feed, not %d: %+v", n, len(kinds), f.Entries)
	}
	t.Log(text)
}
