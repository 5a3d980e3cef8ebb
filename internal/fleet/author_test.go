package fleet

import "testing"

// Whoever is no person may not pass for one: what a person says weighs more.
func TestIsPerson(t *testing.T) {
	for by, want := range map[string]bool{"ann": true, "": false, ByCustos: false, ByWebhook: false, ByAgent("builder"): false, ByAgent(""): false} {
		if IsPerson(by) != want {
			t.Errorf("IsPerson(%q) is %v", by, !want)
		}
	}
	if name, is := AgentOf(ByWebhook); is {
		t.Errorf("a webhook is agent %q", name)
	}
}
