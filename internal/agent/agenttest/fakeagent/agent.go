package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// agent is the program: one conversation, and what it is doing.
type agent struct {
	options
	mu        sync.Mutex // guards what follows, and the screen
	home      string
	cwd       string
	id        string // of the conversation
	status    string // busy, idle, waiting: of the registry file
	waiting   string // for what
	lines     []string
	composer  string
	hint      string // below the prompt
	banner    string // above the prompt
	dialog    []string
	answers   chan string
	interrupt chan struct{}
	dropEnter bool
	deaf      bool // it takes no Enter at all
	special   bool // it takes ! / and @ as the original does
	noHooks   bool
	readsMail bool
	hung      bool
	lost      error // the conversation that it was to go on with is not there
	calls     int
	spin      int
	ballast   [][]byte
	started   time.Time
	draw      func() // nil without a terminal
}

func newAgent(o options) (*agent, error) {
	a := &agent{options: o, home: ownHome(), status: "idle", answers: make(chan string, 1), interrupt: make(chan struct{}, 1),
		started: time.Now(), hint: "? for shortcuts · ← for agents"}
	a.cwd, _ = os.Getwd()
	a.id = o.session
	if a.id == "" {
		a.id = newID()
	}
	a.lost = a.recall()
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		sig := <-quit
		a.hook("SessionEnd", map[string]any{"reason": "other"})
		a.end(128 + int(sig.(syscall.Signal)))
	}()
	return a, nil
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// set changes what it does and shows it, in its registry file too.
func (a *agent) set(status, waiting string) {
	a.mu.Lock()
	a.status, a.waiting = status, waiting
	a.mu.Unlock()
	a.register()
	a.show()
}

func (a *agent) show() {
	if a.draw != nil {
		a.draw()
	}
}

func (a *agent) say(lines ...string) {
	a.mu.Lock()
	a.lines = append(a.lines, lines...)
	a.mu.Unlock()
	a.show()
}

// end ends the process, and gives the terminal back.
func (a *agent) end(status int) {
	a.unregister()
	a.restore()
	os.Exit(status)
}

// wait lasts d, or until it is interrupted; false says the latter. It redraws,
// so that the spinner turns, unless quiet.
func (a *agent) wait(d time.Duration, quiet bool) bool {
	until := time.After(d)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-until:
			return true
		case <-a.interrupt:
			return false
		case <-tick.C:
			if !quiet {
				a.mu.Lock()
				a.spin++
				a.mu.Unlock()
				a.show()
			}
		}
	}
}

// turn takes one prompt.
func (a *agent) turn(prompt string) {
	select {
	case <-a.interrupt: // an old one
	default:
	}
	a.mu.Lock()
	a.banner = ""
	a.mu.Unlock()
	a.note("prompt", prompt)
	a.say("❯ " + strings.ReplaceAll(prompt, "\n", "\n  "))
	a.set("busy", "")
	a.hook("UserPromptSubmit", map[string]any{"prompt": prompt})
	a.readMail(prompt)
	t := &turn{agent: a, reply: "MOCK-REPLY: " + firstLine(prompt)}
	if commands, ok := a.told(prompt); ok {
		t.reply = "done."
		t.doAll(commands)
	} else {
		t.ok(a.wait(150*time.Millisecond, false))
	}
	t.finish()
}

// told are the commands that a prompt is made of, or stands for.
func (a *agent) told(prompt string) (commands []string, ok bool) {
	if text, ok := strings.CutPrefix(prompt, "fake "); ok {
		return strings.Split(text, ";"), true
	}
	return a.script(prompt)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line[:min(len(line), 60)]
}

// turn is one prompt being worked on.
type turn struct {
	*agent
	reply       string
	interrupted bool
	failed      string // the error of StopFailure
	silent      bool   // a command ended the turn in its own way
}

func (t *turn) ok(ok bool) { t.interrupted = t.interrupted || !ok }

// finish ends the turn. An interrupted one calls no hook, as with the original.
func (t *turn) finish() {
	switch {
	case t.silent:
	case t.interrupted:
		t.say("  ⎿  Interrupted · What should Claude do instead?")
	case t.failed == "":
		t.say("● "+t.reply, "✻ Worked for 0s")
		t.remember("reply", t.reply)
	}
	t.set("idle", "")
	switch {
	case t.failed != "":
		t.hook("StopFailure", map[string]any{"error": t.failed})
	case !t.interrupted:
		t.hook("Stop", map[string]any{"stop_hook_active": false})
	}
}
