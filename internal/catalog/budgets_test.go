package catalog

import (
	"reflect"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// A budget of actions is written as action_budget, and was called budget before: files with
// that go on being read, and have no budgets of money.
func TestABudgetOfActionsIsNone(t *testing.T) {
	for _, text := range []string{"budget = \"5 in 1h\"\n", "action_budget = \"5 in 1h\"\n", "action_budget = \"5 in 1h\"\n[budget.day]\nusd = 1\n"} {
		w, err := world(t, text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Budgets(w.Config)
		if err != nil || len(got) != strings.Count(text, "[budget.") || w.Config.Budget.Max != 5 {
			t.Errorf("%s: %v budgets, %v, %+v", text, got, err, w.Config.Budget)
		}
	}
}

func TestBudgetSections(t *testing.T) {
	w, err := world(t, `[budget.day]
usd = 25.5
[budget.each]
scope = "agent"
of = "build-*"
window = "session"
tokens = 2000000
count = "all"
hours = 1.5
warn = 50
hold = 90
pause = 0
stop = 150
[budget.plan]
scope = "account"
window = "week"
zone = "Europe/Berlin"
quota_percent = 70
[budget.off]
usd = 1
enabled = false
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Budgets(w.Config)
	want := []fleet.Budget{
		{Name: "day", By: fleet.SpendByFleet, Window: fleet.WindowDay, MicroUSD: 25_500_000, Warn: 80, Hold: 100, Pause: 100},
		{Name: "each", By: fleet.SpendByAgent, Of: "build-*", Window: fleet.WindowSession, Tokens: 2_000_000, All: true, Minutes: 90, Warn: 50, Hold: 90, Stop: 150},
		{Name: "plan", By: fleet.SpendByAccount, Window: fleet.WindowWeek, Zone: "Europe/Berlin", Quota: 70, Warn: 80, Hold: 100, Pause: 100},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, says := range map[string]string{
		`usd = -1`:                              ":3: [budget.x] usd: -1 is not between 0 and 1000000",
		`usd = nan`:                             ":3: [budget.x] usd: NaN is not between",
		`usd = "5"`:                             ":3: [budget.x] usd: want a number, not a text",
		`tokens = 1.5`:                          ":3: [budget.x] tokens: want a whole number, not a number",
		`usd = 0`:                               "it limits nothing",
		`warn = 50`:                             "it limits nothing",
		`scope = "agnet"`:                       `"agnet" is none of agent, role, project, account, run, work, kind, fleet, did you mean "agent"?`,
		`window = "2h"`:                         `"2h" is none of session, 1h, day`,
		"usd = 1\nof = \"a\"":                   ":4: [budget.x] of: the fleet is one",
		"usd = 1\nscope = \"role\"\nof = \"[\"": ":5: [budget.x] of: \"[\" is no pattern",
		"usd = 1\nwindow = \"session\"":         ":4: [budget.x] window: a session is one conversation",
		"quota_percent = 50":                    ":3: [budget.x] quota_percent: a plan is an account's",
		"usd = 1\nzone = \"Mars/Base\"":         ":4: [budget.x] zone: there is no zone \"Mars/Base\"",
		"usd = 1\nzone = \"UTC\"\nwindow = \"1h\"": "zone: a window of 1h has none",
		"usd = 1\ncount = \"all\"":                 ":4: [budget.x] count: it is about tokens",
		"usd = 1\nwarn = 90\nhold = 50":            ":5: [budget.x] hold: 50 percent is before warn, at 90",
		"usd = 1\nwarn = 0\nhold = 0\npause = 0":   "nothing follows when it is used up",
		"usd = 1\nstpo = 5":                        `unknown key "stpo" in [budget.x], did you mean "stop"?`,
	} {
		w, err := world(t, "\n[budget.x]\n"+text+"\n")
		if err == nil {
			_, err = Budgets(w.Config)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// TestBudgetBesideBudget: the cap on actions was called budget before there were budgets of
// money. The old key is read where it is a text, and beside the sections it has a name of its own.
func TestBudgetBesideBudget(t *testing.T) {
	w, err := world(t, "budget = \"7 in 2h\"\n")
	if err != nil || w.Config.Budget.Max != 7 {
		t.Errorf("%+v, %v", w, err)
	}
	w, err = world(t, "action_budget = \"8 in 2h\"\n[budget.day]\nusd = 1\n")
	if err != nil || w.Config.Budget.Max != 8 {
		t.Errorf("%+v, %v", w, err)
	}
	if budgets, err := Budgets(w.Config); err != nil || len(budgets) != 1 {
		t.Errorf("%+v, %v", budgets, err)
	}
}
