// Command custos-hook is what the hooks of agent CLIs call:
//
//	custos-hook KIND EVENT [--run DIR] [PAYLOAD]
//
// It hands the event, with the JSON on its standard input (or PAYLOAD, as codex
// gives to its notify program), to the Custos daemon whose run folder is DIR or
// $CUSTOS_RUN, and spools it there when nobody acknowledges it within 50 ms.
//
// It never fails or delays an agent's turn: it always exits 0, and prints
// nothing but what the daemon has for the agent. Where the agent was started with a policy,
// $CUSTOS_POLICY names it, and before a tool is called it prints what speaks against that,
// in the CLI's own words, whether a daemon runs or not. Flags it does not know it
// leaves alone, so that an old one understands the hooks of a newer Custos. As the
// command of a status line it becomes the person's own one, behind --then or in the
// settings, so that this goes on being shown.
//
// Build it small and static, so that it starts in about a millisecond:
//
//	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' ./cmd/custos-hook
package main

import (
	"os"
	"strings"
	"syscall"
	"time"

	"custos/internal/hookwire"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3". custos-hook --version says it.
var version string

const (
	ackWait   = 50 * time.Millisecond // how long an agent's turn may wait for the daemon
	stdinWait = time.Second           // and for a CLI that writes late, or not at all and does not close our standard input
)

func main() {
	defer func() { _ = recover() }() // a fault of ours is no fault of the agent's turn
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		_, _ = syscall.Write(1, []byte(version+"\n"))
		return
	}
	o, ok := parse(os.Args[1:], os.Getenv(hookwire.RunVar))
	if !ok {
		return
	}
	p := hookwire.Post{Kind: o.kind, Event: o.event, Installed: o.installed}
	p.Stamp() // before the payload is read: this is when it happened
	payload := []byte(o.payload)
	compiled := os.Getenv(policyVar)
	if !o.given {
		payload = readStdin(stdinWait, mostKept(compiled))
	}
	p.SetPayload(payload)
	j := judge(compiled, o, payload, func(rule string) { usedUp(o.run, p, rule) })
	p.Denied = j.denied
	deliver(o.run, p, j.said)
	if o.event == statusLine {
		showOwn(o, payload)
	}
}

// usedUp tells the daemon that a grant for one call is used, and waits until it has taken that away.
func usedUp(run string, p hookwire.Post, rule string) {
	p.Used, p.ID = rule, p.ID+"-u"
	_, _ = hookwire.Send(hookwire.Socket(run), p, ackWait)
}

// deliver posts the event, or spools it. A verdict is said first, and alone: the CLI reads one answer.
func deliver(run string, p hookwire.Post, verdict string) {
	_, _ = syscall.Write(1, []byte(verdict))
	ack, err := hookwire.Send(hookwire.Socket(run), p, ackWait)
	if err == nil && verdict != "" {
		return
	}
	if err == nil {
		_, _ = syscall.Write(1, []byte(ack.Output)) // not os.Stdout: a reader that is gone must not end us by SIGPIPE
		return
	}
	spool := hookwire.Spool{Dir: hookwire.SpoolDir(run)}
	_ = spool.Put(p)
	// Counting the spool takes longer than adding to it, so one event in 64 pays.
	if p.Wall>>10&63 == 0 {
		_ = spool.Limit(time.Now())
	}
}

type order struct {
	kind, event, run string
	payload          string
	given            bool   // the payload is an argument
	then             string // of a status line: what ours was put in the place of
	installed        bool   // ours stands in the settings, and was not launched with
}

// parse reads the command line; ok is false when there is nobody to tell, or
// nothing to tell.
func parse(args []string, run string) (o order, ok bool) {
	o.run = run
	var words []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--run" && i+1 < len(args):
			i++
			o.run = args[i]
		case strings.HasPrefix(a, "--run="):
			o.run = a[len("--run="):]
		case strings.HasPrefix(a, "--then="):
			o.then, o.installed = a[len("--then="):], true
		case strings.HasPrefix(a, "--made="):
			o.installed = true
		case strings.HasPrefix(a, "--"):
		default:
			words = append(words, a)
		}
	}
	if len(words) < 2 || o.run == "" {
		return o, false
	}
	o.kind, o.event = words[0], words[1]
	if len(words) > 2 {
		o.payload, o.given = words[2], true
	}
	return o, true
}
