package top

import (
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
)

// Each order is given when it was confirmed and not before, to the agent that the form
// names, and what came of it stays on the screen.
func TestOrdersAreConfirmed(t *testing.T) {
	for name, k := range map[string]struct {
		keys    []string // up to the one that confirms
		confirm string
		shows   string // before that
		request string
		body    []string
	}{
		"stop":      {[]string{"s"}, "y", "Stop builder?", "POST /v1/orders", []string{`"do":"stop"`, `"agent":"builder"`}},
		"interrupt": {[]string{"i"}, "y", "Interrupt builder?", "POST /v1/orders", []string{`"do":"interrupt"`, `"agent":"builder"`}},
		"nudge":     {[]string{"n", "g", "o", " ", "x", "backspace", "ä"}, "enter", "> go ä_", "POST /v1/orders", []string{`"do":"nudge"`, `"text":"go ä"`, `"agent":"builder"`}},
		"answer":    {[]string{"x", "2"}, "enter", "> 2 no: No, and tell it why", "POST /v1/orders", []string{`"do":"answer"`, `"text":"no"`, `"dialog":"abcd"`, `"agent":"builder"`}},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(p *play) {
				p.choose("builder")
				p.keys(k.keys...)
				p.wants(k.shows)
				if got := p.c.changed(); len(got) > 0 {
					t.Fatalf("before it was confirmed: %v", got)
				}
				p.keys(k.confirm)
				if got := p.c.changed(); len(got) != 1 || got[0] != k.request {
					t.Fatalf("given: %v", got)
				}
				for _, want := range k.body {
					if !strings.Contains(p.c.body(k.request), want) {
						t.Errorf("%s is not in %s", want, p.c.body(k.request))
					}
				}
				p.wants("it : done")
				p.wait(time.Minute)
				p.wants("it : done")
			})
		})
	}
}

// An order goes to the instance that was shown when it was asked about, whatever runs by then.
func TestOrdersNameTheInstance(t *testing.T) {
	for name, keys := range map[string][2]string{"stop": {"s", "y"}, "interrupt": {"i", "y"}, "nudge": {"n", "enter"}, "answer": {"x", "enter"}} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(p *play) {
				p.choose("builder")
				p.keys(keys[0])
				if name == "nudge" || name == "answer" {
					p.keys("1")
				}
				for i, g := range p.m.look.v.look.Agents {
					if g.Name == "builder" {
						p.m.look.v.look.Agents[i].Instance = "another"
					}
				}
				p.keys(keys[1])
				if got := p.c.body("POST /v1/orders"); !strings.Contains(got, `"instance":"shown"`) {
					t.Errorf("%s", got)
				}
			})
		})
	}
}

// What is not confirmed is not done: by n, by Esc, by a line without words, by Enter where
// nothing is chosen.
func TestOrdersAreLeft(t *testing.T) {
	for name, keys := range map[string][]string{
		"no": {"s", "n"}, "esc": {"s", "esc", "y"}, "empty": {"n", " ", "enter"}, "unchosen": {"x", "enter"}, "enter is no y": {"s", "enter"},
		"left": {"x", "1", "esc", "enter"},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(p *play) {
				p.m.o.Goto = nowhere
				p.choose("builder")
				p.keys(keys...)
				if got := p.c.changed(); len(got) > 0 {
					t.Errorf("given: %v", got)
				}
			})
		})
	}
}

// What a form is about stays, whatever is chosen by the time it is confirmed.
func TestFormKeepsItsAgent(t *testing.T) {
	playing(t, func(p *play) {
		p.choose("builder")
		p.keys("s")
		l := small()
		l.Agents = l.Agents[2:]
		p.c.set("GET /v1/look", l)
		p.wait(2 * time.Second)
		p.keys("y")
		if got := p.c.body("POST /v1/orders"); !strings.Contains(got, `"agent":"builder"`) {
			t.Errorf("stopped: %s", got)
		}
	})
}

// An order that is queued is followed until it is over; one that nobody watches is said to be so.
func TestOrdersAreFollowed(t *testing.T) {
	playing(t, func(p *play) {
		p.c.set("POST /v1/orders", api.Order{ID: "o1", Do: "stop", Agent: "builder", State: "queued", Why: "it is busy", Watched: true})
		p.c.set("GET /v1/orders/o1", api.Order{ID: "o1", Do: "stop", Agent: "builder", State: "queued", Why: "it is busy", Watched: true})
		p.choose("builder")
		p.keys("s", "y")
		p.wants("stop builder: queued it is busy")
		if open := p.m.open(); len(open) != 1 || !strings.Contains(open[0], "stop builder") {
			t.Errorf("open: %q", open)
		}
		p.c.set("GET /v1/orders/o1", &api.Error{Kind: api.Unreachable, Message: "the daemon is gone"})
		p.wait(3 * time.Second)
		p.wants("stop builder: queued it is busy")
		p.c.set("GET /v1/orders/o1", api.Order{ID: "o1", Do: "stop", Agent: "builder", State: "done", Over: true})
		p.wait(3 * time.Second)
		p.wants("stop builder: done")
		if open := p.m.open(); len(open) != 0 {
			t.Errorf("open: %q", open)
		}
		asked := p.c.count("GET /v1/orders/o1")
		p.wait(time.Minute)
		if now := p.c.count("GET /v1/orders/o1"); now != asked {
			t.Errorf("what is over is asked about: %d times, then %d", asked, now)
		}
		p.c.set("POST /v1/orders", api.Order{ID: "o2", Do: "nudge", Agent: "builder", State: "queued", Why: "it is busy"})
		p.keys("n", "x", "enter")
		p.wants("nothing watches it until custos up")
	})
}

// What came to nothing says why, and that stays until something else is done.
func TestOrdersThatFail(t *testing.T) {
	playing(t, func(p *play) {
		p.c.set("POST /v1/orders", &api.Error{Kind: api.Forbidden, Message: "cannot stop builder: it takes a person"})
		p.choose("builder")
		p.keys("s", "y")
		p.wants("cannot stop builder: it takes a person")
		p.c.set("GET /v1/agents/builder", api.AgentDetail{})
		p.keys("x")
		p.wants("cannot answer builder: it shows no dialog that can be read")
		p.keys("k")
		p.wants("cannot take up: what is chosen is no alert that was written down")
	})
}

// The screen is answered to while an order hangs: no key waits for it.
func TestOrderNeverBlocks(t *testing.T) {
	playing(t, func(p *play) {
		p.choose("builder")
		p.hang(true)
		p.keys("s", "y", "down")
		p.wants("stop builder …", "> 日本語の名前gnp.exe")
		p.wait(30 * time.Second)
		p.wants("what is shown is")
		p.wait(time.Minute)
		p.wants("context deadline exceeded")
	})
}

// Alerts are taken up, silenced and approved of; what is approved is what was shown.
func TestAlertDeeds(t *testing.T) {
	playing(t, func(p *play) {
		p.keys("3", "k")
		p.wants("Take up alert #3?")
		p.keys("y")
		p.wants("Alert #3 is taken up by me: dead-lock")
		p.keys("z", "backspace", "backspace", "9", "0", "m", "enter")
		p.wants("Silenced until 2026-11-24 14:00 UTC")
		if got := p.c.body("POST /v1/silences"); !strings.Contains(got, `"rule":"dead-lock"`) || !strings.Contains(got, `"for":"1h30m0s"`) || !strings.Contains(got, `"subject":"lock//home/me/locks/dev-agent.lock"`) {
			t.Errorf("silenced: %s", got)
		}
		p.keys("a")
		p.wants("$ rm /home/me/locks/dev-agent.lock")
		p.keys("y")
		if got := p.c.body("POST /v1/alerts/3/approve"); !strings.Contains(got, `"seen":"h1"`) {
			t.Errorf("approved: %s", got)
		}
		p.wants("Alert #3: approved by me, and begun: remove-lock lock ~/locks/dev-agent.lock")
	})
}

// What is done about a row of NEEDS YOU is done about the alert that it showed, whichever has
// its number by then.
func TestDeedsOfANeedNameItsAlert(t *testing.T) {
	for key, request := range map[string]string{"k": "POST /v1/alerts/3/ack", "a": "POST /v1/alerts/3/approve", "d": "POST /v1/alerts/3/deny"} {
		playing(t, func(p *play) {
			p.keys("1", "home", key)
			l := small()
			l.NeedsYou[0].ID = "another"
			p.c.set("GET /v1/look", l)
			p.wait(2 * time.Second)
			p.keys("y")
			if got := p.c.body(request); !strings.Contains(got, `"id":"shown"`) {
				t.Errorf("%s: %s", request, got)
			}
		})
	}
}

// What does not fit is approved only after it was shown to its end; what nothing may be
// done about cannot be.
func TestApproveIsReadWhole(t *testing.T) {
	playing(t, func(p *play) {
		long := api.Offer{Number: 3, Hash: "h2"}
		for range 40 {
			long.Deeds = append(long.Deeds, api.Deed{Do: "remove-lock", Subject: "lock//x"})
		}
		p.c.set("GET /v1/alerts/3/offer", long)
		p.keys("3", "a", "y", "y")
		p.wants("PgDn shows the rest")
		if got := p.c.changed(); len(got) > 0 {
			t.Fatalf("unread: %v", got)
		}
		p.keys("pgdown", "pgdown", "pgdown", "y")
		if got := p.c.changed(); len(got) != 1 {
			t.Errorf("read: %v", got)
		}
		p.c.set("GET /v1/alerts/3/offer", api.Offer{Number: 3, Refused: "frozen"})
		p.keys("a", "y", "enter")
		if got := p.c.changed(); len(got) != 1 {
			t.Errorf("of what may not be done: %v", got)
		}
	})
}

// What an approval began is followed to its end: what was refused is said so, with the reason.
func TestApprovalsAreFollowed(t *testing.T) {
	for text, want := range map[string]outcomeState{"remove-lock: refused: it was written to": failed, "remove-lock: done: removed": done} {
		playing(t, func(p *play) {
			p.keys("1", "home", "a", "y")
			p.wants("Alert #3: approved by me, and begun: remove-lock lock ~/locks/dev-agent.lock")
			p.c.set("GET /v1/story", api.Story{Events: []api.Event{{Kind: "action.started", Action: "a1"}, {Kind: "action.ended", Action: "a0", Text: "x: done"}}})
			p.wait(3 * time.Second)
			p.wants("Alert #3: approved by me, and begun")
			p.c.set("GET /v1/story", api.Story{Events: []api.Event{{Kind: "action.started", Action: "a1"}, {Kind: "action.ended", Action: "a1", Text: text}}})
			p.wait(3 * time.Second)
			p.wants("Alert #3: approved by me. " + text)
			asked := p.c.count("GET /v1/story")
			p.wait(3 * time.Second)
			if last := p.m.outcomes[len(p.m.outcomes)-1]; last.state != want || p.c.count("GET /v1/story") != asked {
				t.Errorf("%s: state %d, asked again %d times", text, last.state, p.c.count("GET /v1/story")-asked)
			}
		})
	}
}

// What is told of something that was not done goes with the next key; what became of an order
// stays, and is not taken for what is true now.
func TestOutcomesGetOld(t *testing.T) {
	playing(t, func(p *play) {
		p.keys("4", "a")
		p.wants("cannot approve: what is chosen is no alert")
		p.keys("3")
		if screen := p.m.frame(); strings.Contains(screen, "cannot approve") {
			t.Errorf("it stands there yet:\n%s", screen)
		}
		p.c.set("POST /v1/orders", &api.Error{Kind: api.Unreachable, Message: "cannot reach the daemon"})
		p.choose("builder")
		p.keys("s", "y")
		p.wants("cannot reach the daemon")
		p.wait(9*time.Minute + 5*time.Second)
		p.wants("9m ago: cannot reach the daemon")
	})
}

// A terminal that cannot be gone to is told of in the words of the program that was to show it.
func TestWhyItCannotBeGoneTo(t *testing.T) {
	v := visit{Cmd: exec.CommandContext(t.Context(), "sh", "-c", "echo one >&2; echo \"can't find session: b\" >&2; exit 1")}
	v.SetStderr(io.Discard)
	err := v.Run()
	playing(t, func(p *play) {
		p.tell(backMsg{target{agent: "builder"}, err})
		p.wants("cannot go to builder: can't find session: b (exit status 1)")
	})
}
