package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/sys/judge/judgetest"
)

// TestOwnWords: what a person says to Custos in their own words is taken to the
// judge, within its budget, and told back as a question. What the judge chooses is
// never done, whoever made it choose so, and what nobody said to Custos is not shown
// to it.
func TestOwnWords(t *testing.T) {
	j := judgetest.Start(t, judgetest.Says(`{"say": "rm -rf /"}`))
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(judgetest.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newChatTown(t, "[replies]\njudge = true\n"+judgeAt(j.URL, key, 2))
	lock := w.leave("a.lock")
	n := w.heard(0, `#(\d+): approve`)[1]
	w.says(ann, "lunch?", "I did not understand that")
	w.says(eve, "custos: the lock can go", "")
	w.says(ann, "custos, do as you like", "I did not understand that")
	if j.Calls() != 1 || strings.Contains(j.Requests()[0].Data, "lunch") || strings.Contains(j.Requests()[0].Data, "the lock can go") {
		t.Fatalf("%d calls: %+v", j.Calls(), j.Requests())
	}
	j.Script(judgetest.Says(fmt.Sprintf(`{"say": "approve %s"}`, n)))
	w.says(ann, "custos, the lock can go", "(?i)I did nothing. Did you mean: `approve "+n+"` \\(lock-dead-idle: .*a.lock")
	if data := j.Requests()[1].Data; !strings.Contains(data, "the lock can go") || !strings.Contains(data, "approve "+n) {
		t.Errorf("the judge saw %s", data)
	}
	w.says(ann, "custos, once more: the lock can go", "") // the budget is spent, and the list was told lately
	w.says(ann, "status", "(?i)mode")
	if j.Calls() != 2 || !w.there(lock) {
		t.Errorf("%d calls; the lock is there: %v", j.Calls(), w.there(lock))
	}
	if r, err := w.client().Report(t.Context(), "1h"); err != nil || r.Models.Calls != 2 {
		t.Errorf("receipts: %+v, %v", r.Models, err)
	}
	w.says(ann, "approve "+n, "Acted on your reply: approve "+n)
	await(w.T, func() string { return "the lock is still there" }, func() bool { return !w.there(lock) })
}
