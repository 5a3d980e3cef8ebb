package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"custos/internal/api"
)

// A CLI that is newer than what Custos was taught is marked in ps, with what the mark means, and
// show says both versions; of others nothing is said.
func TestACLINewerThanTaughtIsMarked(t *testing.T) {
	taught := api.AgentRow{Name: "a", Kind: "claude", Version: "2.1.330", State: "idle"}
	newer := api.AgentRow{Name: "b", Kind: "claude", Version: "2.2.0", Outgrown: "2.1.330", State: "idle"}
	said := func(write func(*page)) string {
		var out bytes.Buffer
		p := &page{out: &out, width: 100}
		write(p)
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	list := said(func(p *page) { writeAgents(p, api.Agents{Agents: []api.AgentRow{taught, newer}}) })
	for _, want := range []string{"a claude idle", "b claude* idle", "* its CLI is newer than what Custos was taught: what its screen shows is a hint only"} {
		if !strings.Contains(list, want) {
			t.Errorf("ps says %q, want %q", list, want)
		}
	}
	if list := said(func(p *page) { writeAgents(p, api.Agents{Agents: []api.AgentRow{taught}}) }); strings.Contains(list, "*") {
		t.Errorf("of one that was taught ps says %q", list)
	}
	if one := said(func(p *page) { writeAgent(p, api.AgentDetail{Agent: newer}) }); !strings.Contains(one, "kind claude 2.2.0, newer than 2.1.330, which Custos was taught: its screen is a hint only") {
		t.Errorf("show says %q", one)
	}
	if one := said(func(p *page) { writeAgent(p, api.AgentDetail{Agent: taught}) }); !strings.Contains(one, "kind claude 2.1.330") || strings.Contains(one, "newer") {
		t.Errorf("show says %q of one that was taught", one)
	}
}

// An agent of whose hooks nothing is heard is marked in ps, with what the mark means, and show says why.
func TestAnAgentOfWhichNoHookIsHeardIsMarked(t *testing.T) {
	deaf := api.AgentRow{Name: "b", Kind: "gemini", Outgrown: "0.61.0", State: "idle", Deaf: "root does not own /run"}
	said := func(write func(*page)) string {
		var out bytes.Buffer
		p := &page{out: &out, width: 160}
		write(p)
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	list := said(func(p *page) { writeAgents(p, api.Agents{Agents: []api.AgentRow{deaf}}) })
	for _, want := range []string{"b gemini*! idle", "! nothing is heard of its hooks: what it does is told by its screen and its conversation alone"} {
		if !strings.Contains(list, want) {
			t.Errorf("ps says %q, want %q", list, want)
		}
	}
	if one := said(func(p *page) { writeAgent(p, api.AgentDetail{Agent: deaf}) }); !strings.Contains(one, "hooks nothing is heard of them: root does not own /run") {
		t.Errorf("show says %q", one)
	}
	if heard := said(func(p *page) {
		writeAgents(p, api.Agents{Agents: []api.AgentRow{{Name: "a", Kind: "gemini", State: "idle"}}})
	}); strings.Contains(heard, "!") {
		t.Errorf("of one that is heard ps says %q", heard)
	}
}

// An agent that is not proven to be held to its policy is marked in ps, with what the mark means, and show says what is
// missing; of one that is, show names its policy.
func TestAPolicyThatIsAdviceIsMarked(t *testing.T) {
	loose := api.AgentRow{Name: "b", Kind: "codex", State: "idle", Policy: "default", PolicyGap: "proven for codex 0.171.0, and not for its sub-agents"}
	held := api.AgentRow{Name: "a", Kind: "claude", State: "idle", Policy: "default"}
	said := func(write func(*page)) string {
		var out bytes.Buffer
		p := &page{out: &out, width: 160}
		write(p)
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	list := said(func(p *page) { writeAgents(p, api.Agents{Agents: []api.AgentRow{loose, held}}) })
	for _, want := range []string{"b codex~ idle", "a claude idle", "~ its policy is advice only, in part or in whole (custos show NAME)"} {
		if !strings.Contains(list, want) {
			t.Errorf("ps says %q, want %q", list, want)
		}
	}
	for want, g := range map[string]api.AgentRow{"policy default: proven for codex 0.171.0, and not for its sub-agents": loose, "policy default": held} {
		if one := said(func(p *page) { writeAgent(p, api.AgentDetail{Agent: g}) }); !strings.Contains(one, want) {
			t.Errorf("show says %q, want %q", one, want)
		}
	}
	if list := said(func(p *page) { writeAgents(p, api.Agents{Agents: []api.AgentRow{held}}) }); strings.Contains(list, "~") {
		t.Errorf("of one that is held ps says %q", list)
	}
}

// A file of a kind that is set aside is a mistake of the configuration, and is listed.
func TestKindFilesThatAreSetAsideAreAMistake(t *testing.T) {
	aside := api.Kinds{Aside: []string{"cannot read /k/b.toml:2: unknown key", "cannot read /k/a.toml: others than you may write to it"}}
	err := checkKinds(aside)
	if want := "cannot read /k/a.toml: others than you may write to it\ncannot read /k/b.toml:2: unknown key"; err == nil || err.Error() != want || (&app{Env: Env{Stderr: io.Discard}}).code(err) != exitUse {
		t.Errorf("config check says %v", err)
	}
	if err := checkKinds(api.Kinds{}); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	p := &page{out: &out, width: 100}
	writeKinds(p, aside)
	if err := p.flush(); err != nil || !strings.Contains(out.String(), "set aside: cannot read /k/b.toml:2") {
		t.Errorf("kinds says %s, %v", out.String(), err)
	}
}
