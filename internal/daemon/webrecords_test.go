package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/store"
)

// recordsTown has budgets, schedules, mail and what two agents have used, before its daemon begins.
func recordsTown(t *testing.T) *town {
	t.Helper()
	w := foundTown(t, quickTown+"[budget.each]\nscope = \"agent\"\nwindow = \"total\"\nusd = 10\nhold = 90\n[budget.all]\nwindow = \"total\"\nusd = 1000\n[schedule.nightly]\nformula = \"supervisor\"\ncron = \"0 3 * * *\"\n[schedule.off]\nformula = \"supervisor\"\nevery = \"20m\"\nenabled = false\n")
	now := time.Now().UTC()
	var used []fleet.Usage
	for i, agent := range []string{"builder", "tester", "builder"} {
		used = append(used, fleet.Usage{Key: "claude:" + string(rune('a'+i)), Kind: "claude", Session: agent, Model: "claude-opus-4-1", At: now.Add(-time.Duration(i) * 10 * time.Minute), Source: fleet.UsageTranscript,
			Tokens: fleet.Tokens{Input: 1000, Output: int64(2000 * (i + 1))}, Pricing: fleet.PricedByCLI, MicroUSD: int64(3_300_000 * (i + 1)), Agent: agent, Project: "shop"})
	}
	if err := os.MkdirAll(w.cfg.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(w.cfg.StateDir, "custos.db")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.EditRecords(t.Context(), fleet.Instant{Wall: now}, func(all fleet.Records) (out fleet.Records, err error) {
		for _, subject := range []string{"Which branch?", "Another"} {
			m, err := ledger.SendMail(all, ledger.AddressesOf(nil), fleet.Mail{To: []string{fleet.Overseer}, Subject: subject, Priority: fleet.P2}, fleet.ByAgent("builder"), fleet.Instant{Wall: now})
			if err != nil {
				return out, err
			}
			out.Mails = append(out.Mails, m)
		}
		return out, nil
	})
	if err := errors.Join(err, st.AddUsage(t.Context(), used, nil), st.Close()); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w
}

// does types a command that must end well.
func (w *town) does(args ...string) string {
	w.Helper()
	out, code := w.says(args...)
	if code != 0 {
		w.Fatalf("%q ended with %d: %s", args, code, out)
	}
	return out
}

// recordRowsOf are the cells of each row of a list of a page, the name of the row first.
func recordRowsOf(t *testing.T, page, id string) (rows [][]string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for section := range doc.Descendants() {
		if section.Data != "section" || attribute(section, "id") != id {
			continue
		}
		for tr := range section.Descendants() {
			if tr.Data != "tr" || attribute(tr, "data-row") == "" {
				continue
			}
			row := []string{attribute(tr, "data-row")}
			for td := range tr.ChildNodes() {
				if td.Data == "td" {
					row = append(row, textOf(td))
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// A receiver that takes the test message has got it when the command ends; one that does not
// is said with its reason; both are in the feed.
func TestAReceiverIsTriedForReal(t *testing.T) {
	got := filepath.Join(t.TempDir(), "got")
	w := foundTown(t, quickTown+"[notifier.phone]\ntype = \"command\"\nrun = [\"tee\", \""+got+"\"]\n[notifier.pager]\ntype = \"command\"\nrun = [\"false\"]\n")
	w.start()
	if out := w.does("tell", "--try", "phone"); !strings.Contains(out, "phone has taken the test message") {
		t.Errorf("it says %s", out)
	}
	text, err := os.ReadFile(got)
	if err != nil || !strings.Contains(string(text), "a test message of Custos to phone") {
		t.Errorf("it got %s, %v", text, err)
	}
	if out, code := w.says("tell", "--try", "pager"); code != 3 || !strings.Contains(out, "receiver pager did not take the test message: ") {
		t.Errorf("a receiver that takes nothing: %d: %s", code, out)
	}
	if out, code := w.says("tell", "--try", "phon"); code != 2 || !strings.Contains(out, `did you mean "phone"`) {
		t.Errorf("a receiver that there is not: %d: %s", code, out)
	}
	feed := w.does("feed", "--json")
	for _, want := range []string{"sends receiver phone a test message", "receiver phone took the test message", "receiver pager did not take the test message"} {
		if !strings.Contains(feed, want) {
			t.Errorf("the feed does not say %q", want)
		}
	}
}
