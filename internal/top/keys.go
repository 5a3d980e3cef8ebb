package top

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// binding is a key and what it does.
type binding struct {
	keys  []string // as bubbletea calls them
	shown string
	short string // in the line of keys; "" where it is not named there
	does  string // in the help, and in docs/top.md
	do    func(Model) (Model, tea.Cmd)
}

// bindings are all keys, in the order in which they are told of.
func bindings() []binding {
	return []binding{
		{[]string{"up"}, "↑ ↓", "", "the row above, the row below; PgUp, PgDn, Home and End, too, and the mouse: a click, the wheel", moves(-1)},
		{[]string{"down"}, "", "", "", moves(1)},
		{[]string{"pgup"}, "", "", "", Model.pageUp},
		{[]string{"pgdown"}, "", "", "", Model.pageDown},
		{[]string{"home"}, "", "", "", moves(-1 << 30)},
		{[]string{"end"}, "", "", "", moves(1 << 30)},
		{[]string{"enter"}, "Enter", "go", "go to the terminal of the chosen agent; to leave it (Ctrl-b d, in a pane of your own tmux Ctrl-b Ctrl-b d) is to be back. One of your own tmux server is switched to from a pane, as you switch sessions", Model.goThere},
		{[]string{"x"}, "x", "answer", "answer what the agent asks: its question and its choices are shown, and the answer goes to that very dialog", Model.answer},
		{[]string{"n"}, "n", "nudge", "say something to the agent, typed when it listens", Model.nudge},
		{[]string{"i"}, "i", "interrupt", "have the agent stop what it does; asks first", Model.interrupt},
		{[]string{"s"}, "s", "stop", "stop the agent; asks first", Model.stop},
		{[]string{"a"}, "a", "approve", "have done what the alert asks for: the exact commands are shown whole first, and just these are begun", Model.approve},
		{[]string{"d"}, "d", "", "deny what the alert asks for, where something is done instead: it is shown whole first", Model.deny},
		{[]string{"w"}, "w", "why", "everything known of what is chosen, and why Custos does or does not", Model.why},
		{[]string{"k"}, "k", "ack", "take up the alert; asks first", Model.acknowledge},
		{[]string{"z"}, "z", "silence", "send no messages about this for a while: asks for how long", Model.silence},
		{[]string{"/"}, "/", "filter", "only rows that have some text; Enter keeps it, Esc takes it off", Model.startFilter},
		{[]string{"esc"}, "", "", "", Model.unfiltered},
		{[]string{"o"}, "o", "sort", "sort the agents: by need, name, state, since when, context, cost", Model.sortNext},
		{[]string{"tab"}, "Tab", "pane", "the next pane; Shift-Tab the one before; 1 to 5 one of them", paneBy(1)},
		{[]string{"shift+tab"}, "", "", "", paneBy(panes - 1)},
		{[]string{"1"}, "", "", "", choose(home)},
		{[]string{"2"}, "", "", "", choose(agents)},
		{[]string{"3"}, "", "", "", choose(alerts)},
		{[]string{"4"}, "", "", "", choose(feed)},
		{[]string{"5"}, "", "", "", choose(work)},
		{[]string{"?"}, "?", "", "these keys", Model.help},
		{[]string{"q", "ctrl+c"}, "q", "", "leave; Ctrl-C too, wherever you are", Model.quit},
	}
}

// key does what a key stands for: for the form, for the page, or for the rows.
func (m Model) key(k tea.KeyPressMsg) (Model, tea.Cmd) {
	m = m.settled()
	m.going = target{} // who does something else does not go there any more
	name := k.String()
	switch {
	case name == "ctrl+c":
		return m.quit()
	case m.form != nil:
		return m.formKey(k)
	case m.page != nil:
		return m.pageKey(k)
	}
	for _, b := range bindings() {
		if slices.Contains(b.keys, name) {
			return b.do(m)
		}
	}
	return m, nil
}

func (m Model) quit() (Model, tea.Cmd) { return m, tea.Quit }

func choose(p pane) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) { m.pane = p; return m, nil }
}

func paneBy(n pane) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) { m.pane = (m.pane + n) % panes; return m, nil }
}

func moves(by int) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) { return m.move(by), nil }
}

func (m Model) pageUp() (Model, tea.Cmd)   { return m.move(-max(1, m.layout().room-1)), nil }
func (m Model) pageDown() (Model, tea.Cmd) { return m.move(max(1, m.layout().room-1)), nil }

func (m Model) startFilter() (Model, tea.Cmd) {
	return m.ask(form{kind: filters, prompt: "/", input: m.filter})
}

func (m Model) unfiltered() (Model, tea.Cmd) { m.filter = ""; return m, nil }

func (m Model) sortNext() (Model, tea.Cmd) {
	m.sorting = (m.sorting + 1) % sortings
	return m, nil
}

// paste puts a text into the form.
func (m Model) paste(text string) Model {
	if m.form == nil || m.form.waits || m.form.kind != writes && m.form.kind != filters {
		return m
	}
	f := *m.form
	f.input = written(f.input + text)
	m.form = &f
	if f.kind == filters {
		m.filter = strings.TrimSpace(f.input)
	}
	return m
}

// goThere finds the way to the terminal of the chosen agent.
func (m Model) goThere() (Model, tea.Cmd) {
	return m.aimed("go there", func(at target) (Model, tea.Cmd) {
		m.going = at
		o := m.o
		return m, func() tea.Msg {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd, err := o.Goto(ctx, at.host, at.agent)
			return gotoMsg{at, cmd, err}
		}
	})
}

// gotoMsg is the way to an agent's terminal.
type gotoMsg struct {
	to  target
	cmd *exec.Cmd
	err error
}

func (msg gotoMsg) tell(m Model) (Model, tea.Cmd) {
	if m.going != msg.to {
		return m, nil
	}
	m.going = target{}
	if msg.err != nil {
		what, to := m.o.Words.Error(msg.to.host, msg.err)
		return m.tellOf(outcome{says: flat(hinted(what, to)), state: failed, fleeting: true}), nil
	}
	return m, tea.Exec(&visit{Cmd: msg.cmd}, func(err error) tea.Msg { return backMsg{msg.to, err} })
}

// visit is the program that shows an agent's terminal. What it says of why it could not is kept.
type visit struct {
	*exec.Cmd
	said bytes.Buffer
}

func (v *visit) SetStdin(r io.Reader)  { v.Stdin = r }
func (v *visit) SetStdout(w io.Writer) { v.Stdout = w }
func (v *visit) SetStderr(w io.Writer) { v.Stderr = io.MultiWriter(w, &v.said) }

// Run is in the program's own words where it fails: the last ones that it wrote.
func (v *visit) Run() error {
	v.WaitDelay = second // a program that it leaves behind may keep its end of the pipe
	err := v.Cmd.Run()
	if said := strings.TrimSpace(v.said.String()); err != nil && said != "" {
		lines := strings.Split(said, "\n")
		return fmt.Errorf("%s (%w)", strings.TrimSpace(lines[len(lines)-1]), err)
	}
	return err
}

// backMsg says that the person is back from an agent's terminal.
type backMsg struct {
	from target
	err  error
}

func (msg backMsg) tell(m Model) (Model, tea.Cmd) {
	m.look.again = true
	if msg.err != nil {
		return m.cannot("go to "+msg.from.String(), flat(msg.err.Error()))
	}
	return m, nil
}

// move chooses the row that is so many rows further, or the last one there is.
func (m Model) move(by int) Model {
	var keys []string
	for _, r := range m.rows {
		if r.key != "" {
			keys = append(keys, r.key)
		}
	}
	if len(keys) > 0 {
		at := slices.Index(keys, m.chosen[m.pane])
		m.chosen[m.pane] = keys[min(max(at+by, 0), len(keys)-1)]
	}
	return m
}
