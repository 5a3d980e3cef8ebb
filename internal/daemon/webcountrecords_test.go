package daemon_test

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"custos/internal/api"
	"custos/internal/fleet"
)

// booksToml has budgets of which some are reached, and schedules.
const booksToml = `
[budget.each]
scope = "agent"
window = "total"
usd = 10
hold = 90
[budget.all]
window = "day"
usd = 20
warn = 50
[schedule.nightly]
formula = "supervisor"
cron = "0 3 * * *"
[schedule.off]
formula = "supervisor"
every = "20m"
enabled = false
`

// recordLists are the pages of records, of costs, of the plan, of the machine and of what happened.
func recordLists() (out []counted) {
	for which, flag := range map[string]string{"": "", "?which=ready": "--ready", "?which=blocked": "--blocked", "?which=all": "--all"} {
		out = append(out, counted{path: "/work" + which, head: "work-title", in: "work", row: "data-row", by: "state", args: typed("work", "list", flag), list: "work", key: word(api.Work.StateWord)})
	}
	for which, flag := range map[string]string{"": "", "?which=all": "--all"} {
		out = append(out, counted{path: "/work" + which, head: "gates-title", in: "gates", row: "data-row", by: "state", args: typed("gate", "list", flag), list: "gates", key: word(api.Gate.StateWord)},
			counted{path: "/work" + which, head: "convoys-title", in: "convoys", row: "data-row", by: "state", args: typed("convoy", "list", flag), list: "convoys", key: word(api.Convoy.StateWord)})
	}
	for which, flag := range map[string]string{"": "", "?all=1": "--all"} {
		out = append(out, counted{path: "/mail" + which, head: "mails-title", in: "mails", row: "data-row", by: "state", args: typed("mail", "inbox", flag), list: "mail", key: mailWord},
			counted{path: "/runs" + which, head: "runs-title", in: "runs", row: "data-row", by: "state", args: typed("formula", "ps", flag), list: "runs", key: field("state")})
	}
	out = append(out, counted{path: "/runs", head: "schedules-title", in: "schedules", row: "data-row", args: typed("schedule", "list", ""), list: "schedules", key: field("name")},
		counted{path: "/costs", head: "budgets-title", in: "budgets", row: "data-row", by: "state", args: typed("budget", "list", ""), list: "rows", key: word(api.Budget.StageWord)},
		counted{path: "/plan", head: "would-title", in: "would", row: "data-deed", args: typed("plan", "", ""), list: "actions", key: field("do")},
		counted{path: "/plan", head: "refused-title", in: "refused", row: "data-refused", by: "priority", args: typed("plan", "", ""), list: "skipped", key: field("priority")},
		counted{path: "/plan", head: "doubts-title", in: "doubts", row: "data-doubt", args: typed("plan", "", ""), list: "cannot_tell", key: field("rule")},
		counted{path: "/plan", head: "moves-title", in: "moves", row: "data-move", args: typed("plan", "", ""), list: "moves", key: field("record")},
		counted{path: "/plan", head: "held-title", in: "held", row: "data-held", args: typed("plan", "", ""), list: "held", key: field("record")},
		counted{path: "/plan", head: "idle-title", in: "idle", row: "data-idle", args: typed("plan", "", ""), list: "idle", key: field("rule")},
		counted{path: "/host", head: "parts-title", in: "parts", row: "data-part", by: "state", args: []string{"--json"}, list: "seen", key: field("status")},
		counted{path: "/host", head: "worktrees-title", in: "worktrees", row: "data-worktree", args: []string{"--json"}, list: "worktrees", key: field("path")},
		counted{path: "/timeline", head: "entries-title", in: "entries", row: "data-entry", args: typed("feed", "", ""), list: "entries", key: field("kind")},
		counted{path: "/timeline?errors=1", head: "entries-title", in: "entries", row: "data-entry", args: typed("errors", "", ""), list: "entries", key: field("kind")})
	return out
}

// costsBy is what models cost, by one of the ways in which it is added up.
func costsBy(group string) counted {
	return counted{path: "/costs?by=" + group, head: "costs-title", in: "costs", row: "data-row", args: []string{"cost", "--by", group, "--json"}, list: "rows", key: field("key")}
}

// typed is a command without what is empty of it.
func typed(words ...string) (out []string) {
	for _, w := range append(words, "--json") {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// field counts items by one of their fields.
func field(name string) func(json.RawMessage) string {
	return func(text json.RawMessage) string {
		var item map[string]any
		if err := json.Unmarshal(text, &item); err != nil {
			return err.Error()
		}
		return fmt.Sprint(item[name])
	}
}

// word counts items by the word that people are told.
func word[T any](of func(T) string) func(json.RawMessage) string {
	return func(text json.RawMessage) string {
		var item T
		if err := json.Unmarshal(text, &item); err != nil {
			return err.Error()
		}
		return of(item)
	}
}

// mailWord is what a mail is called that only its writer has.
func mailWord(text json.RawMessage) string {
	if state := field("state")(text); state != "<nil>" {
		return state
	}
	return "written"
}

// writesAtRandom adds records, and changes some that there are.
func (w *census) writesAtRandom() {
	w.Helper()
	c := api.NewClient(api.InProcess(w.api))
	n := func(most int, what string) int { return rapid.IntRange(0, most).Draw(w.T, what) }
	must := func(err error) {
		if w.Helper(); err != nil {
			w.Fatal(err)
		}
	}
	for range n(3, "work") {
		var needs []string
		if w.made > 0 && n(1, "needs") == 1 {
			needs = []string{fmt.Sprintf("w%d", 1+n(w.made-1, "needed"))}
		}
		_, err := c.AddWork(w.ctx, api.WorkRequest{Title: "a thing", Priority: "P2", Needs: needs})
		must(err)
		w.made++
	}
	for range n(2, "changes") * min(1, w.made) {
		_, _ = c.ChangeWork(w.ctx, fmt.Sprintf("w%d", 1+n(w.made-1, "changed")), api.WorkChange{Do: rapid.SampledFrom([]string{"take", "close", "reopen", "release"}).Draw(w.T, "do"), Agent: "builder"}) // what is closed is not taken
	}
	for range n(2, "gates") {
		g, err := c.AddGate(w.ctx, api.GateRequest{Type: "human", Title: "a gate", DueIn: rapid.SampledFrom([]string{"", "1ms", "9h"}).Draw(w.T, "due")})
		must(err)
		if as := rapid.SampledFrom([]string{"", "passed", "failed", "cancelled"}).Draw(w.T, "closed"); as != "" {
			_, err = c.CloseGate(w.ctx, g.ID, api.GateClosing{As: as, Why: "so it is"})
			must(err)
		}
	}
	if w.made > 0 && n(1, "convoy") == 1 {
		_, err := c.AddConvoy(w.ctx, api.ConvoyRequest{Title: "a convoy", Members: []string{fmt.Sprintf("w%d", 1+n(w.made-1, "member")), "bd:nowhere"}[:1+n(1, "unseen")], DueIn: "1ms"})
		must(err)
	}
	w.mailsAtRandom(c)
	w.runsAtRandom()
	w.spendsAtRandom()
}

// mailsAtRandom has people be written to, and read some of it.
func (w *census) mailsAtRandom(c *api.Client) {
	w.Helper()
	for range rapid.IntRange(0, 2).Draw(w.T, "mails") {
		m := w.stage.Mails(fleet.Mail{To: []string{fleet.Overseer}, Subject: "hello", Priority: fleet.P2}, fleet.ByAgent(fmt.Sprintf("writer%d", w.mailed)))
		w.mailed++
		if do := rapid.SampledFrom([]string{"", "read", "archive"}).Draw(w.T, "mail"); do != "" {
			if _, err := c.ChangeMail(w.ctx, m.ID, api.MailChange{Do: do}); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// runsAtRandom writes down runs that are over, and some that wait for a person.
func (w *census) runsAtRandom() {
	w.Helper()
	now := fleet.Instant{Wall: time.Now()}
	for range rapid.IntRange(0, 2).Draw(w.T, "runs") {
		state := rapid.SampledFrom([]fleet.RunState{fleet.RunPerson, fleet.RunDone, fleet.RunFailed, fleet.RunCancelled, fleet.RunSkipped}).Draw(w.T, "run")
		r := fleet.Run{ID: fmt.Sprintf("tidy-%d", w.ran), Formula: fmt.Sprintf("tidy%d", w.ran), By: "ann", At: now, Mode: fleet.RunSteps, Dir: w.stage.Home() + "/none", Prepared: "done", State: state,
			Steps: []fleet.RunStep{{ID: "look", Do: fleet.StepProse, Text: "look", State: fleet.StepPerson, Since: now}}}
		if r.IsOver() {
			r.EndedAt, r.Steps[0].State = now, fleet.StepDone
		}
		w.stage.Writes(fleet.Changes{Runs: []fleet.Run{r}})
		w.ran++
	}
}

// spendsAtRandom has agents use models, one of which has no price.
func (w *census) spendsAtRandom() {
	w.Helper()
	var list []fleet.Usage
	for range rapid.IntRange(0, 3).Draw(w.T, "calls") {
		who := rapid.SampledFrom([]string{"ann", "bob", ""}).Draw(w.T, "agent")
		list = append(list, fleet.Usage{Key: fmt.Sprintf("claude:%d", w.spent), Kind: "claude", Session: who, Model: rapid.SampledFrom([]string{"claude-opus-4-1", "of-tomorrow"}).Draw(w.T, "model"),
			At: time.Now().UTC().Add(-time.Duration(rapid.IntRange(0, 100).Draw(w.T, "hours")) * time.Hour), Source: fleet.UsageTranscript, Tokens: fleet.Tokens{Input: 1000, Output: 2000},
			Pricing: rapid.SampledFrom([]fleet.Pricing{fleet.PricedByCLI, fleet.Unpriced}).Draw(w.T, "priced"), MicroUSD: 2_000_000, Agent: who, Project: "shop"})
		w.spent++
	}
	w.stage.Uses(list)
}
