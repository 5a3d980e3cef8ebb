//go:build linux

// Command custos-shim is the parent of one agent. It claims the agent's key,
// starts the agent, adopts whatever the agent leaves behind, and writes down how
// the agent ended, so that this is known to the bit even when Custos itself was
// dead, restarted or replaced at that moment. It uses the standard library and
// golang.org/x/sys/unix only, and imports nothing of Custos but the reader of
// /proc/PID/stat: what it writes is read by internal/sys/shim. It is of Linux alone: what keeps
// an agent's tree together and tells its end to the bit is nowhere else.
//
// What lies in its folder afterwards:
//
//	claim         who owns the key: never two agents for one key
//	started.json  the shim, the agent, and which caps are in force
//	failed.json   instead of started.json: why no agent was started
//	exit.json     how the agent ended; readable before the agent is reaped
//	left.json     descendants that outlived the agent, while there are any
//	stdin         headless with --input: a FIFO to the agent
//	stdout.log, stderr.log, *.log.1   headless: what the agent printed, capped
//
// Signals: SIGTERM and SIGHUP are passed on to the agent's process group while
// it lives. Once the agent has ended, SIGTERM has the shim leave at once, though
// descendants are left. SIGUSR1 closes the input of a headless agent: it reads
// end of file. The keyboard's signals never reach the shim: in a pane it hands
// the terminal over to the agent, which leads the terminal's session as it would
// without a shim.
//
// kill -9 of the shim does not end a headless agent; nothing then writes how that
// agent ends, and its input, if it has one, ends. In a pane tmux closes the
// terminal when the pane's first process is gone, so the agent gets SIGHUP.
package main

import (
	"fmt"
	"os"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3". custos-shim --version says it.
var version string

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version)
		return
	}
	if isLauncher(os.Args[1:]) {
		os.Exit(become(os.Args[1:]))
	}
	os.Exit(run(os.Args[1:], os.Environ()))
}
