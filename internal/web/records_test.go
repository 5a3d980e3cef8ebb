package web

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"custos/internal/api"
)

// sayingRecords is what the daemon tells of work, mail, runs and costs, in which every text is the one given.
func sayingRecords(w *world, text string) {
	w.answers["GET /v1/work"] = filled[api.WorkList](text)
	w.answers["GET /v1/work/w1"] = filled[api.Work](text)
	w.answers["GET /v1/gates"] = filled[api.GateList](text)
	w.answers["GET /v1/gates/g1"] = filledAs[api.Gate](text)
	w.answers["GET /v1/convoys"] = filled[api.ConvoyList](text)
	w.answers["GET /v1/convoys/c1"] = filled[api.Convoy](text)
	w.answers["GET /v1/mail"] = filledAs[api.MailList](text)
	w.answers["GET /v1/runs"] = filled[api.Runs](text)
	run := filledAs[api.Run](text)
	w.answers["GET /v1/runs/r1"] = run
	run.Agent = ""
	w.answers["GET /v1/runs/r2"] = run
	w.answers["GET /v1/schedules"] = filled[api.Schedules](text)
	w.answers["GET /v1/costs"] = filled[api.Costs](text)
	w.answers["GET /v1/budgets"] = filledAs[api.Budgets](text)
}

func filledAs[T any](text string) T {
	v := filled[T](text)
	named(&v)
	return v
}

// named has an answer be of what the paths of recordPages ask for, in a state in which its page has its forms.
func named(v any) {
	switch v := v.(type) {
	case *api.Gate:
		v.State = "open"
	case *api.MailList:
		v.Mail[0].ID, v.Mail[0].State, v.Mail[0].About = "m1", "new", "agent/"+v.Mail[0].About
	case *api.Run:
		v.State, v.Over, v.Steps[0].State, v.Steps[0].Do = "needs a person", false, "needs a person", "prose"
	case *api.Budgets:
		v.Rows[0].Name, v.Rows[0].Hint = "day/ann", "custos budget raise day +10usd --for 2h"
	}
}

// colouredRecords has the lists show each state that is coloured.
func colouredRecords(w *world) {
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	known, used, percent := 2, 9.12, 91.2
	work, gates, convoys, mails := api.WorkList{At: at}, api.GateList{At: at}, api.ConvoyList{At: at}, api.MailList{At: at, For: "overseer"}
	for i, state := range workStates() {
		work.Work = append(work.Work, api.Work{Ref: fmt.Sprintf("w%d", i), Title: "Add a retry to the uploader", Project: "shop", State: state, Why: "the forge does not answer", Priority: fmt.Sprintf("P%d", i%5), Agent: "builder", BlockedBy: []string{"w1", "shop#12"}, Unseen: []string{"shop#12"}, Since: at.Add(-time.Hour)})
	}
	work.Work[1].State, work.Work[1].Ready, work.Work[4].Cycle = "open", true, []string{"w4", "w1"}
	for i, state := range gateStates() {
		gates.Gates = append(gates.Gates, api.Gate{ID: fmt.Sprintf("g%d", i), Title: "The release notes are approved", Type: "human", State: "open", Outcome: state, Why: "a person's word is waited for", Waiters: []string{"builder", "role/reviewer"}, At: at.Add(-50 * time.Hour)})
	}
	for i, state := range convoyStates() {
		convoys.Convoys = append(convoys.Convoys, api.Convoy{ID: fmt.Sprintf("c%d", i), Title: "Release 1.2", State: state, Members: make([]api.Member, 3), Closed: 1, Ready: &known, Unseen: 1, Since: at.Add(-time.Minute)})
	}
	for i, state := range mailStates() {
		mails.Mail = append(mails.Mail, api.Mail{ID: fmt.Sprintf("m%d", i+1), Subject: "Which of the two branches?", From: "builder", FromKind: "agent", Priority: "P2", Type: "question", State: state, At: at.Add(-time.Hour), To: []string{"overseer"}, Body: "There are two.\n\n  main\n  next"})
	}
	w.answers["GET /v1/work"], w.answers["GET /v1/gates"], w.answers["GET /v1/convoys"], w.answers["GET /v1/mail"] = work, gates, convoys, mails
	runs, schedules, costs, budgets := api.Runs{At: at}, api.Schedules{At: at}, api.Costs{By: "day", Total: api.CostRow{Key: "total", Calls: 1200, Tokens: 34_000_000, Cached: 30_000_000, Table: 91.5, Dollars: 91.5, Unpriced: 3}}, api.Budgets{}
	for i, state := range runStates() {
		runs.Runs = append(runs.Runs, api.Run{ID: fmt.Sprintf("nightly-3f2a91c%d", i), Formula: "nightly", Project: "shop", State: state, Steps: make([]api.RunStep, 4), Done: i % 4, At: at.Add(-time.Hour), For: "1h0m0s", By: "ann", Why: "step judge asks: which branch?"})
	}
	for _, s := range []api.ScheduleRow{{Name: "nightly", WhyNot: "", NextAt: []time.Time{at.Add(time.Hour)}, When: "cron 0 3 * * *", Enabled: true, LastRun: "nightly-1", LastAt: &at, LastDone: "done"}, {Name: "triage", When: "when mounts.any(m, m.used_percent > 90.0)", Enabled: true, WhyNot: "it cannot be told whether its condition holds"}, {Name: "sweep", When: "every 20m0s", WhyNot: "its section says enabled = false"}, {Name: "review", When: "on run:nightly:done", Enabled: true, WhyNot: "nothing has happened that it waits for"}} {
		s.Formula, s.Project = s.Name, "shop"
		schedules.Schedules = append(schedules.Schedules, s)
	}
	for i := range 7 {
		costs.Rows = append(costs.Rows, api.CostRow{Key: fmt.Sprintf("2026-11-%d", 18+i), Calls: 170, Tokens: 4_900_000, Cached: 4_100_000, Table: 13.07, Dollars: 13.07, Unpriced: i % 2})
	}
	for i, stage := range append(budgetStages()[1:], "under") {
		budgets.Rows = append(budgets.Rows, api.Budget{Name: fmt.Sprintf("each/builder-%d", i), Budget: "each", Scope: "agent", Window: "day", Stage: stage, Metric: "usd", Limit: 10, Used: &used, Percent: &percent, Says: "9.12 USD of 10.00 USD", TimeToLimit: "40m"})
	}
	budgets.Rows[2].Hint, budgets.Rows[2].Agents, budgets.Rows[5].Used, budgets.Rows[5].Percent, budgets.Rows[0].Name = "custos budget raise each +10usd --for 2h", []string{"builder", "tester"}, nil, nil, "day/ann"
	w.answers["GET /v1/runs"], w.answers["GET /v1/schedules"], w.answers["GET /v1/costs"], w.answers["GET /v1/budgets"] = runs, schedules, costs, budgets
}

// recordPages lists a path of each page of those.
func recordPages() []string {
	return []string{"/work", "/work?which=all", "/work/items/w1", "/work/gates/g1", "/work/convoys/c1", "/mail", "/mail?all=1&done=archive", "/mail/m1?done=read",
		"/runs", "/runs?all=1", "/runs/r1?done=reply", "/runs/r2", "/costs", "/costs?by=model&since=24h", "/costs/budgets/day%2Fann?done=raise"}
}

// tallied are the numbers beside the words of a section, and shown how many of its rows have each word.
func tallied(section *html.Node) (counted, shown map[string]int) {
	counted, shown = map[string]int{}, map[string]int{}
	word := func(n *html.Node) string {
		for _, s := range all(n, func(n *html.Node) bool { return strings.HasPrefix(attr(n, "class"), "state ") }) {
			return text(s)
		}
		return "?"
	}
	for _, ul := range all(section, func(n *html.Node) bool { return attr(n, "class") == "counts" }) {
		for _, li := range all(ul, func(n *html.Node) bool { return n.Data == "li" }) {
			var n int
			_, _ = fmt.Sscan(text(li), &n)
			counted[word(li)] = n
		}
	}
	for _, tr := range all(section, func(n *html.Node) bool { return n.Data == "tr" && attr(n, "data-row") != "" }) {
		shown[word(tr)]++
	}
	return counted, shown
}

// recordsDrawn has the daemon tell of any work, gates, convoys, mail, runs, schedules and budgets.
func recordsDrawn(rt *rapid.T, w *world) {
	one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, name) }
	n := func(name string) []struct{} { return make([]struct{}, rapid.IntRange(0, 12).Draw(rt, name)) }
	var work api.WorkList
	for i := range n("work") {
		work.Work = append(work.Work, api.Work{Ref: fmt.Sprint("w", i), State: one("state", "open", "in progress", "closed", "unknown", "of tomorrow"), Ready: rapid.Bool().Draw(rt, "ready"), BlockedBy: []string{"w9"}[:rapid.IntRange(0, 1).Draw(rt, "blocked")]})
	}
	var gates api.GateList
	for i := range n("gates") {
		gates.Gates = append(gates.Gates, api.Gate{ID: fmt.Sprint("g", i), State: "open", Outcome: one("outcome", "", "passed", "failed", "of tomorrow"), Overdue: one("overdue", "", "1h0m0s"), Blind: rapid.Bool().Draw(rt, "blind")})
	}
	var convoys api.ConvoyList
	for i := range n("convoys") {
		convoys.Convoys = append(convoys.Convoys, api.Convoy{ID: fmt.Sprint("c", i), State: one("convoy", "open", "done", "closed")})
	}
	var mails api.MailList
	for i := range n("mails") {
		mails.Mail = append(mails.Mail, api.Mail{ID: fmt.Sprint("m", i), State: one("mail", "new", "told", "read", "archived", "bounced", "unread", "")})
	}
	var runs api.Runs
	for i := range n("runs") {
		runs.Runs = append(runs.Runs, api.Run{ID: fmt.Sprint("r", i), State: one("run", runStates()...)})
	}
	var schedules api.Schedules
	for i := range n("schedules") {
		schedules.Schedules = append(schedules.Schedules, api.ScheduleRow{Name: fmt.Sprint("s", i), When: one("when", "every 20m", "when x"), Enabled: rapid.Bool().Draw(rt, "on"), WhyNot: one("why", "", "because")})
	}
	used := 1.5
	var budgets api.Budgets
	for i := range n("budgets") {
		budgets.Rows = append(budgets.Rows, api.Budget{Name: fmt.Sprint("b", i), Stage: one("stage", "under", "warn", "hold", "pause", "stop"), Used: []*float64{nil, &used}[rapid.IntRange(0, 1).Draw(rt, "known")]})
	}
	for path, v := range map[string]any{"work": work, "gates": gates, "convoys": convoys, "mail": mails, "runs": runs, "schedules": schedules, "budgets": budgets, "costs": api.Costs{}} {
		w.answers["GET /v1/"+path] = v
	}
}

// recordSections are the lists of the pages, each with the word for what of it is not known, and how its
// head calls one and more.
func recordSections() map[string][]struct{ id, unknown, one, more string } {
	return map[string][]struct{ id, unknown, one, more string }{
		"/work":  {{"work", "unknown", "piece of work", "pieces of work"}, {"gates", "not seen", "gate", "gates"}, {"convoys", "unknown", "convoy", "convoys"}},
		"/mail":  {{"mails", "unknown", "mail", "mails"}},
		"/runs":  {{"runs", "unknown", "run", "runs"}, {"schedules", "unknown", "schedule", "schedules"}},
		"/costs": {{"budgets", "unknown", "budget", "budgets"}},
	}
}

// Each list says how many rows it has, and of each state as many as there are rows in it. What is not
// known has a count of its own, also when it is none.
func TestCountsOfRecordsAreOfTheRowsShown(t *testing.T) {
	w := newWorld(t)
	w.held = w.made(t)
	rapid.Check(t, func(rt *rapid.T) {
		recordsDrawn(rt, w)
		for path, sections := range recordSections() {
			doc := parsed(t, w.get(t, path))
			for _, s := range sections {
				counted, shown := tallied(byID(t, doc, s.id))
				if _, is := counted[s.unknown]; !is {
					rt.Fatalf("%s: of %s, what is %s is not counted: %v", path, s.id, s.unknown, counted)
				}
				sum := 0
				for _, n := range shown {
					sum += n
				}
				shown[s.unknown] += 0
				if head := text(byID(t, doc, s.id+"-title")); !reflect.DeepEqual(counted, shown) || head != plural(sum, s.one, s.more) {
					rt.Fatalf("%s counts %v of %s under %q, and shows %v", path, counted, s.id, head, shown)
				}
			}
		}
	})
}

// A list that cannot be read is none of nothing: it is said, beside those that can be.
func TestWhatCannotBeReadIsNoEmptyList(t *testing.T) {
	parts := map[string]map[string]string{
		"/work":  {"work": "work", "gates": "gates", "convoys": "convoys"},
		"/mail":  {"mail": "mails"},
		"/runs":  {"runs": "runs", "schedules": "schedules"},
		"/costs": {"costs": "costs", "budgets": "budgets"},
	}
	for path, asked := range parts {
		for noun, id := range asked {
			w := newWorld(t)
			sayingRecords(w, "x")
			w.answers["GET /v1/"+noun] = &api.Error{Kind: api.CannotLook, Message: "the ledger cannot be read"}
			doc := parsed(t, w.get(t, path))
			for other := range parts[path] {
				got := text(byID(t, doc, asked[other]))
				if told := strings.Contains(got, "This cannot be told: the ledger cannot be read"); told != (other == noun) || told && strings.Contains(got, "There is none") {
					t.Errorf("%s without %s: %s says %q", path, noun, id, got)
				}
			}
		}
	}
}

// Long lists are shown some at a time, each row once, and one list is turned without the others.
func TestManyRecordsArePaged(t *testing.T) {
	const many = 7 * rowsAPage
	w := newWorld(t)
	w.held = w.made(t)
	var work api.WorkList
	var gates api.GateList
	var convoys api.ConvoyList
	var mails api.MailList
	var costs api.Costs
	var budgets api.Budgets
	for n := range many {
		id := fmt.Sprint("x", n)
		work.Work, gates.Gates, convoys.Convoys = append(work.Work, api.Work{Ref: id}), append(gates.Gates, api.Gate{ID: id}), append(convoys.Convoys, api.Convoy{ID: id})
		mails.Mail, costs.Rows, budgets.Rows = append(mails.Mail, api.Mail{ID: id, State: "new"}), append(costs.Rows, api.CostRow{Key: id, Calls: 1}), append(budgets.Rows, api.Budget{Name: id})
	}
	for path, v := range map[string]any{"work": work, "gates": gates, "convoys": convoys, "mail": mails, "costs": costs, "budgets": budgets} {
		w.answers["GET /v1/"+path] = v
	}
	for path, list := range map[string]string{"/work": "work", "/work?which=ready&gates=400": "gates", "/work?from=200": "convoys", "/mail": "mails", "/costs?by=agent": "costs", "/costs": "budgets"} {
		shown, pages := map[string]bool{}, 0
		first, _ := url.Parse(path)
		begins := first.Query().Get("gates") == "400"
		for next := path; next != "" && pages <= many/rowsAPage; pages++ {
			section := byID(t, parsed(t, w.get(t, next)), list)
			for _, tr := range all(section, func(n *html.Node) bool { return attr(n, "data-row") != "" }) {
				shown[attr(tr, "data-row")] = true
			}
			next = ""
			for _, a := range all(section, func(n *html.Node) bool { return n.Data == "a" && text(n) == "More" }) {
				next = attr(a, "href")
				to, _ := url.Parse(next)
				for _, key := range []string{"which", "by"} {
					if got, want := to.Query().Get(key), first.Query().Get(key); got != want {
						t.Fatalf("%s leads to %s", path, next)
					}
				}
			}
		}
		if want := map[bool]int{false: many, true: many - 400}[begins]; len(shown) != want || pages != want/rowsAPage {
			t.Errorf("of %s at %s %d were shown on %d pages, want %d", list, path, len(shown), pages, want)
		}
	}
}

// formsOf are the fields of the forms that lead to an address.
func formsOf(t *testing.T, doc *html.Node, action string) (out []url.Values) {
	t.Helper()
	for _, f := range all(doc, func(n *html.Node) bool { return n.Data == "form" && attr(n, "action") == action }) {
		form := url.Values{}
		for _, n := range all(f, func(n *html.Node) bool { return n.Data == "input" && attr(n, "type") == "hidden" }) {
			form.Set(attr(n, "name"), attr(n, "value"))
		}
		out = append(out, form)
	}
	if len(out) == 0 {
		t.Fatalf("no form leads to %s", action)
	}
	return out
}

// with is a form with one field more.
func with(form url.Values, name, value string, more ...string) url.Values {
	out := url.Values{name: {value}}
	for k, v := range form {
		out[k] = v
	}
	for i := 0; i+1 < len(more); i += 2 {
		out.Set(more[i], more[i+1])
	}
	return out
}

// A gate is closed with a reason, as the person says; one that is closed has no form, and what is
// refused leads back to it, whatever it is called.
func TestAGateIsClosedByAPerson(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/gates/g1"] = api.Gate{ID: "g1", Type: "human", State: "open", Title: "the release"}
	w.answers["POST /v1/gates/g1/close"] = api.Gate{ID: "g1", State: "closed", Outcome: "passed"}
	doc := parsed(t, w.get(t, "/work/gates/g1"))
	form := formsOf(t, doc, "/work/gates/g1/close")[0]
	rec := w.post(t, "/work/gates/g1/close", with(form, "as", "passed", "why", " read it "))
	if rec.Code != 303 || leads(rec) != "/work/gates/g1?done=1#outcome" || w.said["POST /v1/gates/g1/close"] != `{"as":"passed","why":"read it"}` {
		t.Errorf("%s to %s, asked %s", describe(rec), rec.Header().Get("Location"), w.said["POST /v1/gates/g1/close"])
	}
	w.asked = nil
	if rec := w.post(t, "/work/gates/g1/close", url.Values{"why": {"x"}}); rec.Code != 400 || w.did() {
		t.Errorf("without an outcome: %s", describe(rec))
	}
	w.answers["GET /v1/gates/g1"] = api.Gate{ID: "g1", State: "closed", Outcome: "passed"}
	if got := w.get(t, "/work/gates/g1?done=1").Body.String(); strings.Contains(got, "/close") || !strings.Contains(got, "It is closed") {
		t.Errorf("one that is closed: %s", got)
	}
	w.answers["POST /v1/gates/a/b/close"] = &api.Error{Kind: api.BadInput, Message: "say why"}
	if rec := w.post(t, "/work/gates/a%2Fb/close", url.Values{"as": {"passed"}}); rec.Code != 400 || !strings.Contains(rec.Body.String(), `href="/work/gates/a%2Fb"`) {
		t.Errorf("a refusal: %s", describe(rec))
	}
}

// Mail of people is shown without acknowledging it, unread first; it is read, put away and answered by
// its forms, the same form once. What is in no inbox of people is not shown.
func TestMailIsReadAndAnswered(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	w.answers["GET /v1/mail"] = api.MailList{At: at, For: "overseer", Mail: []api.Mail{
		{ID: "m1", State: "read", Subject: "old", At: at.Add(-time.Hour)}, {ID: "m2", State: "archived", At: at.Add(-time.Minute)},
		{ID: "m3", State: "new", Subject: "help", From: "ann", FromKind: "agent", At: at.Add(-time.Minute)}, {ID: "m4", State: "told", At: at}}}
	w.answers["POST /v1/mail/m3"], w.answers["POST /v1/mail"] = api.Mail{ID: "m3", State: "read"}, api.Mail{ID: "m5"}
	var order []string
	for _, tr := range all(parsed(t, w.get(t, "/mail?all=1")), func(n *html.Node) bool { return attr(n, "data-row") != "" }) {
		order = append(order, attr(tr, "data-row"))
	}
	if got := strings.Join(order, " "); got != "m3 m4 m2 m1" {
		t.Errorf("in the order %s", got)
	}
	doc := parsed(t, w.get(t, "/mail/m3"))
	if got := text(byID(t, doc, "state")); !strings.Contains(got, "agent/ann") || !strings.Contains(got, "1m before") || w.did() {
		t.Errorf("shown: %s, asked %q", got, w.asked)
	}
	form := formsOf(t, doc, "/mail/m3/reply")[0]
	for range 2 {
		rec := w.post(t, "/mail/m3/reply", with(form, "text", "take\r\nthe second"))
		if want := `{"key":"` + form.Get("id") + `S1","answers":"m3","body":"take\nthe second"}`; rec.Code != 303 || w.said["POST /v1/mail"] != want || form.Get("id") == "" {
			t.Errorf("%s, asked %s", describe(rec), w.said["POST /v1/mail"])
		}
	}
	for do, to := range map[string]string{"read": "/mail/m3?done=read#outcome", "archive": "/mail?done=archive"} {
		if rec := w.post(t, "/mail/m3/"+do, nil); rec.Code != 303 || leads(rec) != to || w.said["POST /v1/mail/m3"] != `{"do":"`+do+`"}` {
			t.Errorf("%s: %s to %s, asked %s", do, describe(rec), rec.Header().Get("Location"), w.said["POST /v1/mail/m3"])
		}
	}
	w.asked = nil
	for _, f := range []url.Values{nil, {"text": {"x"}}, with(form, "text", " \n"), {"text": {"x"}, "id": {"../"}}, {"text": {"x"}, "id": {strings.Repeat("A", 65)}}} {
		if rec := w.post(t, "/mail/m3/reply", f); rec.Code != 400 || w.did() {
			t.Errorf("%v: %s", f, describe(rec))
		}
	}
	if rec := w.get(t, "/mail/m9"); rec.Code != 404 {
		t.Errorf("one that there is not: %s", describe(rec))
	}
	if doc := parsed(t, w.get(t, "/mail/m2")); len(all(doc, func(n *html.Node) bool {
		return strings.HasSuffix(attr(n, "action"), "/archive") || strings.HasSuffix(attr(n, "action"), "/read")
	})) != 0 {
		t.Error("what is put away can be put away again")
	}
}

// A run that asks is replied to where it still asks the same; each step that waits for a person has its
// own answers, and what nobody is asked is not taken.
func TestARunIsAnswered(t *testing.T) {
	since := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	run := api.Run{ID: "r1", State: "needs a person", Agent: "builder", Steps: []api.RunStep{{ID: "build", Do: "run", State: "running", For: "1s"}, {ID: "judge", Do: "prose", State: "needs a person", Why: "which branch?", Since: &since}}}
	w := newWorld(t)
	w.answers["GET /v1/runs/r1"], w.answers["POST /v1/runs/r1"] = run, run
	doc := parsed(t, w.get(t, "/runs/r1"))
	forms := formsOf(t, doc, "/runs/r1/change")
	seen := url.Values{"seen": forms[0]["seen"]}
	for _, c := range []struct {
		form url.Values
		want string
	}{
		{with(seen, "do", "reply", "reply", "take\r\nnext"), `{"do":"resume","reply":"take\nnext"}`},
		{with(seen, "do", "done", "step", "judge"), `{"do":"resume","step":"judge","as":"done"}`},
		{with(seen, "do", "again", "step", "judge"), `{"do":"resume","step":"judge","as":"again"}`},
		{with(seen, "do", "again"), `{"do":"resume","as":"again"}`},
		{with(seen, "do", "done", "step", "judge", "reported", "1", "note", "n"), `{"do":"done","step":"judge","note":"n"}`},
		{with(seen, "do", "fail", "step", "judge", "reported", "1"), `{"do":"fail","step":"judge"}`},
		{with(seen, "do", "cancel"), `{"do":"cancel"}`},
	} {
		rec := w.post(t, "/runs/r1/change", c.form)
		if rec.Code != 303 || w.said["POST /v1/runs/r1"] != c.want || leads(rec) != "/runs/r1?done="+c.form.Get("do")+"#outcome" {
			t.Errorf("%v: %s, asked %s, want %s", c.form, describe(rec), w.said["POST /v1/runs/r1"], c.want)
		}
	}
	w.asked = nil
	for _, f := range []url.Values{nil, seen, with(seen, "do", "reply"), with(seen, "do", "reply", "reply", " "), with(seen, "do", "fail", "step", "judge"), with(seen, "do", "rm"), {"do": {"cancel"}}} {
		if rec := w.post(t, "/runs/r1/change", f); rec.Code != 400 || w.did() {
			t.Errorf("%v: %s", f, describe(rec))
		}
	}
	run.Steps[0].For = "9s"
	w.answers["GET /v1/runs/r1"] = run
	if rec := w.post(t, "/runs/r1/change", with(seen, "do", "cancel")); rec.Code != 303 {
		t.Errorf("while another step goes on: %s", describe(rec))
	}
	w.asked = nil
	run.Steps[1].Why = "which database?"
	w.answers["GET /v1/runs/r1"] = run
	if rec := w.post(t, "/runs/r1/change", with(seen, "do", "reply", "reply", "the second")); rec.Code != 409 || w.did() || !strings.Contains(rec.Body.String(), "nothing was done") {
		t.Errorf("when it asks something else: %s", describe(rec))
	}
}

// A budget is raised where its limit is what was shown, the same form once; one that was raised can be
// lowered, and its whole budget too. What is spent meanwhile keeps nobody from it.
func TestABudgetIsRaised(t *testing.T) {
	used, more := 9.5, 11.0
	b := api.Budget{Name: "each/build er", Budget: "each", Scope: "agent", Of: "build er", Metric: "usd", Limit: 10, Used: &used, Stage: "hold", Says: "9.50 USD of 10.00 USD", Hint: "custos budget raise 'each/build er' +10usd --for 2h", Raised: "+1.00 USD until 11:00"}
	w := newWorld(t)
	w.answers["GET /v1/budgets"], w.answers["POST /v1/budgets"] = api.Budgets{Rows: []api.Budget{{Name: "day"}, b}}, api.Raised{}
	const path = "/costs/budgets/each%2Fbuild%20er"
	doc := parsed(t, w.get(t, path))
	form := formsOf(t, doc, path+"/raise")[0]
	if offered := all(doc, func(n *html.Node) bool { return attr(n, "name") == "by" }); len(offered) != 1 || attr(offered[0], "value") != "+10usd" {
		t.Errorf("not what the command offers: %s", text(doc))
	}
	b.Used, b.Says, b.Stage = &more, "11.00 USD of 10.00 USD", "stop"
	w.answers["GET /v1/budgets"] = api.Budgets{Rows: []api.Budget{{Name: "day"}, b}}
	rec := w.post(t, path+"/raise", with(form, "by", "+10usd", "for", "2h", "why", "release"))
	if want := `{"name":"each/build er","by":"+10usd","for":"2h","why":"release","key":"` + form.Get("id") + `S1"}`; rec.Code != 303 || leads(rec) != path+"?done=raise#outcome" || w.said["POST /v1/budgets"] != want {
		t.Errorf("%s, asked %s, want %s", describe(rec), w.said["POST /v1/budgets"], want)
	}
	lower := formsOf(t, doc, path+"/lower")[0]
	for field, name := range map[string]string{"": "each/build er", "whole": "each"} {
		if rec := w.post(t, path+"/lower", with(lower, "x", "", field, "1")); rec.Code != 303 || w.said["POST /v1/budgets"] != `{"name":"`+name+`","lower":true}` {
			t.Errorf("%s: %s, asked %s", field, describe(rec), w.said["POST /v1/budgets"])
		}
	}
	w.asked = nil
	if rec := w.post(t, path+"/raise", url.Values{"by": {"+10usd"}, "for": {"2h"}, "id": {"AB2"}}); rec.Code != 400 || w.did() {
		t.Errorf("without what was shown: %s", describe(rec))
	}
	b.Raised, b.Limit = "", 9
	w.answers["GET /v1/budgets"] = api.Budgets{Rows: []api.Budget{b}}
	if rec := w.post(t, path+"/raise", with(form, "by", "+10usd", "for", "2h")); rec.Code != 409 || w.did() || !strings.Contains(rec.Body.String(), `href="`+path+`"`) {
		t.Errorf("when its limit is another one: %s", describe(rec))
	}
	if got := w.get(t, path).Body.String(); strings.Contains(got, "/lower") {
		t.Errorf("one that is not raised can be lowered: %s", got)
	}
	if rec := w.get(t, "/costs/budgets/none"); rec.Code != 404 {
		t.Errorf("one that there is not: %s", describe(rec))
	}
}

// Where it is not known what was spent, no budget reads as one that has room.
func TestABudgetThatIsNotKnownIsNotWell(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/costs"] = api.Costs{}
	w.answers["GET /v1/budgets"] = api.Budgets{Unknown: "spending is pending", Rows: []api.Budget{{Name: "day", Budget: "day", Stage: "under", Says: "not known"}}}
	for _, path := range []string{"/costs", "/costs/budgets/day"} {
		doc := parsed(t, w.get(t, path))
		if got := text(byID(t, doc, "main")); !strings.Contains(got, "What was spent is not known: spending is pending") || strings.Contains(got, "under") {
			t.Errorf("%s: %s", path, got)
		}
	}
	w.answers["GET /v1/budgets"] = api.Budgets{Unknown: "spending is pending"}
	if got := text(byID(t, parsed(t, w.get(t, "/costs")), "budgets")); strings.Contains(got, "There is none") {
		t.Errorf("no budgets are known: %s", got)
	}
	if rec := w.get(t, "/costs/budgets/day"); rec.Code != 503 || !strings.Contains(rec.Body.String(), "what was spent is not known: spending is pending") {
		t.Errorf("one of which nothing is known: %s", describe(rec))
	}
}

// A link that names one of these pages shows it, without forms and without a way further; one that names
// another thing does not.
func TestALinkToARecordsPageShowsThatAlone(t *testing.T) {
	w := newWorld(t)
	sayingRecords(w, "x")
	w.sessions["project"] = Session{ID: "p", Link: true, Project: "shop"}
	for _, path := range []string{"/work", "/mail", "/runs", "/costs", "/work/gates/g1", "/runs/r1", "/mail/m1"} {
		w.sessions["page"] = Session{ID: "q", Link: true, Page: path}
		rec := w.get(t, path, cookie("page"))
		if forms := all(parsed(t, rec), func(n *html.Node) bool { return n.Data == "form" || n.Data == "button" }); rec.Code != 200 || len(forms) != 0 {
			t.Errorf("%s: %d, with %d forms", path, rec.Code, len(forms))
		}
		for _, by := range []string{"link", "project"} {
			if rec := w.get(t, path, cookie(by)); rec.Code != 403 {
				t.Errorf("%s by %s: %s", path, by, describe(rec))
			}
		}
	}
	for _, path := range []string{"/work/gates/g1/close", "/mail/m1/read", "/mail/m1/reply", "/runs/r1/change", "/costs/budgets/day/raise", "/costs/budgets/day/lower"} {
		w.sessions["page"] = Session{ID: "q", Link: true, Page: path}
		if rec := w.post(t, path, url.Values{"as": {"passed"}, "why": {"x"}}, cookie("page")); rec.Code != 403 || w.did() {
			t.Errorf("POST %s: %s", path, describe(rec))
		}
		w.barred = fmt.Errorf("it takes a person")
		if rec := w.post(t, path, url.Values{"as": {"passed"}, "why": {"x"}}); rec.Code != 403 || w.did() {
			t.Errorf("POST %s by an agent: %s", path, describe(rec))
		}
		w.barred = nil
	}
}

// What an address asks for that there is not is refused, and not taken for something else.
func TestAnAddressThatAsksForWhatThereIsNot(t *testing.T) {
	w := newWorld(t)
	sayingRecords(w, "x")
	for path, want := range map[string]int{"/work": 200, "/work?which=": 200, "/work?which=zzz": 400, "/costs?since=24h&by=agent": 200, "/costs?since=": 200, "/costs?since=1y": 400, "/costs?since=-1h": 400, "/costs?by=zzz": 400} {
		if rec := w.get(t, path); rec.Code != want {
			t.Errorf("%s: %s", path, describe(rec))
		}
	}
}
