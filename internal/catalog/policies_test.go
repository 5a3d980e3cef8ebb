package catalog

import (
	"strings"
	"testing"
)

// What an agent is judged by is said once, and it is known where.
func TestPolicyOfRole(t *testing.T) {
	p, err := ReadPolicies(loaded(t, "[agents]\npolicy = 'default'\n[agents.roles.dev]\npolicy = 'read-only'\n[role.dev]\nkind = 'claude'\n[role.scout]\nkind = 'claude'\npolicy = 'read-only'\n"))
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]string{"dev": "read-only agents.roles.dev.policy", "scout": "read-only role.scout.policy", "other": "default agents.policy", "": "default agents.policy"} {
		if name, key := p.From(role); name+" "+key != want || p.Of(role) != name {
			t.Errorf("%s: %s by %s, want %s", role, name, key, want)
		}
	}
	every, err := ReadPolicies(loaded(t, "[agents.roles.'*']\npolicy = 'default'\n[role.scout]\nkind = 'claude'\npolicy = 'read-only'\n"))
	if err != nil || every.Of("scout") != "read-only" || every.Of("dev") != "default" {
		t.Errorf("scout has %s, dev %s: %v", every.Of("scout"), every.Of("dev"), err)
	}
	if none, err := ReadPolicies(loaded(t, "[role.scout]\nkind = 'claude'\n")); err != nil || none.Of("scout") != "" {
		t.Errorf("%s, %v", none.Of("scout"), err)
	}
}

func TestPolicyMistakes(t *testing.T) {
	for want, text := range map[string]string{
		`custos.toml:2: [role.x] policy: there is no policy "defalut", did you mean "default"?`:                      "[role.x]\npolicy = 'defalut'",
		`custos.toml:2: [agents.roles.x] policy: there is no policy "defalut", did you mean "default"?`:              "[agents.roles.x]\npolicy = 'defalut'",
		`custos.toml:4: [role.x] policy: [agents.roles.x] says "read-only" of the same agents: say it in one of the`: "[agents.roles.x]\npolicy = 'read-only'\n[role.x]\npolicy = 'default'",
		`custos.toml:2: [role.x] policy: [agents.roles.x] says "default" of the same agents: say it in one of the`:   "[role.x]\npolicy = 'default'\n[agents.roles.x]\npolicy = 'default'",
	} {
		_, err := ReadPolicies(loaded(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant\n%s", text, err, want)
		}
	}
}
