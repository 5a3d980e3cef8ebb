// Fakeagent is an agent CLI that does what it is told, for tests. Built as
// "claude" (agenttest.Build does) it is detected as one, draws the screens and
// titles of Claude Code 2.1.197 as they were recorded, calls the hooks it finds
// in its settings with the same JSON, writes ~/.claude/sessions/PID.json, and
// remembers conversations, so that all that Custos does to a real agent can be
// done to it. It calls no model.
//
// # Telling it what to do
//
// The same commands are taken from four places: --fake "COMMAND; COMMAND" on the
// command line, at the start; the variable FAKEAGENT, likewise; a prompt that begins
// with "fake " (the turn is then made of the commands); and the file named by
// --control FILE, whose lines are done as they are appended, even while it works or
// hangs: what needs a turn waits for the turn under way. Durations are Go's: 300ms, 5s.
//
//	work D          a turn of that length, with spinner
//	reply TEXT      ends the turn with that answer
//	print TEXT      writes TEXT as part of its answer ("print You've hit your rate limit")
//	tool D [CMD]    a tool that runs for D and prints nothing; hooks PreToolUse, PostToolUse
//	loop N [CMD]    the same tool N times at once
//	busy [D]        computes at full load and does nothing (until interrupted when D is left out)
//	hang            neither reads nor writes any more, and uses no CPU; only --control is still read
//	dialog [CMD]    asks for permission to run CMD; the answer is noted; yes runs it as a tool
//	question TEXT   asks TEXT, with two choices
//	ratelimit [D]   ends the turn at a rate limit: banner, and hook StopFailure
//	retry D         shows that it retries after a rate limit, for D
//	auth            ends the turn at a refused login: banner, and hook StopFailure
//	full            ends the turn at the limit of its context
//	context N       tells its status line that N percent of the context are used
//	half TEXT       leaves TEXT at its prompt, not sent
//	script PATH ARG… runs that script with sh, as a tool
//	edit FILE TEXT  writes TEXT into FILE (below its folder)
//	memory MIB      takes so much memory, and keeps it
//	setsid [D]      starts a child in a session of its own, which outlives it (sleeps D, or 60 s)
//	fork2 [D]       starts a grandchild whose parent ends at once, likewise
//	child [D]       starts an ordinary child, likewise
//	comm NAME       renames its process (Claude Code's is its version)
//	ignore TERM     refuses TERM from now on (also HUP, INT)
//	exit N, kill    ends with status N; ends itself with signal 9
//	nohooks         calls no more hooks
//	mail            reads each mail that it is told of from now on: custos mail read ID
//	clear           as if /clear were typed: a new conversation, with a new ID
//	step HOW ID     reports a step of its run: custos formula step HOW $CUSTOS_RUN_ID ID (of another run: RUN/ID)
//	phase WORD TEXT writes PHASE:WORD into $PHASE_FILE, with TEXT as its reason
//
// Only at the start:
//
//	boot D          shows nothing for D before it is ready
//	trust           stands at the trust dialog first
//	altscreen       uses the alternate screen
//	lost D          takes D to say that a conversation it is to resume is not there
//	dropenter       the first Enter after a text is lost
//	deaf            every Enter is lost
//	special         ! begins a shell command, / one of its own, and Enter completes @FILE
//
// An agent of a run (CUSTOS_RUN_ID and CUSTOS_FORMULA are set) plays the file
// ~/.fakeagent/FORMULA.script, and any other that Custos started ~/.fakeagent/NAME.script,
// where there is one: a command a line, and at each prompt of the run the next part; parts are separated by a line ---. When the
// parts are used up, a turn does nothing. It notes what it was to read.
//
// At its prompt: Enter sends; Ctrl-C clears, twice ends it with status 0; Escape
// interrupts a turn, or refuses a dialog; /exit, /clear. Bracketed paste is taken, and
// a long one is shown as Claude Code shows it.
//
// # As Claude Code
//
// It understands -p, --output-format, --input-format stream-json, --resume ID,
// --continue, --session-id ID, --settings FILE-or-JSON (hooks and statusLine) and
// the prompt as an argument, and takes no notice of its other flags.
//
// # What it leaves
//
// Only below a HOME that holds a folder .fakeagent, so that nobody's own files are
// touched: .fakeagent/sessions/ID.jsonl (its conversations), .fakeagent/log.jsonl
// (prompts, answers to dialogs, keys that were lost), and .claude/sessions/PID.json
// while it lives. Without that folder it leaves nothing, and resumes nothing.
package main

import (
	"fmt"
	"os"
)

func main() {
	o, err := readOptions(os.Args[1:])
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run returns only to end with status 0.
func run(o options) error {
	a, err := newAgent(o)
	if err != nil {
		return err
	}
	go a.watchControl()
	if o.print {
		return a.headless()
	}
	return a.terminal()
}
