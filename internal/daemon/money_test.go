package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger/allowance"
)

// responseOf is a line of Claude Code that tells of one response, a moment ago.
func responseOf(id, model string, output int) string {
	at := time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano)
	return fmt.Sprintf(`{"type":"assistant","sessionId":"s","timestamp":%q,"requestId":%q,"message":{"id":%q,"role":"assistant","model":%q,"usage":{"input_tokens":1,"output_tokens":%d}}}`+"\n", at, id, id, model, output)
}

// TestAPriceThatIsChangedInTheMiddleOfADay: what was read before keeps the price it had, whatever is read again; what is
// read from then on has the new one.
func TestAPriceThatIsChangedInTheMiddleOfADay(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".claude/projects/-w/s.jsonl")
	putFiles(t, home, map[string]string{".claude/projects/-w/s.jsonl": ""})
	text := ""
	for _, step := range []struct {
		what, prices string
		table        int64 // in all, in millionths of a dollar
		unpriced     int64
	}{
		{"no price", "", 0, 1},
		{"its first price", "[prices.\"mine\"]\ninput = 0\noutput = 1\n", 1_000_000, 1},
		{"ten times as much", "[prices.\"mine\"]\ninput = 0\noutput = 10\n", 11_000_000, 1},
		{"nothing at all", "[prices.\"mine\"]\ninput = 0\noutput = 0\n", 11_000_000, 1},
		{"no price again", "", 11_000_000, 2},
	} {
		more := responseOf(step.what, "mine", 1_000_000)
		text += more
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(more); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		s := countedIn(t, home, step.prices)
		list, err := s.costs(t.Context(), s.world.Now().Add(-time.Hour), "model")
		s.Close()
		if err != nil || len(list) != 1 || list[0].Table != step.table || list[0].Unpriced != step.unpriced {
			t.Errorf("%s: %+v, %v, want %d and %d unpriced", step.what, list, err, step.table, step.unpriced)
		}
	}
	// Read again under a price, what had none gets that; what had one keeps it.
	putFiles(t, home, map[string]string{".claude/projects/-w/copy.jsonl": text})
	s := countedIn(t, home, "[prices.\"mine\"]\ninput = 0\noutput = 100\n")
	defer s.Close()
	list, err := s.costs(t.Context(), s.world.Now().Add(-time.Hour), "model")
	if err != nil || len(list) != 1 || list[0].Table != 211_000_000 || list[0].Unpriced != 0 || list[0].Calls != 5 {
		t.Errorf("read again: %+v, %v", list, err)
	}
}

// TestABudgetThatIsEditedWhileItHolds: what was spent stays, and is judged by what custos.toml says now; a raise is of the
// name that a person raised.
func TestABudgetThatIsEditedWhileItHolds(t *testing.T) {
	home := t.TempDir()
	first := true
	for _, step := range []struct{ what, toml, want string }{
		{"it is reached", "[budget.cap]\nusd = 1\n", "cap pause 2.00 USD of 1.00 USD"},
		{"limit down", "[budget.cap]\nusd = 0.5\n", "cap pause 2.00 USD of 0.50 USD"},
		{"limit up, and still reached", "[budget.cap]\nusd = 2\n", "cap pause 2.00 USD of 2.00 USD"},
		{"limit up", "[budget.cap]\nusd = 3\n", "cap under 2.00 USD of 3.00 USD"},
		{"another limit", "[budget.cap]\ntokens = 100\n", "cap under 2 tokens of 100 tokens"},
		{"another scope", "[budget.cap]\nusd = 1\nscope = \"agent\"\n", "cap/bob pause 2.00 USD of 1.00 USD"},
		{"another window", "[budget.cap]\nusd = 1\nwindow = \"1h\"\n", "cap pause 2.00 USD of 1.00 USD"},
		{"raised", "[budget.cap]\nusd = 1\n", "cap under 2.00 USD of 6.00 USD +5.00 USD"},
		{"renamed, which nobody has raised", "[budget.top]\nusd = 1\n", "top pause 2.00 USD of 1.00 USD"},
		{"removed", "", ""},
		{"back, and raised still", "[budget.cap]\nusd = 1\n", "cap under 2.00 USD of 6.00 USD +5.00 USD"},
	} {
		s := countedIn(t, home, step.toml)
		st, err := s.ledger.writer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.daemon = true // as one command it would not know what was not counted since
		s.readOnce(t.Context())
		now := s.world.Now()
		if first {
			first = false
			u := fleet.Usage{Key: "claude:1", Kind: "claude", Session: "s", Agent: "bob", At: now.Wall, Pricing: fleet.PricedByCLI, MicroUSD: 2e6, Tokens: fleet.Tokens{Input: 1, Output: 1}}
			if err := st.AddUsage(t.Context(), []fleet.Usage{u}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if step.what == "raised" {
			r := fleet.Raise{Name: "cap", Metric: fleet.MetricUSD, Amount: 5e6, By: "ann", From: now, Until: now.Add(time.Hour)}
			if err := st.Raise(t.Context(), []fleet.Silence{r.Silence()}, fleet.Event{Kind: "budget.raised"}); err != nil {
				t.Fatal(err)
			}
		}
		s.board.Touched(fleet.PartSpending)
		s.board.Await(t.Context(), fleet.PartSpending)
		past, err := s.recall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range allowance.All(past, s.budgets, s.board.Snapshot()) {
			words, _, _ := strings.Cut(f.Raised, " until ")
			got = append(got, strings.TrimSpace(strings.Join([]string{f.Name, string(f.Stage), f.Says, words}, " ")))
		}
		s.Close()
		if text := strings.Join(got, "; "); text != step.want {
			t.Errorf("%s: %q, want %q", step.what, text, step.want)
		}
	}
}
