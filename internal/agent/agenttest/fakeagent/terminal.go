package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// saved is how the terminal was found.
var saved struct {
	sync.Mutex
	termios *unix.Termios
	alt     bool
}

// terminal is the program with a screen.
func (a *agent) terminal() error {
	start := a.startCommands()
	if err := a.raw(); err != nil {
		return err
	}
	if start["altscreen"] != "" {
		saved.alt = true
		fmt.Print("\x1b[?1049h")
	}
	time.Sleep(duration(strings.TrimPrefix(start["boot"], "boot "), 0))
	if a.lost != nil {
		return a.giveUp(start["lost"])
	}
	fmt.Print("\x1b[?2004h")
	a.draw = a.paint
	keys := make(chan key)
	go readKeys(os.Stdin, keys)
	if start["trust"] != "" && !a.trusted(keys) {
		a.end(1)
	}
	a.dropEnter, a.special, a.deaf = start["dropenter"] != "", start["special"] != "", start["deaf"] != ""
	a.set("idle", "")
	a.hook("SessionStart", map[string]any{"source": a.source()})
	for _, c := range strings.Split(start[""], ";") {
		if c = strings.TrimSpace(c); c != "" {
			a.obey(c)
		}
	}
	if a.prompt != "" {
		go a.queued(a.prompt)
	}
	a.keys(keys)
	return nil
}

// giveUp ends as the original does where there is no such conversation: it has
// begun one of its own by then, and told of that.
func (a *agent) giveUp(after string) error {
	a.hook("SessionStart", map[string]any{"source": "startup"})
	a.register()
	time.Sleep(duration(strings.TrimPrefix(after, "lost "), 0))
	a.hook("SessionEnd", map[string]any{"reason": "other"})
	a.unregister()
	a.restore()
	return a.lost
}

func (a *agent) source() string {
	if a.resume != "" || a.cont {
		return "resume"
	}
	return "startup"
}

// startCommands takes the commands apart that are only for the start; the rest
// is under "".
func (a *agent) startCommands() map[string]string {
	out := map[string]string{}
	for c := range strings.SplitSeq(a.fake, ";") {
		c = strings.TrimSpace(c)
		switch word, _, _ := strings.Cut(c, " "); word {
		case "boot", "trust", "altscreen", "dropenter", "lost", "special", "deaf":
			out[word] = c
		default:
			out[""] += c + ";"
		}
	}
	return out
}

// raw takes the terminal: no echo, no lines, no signals from keys.
func (a *agent) raw() error {
	old, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("Input must be provided either through stdin or as a prompt argument when using --print (%w)", err)
	}
	now := *old
	now.Iflag &^= unix.ICRNL | unix.IXON | unix.INLCR
	now.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	saved.Lock()
	saved.termios = old
	saved.Unlock()
	return unix.IoctlSetTermios(0, unix.TCSETS, &now)
}

// restore gives the terminal back.
func (a *agent) restore() {
	saved.Lock()
	defer saved.Unlock()
	if saved.termios == nil {
		return
	}
	fmt.Print("\x1b[?2004l")
	if saved.alt {
		fmt.Print("\x1b[?1049l")
	}
	_ = unix.IoctlSetTermios(0, unix.TCSETS, saved.termios)
}

// trusted stands at the trust dialog.
func (a *agent) trusted(keys <-chan key) bool {
	a.mu.Lock()
	a.dialog = []string{" Accessing workspace:", " " + a.cwd, " Quick safety check: Is this a project you created or one you trust? (Like your own code, a well-known open source",
		" project, or work from your team). If not, take a moment to review what's in this folder first.",
		" ❯ 1. Yes, I trust this folder", "   2. No, exit", " Enter to confirm · Esc to cancel"}
	a.mu.Unlock()
	a.paintTitled(host())
	for k := range keys {
		switch k.name {
		case "enter", "1":
			a.mu.Lock()
			a.dialog = nil
			a.mu.Unlock()
			return true
		case "2", "esc", "ctrl-c":
			return false
		}
	}
	return false
}

func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "vm"
	}
	return name
}

// paint draws the whole screen anew.
func (a *agent) paint() {
	a.mu.Lock()
	title := "✳ Claude Code"
	if a.status == "busy" {
		title = string([]rune("⠂⠐⠈⠁")[a.spin%4]) + " Claude Code"
	}
	a.mu.Unlock()
	a.paintTitled(title)
}

func (a *agent) paintTitled(title string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hung {
		return
	}
	width, height := size()
	rule := strings.Repeat("─", width)
	foot := append([]string{rule}, a.dialog...)
	if a.dialog == nil {
		foot = []string{rule, "❯ " + strings.ReplaceAll(shown(a.composer), "\n", "\n  "), rule, "  " + a.footer()}
		if a.banner != "" {
			foot = append([]string{a.banner}, foot...)
		}
	}
	lines := strings.Split(strings.Join(append(append([]string{"╭─── Claude Code v2.1.197 ───╮"}, a.lines...), foot...), "\n"), "\n")
	lines = lines[max(0, len(lines)-height):]
	var b strings.Builder
	b.WriteString("\x1b]0;" + title + "\x07\x1b[H")
	for i, l := range lines {
		if r := []rune(l); len(r) > width {
			l = string(r[:width])
		}
		b.WriteString(l + "\x1b[K")
		if i < len(lines)-1 {
			b.WriteString("\r\n")
		}
	}
	b.WriteString("\x1b[J")
	fmt.Print(b.String())
}

func (a *agent) footer() string {
	if a.status == "busy" {
		return "esc to interrupt · ← for agents"
	}
	return a.hint
}

// shown is how a text at the prompt is shown: a long paste by its size.
func shown(text string) string {
	if n := strings.Count(text, "\n"); n > 8 {
		return fmt.Sprintf("[Pasted text #1 +%d lines]", n)
	}
	return text
}

func size() (width, height int) {
	ws, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
	if err != nil || ws.Col < 20 || ws.Row < 5 {
		return 80, 24
	}
	return int(ws.Col), int(ws.Row)
}
