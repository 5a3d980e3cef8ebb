package judge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"strings"

	"custos/internal/sys/program"
)

// Marker is the variable in the environment of a CLI that is asked to judge, and
// of all that it starts.
const Marker = "CUSTOS_JUDGE"

// maxComplaint is how much of a program's standard error is kept, in bytes.
const maxComplaint = 4 << 10

// passed are the variables any program started here may see: enough to find
// itself, its home, its login and its proxy, and nothing that makes it an agent
// of Custos or tells it where the caller works.
const passed = "PATH HOME USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TZ TMPDIR " +
	"XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS " +
	"SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"

// environment returns the allowed part of our own.
func environment(more []string) []string {
	env := []string{}
	for _, name := range append(strings.Fields(passed), more...) {
		if v, there := os.LookupEnv(name); there {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// exitError says that a program ran and did not end well.
type exitError struct {
	how    string // "exit status 1", "signal: killed"
	stderr string
}

func (e *exitError) Error() string {
	if said := line(e.stderr, 200); said != "" {
		return e.how + ": " + said
	}
	return e.how
}

// run returns what a program printed; with an *exitError too. When it has ended, printed
// too much, or ctx has ended, it and all it started are killed.
func run(ctx context.Context, dir string, argv, env []string, stdin string) ([]byte, error) {
	marker := newMarker()
	out, err := program.Run(ctx, program.Call{Argv: argv, Env: append(env, marker), Dir: dir, Stdin: []byte(stdin),
		Max: MaxReply, Heard: maxComplaint, End: func(leader int) { killTree(leader, marker) }})
	if _, ok := errors.AsType[program.TooMuch](err); ok {
		return nil, ErrTooMuch
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		left := &exitError{how: exit.String()}
		if said, ok := errors.AsType[*program.Complaint](err); ok {
			left.stderr = said.Says
		}
		return out, left
	}
	return out, err
}

// newMarker is an entry of the environment that only one run has.
func newMarker() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, as its documentation has it
	return Marker + "=" + hex.EncodeToString(b)
}
