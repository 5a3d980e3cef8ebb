package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// Wherever what an agent shows is cut, no half of a secret is shown: a block of lines
// that is cut between them, and a key in a line that is longer than what is read of it.
func TestPeekRedactsBeforeItCuts(t *testing.T) {
	w := newTown(t, "")
	const perLine = 4096 // what was read for each line that is asked for
	block := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("Q", 40)+"\n", 6) + "-----END PRIVATE KEY-----"
	end := strings.Repeat(" and more words", perLine/15) // the cut goes through the key before it
	key := "FORGE_TOKEN=" + strings.Repeat("AbCd0123", 8)
	text := block + "\n" + "it says " + key + end[:perLine-30] + "\n"
	file := filepath.Join(w.dir, "text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, headless := range map[string]bool{"headless": true, "terminal": false} {
		s := &api.SpawnRequest{Kind: "generic", Headless: headless, Argv: []string{"sh", "-c", "cat " + file + "; echo ends here; exec sleep 1000"}, Dir: filepath.Join(w.dir, "work")}
		if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
			t.Fatalf("%+v\n%s", o, w.said)
		}
		await(t, w.said.String, func() bool {
			got, err := w.client().Screen(t.Context(), name, 50)
			return err == nil && strings.Contains(got.Text, "ends here")
		})
		for lines := 1; lines <= 12; lines++ {
			got, err := w.client().Screen(t.Context(), name, lines)
			if n := strings.Count(got.Text, "\n") + 1; err != nil || n > lines || !strings.HasSuffix(got.Text, "ends here") {
				t.Fatalf("%s, %d lines: %d, %v, %q", name, lines, n, err, got.Text)
			}
			if strings.Contains(got.Text, "Cd01") || strings.Contains(got.Text, "QQQ") {
				t.Errorf("%s: a secret shows in the last %d lines: %q", name, lines, got.Text)
			}
		}
	}
}
