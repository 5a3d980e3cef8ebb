package top

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// noon is when the looks of these tests were made.
var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// words are as plain as they can be.
func words() Words {
	return Words{
		Tokens:  func(n int64) string { return fmt.Sprintf("%dk", n/1000) },
		Dollars: func(d float64) string { return fmt.Sprintf("$%.2f", d) },
		Order:   func(o api.Order) string { return o.Do + " " + o.Agent + ": " + o.State + " " + o.Why },
		Story: func(s api.Story, _ int) string {
			return s.Subject + "\n" + strings.Join(s.Facts, "\n")
		},
		Duration: time.ParseDuration,
		Offer: func(s api.Offer, _ int) string {
			out := []string{s.Refused}
			for _, d := range s.Deeds {
				out = append(out, d.Do+" "+d.Subject)
				for _, c := range d.Commands {
					out = append(out, "$ "+strings.Join(c.Argv, " "))
				}
			}
			return strings.Join(out, "\n")
		},
		Command: func(s string) string { return s },
		Error:   func(_ string, err error) (string, string) { return err.Error(), "" },
	}
}

// small is a look at a few agents, one of them of a name that is no good.
func small() api.FirstLook {
	return api.FirstLook{
		At: noon, From: api.From{Host: "box"}, Mode: "ask",
		Seen: []api.PartSeen{{Part: "agents", Status: "ok"}},
		NeedsYou: []api.Need{
			{Number: 3, ID: "shown", Priority: "P2", Rule: "dead-lock", Subject: "lock//home/me/locks/dev-agent.lock", Summary: "is held by a process that is gone, and work waits for it", Since: noon.Add(-26 * time.Hour), Command: "custos approve 3"},
			{Priority: "P2", Subject: "agent/builder", Summary: "waits for a person: it asks for a permission", Since: noon.Add(-13 * time.Second), Command: "custos answer builder"},
		},
		Agents: []api.AgentRow{
			{Name: "builder", Kind: "claude", State: "waiting", Since: "13s", Reason: "it asks for a permission", Source: "hook", Owner: "custos", Instance: "shown", CWD: "/home/me/src/app", Context: ptr(61.2), Tokens: ptr(int64(3456789)), Dollars: ptr(1.23)},
			{Name: "日本語の名前\x1b[31m\u202egnp.exe", Kind: "codex", State: "working", Since: "1h2m0s", Reason: "its title shows a spinner", Source: "title", Owner: "foreign", CWD: "/srv/" + strings.Repeat("deep/", 12) + "end", ContextUsed: ptr(int64(122400))},
			{Name: "docs", Kind: "claude", State: "unknown", Reason: "nothing tells of it", Source: "none", Owner: "foreign"},
			{Name: "review", Kind: "gemini", State: "idle", Since: "50h0m0s", Reason: "its prompt is empty", Source: "screen", Owner: "custos", CWD: "/home/me/src/app"},
		},
	}
}

func ptr[T any](v T) *T { return &v }

// at is a screen of some size that has just been told of a look.
func at(wide, high int, l api.FirstLook) Model {
	return after(New(Options{Words: words(), Home: "/home/me"}), tickMsg(noon), tea.WindowSizeMsg{Width: wide, Height: high}, looked(l))
}

// looked is the answer to a question for a look, of a daemon.
func looked(l api.FirstLook) tea.Msg {
	return lookMsg{v: glance{l, api.Status{Daemon: true}}, at: noon}
}

// after is a model after some messages; what it would ask is not asked.
func after(m Model, list ...tea.Msg) Model {
	for _, msg := range list {
		next, _ := m.Update(msg)
		m = next.(Model)
	}
	return m
}

// press is a key as bubbletea tells of it.
func press(name string) tea.KeyPressMsg {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "backspace": tea.KeyBackspace,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "left": tea.KeyLeft, "right": tea.KeyRight}
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	switch name {
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	case "ctrl+u":
		return tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}
	case "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// typed are keys, one after the other.
func typed(names ...string) (out []tea.Msg) {
	for _, n := range names {
		out = append(out, press(n))
	}
	return out
}

func nowhere(context.Context, string, string) (*exec.Cmd, error) { return nil, errors.New("nowhere") }
