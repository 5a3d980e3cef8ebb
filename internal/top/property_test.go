package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"custos/internal/api"
)

// bad are texts that a program or an attacker may write.
func bad() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "日本語", "\x1b[2J\x1b]52;c;AAAA\x07", "\u202eevil", "a\nb\tc\r", "👩‍👩‍👧 ❤️ 🇩🇪 👍🏽", "\xff\xfe", "ก็็็็็", "ᄀ각", "नमस्ते", "x/y/z", "\u200b\u200f\u0085"}))
}

func someAgent() *rapid.Generator[api.AgentRow] {
	return rapid.Custom(func(t *rapid.T) api.AgentRow {
		return api.AgentRow{Name: bad().Draw(t, "name"), Kind: bad().Draw(t, "kind"), State: rapid.SampledFrom(append(api.AgentStates(), "", "new")).Draw(t, "state"),
			Since: rapid.SampledFrom([]string{"", "13s", "-1s", "9000h0m0s", "soon"}).Draw(t, "since"), Reason: bad().Draw(t, "reason"), Source: bad().Draw(t, "source"),
			CWD: bad().Draw(t, "cwd"), Dollars: rapid.SampledFrom([]*float64{nil, ptr(1e12), ptr(0.1)}).Draw(t, "cost")}
	})
}

func someNeed() *rapid.Generator[api.Need] {
	return rapid.Custom(func(t *rapid.T) api.Need {
		return api.Need{Number: rapid.Int64Range(0, 3).Draw(t, "number"), Priority: bad().Draw(t, "priority"), Subject: bad().Draw(t, "subject"), Summary: bad().Draw(t, "summary"),
			Since: noon.Add(time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "since"))), Command: bad().Draw(t, "command")}
	})
}

func someLook() *rapid.Generator[api.FirstLook] {
	return rapid.Custom(func(t *rapid.T) api.FirstLook {
		return api.FirstLook{At: noon, From: api.From{Host: bad().Draw(t, "host")}, Mode: bad().Draw(t, "mode"), Frozen: bad().Draw(t, "frozen"),
			NeedsYou: rapid.SliceOfN(someNeed(), 0, 8).Draw(t, "needs"), Agents: rapid.SliceOfN(someAgent(), 0, 30).Draw(t, "agents"),
			Seen: []api.PartSeen{{Part: "agents", Status: rapid.SampledFrom([]string{"ok", "stale", "unknown"}).Draw(t, "seen"), Why: bad().Draw(t, "why")}}}
	})
}

// event is anything that may happen to a screen.
func event() *rapid.Generator[tea.Msg] {
	return rapid.Custom(func(t *rapid.T) tea.Msg {
		switch rapid.IntRange(0, 22).Draw(t, "what") {
		case 0:
			return tickMsg(noon.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "now"))))
		case 1:
			return tea.WindowSizeMsg{Width: rapid.IntRange(0, 130).Draw(t, "wide"), Height: rapid.IntRange(0, 45).Draw(t, "high")}
		case 2:
			return looked(someLook().Draw(t, "look"))
		case 3:
			return lookMsg{err: errors.New(bad().Draw(t, "error"))}
		case 4:
			return dialogMsg{told[api.AgentDetail]{v: api.AgentDetail{Dialog: &api.AgentDialog{Says: bad().Draw(t, "says"), Question: bad().Draw(t, "question"), Hash: "h",
				Choices: rapid.SliceOfN(rapid.Map(bad(), func(s string) api.AgentChoice { return api.AgentChoice{Name: s, Label: s} }), 0, 12).Draw(t, "choices")}}}, rapid.IntRange(0, 20).Draw(t, "id"), target{agent: bad().Draw(t, "name")}}
		case 5:
			hash := rapid.SampledFrom([]string{"", "h"}).Draw(t, "hash")
			return offerMsg{told[api.Offer]{v: api.Offer{Hash: hash, Deeds: make([]api.Deed, rapid.IntRange(0, 60).Draw(t, "deeds"))}}, rapid.IntRange(0, 20).Draw(t, "id"), row{alert: 1}, consent{}}
		case 6:
			return storyMsg{told[api.Story]{v: api.Story{Subject: bad().Draw(t, "subject"), Facts: rapid.SliceOfN(bad(), 0, 60).Draw(t, "facts")}}, rapid.IntRange(0, 20).Draw(t, "id"), rapid.SampledFrom([]string{"", "box1"}).Draw(t, "host")}
		case 7:
			return screenMsg{told[api.Screen]{v: api.Screen{Text: bad().Draw(t, "text")}, at: noon}, bad().Draw(t, "of")}
		case 8:
			return resultMsg{id: rapid.IntRange(0, 20).Draw(t, "id"), result: result{says: bad().Draw(t, "says"), order: api.Order{ID: rapid.SampledFrom([]string{"", "o"}).Draw(t, "order"), Over: rapid.Bool().Draw(t, "over"), Why: bad().Draw(t, "why")}}}
		case 9:
			return tea.PasteMsg{Content: bad().Draw(t, "pasted")}
		case 10:
			return tea.MouseClickMsg{X: rapid.IntRange(-1, 130).Draw(t, "x"), Y: rapid.IntRange(-1, 45).Draw(t, "y")}
		case 11:
			return tea.MouseWheelMsg{Button: rapid.SampledFrom([]tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}).Draw(t, "wheel")}
		case 12:
			return rapid.SampledFrom([]tea.Msg{tea.FocusMsg{}, tea.BlurMsg{}, changeMsg{noon, true}, changeMsg{noon, false}, wakeMsg(noon), restMsg("builder")}).Draw(t, "other")
		case 13:
			return alertsMsg{v: api.Alerts{Trouble: bad().Draw(t, "trouble"), Alerts: []api.Alert{{Number: 1, Rule: bad().Draw(t, "rule"), Subject: bad().Draw(t, "subject"), Summary: bad().Draw(t, "summary")}}}, at: noon}
		case 14:
			return feedMsg{v: api.Feed{Entries: []api.FeedEntry{{ID: bad().Draw(t, "id"), Kind: bad().Draw(t, "kind"), Agent: bad().Draw(t, "agent"), Text: bad().Draw(t, "text")}}}, at: noon}
		case 15:
			return workMsg{v: api.WorkList{Work: []api.Work{{Ref: bad().Draw(t, "ref"), Title: bad().Draw(t, "title"), BlockedBy: []string{bad().Draw(t, "blocked")}}}}, at: noon}
		}
		return press(rapid.SampledFrom(everyKey()).Draw(t, "key"))
	})
}

func everyKey() (out []string) {
	for _, b := range bindings() {
		out = append(out, b.keys...)
	}
	return append(out, "esc", "y", "0", "ä", "€", "backspace", "ctrl+u")
}

// Whatever happens, the screen is just as large as the terminal, nothing panics, and
// nothing is done that was not confirmed: by a key, of a form that was shown whole.
func TestNothingBreaksTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(Options{Words: words()})
		for _, msg := range rapid.SliceOfN(event(), 1, 40).Draw(t, "events") {
			was := m
			m = after(m, msg)
			fits(t, m)
			if begun(m) > begun(was) && !confirmed(was, msg) {
				t.Fatalf("%q is done after %#v with the form %+v", m.outcomes[len(m.outcomes)-1].says, msg, was.form)
			}
		}
	})
}

// begun is the number of the newest deed that was begun.
func begun(m Model) (id int) {
	for _, o := range m.outcomes {
		if o.state == asked {
			id = o.id
		}
	}
	return id
}

// confirmed says whether a key confirms the form that a person sees.
func confirmed(m Model, msg tea.Msg) bool {
	k, isKey := msg.(tea.KeyPressMsg)
	if !isKey || m.form == nil || m.form.waits || m.form.seen < len(m.form.body(m.width)) {
		return false
	}
	return k.String() == map[formKind]string{confirms: "y", picks: "enter", writes: "enter"}[m.form.kind]
}

// Each number is of the rows that are shown, whatever was looked at and whatever is looked for.
func TestCountsAreOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := someLook().Draw(t, "look")
		m := at(200, 60, l)
		m.filter = rapid.SampledFrom([]string{"", "a", "working"}).Draw(t, "filter")
		m = m.settle()
		needs, states := 0, map[string]int{}
		for _, r := range m.rows {
			switch {
			case strings.HasPrefix(r.key, "need "):
				needs++
			case strings.HasPrefix(r.key, "agent "):
				states[r.cells[1]]++
			}
		}
		for _, r := range m.rows {
			switch {
			case r.key != "":
			case strings.HasPrefix(r.title, "NEEDS YOU") && number(r.title) != needs:
				t.Fatalf("%q has %d rows", r.title, needs)
			case strings.HasPrefix(r.title, "AGENTS"):
				_, counts, _ := strings.Cut(r.title, ": ")
				for _, c := range strings.Split(counts, " · ") {
					n, state, _ := strings.Cut(c, " ")
					state = strings.ReplaceAll(state, " ", "_")
					if state != "" && n != fmt.Sprint(states[state]) {
						t.Fatalf("%q, and there are %d %s", r.title, states[state], state)
					}
					delete(states, state)
				}
				if len(states) > 0 {
					t.Fatalf("%q does not count %v", r.title, states)
				}
			}
		}
		if m.filter == "" && needs != len(l.NeedsYou) {
			t.Fatalf("%d of %d that need somebody", needs, len(l.NeedsYou))
		}
	})
}

// number is the first one of a title.
func number(title string) (n int) {
	for _, word := range strings.Fields(title) {
		if _, err := fmt.Sscan(word, &n); err == nil {
			return n
		}
	}
	return -1
}
