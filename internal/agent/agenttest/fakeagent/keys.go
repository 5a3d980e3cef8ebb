package main

import (
	"bufio"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// key is one key, or one whole paste.
type key struct {
	name string // enter, esc, ctrl-c, ctrl-u, back, paste, or the letter itself
	text string
}

// readKeys turns bytes into keys. An escape that nothing follows within 50 ms is
// the key; anything else after one is a sequence, which is dropped, or a paste.
func readKeys(in io.Reader, keys chan<- key) {
	bytes := make(chan rune, 1<<16)
	go func() {
		r := bufio.NewReaderSize(in, 1<<16)
		for {
			c, _, err := r.ReadRune()
			if err != nil {
				close(bytes)
				return
			}
			bytes <- c
		}
	}()
	for c := range bytes {
		switch {
		case c == 0x1b:
			keys <- escape(bytes)
		case c == '\r':
			keys <- key{name: "enter"}
		case c == '\n':
			keys <- key{name: "letter", text: "\n"}
		case c == 3:
			keys <- key{name: "ctrl-c"}
		case c == 21:
			keys <- key{name: "ctrl-u"}
		case c == 127, c == 8:
			keys <- key{name: "back"}
		case c >= ' ':
			keys <- key{name: string(c), text: string(c)}
		}
	}
	close(keys)
}

func escape(bytes <-chan rune) key {
	next := func() (rune, bool) {
		select {
		case c, ok := <-bytes:
			return c, ok
		case <-time.After(50 * time.Millisecond):
			return 0, false
		}
	}
	if c, ok := next(); !ok || c != '[' {
		return key{name: "esc"}
	}
	sequence := ""
	for {
		c, ok := next()
		if !ok {
			return key{name: "sequence"}
		}
		if sequence += string(c); c >= '@' && c <= '~' {
			break
		}
	}
	if sequence != "200~" {
		return key{name: "sequence"}
	}
	var b strings.Builder
	for c := range bytes {
		b.WriteRune(c)
		if text, ok := strings.CutSuffix(b.String()[max(0, b.Len()-6):], "\x1b[201~"); ok && text == "" {
			break
		}
	}
	return key{name: "paste", text: strings.ReplaceAll(strings.TrimSuffix(b.String(), "\x1b[201~"), "\r", "\n")}
}

// keys obeys the keyboard until it is told to end.
func (a *agent) keys(keys <-chan key) {
	leaving := false
	for k := range keys {
		a.mu.Lock()
		standing, busy, hung := a.dialog != nil, a.status == "busy", a.hung
		a.mu.Unlock()
		switch {
		case hung:
			select {}
		case standing:
			a.answer(k)
		case k.name == "ctrl-c" && leaving:
			a.hook("SessionEnd", map[string]any{"reason": "prompt_input_exit"})
			a.end(0)
		case k.name == "esc" && busy, k.name == "ctrl-c" && busy:
			a.stopTurn()
		default:
			a.typed(k)
		}
		leaving = k.name == "ctrl-c" && !busy
		a.leave(leaving)
	}
	a.end(0)
}

func (a *agent) leave(leaving bool) {
	a.mu.Lock()
	a.hint = "? for shortcuts · ← for agents"
	if leaving {
		a.hint = "Press Ctrl-C again to exit"
	}
	a.mu.Unlock()
	a.show()
}

func (a *agent) stopTurn() {
	select {
	case a.interrupt <- struct{}{}:
	default:
	}
}

// answer gives a key to a dialog; keys it does not know are lost, and noted.
func (a *agent) answer(k key) {
	if k.name == "enter" {
		k.name = "1"
	}
	if !slices.Contains([]string{"1", "2", "3", "esc"}, k.name) {
		a.note("lost", k.name+k.text)
		return
	}
	select {
	case a.answers <- k.name:
	default:
	}
}

// typed changes what is at the prompt, or sends it.
func (a *agent) typed(k key) {
	a.mu.Lock()
	switch k.name {
	case "ctrl-c", "ctrl-u":
		a.composer = ""
	case "back":
		_, n := utf8.DecodeLastRuneInString(a.composer)
		a.composer = a.composer[:len(a.composer)-n]
	case "enter", "esc", "sequence":
	default:
		a.composer += k.text
	}
	prompt := a.composer
	a.mu.Unlock()
	if k.name != "enter" || strings.TrimSpace(prompt) == "" {
		return
	}
	if a.dropEnter || a.deaf {
		a.dropEnter = false
		a.note("lost", "enter")
		return
	}
	if a.special && a.takesOtherwise(prompt) {
		return
	}
	a.send(prompt)
}

// takesOtherwise says whether a text is no prompt to it: a shell command, a command of
// its own, or the name of a file that Enter completes.
func (a *agent) takesOtherwise(text string) bool {
	command := commandLine.MatchString(text) && text != "/compact"
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case strings.HasPrefix(text, "!"), command:
		a.composer = ""
		a.note("command", text)
		a.lines = append(a.lines, "● Unknown command: "+text)
	case fileName.MatchString(text):
		a.composer += ".go "
	default:
		return false
	}
	if a.draw != nil {
		go a.draw()
	}
	return true
}

var (
	commandLine = regexp.MustCompile(`^\s*/[a-z-]+(\s|$)`)
	fileName    = regexp.MustCompile(`@\S+$`)
)

// send takes a prompt; one that comes while a turn is under way waits for it.
func (a *agent) send(prompt string) {
	a.mu.Lock()
	a.composer = ""
	a.mu.Unlock()
	switch strings.TrimSpace(prompt) {
	case "/exit", "/quit":
		a.hook("SessionEnd", map[string]any{"reason": "prompt_input_exit"})
		a.end(0)
	case "/clear":
		a.clear()
	case "/compact":
		a.note("command", "/compact")
		a.hook("PreCompact", map[string]any{"trigger": "manual"})
		a.say("  ⎿  Compacted (ctrl+o to see full summary)")
	default:
		go a.queued(prompt)
	}
}

func (a *agent) queued(prompt string) {
	for {
		a.mu.Lock()
		free := a.status == "idle"
		if free {
			a.status = "busy"
		}
		a.mu.Unlock()
		if free {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	a.turn(prompt)
}
