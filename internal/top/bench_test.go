package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
	"custos/internal/fleet/fleettest"
)

// paintIn is within what a key is to be on the screen, the time of a frame.
const paintIn = 16 * time.Millisecond

// large is a look at so many agents, every tenth of which waits for a person.
func large(n int) api.FirstLook {
	l := small()
	l.Agents, l.NeedsYou = nil, nil
	for i := range n {
		g := small().Agents[i%4]
		g.Name = fmt.Sprintf("agent-%d-of-the-project", i)
		l.Agents = append(l.Agents, g)
		if i%10 == 0 {
			l.NeedsYou = append(l.NeedsYou, api.Need{Priority: "P2", Subject: "agent/" + g.Name, Summary: "waits for a person: it asks for a permission to use a tool", Since: noon, Command: "custos show " + g.Name})
		}
	}
	return l
}

// A key at 500 agents is thought about and drawn in less than a frame, and so is a look.
func TestKeyIsPaintedAtOnce(t *testing.T) {
	m := at(120, 40, large(500))
	for name, msg := range map[string]func(int) tea.Msg{
		"key":    func(int) tea.Msg { return press("down") },
		"look":   func(i int) tea.Msg { return lookMsg{v: glance{look: large(500)}, at: noon.Add(time.Duration(i))} },
		"filter": func(i int) tea.Msg { return press([]string{"/", "4", "esc"}[i%3]) },
	} {
		least := time.Hour
		for i := range 30 {
			told := msg(i + 1)
			began := time.Now()
			m = after(m, told)
			_ = m.View()
			least = min(least, time.Since(began))
		}
		most := paintIn
		if name == "look" && fleettest.Raced { // it makes five hundred rows anew, which takes four times as long then
			most *= 4
		}
		if least > most {
			t.Errorf("%s: %v at least", name, least)
		}
	}
}

// What a key costs, against drawing every row anew at each.
func BenchmarkKey(b *testing.B) {
	m := at(120, 40, large(500))
	b.Run("500", func(b *testing.B) {
		for b.Loop() {
			m = after(m, press("down"))
			_ = m.View()
		}
	})
	b.Run("look", func(b *testing.B) {
		l := large(500)
		for i := 0; b.Loop(); i++ {
			m = after(m, lookMsg{v: glance{look: l}, at: noon.Add(time.Duration(i))})
			_ = m.View()
		}
	})
	b.Run("all rows anew", func(b *testing.B) {
		for b.Loop() {
			m = m.move(1)
			var all []string
			for _, r := range m.rowsOf() {
				all = append(all, m.lines(r)...)
			}
			_ = strings.Join(all, "\n")
		}
	})
}

// painted counts what is written to a terminal.
type painted chan int

func (p painted) Write(b []byte) (int, error) { p <- len(b); return len(b), nil }

// From a key to the bytes that a terminal is given, through all of bubbletea.
func BenchmarkKeyToPaint(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	in, keys := io.Pipe()
	out, ended := make(painted, 1000), make(chan error, 1)
	o := Options{Words: words(), Colour: true, Ask: func(context.Context, string) (*api.Client, func(), error) { return nil, nil, errors.New("nobody") }}
	p := tea.NewProgram(New(o), tea.WithContext(ctx), tea.WithFPS(fastest), tea.WithInput(in), tea.WithOutput(out), tea.WithWindowSize(120, 40), tea.WithoutSignals())
	go func() { _, err := p.Run(); ended <- err }()
	p.Send(looked(large(500)))
	quiet := func() {
		for {
			select {
			case <-out:
			case <-time.After(20 * time.Millisecond):
				return
			}
		}
	}
	for b.Loop() {
		b.StopTimer()
		quiet()
		b.StartTimer()
		if _, err := keys.Write([]byte("\x1b[B")); err != nil {
			b.Fatal(err)
		}
		<-out
	}
	go quiet()
	cancel()
	<-ended
}
