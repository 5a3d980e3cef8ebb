package catalog

import (
	"strings"
	"testing"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
)

func contracts(text string) ([]fleet.Contract, error) {
	cfg, err := config.Load(config.Options{File: "/c.toml", Sections: []string{"heartbeat"}, Getenv: func(string) string { return "/home" },
		ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		return nil, err
	}
	return readContracts(cfg)
}

func TestContracts(t *testing.T) {
	got, err := contracts("[heartbeat.watchers]\nrole = \"watcher\"\nevery = \"10m\"\n\n[heartbeat.lead]\nagent = \"lead\"\nevery = \"1h\"\ngrace = \"5m\"\n")
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	minute := fleet.Duration(time.Minute)
	lead, watchers := got[0], got[1]
	if lead.Agent != "lead" || lead.Heartbeat != (fleet.Heartbeat{Every: 60 * minute, Grace: 5 * minute}) {
		t.Errorf("lead: %+v", lead)
	}
	if watchers.Role != "watcher" || watchers.Heartbeat != (fleet.Heartbeat{Every: 10 * minute, Grace: 5 * minute}) {
		t.Errorf("watchers: %+v", watchers)
	}
	if got, err := contracts(""); got != nil || err != nil {
		t.Errorf("without a section: %v, %v", got, err)
	}
}

func TestContractsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"\n[heartbeat.a]\nevery = \"10m\"":                                  "/c.toml:2: [heartbeat.a] want agent or role",
		"[heartbeat.a]\nagent = \"a\"\nrole = \"r\"\nevery = \"10m\"":       "/c.toml:2: [heartbeat.a] want agent or role",
		"[heartbeat.a]\nagent = \"a\"":                                      "/c.toml:1: [heartbeat.a] every: \"\" is no duration",
		"[heartbeat.a]\nagent = \"a\"\nevery = \"soon\"":                    "/c.toml:3: [heartbeat.a] every: \"soon\" is no duration",
		"[heartbeat.a]\nagent = \"a\"\nevery = \"10m\"\ngrace = \"little\"": "/c.toml:4: [heartbeat.a] grace: \"little\" is no duration",
		"[heartbeat.a]\nagent = \"a\"\nevry = \"10m\"":                      "/c.toml:3: unknown key \"evry\"",
	} {
		if _, err := contracts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

func TestWhoseHeartbeat(t *testing.T) {
	h := func(m int) fleet.Heartbeat {
		return fleet.Heartbeat{Every: fleet.Duration(m) * fleet.Duration(time.Minute)}
	}
	all := []fleet.Contract{{Role: "watcher", Heartbeat: h(1)}, {Agent: "lead", Heartbeat: h(2)}}
	own := h(3)
	for _, c := range []struct {
		name, role string
		own        *fleet.Heartbeat
		want       fleet.Duration // minutes
	}{
		{"lead", "watcher", &own, 2}, {"w1", "watcher", &own, 3}, {"w1", "watcher", nil, 1}, {"w1", "", nil, 0}, {"", "", nil, 0},
	} {
		got := fleet.HeartbeatOf(all, c.name, c.role, c.own)
		if got == nil {
			got = &fleet.Heartbeat{}
		}
		if got.Every != c.want*fleet.Duration(time.Minute) {
			t.Errorf("%s of role %q: every %v, want %dm", c.name, c.role, got.Every, c.want)
		}
	}
}
