package store

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// Whose responses are that came before this was known is filled in: of that conversation, while its agent held it, and of
// none that is somebody's. Sums of days follow.
func TestAttributeUsage(t *testing.T) {
	s := fresh(t)
	named := func(id string, when time.Duration, do func(*fleet.Usage)) fleet.Usage {
		u := response(id, when, 10, 1)
		do(&u)
		return u
	}
	nothing := func(*fleet.Usage) {}
	ok(t, s.AddUsage(t.Context(), []fleet.Usage{
		named("before", -2*time.Hour, nothing), named("first", time.Second, nothing), named("second", 2*time.Second, func(u *fleet.Usage) { u.Account = "folder" }), named("anns", 3*time.Second, func(u *fleet.Usage) { u.Agent = "ann" }),
		named("else", 4*time.Second, func(u *fleet.Usage) { u.Session = "s2" }), named("kind", 5*time.Second, func(u *fleet.Usage) { u.Kind = "codex" }), named("after", 6*time.Second, nothing),
	}, nil))
	bob := fleet.Holding{Until: epoch.Add(5 * time.Second), Whose: fleet.Usage{Kind: "claude", Session: "s1", At: epoch, Agent: "bob", Instance: "i1", Role: "r", Project: "p", Account: "a", Run: "n", Work: "w"}}
	for range 2 {
		ok(t, s.AttributeUsage(t.Context(), []fleet.Holding{{Whose: fleet.Usage{Kind: "claude", Session: "s1"}}, bob}))
	}
	whose := map[string]string{}
	for _, u := range usageRows(t, s) {
		whose[u.Key] = u.Agent
		account := map[bool]string{true: "folder", false: "a"}[u.Key == "claude:second"] // what the folder of a conversation tells stays
		if u.Agent == "bob" && (u.Instance != "i1" || u.Role != "r" || u.Project != "p" || u.Account != account || u.Run != "n" || u.Work != "w" || u.MicroUSD != 75) {
			t.Errorf("%+v", u)
		}
	}
	for key, want := range map[string]string{"before": "", "first": "bob", "second": "bob", "anns": "ann", "else": "", "kind": "", "after": ""} {
		if got := whose["claude:"+key]; got != want {
			t.Errorf("%s is of %q, want %q", key, got, want)
		}
	}
	list, err := s.Costs(t.Context(), at(-24*time.Hour), "agent")
	ok(t, err)
	got := map[string]int64{}
	for _, c := range list {
		got[c.Key] = c.Calls
	}
	if len(got) != 3 || got["bob"] != 2 || got["ann"] != 1 || got[""] != 4 {
		t.Errorf("sums by agent: %v", got)
	}
	list, err = s.Costs(t.Context(), at(-24*time.Hour), fleet.CostByAgentModel)
	ok(t, err)
	for _, c := range list {
		agent, model, both := strings.Cut(c.Key, fleet.CostKeyBreak)
		if !both || model == "" || got[agent] != c.Calls {
			t.Errorf("sums by agent and model: %+v", c)
		}
		delete(got, agent)
	}
	if len(got) != 0 {
		t.Errorf("without a sum by agent and model: %v", got)
	}
}
