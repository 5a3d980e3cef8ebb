package daemon_test

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
			m, err := ledger.SendMail(all, nil, fleet.Mail{To: []string{fleet.Overseer}, Subject: subject, Priority: fleet.P2}, fleet.ByAgent("builder"), fleet.Instant{Wall: now})
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

// rowsOf are the cells of each row of a list of a page, the name of the row first.
func rowsOf(t *testing.T, page, id string) (rows [][]string) {
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

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// agrees demands that a list of a page has the rows that a command has, each with the same words in
// the cells that are named by their number.
func (w *town) agrees(b *browser, path, id, command string, cells ...int) {
	w.Helper()
	out := w.does(strings.Fields(command)...)
	rows := rowsOf(w.T, b.sees(path), id)
	if len(rows) == 0 {
		w.Errorf("%s of %s is empty, and custos %s says\n%s", id, path, command, out)
	}
	lines := strings.Split(out, "\n")
	told := 0
	for _, line := range lines {
		if strings.Contains(line, " holds ") { // what a budget holds stands below the list
			continue
		}
		if i := slices.IndexFunc(rows, func(row []string) bool { return strings.Fields(line + " .")[0] == row[0] }); i >= 0 {
			told++
			for _, c := range cells {
				if !strings.Contains(line, rows[i][c]) {
					w.Errorf("%s of %s says %q, and custos %s says %q", id, path, rows[i], command, line)
				}
			}
		}
	}
	if told != len(rows) {
		w.Errorf("%s of %s has %q, and custos %s says\n%s", id, path, rows, command, out)
	}
}

// What the page tells of work, gates, convoys, mail, runs, schedules, costs and budgets is what the
// commands tell, in the same words; and a person answers there what waits for one.
func TestThePageTellsAndAnswersRecordsAsTheCommandsDo(t *testing.T) {
	w := recordsTown(t)
	for _, args := range [][]string{
		{"work", "add", "Release"}, {"work", "add", "Test", "--needs", "w1"}, {"work", "add", "Build"}, {"work", "take", "w3"},
		{"gate", "add", "human", "The notes are read", "--waiter", "overseer"}, {"gate", "add", "timer", "Later", "--until", "2h"}, {"convoy", "create", "All", "w1", "w2"},
	} {
		w.does(args...)
	}
	file := filepath.Join(w.dir, "ask.toml")
	if err := os.WriteFile(file, []byte("formula = \"ask\"\nmode = \"steps\"\n[[steps]]\nid = \"judge\"\ntitle = \"Judge it\"\ndescription = \"Look at it.\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.says("formula", "run", file) // it asks a person, and ends so
	await(t, func() string { return w.does("formula", "ps") }, func() bool { return strings.Contains(w.does("formula", "ps"), "needs a person") })
	address := w.webAddress()
	b := newBrowser(t, address[:strings.Index(address, "/enter")])
	b.enters(address)
	w.agrees(b, "/work", "work", "work list", 1, 2)
	w.agrees(b, "/work?which=blocked", "work", "work list --blocked", 1, 2, 4)
	w.agrees(b, "/work", "gates", "gate list", 1, 2, 3)
	w.agrees(b, "/work", "convoys", "convoy list", 1, 2, 3, 4, 5)
	w.agrees(b, "/mail", "mails", "mail inbox", 1, 2, 3)
	w.agrees(b, "/runs", "runs", "formula ps", 1, 2)
	w.agrees(b, "/runs", "schedules", "schedule list", 2, 3)
	budget := func() string { return w.does("budget") }
	await(t, budget, func() bool { return strings.Contains(budget(), "each/builder") }) // conversations are read for the first time before
	w.agrees(b, "/costs", "budgets", "budget", 1, 2, 3, 4)
	for _, by := range []string{"agent", "model", "account"} {
		w.agrees(b, "/costs?by="+by, "costs", "cost --by "+by, 1, 2, 4, 5)
	}
	b.answers("/work/gates/g1", "/work/gates/g1/close", url.Values{"as": {"passed"}, "why": {"read"}})
	b.answers("/mail/m1", "/mail/m1/read", url.Values{})
	run := rowsOf(t, b.sees("/runs"), "runs")[0][0]
	b.answers("/runs/"+run, "/runs/"+run+"/change", url.Values{"do": {"done"}, "reported": {"1"}, "step": {"judge"}})
	b.answers("/costs/budgets/each%2Fbuilder", "/costs/budgets/each%2Fbuilder/raise", url.Values{"by": {"+5usd"}, "for": {"2h"}})
	if out := w.does("gate", "show", "g1"); !strings.Contains(out, "passed") || !strings.Contains(out, "read") {
		t.Errorf("the gate: %s", out)
	}
	if out := w.does("mail", "inbox"); strings.Contains(out, "Which branch?") || !strings.Contains(out, "Another") {
		t.Errorf("the mail: %s", out)
	}
	await(t, func() string { return w.does("formula", "show", run) }, func() bool { return strings.Contains(w.does("formula", "show", run), ": done") })
	if out := w.does("budget", "show", "each/builder"); !strings.Contains(out, "Raised by +5.00 USD") {
		t.Errorf("the budget: %s", out)
	}
	w.agrees(b, "/costs", "budgets", "budget", 1, 2, 3, 4)
}

// answers sends a form of a page, with what that page has in its hidden fields.
func (b *browser) answers(page, to string, form url.Values) {
	b.t.Helper()
	text := b.sees(page)
	for _, field := range []string{"seen", "id"} {
		if strings.Contains(text, `name="`+field+`" value="`) {
			form.Set(field, hidden(b.t, text, field))
		}
	}
	if status, next, said := b.asks(http.MethodPost, to, form); status != http.StatusSeeOther {
		b.t.Fatalf("%s: %d to %s\n%s", to, status, next, said)
	}
}
